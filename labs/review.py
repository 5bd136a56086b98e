"""Read the notebooks that came back after class: what was tried, what passed, what went wrong.

    python labs/review.py FOLDER                     # a table, and the misconceptions by count
    python labs/review.py FOLDER --csv review.csv    # also every detail, for a spreadsheet

FOLDER and everything below it is searched: one notebook per student, or a folder per student.
Hidden folders are passed over, and links to folders are not followed. Nothing of a notebook is ever
run. A file that cannot be read is listed with its reason.

A function counts as written when it differs from its stub by more than comments. What a checkpoint
said last is taken from its output, else from the tally's. Where a notebook has no output at all, it
cannot be told whether it was cleared or never run. All this is what the notebooks say: text can be
edited by hand, so it is no proof.
"""

import argparse
import ast
import csv
import io
import itertools
import json
import os
import re
import sys
import textwrap
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unicodedata import category, east_asian_width, normalize

from minigpt.artifacts import write_atomic
from minigpt.checks import BORROWED, CHALLENGE, CORE, MARKS, read_headline

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "labs" / "lab5_transformer.ipynb"
NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.I)  # some browsers add the second half
ARCHIVE = re.compile(r"\.(zip|7z|rar|tar|t?gz)$", re.I)
LIMIT = 50_000_000  # bytes; the lab with all its figures has about one million
WIDTH = 100  # columns
EXERCISES = CORE | CHALLENGE
COLUMNS = {name: exercise.removeprefix("Exercise ") for name, exercise in CORE.items()}
COLUMNS |= {name: f"C{number}" for number, name in enumerate(CHALLENGE, 1)}
SIGNS = MARKS | {"not checked": "!", "outputs cleared": "?", "not in the notebook": "-"}


class Unread(Exception):
    """A file is no notebook of this lab; the reason, in words."""


class Cell(NamedTuple):
    """What counts of a code cell; count is the number in Jupyter's In [ ]."""

    source: str
    count: int | None
    printed: str
    error: str


class Finding(NamedTuple):
    """What a notebook says about one function; the status is one of SIGNS."""

    status: str
    misconception: str = ""
    message: str = ""
    note: str = ""


class Review(NamedTuple):
    """What a notebook says about functions, predictions, measurements, and in its tally."""

    findings: dict[str, Finding]
    guesses: dict[str, str]
    claims: dict[str, bool]
    tally: str


def find(folder: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """List the notebooks in a folder and below, and what may hide others, with the reason."""
    found, hiding = [], []

    def refused(error: OSError) -> None:
        hiding.append((Path(error.filename), f"cannot be opened: {error.strerror}"))

    for here, folders, files in os.walk(folder, onerror=refused):
        folders[:] = sorted(name for name in folders if name[0] != "." and name != "__MACOSX")
        for name in [*folders, *sorted(name for name in files if name[0] != ".")]:
            if NOTEBOOK.search(name):
                found.append(Path(here, name))
            elif ARCHIVE.search(name):
                hiding.append((Path(here, name), "an archive: unpack it, then run this again"))
    return found, hiding


def read_cells(path: Path) -> list[Cell]:
    """Read the code cells of a notebook of any version, or say why not by Unread.

    json and not nbformat: that checks every field, which takes long and refuses what can be read.
    """
    if path.is_dir():
        raise Unread("a folder, no notebook")
    if not path.is_file():  # a pipe would keep us waiting
        raise Unread("no ordinary file, or a link that leads nowhere")
    try:
        with path.open("rb") as file:
            content = file.read(LIMIT + 1)
    except OSError as error:
        raise Unread(f"cannot be opened: {error.strerror}") from None
    if len(content) > LIMIT:
        raise Unread(f"larger than {LIMIT // 10**6} MB: ask for it with its outputs cleared")
    if not content.strip():
        raise Unread("empty")
    try:
        notebook = json.loads(content)
    except (ValueError, RecursionError):
        page = "a web page, no notebook" if content.lstrip()[:1] == b"<" else ""
        raise Unread(page or "no JSON: damaged or cut short") from None
    sheets = [notebook]
    if isinstance(notebook, dict) and isinstance(notebook.get("worksheets"), list):
        sheets = notebook["worksheets"]  # format 3
    lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    if not any(isinstance(cells, list) for cells in lists):
        raise Unread("JSON, but no notebook")
    cells = [cell for cells in lists if isinstance(cells, list) for cell in cells]
    return [as_cell(c) for c in cells if isinstance(c, dict) and c.get("cell_type") == "code"]


def as_cell(cell: dict) -> Cell:
    """Take from a cell what counts; what is not as it should be counts for nothing."""
    outputs = cell.get("outputs")
    outputs = [o for o in outputs if isinstance(o, dict)] if isinstance(outputs, list) else []
    count = cell.get("execution_count", cell.get("prompt_number"))
    printed = "".join(as_text(o.get("text")) for o in outputs if o.get("output_type") == "stream")
    error = "".join(as_text(o.get("ename")) for o in outputs)
    source = as_text(cell.get("source", cell.get("input")))
    return Cell(source, count if type(count) is int else None, printed, clean(error, 40))


def as_text(value: object) -> str:
    """Join a text that may be a list of its lines."""
    return "".join(v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str))


