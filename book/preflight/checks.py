"""What `make preflight` checks. table.py runs these in turn and prints the table.

A check is a function that says in a few words what it saw, or raises what is wrong and what helps:
Failed, Warned or Skipped. Each imports what it needs, so that a missing package fails the rows that
use it and not the whole table.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / part) for part in ("data", "book/extensions", "book/browser")]

TEXT = "Good morrow, "  # what the explorer is given to write on from
SHOWN = 4  # so many of a list are named


class Finding(Exception):
    """Why a check does not pass, and what helps."""

    status = ""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


class Failed(Finding):
    status = "FAILED"


class Warned(Finding):
    status = "warning"


class Skipped(Finding):
    status = "skipped"


def some(things: list[str], between: str = "; ") -> str:
    """Name the first of them, and count the others."""
    more = f"{between}{len(things) - SHOWN} more" if len(things) > SHOWN else ""
    return between.join(things[:SHOWN]) + more


# The machine


def python(pyproject: Path) -> str:
    import tomllib

    from packaging.specifiers import SpecifierSet

    wanted = tomllib.loads(pyproject.read_text())["project"]["requires-python"]
    running = ".".join(map(str, sys.version_info[:3]))
    if running not in SpecifierSet(wanted):
        raise Failed(
            f"this is Python {running}, and {wanted} is needed",
            "make clean, then make preflight PYTHON=/path/to/a/newer/python3",
        )
    return running


def packages(requirements: Path) -> str:
    from importlib.metadata import PackageNotFoundError, version

    from packaging.requirements import Requirement

    lines = [line.partition("#")[0].strip() for line in requirements.read_text().splitlines()]
    pinned = [Requirement(line) for line in lines if line and not line.startswith("-")]
    wrong = []
    for package in pinned:
        try:
            installed = version(package.name)
        except PackageNotFoundError:
            wrong.append(f"{package.name} is not installed")
            continue
        if not package.specifier.contains(installed, prereleases=True):
            wrong.append(f"{package.name} is {installed}, not {package.specifier}")
    if wrong:
        raise Failed(
            some(wrong), "touch requirements.txt, then make preflight, which installs them"
        )
    return f"{len(pinned)} packages as pinned"


def node_modules(lock: Path, folder: Path) -> str:
    """Compare every package of the lock file with what lies in the folder."""
    wanted, wrong = json.loads(lock.read_text())["packages"], []
    wanted.pop("", None)  # the project itself
    for place, package in wanted.items():
        file = folder.parent / place / "package.json"
        if not file.exists():
            if not package.get("optional"):  # for another system than this
                wrong.append(f"{place} is missing")
            continue
        installed = json.loads(file.read_text())["version"]
        if installed != package["version"]:
            wrong.append(f"{place} is {installed}, not {package['version']}")
    if wrong:
        raise Failed(some(wrong), "rm -r node_modules, then make preflight, which installs them")
    return f"{len(wanted)} packages as locked"


def browser() -> str:
    from chromium import find

    try:
        return find()[0]
    except RuntimeError as error:
        raise Failed(str(error), ".venv/bin/python book/browser/chromium.py") from error


def disk(folder: Path, needed: int) -> str:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Failed(
            f"{free / 1e9:.1f} GB are free, and {needed / 1e9:.1f} are needed",
            "delete something large",
        )
    return f"{free / 1e9:.0f} GB free"


# Texts, weights, results


def artifacts(data: Path) -> str:
    """Compare the corpus and the weights with the sums that they were written with."""
    from minigpt.artifacts import SHIPPED, DamagedFileError, read_tensors
    from minigpt.corpus import load_corpus

    try:
        corpus = load_corpus(data / "tinyshakespeare.txt")
        for path in SHIPPED.values():
            read_tensors(data / path.name)
    except (DamagedFileError, FileNotFoundError) as error:
        raise Failed(str(error), "git stash push -- data") from error
    return f"{len(corpus.ids):,} characters, {len(SHIPPED)} models"


def baselines(data: Path) -> str:
    """Make the results table again from the runs, and score the weights again."""
    import measure

    from minigpt.artifacts import DamagedFileError, read_json
    from minigpt.corpus import load_corpus
    from minigpt.evaluation import verify_weights

    try:
        kept = read_json(data / "baselines.json")["rows"]
        made = measure.baselines(load_corpus(data / "tinyshakespeare.txt"))["rows"]
        for key in made | kept:
            nats = [rows.get(key, {}).get("nats", math.nan) for rows in (made, kept)]
            if not math.isclose(*nats, rel_tol=1e-9):
                raise Failed(
                    f"the row {key} says {nats[1]:.4f} nats, and the runs give {nats[0]:.4f}",
                    "git stash push -- data, or python data/measure.py after new runs",
                )
        differences = verify_weights(data=data)
    except (DamagedFileError, FileNotFoundError) as error:
        raise Failed(str(error), "git stash push -- data") from error
    return f"{len(differences)} models score as recorded"


def notebooks(build: Path) -> str:
    done = subprocess.run([sys.executable, build, "--check"], capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip().splitlines()[-1], "make notebooks")
    return "all are what labs/source gives"


def agenda(index: Path, briefing: Path, lab: Path) -> str:
    from class_plan import plan
    from sphinx.errors import ExtensionError

    try:
        parts = plan(index, briefing, lab)
    except ExtensionError as error:
        raise Failed(str(error), f"correct the minutes in {index.name} or of that part") from error
    return f"{len(parts)} parts fill {parts[-1].start + parts[-1].minutes} minutes"


# The built book


def built(site: Path) -> None:
    """Skip a check of the pages when there are none; the row of the pages says what helps."""
    if not (site / "index.html").exists():
        raise Skipped("the book has not been built")


def pages(site: Path, root: Path) -> str:
    """Look for every page of the table of contents, newer than what it was made from."""
    import serve

    from minigpt.training import budget_for

    names = serve.pages()
    if not (site / "index.html").exists():
        raise Failed(f"there is no book in {site}", "make book")
    made = {name: site / f"{name}.html" for name in names}
    if missing := [name for name, path in made.items() if not path.exists()]:
        raise Failed(f"not built: {some(missing)}", "make book")
    sources = {name: [*root.glob(f"{name}.md"), *root.glob(f"{name}.ipynb")] for name in names}
    stale = [
        name
        for name, path in made.items()
        if any(source.stat().st_mtime > path.stat().st_mtime for source in sources[name])
    ]
    if stale:
        raise Warned(f"changed since the book was built: {some(stale)}", "make book")
    lab_page = made[serve.links.LAB.removesuffix(".ipynb")].read_text(encoding="utf-8")
    if f"{budget_for('gpt', 'quick').steps:,} steps in" not in lab_page:
        raise Warned("the lab's page shows a training that was cut short", "make book")
    return f"{len(names)} pages"


def explorer(site: Path) -> str:
    """Type a text into the model in the page and let it write on."""
    from playwright.sync_api import TimeoutError
    from serve import browsing, serving

    built(site)
    with serving(site) as address, browsing() as chromium:
        page = chromium.new_page()
        page.goto(f"{address}book/explorer.html")
        remedy = "rm -r _build, then make book"
        try:
            page.locator(".explorer-app, .interactive-note").first.wait_for(timeout=60_000)
            if note := page.locator(".interactive-note").all_inner_texts():
                raise Failed(note[0], remedy)
            page.get_by_role("textbox", name="Type anything").fill(TEXT)
            page.get_by_role("button", name="Write on").click()
            page.wait_for_function(
                "document.querySelector('.explorer-wrote mark')?.textContent.length >= 10",
                timeout=60_000,
            )
        except TimeoutError as error:
            trouble = page.locator(".explorer-trouble").all_inner_texts()
            reason = " ".join(trouble).strip() or "it was open for a minute and wrote nothing"
            raise Failed(reason, remedy) from error
        page.get_by_role("button", name="Pause").click()
        written = page.locator(".explorer-wrote mark").text_content()
    return f"wrote {len(written)} characters after {TEXT!r}"


# The lab


def lab(path: Path, say: Callable[[str], None]) -> str:
    """Run the solved notebook at the QUICK budget; every checkpoint has to pass."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(path, as_version=4)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MINIGPT_STEPS", "MINIGPT_REPOSITORY")
    } | {"MINIGPT_STRICT": "1", "MINIGPT_BUDGET": "quick"}
    client = NotebookClient(
        notebook,
        timeout=1800,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_start=lambda cell, cell_index: say(
            f"cell {cell_index + 1} of {len(notebook.cells)}"
        ),
    )
    start = time.monotonic()
    try:
        # What the kernel itself logs would run into the table.
        client.execute(env=environment, stderr=subprocess.DEVNULL)
    except CellExecutionError as error:
        raise Failed(f"{error.ename}: {error.evalue}", f"run {path.name} cell by cell") from error
    return (
        f"every checkpoint passed; its cells take {time.monotonic() - start:.0f} s on this machine"
    )
