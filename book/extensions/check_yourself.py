"""A question that the reader can first answer: options, a reason for each, and the full answer.

::::{check-yourself} The title
:minutes: 2            (only for a question of the live session)

The question.

:::{choice} what can be chosen
:right:                (for the right one)
Why it is right, or which idea leads to it.
:::

:::{answer}
The full answer.
:::
::::

```{check-count}
```

is where the reader is told how many of all questions were answered right.

Without a script this is the question, its options as a list, and a dropdown with the answer and the
reasons. book/assets/check-yourself.js turns the list into a choice.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).resolve().parents[1]


class Tag(nodes.General, nodes.Element):
    """An HTML element by its name, with attributes."""


def visit(translator, node):
    attributes = "".join(f' {name}="{value}"' for name, value in node["attributes"].items())
    translator.body.append(f"<{node['name']}{attributes}>")


def depart(translator, node):
    translator.body.append(f"</{node['name']}>")


def tag(name: str, *children: nodes.Node, **attributes: str) -> Tag:
    """Make an element; a trailing underscore in an attribute's name is left out (class_)."""
    kept = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    return Tag("", *children, name=name, attributes=kept)


class Choice(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"right": directives.flag}  # noqa: RUF012, docutils reads it

    def run(self):
        label, _ = self.parse_inline(self.arguments[0])
        reason = nodes.container("", *self.parse_content_to_nodes())
        part = nodes.Element("", label=label, reason=reason, right="right" in self.options)
        part["part"] = "choice"
        return [part]


class Answer(SphinxDirective):
    has_content = True

    def run(self):
        part = nodes.Element("", *self.parse_content_to_nodes())
        part["part"] = "answer"
        return [part]


class CheckYourself(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"minutes": directives.positive_int}  # noqa: RUF012

    def run(self):
        question, options, answer = [], [], None
        for node in self.parse_content_to_nodes():
            part = node.get("part") if isinstance(node, nodes.Element) else None
            if part == "choice":
                options.append(node)
            elif part == "answer":
                answer = node
            else:
                question.append(node)
        place = f"{self.env.docname}, line {self.lineno}"
        if answer is None or not question:
            raise ExtensionError(f"{place}: a check-yourself needs a question and an answer")
        if options and (len(options) < 2 or sum(node["right"] for node in options) != 1):
            raise ExtensionError(f"{place}: of two options or more, exactly one is :right:")

        number = self.env.new_serialno("check-yourself") + 1
        name = f"check-{number}"
        title, _ = self.parse_inline(self.arguments[0])
        head = tag(
            "p", nodes.strong("", "Check yourself · "), *title, class_="check-title", id=name
        )
        if "minutes" in self.options:
            minutes = self.options["minutes"]
            head += tag(
                "span", nodes.Text(f"in the room, {minutes} minutes"), class_="check-minutes"
            )
        choices = tag("ol", class_="check-options")
        reasons = tag("dl", class_="check-reasons")
        for node in options:
            right = "true" if node["right"] else "false"
            item = tag("li", *[label.deepcopy() for label in node["label"]], data_right=right)
            if all(isinstance(label, nodes.math) for label in node["label"]):
                spoken = " ".join(label.astext() for label in node["label"])
                item["attributes"]["data-label"] = escape(spoken, quote=True)
            choices += item
            reasons += tag("dt", *node["label"])
            reasons += tag("dd", *node["reason"].children)
        fold = tag("details", tag("summary", nodes.Text("Answer")), class_="check-answer")
        fold += answer.children
        if options:
            fold += tag("p", nodes.strong("", "What leads to each option"))
            fold += reasons
        box = tag("div", head, *question, class_="check-yourself", role="group")
        box["attributes"]["aria-labelledby"] = name
        if options:
            box += choices
        box += fold
        return [box]


def count(book: Path = BOOK) -> int:
    """Count the questions of all pages."""
    pages = (page.read_text(encoding="utf-8") for page in book.rglob("*.md"))
    return sum(len(re.findall(r"^::::\{check-yourself\}", page, re.M)) for page in pages)


class CheckCount(SphinxDirective):
    def run(self):
        self.env.note_reread()  # any page may get a question
        return [tag("div", data_checks=str(count()))]


def setup(app):
    app.add_node(Tag, html=(visit, depart))
    app.add_directive("check-yourself", CheckYourself)
    app.add_directive("check-count", CheckCount)
    app.add_directive("choice", Choice)
    app.add_directive("answer", Answer)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
