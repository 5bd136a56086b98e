"""The models that the results compare: one row each, in the order of the table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Counted:
    """An n-gram."""

    name: str
    n: int  # characters that are counted together
    k: float  # added to every count
    original: str  # what the original workshop reports, in nats per character


@dataclass(frozen=True)
class Trained:
    """A model and the settings that were chosen for it on the validation split."""

    name: str
    model: str  # "gpt" or "lstm"
    size: str  # of the budget, one of minigpt.training.SIZES
    learning_rate: float  # the highest
    dropout: float
    weights: str = ""  # file in data/ with those of the first seed, for the book and the lab
    original: str = ""


COUNTED = {
    "trigram": Counted("Character trigram, add-k (k = 0.1)", 3, 0.1, "2.0859"),
    "5-gram": Counted("Character 5-gram, add-k (k = 0.01)", 5, 0.01, "1.8326"),
}
TRAINED = {
    "lstm-lab3": Trained(
        *("LSTM, Lab 3's training", "lstm", "lab3", 2e-3, 0.0, "lstm-lab3.safetensors", "1.6114")
    ),
    "lstm-full": Trained(
        *("LSTM, the mini-GPT's training", "lstm", "full", 32e-3, 0.0),
        *("lstm.safetensors", "1.5727"),
    ),
    "gpt-full": Trained("Mini-GPT", "gpt", "full", 5e-3, 0.1, "minigpt.safetensors", "1.5481"),
    "lstm-quick": Trained(
        *("LSTM, QUICK", "lstm", "quick", 16e-3, 0.0, "lstm-quick.safetensors", "1.56 to 1.58")
    ),
    "gpt-quick": Trained("Mini-GPT, QUICK", "gpt", "quick", 5e-3, 0.1, "", "1.77 to 1.79"),
}


def row_of(model: str, size: str) -> Trained:
    """Find the row of a model at a budget.

    Raises:
        ValueError: there is none.
    """
    for row in TRAINED.values():
        if (row.model, row.size) == (model, size):
            return row
    known = ", ".join(f"{row.model} {row.size}" for row in TRAINED.values())
    raise ValueError(f"a row of the results is one of {known}; not {model} {size}")
