"""Read and write what is in ``data/``: weights as safetensors, results as JSON."""

import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from minigpt.lstm import LSTM
from minigpt.model import Config, MiniGPT
from minigpt.rows import TRAINED

DATA = Path(__file__).resolve().parents[2] / "data"
# Row of the results -> the weights of its first seed, for the book and the lab.
SHIPPED = {key: DATA / row.weights for key, row in TRAINED.items() if row.weights}


class DamagedFileError(ValueError):
    """A file is there but is not what was written."""


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: a reader sees the old content or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON, atomically."""
    write_atomic(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> dict:
    """Read a JSON file of ``data/``.

    Raises:
        FileNotFoundError: there is none; the message says what makes it.
        DamagedFileError: it is not JSON.
    """
    if not path.exists():
        raise FileNotFoundError(f"no {path}: data/README.md names the command that makes it")
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise DamagedFileError(f"{path} is not JSON ({error}): make it again") from error


def _checksum(tensors: dict[str, Tensor], about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def write_tensors(path: Path, tensors: dict[str, Tensor], about: dict) -> None:
    """Write tensors and what is to be known about them as one safetensors file, atomically."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(about)
    write_atomic(path, save(tensors, {"about": text, "sha256": _checksum(tensors, text)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict]:
    """Read what :func:`write_tensors` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedFileError: the file is cut short, changed, or another program's.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"no weights at {path}: data/README.md names the command that makes them"
        )
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is not a whole safetensors file: {error}") from error
    about = metadata.get("about", "")
    if metadata.get("sha256") != _checksum(tensors, about):
        raise DamagedFileError(
            f"the weights in {path} are not the ones that were written: fetch the file again "
            "(`git checkout`) or train it anew"
        )
    return tensors, json.loads(about)


def describe(model: nn.Module) -> dict:
    """Say which model this is, so that it can be built again: its kind and its sizes."""
    if isinstance(model, MiniGPT):
        return {"model": "gpt", "config": asdict(model.config)}
    if isinstance(model, LSTM):
        return {"model": "lstm", "config": model.sizes | {"dropout": model.dropout.p}}
    return {"model": type(model).__name__}


def save_model(path: Path, model: nn.Module, **about) -> None:
    """Write a MiniGPT or an LSTM: its weights, its sizes, and whatever else is to be known."""
    write_tensors(path, model.state_dict(), {**describe(model), **about})


def load_model(path: Path = DATA / "minigpt.safetensors", **functions) -> nn.Module:
    """Read a model that :func:`save_model` wrote, ready to be used (evaluation mode).

    Args:
        path: the file.
        functions: ``attention``, ``mask`` and ``embed`` of a :class:`~minigpt.model.MiniGPT`.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedFileError: its weights are not the ones that were written, or fit no model.
    """
    tensors, about = read_tensors(path)
    try:
        if about["model"] == "gpt":
            model = MiniGPT(Config(**about["config"]), **functions)
        else:
            model = LSTM(**about["config"], **functions)
        model.load_state_dict(tensors)
    except (KeyError, RuntimeError) as error:
        raise DamagedFileError(f"the weights in {path} fit no model: {error}") from error
    return model.eval()
