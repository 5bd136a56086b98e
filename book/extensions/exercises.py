"""The exercises of the lab, read off the lab itself, for the pages that name them.

```{exercises}
```

is the table of them: title, minutes, sections to read; and {exercise}`1` is "Exercise 1, 12
minutes", linked. An exercise says all that in its heading and the line beneath:

    # ### Exercise 1 · Scaled dot-product attention
    #
    # *12 minutes. [Section 2](section-2).*
"""

import re
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole

LAB = Path(__file__).resolve().parents[2] / "labs" / "source" / "lab5_transformer.py"
HEAD = re.compile(r"^# ### Exercise (\d) · (.+)\n#\n# \*(\d+) minutes(.*)\*$", re.M)


@dataclass(frozen=True)
class Exercise:
    """What the lab says of an exercise."""

    number: int
    title: str
    minutes: int
    sections: tuple[int, ...]  # of the briefing, that it leans on


def exercises(source: Path = LAB) -> list[Exercise]:
    """List the exercises of the lab in order."""
    return [
        Exercise(
            int(number),
            title,
            int(minutes),
            tuple(map(int, re.findall(r"\(section-(\d)\)", about))),
        )
        for number, title, minutes, about in HEAD.findall(source.read_text(encoding="utf-8"))
    ]


class ExerciseTable(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(LAB))
        lines = ["| Exercise | Minutes | Sections |", "|---|---|---|"]
        for one in exercises():
            sections = ", ".join(f"{{ref}}`{n} <section-{n}>`" for n in one.sections)
            name = f"{{ref}}`{one.number} · {one.title} <exercise-{one.number}>`"
            lines.append(f"| {name} | {one.minutes} | {sections} |")
        total = sum(one.minutes for one in exercises())
        challenge = "{ref}`4 <section-4>`, {ref}`6 <section-6>`"
        lines.append(f"| {{ref}}`Challenge <challenge>` | optional | {challenge} |")
        lines.append(f"| **Together** | **{total}** | |")
        return self.parse_text_to_nodes("\n".join(lines))


class ExerciseRole(SphinxRole):
    def run(self):
        self.env.note_dependency(str(LAB))
        found = {str(one.number): one for one in exercises()}
        if self.text not in found:
            raise ExtensionError(
                f"{self.env.docname}: the lab has no exercise {self.text!r}; it has "
                f"{', '.join(found)}"
            )
        words = nodes.inline("", f"Exercise {self.text}", classes=["xref", "std", "std-ref"])
        link = pending_xref(
            "",
            words,
            refdomain="std",
            reftype="ref",
            reftarget=f"exercise-{self.text}",
            refexplicit=True,
            refwarn=True,
            refdoc=self.env.docname,
        )
        return [link, nodes.Text(f", {found[self.text].minutes} minutes")], []


def setup(app):
    app.add_directive("exercises", ExerciseTable)
    app.add_role("exercise", ExerciseRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
