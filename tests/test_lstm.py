"""The recurrent baseline."""

import pytest
import torch
from support import random_text, randomize

from minigpt.lstm import LSTM


def small_lstm() -> LSTM:
    return randomize(LSTM(11, 6, 8)).eval()


def test_the_lstm_of_the_course_has_350593_parameters():
    assert sum(p.numel() for p in LSTM().parameters()) == 350_593


def test_a_state_carried_over_pieces_gives_the_logits_of_one_long_reading():
    model, idx = small_lstm(), random_text(3, 20)
    state, pieces = None, []
    for piece in idx.split([1, 7, 10, 2], dim=1):
        logits, state = model.read(piece, state)
        pieces.append(logits)
    assert model(idx).shape == (3, 20, 11)
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(idx))


def test_a_later_character_never_moves_an_earlier_logit():
    model, idx = small_lstm(), random_text(1, 20)
    changed = idx.clone()
    changed[:, 12] = (changed[:, 12] + 1) % 11
    moved = (model(idx) - model(changed)).abs().amax(dim=(0, 2))  # (T,)
    assert (moved[:12] == 0).all()
    assert (moved[12:] > 0).all()


@pytest.mark.parametrize("forget_bias", [1.0, -2.0])
def test_the_forget_gate_starts_from_the_bias_it_was_given_and_no_other_gate_does(forget_bias):
    def gates(**options):
        torch.manual_seed(0)
        lstm = LSTM(11, 6, 8, **options).lstm
        # One row a gate: input, forget, cell, output.
        return (lstm.bias_ih_l0 + lstm.bias_hh_l0).detach().view(4, 8)

    plain, biased = gates(), gates(forget_bias=forget_bias)
    assert torch.equal(biased[1], torch.full((8,), forget_bias))
    assert torch.equal(biased[[0, 2, 3]], plain[[0, 2, 3]])


def test_a_cell_without_input_keeps_the_share_that_the_forget_bias_says():
    model = LSTM(11, 6, 8, forget_bias=1.0)
    torch.nn.init.zeros_(model.lstm.weight_ih_l0)
    torch.nn.init.zeros_(model.lstm.weight_hh_l0)
    h, c = torch.zeros(1, 1, 8), torch.full((1, 1, 8), 1e6)
    _, (_, after) = model.read(random_text(1, 1), (h, c))
    torch.testing.assert_close(after / c, torch.full_like(c, 1 / (1 + 2.718281828**-1)))


@pytest.mark.parametrize("name", ["vocab_size", "d_emb", "d_h"])
@pytest.mark.parametrize("value", [0, -1, 64.0, True, None])
def test_a_size_that_makes_no_model_is_named(name, value):
    with pytest.raises(ValueError, match=rf"{name}.*{value}"):
        LSTM(**{name: value})
