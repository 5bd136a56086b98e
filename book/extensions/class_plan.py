"""The plan of the class, computed: which part begins when, for whoever teaches.

```{class-timeline}
```

is the whole plan as a table, with a clock that can be started (book/assets/class-clock.js), and

```{plan} exercise-1
```

one part of it: section-1 to section-8, set-up, exercise-0 to exercise-5, debrief. The start and the
length of the briefing, the lab and the debrief stand in the agenda of book/index.md, the minutes of
a section in its front matter, those of an exercise in the lab itself. What the lab does not plan
goes to its beginning, the set-up. The notes on a part stand where its label is: teach-1 to teach-8,
teach-set-up, teach-exercise-0 and so on.
"""

import json
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from check_yourself import tag
from docutils import nodes
from exercises import LAB, exercises
from section_head import agenda
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "book" / "index.md"
BRIEFING = ROOT / "book" / "briefing"
TIMES = ROOT / "data" / "lab.json"


@dataclass(frozen=True)
class Part:
    """One entry of the plan; its start counts in minutes from the beginning of the class."""

    key: str
    title: str
    link: str  # the title as MyST
    start: int
    minutes: int
    room: str = ""


def announced(index: Path = INDEX) -> dict[str, int]:
    """Read the agenda's options: the start in minutes after midnight, and the lengths.

    Raises:
        ExtensionError: the page has no agenda, or one that leaves something out.
    """
    block = re.search(r"^```\{agenda\}\n(.*?)^```", index.read_text(encoding="utf-8"), re.M | re.S)
    options = dict(re.findall(r'^:(\w+): "?([\d:]+)"?$', block[1] if block else "", re.M))
    try:
        hour, minute = map(int, options.pop("start").split(":"))
        lengths = {name: int(options[name]) for name in ("briefing", "lab", "debrief", "total")}
    except (KeyError, ValueError) as error:
        raise ExtensionError(
            f"{index.name}: an agenda with start, briefing, lab, debrief and total is needed"
        ) from error
    return {"start": 60 * hour + minute, **lengths}


def plan(index: Path = INDEX, briefing: Path = BRIEFING, lab: Path = LAB) -> list[Part]:
    """List the parts of the class in order, without a gap.

    Raises:
        ExtensionError: they do not fill the minutes that are announced.
    """
    times = announced(index)
    parts = [
        Part(
            f"section-{s['number']}",
            f"{s['number']}. {s['title']}",
            f"[{s['number']}. {s['title']}](/book/briefing/{s['page']}.md)",
            s["start"],
            s["stop"] - s["start"],
            s["room"],
        )
        for s in agenda(briefing)
    ]
    clock = parts[-1].start + parts[-1].minutes
    if clock != times["briefing"]:
        raise ExtensionError(
            f"the sections take {clock} minutes, and {times['briefing']} are announced"
        )
    tasks = exercises(lab)
    spare = times["lab"] - sum(task.minutes for task in tasks)
    if spare <= 0:
        raise ExtensionError(
            f"the exercises leave {spare} of the lab's {times['lab']} minutes for its set-up"
        )
    parts.append(
        Part("set-up", "Set-up of the lab", "[Set-up](/labs/lab5_transformer.ipynb)", clock, spare)
    )
    clock += spare
    for task in tasks:
        name = f"Exercise {task.number} · {task.title}"
        link = f"{{ref}}`{name} <exercise-{task.number}>`"
        parts.append(Part(f"exercise-{task.number}", name, link, clock, task.minutes))
        clock += task.minutes
    parts.append(Part("debrief", "Debrief", "[Debrief](/book/debrief.md)", clock, times["debrief"]))
    if clock + times["debrief"] != times["total"]:
        raise ExtensionError(
            f"the plan takes {clock + times['debrief']} minutes, and {times['total']} are announced"
        )
    return parts


def clock_time(minutes: int) -> str:
    """Write minutes after midnight as the hands show them."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def in_words(seconds: float) -> str:
    """Write how long a class waits for a machine, no finer than it matters."""
    if seconds < 1.5:
        return "about a second"
    if seconds < 90:
        return f"about {seconds:.0f} seconds"
    return f"about {seconds / 60:.0f} minutes"


class Planned(SphinxDirective):
    """Notes what the plan is read from, so that a page is written anew when it changes."""

    def note_sources(self):
        self.env.note_reread()
        for path in (INDEX, LAB, TIMES):
            self.env.note_dependency(str(path))


class ClassTimeline(Planned):
    def run(self):
        self.note_sources()
        times, parts = announced(), plan()
        lines = ["| Clock | Minutes | Part | In the room |", "|---|---|---|---|"]
        for part in parts:
            begins = clock_time(times["start"] + part.start)
            notes = f"({{ref}}`notes <teach-{part.key.removeprefix('section-')}>`)"
            lines.append(
                f"| {begins} | {part.minutes} | {part.link} {notes} | {part.room or '–'} |"
            )
        end = clock_time(times["start"] + times["total"])
        lines.append(f"| {end} | **{times['total']}** | The end | |")
        table = nodes.container(classes=["class-timeline"])
        table += self.parse_text_to_nodes("\n".join(lines))
        told = [{"name": p.title, "start": p.start, "minutes": p.minutes} for p in parts]
        clock = tag("div", class_="class-clock", data_begin=clock_time(times["start"]))
        clock["attributes"]["data-parts"] = escape(json.dumps(told, ensure_ascii=False), quote=True)
        return [clock, table]


class Plan(Planned):
    required_arguments = 1

    def run(self):
        self.note_sources()
        parts = {part.key: part for part in plan()}
        key = self.arguments[0]
        if key not in parts:
            raise self.error(f"the plan has no {key!r}; it has {', '.join(parts)}")
        part, start = parts[key], announced()["start"]
        said = [
            f"{clock_time(start + part.start)} to {clock_time(start + part.start + part.minutes)}",
            f"{part.minutes} minutes",
        ]
        if part.room:
            said.append(f"in the room: {part.room}")
        name = key.replace("-", " ").capitalize() if key != "set-up" else "Set-up"
        waits = json.loads(TIMES.read_text(encoding="utf-8"))["seconds"]
        if name in waits:
            said.append(f"cells run for {in_words(waits[name])} without a GPU")
        return [nodes.paragraph("", " · ".join(said), classes=["class-plan"])]


def setup(app):
    app.add_directive("class-timeline", ClassTimeline)
    app.add_directive("plan", Plan)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
