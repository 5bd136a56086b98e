"""What the student predicted, until the measurement stands beside it."""

from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class Predictions:
    """What the student expected, kept until the measurement stands beside it."""

    guesses: dict[str, Any] = field(default_factory=dict)
    outcomes: dict[str, Any] = field(default_factory=dict)

    def __call__(self, what: str, guess: Any) -> None:
        """Keep a prediction; None stands for none."""
        if isinstance(guess, torch.Tensor):
            guess = guess.tolist()
        self.guesses[what] = guess
        print(f"{what}\n  you predict: {_words(guess)}")

    def compare(self, what: str, outcome: Any) -> None:
        """Show what came out beside what was predicted."""
        self.outcomes[what] = outcome
        print(self._line(what))

    def show(self) -> None:
        """Show all of them."""
        for what in self.outcomes:
            print(self._line(what))

    def _line(self, what: str) -> str:
        guess, outcome = self.guesses.get(what), self.outcomes[what]
        text = f"{what}\n  you predicted: {_words(guess)}\n  it came out:   {_words(outcome)}"
        if guess == outcome:
            text += "   (exactly)"
        elif _is_number(guess) and _is_number(outcome) and outcome:
            text += f"   (off by {abs(guess - outcome) / abs(outcome):.1%})"
        return text


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e15  # not infinite, not nan, and not beyond all sense


predict = Predictions()  # one for the notebook, so that running the set-up again keeps it


def _words(value: Any) -> str:
    if value is None or (isinstance(value, list | tuple) and all(v is None for v in value)):
        return "nothing"
    if _is_number(value):
        return f"{value:,}" if value == int(value) and abs(value) > 999 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    return str(value)
