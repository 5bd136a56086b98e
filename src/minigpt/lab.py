"""What the lab's notebook needs around the lesson.

The runtime and its budget, predictions, the table of results, and the student's work in a file.
"""

import hashlib
import html
import importlib.util
import inspect
import itertools
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from minigpt import checks
from minigpt.artifacts import (
    DATA,
    SHIPPED,
    DamagedFileError,
    load_model,
    read_json,
    read_tensors,
    save_model,
)
from minigpt.corpus import Corpus, load_corpus, random_batch
from minigpt.evaluation import Score
from minigpt.lstm import LSTM
from minigpt.model import MiniGPT
from minigpt.runs import reported
from minigpt.training import Budget, History, budget_for, training_step

Size = Literal["full", "quick"]
WORK = Path("lab5-work.safetensors")
_written: dict[Path, bytes] = {}  # what this session saved, as a hash: no other is written over
ROWS = {  # size -> the rows of data/baselines.json to stand beside a model of that size
    "full": ("lstm-lab3", "lstm-full", "gpt-full"),
    "quick": ("lstm-lab3", "lstm-quick", "gpt-quick"),
}


# --- Runtime and budget ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Runtime:
    """Where the notebook runs, and how long it will train there."""

    device: torch.device
    size: Size  # which rows of the results belong to it
    budget: Budget
    precision: torch.dtype = torch.float32  # of the matrix products in training


def in_colab() -> bool:
    """Say whether this is Google Colab."""
    try:
        return importlib.util.find_spec("google.colab") is not None
    except ModuleNotFoundError:  # not even a package google
        return False


def start() -> Runtime:
    """Find the device, the budget that fits it and the faster precision, and say all that.

    Where the processor or the GPU has bfloat16, training steps are timed with it and without. With
    a GPU the budget is the full one, without one QUICK. The environment may choose otherwise:
    MINIGPT_BUDGET=full or quick, and MINIGPT_STEPS for a number of steps.

    Raises:
        ValueError: one of the two makes no sense.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size = os.environ.get("MINIGPT_BUDGET", "full" if device.type == "cuda" else "quick")
    if size not in ("full", "quick"):
        raise ValueError(f"MINIGPT_BUDGET is full or quick, not {size!r}")
    budget = budget_for("gpt", size)
    if steps := os.environ.get("MINIGPT_STEPS"):
        if not steps.isdecimal() or int(steps) < 1:
            raise ValueError(f"MINIGPT_STEPS is a whole number above 0, not {steps!r}")
        budget = replace(budget, steps=int(steps))
    place = "Colab" if in_colab() else "Jupyter"
    if device.type == "cuda":
        print(f"Runtime: {place} with a GPU, {torch.cuda.get_device_name()}")
    else:
        print(f"Runtime: {place} without a GPU")
    corpus = load_corpus()
    short = "the full one" if size == "full" else "QUICK, a short one"
    print(f"Budget:  {short}, {budget.steps:,} steps with a batch of {budget.batch_size}")
    seconds = {
        precision: seconds_per_step(MiniGPT().to(device), corpus, budget, precision)
        for precision in (torch.float32, *([torch.bfloat16] if has_bfloat16(device) else []))
    }
    precision = min(seconds, key=seconds.__getitem__)
    minutes = seconds[precision] * budget.steps / 60
    about = f"about {minutes:.0f} minutes" if minutes >= 1.5 else "less than two minutes"
    print(f"Time:    {about} of training (from a few steps timed just now)")
    if len(seconds) > 1:
        slower = max(seconds, key=seconds.__getitem__)
        times = seconds[slower] / seconds[precision]
        print(
            f"Numbers: matrix products in {_name(precision)}, {times:.1f} times as fast here as in "
            f"{_name(slower)}; the model and its scores stay in float32"
        )
    if device.type != "cuda":
        if in_colab():
            print(
                "No GPU:  Runtime → Change runtime type → T4 GPU, then run this cell again. If "
                "none is free, go on: the lab works without, at the QUICK budget."
            )
        else:
            print("No GPU:  nothing to do. The lab works without, at the QUICK budget.")
    return Runtime(device, size, budget, precision)


def has_bfloat16(device: torch.device) -> bool:
    """Say whether a device multiplies matrices in bfloat16 by itself, and does not emulate it."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    ask = getattr(torch.cpu, "get_capabilities", dict)  # torch 2.11 does not have it
    return any(there for name, there in ask().items() if name.endswith("bf16"))


def _name(precision: torch.dtype) -> str:
    return str(precision).removeprefix("torch.")


def seconds_per_step(
    model: nn.Module,
    corpus: Corpus,
    budget: Budget,
    precision: torch.dtype = torch.float32,
    steps: int = 4,
) -> float:
    """Time training steps of a model, which learns a little from it."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches, device = torch.Generator().manual_seed(0), next(model.parameters()).device
    with torch.random.fork_rng():
        model.train()
        for step in range(steps + 2):
            if step == 2:  # the first two also load and warm up
                started = time.perf_counter()
            x, y = random_batch(corpus["train"], budget.batch_size, budget.T, batches)
            x, y = x.to(device), y.to(device)
            training_step(model, optimizer, x, y, precision=precision).item()
    return (time.perf_counter() - started) / steps


# --- Predictions ----------------------------------------------------------------------------------


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


# --- The student's model --------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A trained model, and what has to be known to judge it."""

    model: MiniGPT
    history: History
    size: Size  # the budget it was trained at
    owner: str = "yours"


# --- Results --------------------------------------------------------------------------------------


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


