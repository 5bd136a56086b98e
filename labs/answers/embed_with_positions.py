"""Holds right and wrong answers to ``embed_with_positions(idx, tok_emb, pos_emb)``."""

import math

import torch
import torch.nn.functional as F

from answers.bank import right, wrong

# Right


@right
def two_lookups(idx, tok_emb, pos_emb):
    _B, T = idx.shape
    tokens = tok_emb(idx)
    positions = pos_emb(torch.arange(T, device=idx.device))
    return tokens + positions


@right
def first_rows_of_the_table(idx, tok_emb, pos_emb):
    return tok_emb.weight[idx] + pos_emb.weight[: idx.shape[1]]


@right
def functional_embedding(idx, tok_emb, pos_emb):
    places = torch.arange(idx.size(1), device=idx.device)[None, :]
    return F.embedding(idx, tok_emb.weight).add(F.embedding(places, pos_emb.weight))


@right
def one_hot_products(idx, tok_emb, pos_emb):
    T = idx.size(1)
    tokens = F.one_hot(idx, tok_emb.num_embeddings).to(tok_emb.weight.dtype)
    places = torch.eye(T, pos_emb.num_embeddings, device=idx.device, dtype=pos_emb.weight.dtype)
    return tokens @ tok_emb.weight + places @ pos_emb.weight


@right
def positions_expanded_over_the_batch(idx, tok_emb, pos_emb):
    pos = torch.arange(0, idx.size(-1), dtype=torch.long, device=idx.device)
    pos = pos.unsqueeze(0).expand_as(idx)
    return torch.add(tok_emb(idx), pos_emb(pos))


@right
def running_count(idx, tok_emb, pos_emb):
    positions = torch.ones_like(idx).cumsum(dim=1) - 1
    return tok_emb(idx) + pos_emb(positions)


@right
def position_after_position(idx, tok_emb, pos_emb):
    columns = [tok_emb(idx[:, t]) + pos_emb.weight[t] for t in range(idx.size(1))]
    return torch.stack(columns, dim=1)


@right
def loops_over_texts(idx, tok_emb, pos_emb):
    """One token at a time; slow."""
    B, T = idx.shape
    texts = []
    for b in range(B):
        rows = []
        for t in range(T):
            position = torch.tensor(t, device=idx.device)
            rows.append(tok_emb(idx[b, t]) + pos_emb(position))
        texts.append(torch.stack(rows))
    return torch.stack(texts)


@right
def flattened_texts(idx, tok_emb, pos_emb):
    B, T = idx.shape
    tokens = torch.index_select(tok_emb.weight, 0, idx.reshape(B * T))
    places = pos_emb.weight.narrow(0, 0, T).repeat(B, 1)
    return (tokens + places).reshape(B, T, -1)


@right
def added_in_place_to_the_copy(idx, tok_emb, pos_emb):
    H = tok_emb(idx)
    H += pos_emb(torch.tensor(range(idx.size(1)), device=idx.device))
    return H


# The wrong position


@wrong("position by batch")
def one_position_per_text(idx, tok_emb, pos_emb):
    B = idx.size(0)
    return tok_emb(idx) + pos_emb(torch.arange(B, device=idx.device)[:, None])


@wrong("position by batch")
def length_taken_from_axis_zero(idx, tok_emb, pos_emb):
    T = idx.shape[0]
    positions = torch.arange(T, device=idx.device)
    return tok_emb(idx) + pos_emb(positions)  # fits when B = T or B = 1


@wrong("position by batch")
def sizes_unpacked_in_the_wrong_order(idx, tok_emb, pos_emb):
    T, B = idx.shape
    positions = torch.arange(T, device=idx.device).unsqueeze(1).expand(T, B)
    return tok_emb(idx) + pos_emb(positions)


@wrong("position by batch")
def running_count_over_texts(idx, tok_emb, pos_emb):
    positions = torch.ones_like(idx).cumsum(dim=0) - 1
    return tok_emb(idx) + pos_emb(positions)


@wrong("off by one")
def positions_from_one(idx, tok_emb, pos_emb):
    T = idx.size(1)
    return tok_emb(idx) + pos_emb(torch.arange(1, T + 1, device=idx.device))


@wrong("off by one")
def positions_from_one_kept_inside(idx, tok_emb, pos_emb):
    positions = torch.ones_like(idx).cumsum(dim=1).clamp(max=pos_emb.num_embeddings - 1)
    return tok_emb(idx) + pos_emb(positions)


@wrong("off by one")
def table_rolled_by_one(idx, tok_emb, pos_emb):
    T = idx.size(1)
    return tok_emb(idx) + pos_emb.weight.roll(-1, dims=0)[:T]


