"""What whoever teaches should expect, taken from where it is decided: nothing is typed twice.

```{wrong-options} 03-causal-mask
```

lists the options of the questions on that page of the briefing, each with what leads to it.

```{wrong-answers} causal_mask
upside down
diagonal left out
```

shows, for each idea, an answer from the bank of wrong answers (labs/answers/) and what the
checkpoint says to it: the answer is judged while the page is made.

{explore}`the mask taken off <text=To be,&off=mask>` is a link to the explorer in that state; \\n in
its text ends a line.
"""

import inspect
import re
import sys
import textwrap
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from docutils import nodes
from explorer import Explorer
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole

from minigpt import checks

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "labs"))

from answers.bank import answers  # noqa: E402

QUESTION = re.compile(r"^::::\{check-yourself\} ([^\n]+)\n(.*?)^::::$", re.M | re.S)
CHOICE = re.compile(r"^:::\{choice\} ([^\n]+)\n(:right:\n)?(.*?)^:::$", re.M | re.S)


def questions(page: Path) -> list[dict]:
    """Read the questions of a page: title, minutes in the room, options with their reasons."""
    found = []
    for title, body in QUESTION.findall(page.read_text(encoding="utf-8")):
        minutes = re.match(r":minutes: (\d+)\n", body)
        options = [
            {"label": label, "right": bool(right), "reason": " ".join(reason.split())}
            for label, right, reason in CHOICE.findall(body)
        ]
        found.append({"title": title, "minutes": minutes and int(minutes[1]), "options": options})
    return found


class WrongOptions(SphinxDirective):
    required_arguments = 1

    def run(self):
        page = ROOT / "book" / "briefing" / f"{self.arguments[0]}.md"
        if not page.exists():
            raise self.error(f"the briefing has no page {self.arguments[0]!r}")
        self.env.note_dependency(str(page))
        lines = []
        for question in questions(page):
            if not question["options"]:
                raise ExtensionError(f"{page.name}: {question['title']!r} has no options to list")
            when = "for reading afterwards"
            if question["minutes"]:
                when = f"in the room, {question['minutes']} minutes"
            lines += [f"````{{dropdown}} Check yourself · {question['title']} ({when})"]
            lines += ["```{list-table}", ":header-rows: 1", ":widths: 35 65", ""]
            lines += ["* - Option", "  - What leads to it"]
            for option in question["options"]:
                mark = "✓" if option["right"] else "✗"
                lines += [f"* - {mark} {option['label']}", f"  - {option['reason']}"]
            lines += ["```", "````", ""]
        return self.parse_text_to_nodes("\n".join(lines))


def example(name: str, idea: str) -> tuple[str, str]:
    """Give a wrong answer of one idea, as a student would write it, and the checkpoint's words.

    Raises:
        ExtensionError: the bank has no such answer, or the checkpoint sees another idea in it.
    """
    bank = answers(name)
    found = next((answer for answer in bank if answer.misconception == idea), None)
    if found is None:
        known = sorted({answer.misconception for answer in bank} - {None})
        raise ExtensionError(f"the bank of {name} has no {idea!r}; it has {', '.join(known)}")
    verdict = checks.judge(name, found)
    if verdict.misconception != idea:
        raise ExtensionError(
            f"{name}: the checkpoint calls {found.__name__} {verdict.misconception!r}, and the "
            f"bank {idea!r}"
        )
    source = inspect.getsource(found).split("\n", 1)[1]  # without the line that says it is wrong
    return source.rstrip(), verdict.message


class WrongAnswers(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        name = self.arguments[0]
        for path in (
            ROOT / "labs" / "answers" / f"{name}.py",
            *(ROOT / "src" / "minigpt" / "checks").glob("*.py"),
        ):
            self.env.note_dependency(str(path))
        lines = []
        for idea in self.content:
            source, message = example(name, idea)
            first, _, case = message.partition("\n")
            lines += [f"`````{{dropdown}} {idea}", "````python", source, "````", ""]
            lines += [f"**The checkpoint says:** {first}", ""]
            if case:
                lines += ["````text", textwrap.dedent(case), "````"]
            lines += ["`````", ""]
        wrong = [answer for answer in answers(name) if answer.misconception]
        ideas = {answer.misconception for answer in wrong}
        lines.append(
            f"The bank behind this checkpoint holds {len(wrong)} wrong answers, with {len(ideas)} "
            "ideas behind them. Those above are the ones to know first."
        )
        return self.parse_text_to_nodes("\n".join(lines))


class Explore(SphinxRole):
    def run(self):
        try:
            words, state = re.fullmatch(r"(.+) <(.*)>", self.text, re.S).groups()
            parts = dict(parse_qsl(state.replace("+", "%2B"), strict_parsing=bool(state)))
        except (AttributeError, ValueError):
            raise ExtensionError(
                f"{self.env.docname}: {{explore}} takes words <name=value&name=value>, not "
                f"{self.text!r}"
            ) from None
        known = Explorer.option_spec.keys() - {"show", "window"}
        if unknown := parts.keys() - known:
            raise ExtensionError(
                f"{self.env.docname}: the explorer knows no {', '.join(sorted(unknown))}"
            )
        parts = {key: value.replace("\\n", "\n") for key, value in parts.items()}
        page = self.env.app.builder.get_relative_uri(self.env.docname, "book/explorer")
        target = f"{page}#{urlencode(parts, quote_via=quote)}"
        return [nodes.reference("", words, refuri=target, internal=True)], []


def setup(app):
    app.add_directive("wrong-options", WrongOptions)
    app.add_directive("wrong-answers", WrongAnswers)
    app.add_role("explore", Explore())
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