def clean(text: str, limit: int = 300) -> str:
    """Make one line of a student's text, with nothing in it that steers a screen."""
    text = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", normalize("NFC", text[:5000]))
    text = "".join(" " if category(c)[0] in "CZ" else c for c in text)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def students(paths: Sequence[Path], folder: Path) -> list[str]:
    """Name each notebook by its file, or by its folder where all files are called like the lab."""
    inside = [path.relative_to(folder) for path in paths]
    names = [NOTEBOOK.sub("", path.name) for path in paths]
    alike = len(set(names)) == 1 or all(LAB.stem in name for name in names)
    if alike and all(len(path.parts) > 1 for path in inside):
        names = [str(path.parent) for path in inside]
        # What Moodle puts after every name is left out; letters are meant, not parts of a path.
        end = os.path.commonprefix([name[::-1] for name in names])[::-1]  # noqa: RUF071
        names = [name.removesuffix("".join(end.partition("_")[1:])) or name for name in names]
    often = Counter(names)
    # Those of one name are told apart by their whole path.
    return [clean(n if often[n] == 1 else str(p)) for n, p in zip(names, inside, strict=True)]


def parsed(text: str) -> ast.Module | None:
    """Parse Python; None where it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a student's "\d"
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def calls(source: str, function: str) -> Iterator[tuple[str, str]]:
    """Give a text and what follows it, of each call; in a cell that is no Python, line by line."""
    if function not in source:
        return
    whole = parsed(source)
    for tree in [whole] if whole else map(parsed, map(str.strip, source.splitlines())):
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == function and node.args:
                what, *rest = node.args
                if isinstance(what, ast.Constant) and isinstance(what.value, str):
                    yield what.value, ", ".join(map(ast.unparse, rest))


def definitions(source: str, name: str) -> Iterator[str | None]:
    """Give what Python sees in each definition of a name, without comments and docstrings.

    Only its own lines are looked at, so that a magic or a slip elsewhere in the cell does no harm.
    """
    lines = source.splitlines()
    for number, line in enumerate(lines):
        if head := re.match(rf"([ \t]*)(def|class) +{name}\b", line):
            deeper = re.compile(rf"\s*$|\s*[#)]|{head[1]}\s")
            body = itertools.takewhile(deeper.match, lines[number + 1 :])
            tree = parsed(textwrap.dedent("\n".join([line, *body])))
            for node in ast.walk(tree) if tree else ():
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
                    del node.body[0]
            yield ast.dump(tree) if tree else None


class Lab:
    """The student's notebook as it is handed out: its stubs, predictions and measurements."""

    def __init__(self) -> None:
        sources = [cell.source for cell in read_cells(LAB)]
        self.stubs = {n: next(d for s in sources for d in definitions(s, n)) for n in EXERCISES}
        self.predictions = [what for s in sources for what, _ in calls(s, "predict")]
        self.claims = [claim for s in sources for claim, _ in calls(s, "checks.confirm")]


def listen(cells: Sequence[Cell], lab: Lab) -> tuple[dict, dict, dict]:
    """Give each checkpoint's last verdict and its cell, the tally's, and what was measured."""
    said, tallied, claims = {}, {}, {}
    for cell in sorted(cells, key=lambda cell: cell.count or -1):
        lines = [*map(str.rstrip, cell.printed.splitlines()), ""]
        for line, below in itertools.pairwise(lines):
            indented = line[:2] == "  "
            if found := read_headline(line[2:] if indented else line):
                name, verdict = found
                told = "" if indented or below[2:] == BORROWED else below
                idea = clean(verdict.misconception or "", 60)
                finding = Finding(verdict.status, idea, clean(told))
                (tallied if indented else said)[name] = (finding, None if indented else cell)
            elif line[:1] in (MARKS["passed"], MARKS["failed"]):
                held = line[0] == MARKS["passed"]
                claims |= {c: held for c in lab.claims if line[2:].startswith(f"{c}: ")}
    return said, tallied, claims


