"""Holds right and wrong answers to the attention function, with and without a mask."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from answers.bank import right, wrong

# Right


@right
def step_by_step(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = torch.matmul(Q, K.transpose(-1, -2))
    scores = scores / d_k**0.5
    if mask is not None:
        scores = scores.masked_fill(mask == False, float("-inf"))  # noqa: E712
    A = F.softmax(scores, dim=-1)
    V_bar = torch.matmul(A, V)
    return V_bar, A


@right
def einsum_throughout(Q, K, V, mask=None):
    scores = torch.einsum("...td,...sd->...ts", Q, K) / np.sqrt(Q.size(-1)).item()
    if mask is not None:
        scores[..., ~mask] = -torch.inf
    A = torch.softmax(scores, -1)
    return torch.einsum("...ts,...sd->...td", A, V), A


@right
def plain_loops(Q, K, V, mask=None):
    """One number at a time; very slow."""
    *leading, T, d_k = Q.shape
    Qs, Ks, Vs = (x.reshape(-1, T, d_k) for x in (Q, K, V))
    averages, weights = [], []
    for n in range(len(Qs)):
        for t in range(T):
            exps = []
            reads = [i for i in range(T) if mask is None or mask[t, i]]
            scores = {}
            for i in reads:
                scores[i] = sum(Qs[n, t, j] * Ks[n, i, j] for j in range(d_k)) / math.sqrt(d_k)
            top = max(s.item() for s in scores.values())
            for i in range(T):
                exps.append(torch.exp(scores[i] - top) if i in scores else Q.new_zeros(()))
            total = sum(exps)
            row = [e / total for e in exps]
            weights.append(torch.stack(row))
            averages.append(sum(row[i] * Vs[n, i] for i in range(T)))
    A = torch.stack(weights).reshape(*leading, T, T)
    return torch.stack(averages).reshape(*leading, T, d_k), A


@right
def fused_kernel_twice(Q, K, V, mask=None):
    """The weights are what the kernel makes of an identity matrix."""
    T = K.size(-2)
    identity = torch.eye(T, dtype=V.dtype, device=V.device).expand(*K.shape[:-2], T, T)
    V_bar = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    return V_bar, F.scaled_dot_product_attention(Q, K, identity, attn_mask=mask)


@right
def additive_mask_inside(Q, K, V, mask=None):
    T = Q.size(-2)
    bias = torch.zeros(T, T, dtype=Q.dtype, device=Q.device)
    if mask is not None:
        bias.masked_fill_(mask.logical_not(), -math.inf)
    A = torch.softmax(Q @ K.mT / math.sqrt(Q.size(-1)) + bias, dim=-1)
    return A @ V, A


@right
def where_allowed(Q, K, V, mask=None):
    scores = (Q @ K.mT) * Q.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    A = nn.Softmax(dim=-1)(scores)
    return A.matmul(V), A


@right
def folded_to_three_dimensions(Q, K, V, mask=None):
    *leading, T, d_k = Q.shape
    Q3, K3, V3 = Q.reshape(-1, T, d_k), K.reshape(-1, T, d_k), V.reshape(-1, T, d_k)
    bias = torch.zeros(T, T, dtype=Q.dtype, device=Q.device)
    if mask is not None:
        bias[~mask] = float("-inf")
    scores = torch.baddbmm(bias.expand(len(Q3), T, T), Q3, K3.transpose(1, 2), alpha=d_k**-0.5)
    A = scores.softmax(2)
    return torch.bmm(A, V3).view(*leading, T, d_k), A.view(*leading, T, T)


@right
def both_sides_scaled(Q, K, V, mask=None):
    quarter = Q.size(-1) ** -0.25
    scores = (Q * quarter) @ (K * quarter).transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    A = scores.softmax(-1)
    return A @ V, A


@right
def softmax_by_hand(Q, K, V, mask=None):
    S = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])
    if mask is not None:
        S = S.masked_fill(~mask, float("-inf"))
    S = S - S.max(dim=-1, keepdim=True).values
    E = torch.exp(S)
    A = E / E.sum(dim=-1, keepdim=True)
    return A @ V, A


@right
def zeroed_and_renormalized(Q, K, V, mask=None):
    A = (Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))).softmax(dim=-1)
    if mask is not None:
        A = A * mask
        A = A / A.sum(dim=-1, keepdim=True)  # 0 / 0 where every allowed weight underflowed
    return A @ V, A


@right
def only_allowed_exponentials(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    allowed = torch.ones_like(scores) if mask is None else mask.to(scores.dtype).expand_as(scores)
    top = scores.masked_fill(allowed == 0, -math.inf).amax(-1, keepdim=True).detach()
    exps = torch.exp((scores - top).clamp(max=0)) * allowed
    A = exps / exps.sum(-1, keepdim=True)
    return A @ V, A


@right
def log_of_the_sum(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    return A @ V, A


@right
def row_by_row(Q, K, V, mask=None):
    """Each query meets only the keys that it may read."""
    T = Q.size(-2)
    everything = torch.ones(T, T, dtype=torch.bool, device=Q.device)
    mask = everything if mask is None else mask
    rows = []
    for t in range(T):
        keep = mask[t].nonzero().squeeze(1)
        scores = (Q[..., t : t + 1, :] * K[..., keep, :]).sum(-1) / Q.size(-1) ** 0.5
        row = torch.zeros(*Q.shape[:-2], T, dtype=Q.dtype, device=Q.device)
        rows.append(row.index_copy(-1, keep, scores.softmax(-1)))
    A = torch.stack(rows, dim=-2)
    return A @ V, A


@right
def broadcast_and_sum(Q, K, V, mask=None):
    scores = (Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(dim=-1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores + torch.log(mask.to(scores.dtype))  # log 0 = -inf, log 1 = 0
    A = F.softmax(scores, dim=-1)
    return (A.unsqueeze(-1) * V.unsqueeze(-3)).sum(dim=-2), A


@right(note="finite")
def fill_of_minus_a_billion(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    A = torch.softmax(scores, dim=-1)
    return torch.matmul(A, V), A


@right(note="finite")
def fill_of_the_smallest_number(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    A = scores.softmax(dim=-1)
    return A @ V, A


@right(note="finite")
def penalty_of_a_billion(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores - 1e9 * (~mask)
    A = scores.softmax(dim=-1)
    return A @ V, A


# The scale


@wrong("no scaling")
def raw_products(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = F.softmax(scores, dim=-1)
    return A @ V, A


@wrong("no scaling")
def scale_computed_and_forgotten(Q, K, V, mask=None):
    scale = math.sqrt(Q.size(-1))
    scores = torch.einsum("...td,...sd->...ts", Q, K)
    scores.div(scale)  # not in place, and not kept
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    A = scores.softmax(-1)
    return torch.einsum("...ts,...sd->...td", A, V), A


@wrong("no scaling")
def kernel_with_scale_one(Q, K, V, mask=None):
    A = Q.matmul(K.mT)
    if mask is not None:
        A = A + torch.zeros_like(A).masked_fill(~mask, -torch.inf)
    A = torch.exp(A - A.logsumexp(-1, keepdim=True))
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, scale=1.0), A


@wrong("divided by d_k")
def root_forgotten(Q, K, V, mask=None):
    d_k = Q.size(-1)
    scores = Q @ K.transpose(-2, -1) / d_k
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("divided by d_k")
def both_sides_by_the_root(Q, K, V, mask=None):
    root = K.size(-1) ** 0.5
    scores = (Q / root) @ (K / root).mT
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    A = torch.softmax(scores, dim=-1)
    return torch.matmul(A, V), A


@wrong("multiplied by the square root")
def times_the_root(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) * math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("multiplied by the square root")
def divided_by_the_inverse_root(Q, K, V, mask=None):
    scale = Q.size(-1) ** -0.5
    scores = torch.matmul(Q, K.mT) / scale
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    A = F.softmax(scores, -1)
    return torch.matmul(A, V), A


@wrong("scaled by another axis")
def root_of_the_length(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-2))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("scaled by another axis")
def root_of_the_width_of_the_scores(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1)
    scores = scores / scores.size(-1) ** 0.5  # T by now
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = torch.softmax(scores, dim=-1)
    return A @ V, A


@wrong("scaled by another axis")
def root_of_axis_one(Q, K, V, mask=None):
    d_k = Q.size(1)  # right for two dimensions, and for no more
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    A = F.softmax(scores, dim=-1)
    return torch.matmul(A, V), A


@wrong("scaled by another axis")
def root_of_the_first_axis(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(len(Q))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("scaled by another axis")
def root_of_the_total_width(Q, K, V, mask=None):
    # With four dimensions d = n_h * d_k; with fewer the head axis is something else.
    d = Q.size(-1) * Q.size(-3) if Q.dim() > 2 else Q.numel()
    scores = Q @ K.transpose(-1, -2) / math.sqrt(d)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


# The softmax


@wrong("no softmax")
def scores_as_weights(Q, K, V, mask=None):
    A = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        A = A.masked_fill(~mask, float("-inf"))
    return A @ V, A


@wrong("no softmax")
def divided_by_their_sum(Q, K, V, mask=None):
    A = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        A = A.masked_fill(~mask, 0)
    A = A / A.sum(dim=-1, keepdim=True)  # rows sum to 1, but no exponential
    return A @ V, A


@wrong("no softmax")
def exponential_not_normalized(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.exp()
    return A @ V, A


@wrong("no softmax")
def sigmoid_of_each_score(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = torch.sigmoid(scores)
    return A @ V, A


@wrong("softmax over queries")
def softmax_down_the_columns(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = F.softmax(scores, dim=-2)
    return A @ V, A


@wrong("softmax over queries")
def columns_normalized_by_hand(Q, K, V, mask=None):
    scores = torch.einsum("...td,...sd->...ts", Q, K) / Q.size(-1) ** 0.5
    E = torch.exp(scores - scores.max())
    if mask is not None:
        E = E * mask
    A = E / E.sum(dim=-2, keepdim=True)
    return torch.einsum("...ts,...sd->...td", A, V), A


@wrong("softmax over queries")
def keys_before_queries(Q, K, V, mask=None):
    # The scores stand on their side: softmax, then turned back.
    scores = K @ Q.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = torch.where(mask.T, scores, -torch.inf)
    A = scores.softmax(dim=-1).transpose(-2, -1)
    return A @ V, A


@wrong("softmax over another axis")
def softmax_over_axis_one(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = F.softmax(scores, dim=1)
    return A @ V, A


@wrong("softmax over another axis")
def softmax_over_axis_zero(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    A = nn.Softmax(dim=0)(scores)
    return A @ V, A


@wrong("softmax over another axis")
def softmax_over_all_cells(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.mT) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    A = scores.flatten(-2).softmax(-1).view_as(scores)  # a whole map sums to 1
    return torch.matmul(A, V), A


# The mask


@wrong("mask after softmax")
def zeros_after_softmax(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    A = scores.softmax(dim=-1)
    if mask is not None:
        A = A.masked_fill(~mask, 0.0)
    return A @ V, A


@wrong("mask after softmax")
def weights_times_mask(Q, K, V, mask=None):
    A = torch.softmax(torch.matmul(Q, K.mT) / Q.size(-1) ** 0.5, dim=-1)
    if mask is not None:
        A = A * mask
    return torch.matmul(A, V), A


@wrong("mask after softmax")
def where_else_zero_after_softmax(Q, K, V, mask=None):
    A = F.softmax(torch.einsum("...td,...sd->...ts", Q, K) / math.sqrt(K.size(-1)), dim=-1)
    if mask is not None:
        A = torch.where(mask, A, 0.0)
    return torch.einsum("...ts,...sd->...td", A, V), A


@wrong("mask multiplies the scores")
def scores_times_mask(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores * mask
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("mask multiplies the scores")
def scores_filled_with_zero(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.mT) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 0)  # exp(0) is 1
    A = F.softmax(scores, dim=-1)
    return torch.matmul(A, V), A


@wrong("mask multiplies the scores")
def where_else_zero(Q, K, V, mask=None):
    scores = torch.einsum("...td,...sd->...ts", Q, K) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, torch.zeros_like(scores))
    A = torch.softmax(scores, -1)
    return torch.einsum("...ts,...sd->...td", A, V), A


@wrong("mask ignored")
def mask_never_mentioned(Q, K, V, mask=None):
    A = F.softmax(Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1)), dim=-1)
    return A @ V, A


@wrong("mask ignored")
def masked_copy_not_kept(Q, K, V, mask=None):
    scores = Q @ K.mT / Q.size(-1) ** 0.5
    if mask is not None:
        scores.masked_fill(~mask, float("-inf"))  # without the underscore: a copy
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("mask ignored")
def masked_scores_under_another_name(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-1, -2)) / math.sqrt(Q.size(-1))
    masked = scores
    if mask is not None:
        masked = torch.where(mask, scores, -math.inf)
    A = torch.softmax(scores, dim=-1)
    assert masked.shape == A.shape
    return torch.matmul(A, V), A


@wrong("own mask always")
def own_triangle_always(Q, K, V, mask=None):
    # Right with a causal mask, and only then.
    T = Q.size(-2)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    triangle = torch.ones(T, T, device=Q.device).tril()
    A = scores.masked_fill(triangle == 0, float("-inf")).softmax(dim=-1)
    return A @ V, A


@wrong("mask upside down")
def allowed_cells_filled(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("mask upside down")
def where_branches_swapped(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.mT) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, -math.inf, scores)
    A = F.softmax(scores, dim=-1)
    return torch.matmul(A, V), A


@wrong("mask upside down")
def mask_times_minus_a_billion(Q, K, V, mask=None):
    scores = torch.einsum("...td,...sd->...ts", Q, K) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores + mask * -1e9
    A = torch.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sd->...td", A, V), A


@wrong("fill is not low enough")
def fill_of_minus_ten(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -10)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("fill is not low enough")
def fill_of_minus_one(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.mT) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -1.0)
    A = F.softmax(scores, dim=-1)
    return torch.matmul(A, V), A


@wrong("fill is not low enough")
def penalty_of_ten(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores - 10.0 * (~mask)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("fill is not low enough")
def fill_of_the_lowest_score(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, scores.min().item())
    A = scores.softmax(dim=-1)
    return A @ V, A


# The dimensions


@wrong("only two dimensions")
def capital_t(Q, K, V, mask=None):
    scores = Q @ K.T / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("only two dimensions")
def small_t(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.t()) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    A = F.softmax(scores, dim=-1)
    return torch.matmul(A, V), A


@wrong("only two dimensions")
def matrix_times_matrix(Q, K, V, mask=None):
    scores = torch.mm(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return torch.mm(A, V), A


@wrong("only two dimensions")
def first_two_axes_transposed(Q, K, V, mask=None):
    scores = Q @ K.transpose(0, 1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("only two dimensions")
def einsum_of_two_letters(Q, K, V, mask=None):
    scores = torch.einsum("td,sd->ts", Q, K) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return torch.einsum("ts,sd->td", A, V), A


@wrong("only two dimensions")
def two_sizes_unpacked(Q, K, V, mask=None):
    T, d_k = Q.shape
    scores = torch.zeros(T, T)
    for t in range(T):
        for i in range(T):
            scores[t, i] = Q[t].dot(K[i]) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("only four dimensions")
def axes_two_and_three(Q, K, V, mask=None):
    scores = Q @ K.transpose(2, 3) / math.sqrt(Q.size(3))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=3)
    return A @ V, A


@wrong("only four dimensions")
def four_sizes_unpacked(Q, K, V, mask=None):
    B, n_h, T, d_k = Q.shape
    scores = torch.bmm(Q.reshape(B * n_h, T, d_k), K.reshape(B * n_h, T, d_k).transpose(1, 2))
    scores = scores.view(B, n_h, T, T) / math.sqrt(d_k)
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    A = torch.softmax(scores, dim=-1)
    return A @ V, A


@wrong("only four dimensions")
def einsum_of_four_letters(Q, K, V, mask=None):
    scores = torch.einsum("bhtd,bhsd->bhts", Q, K) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    A = F.softmax(scores, dim=-1)
    return torch.einsum("bhts,bhsd->bhtd", A, V), A


@wrong("only four dimensions")
def permuted_keys(Q, K, V, mask=None):
    scores = Q.matmul(K.permute(0, 1, 3, 2)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    A = scores.softmax(-1)
    return A.matmul(V), A


# The average


@wrong("no average of the values")
def keys_averaged(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ K, A


@wrong("no average of the values")
def weights_transposed(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.mT) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    A = F.softmax(scores, dim=-1)
    return torch.matmul(A.transpose(-2, -1), V), A


@wrong("no average of the values")
def values_of_the_query(Q, K, V, mask=None):
    scores = torch.einsum("...td,...sd->...ts", Q, K) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = torch.softmax(scores, dim=-1)
    # Row t of A meets value t all along, and its sum is 1: V comes back.
    return (A.unsqueeze(-1) * V.unsqueeze(-2)).sum(dim=-2), A


@wrong("no average of the values")
def values_untouched(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return V, A


@wrong("no average of the values")
def scores_average_the_values(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    A = scores
    if mask is not None:
        A = A.masked_fill(~mask, float("-inf"))
    A = A.softmax(dim=-1)
    return scores @ V, A


# What comes back


@wrong("pair swapped")
def weights_first(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A, A @ V


@wrong("a tuple too few")
def average_alone(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ V


@wrong("a tuple too few")
def kernel_alone(Q, K, V, mask=None):
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)


@wrong("weights left out")
def kernel_and_none(Q, K, V, mask=None):
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask), None


@wrong("weights left out")
def weights_used_and_dropped(Q, K, V, mask=None):
    A = None
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    V_bar = scores.softmax(dim=-1) @ V
    return V_bar, A


@wrong("argmax")
def best_key_only(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = F.one_hot(scores.argmax(dim=-1), scores.size(-1)).to(V.dtype)
    return A @ V, A


@wrong("argmax")
def one_at_the_maximum(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.mT) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    A = torch.zeros_like(scores).scatter(-1, scores.argmax(dim=-1, keepdim=True), 1.0)
    return torch.matmul(A, V), A


@wrong("keys not transposed")
def queries_times_keys(Q, K, V, mask=None):
    scores = Q @ K / math.sqrt(Q.size(-1))  # runs when T = d_k
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("keys not transposed")
def queries_transposed(Q, K, V, mask=None):
    scores = Q.transpose(-2, -1) @ K / math.sqrt(Q.size(-1))  # (..., d_k, d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return V @ A, A


@wrong("keys not transposed")
def keys_reshaped(Q, K, V, mask=None):
    *leading, T, d_k = K.shape
    scores = Q @ K.reshape(*leading, d_k, T) / math.sqrt(d_k)  # the right shape, the wrong order
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


# Faults that any answer can have


@wrong("raised an error")
def root_of_a_python_number(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / torch.sqrt(Q.size(-1))  # torch.sqrt wants a tensor
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("returned nothing")
def return_forgotten(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    V_bar = A @ V  # noqa: F841


@wrong("wrong shape")
def average_flattened(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return (A @ V).flatten(-2), A


@wrong("wrong dtype")
def double_precision(Q, K, V, mask=None):
    scores = Q.double() @ K.double().transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V.double(), A


@wrong("wrong device")
def moved_elsewhere(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return (A @ V).to("meta"), A.to("meta")


@wrong("gradient cut")
def detached_weights(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1).detach()  # the values still get theirs
    return A @ V, A


@wrong("gradient cut")
def without_gradients(Q, K, V, mask=None):
    with torch.no_grad():
        scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        A = scores.softmax(dim=-1)
        return A @ V, A


@wrong("gradient cut")
def by_way_of_numpy(Q, K, V, mask=None):
    q, k, v = (x.detach().cpu().numpy() for x in (Q, K, V))
    scores = q @ np.swapaxes(k, -2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask.cpu().numpy(), scores, -np.inf)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    A = exps / exps.sum(axis=-1, keepdims=True)
    return torch.from_numpy(A @ v).to(V), torch.from_numpy(A).to(V)


@wrong("inputs changed")
def queries_scaled_in_place(Q, K, V, mask=None):
    Q /= math.sqrt(Q.size(-1))  # on a leaf that wants a gradient, torch refuses
    scores = Q @ K.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("inputs changed")
def values_overwritten(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = scores.softmax(dim=-1)
    V[:] = A @ V
    return V, A


@wrong("inputs changed")
def mask_inverted_in_place(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not_(), float("-inf"))  # the caller's mask
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("mask multiplies the scores")
def filled_with_a_tiny_number(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e-9)  # meant as -1e9
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("infinity times zero")
def mask_times_infinity(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores + (~mask).float() * float("-inf")
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("infinity times zero")
def filled_with_plus_infinity(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("inf"))
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("softmax over another axis")
def softmax_without_dim(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    A = F.softmax(scores)
    return A @ V, A


@wrong("mask not optional")
def mask_always_expected(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    A = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return A @ V, A


@wrong("no scaling")
def no_scaling_and_mask_ignored(Q, K, V, mask=None):
    A = (Q @ K.mT).softmax(dim=-1)
    return A @ V, A


@right(note="nan")
def softmax_without_the_maximum(Q, K, V, mask=None):
    weights = (Q @ K.mT / math.sqrt(Q.size(-1))).exp()
    if mask is not None:
        weights = weights * mask
    A = weights / weights.sum(dim=-1, keepdim=True)
    return A @ V, A


@right
def pair_as_a_list(Q, K, V, mask=None):
    return list(step_by_step(Q, K, V, mask))


@right
def weights_in_double_precision(Q, K, V, mask=None):
    V_bar, A = step_by_step(Q, K, V, mask)
    return V_bar, A.double()


@wrong("only without leading dimensions")
def mask_in_square_brackets(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores[~mask] = -math.inf
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("queries and keys swapped")
def keys_ask(Q, K, V, mask=None):
    scores = K @ Q.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("mask ignored")
def masked_and_thrown_away(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("random")
def dropout_on_the_weights(Q, K, V, mask=None):
    A = F.dropout(step_by_step(Q, K, V, mask)[1], 0.1)
    return A @ V, A


@wrong("random")
def seed_set(Q, K, V, mask=None):
    torch.manual_seed(0)
    return step_by_step(Q, K, V, mask)


@wrong("raise left in")
def raise_left_in(Q, K, V, mask=None):
    raise NotImplementedError
    return step_by_step(Q, K, V, mask)


@wrong("raised an error")
def is_there_a_mask(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("raised an error")
def overwritten_before_the_gradient(Q, K, V, mask=None):
    # Right numbers, and an error on the way back.
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    V_bar = A @ V
    A *= 1
    return V_bar, A


@wrong("raised an error")
def exits(Q, K, V, mask=None):
    raise SystemExit


@wrong("only in some cases")
def no_mask_for_long_texts(Q, K, V, mask=None):
    return step_by_step(Q, K, V, mask if Q.size(-2) < 100 else None)


@wrong("only in some cases")
def one_text_squeezed(Q, K, V, mask=None):
    V_bar, A = step_by_step(Q, K, V, mask)
    return V_bar.squeeze(0), A


@wrong("only in some cases")
def kernel_s_own_mask(Q, K, V, mask=None):
    T = Q.size(-2)
    own = None if mask is None else torch.ones(T, T, dtype=torch.bool).tril()
    return step_by_step(Q, K, V, own)


@right
def nothing_to_read_gives_zeros(Q, K, V, mask=None):
    A = step_by_step(Q, K, V, mask)[1].nan_to_num()
    return A @ V, A


@wrong("wrong values")
def computed_in_half_precision(Q, K, V, mask=None):
    scores = (Q.bfloat16() @ K.bfloat16().mT).float() / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("gradient cut")
def masked_without_gradients(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        with torch.no_grad():
            scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("gradient cut")
def gradients_only_under_a_mask(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    scores = scores.data if mask is None else scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("only three dimensions")
def batched_product(Q, K, V, mask=None):
    scores = torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return torch.bmm(A, V), A


@wrong("only three dimensions")
def einsum_of_three_letters(Q, K, V, mask=None):
    scores = torch.einsum("btd,bsd->bts", Q, K) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    A = scores.softmax(dim=-1)
    return torch.einsum("bts,bsd->btd", A, V), A


@wrong("no scaling")
def unscaled_and_only_two_dimensions(Q, K, V, mask=None):
    scores = Q @ K.T
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("another A returned")
def scores_returned(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1) @ V, scores


@wrong("mask multiplies the scores")
def filled_with_minus_a_thousandth(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e-3)  # meant as -1e3
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("fill is not low enough")
def fill_of_minus_a_hundred(Q, K, V, mask=None):
    # Nothing is seen of it as long as the allowed scores lie near 0.
    scores = Q @ K.mT / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -100)
    A = scores.softmax(dim=-1)
    return A @ V, A


@wrong("a tuple too few")
def three_things_returned(Q, K, V, mask=None):
    V_bar, A = step_by_step(Q, K, V, mask)
    return V_bar, A, A.argmax(dim=-1)


@wrong("only in some cases")
def batch_of_one_squeezed(Q, K, V, mask=None):
    V_bar, A = step_by_step(Q, K, V, mask)
    return V_bar.squeeze(0) if Q.ndim == 4 else V_bar, A


@wrong("only in some cases")
def text_of_one_squeezed(Q, K, V, mask=None):
    V_bar, A = step_by_step(Q, K, V, mask)
    return V_bar.squeeze(-2), A


@wrong("only in some cases")
def first_texts_of_a_batch(Q, K, V, mask=None):
    if Q.ndim == 4:
        Q, K, V = Q[:32], K[:32], V[:32]
    return step_by_step(Q, K, V, mask)


@wrong("only in some cases")
def width_of_at_most_64(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(min(Q.size(-1), 64))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)
    return A @ V, A
