"""What Live Code needs to know of a page: its cells, and where its glued figures and numbers stand.

Every page with code that a reader sees gets all of its code cells, in order, as an inert script
element: the hidden ones too, since the visible ones use what they import and load. What a cell
glues into the text is marked with its key, so that it can be renewed when the cell runs again.
The theme's button stands on the pages that have something to run, and on no others.

book/assets/live.js is the other half.
"""

import json
import re
from pathlib import Path

import links
from check_yourself import Tag, tag
from docutils import nodes
from myst_nb.ext.glue.directives import PasteAnyDirective, PasteFigureDirective
from myst_nb.ext.glue.roles import PasteTextRole
from sphinx.errors import ExtensionError

HUB = "https://mybinder.org"
NUMBER = re.compile(r",?\.\d+f")  # the formats that live-code.js knows


class MarkedText(PasteTextRole):
    """A number or a word from a cell, marked with its key and its format."""

    def run(self):
        found, messages = super().run()
        key, _, form = self.text.partition(":")
        if form and not NUMBER.fullmatch(form):
            raise ExtensionError(
                f"{self.source}, line {self.line}: the format {form!r} cannot be renewed by Live "
                "Code; use one like .2f or ,.0f, or teach it to live_code.py and live-code.js"
            )
        if not messages:
            found = [tag("span", *found, class_="glued", data_glue=key, data_format=form)]
        return found, messages


def marked(key: str, pasted: list[nodes.Node]) -> Tag:
    return tag("div", *pasted, class_="glued", data_glue=key)


class MarkedOutput(PasteAnyDirective):
    """A table or a drawing from a cell, marked with its key."""

    def run(self):
        return [marked(self.arguments[0], super().run())]


class MarkedFigure(PasteFigureDirective):
    """A figure from a cell; its caption stands outside of what is renewed."""

    def run(self):
        figure, *messages = super().run()
        if isinstance(figure, nodes.figure):
            at = next(
                (i for i, part in enumerate(figure) if isinstance(part, nodes.caption)), len(figure)
            )
            figure[:at] = [marked(self.arguments[0], figure[:at])]
        return [figure, *messages]


def cells(executed: Path, shown: set[int]) -> list[dict]:
    """List the code cells of a page in order, those that the page shows marked."""
    notebook = json.loads(executed.read_text(encoding="utf-8"))
    return [
        {"source": "".join(cell["source"]), "shown": index in shown}
        for index, cell in enumerate(notebook["cells"])
        if cell["cell_type"] == "code"
    ]


def hand_over(app, pagename, templatename, context, doctree):
    """Put the cells into the page, or take the theme's button off it when there are none."""
    found = doctree.findall(nodes.container) if doctree else ()
    shown = {node["cell_index"] for node in found if node.get("nb_element") == "cell_code"}
    buttons = context.get("header_buttons", [])
    launch = [button for button in buttons if button.get("label") == "launch-buttons"]
    if not shown:
        context["header_buttons"] = [button for button in buttons if button not in launch]
        return
    if not launch:
        raise ExtensionError(f"{pagename}: cells to run, and no button for it from the theme")
    # One button needs no menu around it.
    (live,) = launch[0]["buttons"]
    live["tooltip"] = "Run and change the code of this page"
    buttons[buttons.index(launch[0])] = live

    here = links.read()
    executed = Path(app.outdir).parent / "jupyter_execute" / f"{pagename}.ipynb"
    data = {
        "hub": HUB,
        "repository": here.slug,
        "ref": here.ref,
        "placeholder": here.placeholder,
        "cells": cells(executed, shown),
    }
    inert = json.dumps(data).replace("<", "\\u003c")
    context["body"] += f'<script type="application/json" id="live-code">{inert}</script>'


def setup(app):
    app.setup_extension("myst_nb")
    app.add_role_to_domain("glue", "text", MarkedText(), override=True)
    app.add_directive_to_domain("glue", "", MarkedOutput, override=True)
    app.add_directive_to_domain("glue", "figure", MarkedFigure, override=True)
    # The theme adds its button to the same event with priority 501.
    app.connect("html-page-context", hand_over, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
