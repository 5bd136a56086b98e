"""Holds right and wrong answers to ``mean_attention_distance(A)``."""

import torch

from answers.bank import right, wrong

# Right


@right
def weighted_distances(A):
    T = A.shape[-1]
    t = torch.arange(T, device=A.device).view(T, 1)
    i = torch.arange(T, device=A.device).view(1, T)
    rows = (A * (t - i)).sum(dim=-1)
    return rows.mean(dim=(0, 2))


@right
def einsum_to_heads(A):
    B, _n_h, T, _ = A.shape
    positions = torch.arange(T, device=A.device, dtype=A.dtype)
    distance = positions.unsqueeze(1) - positions.unsqueeze(0)
    return torch.einsum("bhts,ts->h", A, distance) / (B * T)


@right
def plain_loops(A):
    """One cell at a time; very slow."""
    B, n_h, T, _ = A.shape
    heads = []
    for h in range(n_h):
        total = 0
        for b in range(B):
            for t in range(T):
                for i in range(t + 1):
                    total = total + A[b, h, t, i] * (t - i)
        heads.append(total / (B * T))
    return torch.stack(heads)


@right
def own_position_minus_mean_position(A):
    positions = torch.arange(A.size(-1), device=A.device, dtype=A.dtype)
    read = A @ positions
    return (positions - read).mean(dim=2).mean(dim=0)


@right
def diagonal_by_diagonal(A):
    B, _, T, _ = A.shape
    total = A.new_zeros(A.size(1))
    for k in range(1, T):
        total = total + k * A.diagonal(offset=-k, dim1=-2, dim2=-1).sum(dim=(0, 2))
    return total / (B * T)


@right
def contracted_over_cells(A):
    T = A.size(-1)
    distance = torch.tensor([[t - i for i in range(T)] for t in range(T)]).to(A)
    per_text = torch.tensordot(A, distance, dims=([2, 3], [0, 1])) / T
    return per_text.mean(0)


@right
def one_head_after_the_other(A):
    positions = torch.arange(A.size(-1), device=A.device)
    distance = (positions[:, None] - positions[None, :]).abs()
    return torch.stack([(head * distance).sum(-1).mean() for head in A.unbind(dim=1)])


@right
def steps_counted(A):
    # A weight at distance n is in n of the running sums to the left of the diagonal.
    return A.cumsum(dim=-1).tril(diagonal=-1).sum(dim=-1).mean(dim=(0, -1))


@right
def flattened_to_rows(A):
    B, n_h, T, _ = A.shape
    rows = A.permute(1, 0, 2, 3).reshape(n_h, B * T, T)
    back = torch.arange(T, device=A.device).repeat(B)
    distance = back.unsqueeze(-1) - torch.arange(T, device=A.device)
    return torch.mean(torch.sum(rows * distance, dim=2), dim=1)


# The wrong distance


@wrong("signed")
def column_minus_row(A):
    positions = torch.arange(A.size(-1), device=A.device)
    distance = positions[None, :] - positions[:, None]
    return (A * distance).sum(dim=-1).mean(dim=(0, 2))


@wrong("signed")
def mean_position_minus_own(A):
    positions = torch.arange(A.size(-1), device=A.device, dtype=A.dtype)
    return (A @ positions - positions).mean(dim=(0, 2))


@wrong("without the weights")
def mean_over_allowed_cells(A):
    T, n_h = A.size(-1), A.size(1)
    positions = torch.arange(T, device=A.device)
    distance = (positions[:, None] - positions).to(A.dtype)
    allowed = torch.ones(T, T, device=A.device).tril().bool()
    return distance[allowed].mean().repeat(n_h)


@wrong("without the weights")
def every_weight_counts_as_one(A):
    positions = torch.arange(A.size(-1), device=A.device)
    reads = (A > 0).to(A.dtype)
    distance = positions[:, None] - positions[None, :]
    return (reads * distance).sum(dim=(0, 2, 3)) / reads.sum(dim=(0, 2, 3))


@wrong("without the weights")
def mean_over_all_cells(A):
    positions = torch.arange(A.size(-1), device=A.device, dtype=A.dtype)
    distance = (positions[:, None] - positions).abs()
    return distance.mean().expand(A.size(1))


@wrong("most-read position only")
def distance_to_the_largest_weight(A):
    positions = torch.arange(A.size(-1), device=A.device)
    distance = positions - A.argmax(dim=-1)
    return distance.to(A.dtype).mean(dim=(0, 2))