def judge(name: str, stub: str, cells: Sequence[Cell], said: dict, tallied: dict) -> Finding:
    """Say how far a student came with one function."""
    assigned = re.compile(rf"^{name} *= *(?!checks\b)[^=\s]", re.M)
    checkpoint = re.compile(rf"^[^#\n]*\bchecks\.{name} *\(", re.M)
    asked = [cell for cell in cells if checkpoint.search(cell.source)]
    found = {cell: [*definitions(cell.source, name)] for cell in cells if name in cell.source}
    own = [c for c, ds in found.items() if any(d != stub for d in ds) or assigned.search(c.source)]
    last, by = said.get(name) or tallied.get(name) or (None, None)
    if not by and last and last.status == "not attempted":
        last = None  # so says the tally of a checkpoint that was not run

    if last and last.status != "not attempted":
        if not own:
            now = "its cell holds the stub now" if any(found.values()) else "its code is gone"
            return last._replace(note=f"but {now}")
        if by and by.count and any((cell.count or 0) > by.count for cell in own):
            return last._replace(note="but its cell was run again after the checkpoint")
        return last if by else last._replace(note="said by the tally alone")
    if not own:
        return Finding("not attempted" if last or any(found.values()) else "not in the notebook")
    status, note = "not checked", f"the checkpoint was {'not run' if asked else 'deleted'}"
    if stopped := next((cell.error for cell in [*own, *asked] if cell.error), ""):
        note = f"its cell or its checkpoint's stopped with {stopped}"
    elif last:
        note = "the checkpoint met the stub or the course's own function"
    elif any(c.count and not c.printed for c in asked) or not any(c.printed for c in cells):
        status, note = "outputs cleared", ""
    return Finding(status, note=note)


def review(path: Path, lab: Lab) -> Review:
    """Read one notebook, or say why not by Unread."""
    cells = read_cells(path)
    try:
        said, tallied, claims = listen(cells, lab)
        findings = {n: judge(n, stub, cells, said, tallied) for n, stub in lab.stubs.items()}
        asked = [pair for cell in cells for pair in calls(cell.source, "predict")]
    except RecursionError:
        raise Unread("its code is nested too deeply") from None
    asked = [(what, clean(guess)) for what, guess in asked if what in lab.predictions]
    if not asked and all(f.status == "not in the notebook" for f in findings.values()):
        raise Unread("a notebook, but no cell of this lab is in it")
    made = {what: g for what, g in asked if re.sub(r"None|[\s,()\[\]]", "", g)}
    core = [tallied[name][0].status for name in CORE if name in tallied]
    return Review(findings, made, claims, f"{core.count('passed')} of {len(CORE)}" if core else "")


def columns(text: str) -> int:
    """Count the columns that a text takes on a screen: a Chinese letter takes two."""
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text)


def table(reviews: Sequence[tuple[str, Review]], lab: Lab) -> Iterator[str]:
    """Set a row per student, and explain the columns."""
    width = max(len("student"), *(min(32, columns(student)) for student, _ in reviews))

    def row(student: str, marks: Iterable[object], *rest: str) -> str:
        while columns(student) > width:
            student = student[:-2] + "…"
        cells = "".join(f"{mark:>5}" for mark in marks) + "".join(f"{text:>11}" for text in rest)
        return student + " " * (width - columns(student)) + cells

    yield row("student", COLUMNS.values(), "predicted", "measured", "tally")
    for student, (findings, guesses, claims, tally) in reviews:
        measured = f"{sum(claims.values())} of {len(claims)}" if claims else "-"
        marks = [SIGNS[finding.status] for finding in findings.values()]
        yield row(student, marks, str(len(guesses)), measured, tally or "-")
    passed = Counter(n for _, r in reviews for n, f in r.findings.items() if f.status == "passed")
    yield row("passed", [passed[name] for name in EXERCISES])
    yield "\n" + "   ".join(f"{sign} {status}" for status, sign in SIGNS.items())
    for names in (CORE, CHALLENGE):
        # A number and its name are not torn apart at the end of a line.
        legend = "   ".join(f"{COLUMNS[name]}\0{name}" for name in names)
        yield textwrap.fill(legend, WIDTH).replace("\0", " ")
    yield f"predicted: guesses made, of {len(lab.predictions)}"
    yield "measured: found as it has to be, of what the lab measured on the way"
    yield "tally: core exercises passed, as the notebook's last cell counted"


