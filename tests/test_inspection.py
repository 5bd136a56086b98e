"""Attention maps, what is read off them, and the test for leaks."""

import math

import pytest
import torch
from support import random_model, random_text

from minigpt.attention import causal_mask, fused_attention, scaled_dot_product_attention
from minigpt.inspection import (
    attention_entropy,
    attention_maps,
    mean_attention_distance,
    model_leak_test,
)

NORMS = ["pre", "post"]
POSITIONS = ["learned", "sinusoidal", "rotary"]


@pytest.mark.parametrize("positions", POSITIONS)
def test_maps_are_those_the_attention_function_makes_layer_by_layer(positions):
    made = []

    def recording(Q, K, V, mask=None):
        V_bar, A = scaled_dot_product_attention(Q, K, V, mask)
        made.append(A)
        return V_bar, A

    model = random_model(n_l=3, positions=positions, attention=recording)
    idx = random_text(2, 9)
    model(idx)
    expected = torch.stack(made)  # (n_l, B, n_h, T, T)
    A = attention_maps(model, idx)
    assert A.shape == (3, 2, 4, 9, 9)
    assert torch.equal(A, expected)
    assert len(made) == 6


def test_every_row_of_a_map_sums_to_one_and_reads_nothing_ahead():
    A = attention_maps(random_model(), random_text(2, 9))
    torch.testing.assert_close(A.sum(dim=-1), torch.ones(2, 2, 4, 9))
    assert (A[..., ~causal_mask(9)] == 0).all()


@pytest.mark.parametrize("training", [True, False])
def test_looking_at_maps_changes_nothing_in_the_model(training):
    model, idx = random_model(dropout=0.5), random_text(2, 9)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    expected = attention_maps(model, idx)
    model.train(training)
    assert torch.equal(attention_maps(model, idx), expected)
    assert all(module.training == training for module in model.modules())
    assert all(torch.equal(before[name], t) for name, t in model.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert all(b.attn.attention is scaled_dot_product_attention for b in model.blocks)


def test_maps_follow_the_mask_and_the_embedding_the_model_was_given():
    options = {"mask": lambda T: torch.eye(T) > 0, "embed": lambda idx, tok, pos: tok(idx)}
    A = attention_maps(random_model(**options), random_text(2, 9))
    assert torch.equal(A, torch.eye(9).expand(2, 2, 4, 9, 9))
    free = random_model(mask=lambda T: torch.ones(T, T) > 0, embed=options["embed"], n_l=1)
    A = attention_maps(free, torch.full((1, 9), 3))
    torch.testing.assert_close(A, torch.full((1, 1, 4, 9, 9), 1 / 9))


def test_a_kernel_that_shows_no_weights_is_named():
    with pytest.raises(ValueError, match=r"fused_attention.*no weights"):
        attention_maps(random_model(attention=fused_attention), random_text(2, 9))


def previous(T):
    """All weight on the previous position; the first reads itself."""
    return torch.eye(T).roll(1, dims=0).tril() + torch.eye(T) * (torch.arange(T) == 0)


def uniform(T):
    return causal_mask(T) / torch.arange(1, T + 1)[:, None]


@pytest.mark.parametrize("T", [1, 2, 10])
def test_distances_that_can_be_worked_out_by_hand(T):
    A = torch.stack([torch.eye(T), previous(T), uniform(T)])  # three heads
    distance = mean_attention_distance(A)
    expected = torch.tensor([0.0, (T - 1) / T, (T - 1) / 4])  # the last: the mean of t / 2
    torch.testing.assert_close(distance, expected)


def test_distance_is_kept_apart_by_head_and_averaged_over_texts_and_layers():
    eye, far = torch.eye(10), previous(10)
    A = torch.stack([torch.stack([eye, far, far]), torch.stack([eye, eye, far])])  # (B, n_h, T, T)
    expected = torch.tensor([0.0, 0.45, 0.9])
    torch.testing.assert_close(mean_attention_distance(A), expected)
    torch.testing.assert_close(mean_attention_distance(A[None].repeat(4, 1, 1, 1, 1)), expected)
    torch.testing.assert_close(mean_attention_distance(A[0]), torch.tensor([0.0, 0.9, 0.9]))


def test_entropy_is_zero_for_one_choice_and_log_of_the_number_of_equal_ones():
    entropy = attention_entropy(torch.stack([previous(6), uniform(6)]))
    expected = torch.tensor([0.0, math.log(math.factorial(6)) / 6])
    torch.testing.assert_close(entropy, expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("position", [1, 6, 11])
def test_nothing_leaks_through_a_causal_mask(norm, positions, position):
    model = random_model(norm=norm, positions=positions)
    assert model_leak_test(model, random_text(3, 12), position) == 0.0


def test_nothing_leaks_in_the_trained_model(trained, corpus):
    assert model_leak_test(trained, corpus["test"][None, :128], 64) == 0.0


def everything(T):
    return torch.ones(T, T, dtype=torch.bool)


def one_ahead(T):
    return torch.ones(T, T).tril(1).bool()


def the_last_row_shows_only_itself(T):
    mask = causal_mask(T)
    mask[0, -1] = True
    return mask


@pytest.mark.parametrize("mask", [everything, one_ahead, the_last_row_shows_only_itself])
def test_a_mask_that_lets_a_position_read_ahead_is_caught(mask):
    # The last character is the one that each of these masks shows to an earlier position.
    assert model_leak_test(random_model(mask=mask), random_text(3, 12), 11) > 0.01


def test_a_leak_in_any_text_of_the_batch_or_through_the_embedding_is_caught():
    def reads_the_next(idx, tok_emb, pos_emb):
        H = tok_emb(idx)
        H[1] = H[1].roll(-1, dims=0)
        return H

    model = random_model(embed=reads_the_next)
    assert model_leak_test(model, random_text(3, 12), 6) > 0.01
    assert model_leak_test(model, random_text(3, 12)[:1].repeat(2, 1), 6) > 0.01


@pytest.mark.parametrize("training", [True, False])
def test_the_leak_test_is_not_fooled_by_dropout_and_changes_nothing(training):
    model, idx = random_model(dropout=0.5).train(training), random_text(3, 12)
    text = idx.clone()
    assert model_leak_test(model, idx, 6) == 0.0
    assert torch.equal(idx, text)
    assert all(module.training == training for module in model.modules())


def test_a_character_at_the_end_of_the_vocabulary_can_be_changed_too():
    model = random_model(mask=everything)
    assert model_leak_test(model, torch.full((1, 12), 10), 6) > 0.01


@pytest.mark.parametrize("position", [0, -1, 12, 100])
def test_a_position_with_none_before_it_or_outside_the_text_is_refused(position):
    with pytest.raises(ValueError, match=f"from 1 to 11.*not {position}"):
        model_leak_test(random_model(), random_text(3, 12), position)


def test_looking_at_the_maps_leaves_the_global_random_state_alone():
    model, before = random_model(), torch.get_rng_state()
    attention_maps(model, torch.zeros(1, 4, dtype=torch.long))
    assert torch.equal(torch.get_rng_state(), before)
