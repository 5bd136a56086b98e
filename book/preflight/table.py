"""Check on the evening before class that everything will work in the morning.

    make preflight                   # some minutes: the lab is run as a class would run it
    make preflight ARGS=--fast       # without the lab
    make preflight ARGS=--json       # for a machine: one JSON object on stdout, the table on stderr

The exit status is 1 when something failed, and 130 after Ctrl-C.
"""

import argparse
import json
import os
import queue
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import checks
import hyperlinks as links
from checks import ROOT

SITE = ROOT / "_build" / "html"
FREE = 2 * 1024**3  # bytes: a build of the book, and what a browser and a kernel write meanwhile
WIDTH = 100


@dataclass
class Row:
    name: str
    status: str
    seconds: float
    reason: str
    remedy: str = ""


class Table:
    """Prints a row as soon as it is known, and meanwhile what is being done."""

    def __init__(self, out) -> None:
        self.out, self.rows, self.doing = out, [], ""

    def say(self, doing: str) -> None:
        self.doing = doing

    def show(self, text: str, end: str = "\n") -> None:
        clear = "\r\x1b[K" if self.out.isatty() else ""
        print(f"{clear}{text}", end=end, file=self.out, flush=True)

    def running(self, name: str, seconds: float) -> None:
        """Say that a check goes on: in place on a terminal, elsewhere twice a minute."""
        line = f"{'...':<9}{name:<22}{seconds:6.0f} s  {self.doing}"
        if self.out.isatty():
            self.show(line[: WIDTH - 1], end="")
        elif seconds > 1 and round(seconds) % 30 == 0:
            self.show(line)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        head = f"{row.status:<9}{row.name:<22}{row.seconds:6.1f} s  "
        wrap = partial(textwrap.wrap, width=WIDTH - len(head), break_on_hyphens=False)
        words = wrap(row.reason) or [""]
        if row.remedy:
            words += wrap(f"What helps: {row.remedy}")
        self.show(head + ("\n" + " " * len(head)).join(words))


def outcome(check: Callable[[], str]) -> tuple[str, str, str]:
    """Run a check: its status, reason and remedy. A crash is a failure, not the end."""
    try:
        return "ok", check(), ""
    except checks.Finding as finding:
        return finding.status, finding.reason, finding.remedy
    except (Exception, SystemExit) as error:
        words = str(error).strip().splitlines() or [""]
        return "FAILED", f"{type(error).__name__}: {words[0]}", ""


def run(table: Table, rows: list[tuple[str, Callable[[], str]]]) -> None:
    """Run the checks in turn, each on a thread of its own, so that Ctrl-C is heard at once."""
    for name, check in rows:
        table.say("")
        start, result = time.monotonic(), queue.SimpleQueue()
        work = lambda check=check, result=result: result.put(outcome(check))  # noqa: E731
        threading.Thread(target=work, daemon=True).start()
        while True:
            table.running(name, time.monotonic() - start)
            try:
                found = result.get(timeout=1)
                break
            except queue.Empty:
                pass
        status, reason, remedy = found
        table.add(Row(name, status, time.monotonic() - start, reason, remedy))


def verdict(rows: list[Row], stopped: bool = False) -> str:
    """Say in one sentence whether the class can come."""
    named = {
        status: ", ".join(row.name for row in rows if row.status == status)
        for status in ("FAILED", "warning", "skipped")
    }
    if named["FAILED"]:
        sentence = f"Not ready: {named['FAILED']}"
    elif stopped:
        sentence = "Nothing wrong so far"
    else:
        sentence = "Ready"
    if stopped:
        sentence += f"; stopped after {rows[-1].name if rows else 'no check'}"
    if named["warning"]:
        sentence += f"; to look at: {named['warning']}"
    if named["skipped"]:
        sentence += f"; not checked: {named['skipped']}"
    return sentence + "."


def left_out() -> str:
    raise checks.Skipped("left out by --fast")


def all_checks(say: Callable[[str], None], fast: bool) -> list[tuple[str, Callable[[], str]]]:
    data, briefing = ROOT / "data", ROOT / "book" / "briefing"
    source = ROOT / "labs" / "source" / "lab5_transformer.py"
    solved = ROOT / "labs" / "solved" / "lab5_transformer.ipynb"
    return [
        ("Python", partial(checks.python, ROOT / "pyproject.toml")),
        ("Packages", partial(checks.packages, ROOT / "requirements.txt")),
        (
            "Node modules",
            partial(checks.node_modules, ROOT / "package-lock.json", ROOT / "node_modules"),
        ),
        ("Browser", checks.browser),
        ("Disk", partial(checks.disk, ROOT, FREE)),
        ("Corpus and weights", partial(checks.artifacts, data)),
        ("Baselines", partial(checks.baselines, data)),
        ("Notebooks", partial(checks.notebooks, ROOT / "labs" / "build.py")),
        ("Agenda", partial(checks.agenda, ROOT / "book" / "index.md", briefing, source)),
        ("Pages", partial(checks.pages, SITE, ROOT)),
        ("Links within", partial(links.internal_links, SITE)),
        ("Links to the course", partial(links.course_links, SITE, ROOT)),
        ("Links to other sites", partial(links.outward_links, SITE)),
        ("Explorer", partial(checks.explorer, SITE)),
        ("Lab", left_out if fast else partial(checks.lab, solved, say)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--fast", action="store_true", help="leave the lab out")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    asked = parser.parse_args()
    table, stopped = Table(sys.stderr if asked.json else sys.stdout), False
    try:
        run(table, all_checks(table.say, asked.fast))
    except KeyboardInterrupt:
        stopped = True
    sentence = verdict(table.rows, stopped)
    table.show("\n" + textwrap.fill(sentence, WIDTH))
    failed = any(row.status == "FAILED" for row in table.rows)
    if asked.json:
        rows = [asdict(row) for row in table.rows]
        told = {"ready": not failed and not stopped, "verdict": sentence, "checks": rows}
        print(json.dumps(told, indent=2, ensure_ascii=False), flush=True)
    # A check that was stopped is still at work on its thread, deep in a library; Python would wait
    # for it, or fall over it. A kernel or a browser ends when it finds its parent gone.
    os._exit(130 if stopped else int(failed))
