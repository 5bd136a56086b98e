"""The training loop: what it learns, what decides its result, and what survives an interruption."""

import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from support import random_model, random_text, same_bits, small_corpus
from torch import nn

from minigpt.corpus import random_batch
from minigpt.evaluation import evaluate
from minigpt.lstm import LSTM
from minigpt.model import Config, MiniGPT
from minigpt.training import Budget, budget_for, train_lm, training_step

SHORT = Budget(steps=12, batch_size=4, T=16, learning_rate=1e-2, warm_up=3, validate_every=4)
V = len(small_corpus().vocabulary)


def untrained(kind: str, **options) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if kind == "gpt":
            sizes = {"vocab_size": V, "d": 16, "n_h": 2, "n_l": 1, "T_max": 16, "dropout": 0.2}
            return MiniGPT(Config(**sizes | options))
        return LSTM(V, 8, 16, **options)


def trained_for(kind: str, budget: Budget = SHORT, **options):
    """Train from the start; give the model and its history."""
    model = untrained(kind)
    return model, train_lm(model, small_corpus(), budget, progress=False, **options)


def at_reading(number: int, model: nn.Module, action) -> nn.Module:
    """Do something in the middle of the model's reading of this number, counted from 1."""
    readings = []

    def hook(module, arguments):
        readings.append(None)
        if len(readings) == number:
            action()

    model.W_o.register_forward_pre_hook(hook)
    return model


def press_ctrl_c() -> None:
    raise KeyboardInterrupt


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
@pytest.mark.parametrize(
    "recipe", [{}, {"optimizer": "adam", "schedule": "constant"}], ids=["adamw", "adam"]
)
def test_a_small_model_learns_a_small_text(kind, recipe):
    budget = replace(SHORT, steps=150, batch_size=16, warm_up=10, validate_every=150, **recipe)
    start = evaluate(untrained(kind), small_corpus(), "test").nats
    assert start == pytest.approx(math.log(V), abs=0.2)
    model, history = trained_for(kind, budget)
    assert evaluate(model, small_corpus(), "test").nats < start / 2
    assert history.curve[-1]["valid"] < start / 2


