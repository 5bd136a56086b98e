"""Holds right and wrong answers to ``causal_mask(T)``."""

import math

import numpy as np
import torch
from torch import nn

from answers.bank import right, wrong

# Right


@right
def lower_triangle_of_ones(T):
    return torch.tril(torch.ones(T, T)).bool()


@right
def triangle_equal_to_one(T):
    return torch.ones(T, T).tril() == 1


@right
def boolean_from_the_start(T):
    return torch.ones((T, T), dtype=torch.bool).tril(diagonal=0)


@right
def outer_comparison(T):
    t = torch.arange(T).unsqueeze(1)
    i = torch.arange(T).unsqueeze(0)
    return t >= i


@right
def list_comprehension(T):
    return torch.tensor([[i <= t for i in range(T)] for t in range(T)])


@right
def loops_over_cells(T):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for t in range(T):
        for i in range(T):
            if i <= t:
                mask[t, i] = True
    return mask


@right
def loop_over_rows(T):
    mask = torch.full((T, T), False)
    for t in range(T):
        mask[t, : t + 1] = True
    return mask


@right
def not_above_the_diagonal(T):
    return ~torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1)


@right
def numpy_triangle(T):
    return torch.from_numpy(np.tri(T, dtype=bool))


@right
def running_sum_of_the_identity(T):
    return torch.eye(T).cumsum(dim=0) > 0


@right
def indices_set(T):
    mask = torch.zeros(T, T).bool()
    rows, columns = torch.tril_indices(T, T)
    mask[rows, columns] = True
    return mask


@right
def rows_glued_together(T):
    rows = [torch.cat([torch.ones(t + 1), torch.zeros(T - t - 1)]).to(torch.bool) for t in range(T)]
    return torch.stack(rows)


@right
def grid_of_distances(T):
    row, column = torch.meshgrid(torch.arange(T), torch.arange(T), indexing="ij")
    return (row - column).ge(0)


@right
def finite_cells_of_the_torch_mask(T):
    return nn.Transformer.generate_square_subsequent_mask(T).isfinite()


# The wrong cells


@wrong("upside down")
def true_means_forbidden(T):
    return torch.triu(torch.ones(T, T), diagonal=1).bool()


@wrong("upside down")
def later_positions(T):
    positions = torch.arange(T)
    return positions[None, :] > positions[:, None]


@wrong("upside down")
def triangle_equal_to_zero(T):
    return torch.ones(T, T).tril() == 0


@wrong("upside down")
def cells_that_come_after(T):
    return torch.tensor([[i > t for i in range(T)] for t in range(T)])


@wrong("upper triangle")
def triu_of_ones(T):
    return torch.ones(T, T).triu().bool()


@wrong("upper triangle")
def columns_from_the_row_on(T):
    positions = torch.arange(T)
    return positions >= positions[:, None]


@wrong("upper triangle")
def triangle_transposed(T):
    return torch.tril(torch.ones(T, T, dtype=torch.bool)).T


@wrong("upper triangle")
def new_axis_on_the_other_side(T):
    t = torch.arange(T)
    i = torch.arange(T)
    return i[:, None] <= t[None, :]


@wrong("upper triangle")
def row_and_column_exchanged(T):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for t in range(T):
        mask[: t + 1, t] = True
    return mask


@wrong("diagonal left out")
def one_below_the_diagonal(T):
    return torch.tril(torch.ones(T, T), diagonal=-1).bool()


@wrong("diagonal left out")
def strictly_before(T):
    positions = torch.arange(T)
    return positions[None, :] < positions[:, None]


@wrong("diagonal left out")
def range_stops_too_early(T):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for t in range(T):
        for i in range(t):
            mask[t, i] = True
    return mask


@wrong("diagonal left out")
def not_the_upper_triangle(T):
    return ~torch.ones(T, T).triu().bool()


@wrong("everything allowed")
def all_ones(T):
    return torch.ones(T, T, dtype=torch.bool)


@wrong("everything allowed")
def triangle_not_kept(T):
    mask = torch.ones(T, T)
    mask.tril()  # a copy
    return mask.bool()


@wrong("everything allowed")
def infinities_cast_to_bool(T):
    ones = torch.ones(T, T)
    return ones.masked_fill(ones.triu(1) == 1, -math.inf).bool()  # -inf is not 0: True


@wrong("only itself")
def identity(T):
    return torch.eye(T).bool()


@wrong("only itself")
def equal_positions(T):
    positions = torch.arange(T)
    return positions[:, None] == positions[None, :]


# The wrong kind


@wrong("additive mask")
def zeros_and_infinities(T):
    mask = torch.ones(T, T).tril()
    return torch.zeros(T, T).masked_fill(mask == 0, float("-inf"))


