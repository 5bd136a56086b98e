"""Holds right and wrong answers to ``attend_with_cache(layer, H, mask, cache)``."""

import torch

from answers.bank import right, wrong
from minigpt.attention import causal_mask


def joined(layer, V_bar):
    """Give what the layer writes, once the heads have their averages."""
    return layer.W_proj(V_bar.transpose(1, 2).flatten(2))


def projected(layer, H):
    return [layer.split(W(H)) for W in (layer.W_Q, layer.W_K, layer.W_V)]


# Right


@right
def if_there_are_any(layer, H, mask, cache):
    Q, K, V = (layer.split(W(H)) for W in (layer.W_Q, layer.W_K, layer.W_V))
    if cache:
        K = torch.cat([cache["K"], K], dim=-2)
        V = torch.cat([cache["V"], V], dim=-2)
    cache["K"], cache["V"] = K, V
    V_bar, _ = layer.attention(Q, K, V, mask)
    return joined(layer, V_bar)


@right
def loop_over_both(layer, H, mask, cache):
    for name, W in (("K", layer.W_K), ("V", layer.W_V)):
        new = layer.split(W(H))
        cache[name] = torch.cat([cache[name], new], 2) if name in cache else new
    Q = layer.split(layer.W_Q(H))
    return joined(layer, layer.attention(Q, cache["K"], cache["V"], mask)[0])


@right
def empty_to_begin_with(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    cache.update(
        K=torch.cat([cache.get("K", K[:, :, :0]), K], dim=-2),
        V=torch.cat([cache.get("V", V[:, :, :0]), V], dim=-2),
    )
    V_bar, _ = layer.attention(Q, cache["K"], cache["V"], mask=mask)
    return joined(layer, V_bar)


@right
def kept_before_the_split(layer, H, mask, cache):
    K, V = layer.W_K(H), layer.W_V(H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=1), torch.cat([cache["V"], V], dim=1)
    cache["K"], cache["V"] = K, V
    Q = layer.split(layer.W_Q(H))
    return joined(layer, layer.attention(Q, layer.split(K), layer.split(V), mask)[0])


@right
def heads_cut_by_hand(layer, H, mask, cache):
    B, T, d = H.shape

    def cut(x):
        return x.view(B, T, layer.n_h, d // layer.n_h).transpose(1, 2)

    Q, K, V = cut(layer.W_Q(H)), cut(layer.W_K(H)), cut(layer.W_V(H))
    if "K" in cache:
        K, V = torch.cat((cache["K"], K), dim=2), torch.cat((cache["V"], V), dim=2)
    cache["K"] = K
    cache["V"] = V
    V_bar = layer.attention(Q, K, V, mask)[0]
    return layer.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@right
def no_mask_for_a_single_position(layer, H, mask, cache):
    # It may read all before it, so nothing is forbidden.
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask if H.size(1) > 1 else None)[0])


# What is kept


