"""Marks an answer as right or wrong, and lists the answers to one name."""

from collections.abc import Callable
from importlib import import_module


def wrong(misconception: str) -> Callable:
    """Mark an answer as wrong, and say which mistake it makes."""

    def mark(answer):
        answer.misconception = misconception
        return answer

    return mark


def right(answer=None, *, note: str | None = None):
    """Mark an answer as right, with a word of the note its author gets all the same."""

    def mark(answer):
        answer.misconception = None
        answer.note = note
        return answer

    return mark if answer is None else mark(answer)


def answers(name: str) -> list:
    """List the answers in the module of that name, in order of definition."""
    module = import_module(f"answers.{name}")
    return [answer for answer in vars(module).values() if hasattr(answer, "misconception")]
