"""Time attention and a recurrent layer as the text grows, and write data/cost.json.

    make bench

One text at a time (B = 1), forward only, one thread. All contenders at all lengths take one turn
per round, so that a slow moment of the machine meets them all; the median of the rounds counts.
"""

import os
import statistics
from collections.abc import Callable

import torch
from bench import timed
from torch import nn
from train import machine

from minigpt.artifacts import DATA, write_json
from minigpt.attention import MultiHeadAttention, causal_mask, scaled_dot_product_attention

ROUNDS = 100
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
D, N_H = 128, 4
SEED = 0


def contenders_at(T: int) -> dict[str, Callable[[], object]]:
    """Make what is timed at one length; a turn repeats it, more often when the text is short."""
    H = torch.randn(1, T, D)
    Q, K, V = torch.randn(3, 1, N_H, T, D // N_H)
    mask = causal_mask(T)
    layer, lstm = MultiHeadAttention(D, N_H), nn.LSTM(D, D, batch_first=True)
    return {
        # scores, mask, softmax and weighted averages of all heads
        "attention step": lambda: scaled_dot_product_attention(Q, K, V, mask),
        # the same between the projections W_Q, W_K, W_V and W_proj
        "attention layer": lambda: layer(H, mask),
        "recurrent layer": lambda: lstm(H),
    }


def repeats(T: int) -> int:
    return max(LENGTHS) // T


def turn(run: Callable[[], object], times: int) -> Callable[[], None]:
    def several() -> None:
        for _ in range(times):
            run()

    return several


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    load = os.getloadavg()[0]
    made = {(name, T): run for T in LENGTHS for name, run in contenders_at(T).items()}
    with torch.inference_mode():
        turns = timed({key: turn(run, repeats(key[1])) for key, run in made.items()}, ROUNDS)
    seconds: dict[str, list[float]] = {}
    spread: dict[str, list[list[float]]] = {}
    for (name, T), taken in turns.items():
        low, middle, high = (q / repeats(T) for q in statistics.quantiles(taken, n=4))
        seconds.setdefault(name, []).append(middle)
        spread.setdefault(name, []).append([low, high])
    result = {
        **machine(),
        "load_at_start": round(load, 2),
        "seed": SEED,
        "rounds": ROUNDS,
        "batch": 1,
        "d": D,
        "n_h": N_H,
        "T": list(LENGTHS),
        "seconds": seconds,
        "quartiles": spread,
    }
    write_json(DATA / "cost.json", result)
    for name, values in seconds.items():
        print(f"{name:16}" + "".join(f"{value * 1e3:9.3f}" for value in values) + "  ms")


if __name__ == "__main__":
    main()
