"""Measure a training step as the text, the width, the depth and the batch grow.

    make bench                                    # writes data/scaling.json
    python data/bench_scaling.py --device cuda    # writes data/scaling-cuda.json

One step is forward, backward and AdamW, in float32 and without dropout. One size is varied at a
time around the mini-GPT. All take one turn per round, so that a slow moment of the machine meets
them all; the median of the rounds counts. Memory and operations are counted and come out the same
every time.
"""

import argparse
import os
import statistics
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from bench import timed
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from tqdm import tqdm
from train import machine

from minigpt.artifacts import DATA, write_json
from minigpt.corpus import load_corpus, random_batch
from minigpt.model import Config, MiniGPT
from minigpt.training import training_step

ROUNDS = 20
SEED = 0
DEFAULT = {"T": 128, "d": 128, "n_l": 4, "B": 16}
VARIED = {
    "T": (32, 64, 128, 256, 512, 1024),
    "d": (32, 64, 128, 256, 512),
    "n_l": (1, 2, 4, 8, 16),
    "B": (1, 2, 4, 8, 16, 32, 64),
}


def sizes() -> list[dict[str, int]]:
    """List what is measured, the mini-GPT's own sizes once."""
    varied = [DEFAULT | {name: value} for name, values in VARIED.items() for value in values]
    return [size for place, size in enumerate(varied) if size not in varied[:place]]


def config_of(size: dict[str, int]) -> Config:
    """Make the model of a size; it reads no further than the text is long."""
    sizes = {"d": size["d"], "n_l": size["n_l"], "T_max": size["T"]}
    return replace(Config(), dropout=0.0, **sizes)


def saved_bytes(model: nn.Module, x: Tensor, y: Tensor) -> int:
    """Count the bytes that a forward pass keeps for the backward pass, the weights left out."""
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        # The loss holds on to all of it, so that no address is used twice.
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    del loss
    return sum(kept.values())


def state_bytes(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Count the bytes of the weights, their gradients and AdamW's means, after a first step."""
    means = [
        state[name] for state in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")
    ]
    gradients = [p.grad for p in model.parameters()]
    return sum(tensor.nbytes for tensor in [*model.parameters(), *gradients, *means])


def prepare(size: dict[str, int], device: str) -> tuple[dict, Callable[[], None]]:
    """Count what a step of this size takes, and make the step that is timed."""
    cuda = device == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    model = MiniGPT(config_of(size)).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    batch = random_batch(load_corpus()["train"], size["B"], size["T"], generator)
    x, y = (part.to(device) for part in batch)  # (B, T) each

    def step() -> None:
        training_step(model, optimizer, x, y)
        if cuda:
            torch.cuda.synchronize()  # the clock is read when the work is done

    counter = FlopCounterMode(display=False)
    with counter:
        step()
    counted = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "flop": counter.get_total_flops(),
        "state_bytes": state_bytes(model, optimizer),
        "saved_bytes": saved_bytes(model, x, y),
    }
    if cuda:
        step()  # with AdamW's means in place, which the first step made
        counted["peak_bytes"] = torch.cuda.max_memory_allocated() - before
    return counted, step


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    device = parser.parse_args().device
    if device == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no GPU here: leave --device out to measure the processor")
    load = os.getloadavg()[0]
    prepared = [prepare(size, device) for size in tqdm(sizes(), desc="counting")]
    seconds = timed({place: step for place, (_, step) in enumerate(prepared)}, ROUNDS)
    points = []
    for size, (counted, _), taken in zip(sizes(), prepared, seconds.values(), strict=True):
        low, middle, high = statistics.quantiles(taken, n=4)
        points.append({**size, **counted, "seconds": middle, "quartiles": [low, high]})
    result = {
        **machine(),
        **({"gpu": torch.cuda.get_device_name()} if device == "cuda" else {}),
        "load_at_start": round(load, 2),
        "seed": SEED,
        "rounds": ROUNDS,
        "precision": "float32",
        "dropout": 0.0,
        "n_h": Config().n_h,
        "vocab_size": Config().vocab_size,
        "default": DEFAULT,
        "points": points,
    }
    write_json(DATA / ("scaling-cuda.json" if device == "cuda" else "scaling.json"), result)
    for point in points:
        print(
            "  ".join(f"{name} {point[name]:>5,}" for name in DEFAULT)
            + f"{point['seconds'] * 1e3:10.1f} ms"
            + f"{point['flop'] / point['seconds'] / 1e9:8.1f} GFLOP/s"
            + f"{(point['state_bytes'] + point['saved_bytes']) / 1e6:10.1f} MB"
        )


if __name__ == "__main__":
    main()
