"""Where the notebook runs: the device, the budget that fits it, and the faster precision."""

import importlib.util
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import nn

from minigpt.corpus import Corpus, load_corpus, random_batch
from minigpt.model import MiniGPT
from minigpt.training import Budget, budget_for, training_step

Size = Literal["full", "quick"]


@dataclass(frozen=True)
class Runtime:
    """Where the notebook runs, and how it will train there."""

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


def has_bfloat16(device: torch.device) -> bool:
    """Say whether a device multiplies matrices in bfloat16 by itself, and does not emulate it."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    ask = getattr(torch.cpu, "get_capabilities", dict)  # torch 2.11 does not have it
    return any(there for name, there in ask().items() if name.endswith("bf16"))


def seconds_per_step(
    model: nn.Module,
    corpus: Corpus,
    budget: Budget,
    device: torch.device,
    precision: torch.dtype = torch.float32,
    *,
    steps: int = 4,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Time training steps of a model, which moves to the device and learns a little from it."""
    model = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        model.train()
        for step in range(steps + 2):
            if step == 2:  # the first two also load and warm up
                started = clock()
            x, y = random_batch(corpus["train"], budget.batch_size, budget.T, batches)
            x, y = x.to(device), y.to(device)
            training_step(model, optimizer, x, y, precision=precision).item()
    return (clock() - started) / steps


def start(
    seconds_per_step: Callable[..., float] = seconds_per_step,
    has_bfloat16: Callable[[torch.device], bool] = has_bfloat16,
) -> Runtime:
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
    short = "the full one" if size == "full" else "QUICK, a short one"
    print(f"Budget:  {short}, {budget.steps:,} steps with a batch of {budget.batch_size}")
    corpus = load_corpus()
    seconds = {
        precision: seconds_per_step(MiniGPT(), corpus, budget, device, precision)
        for precision in (torch.float32, *([torch.bfloat16] if has_bfloat16(device) else []))
    }
    *slower, precision = sorted(seconds, key=seconds.__getitem__, reverse=True)
    minutes = seconds[precision] * budget.steps / 60
    about = f"about {minutes:.0f} minutes" if minutes >= 1.5 else "less than two minutes"
    print(f"Time:    {about} of training (from a few steps timed just now)")
    for other in slower:
        taken, left = (str(dtype).removeprefix("torch.") for dtype in (precision, other))
        times = seconds[other] / seconds[precision]
        print(
            f"Numbers: matrix products in {taken}, {times:.1f} times as fast here as in {left}; "
            "the model and its scores stay in float32"
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
