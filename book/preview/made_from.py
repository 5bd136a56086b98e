"""Say in two hashes what the pages are made from besides their own text.

The cache of executed cells does not see a change in what the cells read, and Sphinx none in what
makes pages of them. `make book` and `make preview` both ask here what is to be made anew.
"""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Literal, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CELLS = ("src", "data", "requirements.txt")
NAMES = (*CELLS, "book/extensions", "_config.yml", "package-lock.json")
LEFT_OUT = {"__pycache__", "mine"}
CACHE, NOTE = ".jupyter_cache", "made-from"  # in the folder of a build: what cells gave, and this


class MadeFrom(NamedTuple):
    """What the cells are made from, and what the pages are; a hash each."""

    cells: str
    pages: str


def files_of(book: Path, names: tuple[str, ...]) -> list[Path]:
    """List the files of these names and below them, without hidden and made ones."""
    found = []
    for name in names:
        start = book / name
        if start.is_file():
            found.append(start)
        for folder, folders, files in os.walk(start):
            folders[:] = [
                one
                for one in folders
                if not one.startswith(".") and one not in LEFT_OUT and not one.endswith(".egg-info")
            ]
            found += [Path(folder) / one for one in files if not one.startswith(".")]
    return sorted(found)


def made_from(book: Path) -> MadeFrom:
    """Hash the names and contents of those files, and how long the lab trains.

    What makes or explains the files of data/ lies beside them, and no page reads it. Of the runs
    pages read those that are reported, and with these data/baselines.json changes.
    """
    steps = os.environ.get("MINIGPT_STEPS", "").encode()
    hashes = []
    for names in (CELLS, NAMES):
        total = hashlib.sha256(steps)
        for file in files_of(book, names):
            name = file.relative_to(book)
            if name.parts[0] == "data" and name.suffix in (".py", ".md", ".csv"):
                continue
            if name.parts[:2] == ("data", "runs"):
                continue
            total.update(f"\n{name} {hashlib.sha256(file.read_bytes()).hexdigest()}".encode())
        hashes.append(total.hexdigest())
    return MadeFrom(*hashes)


def noted(build: Path) -> list[str]:
    """Read what a build was made from; nothing where that is not known."""
    note = build / NOTE
    return note.read_text().split() if note.is_file() else []


def drop_what_is_stale(build: Path, made: MadeFrom) -> Literal["nothing", "pages", "cells"]:
    """Take out of a build what was made from something else; say what that was, and note this."""
    before = noted(build)
    stale = "nothing" if before == list(made) else "pages"
    if before[:1] != [made.cells]:
        stale = "cells"
    for one in build.iterdir() if build.is_dir() and stale != "nothing" else ():
        if one.name != CACHE or stale == "cells":
            shutil.rmtree(one) if one.is_dir() else one.unlink()
    build.mkdir(parents=True, exist_ok=True)
    (build / NOTE).write_text(" ".join(made))
    return stale


if __name__ == "__main__":
    drop_what_is_stale(ROOT / "_build", made_from(ROOT))
