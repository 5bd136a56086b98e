"""Learned, sinusoidal and rotary positions."""

import math

import pytest
import torch
from torch import nn

from minigpt.positions import RotaryEmbedding, embed_with_positions, sinusoidal_table


@pytest.mark.parametrize(("B", "T"), [(2, 5), (4, 4), (5, 2), (1, 1)])
def test_each_token_gets_the_vector_of_its_own_position(B, T, generator):
    tok_emb, pos_emb = nn.Embedding(7, 4), nn.Embedding(6, 4)
    idx = torch.randint(7, (B, T), generator=generator)
    H = embed_with_positions(idx, tok_emb, pos_emb)
    assert H.shape == (B, T, 4)
    for b in range(B):
        for t in range(T):
            assert torch.equal(H[b, t], tok_emb.weight[idx[b, t]] + pos_emb.weight[t])


def test_sinusoids_stay_between_minus_one_and_one_and_no_two_positions_share_theirs():
    table = sinusoidal_table(1_000, 32)
    assert table.shape == (1_000, 32)
    assert table.abs().max() <= 1
    assert len(table.unique(dim=0)) == 1_000


@pytest.mark.parametrize("delta", [1, 5, 40])
def test_moving_on_by_delta_is_the_same_rotation_from_every_position(delta):
    table = sinusoidal_table(200, 16)
    sin, cos = table[:, 0::2], table[:, 1::2]  # (T, d / 2)
    # Row delta is row 0 = (0, 1, 0, 1, ...) rotated by delta: it holds the rotation's own angle.
    s, c = sin[delta], cos[delta]
    here, there = slice(None, -delta), slice(delta, None)
    torch.testing.assert_close(sin[there], sin[here] * c + cos[here] * s, atol=1e-6, rtol=0)
    torch.testing.assert_close(cos[there], cos[here] * c - sin[here] * s, atol=1e-6, rtol=0)


def test_the_pairs_turn_slower_and_slower_from_one_radian_a_position_by_a_constant_factor():
    table = sinusoidal_table(2, 128).double()
    omega = torch.atan2(table[1, 0::2], table[1, 1::2])  # (d / 2,)
    assert omega[0].item() == pytest.approx(1.0)
    ratios = omega[1:] / omega[:-1]
    torch.testing.assert_close(ratios, torch.full_like(ratios, 10_000 ** (-2 / 128)))


@pytest.mark.parametrize("make", [sinusoidal_table, RotaryEmbedding])
def test_an_odd_width_leaves_a_sine_without_its_cosine_and_is_refused(make):
    with pytest.raises(ValueError, match="width has to be even, not 7"):
        make(5, 7)


def test_a_rotation_keeps_every_length(generator):
    x = torch.randn(2, 3, 50, 8, generator=generator)
    rotated = RotaryEmbedding(50, 8)(x)
    torch.testing.assert_close(rotated.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rotated[..., 0, :], x[..., 0, :])
    assert (rotated[..., 1:, :] != x[..., 1:, :]).any(dim=-1).all()


def test_rotated_queries_and_keys_meet_by_their_offset_alone(generator):
    q, k = torch.randn(2, 8, generator=generator)
    rotate, T = RotaryEmbedding(60, 8), 60
    scores = rotate(q.expand(T, 8)) @ rotate(k.expand(T, 8)).T  # (T, T): query at t, key at i
    by_offset = [scores.diagonal(-offset) for offset in range(50)]
    for diagonal in by_offset:
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4, rtol=0)
    assert torch.stack([diagonal[0] for diagonal in by_offset]).std() > 0.1


def test_rotation_is_multiplication_by_a_complex_number_of_length_one(generator):
    x = torch.randn(3, 20, 6, generator=generator)
    omega = torch.tensor([10_000 ** (-2 * j / 6) for j in range(3)])
    turns = torch.polar(torch.ones(20, 3), torch.arange(20)[:, None] * omega)  # (T, d_k / 2)
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (3, 2))) * turns)
    torch.testing.assert_close(RotaryEmbedding(20, 6)(x), expected.flatten(-2))


def test_a_piece_of_a_text_is_rotated_from_where_it_stands(generator):
    x = torch.randn(2, 12, 8, generator=generator)
    rotate = RotaryEmbedding(12, 8)
    assert torch.equal(rotate(x[:, 5:9], start=5), rotate(x)[:, 5:9])


def test_the_first_pair_turns_by_one_radian_a_position():
    rotate = RotaryEmbedding(4, 2)
    x = torch.tensor([[1.0, 0.0]])
    for t in range(4):
        expected = torch.tensor([[math.cos(t), math.sin(t)]])
        torch.testing.assert_close(rotate(x, start=t), expected)