def results(trained: Trained, scores: dict[str, Score], lstms: dict[str, LSTM]) -> Table:
    """Set a mini-GPT beside n-grams and LSTMs, and beside the seeds on record.

    Args:
        trained: the mini-GPT.
        scores: on the test split, of "gpt" and of every LSTM.
        lstms: by the name of their row; timed here for a few steps, since they come trained.
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
    corpus = load_corpus()
    for name, lstm in lstms.items():
        row = rows[name]
        theirs = replace(budget, batch_size=row["batch"])
        each = seconds_per_step(load_copy(lstm), corpus, theirs, getattr(torch, history.precision))
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
        f"The mini-GPT was trained with matrix products in {history.precision}; every score is "
        "computed in float32.",
        "An LSTM's seconds are estimated from steps timed here, in the same precision.",
        f"Seeds on record: {record['seeds']} trainings of each model that differ in chance alone.",
    ]
    if history.steps != record["steps"]:
        notes.append(
            f"The mini-GPT was trained for {history.steps:,} steps, those on record for "
            f"{record['steps']:,}: the two do not compare."
        )
    head = ["Model", "Parameters", "Steps × batch", "Seconds", "Nats", "Perplexity", "Bits"]
    return Table([*head, "Seeds on record (nats)"], table, " ".join(notes))


def load_copy(lstm: LSTM) -> LSTM:
    """Make an LSTM of the same sizes on the same device, to be timed."""
    device = next(lstm.parameters()).device
    return LSTM(**lstm.sizes).to(device)


def ngram_nats(name: str = "trigram") -> float:
    """Give the recorded test score of an n-gram, in nats per character."""
    return read_json(DATA / "baselines.json")["rows"][name]["nats"]


def recorded_curves(size: Size) -> list[list[dict]]:
    """Give the validation curves of the committed mini-GPTs of a budget, one per seed."""
    return [record["curve"] for record in reported("gpt", size)]


# --- A lost runtime -------------------------------------------------------------------------------


def load_committed(device: torch.device, **functions: Callable) -> Trained:
    """Load the course's trained model, full budget, seed 0, to run under the student's functions.

    Args:
        device: where to put it.
        functions: ``attention``, ``mask`` and ``embed``.
    """
    path = SHIPPED["gpt-full"]
    run = read_json(DATA / "runs" / f"{read_tensors(path)[1]['run']}.json")
    # Its seconds were spent on another machine and would not compare with anything here.
    history = History(run["budget"]["steps"], 0.0, run["curve"], run["precision"])
    print(f"Loaded the course's model: {history.steps:,} steps, trained beforehand.")
    return Trained(load_model(path, **functions).to(device), history, "full", "the course's")


def save_work(trained: Trained, predictions: Predictions = predict, path: Path = WORK) -> None:
    """Write the student's functions, predictions and model into one file; Colab downloads it."""
    code, lost = {}, []
    for name, attempt in checks.attempts().items():
        try:
            code[name] = inspect.getsource(attempt)
        except (OSError, TypeError):  # an object whose text is not known
            lost.append(name)
    if path.exists() and _written.get(path.resolve()) != _digest(path):
        names = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(2))
        older = next(name for name in names if not name.exists())
        path.rename(older)
        print(f"{path} held the work of an earlier session, which is now in {older}.")
    save_model(
        path,
        trained.model,
        size=trained.size,
        owner=trained.owner,
        history=asdict(trained.history),
        predictions=_plain(predictions.guesses),
        outcomes=_plain(predictions.outcomes),
        code=code,
    )
    _written[path.resolve()] = _digest(path)
    print(f"Saved to {path}: the model, your predictions, and the code of {_listed(code)}.")
    if lost:
        print(f"The code of {_listed(lost)} could not be found: keep a copy of the cell.")
    if in_colab():
        from google.colab import files

        files.download(str(path))


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Keep what JSON knows, and the text of anything else."""
    return json.loads(json.dumps(values, default=str))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "no function"


def restore_work(
    device: torch.device,
    predictions: Predictions = predict,
    path: Path = WORK,
    **functions: Callable,
) -> Trained:
    """Read back what :func:`save_work` wrote. Code is printed, never run: the student pastes it.

    Args:
        device: where to put the model.
        predictions: gets the saved ones, where it has none of its own.
        path: the file.
        functions: ``attention``, ``mask`` and ``embed``.

    Raises:
        FileNotFoundError: there is no such file, and none was uploaded.
        DamagedFileError: the file is not what was written.
    """
    if not path.exists() and in_colab():
        from google.colab import files

        files.upload()
    if not path.exists():
        raise FileNotFoundError(
            f"there is no {path} in {Path.cwd()}: put the file that the saving cell wrote here, "
            "under that name"
        )
    about = read_tensors(path)[1]
    if not {"history", "size", "owner", "code", "predictions", "outcomes"} <= about.keys():
        raise DamagedFileError(f"{path} was not written by the lab's saving cell")
    model = load_model(path, **functions).to(device)
    history = History(**about["history"])
    predictions.guesses = about["predictions"] | predictions.guesses
    predictions.outcomes = about["outcomes"] | predictions.outcomes
    print(
        f"Restored the model after {history.steps:,} steps with matrix products in "
        f"{history.precision}, and your predictions."
    )
    now = checks.verdicts()
    for name, text in about["code"].items():
        if now[name].status == "not attempted":
            print(f"\nYour {name}, to be pasted into its cell:\n\n{text}")
    return Trained(model, history, about["size"], about["owner"])