def grouped(title: str, items: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Group (what, message, student) by the first, the commonest first."""
    groups = defaultdict(list)
    for what, message, student in items:
        groups[what].append((student, message))
    if groups:
        yield f"\n{title}"
    for what, who in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        text = f"{len(who):4} × {what}: {', '.join(student for student, _ in who)}"
        yield from textwrap.wrap(text, WIDTH, subsequent_indent=" " * 7, break_on_hyphens=False)
        for message, _ in Counter(message for _, message in who if message).most_common(1):
            sentence = re.split(r"(?<=\.) ", message)[0]
            yield from textwrap.indent(textwrap.fill(sentence, WIDTH - 9), " " * 9).splitlines()


def report(reviews: Sequence[tuple[str, Review]], unread: Sequence, lab: Lab) -> Iterator[str]:
    """Write what an instructor wants to see, line by line."""
    failed, doubtful, whole = [], [], 0
    for student, seen in reviews:
        for name, (status, idea, message, note) in seen.findings.items():
            about = f"{EXERCISES[name]}, {name}"
            failed += [(f"{about} · {idea}", message, student)] if status == "failed" else []
            doubtful += [(f"{about} · {status}, {note}", "", student)] if note else []
        not_so = [claim for claim, held in seen.claims.items() if not held]
        doubtful += [(f"Measured, and not so · {claim}", "", student) for claim in not_so]
        whole += all(seen.findings[name].status == "passed" for name in CORE)
    yield from table(reviews, lab) if reviews else ()
    yield from grouped("What went wrong, the commonest first", failed)
    yield from grouped("Worth a look", doubtful)
    yield from grouped("Could not be read", ((why, "", name) for name, why in unread))
    yield f"\n{len(reviews)} read, {len(unread)} not. All core exercises passed: {whole}."
    yield "This is what the notebooks say; it is no proof."


def as_csv(reviews: Sequence[tuple[str, Review]], unread: Sequence, lab: Lab) -> bytes:
    """Write every detail, with the mark at the front by which Excel knows UTF-8."""
    head = ["student", *(f"{EXERCISES[name]}: {name}" for name in EXERCISES)]
    head += [*lab.predictions, *lab.claims, "tally", "notes"]
    rows = [head]
    for student, (findings, guesses, claims, tally) in reviews:
        row = [student, *(": ".join(filter(None, f[:2])) for f in findings.values())]
        row += [guesses.get(what, "") for what in lab.predictions]
        row += [{True: "yes", False: "no", None: ""}[claims.get(claim)] for claim in lab.claims]
        notes = "; ".join(f"{name}: {f.note}" for name, f in findings.items() if f.note)
        rows.append([*row, tally, notes])
    rows += [[n, *[""] * (len(head) - 2), f"could not be read: {why}"] for n, why in unread]
    text = io.StringIO(newline="")
    # A spreadsheet would run a cell that begins like a formula.
    csv.writer(text).writerows(["'" * (c[:1] in {*"=+-@"}) + c for c in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def main(arguments: Sequence[str] | None = None) -> int:
    """Review a folder; 2 where there is nothing to review."""
    plain = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where the notebooks lie")
    parser.add_argument("--csv", metavar="FILE", type=Path, help="write a table for a spreadsheet")
    options = parser.parse_args(arguments)
    if options.csv and options.csv.is_file():
        parser.error(f"{options.csv} is there already: choose another name, or delete it")
    folder, lab, reviews = options.folder, Lab(), []
    if not folder.is_dir():
        parser.error(f"there is no folder {folder}")
    paths, hiding = find(folder)
    unread = [(clean(str(path.relative_to(folder))), why) for path, why in hiding]
    if not paths:
        others = "".join(f"\n  {name}: {why}" for name, why in unread)
        parser.error(f"no notebook (.ipynb) in {folder}{others}")
    named = zip(students(paths, folder), paths, strict=True)
    for student, path in sorted(named, key=lambda pair: normalize("NFKD", pair[0]).casefold()):
        try:
            reviews.append((student, review(path, lab)))
        except Unread as reason:
            unread.append((clean(str(path.relative_to(folder))), str(reason)))
    sys.stdout.reconfigure(errors="replace")  # a screen may lack the marks
    print("\n".join(report(reviews, unread, lab)))
    if options.csv:
        try:
            write_atomic(options.csv, as_csv(reviews, unread, lab))
        except OSError as error:
            parser.error(f"{options.csv} could not be written: {error.strerror}")
        print(f"Written: {options.csv}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
