"""What a run is: its settings, its name, its first weights, and which runs are reported."""

import json
from dataclasses import replace

import pytest
import torch
from support import same_bits

from minigpt.runs import SEEDS, Run, chosen, reported, run_of

RUN = Run("gpt", "quick", 0.005, 0.1)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"model": "rnn"}, "model is 'rnn', not one of gpt, lstm"),
        ({"size": "huge"}, "size is 'huge', not one of full, quick, long, lab3"),
        ({"variant": "pyramid"}, "variant is 'pyramid', not one of no-mask, "),
        ({"precision": "int8"}, "precision is 'int8'"),
        ({"learning_rate": 0.0}, "learning_rate has to be above 0, not 0"),
        ({"learning_rate": float("nan")}, "learning_rate has to be above 0, not nan"),
        ({"dropout": 1.0}, "dropout has to be at least 0 and less than 1, not 1"),
        ({"seed": -1}, "seed and steps are 0 or more, not -1 and 0"),
        ({"model": "lstm", "variant": "rotary"}, "the LSTM has none"),
        ({"size": "lab3"}, "lab3 is a training of the LSTM"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused_in_words(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(RUN, **settings)


def test_every_setting_is_in_the_name():
    others = [
        {"model": "lstm"},
        {"size": "full"},
        {"learning_rate": 0.01},
        {"dropout": 0.2},
        {"seed": 1},
        {"variant": "rotary"},
        {"steps": 9},
        {"precision": "float32"},
    ]
    names = {RUN.name, *(replace(RUN, **other).name for other in others)}
    assert len(names) == len(others) + 1


def test_the_runs_of_other_settings_or_seeds_are_not_among_the_reported(tmp_path):
    record = {"test": 1.5}
    here = [chosen("gpt", "quick", seed) for seed in (2, 0, 7)]
    others = [
        replace(here[0], learning_rate=1.0),
        replace(here[0], steps=7),
        replace(here[0], dropout=0.5),
        replace(here[0], precision="float32"),
        replace(here[0], variant="rotary"),
        replace(here[0], size="full"),
        chosen("lstm", "quick", 0),
    ]
    for run in (*here, *others):
        (tmp_path / run.path.name).write_text(json.dumps(record | {"seed": run.seed}))
    found = reported("gpt", "quick", tmp_path)
    assert [run["seed"] for run in found] == [0, 2]
    assert [run["path"].stem for run in found] == [here[1].name, here[0].name]


@pytest.mark.parametrize("size", ["full", "quick"])
@pytest.mark.parametrize("model", ["gpt", "lstm"])
def test_the_reported_runs_have_the_chosen_settings_and_one_seed_each(model, size):
    found = [run_of(record) for record in reported(model, size)]
    assert len(found) > 1
    assert found == [chosen(model, size, run.seed) for run in found]
    assert [run.seed for run in found] == sorted({run.seed for run in found} & {*SEEDS})


@pytest.mark.parametrize("model", ["gpt", "lstm"])
def test_a_run_starts_from_the_weights_that_its_seed_says(model):
    first, again, other = (Run(model, "full", 0.01, 0.0, seed).untrained() for seed in (0, 0, 1))
    assert same_bits(first, again)
    assert not same_bits(first, other)


@pytest.mark.parametrize("model", ["gpt", "lstm"])
def test_a_run_trains_with_its_dropout(model):
    torch.manual_seed(0)
    idx = torch.randint(65, (1, 20))
    for dropout in (0.0, 0.2):
        network = Run(model, "quick", 0.01, dropout).untrained().train()
        assert torch.equal(network(idx), network(idx)) == (dropout == 0)
        network.eval()
        assert torch.equal(network(idx), network(idx))


def test_only_the_lstm_of_lab_3_starts_with_a_forget_bias_of_one():
    for size, expected in (("lab3", True), ("full", False), ("quick", False)):
        lstm = Run("lstm", size, 0.01, 0.0).untrained().lstm
        forget = (lstm.bias_ih_l0 + lstm.bias_hh_l0)[256:512]
        assert torch.equal(forget, torch.ones(256)) == expected
