"""A training of the course: its settings, its name, its record, and which ones are reported."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from minigpt.artifacts import DATA, read_json
from minigpt.lstm import LSTM
from minigpt.model import Config, MiniGPT
from minigpt.rows import row_of
from minigpt.training import SIZES, Budget
from minigpt.variants import VARIANTS

RUNS = DATA / "runs"
PRECISION = "bfloat16"  # of the matrix products: about twice as fast where the processor has it
SEEDS = (0, 1, 2)  # of the runs whose mean the course reports


@dataclass(frozen=True)
class Run:
    """The settings of one training.

    Args:
        model: "gpt" or "lstm".
        size: of the budget, one of :data:`~minigpt.training.SIZES`.
        learning_rate: the highest.
        dropout: of the mini-GPT's sublayers, or of the LSTM's output.
        seed: of the first weights, the batches and dropout.
        variant: of the mini-GPT, one of :data:`~minigpt.variants.VARIANTS`; empty for itself.
        steps: 0 for those of the budget.
        precision: of the matrix products, "bfloat16" or "float32".

    Raises:
        ValueError: a setting makes no sense; the message names it.
    """

    model: str
    size: str
    learning_rate: float
    dropout: float
    seed: int = 0
    variant: str = ""
    steps: int = 0
    precision: str = PRECISION

    def __post_init__(self) -> None:
        for name, known in (
            ("model", ("gpt", "lstm")),
            ("size", SIZES),
            ("variant", ("", *VARIANTS)),
            ("precision", ("bfloat16", "float32")),
        ):
            if getattr(self, name) not in known:
                one_of = ", ".join(filter(None, known))
                raise ValueError(f"{name} is {getattr(self, name)!r}, not one of {one_of}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate has to be above 0, not {self.learning_rate:g}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout has to be at least 0 and less than 1, not {self.dropout:g}")
        if self.seed < 0 or self.steps < 0:
            raise ValueError(f"seed and steps are 0 or more, not {self.seed} and {self.steps}")
        if self.model == "lstm" and self.variant:
            raise ValueError(f"variant {self.variant} is one of the mini-GPT; the LSTM has none")
        if self.size == "lab3" and self.model != "lstm":
            raise ValueError("lab3 is a training of the LSTM")

    @property
    def budget(self) -> Budget:
        """How long and how it trains."""
        budget = Budget(learning_rate=self.learning_rate, **SIZES[self.size])
        if self.variant:
            budget = VARIANTS[self.variant].train_with(budget)
        return replace(budget, steps=self.steps or budget.steps)

    @property
    def name(self) -> str:
        """What differs between runs; the name of its file."""
        parts = [
            self.model,
            self.size,
            self.variant,
            f"{self.steps}steps" if self.steps else "",
            f"lr{self.learning_rate:g}",
            # The LSTM had no dropout to name at first.
            f"dropout{self.dropout:g}" if self.dropout or self.model == "gpt" else "",
            f"decay{self.budget.weight_decay:g}",
            self.precision,
            f"seed{self.seed}",
        ]
        return "-".join(part for part in parts if part)

    @property
    def path(self) -> Path:
        """Where its record is kept."""
        return RUNS / f"{self.name}.json"

    @property
    def reads_ahead(self) -> bool:
        """Whether the model sees the character that it predicts."""
        return bool(self.variant) and VARIANTS[self.variant].reads_ahead

    def untrained(self) -> MiniGPT | LSTM:
        """Build the model with the weights from which the run starts."""
        torch.manual_seed(self.seed)
        if self.model == "lstm":
            forget_bias = 1.0 if self.size == "lab3" else None
            return LSTM(forget_bias=forget_bias, dropout=self.dropout)
        config = replace(Config(), dropout=self.dropout)
        return VARIANTS[self.variant].build(config) if self.variant else MiniGPT(config)


def run_of(record: dict) -> Run:
    """Read the settings of a run off its record."""
    usual = SIZES[record["size"]].get("steps", Budget.steps)
    steps = record["budget"]["steps"]
    return Run(
        record["model"],
        record["size"],
        record["budget"]["learning_rate"],
        record["config"].get("dropout", 0.0),
        record["seed"],
        record.get("variant", ""),
        0 if steps == usual else steps,
        record["precision"],
    )


def chosen(model: str, size: str, seed: int = SEEDS[0]) -> Run:
    """Give the run of the chosen settings of one row of the results.

    Raises:
        ValueError: there is no such row.
    """
    row = row_of(model, size)
    return Run(model, size, row.learning_rate, row.dropout, seed)


def reported(model: str, size: str, folder: Path = RUNS) -> list[dict]:
    """Read the finished runs whose mean a row of the results is, by seed.

    Every record has its file's ``path`` beside what was written.
    """
    paths = [folder / chosen(model, size, seed).path.name for seed in SEEDS]
    return [read_json(path) | {"path": path} for path in paths if path.exists()]
