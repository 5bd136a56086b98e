"""Time what the course says about speed, paired in one run, and write data/benchmarks.json.

    make bench

Every contender takes one turn per round, so that a slow moment of the machine meets them all; the
median of the rounds counts. Nothing else should run meanwhile. Dropout is off for all.
"""

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from tqdm import tqdm
from train import machine
from transformers import GPT2Config, GPT2LMHeadModel

from minigpt.artifacts import DATA, load_model, write_json
from minigpt.attention import fused_attention
from minigpt.corpus import load_corpus, random_batch
from minigpt.lstm import LSTM
from minigpt.model import Config, MiniGPT
from minigpt.sampling import sample
from minigpt.training import budget_for, training_step

ROUNDS = 12
SAMPLED = 128


class GPT2(nn.Module):
    """The GPT-2 of the transformers library in the mini-GPT's size, as a map to logits."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gpt2 = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=config.vocab_size,
                n_positions=config.T_max,
                n_embd=config.d,
                n_layer=config.n_l,
                n_head=config.n_h,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                bos_token_id=0,
                eos_token_id=0,
                use_cache=False,
            )
        )

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        return self.gpt2(idx).logits


def training_contenders() -> tuple[dict[str, Callable[[], object]], float]:
    """Make one training step per contender, and count the floating-point operations of ours."""
    budget = budget_for("gpt", "full")
    generator = torch.Generator().manual_seed(0)
    ids = load_corpus()["train"]
    x, y = random_batch(ids, budget.batch_size, budget.T, generator)

    def step(model: nn.Module, precision: torch.dtype = torch.float32) -> Callable[[], object]:
        model.train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        return lambda: training_step(model, optimizer, x, y, precision=precision)

    torch.manual_seed(0)
    config = Config(dropout=0.0)
    contenders = {
        "explicit": step(MiniGPT(config)),
        "fused": step(MiniGPT(config, attention=fused_attention)),
        "gpt2": step(GPT2(config)),
        "lstm": step(LSTM()),
        "explicit, bfloat16": step(MiniGPT(config), torch.bfloat16),
        "fused, bfloat16": step(MiniGPT(config, attention=fused_attention), torch.bfloat16),
        "lstm, bfloat16": step(LSTM(), torch.bfloat16),
    }
    with FlopCounterMode(display=False) as counter:
        contenders["explicit"]()
    return contenders, counter.get_total_flops()


def matrix_product(size: int = 2048) -> Callable[[], object]:
    """Multiply two square matrices: what the machine can do at most."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    return lambda: a @ b


def sampling_contenders() -> dict[str, Callable[[], object]]:
    model, prompt = load_model(), load_corpus().vocabulary.encode("\n")

    def write(cached: bool) -> Callable[[], object]:
        return lambda: sample(
            model, prompt, SAMPLED - 1, generator=torch.Generator().manual_seed(0), cached=cached
        )

    return {"plain sampler": write(False), "cached sampler": write(True)}


def timed(
    contenders: dict[str, Callable[[], object]], rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """Let each contender warm up twice, then take a turn per round; seconds by contender."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in tqdm(range(-2, rounds), desc="rounds"):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            if turn >= 0:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def main() -> None:
    size = 2048
    contenders, flop = training_contenders()
    contenders["matrix product"] = matrix_product(size)
    contenders |= sampling_contenders()
    seconds = timed(contenders)
    median = {name: statistics.median(turns) for name, turns in seconds.items()}
    # The limit is the machine at its best, so the fastest turn counts.
    limit = 2 * size**3 / min(seconds["matrix product"])
    result = {
        **machine(),
        "rounds": ROUNDS,
        "flop_per_step": flop,
        "limit_flop_per_second": limit,
        "seconds": median,
        "share_of_limit": {n: flop / median[n] / limit for n in ("explicit", "fused")},
        "ratio": {
            "explicit to gpt2": median["explicit"] / median["gpt2"],
            "fused to gpt2": median["fused"] / median["gpt2"],
            "explicit to lstm": median["explicit"] / median["lstm"],
            "plain to cached sampler": median["plain sampler"] / median["cached sampler"],
        },
    }
    write_json(DATA / "benchmarks.json", result)
    for name, value in median.items():
        print(f"{name:20}{value * 1e3:9.1f} ms")
    print(f"{flop / 1e9:.1f} GFLOP a step, limit {limit / 1e9:.0f} GFLOP/s")
    for name, value in (result["share_of_limit"] | result["ratio"]).items():
        print(f"{name:26}{value:6.2f}")


if __name__ == "__main__":
    main()