def test_a_target_is_the_next_character_and_not_the_one_that_was_read():
    # Every character follows every character as often: nothing can be learned but by cheating.
    model = untrained("gpt", dropout=0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    ids, generator = random_text(4_000, vocab_size=V), torch.Generator().manual_seed(0)
    for _ in range(100):
        loss = training_step(model, optimizer, *random_batch(ids, 16, 16, generator))
    assert loss.item() > math.log(V) - 0.2


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_the_curve_tells_the_loss_since_the_last_validation_and_the_validation_itself(kind):
    model, history = trained_for(kind, replace(SHORT, steps=10))
    assert history.steps == 10
    assert history.seconds > 0
    assert [point["step"] for point in history.curve] == [4, 8, 10]
    assert history.curve[-1]["valid"] == evaluate(model, small_corpus(), "valid").nats
    _, each = trained_for(kind, replace(SHORT, steps=10, validate_every=1))
    losses = [point["train"] for point in each.curve]
    means = [sum(losses[a:b]) / (b - a) for a, b in ((0, 4), (4, 8), (8, 10))]
    assert [point["train"] for point in history.curve] == pytest.approx(means, abs=1e-5)
    assert losses[0] == pytest.approx(math.log(V), abs=0.2)


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_how_often_it_is_validated_does_not_change_what_is_learned(kind):
    often, _ = trained_for(kind, replace(SHORT, validate_every=1))
    seldom, _ = trained_for(kind, replace(SHORT, validate_every=100))
    assert same_bits(often, seldom)


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_the_seed_decides_the_result_and_the_global_random_state_has_no_part(kind):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, _ = trained_for(kind, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    again, _ = trained_for(kind, seed=3)
    other, _ = trained_for(kind, seed=4)
    assert same_bits(first, again)
    assert not same_bits(first, other)


def test_the_seed_decides_dropout_as_well_as_the_batches():
    corpus = small_corpus()
    corpus.ids[:] = 0  # every batch is the same: only dropout is left to differ
    models = [untrained("gpt") for _ in range(3)]
    for model, seed in zip(models, (0, 0, 1), strict=True):
        train_lm(model, corpus, SHORT, seed=seed, progress=False)
    assert same_bits(models[0], models[1])
    assert not same_bits(models[0], models[2])


def test_a_model_that_comes_in_evaluation_mode_is_trained_with_dropout_all_the_same():
    model = untrained("gpt").eval()
    train_lm(model, small_corpus(), SHORT, progress=False)
    assert same_bits(model, trained_for("gpt")[0])


def test_a_trained_model_is_left_ready_to_be_used_and_its_weights_in_full_precision():
    model, _ = trained_for("gpt", precision=torch.bfloat16)
    assert not model.training
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    plain, _ = trained_for("gpt")
    assert not same_bits(model, plain)


# What survives an interruption


def run_and_be_killed(kind: str, checkpoint: Path, readings: list[int]) -> list[bool]:
    """Start a training once for each number and have it kill itself in that reading.

    Returns:
        For each start, whether there was a checkpoint when it had ended.
    """
    command = [sys.executable, __file__, kind, str(checkpoint), *map(str, readings)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    statuses = [line.split() for line in ended.stdout.splitlines()]
    assert [int(signal_) for signal_, _ in statuses] == [signal.SIGKILL] * len(readings)
    return [kept == "True" for _, kept in statuses]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_a_training_killed_again_and_again_ends_as_if_it_had_never_been(kind, tmp_path):
    expected, history = trained_for(kind)
    checkpoint = tmp_path / "unfinished.safetensors"
    # A validation of 300 characters is two readings of a GPT and one of an LSTM.
    validation = {"gpt": 2, "lstm": 1}[kind]
    kills = [
        3,  # in step 3, before anything was kept
        4 + validation + 1,  # in step 5, just after step 4 was kept
        3,  # from step 4 on: in step 7
        4 + validation,  # in the validation after step 8
        4 + validation + 4,  # in step 12, the last one
    ]
    assert run_and_be_killed(kind, checkpoint, kills) == [False, True, True, True, True]
    model, resumed = trained_for(kind, checkpoint=checkpoint)
    assert same_bits(model, expected)
    assert resumed.curve == history.curve
    assert resumed.steps == history.steps == 12


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_a_training_stopped_by_hand_goes_on_from_its_checkpoint_to_the_same_end(kind, tmp_path):
    expected, history = trained_for(kind)
    checkpoint = tmp_path / "unfinished.safetensors"
    stopped = at_reading(9, untrained(kind), press_ctrl_c)
    first = train_lm(stopped, small_corpus(), SHORT, checkpoint=checkpoint, progress=False)
    assert first.steps < 12
    # The global random state differs from the one the training was stopped in.
    torch.manual_seed(9)
    model, resumed = trained_for(kind, checkpoint=checkpoint)
    assert same_bits(model, expected)
    assert resumed.curve == history.curve
    assert resumed.curve[: len(first.curve)] == first.curve


def test_a_finished_training_is_read_back_and_not_done_again(tmp_path):
    checkpoint = tmp_path / "unfinished.safetensors"
    expected, history = trained_for("gpt", checkpoint=checkpoint)
    model = at_reading(1, untrained("gpt"), press_ctrl_c)
    again = train_lm(model, small_corpus(), SHORT, checkpoint=checkpoint, progress=False)
    assert same_bits(model, expected)
    assert again == history


def test_a_checkpoint_changes_nothing_in_a_training_that_is_not_stopped(tmp_path):
    with_checkpoint, _ = trained_for("gpt", checkpoint=tmp_path / "unfinished.safetensors")
    assert same_bits(with_checkpoint, trained_for("gpt")[0])


# The rate rises until what was learned is lost again.
OVERSHOOTING = replace(SHORT, steps=40, learning_rate=100.0, warm_up=100, keep="best")


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_the_weights_of_the_best_validation_are_kept_where_the_budget_says_so(kind):
    model, history = trained_for(kind, OVERSHOOTING)
    best = min(history.curve, key=lambda point: point["valid"])
    assert best["step"] < history.steps == 40
    stopped, _ = trained_for(kind, replace(OVERSHOOTING, steps=best["step"], keep="last"))
    assert same_bits(model, stopped)
    last, _ = trained_for(kind, replace(OVERSHOOTING, keep="last"))
    assert not same_bits(model, last)


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_the_best_weights_survive_an_interruption(kind, tmp_path):
    expected, history = trained_for(kind, OVERSHOOTING)
    best = min(history.curve, key=lambda point: point["valid"])
    step = best["step"] + 6
    reading = step + {"gpt": 2, "lstm": 1}[kind] * ((step - 1) // 4)
    checkpoint = tmp_path / "unfinished.safetensors"
    stopped = at_reading(reading, untrained(kind), press_ctrl_c)
    first = train_lm(stopped, small_corpus(), OVERSHOOTING, checkpoint=checkpoint, progress=False)
    assert best["step"] < first.steps < 40
    model, resumed = trained_for(kind, OVERSHOOTING, checkpoint=checkpoint)
    assert same_bits(model, expected)
    assert resumed.curve == history.curve


def test_a_checkpoint_of_an_lstm_with_another_dropout_is_refused(tmp_path):
    path = tmp_path / "unfinished.safetensors"
    trained_for("lstm", checkpoint=path)
    with pytest.raises(ValueError, match="another training"):
        train_lm(
            untrained("lstm", dropout=0.1), small_corpus(), SHORT, checkpoint=path, progress=False
        )


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    """What a GPT's training leaves when it is stopped after its first validation."""
    path = tmp_path / "unfinished.safetensors"
    model = at_reading(8, untrained("gpt"), press_ctrl_c)
    train_lm(model, small_corpus(), SHORT, checkpoint=path, progress=False)
    return path


@pytest.mark.parametrize(
    ("budget", "options"),
    [
        (replace(SHORT, steps=13), {}),
        (replace(SHORT, learning_rate=2e-2), {}),
        (replace(SHORT, optimizer="adam"), {}),
        (SHORT, {"seed": 1}),
        (SHORT, {"precision": torch.bfloat16}),
    ],
    ids=["steps", "learning rate", "optimizer", "seed", "precision"],
)
def test_a_checkpoint_of_another_training_is_refused_and_left_alone(budget, options, checkpoint):
    kept, model = checkpoint.read_bytes(), untrained("gpt")
    with pytest.raises(ValueError, match="another training"):
        train_lm(model, small_corpus(), budget, checkpoint=checkpoint, progress=False, **options)
    assert checkpoint.read_bytes() == kept
    assert same_bits(model, untrained("gpt"))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("gpt", {"d": 8}),
        ("gpt", {"norm": "post"}),
        ("gpt", {"n_h": 4}),
        ("gpt", {"dropout": 0.0}),
        ("lstm", {}),
    ],
    ids=["width", "norm", "heads", "dropout", "lstm"],
)
def test_a_checkpoint_of_another_model_is_refused_and_left_alone(kind, options, checkpoint):
    kept, model = checkpoint.read_bytes(), untrained(kind, **options)
    with pytest.raises(ValueError, match="another training"):
        train_lm(model, small_corpus(), SHORT, checkpoint=checkpoint, progress=False)
    assert checkpoint.read_bytes() == kept
    assert same_bits(model, untrained(kind, **options))


def test_a_damaged_checkpoint_is_refused_and_the_model_left_as_it_was(checkpoint):
    content = bytearray(checkpoint.read_bytes())
    content[len(content) // 2] ^= 1
    checkpoint.write_bytes(content)
    model = untrained("gpt")
    with pytest.raises(ValueError, match="not the ones that were written"):
        train_lm(model, small_corpus(), SHORT, checkpoint=checkpoint, progress=False)
    assert same_bits(model, untrained("gpt"))


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_ctrl_c_keeps_what_was_learned_so_far_and_says_so(kind, capsys):
    budget = replace(SHORT, schedule="constant", validate_every=100)
    model = at_reading(8, untrained(kind), press_ctrl_c)
    history = train_lm(model, small_corpus(), budget, progress=False)
    assert history.steps == 7
    assert "after 7 of 12 steps" in capsys.readouterr().out
    assert not model.training
    assert same_bits(model, trained_for(kind, replace(budget, steps=7))[0])


def test_a_loss_that_is_no_number_ends_the_training_and_is_never_kept(tmp_path):
    budget = replace(SHORT, learning_rate=1e30, schedule="constant")
    checkpoint = tmp_path / "unfinished.safetensors"
    with pytest.raises(FloatingPointError, match=r"step 4: a lower learning rate"):
        trained_for("gpt", budget, checkpoint=checkpoint)
    assert not checkpoint.exists()


# One step


def test_the_learning_rate_rises_from_above_zero_to_its_peak_and_falls_to_its_last():
    budget = Budget(steps=1_000, learning_rate=2e-3, warm_up=50, last_rate=0.1)
    rates = [budget.rate(step) for step in range(1_000)]
    peak = rates.index(max(rates))
    assert rates[0] > 0
    assert peak in (49, 50)
    assert max(rates) == pytest.approx(2e-3)
    assert all(a < b for a, b in pairwise(rates[:50]))
    assert all(a > b for a, b in pairwise(rates[50:]))
    assert rates[-1] == pytest.approx(2e-4, rel=1e-3)
    halfway = (rates[50] + rates[-1]) / 2
    assert rates[525] == pytest.approx(halfway, rel=0.01)


@pytest.mark.parametrize("warm_up", [0, 10, 20])
def test_a_warm_up_of_any_length_fits(warm_up):
    rates = [Budget(steps=10, warm_up=warm_up).rate(step) for step in range(10)]
    assert all(0 < rate <= Budget().learning_rate for rate in rates)


def test_a_constant_learning_rate_is_constant():
    budget = budget_for("lstm", "lab3")
    assert {budget.rate(step) for step in range(budget.steps)} == {budget.learning_rate}


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_the_first_step_moves_each_weight_by_the_first_learning_rate_at_most(optimizer):
    # Adam's first step is plus or minus the rate, whatever the gradient; so it shows the rate used.
    budget = replace(SHORT, steps=1, optimizer=optimizer, weight_decay=0.0)
    start, (model, _) = untrained("gpt"), trained_for("gpt", budget)
    pairs = zip(start.parameters(), model.parameters(), strict=True)
    moved = torch.cat([(a - b).detach().abs().flatten() for a, b in pairs])
    assert moved.max().item() == pytest.approx(SHORT.learning_rate / 3, rel=1e-3)


def test_weight_decay_shrinks_matrices_and_leaves_biases_and_gains_alone():
    # At this decay one step takes a tenth of a matrix away, and would take as much of a gain.
    budget = replace(SHORT, steps=1, schedule="constant", learning_rate=1e-4, weight_decay=1e3)
    start, (model, _) = untrained("gpt"), trained_for("gpt", budget)
    for before, after in zip(start.parameters(), model.parameters(), strict=True):
        kept = 0.9 if before.ndim > 1 else 1.0
        assert (after - kept * before).abs().max() < 1.1e-4


def test_adam_decays_nothing():
    budget = replace(SHORT, steps=3, optimizer="adam", weight_decay=10.0)
    none = replace(budget, weight_decay=0.0)
    assert same_bits(trained_for("gpt", budget)[0], trained_for("gpt", none)[0])


@pytest.mark.parametrize("clip", [1e-3, 1e3])
def test_a_gradient_longer_than_the_clip_is_cut_to_it_and_a_shorter_one_is_not(clip, generator):
    model, optimizer_of = untrained("gpt", dropout=0.0), torch.optim.SGD
    x, y = random_batch(small_corpus()["train"], 4, 16, generator)
    F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
    whole = torch.cat([p.grad.flatten() for p in model.parameters()])
    model.zero_grad()
    training_step(model, optimizer_of(model.parameters(), lr=0.0), x, y, clip=clip)
    cut = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert cut.norm().item() == pytest.approx(min(clip, whole.norm().item()), rel=1e-3)
    assert F.cosine_similarity(cut, whole, dim=0).item() == pytest.approx(1.0, abs=1e-5)


def test_a_step_returns_the_loss_before_it_and_forgets_the_gradient_of_the_last(generator):
    model = untrained("gpt", dropout=0.0)
    x, y = random_batch(small_corpus()["train"], 4, 16, generator)
    before = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    gradients = []
    for _ in range(2):
        loss = training_step(model, optimizer, x, y, clip=1e9)
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
        assert loss.item() == pytest.approx(before)
        assert not loss.requires_grad
    torch.testing.assert_close(gradients[0], gradients[1])


def test_weights_that_are_frozen_are_not_trained():
    model = random_model(positions="sinusoidal", vocab_size=V, T_max=16)
    table = model.pos_emb.weight.clone()
    train_lm(model, small_corpus(), SHORT, progress=False)
    assert torch.equal(model.pos_emb.weight, table)


# Budgets


def test_both_models_are_trained_alike_at_the_full_and_the_quick_budget():
    for size, steps, batch_size in (("full", 3_000, 64), ("quick", 1_500, 16)):
        gpt, lstm = budget_for("gpt", size), budget_for("lstm", size)
        assert (gpt.steps, gpt.batch_size, gpt.T) == (steps, batch_size, 128)
        assert (gpt.optimizer, gpt.schedule) == ("adamw", "cosine")
        assert replace(lstm, learning_rate=gpt.learning_rate) == gpt


def test_the_run_of_lab_3_is_adam_at_one_rate():
    budget = budget_for("lstm", "lab3")
    assert (budget.steps, budget.batch_size) == (2_000, 64)
    assert (budget.optimizer, budget.schedule) == ("adam", "constant")


@pytest.mark.parametrize(("model", "size"), [("gpt", "lab3"), ("gpt", "fast"), ("rnn", "full")])
def test_a_budget_that_no_row_has_is_refused(model, size):
    with pytest.raises(ValueError, match=f"not {model} {size}"):
        budget_for(model, size)


if __name__ == "__main__":
    kind, path, *readings = sys.argv[1:]
    torch.set_num_threads(1)  # as in the process it is compared with
    for reading in map(int, readings):
        child = os.fork()  # a process that has trained nothing yet may be doubled safely
        if child == 0:
            model = at_reading(reading, untrained(kind), kill_this_process)
            train_lm(model, small_corpus(), SHORT, checkpoint=Path(path), progress=False)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.WTERMSIG(status), Path(path).exists(), flush=True)
