"""Train every run of the contest that is missing, in the order of its list.

    make runs                               # two at a time, in processes of this machine
    make runs JOBS=8
    make runs SCHEDULER=tcp://10.0.0.1:8786 # on the workers of a Dask cluster

The list is data/contest.csv. The rule of data/README.md writes it, line by line, as results come
in; a line that a person adds is trained, too. A run that was stopped goes on where it was, a
finished one is left alone, and one that fails is named by its line while the others go on.

On a cluster all workers see this folder under the same path (start them in it, with
PYTHONPATH=data), and one that dies is replaced: its run goes on elsewhere from its last state.
"""

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from statistics import mean

from dask import config as dask_config
from distributed import Client, Future, LocalCluster, wait
from safetensors import SafetensorError, safe_open
from tqdm import tqdm
from train import checkpoint, train

from minigpt.artifacts import DATA, read_json, write_atomic
from minigpt.runs import RUNS, Run, run_of
from minigpt.variants import VARIANTS

LIST = DATA / "contest.csv"

# The rule, as data/README.md tells it.
RATE, DROPOUTS, MIDDLE = 0.005, (0.0, 0.1, 0.2), 0.1
START = (-1, 0, 1)  # k of the first rates, RATE * 2**k
FIRST_SEED = 3  # of the reported ones: those before it were scored before there was a rule
NEAR = 0.055  # nats on the validation split: a variant as near as that gets five seeds more
LOOK = 1_000  # steps of the runs that prune the full budget's grid

Valid = dict[Run, float]  # finished runs and their validation loss, infinite when they diverged
Pair = tuple[int, float]  # k of the rate, dropout


@dataclass(frozen=True)
class Line:
    """One line of the list: a run, and whether it is scored on the test split."""

    run: Run
    test: bool = False


COLUMNS = ("model", "size", "variant", "learning_rate", "dropout", "seed", "steps", "precision")
KINDS = {"learning_rate": float, "dropout": float, "seed": int, "steps": int}


# --- The rule -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Search:
    """The trials of one model at one budget: runs that differ in rate and dropout alone."""

    like: Run
    valid: Valid
    dropouts: tuple[float, ...] = DROPOUTS

    def at(self, pair: Pair) -> Run:
        """Give the run of a rate and a dropout."""
        k, dropout = pair
        return replace(self.like, learning_rate=RATE * 2.0**k, dropout=dropout)

    def tried(self) -> dict[Pair, float]:
        """Give the validation loss of each trial on file, the earlier rate first."""
        pairs = ((k, dropout) for k in range(-12, 13) for dropout in self.dropouts)
        return {pair: self.valid[self.at(pair)] for pair in pairs if self.at(pair) in self.valid}

    def best(self) -> Pair:
        """Give the pair that validates best."""
        tried = self.tried()
        return min(tried, key=tried.__getitem__)

    def missing(
        self, start: Iterable[Pair], around: Callable[[Pair], Iterable[Pair]]
    ) -> list[Pair]:
        """Give what has to be tried next: ``start``, then what lies ``around`` the best."""
        tried = self.tried()
        first = [pair for pair in start if pair not in tried]
        return first or [pair for pair in around(self.best()) if pair not in tried]

    def nearest(self) -> Pair:
        """Give the pair not yet tried that is nearest to the best."""
        best_k, best_dropout = self.best()
        index = self.dropouts.index
        pairs = ((k, d) for k in range(best_k - 12, best_k + 13) for d in self.dropouts)
        return min(
            (pair for pair in pairs if pair not in self.tried()),
            key=lambda pair: (
                abs(pair[0] - best_k) + abs(index(pair[1]) - index(best_dropout)),
                *pair,
            ),
        )


def crossed(ks: Iterable[int], dropouts: Iterable[float]) -> list[Pair]:
    """Give every pair of a rate and a dropout."""
    dropouts = tuple(dropouts)
    return [(k, dropout) for k in ks for dropout in dropouts]


def full_columns(search: Search) -> list[Pair]:
    """Bracket the best rate, with every dropout at every rate."""
    return search.missing(
        crossed(START, search.dropouts),
        lambda best: crossed(range(best[0] - 1, best[0] + 2), search.dropouts),
    )


def cross_of(k: int, search: Search) -> list[Pair]:
    """Try every dropout at one rate; then bracket the rate at the best dropout."""
    return search.missing(
        crossed([k], search.dropouts), lambda best: [(best[0] - 1, best[1]), (best[0] + 1, best[1])]
    )


