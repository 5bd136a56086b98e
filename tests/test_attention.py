"""Scaled dot-product attention, the causal mask and the multi-head layer."""

import pytest
import torch
import torch.nn.functional as F
from support import random_text, randomize
from torch import nn

from minigpt.attention import (
    MultiHeadAttention,
    causal_mask,
    fused_attention,
    scaled_dot_product_attention,
)
from minigpt.model import Config, MiniGPT
from minigpt.positions import RotaryEmbedding


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("masked", [False, True])
def test_it_equals_the_fused_kernel_whatever_the_leading_dimensions(leading, masked, generator):
    Q, K, V = torch.randn(3, *leading, 6, 8, generator=generator)
    mask = causal_mask(6) if masked else None
    V_bar, A = scaled_dot_product_attention(Q, K, V, mask)
    torch.testing.assert_close(V_bar, F.scaled_dot_product_attention(Q, K, V, attn_mask=mask))
    assert A.shape == (*leading, 6, 6)


def test_queries_of_one_text_can_read_another_of_another_length(generator):
    Q = torch.randn(2, 5, 8, generator=generator)
    K, V = torch.randn(2, 2, 9, 8, generator=generator)
    V_bar, A = scaled_dot_product_attention(Q, K, V)
    torch.testing.assert_close(V_bar, F.scaled_dot_product_attention(Q, K, V))
    assert A.shape == (2, 5, 9)


def test_the_fused_twin_averages_under_the_same_mask_and_has_no_weights_to_show(generator):
    Q, K, V = torch.randn(3, 2, 4, 6, 8, generator=generator)
    V_bar, A = fused_attention(Q, K, V, causal_mask(6))
    torch.testing.assert_close(V_bar, scaled_dot_product_attention(Q, K, V, causal_mask(6))[0])
    assert A is None


@pytest.mark.parametrize("masked", [False, True])
def test_every_row_of_weights_sums_to_one(masked, generator):
    Q, K, V = torch.randn(3, 2, 4, 20, 8, generator=generator)
    _, A = scaled_dot_product_attention(Q, K, V, causal_mask(20) if masked else None)
    torch.testing.assert_close(A.sum(dim=-1), torch.ones(2, 4, 20))


def test_weights_are_exactly_zero_where_the_mask_forbids_and_positive_where_it_allows(generator):
    Q, K, V = torch.randn(3, 2, 4, 20, 8, generator=generator)
    mask = causal_mask(20)
    _, A = scaled_dot_product_attention(Q, K, V, mask)
    assert (A[..., ~mask] == 0).all()
    assert (A[..., mask] > 0).all()


@pytest.mark.parametrize("allowed", [1.0, -1e30])
def test_no_score_is_high_or_low_enough_for_a_weight_to_pass_the_mask(allowed):
    Q, V = torch.ones(3, 1), torch.eye(3)
    K = torch.tensor([[allowed], [allowed], [1e30]])  # d_k = 1: scores are K
    V_bar, A = scaled_dot_product_attention(Q, K, V, causal_mask(3))
    expected = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert torch.equal(A[:2], expected)
    assert torch.equal(V_bar[:2], expected)


def test_the_weights_it_returns_are_those_it_averages_with(generator):
    Q, K = torch.randn(2, 6, 6, generator=generator)
    V_bar, A = scaled_dot_product_attention(Q, K, torch.eye(6), causal_mask(6))
    torch.testing.assert_close(V_bar, A)


def test_the_worked_example_of_section_2():
    q = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    K = torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])
    _, A = scaled_dot_product_attention(q, K, K)
    torch.testing.assert_close(A, torch.tensor([[0.881, 0.119]]), atol=5e-4, rtol=0)


def test_the_worked_example_of_section_3_and_what_zeroing_after_the_softmax_leaves():
    Q, K = torch.ones(4, 1), torch.tensor([[1.0], [1.0], [5.0], [3.0]])  # d_k = 1: scores are K
    _, masked = scaled_dot_product_attention(Q, K, K, causal_mask(4))
    assert masked[1].tolist() == [0.5, 0.5, 0.0, 0.0]
    _, unmasked = scaled_dot_product_attention(Q, K, K)
    zeroed = unmasked[1] * causal_mask(4)[1]
    expected = torch.tensor([0.016, 0.016, 0.0, 0.0])
    torch.testing.assert_close(zeroed, expected, atol=5e-4, rtol=0)


