"""The student's work in a file, and the course's model for whoever has lost it."""

import hashlib
import inspect
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

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
from minigpt.lab.predictions import Predictions, predict
from minigpt.lab.results import Trained
from minigpt.lab.runtime import in_colab
from minigpt.training import History

WORK = Path("lab5-work.safetensors")
_written: dict[Path, bytes] = {}  # what this session saved, as a hash: no other is written over


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
