"""The trained model beside n-grams, LSTMs, and the seeds on record."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from minigpt.artifacts import DATA, SHIPPED, load_model, read_json
from minigpt.corpus import load_corpus
from minigpt.evaluation import Score
from minigpt.lab.runtime import Size, has_bfloat16, seconds_per_step
from minigpt.lstm import LSTM
from minigpt.model import MiniGPT
from minigpt.rows import TRAINED
from minigpt.runs import reported
from minigpt.training import History, budget_for

# Size -> the rows of data/baselines.json to stand beside a model of that size.
ROWS = {
    size: tuple(key for key, row in TRAINED.items() if row.size in ("lab3", size))
    for size in ("full", "quick")
}


@dataclass(frozen=True)
class Trained:
    """A trained model, and what has to be known to judge it."""

    model: MiniGPT
    history: History
    size: Size  # the budget it was trained at
    owner: str = "yours"


@dataclass(frozen=True)
class Table:
    """Rows of text under a head; a notebook shows them as a table, a terminal in columns."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __repr__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        text = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join([*text, self.note]).rstrip()

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in self.head)
        body = ""
        for first, *rest in self.rows:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in rest)
            body += f'<tr><th scope="row">{html.escape(first)}</th>{cells}</tr>'
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return (
            '<div class="results" style="overflow-x: auto; white-space: nowrap" tabindex="0" '
            'role="group" aria-label="Results">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}"
        )


def load_lstms(size: Size, device: torch.device) -> dict[str, LSTM]:
    """Load the two trained LSTMs to compare with, by their row: Lab 3's, and this budget's."""
    names = [name for name in ROWS[size] if name.startswith("lstm")]
    return {name: load_model(SHIPPED[name]).to(device) for name in names}


def results(
    trained: Trained,
    scores: dict[str, Score],
    lstms: dict[str, LSTM],
    seconds_per_step: Callable[..., float] = seconds_per_step,
    has_bfloat16: Callable[[torch.device], bool] = has_bfloat16,
) -> Table:
    """Set a mini-GPT beside n-grams and LSTMs, and beside the seeds on record.

    Args:
        trained: the mini-GPT.
        scores: on the test split, of "gpt" and of every LSTM.
        lstms: by the name of their row; copies are timed here for a few steps, since they come
            trained.
        seconds_per_step: times them.
        has_bfloat16: says whether they can be timed in the mini-GPT's precision.
    """
    history, size = trained.history, trained.size
    rows, table = read_json(DATA / "baselines.json")["rows"], []
    budget = budget_for("gpt", size)

    def line(name, parameters, steps, seconds, score: Score, record: dict | None) -> list[str]:
        several = record is not None and (record["seeds"] or 0) > 1
        return [
            name,
            f"{parameters:,}" if parameters else "–",
            steps,
            seconds,
            f"{score.nats:.4f}",
            f"{score.perplexity:.2f}",
            f"{score.bits:.2f}",
            f"{record['lowest']:.4f} to {record['highest']:.4f}" if several else "–",
        ]

    for name in ("trigram", "5-gram"):
        row = rows[name]
        score = Score(row["nats"], 0)
        table.append(line(row["name"], None, "counts", "–", score, None))
    corpus, device = load_corpus(), next(trained.model.parameters()).device
    native = history.precision == "float32" or has_bfloat16(device)
    timed_in = history.precision if native else "float32"
    for name, lstm in lstms.items():
        row = rows[name]
        theirs = replace(budget, batch_size=row["batch"])
        untrained = LSTM(**lstm.sizes)
        each = seconds_per_step(untrained, corpus, theirs, device, getattr(torch, timed_in))
        seconds = each * row["steps"]
        steps = f"{row['steps']:,} × {row['batch']}"
        table.append(
            line(row["name"], row["parameters"], steps, f"≈ {seconds:,.0f}", scores[name], row)
        )
    parameters = sum(p.numel() for p in trained.model.parameters())
    steps = f"{history.steps:,} × {budget.batch_size}"
    record = rows[ROWS[size][-1]]
    seconds = f"{history.seconds:,.0f}" if history.seconds else "–"
    table.append(
        line(f"Mini-GPT, {trained.owner}", parameters, steps, seconds, scores["gpt"], record)
    )
    notes = [
        "The lower the nats the better. Perplexity is exp(nats): among how many equally likely "
        "characters the model would be as unsure. Bits are nats / ln 2.",
        f"The mini-GPT was trained with matrix products in {history.precision}. An LSTM's seconds "
        f"are estimated from steps timed here, in {timed_in}. Every score is computed in float32.",
        f"Seeds on record: {record['seeds']} trainings of each model that differ in chance alone.",
    ]
    if history.steps != record["steps"]:
        notes.append(
            f"The mini-GPT was trained for {history.steps:,} steps, those on record for "
            f"{record['steps']:,}: the two do not compare."
        )
    head = ["Model", "Parameters", "Steps × batch", "Seconds", "Nats", "Perplexity", "Bits"]
    return Table([*head, "Seeds on record (nats)"], table, " ".join(notes))


def ngram_nats(name: str = "trigram") -> float:
    """Give the recorded test score of an n-gram, in nats per character."""
    return read_json(DATA / "baselines.json")["rows"][name]["nats"]


def recorded_curves(size: Size) -> list[list[dict]]:
    """Give the validation curves of the committed mini-GPTs of a budget, one per seed."""
    return [record["curve"] for record in reported("gpt", size)]