@pytest.mark.parametrize("d_k", [16, 64, 256])
def test_scores_of_random_vectors_vary_by_one_at_any_width(d_k, generator):
    Q, K = torch.randn(2, 200, d_k, generator=generator)
    _, A = scaled_dot_product_attention(Q, K, K)
    scores = A.log()  # the scores, less one number per row
    scores -= scores.mean(dim=-1, keepdim=True)
    assert scores.std().item() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("T", [1, 2, 7])
def test_position_t_may_read_itself_and_the_t_positions_before_it(T):
    mask = causal_mask(T)
    assert mask.dtype == torch.bool
    assert mask.shape == (T, T)
    for t in range(T):
        assert mask[t].tolist() == [True] * (t + 1) + [False] * (T - t - 1)


@pytest.mark.parametrize("n_h", [4, 16])
def test_more_heads_are_narrower_and_cost_no_weight(n_h, generator):
    widths = []

    def recording(Q, K, V, mask=None):
        widths.append(Q.size(-1))
        return scaled_dot_product_attention(Q, K, V, mask)

    layer = MultiHeadAttention(128, n_h, attention=recording)
    layer(torch.randn(1, 3, 128, generator=generator))
    assert widths == [128 // n_h]
    projections = (layer.W_Q, layer.W_K, layer.W_V)
    assert sum(p.numel() for W in projections for p in W.parameters()) == 49_152


def test_the_layer_and_each_of_its_heads_equal_torchs_own(generator):
    recorded = []

    def recording(Q, K, V, mask=None):
        V_bar, A = scaled_dot_product_attention(Q, K, V, mask)
        recorded.append(A)
        return V_bar, A

    ours = randomize(MultiHeadAttention(12, 3, attention=recording))
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.W_Q.weight, ours.W_K.weight, ours.W_V.weight]))
        theirs.in_proj_bias.zero_()
        theirs.out_proj.load_state_dict(ours.W_proj.state_dict())
    H, mask = torch.randn(2, 7, 12, generator=generator), causal_mask(7)
    # torch's mask is True where reading is forbidden.
    expected, A = theirs(H, H, H, attn_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(ours(H, mask), expected)
    torch.testing.assert_close(recorded[0], A)


@pytest.mark.parametrize("rotary", [False, True])
def test_a_text_read_in_pieces_with_a_cache_gives_what_one_reading_gives(rotary, generator):
    rotate = RotaryEmbedding(10, 4) if rotary else None
    layer = randomize(MultiHeadAttention(12, 3, rotate=rotate))
    H, mask, cache = torch.randn(2, 10, 12, generator=generator), causal_mask(10), {}
    pieces = [layer(H[:, a:b], mask[a:b, :b], cache) for a, b in ((0, 4), (4, 5), (5, 9), (9, 10))]
    torch.testing.assert_close(torch.cat(pieces, dim=1), layer(H, mask))


def returns_nothing(Q, K, V, mask=None):
    return None


def returns_no_pair(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)[0]


def returns_too_much(Q, K, V, mask=None):
    return (*scaled_dot_product_attention(Q, K, V, mask), mask)


def returns_the_pair_swapped(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q, K, V, mask)[::-1]


def returns_one_average_for_all_positions(Q, K, V, mask=None):
    V_bar, A = scaled_dot_product_attention(Q, K, V, mask)
    return V_bar.mean(dim=-2), A


class Averaging:
    def __call__(self, Q, K, V, mask=None):
        return V.tolist(), None


@pytest.mark.parametrize(
    ("attention", "name", "complaint"),
    [
        (returns_nothing, "returns_nothing", "NoneType"),
        (returns_no_pair, "returns_no_pair", "Tensor"),
        (returns_too_much, "returns_too_much", "pair"),
        (returns_the_pair_swapped, "returns_the_pair_swapped", r"\(1, 2, 5, 5\)"),
        (returns_one_average_for_all_positions, "returns_one_average", r"\(1, 2, 4\)"),
        (Averaging(), "Averaging", "pair"),
    ],
)
def test_a_foreign_attention_function_is_named_with_what_is_wrong(attention, name, complaint):
    model = MiniGPT(Config(d=8, n_h=2, n_l=1), attention=attention)
    with pytest.raises(ValueError, match=rf"{name}.*{complaint}"):
        model(random_text(1, 5))