def equally_often(
    searches: list[Search], missing: Callable[[Search], list[Pair]]
) -> tuple[list[Line], bool]:
    """Search for all models until each has bracketed its best and all have as many trials.

    Returns:
        The lines, and whether the search has ended.
    """
    wanted = [missing(search) for search in searches]
    if not any(wanted):
        most = max(len(search.tried()) for search in searches)
        wanted = [[s.nearest()] if len(s.tried()) < most else [] for s in searches]
    lines = [
        Line(search.at(pair))
        for search, pairs in zip(searches, wanted, strict=True)
        for pair in (*search.tried(), *pairs)
    ]
    return lines, not any(wanted)


def seeds(run: Run, first: int, number: int) -> list[Line]:
    """Give the reported runs of chosen settings."""
    return [Line(replace(run, seed=seed), test=True) for seed in range(first, first + number)]


def contest(size: str, valid: Valid) -> tuple[list[Line], dict[str, Run]]:
    """Choose the settings of both models at "quick" or "full".

    Returns:
        The lines, and the run of seed 0 with the chosen settings, by model; no runs while the
        search goes on.
    """
    models = ("gpt", "lstm")
    searches = [Search(Run(model, size, RATE, MIDDLE), valid) for model in models]
    if size == "quick":
        lines, ended = equally_often(searches, full_columns)
    else:
        looks = [Search(replace(s.like, steps=LOOK), valid, (MIDDLE,)) for s in searches]
        lines, ended = equally_often(looks, full_columns)
        if not ended:
            return lines, {}
        k = {search: look.best()[0] for search, look in zip(models, looks, strict=True)}
        more, ended = equally_often(searches, lambda s: cross_of(k[s.like.model], s))
        lines += more
    if not ended:
        return lines, {}
    return lines, {s.like.model: s.at(s.best()) for s in searches}


def variant_lines(valid: Valid) -> Iterator[Line]:
    """Give each variant, and the mini-GPT itself, its best rate and its seeds, at QUICK."""
    itself: list[Line] = []
    for variant in ("", *VARIANTS):
        search = Search(Run("gpt", "quick", RATE, MIDDLE, variant=variant), valid, (MIDDLE,))
        lines, ended = equally_often([search], full_columns)
        yield from lines
        if not ended:
            continue
        best = search.at(search.best())
        five = seeds(best, FIRST_SEED, 5)
        five_more = seeds(best, FIRST_SEED + 5, 5)
        yield from five
        if not variant:
            itself = five
            yield from five_more
        elif itself and (difference := difference_of(five, itself, valid)) is not None:
            yield from five_more if abs(difference) < NEAR else ()


def difference_of(lines: list[Line], others: list[Line], valid: Valid) -> float | None:
    """Give how far the means of the validation losses lie apart; None while a run is missing."""
    if not all(line.run in valid for line in (*lines, *others)):
        return None
    return mean(valid[line.run] for line in lines) - mean(valid[line.run] for line in others)


def long_lines(chosen: dict[str, Run], valid: Valid) -> Iterator[Line]:
    """Give the third budget: the full one's settings at its rate or half of it."""
    for run in chosen.values():
        tries = [replace(run, size="long", learning_rate=run.learning_rate / n) for n in (1, 2)]
        yield from map(Line, tries)
        if all(run in valid for run in tries):
            yield from seeds(min(tries, key=valid.__getitem__), FIRST_SEED, 3)


def wanted(valid: Valid) -> list[Line]:
    """Give every line that the rule asks for after these results, in order and each once."""
    lines, quick = contest("quick", valid)
    for run in quick.values():
        lines += seeds(run, FIRST_SEED, 10)
    lines += variant_lines(valid)
    more, full = contest("full", valid)
    lines += more
    for run in full.values():
        lines += seeds(run, FIRST_SEED, 5)
    lines += long_lines(full, valid)
    if quick:
        lines += seeds(replace(quick["gpt"], precision="float32"), FIRST_SEED, 3)
    return list(dict.fromkeys(lines))


# --- The list and the records ---------------------------------------------------------------------


def read_valid(runs: Path = RUNS) -> Valid:
    """Read what the finished runs scored on the validation split."""
    records = (read_json(path) for path in sorted(runs.glob("*.json")))
    return {run_of(r): inf if r["valid"] is None else r["valid"] for r in records}


def read_list(path: Path = LIST) -> dict[Line, int]:
    """Read the lines of the list, and where each stands.

    Raises:
        ValueError: a line is none; the message says which and why.
    """
    if not path.exists():
        if path != LIST:
            raise ValueError(f"there is no list {path}")
        return {}
    lines: dict[Line, int] = {}
    rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    for number, cells in zip(count(1), rows):
        if number == 1:
            if tuple(cells) != (*COLUMNS, "test"):
                raise ValueError(f"line 1 of {path} has to be {','.join((*COLUMNS, 'test'))}")
            continue
        try:
            lines.setdefault(line_of(cells), number)
        except ValueError as error:
            raise ValueError(f"line {number} of {path}: {error}") from error
    return lines


