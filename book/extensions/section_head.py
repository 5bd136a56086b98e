"""The head of a section page: its aim, and its place in the briefing from the page's front matter.

minutes: [20, 27]
in_the_room: Check yourself (2 min)
"""

import yaml
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective


class SectionHead(SphinxDirective):
    has_content = True

    def run(self):
        text = self.env.doc2path(self.env.docname, base=True)
        with open(text, encoding="utf-8") as file:
            front = yaml.safe_load(file.read().split("\n---", 1)[0])
        try:
            start, stop = front["minutes"]
        except (KeyError, TypeError, ValueError) as error:
            raise ExtensionError(
                f"{self.env.docname}: the front matter needs `minutes: [first, last]`"
            ) from error
        box = nodes.container(classes=["section-head"])
        self.state.nested_parse(self.content, self.content_offset, box)
        place = f"Minutes {start} to {stop} of the briefing"
        if "in_the_room" in front:
            place += f" · in the room: {front['in_the_room']}"
        box += nodes.paragraph("", place, classes=["section-place"])
        return [box]


def setup(app):
    app.add_directive("section-head", SectionHead)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
