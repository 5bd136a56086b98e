"""Write the student's notebook and the solved one from each source in labs/source.

    python labs/build.py            # writes those that differ
    python labs/build.py --check    # says whether they are what the sources would give

In the source a cell with `### BEGIN SOLUTION` and `### END SOLUTION` is an exercise. The student
gets what stands around the two marks, with a NotImplementedError between them, and the solution
folded beneath. The solved notebook gets the solution, and neither the marks nor the TODO lines.

A line `# {set-up}` becomes labs/source/set_up.py, which the notebooks share. What the head of a
source says beside its format (accelerator, colab, myst) goes into both its notebooks.

Links in the source are short: (section-3), (eq-6), (page:book/index), (colab), (binder), (file:x).
A link to a section or an equation that no page holds yet becomes plain text.

Somebody's work in a notebook is copied to labs/mine before that is written anew (copies.py).
"""

import argparse
import re
import sys
from pathlib import Path

import copies
import jupytext
import nbformat
from copies import links

from minigpt.artifacts import write_atomic

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "labs" / "source").glob("lab*.py"))
SET_UP = ROOT / "labs" / "source" / "set_up.py"
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n?", re.S | re.M)
TODO = re.compile(r"^ *# TODO.*\n", re.M)
METADATA = {
    "colab": {"provenance": [], "toc_visible": True},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def student_of(source: Path) -> Path:
    """Say where the student's notebook of a source goes."""
    return ROOT / "labs" / f"{source.stem}.ipynb"


def solved_of(source: Path) -> Path:
    """Say where the solved notebook of a source goes."""
    return ROOT / "labs" / "solved" / f"{source.stem}.ipynb"


def pages() -> dict[str, str]:
    """Find where sections and equations stand: "section-3" and "eq-6" -> page and anchor."""
    places = {}
    for page in sorted((ROOT / "book").rglob("*.md")):
        name, text = str(page.relative_to(ROOT).with_suffix("")), page.read_text()
        if section := re.search(r"^section: (\d+)$", text, re.M):
            places[f"section-{section[1]}"] = (name, "")
        for number in re.findall(r"^:label: eq-(\d+)$", text, re.M):
            places[f"eq-{number}"] = (name, f"#equation-eq-{number}")
    return places


def with_links(text: str, here: links.Links, places: dict, notebook: str) -> str:
    """Write the short links of a source out; Colab and Binder open the notebook of that name."""

    def link(match: re.Match) -> str:
        words, target = match[1], match[2]
        if target.startswith("file:"):
            return f"[{words}]({here.file(target.removeprefix('file:'))})"
        if target.startswith("page:"):
            return f"[{words}]({here.page(target.removeprefix('page:'))})"
        if target in ("colab", "binder"):
            return f"[{words}]({getattr(here, f'in_{target}')(notebook)})"
        if target not in places:
            return words
        page, anchor = places[target]
        return f"[{words}]({here.page(page)}{anchor})"

    short = r"\(((?:section|eq)-\d+|page:[^)]*|colab|binder|file:[^)]*)\)"
    text = re.sub(rf"\[(!\[[^\]]*\]\([^)]*\))\]{short}", link, text)  # a badge
    return re.sub(rf"\[([^\]]*)\]{short}", link, text)


def filled_in(text: str, here: links.Links) -> str:
    """Put the shared set-up into its cell, and the address of the repository into that."""
    text = text.replace("# {set-up}", SET_UP.read_text().rstrip("\n"))
    return text.replace("{repository}", here.repository).replace("{ref}", here.ref)


def stub(code: str) -> str:
    """Take the solution out."""
    return SOLUTION.sub(r"\1raise NotImplementedError\n", code).rstrip("\n")


def solved(code: str) -> str:
    """Take the marks and the TODO lines out."""
    return SOLUTION.sub(r"\2", TODO.sub("", code)).rstrip("\n")


def folded(code: str) -> str:
    """Fold a solution, to stand beneath its stub."""
    return f"<details>\n<summary>Solution</summary>\n\n```python\n{solved(code)}\n```\n\n</details>"


def notebooks(here: links.Links | None = None) -> dict[Path, str]:
    """Make all notebooks from the sources, for the course in _config.yml or for another one."""
    here, places = here or links.read({}), pages()
    return {p: text for s in SOURCES for p, text in two_notebooks(s, here, places).items()}


def two_notebooks(path: Path, here: links.Links, places: dict) -> dict[Path, str]:
    """Make the student's notebook and the solved one from one source."""
    source, student = jupytext.read(path), student_of(path)
    made: dict[Path, list] = {student: [], solved_of(path): []}
    for cell in source.cells:
        text = cell.source
        metadata = {k: v for k, v in cell.metadata.items() if k in ("tags", "cellView")}
        if cell.cell_type == "markdown":
            text = with_links(text, here, places, f"labs/{student.name}")
            for cells in made.values():
                cells.append((nbformat.v4.new_markdown_cell(text), metadata))
            continue
        text = filled_in(text, here)
        for target, cells in made.items():
            code = stub(text) if target == student else solved(text)
            cells.append((nbformat.v4.new_code_cell(code), metadata))
        if SOLUTION.search(text):
            made[student].append((nbformat.v4.new_markdown_cell(folded(text)), {}))
    own = {k: v for k, v in source.metadata.items() if k in ("accelerator", "colab", "myst")}
    about = METADATA | own | {"colab": METADATA["colab"] | own.get("colab", {})}
    written = {}
    for target, cells in made.items():
        for number, (cell, metadata) in enumerate(cells, 1):
            cell.id, cell.metadata = f"cell-{number:02}", metadata
        notebook = nbformat.v4.new_notebook(cells=[c for c, _ in cells], metadata=about)
        nbformat.validate(notebook)
        written[target] = nbformat.writes(notebook) + "\n"
    return written


def write_all(files: dict[Path, str]) -> list[Path]:
    """Write those files that differ: all of them, or none when one cannot be written.

    Somebody's work in a notebook is kept, and it is said where.
    """
    before, written = {}, []
    try:
        for path, text in files.items():
            there = path.read_bytes() if path.exists() else None
            if there == text.encode():
                continue
            if there is not None and path.suffix == ".ipynb" and (kept := copies.keep(path)):
                print(
                    f"{copies.shown(path)} held somebody's work, which is now in "
                    f"{copies.shown(kept)}. Go on there; make lab opens copies in that folder."
                )
            before[path] = there
            write_atomic(path, text.encode())
            written.append(path)
    except BaseException:
        for path in written:
            if before[path] is None:
                path.unlink()
            else:
                write_atomic(path, before[path])
        raise
    made = {path: text for path, text in files.items() if path.suffix == ".ipynb"}
    copies.note("written", {copies.shown(p): copies.digest(t.encode()) for p, t in made.items()})
    return written


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when stale")
    check = parser.parse_args().check
    if not check:
        for path in write_all(notebooks()):
            print(f"wrote {path.relative_to(ROOT)}")
        return 0
    stale = [
        str(path.relative_to(ROOT))
        for path, text in notebooks().items()
        if not path.exists() or path.read_bytes() != text.encode()
    ]
    if stale:
        print(
            f"not what its source would give: {', '.join(stale)}. Run make notebooks, which keeps "
            "in labs/mine what somebody has written there; edit labs/source, never the notebooks.",
            file=sys.stderr,
        )
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
