"""Give an equation labelled ``eq-6`` the number 6, whichever pages stand before it.

Sphinx counts equations over the pages of a book. The course's equations have numbers of their own,
so this sets them after Sphinx has counted, for the formula and for every reference to it.
"""

import re

LABEL = re.compile(r"equation-eq-(\d+)")


def set_numbers(app, env):
    for numbers in env.toc_fignumbers.values():
        equations = numbers.get("displaymath", {})
        for label in equations:
            if match := LABEL.fullmatch(label):
                equations[label] = (int(match[1]),)
    return []


def setup(app):
    # Sphinx's own counting listens to the same event with priority 500.
    app.connect("env-get-updated", set_numbers, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
