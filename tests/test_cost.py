"""What a training step costs: the formulas against real models, and what was measured of them."""

import bench_scaling
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from minigpt import cost
from minigpt.artifacts import DATA, read_json
from minigpt.attention import fused_attention
from minigpt.figures.training_cost import SIZES, along, model_of
from minigpt.model import Config, MiniGPT
from minigpt.training import training_step

# No two letters share a value, so that none can stand in for another.
SMALL = Config(vocab_size=11, d=48, n_h=6, n_l=3, T_max=40, dropout=0.0)
MODELS = {
    "the mini-GPT": (Config(dropout=0.0), 2, 128),
    "a small model": (SMALL, 5, 40),
    "a text shorter than the model reads": (SMALL, 4, 23),
    "one block, one text": (Config(vocab_size=7, d=20, n_h=2, n_l=1, T_max=64, dropout=0.0), 1, 64),
}
every_model = pytest.mark.parametrize(("config", "B", "T"), MODELS.values(), ids=MODELS)
RECORDED = sorted(DATA.glob("scaling*.json"))
every_recorded = pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)


def step_of(config: Config, B: int, T: int):
    """Make a model, its optimizer and a batch."""
    model = MiniGPT(config)
    x, y = torch.randint(config.vocab_size, (2, B, T))
    return model, torch.optim.AdamW(model.parameters()), x, y


@every_model
def test_the_parameters_of_a_model_are_those_of_the_formula(config, B, T):
    assert cost.parameters(config) == sum(p.numel() for p in MiniGPT(config).parameters())


def test_a_post_norm_model_has_no_last_normalization_to_count():
    config = Config(vocab_size=11, d=48, n_h=6, n_l=3, T_max=40, norm="post")
    assert cost.parameters(config) == sum(p.numel() for p in MiniGPT(config).parameters())


@pytest.mark.parametrize("positions", ["rotary", "sinusoidal", "none"])
def test_a_model_without_a_learned_table_is_not_counted_wrongly(positions):
    with pytest.raises(ValueError, match=f"not '{positions}' ones"):
        cost.parameters(Config(positions=positions))


@every_model
def test_torch_counts_the_operations_of_the_formula(config, B, T):
    model, optimizer, x, y = step_of(config, B, T)
    with FlopCounterMode(display=False) as counter:
        training_step(model, optimizer, x, y)
    assert cost.flops_per_step(config, B, T) == counter.get_total_flops()


@every_model
def test_parameters_gradients_and_means_take_sixteen_bytes_a_parameter(config, B, T):
    model, optimizer, x, y = step_of(config, B, T)
    training_step(model, optimizer, x, y)
    assert cost.state_bytes(config) == bench_scaling.state_bytes(model, optimizer)


@every_model
def test_what_the_formula_leaves_out_are_masks_and_statistics_and_indices(config, B, T):
    model, _, x, y = step_of(config, B, T)
    left_out = bench_scaling.saved_bytes(model, x, y) - cost.activation_bytes(config, B, T)
    masks = config.n_l * T * T  # a byte for each yes or no
    statistics = 4 * (2 * config.n_l + 1) * 2 * B * T  # mean and variance, float32
    indices = 8 * (2 * B * T + T)  # tokens, targets and positions
    assert left_out == masks + statistics + indices + 4  # the loss divides by a number of targets


def test_an_attention_that_stores_no_weights_keeps_less():
    torch.manual_seed(0)
    model, _, x, y = step_of(SMALL, 5, 40)
    fused = MiniGPT(SMALL, attention=fused_attention)
    saved = bench_scaling.saved_bytes(model, x, y) - bench_scaling.saved_bytes(fused, x, y)
    of_the_weights = 4 * 5 * SMALL.n_l * SMALL.n_h * 40**2
    assert saved > 0.8 * of_the_weights


# What data/bench_scaling.py wrote


@every_recorded
def test_every_size_was_measured_once_and_the_file_says_where(path):
    measured = read_json(path)
    measured_sizes = [{name: point[name] for name in SIZES} for point in measured["points"]]
    assert measured_sizes == bench_scaling.sizes()
    assert measured["default"] == bench_scaling.DEFAULT
    assert measured["processor"]
    assert measured["threads"] >= 1
    assert measured["load_at_start"] >= 0
    assert ("gpu" in measured) == (path.name != "scaling.json")


@every_recorded
def test_what_was_counted_is_what_the_formulas_say(path):
    for point in read_json(path)["points"]:
        model = model_of(point)
        assert point["parameters"] == cost.parameters(model)
        assert point["flop"] == cost.flops_per_step(model, point["B"], point["T"])
        assert point["state_bytes"] == cost.state_bytes(model)
        kept = cost.activation_bytes(model, point["B"], point["T"])
        assert 1 <= point["saved_bytes"] / kept < 1.025
        low, high = point["quartiles"]
        assert 0 < low <= point["seconds"] <= high


@every_recorded
@pytest.mark.parametrize("name", SIZES)
def test_a_larger_size_costs_more_operations_and_memory(path, name):
    points = along(read_json(path), name)
    assert len(points) == len(bench_scaling.VARIED[name]) > 4
    for key in (name, "flop", "saved_bytes"):
        values = [point[key] for point in points]
        assert values == sorted(set(values))
    state = [point["state_bytes"] for point in points]
    assert len(set(state)) == (1 if name == "B" else len(points))
