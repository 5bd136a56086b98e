"""Train one model at one budget from one seed, and write the run to data/runs/.

    python data/train.py gpt full --seed 0

A run that was stopped, however hard, goes on where it was when the same command is given again.
Every run is scored on the validation split, by which settings are chosen. What is chosen stands in
minigpt.training.budget_for and minigpt.model.Config; data/measure.py then scores those runs, and
no others, on the test split.
"""

import argparse
import os
import platform
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy
import torch

from minigpt.artifacts import DATA, save_model, write_json
from minigpt.attention import causal_mask
from minigpt.corpus import load_corpus
from minigpt.evaluation import evaluate
from minigpt.lstm import LSTM
from minigpt.model import Config, MiniGPT
from minigpt.training import Budget, History, budget_for, train_lm
from minigpt.variants import VARIANTS

RUNS = DATA / "runs"
PRECISION = "bfloat16"  # about twice as fast where the processor has it


def processor() -> str:
    """Name the processor as the system does."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> dict[str, str | int]:
    """Describe where a time was taken, for the files that keep it."""
    return {
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def untrained(
    model: str, size: str, seed: int, config: Config, variant: str | None = None
) -> MiniGPT | LSTM:
    """Build a model with the weights a run starts from."""
    torch.manual_seed(seed)
    if variant:
        return VARIANTS[variant].build(config)
    if model == "gpt":
        return MiniGPT(config)
    return LSTM(forget_bias=1.0 if size == "lab3" else None)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", choices=["gpt", "lstm"])
    parser.add_argument("size", choices=["full", "quick", "lab3"])
    parser.add_argument("--seed", type=int, default=0)
    look = parser.add_argument_group("other settings than the chosen ones, for choosing them")
    look.add_argument("--learning-rate", type=float)
    look.add_argument("--dropout", type=float, help="mini-GPT only")
    look.add_argument("--weight-decay", type=float)
    look.add_argument("--steps", type=int)
    parser.add_argument(
        "--variant", choices=VARIANTS, help="mini-GPT only: with one part taken out or exchanged"
    )
    parser.add_argument(
        "--precision",
        choices=["bfloat16", "float32"],
        default=PRECISION,
        help="of the matrix products; the weights are float32 either way",
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    if args.size == "lab3" and args.model != "lstm":
        parser.error("lab3 is a run of the LSTM")
    if args.model != "gpt" and (args.dropout is not None or args.variant):
        parser.error("the LSTM has neither dropout nor variants")
    return args


def run_name(
    model: str,
    size: str,
    budget: Budget,
    seed: int,
    *,
    dropout: float | None = None,
    variant: str | None = None,
    steps: int | None = None,
    precision: str = PRECISION,
) -> str:
    """Name a run by what differs between runs; it is the name of its file."""
    parts = [
        model,
        size,
        variant,
        f"{steps}steps" if steps else None,
        f"lr{budget.learning_rate:g}",
    ]
    parts += [None if dropout is None else f"dropout{dropout:g}", f"decay{budget.weight_decay:g}"]
    return "-".join(part for part in (*parts, precision, f"seed{seed}") if part)


def main() -> int:
    args = arguments()
    torch.set_num_threads(args.threads)
    config, budget = Config(), budget_for(args.model, args.size)
    if args.dropout is not None:
        config = replace(config, dropout=args.dropout)
    if args.variant:
        budget = VARIANTS[args.variant].train_with(budget)
    if args.learning_rate is not None:
        budget = replace(budget, learning_rate=args.learning_rate)
    if args.weight_decay is not None:
        budget = replace(budget, weight_decay=args.weight_decay)
    if args.steps is not None:
        budget = replace(budget, steps=args.steps)
    name = run_name(
        args.model,
        args.size,
        budget,
        args.seed,
        dropout=config.dropout if args.model == "gpt" else None,
        variant=args.variant,
        steps=args.steps,
        precision=args.precision,
    )

    out = RUNS / f"{name}.json"
    checkpoint = RUNS / "unfinished" / f"{name}.safetensors"
    if out.exists():
        checkpoint.unlink(missing_ok=True)
        print(f"{out} is there already: delete it to train anew")
        return 0

    corpus = load_corpus()
    model = untrained(args.model, args.size, args.seed, config, args.variant).to(args.device)
    history = train_lm(
        model,
        corpus,
        budget,
        seed=args.seed,
        precision=getattr(torch, args.precision),
        checkpoint=checkpoint,
    )
    if history.steps < budget.steps:
        print("Give the same command again to go on.", file=sys.stderr)
        return 130
    write_run(out, args, model, budget, history)
    checkpoint.unlink(missing_ok=True)
    return 0


def write_run(out, args, model, budget, history: History) -> None:
    """Write the run and, beside it, its weights (not committed, but for the two the book reads)."""
    run = {
        "model": args.model,
        "size": args.size,
        **({"variant": args.variant} if args.variant else {}),
        "seed": args.seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "config": asdict(model.config) if args.model == "gpt" else model.sizes,
        "budget": asdict(budget),
        "precision": args.precision,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": numpy.__version__,
        },
        "processor": torch.cuda.get_device_name() if args.device == "cuda" else processor(),
        "threads": args.threads,
        "seconds": round(history.seconds, 1),
        "curve": history.curve,
        "valid": history.curve[-1]["valid"],
        "test": None,
    }
    if args.variant == "no-mask":
        # Under the mask it sees what it would see when it writes: no next character to copy.
        model.mask = causal_mask
        run["valid_under_mask"] = evaluate(model, load_corpus(), "valid").nats
    save_model(RUNS / "weights" / f"{out.stem}.safetensors", model, run=out.stem)
    write_json(out, run)
    print(f"{out}: validation {run['valid']:.4f}")


if __name__ == "__main__":
    sys.exit(main())