@wrong("cache not kept")
def never_stored(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("cache not kept")
def another_dict(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache = {"K": K, "V": V}
    return joined(layer, layer.attention(Q, cache["K"], cache["V"], mask)[0])


@wrong("cache overwritten")
def newest_alone_stored(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    new = {"K": K, "V": V}
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(new)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("cache not extended")
def stored_on_the_first_call_alone(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    else:
        cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("values not kept")
def keys_alone(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K = torch.cat([cache["K"], K], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("another cache")
def other_names(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["keys"], K], dim=-2), torch.cat([cache["values"], V], dim=-2)
    cache.update(keys=K, values=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("another cache")
def vectors_kept_and_projected_anew(layer, H, mask, cache):
    cache["H"] = torch.cat([cache["H"], H], dim=1) if cache else H
    K, V = layer.split(layer.W_K(cache["H"])), layer.split(layer.W_V(cache["H"]))
    return joined(layer, layer.attention(layer.split(layer.W_Q(H)), K, V, mask)[0])


@wrong("projected again")
def everything_projected_anew(layer, H, mask, cache):
    cache["H"] = torch.cat([cache["H"], H], dim=1) if cache else H
    cache["K"] = layer.split(layer.W_K(cache["H"]))
    cache["V"] = layer.split(layer.W_V(cache["H"]))
    Q = layer.split(layer.W_Q(H))
    return joined(layer, layer.attention(Q, cache["K"], cache["V"], mask)[0])


# What is read


@wrong("reads the new alone")
def stored_and_not_used(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        cache["K"] = torch.cat([cache["K"], K], dim=-2)
        cache["V"] = torch.cat([cache["V"], V], dim=-2)
    else:
        cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("the new left out")
def the_past_alone(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    old_K, old_V = cache.get("K", K), cache.get("V", V)
    cache["K"] = torch.cat([cache["K"], K], dim=-2) if cache else K
    cache["V"] = torch.cat([cache["V"], V], dim=-2) if "V" in cache else V
    return joined(layer, layer.attention(Q, old_K, old_V, mask)[0])


@wrong("new before old")
def put_in_front(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([K, cache["K"]], dim=-2), torch.cat([V, cache["V"]], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("keys and values in different order")
def values_put_in_front(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([V, cache["V"]], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("keys and values exchanged")
def keys_behind_values(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["V"], K], dim=-2), torch.cat([cache["K"], V], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("queries of all positions")
def queries_kept_too(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        Q = torch.cat([cache["Q"], Q], dim=-2)
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(Q=Q, K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


# The mask


@wrong("mask not passed")
def no_mask(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V)[0])


@wrong("another mask")
def mask_of_the_new_positions(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, causal_mask(H.size(1)))[0])


@wrong("another mask")
def mask_of_all_positions(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, causal_mask(K.size(-2)))[0])


@wrong("another mask")
def stale_mask(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    if "mask" not in cache:
        cache["mask"] = mask  # of the first call
    return joined(layer, layer.attention(Q, K, V, cache["mask"])[0])


# The layer around it


@wrong("heads not split")
def full_width(layer, H, mask, cache):
    Q, K, V = layer.W_Q(H), layer.W_K(H), layer.W_V(H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return layer.W_proj(layer.attention(Q, K, V, mask)[0])


@wrong("projections exchanged")
def values_made_by_W_K(layer, H, mask, cache):
    Q, K, V = layer.split(layer.W_Q(H)), layer.split(layer.W_K(H)), layer.split(layer.W_K(H))
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("no output projection")
def heads_not_mixed(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return layer.attention(Q, K, V, mask)[0].transpose(1, 2).flatten(2)


@wrong("merged without transpose")
def joined_as_they_stand(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return layer.W_proj(layer.attention(Q, K, V, mask)[0].reshape(H.shape))


@wrong("own attention not used")
def softmax_by_hand(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    scores = (Q @ K.mT / K.size(-1) ** 0.5).masked_fill(~mask, -torch.inf)
    return joined(layer, scores.softmax(-1) @ V)


@wrong("the layer itself called")
def handed_back_to_the_layer(layer, H, mask, cache):
    return layer(H, mask, cache)


# Faults that any answer can have


@wrong("raised an error")
def joined_along_the_batch(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K]), torch.cat([cache["V"], V])
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("raised an error")
def first_call_not_thought_of(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("raised an error")
def pair_not_unpacked(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask))


@wrong("returned nothing")
def return_forgotten(layer, H, mask, cache):
    if_there_are_any(layer, H, mask, cache)


@wrong("wrong shape")
def heads_returned(layer, H, mask, cache):
    Q, K, V = projected(layer, H)
    if cache:
        K, V = torch.cat([cache["K"], K], dim=-2), torch.cat([cache["V"], V], dim=-2)
    cache.update(K=K, V=V)
    return layer.attention(Q, K, V, mask)[0]


@wrong("wrong shape")
def last_position_alone(layer, H, mask, cache):
    return if_there_are_any(layer, H, mask, cache)[:, -1:]


@wrong("wrong values")
def residual_added(layer, H, mask, cache):
    return H + if_there_are_any(layer, H, mask, cache)


remembered: dict = {}


@wrong("only in some cases")
def one_cache_for_all(layer, H, mask, cache):
    # A name outside the function, which every layer shares, and every text.
    Q, K, V = projected(layer, H)
    past = mask.size(1) - H.size(1)
    if past:
        K = torch.cat([remembered["K"][:, :, :past], K], dim=-2)
        V = torch.cat([remembered["V"][:, :, :past], V], dim=-2)
    remembered.update(K=K, V=V)
    cache.update(K=K, V=V)
    return joined(layer, layer.attention(Q, K, V, mask)[0])


@wrong("only in some cases")
def no_more_than_64_kept(layer, H, mask, cache):
    result = if_there_are_any(layer, H, mask, cache)
    if cache["K"].size(-2) > 64:
        cache["V"] = cache["V"] * 0.9
    return result
