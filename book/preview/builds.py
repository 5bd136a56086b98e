"""Build the book whenever a source is saved, and let only what was built without a mistake through.

jupyter-book works in .preview/work; what it made goes on to .preview/good, which the pages are
served from, when there was no error and no warning. Both are apart from _build.
"""

import asyncio
import filecmp
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import processes
from made_from import (
    CACHE,
    NAMES,
    NOTE,
    MadeFrom,
    drop_what_is_stale,
    files_of,
    made_from,
    noted,
)

SOURCES = (*NAMES, "book", "labs", "_toc.yml")
LEFT_BEHIND = re.compile(
    r".*~|#.*#|4913|.*\.tmp|lab5-work.*\.safetensors"
)  # by editors, by the lab
PARTS = ("html", ".doctrees", "jupyter_execute")
PAUSE = 0.3  # seconds between two looks at the sources

COLOUR = re.compile(r"\x1b\[[\d;]*m")
CELL = re.compile(r"ExecutionError: An error .*? cell:\n-+\n(.*?)\n-+\n(.*?)\n\s*\nThe above", re.S)
PAGE = re.compile(r"^(?:\w+\.)+ExecutionError: (.+)$", re.M)
WARNING = re.compile(r"^(.*?)(?::(\d+))?: (?:WARNING|ERROR|CRITICAL|SEVERE): (.+)$", re.M)
EXCEPTION = re.compile(r"^(?!RuntimeError)[\w.]+(?:Error|Exception): .+$", re.M)


def snapshot(book: Path) -> dict[str, tuple[int, int]]:
    """Map every source file to its time and size."""
    found = {}
    for file in files_of(book, SOURCES):
        if LEFT_BEHIND.fullmatch(file.name):
            continue
        try:
            stat = file.stat()
        except FileNotFoundError:  # it was there a moment ago
            continue
        found[str(file.relative_to(book))] = (stat.st_mtime_ns, stat.st_size)
    return found