@wrong("most-read position only")
def largest_weight_looked_up(A):
    T = A.size(-1)
    best = A.max(dim=-1).indices.unsqueeze(-1)
    positions = torch.arange(T, device=A.device, dtype=A.dtype)
    distance = (positions[:, None] - positions).expand_as(A)
    return distance.gather(-1, best).squeeze(-1).mean(dim=-1).mean(dim=0)


@wrong("squared")
def square_of_the_distance(A):
    positions = torch.arange(A.size(-1), device=A.device)
    distance = (positions[:, None] - positions) ** 2
    return (A * distance).sum(dim=-1).mean(dim=(0, 2))


@wrong("squared")
def root_of_the_mean_square(A):
    positions = torch.arange(A.size(-1), device=A.device)
    distance = positions[:, None] - positions
    return (A * distance.pow(2)).sum(dim=-1).mean(dim=(0, 2)).sqrt()


# The wrong mean


@wrong("over masked cells")
def mean_of_all_cells(A):
    positions = torch.arange(A.size(-1), device=A.device)
    return (A * (positions[:, None] - positions)).mean(dim=(0, 2, 3))


@wrong("over masked cells")
def mean_inside_each_row(A):
    positions = torch.arange(A.size(-1), device=A.device)
    distance = positions.unsqueeze(1) - positions.unsqueeze(0)
    rows = (A * distance).mean(dim=-1)
    return rows.mean(dim=-1).mean(dim=0)


@wrong("over masked cells")
def divided_by_the_allowed_cells(A):
    B, _, T, _ = A.shape
    positions = torch.arange(T, device=A.device, dtype=A.dtype)
    total = torch.einsum("bhts,ts->h", A, positions[:, None] - positions)
    return total / (B * T * (T + 1) / 2)


@wrong("averaged over heads")
def one_number(A):
    positions = torch.arange(A.size(-1), device=A.device)
    return (A * (positions[:, None] - positions)).sum(dim=-1).mean()


@wrong("averaged over heads")
def one_number_for_every_head(A):
    positions = torch.arange(A.size(-1), device=A.device)
    rows = (A * (positions[:, None] - positions)).sum(dim=-1)
    return rows.mean().repeat(A.size(1))


@wrong("averaged over heads")
def heads_averaged_first(A):
    positions = torch.arange(A.size(-1), device=A.device)
    shared = A.mean(dim=1, keepdim=True).expand_as(A)
    return (shared * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 2))


@wrong("summed over rows")
def cells_summed(A):
    positions = torch.arange(A.size(-1), device=A.device)
    return (A * (positions[:, None] - positions)).sum(dim=(-2, -1)).mean(dim=0)


@wrong("summed over rows")
def divided_by_the_batch_alone(A):
    positions = torch.arange(A.size(-1), device=A.device, dtype=A.dtype)
    return torch.einsum("bhts,ts->h", A, positions[:, None] - positions) / A.size(0)


@wrong("batch left in")
def one_row_per_text(A):
    positions = torch.arange(A.size(-1), device=A.device)
    return (A * (positions[:, None] - positions)).sum(dim=-1).mean(dim=-1)


@wrong("only the first text")
def text_zero(A):
    positions = torch.arange(A.size(-1), device=A.device)
    return (A[0] * (positions[:, None] - positions)).sum(dim=-1).mean(dim=-1)


@wrong("only the first text")
def first_of_the_results(A):
    positions = torch.arange(A.size(-1), device=A.device, dtype=A.dtype)
    per_text = (positions - A @ positions).mean(dim=-1)
    return per_text[0]


@wrong("summed over the batch")
def texts_summed(A):
    positions = torch.arange(A.size(-1), device=A.device)
    return (A * (positions[:, None] - positions)).sum(dim=-1).mean(dim=-1).sum(dim=0)


@wrong("summed over the batch")
def divided_by_the_rows_alone(A):
    T = A.size(-1)
    positions = torch.arange(T, device=A.device, dtype=A.dtype)
    return torch.einsum("bhts,ts->h", A, positions[:, None] - positions) / T


@wrong("share of the length")
def divided_by_the_longest_distance(A):
    T = A.size(-1)
    positions = torch.arange(T, device=A.device)
    distance = (positions[:, None] - positions) / (T - 1)
    return (A * distance.to(A.dtype)).sum(dim=-1).mean(dim=(0, 2))


@wrong("share of the length")
def positions_from_zero_to_one(A):
    positions = torch.linspace(0, 1, A.size(-1), device=A.device, dtype=A.dtype)
    return (positions - A @ positions).mean(dim=(0, 2))


