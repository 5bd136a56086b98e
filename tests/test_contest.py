"""The rule of the contest, on made-up results, and its list."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from math import inf, log2
from pathlib import Path

import contest
import psutil
import pytest
from contest import FIRST_SEED, RATE, Line

import minigpt
from minigpt.artifacts import DATA
from minigpt.runs import Run
from minigpt.variants import VARIANTS


def k_of(run: Run) -> float:
    return log2(run.learning_rate / RATE)


def results(best: dict, diverges: int = 99):
    """Make up a validation loss for a run: lowest at the k and dropout given for its model."""

    def valid(run: Run) -> float:
        k, dropout = best.get(run.variant or run.model, best["gpt"])
        if k_of(run) >= diverges:
            return inf
        near = 0.01 if run.variant else 0.0
        return 1.5 + near + 0.1 * abs(k_of(run) - k) + abs(run.dropout - dropout) + run.seed / 1e3

    return valid


def played(valid) -> tuple[list[Line], dict[Run, float]]:
    """Do what the rule asks for until it asks for nothing more."""
    done: dict[Run, float] = {}
    for _ in range(200):
        lines = contest.wanted(done)
        missing = [line.run for line in lines if line.run not in done]
        if not missing:
            return lines, done
        done |= {run: valid(run) for run in missing}
    raise AssertionError("the rule never ends")


def trials(done: dict, model: str, size: str, **settings) -> dict:
    return {
        (k_of(run), run.dropout): loss
        for run, loss in done.items()
        if (run.model, run.size, run.seed, run.variant) == (model, size, 0, "")
        and all(getattr(run, name) == value for name, value in settings.items())
    }


BEST = {"gpt": (0, 0.1), "lstm": (2, 0.0), "no-residuals": (-4, 0.1), "post-norm": (1, 0.1)}


@pytest.fixture(scope="module")
def ended():
    return played(results(BEST))


@pytest.mark.parametrize("size", ["quick", "full"])
def test_both_models_get_the_same_number_of_trials(ended, size):
    _, done = ended
    number = {model: len(trials(done, model, size, steps=0)) for model in ("gpt", "lstm")}
    assert number["gpt"] == number["lstm"] >= 5
    if size == "full":
        looks = {model: len(trials(done, model, size, steps=1000)) for model in ("gpt", "lstm")}
        assert looks["gpt"] == looks["lstm"] >= 3


@pytest.mark.parametrize("size", ["quick", "full"])
@pytest.mark.parametrize("model", ["gpt", "lstm"])
def test_the_chosen_rate_has_a_worse_neighbour_on_both_sides(ended, model, size):
    _, done = ended
    tried = trials(done, model, size, steps=0)
    k, dropout = min(tried, key=tried.get)
    assert (k, dropout) == BEST[model]
    assert tried[k, dropout] < min(tried[k - 1, dropout], tried[k + 1, dropout])
    assert {d for tried_k, d in tried if tried_k == k} == {0.0, 0.1, 0.2}


def test_at_quick_every_rate_around_the_best_was_tried_with_every_dropout(ended):
    _, done = ended
    for model in ("gpt", "lstm"):
        k = BEST[model][0]
        around = {(near, d) for near in (k - 1, k, k + 1) for d in (0.0, 0.1, 0.2)}
        assert around <= trials(done, model, "quick").keys()


def test_a_rate_that_diverges_is_a_worse_neighbour():
    _, done = played(results(BEST, diverges=1))
    tried = trials(done, "gpt", "quick")
    assert min(tried, key=tried.get) == (0, 0.1)
    assert tried[1, 0.1] == inf


def test_no_run_that_chose_is_scored_on_the_test_split(ended):
    lines, _ = ended
    for line in lines:
        assert line.test == (line.run.seed >= FIRST_SEED)
        assert line.run.seed == 0 or line.test
    assert len(lines) == len({line.run for line in lines})


def reported(lines: list[Line], *settings) -> list[int]:
    return sorted(
        line.run.seed
        for line in lines
        if line.test
        and (line.run.model, line.run.size, line.run.variant, line.run.precision) == settings
    )


def test_the_chosen_settings_are_run_from_as_many_other_seeds_as_the_rule_says(ended):
    lines, _ = ended
    for model in ("gpt", "lstm"):
        assert reported(lines, model, "quick", "", "bfloat16") == list(range(3, 13))
        assert reported(lines, model, "full", "", "bfloat16") == list(range(3, 8))
        assert reported(lines, model, "long", "", "bfloat16") == [3, 4, 5]
    assert reported(lines, "gpt", "quick", "", "float32") == [3, 4, 5]
    for line in lines:
        if line.test and not line.run.variant:
            k, dropout = BEST[line.run.model]
            halved = line.run.size == "long"
            assert (k_of(line.run), line.run.dropout) in {(k, dropout), (k - halved, dropout)}


def test_every_variant_is_run_at_its_own_best_rate(ended):
    lines, done = ended
    for variant in VARIANTS:
        tried = {k_of(run): loss for run, loss in done.items() if run.variant == variant}
        best = BEST.get(variant, BEST["gpt"])[0]
        assert {best - 1, best, best + 1} <= tried.keys()
        rates = {k_of(line.run) for line in lines if line.test and line.run.variant == variant}
        assert rates == {best}


@pytest.mark.parametrize(("distance", "number"), [(0.05, 10), (-0.05, 10), (0.06, 5), (-0.06, 5)])
def test_a_variant_that_is_near_gets_five_seeds_more(distance, number):
    ordinary = results(BEST)

    def valid(run: Run) -> float:
        if run.seed >= FIRST_SEED and run.model == "gpt" and run.size == "quick":
            return 1.7 + distance * bool(run.variant)
        return ordinary(run)

    lines, _ = played(valid)
    for variant in VARIANTS:
        assert len(reported(lines, "gpt", "quick", variant, "bfloat16")) == number


def test_the_third_budget_takes_the_full_rate_or_its_half_whichever_validates_better():
    ordinary = results(BEST)

    def valid(run: Run) -> float:
        return ordinary(run) if run.size != "long" else run.learning_rate

    lines, _ = played(valid)
    for model in ("gpt", "lstm"):
        ks = {
            k_of(line.run)
            for line in lines
            if line.run.size == "long" and line.test and line.run.model == model
        }
        assert ks == {BEST[model][0] - 1}


# The list


def test_the_list_on_file_holds_what_the_rule_asks_for_after_the_runs_on_file():
    lines = contest.read_list()
    assert list(lines)[: len(contest.wanted(contest.read_valid()))] == contest.wanted(
        contest.read_valid()
    )


def test_a_list_that_is_written_is_read_again(tmp_path, ended):
    lines, _ = ended
    path = tmp_path / "list.csv"
    contest.write_list(lines, path)
    assert list(contest.read_list(path)) == lines
    assert list(contest.read_list(path).values()) == list(range(2, len(lines) + 2))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("gpt,quick,,0.005,0.1,0,0,bfloat16", "9 cells were expected, not 8"),
        ("gpt,quick,,fast,0.1,0,0,bfloat16,no", "learning_rate has to be a number, not 'fast'"),
        ("gpt,quick,,0.005,0.1,1.5,0,bfloat16,no", "seed has to be a whole number, not '1.5'"),
        ("gpt,quick,,0.005,0.1,0,0,bfloat16,maybe", "test has to be yes or no, not 'maybe'"),
        ("gpt,quick,pyramid,0.005,0.1,0,0,bfloat16,no", "variant is 'pyramid', not one of"),
    ],
)
def test_a_line_that_is_no_run_is_named(tmp_path, line, complaint):
    path = tmp_path / "list.csv"
    contest.write_list([Line(Run("gpt", "quick", 0.005, 0.1))], path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=rf"line 3 of .*list\.csv: {complaint}"):
        contest.read_list(path)


# The work


def copied(folder: Path, *runs: Run, test: bool = False) -> Path:
    """Copy what trains runs, and write a list of these; give the list."""
    (folder / "data").mkdir(parents=True)
    for name in ("contest.py", "train.py", "score.py", "tinyshakespeare.txt"):
        shutil.copy(DATA / name, folder / "data")
    shutil.copytree(Path(minigpt.__path__[0]), folder / "src" / "minigpt")
    path = folder / "list.csv"
    contest.write_list([Line(run, test) for run in runs], path)
    return path


def started(path: Path) -> subprocess.Popen:
    """Start to train the runs of a list in the copy beside it, two at a time."""
    command = [sys.executable, "data/contest.py", "--list", str(path), "--jobs", "2"]
    environment = os.environ | {"PYTHONPATH": str(path.parent / "src")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=path.parent, env=environment, **pipes)


def records(path: Path) -> dict[str, dict]:
    found = (path.parent / "data" / "runs").glob("*.json")
    return {record.stem: json.loads(record.read_text()) for record in found}


def worker_that_trains(main: subprocess.Popen, runs: list[Run]) -> psutil.Process | None:
    """Find a worker in the middle of a run whose state is on file."""
    for worker in psutil.Process(main.pid).children(recursive=True):
        try:
            opened = {Path(file.path) for file in worker.open_files()}
        except psutil.Error:  # it has ended meanwhile
            continue
        for lock in opened:
            state = lock.with_suffix(".safetensors")
            if lock.suffix == ".lock" and state.exists() and lock.stem in {r.name for r in runs}:
                return worker
    return None


@pytest.mark.long
def test_a_worker_that_is_killed_in_mid_run_loses_no_run_and_repeats_none(tmp_path):
    runs = [Run("lstm", "quick", 0.01, 0.1, seed, steps=400) for seed in range(3)]
    path = copied(tmp_path / "disturbed", *runs, test=True)
    main = started(path)
    try:
        killed = None
        while killed is None and main.poll() is None:
            killed = worker_that_trains(main, runs)
            with suppress(subprocess.TimeoutExpired):
                main.wait(0.1)
        assert killed is not None, main.communicate()[0]
        killed.kill()
        said, _ = main.communicate()
    finally:
        main.kill()
    assert main.returncode == 0, said
    assert records(path).keys() == {run.name for run in runs}
    for run in runs:
        assert said.count(f"{run.name} is finished") == 1

    undisturbed = copied(tmp_path / "undisturbed", *runs)
    said, _ = started(undisturbed).communicate()
    for name, record in records(undisturbed).items():
        assert records(path)[name]["curve"] == record["curve"]
        assert record["test"] is None
        assert len(records(path)[name]["test_blocks"]) == 121

    before = {file: file.stat().st_mtime_ns for file in path.parent.glob("data/runs/*.json")}
    again = started(path)
    said, _ = again.communicate()
    assert again.returncode == 0
    assert "is finished" not in said
    assert before == {file: file.stat().st_mtime_ns for file in before}


@pytest.mark.slow
def test_a_run_that_diverges_stays_on_file_without_a_score(tmp_path):
    path = copied(tmp_path, Run("lstm", "quick", 1e30, 0.0, steps=3), test=True)
    main = started(path)
    said, _ = main.communicate()
    assert main.returncode == 0, said
    ((_, record),) = records(path).items()
    assert (record["diverged"], record["valid"], record["test"]) == (3, None, None)


def test_a_list_with_a_line_that_is_none_starts_nothing(tmp_path):
    path = copied(tmp_path, Run("lstm", "quick", 0.01, 0.0))
    path.write_text(path.read_text().replace("quick", "huge"))
    main = started(path)
    said, _ = main.communicate()
    assert main.returncode == 2
    assert said.strip() == (f"line 2 of {path}: size is 'huge', not one of full, quick, long, lab3")
    assert not records(path)
