"""The Jupyter server behind Live Code: a token, a port and a folder that nobody knew before."""

import asyncio
import os
import re
import secrets
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path

import processes

SETTINGS = Path(__file__).with_name("kernel_settings.py")


async def start(folder: Path, log: Path, origin: str) -> tuple[Process, str]:
    """Start the server, and give the part of an address that tells a page how to reach it."""
    token = secrets.token_hex(32)
    environment = os.environ | {
        "JUPYTER_NO_CONFIG": "1",  # what users have set up for themselves may open doors
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_TOKEN": token,  # not in the command line, which everybody may read
        "PREVIEW_ORIGIN": origin,
        "PREVIEW_FOLDER": str(folder),
    }
    program = processes.programs / "jupyter-server"
    server = await processes.start(
        program, f"--config={SETTINGS}", stdout=PIPE, env=environment, cwd=folder
    )
    log.write_bytes(b"")
    while line := await server.stdout.readline():
        with log.open("ab") as output:
            output.write(line)
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", line.decode(errors="replace")):
            reachable = await listens(server, int(found[1]))
            return server, f"#live={found[0]}&token={token}" if reachable else ""
    return server, ""


async def listens(server: Process, port: int) -> bool:
    """Wait until the server does what it has already said that it does, or is gone."""
    while server.returncode is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return True
    return False


async def watch(server: Process, log: Path, say: Callable[[str], None]) -> None:
    """Write down what the server says, and say it when it ends."""
    while chunk := await server.stdout.read(65536):
        with log.open("ab") as output:
            output.write(chunk)
    status = await server.wait()
    say(f"Live Code has no kernel: the Jupyter server stopped with status {status}, see {log}")
