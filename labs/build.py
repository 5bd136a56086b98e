"""Write the student's notebook and the solved one from the lab's source.

    python labs/build.py            # writes both
    python labs/build.py --check    # says whether they are what the source would give

In the source a cell with `### BEGIN SOLUTION` and `### END SOLUTION` is an exercise. The student
gets what stands around the two marks, with a NotImplementedError between them, and the solution
folded beneath. The solved notebook gets the solution, and neither the marks nor the TODO lines.

Links in the source are short: (section-3), (eq-6), (index), (colab), (binder), (file:x). A link
to a section or an equation that no page holds yet becomes plain text.
"""

import argparse
import re
import sys
from pathlib import Path

import jupytext
import nbformat

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "extensions"))
sys.path.append(str(ROOT / "src"))

import links  # noqa: E402

from minigpt.artifacts import write_atomic  # noqa: E402

SOURCE = ROOT / "labs" / "source" / "lab5_transformer.py"
STUDENT = ROOT / "labs" / "lab5_transformer.ipynb"
SOLVED = ROOT / "labs" / "solved" / "lab5_transformer.ipynb"
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n?", re.S | re.M)
TODO = re.compile(r"^ *# TODO.*\n", re.M)
METADATA = {
    "accelerator": "GPU",  # Colab starts a notebook that asks for one on a GPU
    "colab": {"gpuType": "T4", "provenance": [], "toc_visible": True},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
    # For the page of the book that the notebook becomes.
    "myst": {
        "html_meta": {
            "description": "The lab: write attention, its mask and positions yourself, put them "
            "into a small GPT, train it on Shakespeare and look inside."
        }
    },
}


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


def with_links(text: str, here: links.Links, places: dict) -> str:
    """Write the short links of the source out."""

    def link(match: re.Match) -> str:
        words, target = match[1], match[2]
        if target.startswith("file:"):
            return f"[{words}]({here.file(target.removeprefix('file:'))})"
        if target == "index":
            return f"[{words}]({here.page('book/index')})"
        if target in ("colab", "binder"):
            return f"[{words}]({getattr(here, target)})"
        if target not in places:
            return words
        page, anchor = places[target]
        return f"[{words}]({here.page(page)}{anchor})"

    short = r"\(((?:section|eq)-\d+|index|colab|binder|file:[^)]*)\)"
    text = re.sub(rf"\[(!\[[^\]]*\]\([^)]*\))\]{short}", link, text)  # a badge
    return re.sub(rf"\[([^\]]*)\]{short}", link, text)


def filled_in(text: str, here: links.Links) -> str:
    """Put the address of the repository into the set-up cell."""
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
    """Make both notebooks from the source, for the course in _config.yml or for another one."""
    source, here, places = jupytext.read(SOURCE), here or links.read({}), pages()
    made: dict[Path, list] = {STUDENT: [], SOLVED: []}
    for cell in source.cells:
        text = cell.source
        metadata = {k: v for k, v in cell.metadata.items() if k in ("tags", "cellView")}
        if cell.cell_type == "markdown":
            for cells in made.values():
                new = nbformat.v4.new_markdown_cell(with_links(text, here, places))
                cells.append((new, metadata))
            continue
        text = filled_in(text, here)
        for path, cells in made.items():
            code = stub(text) if path == STUDENT else solved(text)
            cells.append((nbformat.v4.new_code_cell(code), metadata))
        if SOLUTION.search(text):
            made[STUDENT].append((nbformat.v4.new_markdown_cell(folded(text)), {}))
    written = {}
    for path, cells in made.items():
        for number, (cell, metadata) in enumerate(cells, 1):
            cell.id, cell.metadata = f"cell-{number:02}", metadata
        notebook = nbformat.v4.new_notebook(cells=[c for c, _ in cells], metadata=METADATA)
        nbformat.validate(notebook)
        written[path] = nbformat.writes(notebook) + "\n"
    return written


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when stale")
    check = parser.parse_args().check
    stale = []
    for path, text in notebooks().items():
        if not path.exists() or path.read_text() != text:
            stale.append(path.relative_to(ROOT))
            if not check:
                write_atomic(path, text.encode())
                print(f"wrote {path.relative_to(ROOT)}")
    if check and stale:
        print(
            f"not what the source would give: {', '.join(map(str, stale))}. Run "
            "`python labs/build.py`; edit labs/source, never the notebooks.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