@wrong("whole table added")
def all_rows(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb.weight


@wrong("whole table added")
def arange_of_the_whole_table(idx, tok_emb, pos_emb):
    positions = torch.arange(pos_emb.num_embeddings, device=idx.device)
    return tok_emb(idx) + pos_emb(positions)


@wrong("counted from the end")
def last_rows(idx, tok_emb, pos_emb):
    T = idx.size(1)
    return tok_emb(idx) + pos_emb.weight[-T:]


@wrong("counted from the end")
def last_positions_of_the_context(idx, tok_emb, pos_emb):
    T, T_max = idx.size(-1), pos_emb.num_embeddings
    return tok_emb(idx) + pos_emb(torch.arange(T_max - T, T_max, device=idx.device))


@wrong("counted backwards")
def last_token_is_position_zero(idx, tok_emb, pos_emb):
    T = idx.size(1)
    return tok_emb(idx) + pos_emb(torch.arange(T - 1, -1, -1, device=idx.device))


@wrong("counted backwards")
def table_flipped(idx, tok_emb, pos_emb):
    first = pos_emb.weight[: idx.size(1)]
    return tok_emb(idx) + first.flip(0)


@wrong("same position for all")
def zeros_looked_up(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(torch.zeros_like(idx))


@wrong("same position for all")
def first_row_of_the_table(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb.weight[0]


@wrong("same position for all")
def length_as_the_position(idx, tok_emb, pos_emb):
    last = torch.tensor(idx.size(1) - 1, device=idx.device)
    return tok_emb(idx) + pos_emb(last)


# The wrong sum


@wrong("multiplied")
def product(idx, tok_emb, pos_emb):
    return tok_emb(idx) * pos_emb(torch.arange(idx.size(1), device=idx.device))


@wrong("no positions")
def tokens_alone(idx, tok_emb, pos_emb):
    return tok_emb(idx)


@wrong("no positions")
def sum_not_kept(idx, tok_emb, pos_emb):
    H = tok_emb(idx)
    H.add(pos_emb(torch.arange(idx.size(1), device=idx.device)))  # not in place
    return H


@wrong("no tokens")
def positions_alone(idx, tok_emb, pos_emb):
    B, T = idx.shape
    return pos_emb(torch.arange(T, device=idx.device)).expand(B, T, -1)


@wrong("no tokens")
def tokens_overwritten(idx, tok_emb, pos_emb):
    H = tok_emb(idx)
    idx = torch.arange(idx.size(1), device=idx.device).expand_as(idx)
    H = pos_emb(idx)
    return H


@wrong("positions looked up by token")
def token_in_both_tables(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(idx)


@wrong("positions looked up by token")
def token_folded_into_the_table(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(idx % pos_emb.num_embeddings)


@wrong("position number added")
def bare_numbers(idx, tok_emb, pos_emb):
    T = idx.size(1)
    return tok_emb(idx) + torch.arange(T, device=idx.device)[..., None]


@wrong("position number added")
def numbers_as_floats(idx, tok_emb, pos_emb):
    H = tok_emb(idx)
    positions = torch.arange(idx.size(1), dtype=H.dtype, device=idx.device)
    return H + positions.view(1, -1, 1)


@wrong("embeddings scaled")
def tokens_times_root_of_d(idx, tok_emb, pos_emb):
    d = tok_emb.embedding_dim
    return tok_emb(idx) * math.sqrt(d) + pos_emb(torch.arange(idx.size(1), device=idx.device))


@wrong("embeddings scaled")
def sum_over_root_of_two(idx, tok_emb, pos_emb):
    total = tok_emb(idx) + pos_emb.weight[: idx.size(1)]
    return total / math.sqrt(2)


@wrong("concatenated")
def side_by_side(idx, tok_emb, pos_emb):
    B, T = idx.shape
    positions = pos_emb(torch.arange(T, device=idx.device)).expand(B, T, -1)
    return torch.cat([tok_emb(idx), positions], dim=-1)


@wrong("concatenated")
def one_after_the_other(idx, tok_emb, pos_emb):
    positions = pos_emb(torch.arange(idx.size(1), device=idx.device).expand_as(idx))
    return torch.cat((tok_emb(idx), positions), dim=1)


# Faults that any answer can have


@wrong("raised an error")
def length_looked_up(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(idx.size(1))  # a number, not a tensor


@wrong("returned nothing")
def return_forgotten(idx, tok_emb, pos_emb):
    H = tok_emb(idx)
    H = H + pos_emb(torch.arange(idx.size(1), device=idx.device))


@wrong("wrong shape")
def texts_flattened(idx, tok_emb, pos_emb):
    H = tok_emb(idx) + pos_emb(torch.arange(idx.size(1), device=idx.device))
    return H.view(-1, H.size(-1))


@wrong("wrong dtype")
def double_precision(idx, tok_emb, pos_emb):
    positions = pos_emb(torch.arange(idx.size(1), device=idx.device))
    return tok_emb(idx).double() + positions.double()


@wrong("wrong device")
def moved_elsewhere(idx, tok_emb, pos_emb):
    H = tok_emb(idx) + pos_emb(torch.arange(idx.size(1), device=idx.device))
    return H.to("meta")


@wrong("gradient cut")
def bare_tables(idx, tok_emb, pos_emb):
    return tok_emb.weight.data[idx] + pos_emb.weight.data[: idx.size(1)]


@wrong("gradient cut")
def positions_detached(idx, tok_emb, pos_emb):
    # The tokens learn, the positions do not.
    return tok_emb(idx) + pos_emb(torch.arange(idx.size(1), device=idx.device)).detach()


@wrong("gradient cut")
def without_gradients(idx, tok_emb, pos_emb):
    with torch.no_grad():
        return tok_emb(idx) + pos_emb(torch.arange(idx.size(1), device=idx.device))


@wrong("inputs changed")
def indices_overwritten(idx, tok_emb, pos_emb):
    H = tok_emb(idx)
    idx[:] = torch.arange(idx.size(1), device=idx.device)  # a backward pass fails after this
    return H + pos_emb(idx)


@wrong("inputs changed")
def token_table_rewritten(idx, tok_emb, pos_emb):
    # Each row picked by a single index is a view of the table.
    H = tok_emb(idx) + pos_emb(torch.arange(idx.size(1), device=idx.device))
    for t in range(idx.size(1)):
        row = tok_emb.weight.data[int(idx[0, t])]
        row += pos_emb.weight.data[t]
    return H


@wrong("inputs changed")
def rest_of_the_table_cleared(idx, tok_emb, pos_emb):
    pos_emb.weight.data[idx.size(1) :] = 0.0
    return tok_emb(idx) + pos_emb(torch.arange(idx.size(1), device=idx.device))


@wrong("tables swapped")
def tables_swapped(idx, tok_emb, pos_emb):
    return pos_emb(idx) + tok_emb(torch.arange(idx.size(1)))


@wrong("position by batch")
def one_axis_too_many(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(torch.arange(idx.size(1))).unsqueeze(1)


@wrong("sines and cosines")
def fixed_positions(idx, tok_emb, pos_emb):
    T, d = idx.size(1), tok_emb.embedding_dim
    angle = torch.arange(T)[:, None] / 10_000 ** (torch.arange(0, d, 2) / d)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return tok_emb(idx) + table


@wrong("raised an error")
def table_indexed(idx, tok_emb, pos_emb):
    return tok_emb[idx] + pos_emb[torch.arange(idx.size(1))]


@wrong("raised an error")
def always_the_context_length(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(torch.arange(128))


@wrong("only in some cases")
def positions_start_anew(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(torch.arange(idx.size(1)) % 64)


@wrong("only in some cases")
def only_in_training(idx, tok_emb, pos_emb):
    H = tok_emb(idx)
    return H + pos_emb(torch.arange(idx.size(1))) if pos_emb.training else H


@right  # on the CPU
def device_left_out(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(torch.arange(idx.size(1)))


@right
def device_by_to(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb(torch.arange(idx.size(1)).to(idx.device))


@wrong("wrong type")
def by_way_of_numpy(idx, tok_emb, pos_emb):
    H = tok_emb(idx) + pos_emb(torch.arange(idx.size(1)))
    return H.detach().numpy()


@wrong("wrong type")
def sparse(idx, tok_emb, pos_emb):
    return (tok_emb(idx) + pos_emb(torch.arange(idx.size(1)))).to_sparse()


@wrong("wrong values")
def third_position_for_all_that_follow(idx, tok_emb, pos_emb):
    # A text of three characters shows nothing of it.
    return tok_emb(idx) + pos_emb(torch.arange(idx.size(1)).clamp(max=2))


@wrong("raised an error")
def positions_from_three(idx, tok_emb, pos_emb):
    T = idx.size(1)
    return tok_emb(idx) + pos_emb(torch.arange(3, T + 3))


@wrong("embeddings scaled")
def scaled_and_always_five_positions(idx, tok_emb, pos_emb):
    return tok_emb(idx) * math.sqrt(tok_emb.embedding_dim) + pos_emb(torch.arange(5))


@wrong("only in some cases")
def one_text_squeezed(idx, tok_emb, pos_emb):
    return (tok_emb(idx) + pos_emb(torch.arange(idx.size(1)))).squeeze(0)


@wrong("only in some cases")
def one_character_squeezed(idx, tok_emb, pos_emb):
    return (tok_emb(idx) + pos_emb(torch.arange(idx.size(1)))).squeeze(1)


@wrong("only in some cases")
def at_most_32_texts(idx, tok_emb, pos_emb):
    B, T = idx.shape
    return tok_emb(idx) + pos_emb(torch.arange(T).expand(min(B, 32), T))


@wrong("only in some cases")
def indices_viewed_as_a_row(idx, tok_emb, pos_emb):
    H = tok_emb(idx.view(-1)).view(*idx.shape, -1)
    return H + pos_emb(torch.arange(idx.size(1)))


@wrong("only in some cases")
def gradient_asked_for(idx, tok_emb, pos_emb):
    H = tok_emb(idx) + pos_emb(torch.arange(idx.size(1)))
    H.retain_grad()  # under no_grad there is none, and torch refuses
    return H
