"""The training loop: one for the mini-GPT and the LSTM."""

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from minigpt.artifacts import describe, read_tensors, write_tensors
from minigpt.corpus import Corpus, random_batch
from minigpt.evaluation import evaluate
from minigpt.rows import row_of


@dataclass(frozen=True)
class Budget:
    """How long and how a model is trained."""

    steps: int = 3_000
    batch_size: int = 64  # B
    T: int = 128  # characters in a training window
    learning_rate: float = 5e-3  # the highest
    optimizer: Literal["adamw", "adam"] = "adamw"
    schedule: Literal["cosine", "constant"] = "cosine"
    warm_up: int = 100  # steps from 0 to the highest learning rate
    last_rate: float = 0.1  # where the cosine ends, as a share of the highest
    weight_decay: float = 0.1  # on matrices alone, and only with AdamW
    beta_2: float = 0.99
    clip: float = 1.0  # longest gradient
    validate_every: int = 250  # steps
    keep: Literal["last", "best"] = "last"  # weights: of the last step, or of the best validation

    def rate(self, step: int) -> float:
        """Give the learning rate of a step, counted from 0."""
        if self.schedule == "constant":
            return self.learning_rate
        if step < self.warm_up:
            return self.learning_rate * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(1, self.steps - self.warm_up)
        cosine = (1 + math.cos(math.pi * share)) / 2
        return self.learning_rate * (self.last_rate + (1 - self.last_rate) * cosine)


SIZES = {  # of a budget: what differs from the full one
    "full": {},
    "quick": {"steps": 1_500, "batch_size": 16},
    "long": {"steps": 9_000, "keep": "best"},
    "lab3": {"steps": 2_000, "optimizer": "adam", "schedule": "constant"},
}


def budget_for(model: Literal["gpt", "lstm"], size: str) -> Budget:
    """Give the budget of one row of the results: "full", "quick", or the LSTM's run of "lab3".

    Raises:
        ValueError: there is no such row.
    """
    return Budget(learning_rate=row_of(model, size).learning_rate, **SIZES[size])


class DivergedError(FloatingPointError):
    """The loss is no longer a number; ``history`` is what happened before."""

    def __init__(self, loss: float, history: "History") -> None:
        super().__init__(
            f"the loss is {loss} at step {history.steps}: a lower learning rate or a smaller clip "
            "keeps it finite"
        )
        self.history = history


@dataclass
class History:
    """What happened during training."""

    steps: int = 0  # done so far
    seconds: float = 0.0  # spent in them, validation left out
    curve: list[dict] = field(default_factory=list)  # step, training loss since the last one, valid
    precision: str = "float32"  # of the matrix products


def train_lm(
    model: nn.Module,
    corpus: Corpus,
    budget: Budget,
    *,
    seed: int = 0,
    precision: torch.dtype = torch.float32,
    checkpoint: Path | None = None,
    progress: bool = True,
) -> History:
    """Train a language model by teacher forcing on random windows.

    The last step's weights stay, or those of the best validation where the budget keeps them.

    Args:
        model: maps (B, T) indices to logits (B, T, V); trained in place, on its own device.
        corpus: trained on its "train" split, validated on "valid".
        budget: how long and how.
        seed: of the batches and of dropout; the model's own start is the caller's.
        precision: of the matrix products. With bfloat16 the weights stay float32.
        checkpoint: a file that keeps the state of an unfinished training. When it exists, the
            training goes on from there and ends with the weights it would have had anyway.
        progress: show a bar.

    Returns:
        The history. An interruption (Ctrl-C) ends the training early, says so, and keeps what was
        learned: ``history.steps`` is then smaller than ``budget.steps``.

    Raises:
        ValueError: the checkpoint belongs to another model, budget or seed.
        DivergedError: the loss is no longer a number.
    """
    device = next(model.parameters()).device
    optimizer = _optimizer(model, budget)
    batches = torch.Generator().manual_seed(seed)
    history = History(precision=str(precision).removeprefix("torch."))
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        settings = {"budget": asdict(budget), "seed": seed, "precision": str(precision)}
        identity, best = describe(model) | settings, {}  # best: the weights to keep, by name
        if checkpoint is not None and checkpoint.exists():
            history, best = _restore(checkpoint, identity, model, optimizer, batches)
        shown = {} if progress else {"disable": True}  # left alone, TQDM_DISABLE=1 can hide it
        bar = tqdm(total=budget.steps, initial=history.steps, unit="step", file=sys.stdout, **shown)
        try:
            for step, loss in _steps(model, corpus, budget, precision, optimizer, batches, history):
                bar.update()
                if loss is None:
                    continue
                if not math.isfinite(loss):
                    raise DivergedError(loss, history)
                valid = evaluate(model, corpus, "valid").nats
                if not math.isfinite(valid):
                    raise DivergedError(valid, history)
                if budget.keep == "best" and valid < lowest(history.curve):
                    best = {name: weight.clone() for name, weight in model.state_dict().items()}
                history.curve.append({"step": step, "train": loss, "valid": valid})
                speed = step * budget.batch_size * budget.T / history.seconds
                bar.set_postfix_str(
                    f"loss {loss:.3f}, valid {valid:.3f}, {speed:,.0f} characters/s"
                )
                if checkpoint is not None:
                    _save(checkpoint, identity, model, best, optimizer, batches, history)
        except KeyboardInterrupt:
            bar.write(
                f"Interrupted after {history.steps} of {budget.steps} steps: the model keeps what "
                "it has learned so far."
            )
        finally:
            bar.close()
            if best:
                model.load_state_dict(best)
            model.eval()
    return history


