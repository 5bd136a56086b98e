"""Train the variants of the mini-GPT, each at the QUICK budget from three seeds.

    python data/ablate.py                   # all, one after another
    python data/ablate.py rotary no-ffn     # some

Each learns with the mini-GPT's learning rate. A variant that does not train with it, on seed 0, is
tried with the two smaller rates below, and the better of them on the validation split is kept.
Like data/train.py, whose command it gives, it goes on where it was stopped.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from minigpt.artifacts import read_json
from minigpt.corpus import Corpus, load_corpus
from minigpt.evaluation import evaluate_ngram
from minigpt.model import Config
from minigpt.ngram import NGram
from minigpt.runs import SEEDS, Run
from minigpt.training import budget_for
from minigpt.variants import VARIANTS

SMALLER_RATES = (1.5e-3, 5e-4)


def bigram_nats(corpus: Corpus, split: str = "valid") -> float:
    """Score what a model knows that reads one character back.

    A mini-GPT whose attention does nothing still reads the character at its own position. One that
    ends above this score has learned nothing from the others: it has not trained.
    """
    return evaluate_ngram(NGram(2, 0.1).fit(corpus["train"]), corpus, split).nats


def choose_rate(valid: Callable[[float], float], highest: float) -> float:
    """Apply the rule above to what seed 0 scores with a rate."""
    rate = budget_for("gpt", "quick").learning_rate
    return rate if valid(rate) <= highest else min(SMALLER_RATES, key=valid)


def run_path(variant: str, rate: float, seed: int) -> Path:
    """Say where data/train.py writes the run."""
    return Run("gpt", "quick", rate, Config().dropout, seed, variant).path


def train(variant: str, rate: float, seed: int = SEEDS[0], *, threads: int = 1) -> float:
    """Train from one seed and give the validation score."""
    path = run_path(variant, rate, seed)
    if not path.exists():
        command = ["gpt", "quick", "--variant", variant, "--seed", str(seed)]
        command += ["--learning-rate", str(rate), "--threads", str(threads)]
        script = Path(__file__).with_name("train.py")
        code = subprocess.run([sys.executable, script, *command]).returncode
        if code:
            sys.exit(code)
    return read_json(path)["valid"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("variants", nargs="*", choices=[*VARIANTS, []], default=list(VARIANTS))
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    highest = bigram_nats(load_corpus())
    for variant in args.variants:
        rate = choose_rate(partial(train, variant, threads=args.threads), highest)
        for seed in SEEDS:
            train(variant, rate, seed, threads=args.threads)


if __name__ == "__main__":
    main()
