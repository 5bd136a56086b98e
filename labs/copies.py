"""People work in copies of the notebooks, in labs/mine, which git and the book leave out.

    python labs/copies.py    # what `make lab` does before it opens Jupyter

Before build.py writes a notebook anew it asks here. A notebook that is neither what build.py wrote
last nor what git keeps holds somebody's work, and that is copied to labs/mine first.
"""

import hashlib
import itertools
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "extensions"))

import links  # noqa: E402

from minigpt.artifacts import write_json  # noqa: E402


def mine() -> Path:
    """Say where the copies are."""
    return ROOT / "labs" / "mine"


def shown(path: Path) -> str:
    """Name a file as somebody in the folder of the course would."""
    return path.relative_to(ROOT).as_posix()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def record() -> dict[str, dict[str, str]]:
    """Read the hashes of what build.py wrote last, and of what each copy was made from."""
    try:
        kept = json.loads((mine() / ".record.json").read_text())
    except (FileNotFoundError, ValueError):
        kept = {}
    return {"written": {}, "copied": {}} | kept


def note(what: str, hashes: dict[str, str]) -> None:
    """Add hashes to one half of the record."""
    kept = record()
    if not hashes.items() <= kept[what].items():
        kept[what] |= hashes
        write_json(mine() / ".record.json", kept)


def known(path: Path) -> list[str]:
    """Give the hashes of what may be lost: what build.py wrote there last, and what git keeps."""
    hashes = [record()["written"].get(shown(path))]
    git = ["git", "-C", ROOT, "show", f"HEAD:./{shown(path)}"]
    try:
        done = subprocess.run(git, capture_output=True)
    except FileNotFoundError:  # no git here
        done = None
    if done and done.returncode == 0:
        hashes.append(digest(done.stdout))
    return [one for one in hashes if one]


def put(path: Path, content: bytes) -> None:
    """Write a file where none is.

    Raises:
        FileExistsError: there is one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        try:
            file.write(content)
        except BaseException:
            path.unlink()
            raise


def keep(path: Path) -> Path | None:
    """Copy a notebook to labs/mine if it holds somebody's work, and say where it is now."""
    content, ours = path.read_bytes(), known(path)
    if digest(content) in ours:
        return None
    stem = f"{path.stem}-solved" if path.parent.name == "solved" else path.stem
    for number in itertools.count(1):
        kept = mine() / (f"{stem}-{number}.ipynb" if number > 1 else f"{stem}.ipynb")
        try:
            put(kept, content)
        except FileExistsError:
            if kept.is_file() and kept.read_bytes() == content:
                return kept
            continue
        note("copied", {kept.name: ours[0]} if ours else {})
        return kept


def copy(course: Path) -> str:
    """Copy a notebook of the course to labs/mine if no copy is there, and say what is there now.

    Raises:
        FileNotFoundError: the course's notebook is missing.
    """
    own, now = mine() / course.name, course.read_bytes()
    try:
        put(own, now)
    except FileExistsError:
        if record()["copied"].get(own.name) == digest(now):
            return f"{shown(own)} is there as you left it."
        return (
            f"{shown(own)} is there as you left it, but the course's notebook has changed since "
            "that copy was made. To begin with the new one, give yours another name, run make lab "
            "again and paste your answers over."
        )
    note("copied", {own.name: digest(now)})
    return f"{shown(own)} is your copy: nothing that make does changes it, and git leaves it out."


def main() -> int:
    try:
        for name in links.NOTEBOOKS:
            print(copy(ROOT / name))
    except FileNotFoundError as missing:
        print(f"{missing.filename} is missing: make notebooks writes it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
