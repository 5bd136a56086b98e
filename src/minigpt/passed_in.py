"""Call the functions that were passed into a model, and name one whose output cannot be used."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def function_name(function: Callable) -> str:
    """Name a function that was passed in, for an error; a callable object goes by its class."""
    return getattr(function, "__name__", type(function).__name__)


def call_attention(attention: Callable, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None):
    """Give the averages V_bar, (..., T, d_k), of a function that returns (V_bar, A).

    Raises:
        ValueError: it returns something else.
    """
    name = function_name(attention)
    result = attention(Q, K, V, mask)
    if not (
        isinstance(result, tuple | list) and len(result) == 2 and isinstance(result[0], Tensor)
    ):
        raise ValueError(
            f"the attention function {name!r} has to return the pair (V_bar, A); "
            f"it returned {type(result).__name__}"
        )
    V_bar = result[0]
    if V_bar.shape != Q.shape:
        raise ValueError(
            f"the attention function {name!r} returned V_bar of shape {tuple(V_bar.shape)}; "
            f"queries of shape {tuple(Q.shape)} need an average of that same shape"
        )
    return V_bar


def call_mask(mask: Callable[[int], Tensor], T: int) -> Tensor:
    """Give the boolean mask of a text of T characters, (T, T).

    Raises:
        ValueError: the function returns something else.
    """
    made = mask(T)
    if not (isinstance(made, Tensor) and made.dtype == torch.bool and made.shape == (T, T)):
        found = (
            f"{made.dtype} of shape {tuple(made.shape)}"
            if isinstance(made, Tensor)
            else type(made).__name__
        )
        raise ValueError(
            f"the mask function {function_name(mask)!r} has to return a "
            f"boolean tensor of shape {(T, T)}; it returned {found}"
        )
    return made


def call_embed(embed: Callable, idx: Tensor, tok_emb: nn.Embedding, pos_emb: nn.Embedding):
    """Give the input vectors of a text, (B, T, d).

    Raises:
        ValueError: the function returns something else.
    """
    H = embed(idx, tok_emb, pos_emb)
    expected = (*idx.shape, tok_emb.embedding_dim)
    if not isinstance(H, Tensor) or H.shape != expected:
        found = f"shape {tuple(H.shape)}" if isinstance(H, Tensor) else type(H).__name__
        raise ValueError(
            f"the embedding function {function_name(embed)!r} has to "
            f"return vectors of shape {expected}; it returned {found}"
        )
    return H