def lowest(curve: list[dict]) -> float:
    """Give the lowest validation loss of a curve, in nats; infinity when it is empty."""
    return min((point["valid"] for point in curve), default=math.inf)


def _optimizer(model: nn.Module, budget: Budget) -> torch.optim.Optimizer:
    """Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019)."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    options = {"lr": budget.learning_rate, "betas": (0.9, budget.beta_2), "fused": True}
    if budget.optimizer == "adam":
        return torch.optim.Adam(parameters, **options)
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": budget.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, **options)


def _steps(
    model: nn.Module,
    corpus: Corpus,
    budget: Budget,
    precision: torch.dtype,
    optimizer: torch.optim.Optimizer,
    batches: torch.Generator,
    history: History,
) -> Iterator[tuple[int, float | None]]:
    """Do the steps that are left and yield each one's number.

    When a validation is due the mean loss since the last one comes with it, else None: reading a
    loss waits for the device.
    """
    device, ids = next(model.parameters()).device, corpus["train"]
    losses = []
    while history.steps < budget.steps:
        started = time.perf_counter()
        model.train()
        for group in optimizer.param_groups:
            group["lr"] = budget.rate(history.steps)
        x, y = (part.to(device) for part in random_batch(ids, budget.batch_size, budget.T, batches))
        losses.append(training_step(model, optimizer, x, y, clip=budget.clip, precision=precision))
        history.steps += 1
        mean = None
        if history.steps % budget.validate_every == 0 or history.steps == budget.steps:
            mean = torch.stack(losses).mean().item()
            losses.clear()
        history.seconds += time.perf_counter() - started
        yield history.steps, mean


def training_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    x: Tensor,
    y: Tensor,
    *,
    clip: float = 1.0,
    precision: torch.dtype = torch.float32,
) -> Tensor:
    """Take one step on inputs and targets, both (B, T); return the loss before it, a scalar."""
    with torch.autocast(x.device.type, precision, enabled=precision != torch.float32):
        logits = model(x)  # (B, T, V)
    loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten())  # equation 15
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.detach()


def _save(path, identity, model, best, optimizer, batches, history) -> None:
    """Write everything the rest of the training depends on."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    for i, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{i}.{name}": torch.as_tensor(t) for name, t in state.items()}
    tensors["random.batches"] = batches.get_state()
    tensors["random.cpu"] = torch.get_rng_state()
    device = next(model.parameters()).device
    if device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(device)
    write_tensors(path, tensors, {"identity": identity, "history": asdict(history)})


def _restore(path, identity, model, optimizer, batches) -> tuple[History, dict[str, Tensor]]:
    """Read it back; everything is checked before anything is changed."""
    tensors, about = read_tensors(path)
    weights, best = (
        {k.removeprefix(kind): t for k, t in tensors.items() if k.startswith(kind)}
        for kind in ("model.", "best.")
    )
    own = model.state_dict()
    same_shapes = {k: t.shape for k, t in weights.items()} == {k: t.shape for k, t in own.items()}
    if about.get("identity") != identity or not same_shapes:
        raise ValueError(
            f"{path} keeps another training (model, budget, seed or precision differ): finish that "
            "one, or delete the file to start anew"
        )
    model.load_state_dict(weights)
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            _, i, name = key.split(".")
            state.setdefault(int(i), {})[name] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    batches.set_state(tensors["random.batches"])
    torch.set_rng_state(tensors["random.cpu"])
    if "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"], next(model.parameters()).device)
    return History(**about["history"]), best