def line_of(cells: list[str]) -> Line:
    """Read one line of the list."""
    if len(cells) != len(COLUMNS) + 1:
        raise ValueError(f"{len(COLUMNS) + 1} cells were expected, not {len(cells)}")
    *values, test = cells
    settings = {}
    for name, value in zip(COLUMNS, values, strict=True):
        try:
            settings[name] = KINDS.get(name, str)(value)
        except ValueError:
            kind = {float: "a number", int: "a whole number"}[KINDS[name]]
            raise ValueError(f"{name} has to be {kind}, not {value!r}") from None
    if test not in ("yes", "no"):
        raise ValueError(f"test has to be yes or no, not {test!r}")
    return Line(Run(**settings), test == "yes")


def write_list(lines: Iterable[Line], path: Path = LIST) -> None:
    """Write the list, atomically."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow((*COLUMNS, "test"))
    for line in lines:
        cells = (getattr(line.run, name) for name in COLUMNS)
        cells = (f"{cell:g}" if isinstance(cell, float) else cell for cell in cells)
        table.writerow((*cells, "yes" if line.test else "no"))
    write_atomic(path, text.getvalue().encode())


def extend_list() -> dict[Line, int]:
    """Add to the list what the rule asks for by now; give all lines and where each stands.

    Raises:
        ValueError: a line of it is none.
    """
    lines = read_list()
    asked = wanted(read_valid())
    whole = [*asked, *(line for line in lines if line not in asked)]
    if whole != list(lines):
        write_list(whole)
    return read_list()


# --- The work -------------------------------------------------------------------------------------


def work(run: Run) -> int:
    """Count the characters that a run trains on."""
    return run.budget.steps * run.budget.batch_size * run.budget.T


def progress(run: Run) -> int:
    """Count those that an unfinished run has trained on, as of its last state on file."""
    path = checkpoint(run)
    try:
        with safe_open(path, framework="pt") as file:
            steps = json.loads(file.metadata()["about"])["history"]["steps"]
    except (OSError, SafetensorError, TypeError, KeyError):
        return 0
    return work(run) * steps // run.budget.steps


def train_all(client: Client, lines: Callable[[], dict[Line, int]]) -> list[str]:
    """Train what is missing of ``lines``, read anew as runs end; give what failed, in words."""
    running: dict[Future, Line] = {}
    failed: dict[Line, str] = {}
    with tqdm(unit="char", unit_scale=True, smoothing=0.05, file=sys.stdout) as bar:
        while True:
            at = lines()
            missing = [line for line in at if not line.run.path.exists() and line not in failed]
            for line in missing:
                if line not in running.values():
                    future = client.submit(
                        train,
                        line.run,
                        on_test=line.test,
                        progress=False,
                        pure=False,
                        priority=-at[line],
                    )
                    running[future] = line
            if not running:
                return list(failed.values())
            bar.total = sum(work(line.run) for line in at)
            done = sum(work(line.run) for line in at if line not in missing)
            bar.n = done + sum(progress(line.run) for line in missing)
            bar.set_postfix_str(f"{len(missing)} of {len(at)} runs remain")
            bar.refresh()
            try:
                ended = wait(list(running), timeout=10, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                continue
            for future in ended:
                line = running.pop(future)
                if future.status == "finished" and future.result():
                    bar.write(f"{line.run.name} is finished")
                else:
                    why = future.exception() if future.status == "error" else "it was interrupted"
                    failed[line] = f"line {at[line]} of the list, {line.run.name}: {why}"
                    bar.write(failed[line])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes of this machine")
    parser.add_argument("--scheduler", default="", help="address of a Dask cluster's scheduler")
    parser.add_argument("--list", type=Path, help="train the lines of another list, and no others")
    args = parser.parse_args()
    lines = partial(read_list, args.list) if args.list else extend_list
    try:
        lines()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    # A machine that is stopped for a while has not lost its runs.
    dask_config.set({"distributed.scheduler.worker-ttl": None})
    cluster = args.scheduler or LocalCluster(
        n_workers=args.jobs, threads_per_worker=1, memory_limit=0, dashboard_address=None
    )
    with Client(cluster) as client:
        failed = train_all(client, lines)
    print("\n".join([*failed, "All other runs are finished." if failed else "All are finished."]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