def mirror(source: Path, target: Path) -> None:
    """Make one folder equal to another, touching only the files that differ."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = {file.relative_to(source) for file in source.rglob("*")}
    for file in sorted(target.rglob("*"), reverse=True):
        if file.relative_to(target) not in wanted:
            file.rmdir() if file.is_dir() else file.unlink()
    for name in sorted(wanted):
        file, copy = source / name, target / name
        if file.is_dir():
            copy.mkdir(exist_ok=True)
        elif not copy.exists() or not filecmp.cmp(file, copy):
            part = copy.with_name(f"{copy.name}.part")  # nobody is served half a page
            shutil.copy2(file, part)
            part.replace(copy)


def reason(log: Path, book: Path) -> str:
    """Say in one line why a build failed, from what it printed."""
    said = COLOUR.sub("", log.read_text(errors="replace")).replace(f"{book}/", "")
    if (cell := CELL.search(said)) and (page := PAGE.search(said, cell.end())):
        first, last = cell[1].strip().splitlines()[0], cell[2].strip().splitlines()[-1]
        return f"{page[1]}, the cell that starts with `{first}`: {last}"
    if warnings := list(dict.fromkeys(WARNING.findall(said))):
        page, line, text = warnings[0]
        place = f"{page}, line {line}" if line else page
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        return f"{place}: {text}{more}"
    errors = EXCEPTION.findall(said)
    return errors[-1] if errors else "it stopped without saying why"


def duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


class Builds:
    """The book's sources, what was made of them, and the number of the newest good build."""

    def __init__(self, book: Path, home: Path, say: Callable[[str], None]) -> None:
        self.book, self.home, self.say = book, home, say
        self.work, self.good = home / "work" / "_build", home / "good"
        self.log, self.seconds = home / "build.log", home / "seconds"
        self.number = 0
        self.new = asyncio.Condition()  # told of every good build

    def has_pages(self) -> bool:
        return (self.good / "html" / "index.html").exists()

    async def keep_building(self) -> None:
        """Build whenever a source has changed; what changes meanwhile is built after that."""
        seen: dict[str, tuple[int, int]] = {}
        self.go_back()  # the preview before may have been stopped while it built
        while True:
            now = snapshot(self.book)
            if now == seen:
                await asyncio.sleep(PAUSE)
                continue
            while now != (later := snapshot(self.book)):  # until all of it is saved
                now = later
                await asyncio.sleep(PAUSE)
            changed = sorted(name for name in seen | now if seen.get(name) != now.get(name))
            if seen:
                more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
                self.say(f"{changed[0]}{more} changed.")
            self.log.write_bytes(b"")
            lab = not seen or any(
                name.startswith(("labs/source/", "labs/build")) for name in changed
            )
            seen = now
            if lab and (self.book / "labs" / "build.py").exists():
                if not await self.write_notebooks():
                    continue
                written = snapshot(self.book)
                seen |= {name: written[name] for name in written if name.endswith(".ipynb")}
            await self.build()

    async def write_notebooks(self) -> bool:
        """Write the lab's notebooks anew from their source, and say what that said."""
        script = self.book / "labs" / "build.py"
        failed = await processes.finish(script, log=self.log, cwd=self.book)
        if failed:
            self.report("labs/build.py")
        else:
            for line in self.log.read_text(errors="replace").splitlines():
                self.say(line)
        return not failed

    async def build(self) -> None:
        start = time.monotonic()
        made = made_from(self.book)
        stale = drop_what_is_stale(self.work, made)
        run_cells = stale == "cells" and not self.take_cells(made)
        if stale == "pages":
            self.say("Building every page, as what makes them has changed; no cell runs for it.")
        elif stale == "nothing" and not self.number:
            self.say("Building what has changed since the last preview; this takes some seconds.")
        program = processes.programs / "jupyter-book"
        options = ("-W", "-n", "--keep-going", "--path-output", self.work.parent)
        failed = await processes.finish(
            *(program, "build", ".", *options), log=self.log, cwd=self.book
        )
        if failed:
            self.report("The book")
            self.go_back()
            return
        for part in PARTS:
            mirror(self.work / part, self.good / part)
        took = time.monotonic() - start
        shutil.copyfile(self.work / NOTE, self.good / NOTE)
        if run_cells:
            self.seconds.write_text(str(took))
        self.say(f"Built in {duration(took)}.")
        self.number += 1
        async with self.new:
            self.new.notify_all()

    def report(self, what: str) -> None:
        """Say in one line what went wrong, and where to read on."""
        stay = " The last good pages stay up." if self.has_pages() else ""
        why = reason(self.log, self.book)
        self.say(f"{what} could not be built: {why}.{stay} All messages: {self.log}")

    def take_cells(self, made: MadeFrom) -> bool:
        """Take over what the cells gave in `make book`; where it is something else, say so."""
        book = self.book / "_build"
        if noted(book)[:1] == [made.cells] and (book / CACHE).is_dir():
            self.say("Building every page; what the cells give is taken over from make book.")
            shutil.copytree(book / CACHE, self.work / CACHE)
            return True
        before = self.seconds.read_text() if self.seconds.exists() else ""
        took = f"took {duration(float(before))} last time" if before else "may take minutes"
        self.say(f"All cells run anew, as what they are made from is not what it was: {took}.")
        if not os.environ.get("MINIGPT_STEPS"):
            self.say("Most of it is the lab's training: MINIGPT_STEPS=20 make preview is quick.")
        return False

    def go_back(self) -> None:
        """Work on from the last good build: a page whose warning has come is not read again."""
        usable = noted(self.good) == noted(self.work) != []
        for part in PARTS:
            if usable:
                mirror(self.good / part, self.work / part)
            else:  # the good pages show what they no longer would
                shutil.rmtree(self.work / part, ignore_errors=True)
