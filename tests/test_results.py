"""What is committed in data/: runs, weights and the results table agree with one another."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import ablate
import contest
import measure
import pytest
import score
import train
from support import random_model, small_corpus

import minigpt
from minigpt.artifacts import DATA, SHIPPED, DamagedFileError, load_model, read_json, read_tensors
from minigpt.attention import causal_mask
from minigpt.evaluation import evaluate_ngram, gpt_nats, verify_weights
from minigpt.lstm import LSTM
from minigpt.model import Config, MiniGPT
from minigpt.ngram import NGram
from minigpt.rows import COUNTED, TRAINED
from minigpt.runs import SEEDS, chosen, run_of
from minigpt.training import Budget
from minigpt.variants import VARIANTS, everything_allowed

RUNS = DATA / "runs"
PARAMETERS = {"lstm": 350_593, "gpt": 824_897}
BUDGETS = {"lab3": (2_000, 64), "full": (3_000, 64), "quick": (1_500, 16)}  # steps, batch


@pytest.fixture(scope="module")
def table() -> dict:
    return read_json(DATA / "baselines.json")


@pytest.fixture(scope="module")
def rows(table) -> dict:
    return table["rows"]


@pytest.fixture(scope="module")
def runs() -> dict[str, dict]:
    """Every run that was kept, by the name of its file."""
    found = {path.stem: read_json(path) for path in sorted(RUNS.glob("*.json"))}
    assert found
    return found


def leaves(value, path: str = "") -> dict:
    """Flatten nested dictionaries, so that they can be compared number by number."""
    if not isinstance(value, dict):
        return {path: value}
    return {k: v for name, part in value.items() for k, v in leaves(part, f"{path}/{name}").items()}


def is_chosen(run: dict) -> bool:
    """Say whether a run has the chosen settings, whatever its seed."""
    settings = run_of(run)
    return settings == chosen(run["model"], run["size"], run["seed"])


def is_reported(run: dict) -> bool:
    return is_chosen(run) and run["seed"] in SEEDS


@pytest.mark.slow
def test_the_committed_weights_score_on_the_test_split_as_recorded():
    differences = verify_weights()
    assert len(differences) == 4
    assert max(differences.values()) <= 1e-4


@pytest.mark.slow
def test_weights_that_score_otherwise_are_refused():
    with pytest.raises(DamagedFileError, match=r"\w+\.safetensors scores 1\.\d+ nats"):
        verify_weights(tolerance=-1.0)


def test_the_committed_weights_are_those_of_the_first_seed_of_their_row(runs):
    assert sorted(SHIPPED.values()) == sorted(DATA.glob("*.safetensors"))
    for row, path in SHIPPED.items():
        run = runs[read_tensors(path)[1]["run"]]
        assert (f"{run['model']}-{run['size']}", run["seed"]) == (row, 0)
        assert is_chosen(run)
        assert isinstance(load_model(path), MiniGPT if run["model"] == "gpt" else LSTM)


def test_the_table_is_what_its_producer_makes_of_the_committed_runs(table, corpus):
    made, kept = leaves(measure.baselines(corpus)), leaves(table)
    assert made.keys() == kept.keys()
    for name, value in kept.items():
        expected = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
        assert made[name] == expected, name


def test_the_rows_are_the_n_grams_and_each_model_at_each_of_its_budgets(table):
    assert table["test_characters"] == 60_394
    assert list(table["rows"]) == [*COUNTED, *TRAINED]
    for key, kind in TRAINED.items():
        row = table["rows"][key]
        assert row["parameters"] == PARAMETERS[kind.model]
        assert (row["steps"], row["batch"]) == BUDGETS[kind.size]


def test_the_n_gram_rows_are_those_published_and_come_out_again(rows, corpus):
    for key, n, k, nats in (("trigram", 3, 0.1, 2.0859), ("5-gram", 5, 0.01, 1.8326)):
        assert round(rows[key]["nats"], 4) == nats
        score = evaluate_ngram(NGram(n, k).fit(corpus["train"]), corpus)
        assert rows[key]["nats"] == pytest.approx(score.nats, rel=1e-9)


def test_perplexity_and_bits_agree_with_nats_in_every_row(rows):
    for row in rows.values():
        assert math.log(row["perplexity"]) == pytest.approx(row["nats"])
        assert 2 ** row["bits"] == pytest.approx(row["perplexity"])


@pytest.mark.parametrize("key", TRAINED)
def test_a_neural_row_is_the_mean_of_its_seeds_and_they_are_those_of_the_runs(key, rows, runs):
    row, (model, size) = rows[key], key.split("-")
    scores = {
        str(run["seed"]): run["test"]
        for run in runs.values()
        if (run["model"], run["size"]) == (model, size) and is_reported(run)
    }
    assert row["by_seed"] == scores
    assert row["seeds"] == len(scores) >= 1
    assert row["nats"] == pytest.approx(sum(scores.values()) / len(scores))
    assert (row["lowest"], row["highest"]) == (min(scores.values()), max(scores.values()))


def test_the_full_budget_was_run_from_several_seeds(rows):
    assert min(rows[key]["seeds"] for key in ("gpt-full", "lstm-full")) > 1


@pytest.mark.parametrize("key", TRAINED)
def test_an_untrained_model_was_about_as_surprised_as_a_fair_die(key, rows):
    untrained = rows[key]["untrained"]
    assert untrained.keys() == rows[key]["by_seed"].keys()
    assert list(untrained.values()) == pytest.approx([math.log(65)] * len(untrained), abs=0.1)


@pytest.mark.parametrize("key", ["gpt-full", "gpt-quick"])
def test_no_measured_model_leaked(key, rows, runs):
    assert rows[key]["leak"] == 0.0
    for run in runs.values():
        if f"{run['model']}-{run['size']}" == key and run["test"] is not None:
            leaks = run_of(run).reads_ahead
            assert all((leak > 1e-3) == leaks and leak >= 0 for leak in run["leak"].values())


def test_the_readme_shows_the_table_as_it_is(rows):
    readme = (DATA.parent / "README.md").read_text(encoding="utf-8")
    assert measure.with_results(readme, rows) == readme


def test_every_run_says_what_was_run_where_and_how_it_went(runs):
    for name, run in runs.items():
        settings = run_of(run)
        assert name == settings.name
        assert Budget(**run["budget"]) == settings.budget, name
        if run["model"] == "gpt":
            functions = VARIANTS[run["variant"]].functions if "variant" in run else {}
            model = MiniGPT(Config(**run["config"]), **functions)
        else:
            model = LSTM(**run["config"])
        assert run["parameters"] == sum(p.numel() for p in model.parameters()), name
        assert run["versions"].keys() == {"python", "torch", "numpy"}, name
        assert run["processor"], name
        assert run["threads"] >= 1, name
        assert run["seconds"] > 0, name
        steps = [point["step"] for point in run["curve"]]
        every, last = run["budget"]["validate_every"], run["budget"]["steps"]
        if "diverged" in run:
            assert run["valid"] is run["test"] is None, name
            assert steps == list(range(every, run["diverged"], every)), name
            continue
        assert steps == sorted({*range(every, last, every), last}), name
        assert all(0 < point["train"] < 6 for point in run["curve"]), name
        best = settings.budget.keep == "best"
        kept = min(run["curve"], key=lambda point: point["valid"]) if best else run["curve"][-1]
        assert run["valid"] == kept["valid"], name
        assert 0 < run["valid"] < 4, name
        # Without a mask a model copies the next character, and is lost where it cannot.
        if run_of(run).reads_ahead:
            assert run["valid"] < run["valid_under_mask"], name
        else:
            assert run["valid"] > 1, name
            assert "valid_under_mask" not in run, name


def test_only_runs_of_the_chosen_settings_ever_saw_the_test_split(runs, corpus):
    highest, scored = ablate.bigram_nats(corpus), set()
    for variant in VARIANTS:
        scored |= {run["path"].stem for run in measure.variant_runs(variant, highest)[0]}
    lines = contest.wanted(contest.read_valid())
    scored |= {line.run.name for line in lines if line.test}
    for name, run in runs.items():
        assert (is_reported(run) or name in scored) == (run["test"] is not None), name


def test_the_mean_loss_of_the_blocks_is_that_of_the_test_split(runs):
    for name, run in runs.items():
        if "test_blocks" not in run:
            continue
        sizes = [500] * 120 + [394]
        total = sum(n * nats for n, nats in zip(sizes, run["test_blocks"], strict=True))
        assert total / 60_394 == pytest.approx(run["test"], rel=1e-9), name


def test_the_table_of_variants_is_what_its_producer_makes_of_the_committed_runs(corpus):
    made, kept = leaves(measure.ablations(corpus)), leaves(read_json(DATA / "ablations.json"))
    assert made.keys() == kept.keys()
    for name, value in kept.items():
        expected = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
        assert made[name] == expected, name


@pytest.mark.parametrize(
    ("scores", "rate"),
    [
        ({5e-3: 2.4}, 5e-3),
        ({5e-3: 2.6, 1.5e-3: 1.9, 5e-4: 2.0}, 1.5e-3),
        ({5e-3: 3.3, 1.5e-3: 3.2, 5e-4: 1.8}, 5e-4),
    ],
    ids=["it trains", "the middle one", "the smallest one"],
)
def test_a_smaller_rate_is_tried_only_where_the_mini_gpts_ends_above_the_bigram(scores, rate):
    tried = []

    def valid(rate):
        tried.append(rate)
        return scores[rate]

    assert ablate.choose_rate(valid, 2.5) == rate
    assert set(tried) == set(scores)


# The producers


def test_the_table_goes_between_its_marks_and_the_rest_of_the_page_stays():
    row = {"name": "A", "parameters": 1_234, "steps": 3_000, "batch": 64, "seeds": 2}
    row |= {"nats": 1.5, "perplexity": math.exp(1.5), "bits": 1.5 / math.log(2)}
    row |= {"lowest": 1.4, "highest": 1.6}
    counted = row | {"name": "B", "parameters": None, "steps": None, "seeds": None}
    page = "before\n<!-- results: a mark -->\nold\n<!-- end of results -->\nafter\n"
    once = measure.with_results(page, {"a": row, "b": counted})
    assert once.startswith("before\n<!-- results: a mark -->\n| Model")
    assert once.endswith("|\n<!-- end of results -->\nafter\n")
    assert "| A | 1,234 | 3,000 × 64 | 2 | 1.5000 (1.4000 to 1.6000) | 4.48 | 2.16 |" in once
    assert "| B | – | counts | – | 1.5000 | 4.48 | 2.16 |" in once
    assert "old" not in once
    assert measure.with_results(once, {"a": row, "b": counted}) == once


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("gpt lab3", "a row of the results is one of lstm lab3"),
        ("gpt lab3 --learning-rate 1 --dropout 0", "lab3 is a training of the LSTM"),
        ("lstm full --dropout 1.5", "dropout has to be at least 0 and less than 1, not 1.5"),
        ("lstm full --variant rotary", "variant rotary is one of the mini-GPT"),
        ("gpt full --variant pyramid", "variant is 'pyramid', not one of no-mask"),
        ("gpt huge", "invalid choice: 'huge'"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(command, complaint, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["train.py", *command.split()])
    with pytest.raises(SystemExit):
        train.arguments()
    assert complaint in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_is_written_with_its_weights_and_never_done_twice(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("train.py", "score.py", "tinyshakespeare.txt"):
        shutil.copy(DATA / name, tmp_path / "data")
    shutil.copytree(Path(minigpt.__path__[0]), tmp_path / "src" / "minigpt")
    arguments = ["lstm", "quick", "--steps", "1", "--seed", "3", "--threads", "1"]
    command = [sys.executable, "data/train.py", *arguments]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    first = subprocess.run(command, check=False, timeout=300, **options)
    assert first.returncode == 0, first.stderr
    (path,) = (tmp_path / "data" / "runs").glob("*.json")
    written = path.read_bytes()
    run = json.loads(written)
    assert (run["model"], run["size"], run["seed"]) == ("lstm", "quick", 3)
    assert (run["budget"]["steps"], run["budget"]["batch_size"]) == (1, 16)
    assert run["test"] is None
    assert run["valid"] == pytest.approx(math.log(65), abs=0.2)
    model = load_model(tmp_path / "data" / "runs" / "weights" / f"{path.stem}.safetensors")
    assert run["parameters"] == sum(p.numel() for p in model.parameters())
    assert not list((tmp_path / "data" / "runs" / "unfinished").iterdir())
    again = subprocess.run(command, check=False, timeout=300, **options)
    assert again.returncode == 0, again.stderr
    assert "is there already" in again.stdout
    assert path.read_bytes() == written


def test_a_model_without_a_mask_is_scored_at_the_end_of_its_texts_and_of_its_windows():
    corpus = small_corpus()
    V = len(corpus.vocabulary)
    for mask in (causal_mask, everything_allowed):
        model = random_model(vocab_size=V, T_max=100, mask=mask)
        scores = score.writing_scores(model, corpus)
        reading = gpt_nats(model, corpus.ids, *corpus.bounds["test"])
        honest = mask is causal_mask
        assert (scores["test_writing"] == pytest.approx(reading.mean().item())) == honest
        ends = reading[[*range(49, 300, 50)]]  # the last position of a window reads nothing ahead
        assert scores["test_writing_full"] == pytest.approx(ends.mean().item())
