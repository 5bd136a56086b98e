"""The processes that the preview starts, and their end together with it."""

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from pathlib import Path

import psutil

CHILD = Path(__file__).with_name("child.py")
PATIENCE = 4  # seconds that a process has to end by itself
programs = Path(sys.executable).parent
running: list[Process] = []


async def start(program: Path, *arguments: object, **how: object) -> Process:
    """Start a Python program, out of reach of the terminal's Ctrl-C, which is meant for us."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, CHILD, program, *arguments),
        stdin=PIPE,  # never written to: see child.py
        stderr=STDOUT,
        start_new_session=True,
        **how,
    )
    running.append(process)
    return process


async def finish(program: Path, *arguments: object, log: Path, cwd: Path) -> int:
    """Run a Python program to its end, adding what it prints to a log."""
    with log.open("ab") as output:
        process = await start(program, *arguments, stdout=output, cwd=cwd)
    status = await process.wait()
    running.remove(process)
    return status


def stop_all() -> None:
    """End every process that was started, and theirs: a kernel is in no group of its server."""
    family = []
    for process in running:
        try:
            parent = psutil.Process(process.pid)
            family += [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
    for signal in ("terminate", "kill"):
        for one in family:
            try:
                getattr(one, signal)()
            except psutil.NoSuchProcess:
                continue
        _, family = psutil.wait_procs(family, timeout=PATIENCE)
