"""Say in one hash what the executed cells are made from besides their own text.

The cache of executed cells does not see a change in it, so the book is built anew when the hash is
another one. `make book` and `make preview` both ask here.
"""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("src", "data", "book/extensions", "_config.yml", "requirements.txt", "package-lock.json")
# The last three, of data/runs and labs, are never committed.
LEFT_OUT = {"__pycache__", "unfinished", "weights", "mine"}


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


def made_from(book: Path) -> str:
    """Hash the names and contents of those files, and how long the lab trains."""
    total = hashlib.sha256(os.environ.get("MINIGPT_STEPS", "").encode())
    for file in files_of(book, NAMES):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        total.update(f"\n{file.relative_to(book)} {content}".encode())
    return total.hexdigest()


if __name__ == "__main__":
    print(made_from(ROOT))
