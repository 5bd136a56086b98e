"""The briefing's minutes, from the front matter of its pages: a section's head, and the agenda.

section: 3
minutes: [20, 27]
in_the_room: Check yourself (2 min)
"""

import re
from pathlib import Path

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective


def front_matter(path: Path) -> dict:
    """Read the front matter of a page; a page without one has none."""
    text = path.read_text(encoding="utf-8")
    if not text.startswith("---\n"):
        return {}
    return yaml.safe_load(text.split("\n---", 1)[0]) or {}


def minutes(front: dict, name: str) -> tuple[int, int]:
    """Give the first and the last minute of a section."""
    try:
        start, stop = front["minutes"]
    except (KeyError, TypeError, ValueError) as error:
        raise ExtensionError(f"{name}: the front matter needs `minutes: [first, last]`") from error
    return start, stop


def agenda(folder: Path) -> list[dict]:
    """List the sections by number, with their minutes and what is done in the room.

    Raises:
        ExtensionError: the minutes do not follow each other.
    """
    sections, end = [], 0
    for path in sorted(folder.glob("*.md")):
        front = front_matter(path)
        if "section" not in front:
            continue
        start, stop = minutes(front, path.name)
        if start != end or stop <= start:
            raise ExtensionError(
                f"{path.name}: its minutes are {start} to {stop}, and the section before ends at "
                f"{end}"
            )
        title = re.search(r"^# \d+\. (.*)$", path.read_text(encoding="utf-8"), re.M)[1]
        room = front.get("in_the_room", "")
        activities = sum(map(int, re.findall(r"\((\d+) min\)", room)))
        sections.append(
            {"number": front["section"], "title": title, "start": start, "stop": stop}
            | {"room": room, "activities": activities, "page": path.stem}
        )
        end = stop
    return sections


class SectionHead(SphinxDirective):
    has_content = True

    def run(self):
        name = self.env.docname
        front = front_matter(Path(self.env.doc2path(name, base=True)))
        start, stop = minutes(front, name)
        box = nodes.container(classes=["section-head"])
        self.state.nested_parse(self.content, self.content_offset, box)
        place = f"Minutes {start} to {stop} of the briefing"
        if "in_the_room" in front:
            place += f" · in the room: {front['in_the_room']}"
        box += nodes.paragraph("", place, classes=["section-place"])
        return [box]


class Agenda(SphinxDirective):
    """The sections and the parts of the module as tables; their minutes have to sum up."""

    option_spec = {  # noqa: RUF012, docutils reads it
        "start": directives.unchanged_required,
        "briefing": directives.positive_int,
        "lab": directives.positive_int,
        "debrief": directives.positive_int,
        "total": directives.positive_int,
    }

    def run(self):
        sections = agenda(Path(self.env.srcdir) / "book" / "briefing")
        self.env.note_reread()  # it shows what stands on other pages
        planned = {part: self.options[part] for part in ("briefing", "lab", "debrief")}
        total = sections[-1]["stop"]
        if total != planned["briefing"]:
            raise ExtensionError(
                f"the sections take {total} minutes, and {planned['briefing']} are announced"
            )
        if sum(planned.values()) != self.options["total"]:
            raise ExtensionError(
                f"the parts take {sum(planned.values())} minutes, and {self.options['total']} are "
                "announced"
            )
        activities = sum(section["activities"] for section in sections)
        lines = ["| Minutes | Section | In the room |", "|---|---|---|"]
        for s in sections:
            link = f"[{s['number']}. {s['title']}](/book/briefing/{s['page']}.md)"
            lines.append(f"| {s['start']} to {s['stop']} | {link} | {s['room'] or '–'} |")
        lines.append(
            f"| {total} | **Total** | {total - activities} minutes of exposition, "
            f"{activities} of activities |"
        )
        names = {
            "briefing": "Briefing",
            "lab": "[Lab](/labs/lab5_transformer.ipynb)",
            "debrief": "[Debrief](/book/debrief.md)",
        }
        hour, minute = map(int, self.options["start"].strip('"').split(":"))
        clock = hour * 60 + minute
        lines += ["", "| Begins | Part | Minutes |", "|---|---|---|"]
        for part, length in planned.items():
            lines.append(f"| {clock // 60:02}:{clock % 60:02} | {names[part]} | {length} |")
            clock += length
        lines.append(f"| | **Total** | {self.options['total']} |")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app):
    app.add_directive("section-head", SectionHead)
    app.add_directive("agenda", Agenda)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