@wrong("additive mask")
def triu_of_infinities(T):
    return torch.triu(torch.full((T, T), -math.inf), diagonal=1)


@wrong("additive mask")
def mask_of_the_torch_transformer(T):
    return nn.Transformer.generate_square_subsequent_mask(T)


@wrong("not boolean")
def triangle_of_floats(T):
    return torch.tril(torch.ones(T, T))


@wrong("not boolean")
def triangle_of_integers(T):
    return torch.ones(T, T, dtype=torch.long).tril()


@wrong("not boolean")
def list_of_zeros_and_ones(T):
    return torch.tensor([[1 if i <= t else 0 for i in range(T)] for t in range(T)])


@wrong("not boolean")
def comparison_turned_to_float(T):
    positions = torch.arange(T)
    return (positions <= positions[:, None]).float()


@wrong("wrong size")
def always_the_context_length(T):
    T_max = 128
    return torch.ones(T_max, T_max).tril().bool()


@wrong("wrong size")
def always_four(T):
    return torch.tensor(
        [
            [True, False, False, False],
            [True, True, False, False],
            [True, True, True, False],
            [True, True, True, True],
        ]
    )


@wrong("wrong size")
def counted_to_t_inclusive(T):
    return torch.tensor([[i <= t for i in range(T + 1)] for t in range(T + 1)])


# Faults that any answer can have


@wrong("raised an error")
def sizes_given_to_tril(T):
    return torch.tril(T, T).bool()


@wrong("returned nothing")
def mask_made_and_forgotten(T):
    mask = torch.ones(T, T).tril().bool()  # noqa: F841


@wrong("wrong shape")
def ready_for_batch_and_heads(T):
    return torch.ones(T, T).tril().bool().view(1, 1, T, T)


@wrong("wrong shape")
def positions_compared_with_themselves(T):
    row = torch.arange(T)
    column = torch.arange(T)
    return column <= row  # no new axis: T cells, all True


@wrong("wrong device")
def made_elsewhere(T):
    return torch.ones(T, T, device="meta").tril().bool()


@wrong("wrong type")
def made_by_numpy(T):
    return np.tril(np.ones((T, T), dtype=bool))


@wrong("wrong type")
def nested_lists(T):
    return [[i <= t for i in range(T)] for t in range(T)]


@wrong("reads one ahead")
def one_above_the_diagonal(T):
    return torch.ones(T, T).tril(diagonal=1).bool()


@wrong("wrong type")
def brackets_forgotten(T):
    return torch.ones(T, T).tril().bool


@wrong("wrong shape")
def row_compared_with_itself(T):
    t = torch.arange(T)
    return t <= t


@wrong("wrong type")
def sparse(T):
    return torch.ones(T, T).tril().bool().to_sparse()


@wrong("only in some cases")
def fixed_window(T):
    t = torch.arange(T)
    return (t <= t[:, None]) & (t[:, None] - t < 64)


@wrong("wrong size")
def cut_from_a_fixed_one(T):
    return torch.ones(64, 64).tril().bool()[:T, :T]


@wrong("raise left in")
def raise_left_in(T):
    mask = torch.ones(T, T).tril().bool()
    raise NotImplementedError
    return mask


@wrong("wrong values")
def this_one_and_the_one_before(T):
    t = torch.arange(T)
    back = t[:, None] - t
    return (back == 0) | (back == 1)


@wrong("wrong values")
def plus_and_minus_one(T):
    return torch.ones(T, T).tril() * 2 - 1


@wrong("upper triangle")
def characters_still_to_come(T):
    t = torch.arange(T)
    return (t - t[:, None] + 1).clamp(min=0)


@wrong("nothing allowed")
def zeros_cut_to_a_triangle(T):
    return torch.zeros(T, T).tril().bool()


@wrong("mirrored")
def rows_flipped(T):
    return torch.ones(T, T).tril().bool().flip(0)


@wrong("mirrored")
def columns_flipped(T):
    return torch.ones(T, T).tril().bool().flip(1)


@wrong("wrong shape")
def squeezed(T):
    return torch.ones(T, T).tril().bool().squeeze()  # a single number for T = 1


@wrong("wrong size")
def doubled_until_it_is_long_enough(T):
    mask = torch.ones(1, 1)
    while len(mask) < T:  # right for powers of 2
        above = torch.cat([mask, torch.zeros_like(mask)], dim=1)
        mask = torch.cat([above, torch.cat([torch.ones_like(mask), mask], dim=1)])
    return mask.bool()


@wrong("only in some cases")
def looked_up_in_a_fixed_one(T):
    t = torch.arange(T)
    return torch.ones(100, 100).tril().bool()[t[:, None], t]
