"""Scaled dot-product attention, the causal mask and the multi-head layer.

One letter per dimension, here and in every other module:

    B    batch, T positions, d width of the model, V vocabulary
    n_h  heads, d_k width of one head (d = n_h * d_k)
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minigpt.passed_in import call_attention

# (Q, K, V, mask) -> (V_bar, A)
AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]


def scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Average the values, weighted by how well each query matches each key (equations 3, 4, 6).

    Args:
        Q: queries, (..., T, d_k).
        K: keys, (..., S, d_k); in self-attention S = T.
        V: values, (..., S, d_k).
        mask: boolean, (T, S) or broadcastable to the scores; True where a query may read a key.

    Returns:
        ``V_bar``, (..., T, d_k), and the weights ``A``, (..., T, S), whose rows sum to 1.

    Vaswani et al. (2017), section 3.2.1.
    """
    d_k = Q.size(-1)
    scores = (Q / math.sqrt(d_k)) @ K.transpose(-2, -1)  # (..., T, S); Q is smaller than the scores
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    A = scores.softmax(dim=-1)  # (..., T, S)
    return A @ V, A  # (..., T, d_k), (..., T, S)


def fused_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, None]:
    """Compute the same average with torch's fused kernel, which never stores the weights.

    Shapes are those of :func:`scaled_dot_product_attention`; None stands in place of A.
    """
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask), None  # (..., T, d_k)


def causal_mask(T: int) -> Tensor:
    """Say for each position which positions it may read: itself and those before it (equation 6).

    Returns:
        Boolean, (T, T); row t, column i is True where i <= t.
    """
    positions = torch.arange(T)
    return positions <= positions[:, None]  # (T, T)


class MultiHeadAttention(nn.Module):
    """Run n_h attention steps side by side and mix their outputs (equation 7).

    Args:
        d: width of the vectors that come in and go out.
        n_h: number of heads; divides d.
        attention: any function with the signature of :func:`scaled_dot_product_attention`.
        rotate: applied to queries and keys before they meet, ``rotate(x, start)`` with x of shape
            (B, n_h, T, d_k) beginning at position ``start``; None for none.

    Vaswani et al. (2017), section 3.2.2. W_Q, W_K and W_V have no bias, W_proj has one.
    """

    def __init__(
        self,
        d: int,
        n_h: int,
        *,
        attention: AttentionFunction = scaled_dot_product_attention,
        rotate: Callable[[Tensor, int], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.n_h = n_h
        self.attention = attention
        self.rotate = rotate
        self.W_Q = nn.Linear(d, d, bias=False)
        self.W_K = nn.Linear(d, d, bias=False)
        self.W_V = nn.Linear(d, d, bias=False)
        self.W_proj = nn.Linear(d, d)

    def forward(
        self, H: Tensor, mask: Tensor | None = None, cache: dict[str, Tensor] | None = None
    ) -> Tensor:
        """Map (B, T, d) to (B, T, d).

        Args:
            H: vectors of the T new positions.
            mask: boolean, (T, S), where S counts the positions in the cache too.
            cache: keys and values of the S - T positions read before, extended in place.

        Raises:
            ValueError: the attention function returned something else than (V_bar, A).
        """
        Q, K, V = (self.split(W(H)) for W in (self.W_Q, self.W_K, self.W_V))  # (B, n_h, T, d_k)
        if self.rotate is not None:
            start = cache["K"].size(-2) if cache else 0
            Q, K = self.rotate(Q, start), self.rotate(K, start)  # (B, n_h, T, d_k)
        if cache is not None:
            if cache:
                K = torch.cat([cache["K"], K], dim=-2)  # (B, n_h, S, d_k)
                V = torch.cat([cache["V"], V], dim=-2)  # (B, n_h, S, d_k)
            cache.update(K=K, V=V)
        V_bar = call_attention(self.attention, Q, K, V, mask)  # (B, n_h, T, d_k)
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))  # (B, T, d)

    def split(self, x: Tensor) -> Tensor:
        """Cut (B, T, d) into heads, (B, n_h, T, d_k)."""
        return x.unflatten(-1, (self.n_h, -1)).transpose(1, 2)