@wrong("share of the length")
def divided_by_the_context_length(A):
    T_max = 128
    positions = torch.arange(A.size(-1), device=A.device)
    return (A * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 2)) / T_max


# Faults that any answer can have


@wrong("raised an error")
def axis_that_does_not_exist(A):
    positions = torch.arange(A.size(-1), device=A.device)
    return (A * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 3))


@wrong("returned nothing")
def printed(A):
    positions = torch.arange(A.size(-1), device=A.device)
    distance = (A * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 2))
    assert len(distance) == A.size(1)


@wrong("wrong shape")
def axes_kept(A):
    positions = torch.arange(A.size(-1), device=A.device)
    rows = (A * (positions[:, None] - positions)).sum(dim=-1, keepdim=True)
    return rows.mean(dim=(0, 2))


@right  # as good for looking at
def double_precision(A):
    positions = torch.arange(A.size(-1), device=A.device, dtype=torch.float64)
    return (A * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 2))


@wrong("wrong device")
def moved_elsewhere(A):
    positions = torch.arange(A.size(-1), device=A.device)
    rows = (A * (positions[:, None] - positions)).sum(dim=-1)
    return rows.mean(dim=(0, 2)).to("meta")


@right  # nothing is trained through it
def python_numbers(A):
    positions = torch.arange(A.size(-1), device=A.device)
    distance = positions[:, None] - positions
    heads = [(A[:, h] * distance).sum(dim=-1).mean().item() for h in range(A.size(1))]
    return torch.tensor(heads, dtype=A.dtype, device=A.device)


@right
def detached(A):
    positions = torch.arange(A.size(-1), device=A.device)
    return (A.detach() * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 2))


@wrong("inputs changed")
def weights_multiplied_in_place(A):
    positions = torch.arange(A.size(-1), device=A.device)
    A *= positions[:, None] - positions  # on a leaf that wants a gradient, torch refuses
    return A.sum(dim=-1).mean(dim=(0, 2))


@wrong("inputs changed")
def weights_multiplied_behind_autograd(A):
    positions = torch.arange(A.size(-1), device=A.device)
    A.data.mul_(positions[:, None] - positions)
    return A.sum(dim=-1).mean(dim=(0, 2))


@wrong("over masked cells")
def each_row_by_what_it_may_read(A):
    positions = torch.arange(A.size(-1))
    rows = (A * (positions[:, None] - positions)).sum(dim=-1)
    return (rows / (positions + 1)).mean(dim=(0, 2))


@wrong("all distances zero")
def row_minus_itself(A):
    positions = torch.arange(A.size(-1))
    return (A * (positions - positions)).sum(dim=-1).mean(dim=(0, 2))


@wrong("all distances zero")
def upper_triangle_kept(A):
    positions = torch.arange(A.size(-1))
    return (A * (positions[:, None] - positions)).triu().sum(dim=-1).mean(dim=(0, 2))


@wrong("matrix product")
def matrix_product(A):
    positions = torch.arange(A.size(-1))
    return (A @ (positions[:, None] - positions).float()).sum(dim=-1).mean(dim=(0, 2))


@wrong("distance to the start")
def position_that_is_read(A):
    return (A * torch.arange(A.size(-1))).sum(dim=-1).mean(dim=(0, 2))


@wrong("wrong type")
def list_of_numbers(A):
    positions = torch.arange(A.size(-1))
    return (A * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 2)).tolist()


@wrong("only in some cases")
def at_most_63_back(A):
    positions = torch.arange(A.size(-1))
    back = (positions[:, None] - positions).clamp(max=63)
    return (A * back).sum(dim=-1).mean(dim=(0, 2))


@wrong("wrong values")
def one_character_more(A):
    positions = torch.arange(A.size(-1))
    back = positions[:, None] - positions + 1
    return (A * back).sum(dim=-1).mean(dim=(0, 2))


@wrong("only in some cases")
def first_eight_texts(A):
    positions = torch.arange(A.size(-1))
    return (A[:8] * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 2))


@wrong("only in some cases")
def one_head_squeezed(A):
    positions = torch.arange(A.size(-1))
    return (A * (positions[:, None] - positions)).sum(dim=-1).mean(dim=(0, 2)).squeeze()


@wrong("wrong type")
def list_of_tensors(A):
    positions = torch.arange(A.size(-1))
    per_row = (A * (positions[:, None] - positions)).sum(dim=-1)
    return [per_row[:, head].mean() for head in range(A.size(1))]
