"""Train one model at one budget from one seed, and write the run to data/runs/.

    python data/train.py gpt full --seed 0

A run that was stopped, however hard, goes on where it was when the same command is given again.
Every run is scored on the validation split, by which settings are chosen. What is chosen stands in
minigpt.runs.chosen; data/measure.py scores those runs, and no others, on the test split. The runs
of the contest are trained by data/contest.py, which calls what is here.
"""

import argparse
import fcntl
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy
import torch
from score import scores

from minigpt.artifacts import save_model, write_json
from minigpt.attention import causal_mask
from minigpt.corpus import load_corpus
from minigpt.evaluation import evaluate
from minigpt.runs import PRECISION, Run, chosen
from minigpt.training import SIZES, DivergedError, History, lowest, train_lm
from minigpt.variants import VARIANTS


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


def weights(run: Run) -> Path:
    """Say where the weights of a finished run are kept; they are not committed."""
    return run.path.parent / "weights" / f"{run.name}.safetensors"


def checkpoint(run: Run) -> Path:
    """Say where the state of an unfinished run is kept."""
    return run.path.parent / "unfinished" / f"{run.name}.safetensors"


@contextmanager
def alone(run: Run) -> Iterator[None]:
    """Wait until no other process, on any machine that shares the folder, trains this run."""
    path = checkpoint(run).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def train(
    run: Run, *, on_test: bool = False, threads: int = 1, device: str = "cpu", progress: bool = True
) -> bool:
    """Train what is left of a run and write its record and its weights.

    Args:
        run: its settings; a run whose record is there is left alone.
        on_test: score it on the test split as well, which only chosen runs are.
        threads: of the processor.
        device: "cpu" or "cuda".
        progress: show a bar.

    Returns:
        Whether it is finished. A run that was interrupted keeps its state and goes on next time.
    """
    torch.set_num_threads(threads)
    with alone(run):
        if run.path.exists():
            checkpoint(run).unlink(missing_ok=True)
            return True
        corpus = load_corpus()
        model = run.untrained().to(device)
        diverged = False
        try:
            history = train_lm(
                model,
                corpus,
                run.budget,
                seed=run.seed,
                precision=getattr(torch, run.precision),
                checkpoint=checkpoint(run),
                progress=progress,
            )
        except DivergedError as error:
            history, diverged = error.history, True
        if history.steps < run.budget.steps and not diverged:
            return False
        record = record_of(run, model, history, threads, device)
        if diverged:
            record["diverged"] = history.steps
        else:
            best = run.budget.keep == "best"
            record["valid"] = lowest(history.curve) if best else history.curve[-1]["valid"]
            save_model(weights(run), model, run=run.name)
            if run.reads_ahead:
                # Under the mask it sees what it would see when it writes: no character to copy.
                model.mask = causal_mask
                record["valid_under_mask"] = evaluate(model, corpus, "valid").nats
                model.mask = VARIANTS[run.variant].functions["mask"]
            if on_test:
                record |= scores(run, model.cpu(), corpus)
        write_json(run.path, record)
        checkpoint(run).unlink(missing_ok=True)
        # Whoever waits for it finds the record.
        checkpoint(run).with_suffix(".lock").unlink(missing_ok=True)
    return True


def record_of(run: Run, model, history: History, threads: int, device: str) -> dict:
    """Say what was run, where, and how it went."""
    return {
        "model": run.model,
        "size": run.size,
        **({"variant": run.variant} if run.variant else {}),
        "seed": run.seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "config": asdict(model.config)
        if run.model == "gpt"
        else model.sizes | {"dropout": run.dropout},
        "budget": asdict(run.budget),
        "precision": run.precision,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": numpy.__version__,
        },
        "processor": torch.cuda.get_device_name() if device == "cuda" else processor(),
        "threads": threads,
        "seconds": round(history.seconds, 1),
        "curve": history.curve,
        "valid": None,
        "test": None,
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", choices=["gpt", "lstm"])
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("--seed", type=int, default=0)
    look = parser.add_argument_group("other settings than the chosen ones, for choosing them")
    look.add_argument("--learning-rate", type=float)
    look.add_argument("--dropout", type=float)
    look.add_argument("--steps", type=int, default=0)
    parser.add_argument(
        "--variant", default="", help="mini-GPT only: with one part taken out or exchanged"
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
    try:
        rate, dropout = args.learning_rate, args.dropout
        if rate is None or dropout is None:
            usual = chosen(args.model, args.size)
            rate = usual.learning_rate if rate is None else rate
            dropout = usual.dropout if dropout is None else dropout
        settings = (args.seed, args.variant, args.steps, args.precision)
        args.run = Run(args.model, args.size, rate, dropout, *settings)
    except ValueError as error:
        parser.error(str(error))
    return args


def main() -> int:
    args = arguments()
    if args.run.path.exists():
        print(f"{args.run.path} is there already: delete it to train anew")
        return 0
    if not train(args.run, threads=args.threads, device=args.device):
        print("Give the same command again to go on.", file=sys.stderr)
        return 130
    print(f"{args.run.path} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
