"""Three ways to tell a Transformer where a token stands: learned, sinusoidal, rotary."""

import torch
from torch import Tensor, nn


def embed_with_positions(idx: Tensor, tok_emb: nn.Embedding, pos_emb: nn.Embedding) -> Tensor:
    """Add to each token's embedding the vector of its position (equation 8).

    Args:
        idx: token indices, (B, T).
        tok_emb: V vectors of width d, one per token.
        pos_emb: at least T vectors of width d, one per position.

    Returns:
        Input vectors of the first layer, (B, T, d).
    """
    positions = torch.arange(idx.size(-1), device=idx.device)  # (T,)
    return tok_emb(idx) + pos_emb(positions)  # (B, T, d)


def _angles(T: int, width: int) -> Tensor:
    """Angle omega_j * t of position t and pair j, (T, width / 2); omega_j as in equation 9."""
    if width % 2:
        raise ValueError(f"sines and cosines come in pairs: the width has to be even, not {width}")
    omega = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)  # (width / 2,)
    return torch.arange(T, dtype=torch.float64)[:, None] * omega  # (T, width / 2)


def sinusoidal_table(T: int, d: int) -> Tensor:
    """Compute the fixed position vectors of Vaswani et al. (2017), section 3.5 (equation 9).

    Positions count from 0, as the rows of a table do.

    Returns:
        (T, d): sines in the even coordinates, cosines in the odd ones.

    Raises:
        ValueError: d is odd.
    """
    angles = _angles(T, d)  # (T, d / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()  # (T, d)


class RotaryEmbedding(nn.Module):
    """Rotate queries and keys by an angle that grows with their position (Su et al., 2021).

    The dot product of two rotated vectors depends on their positions through the offset alone.

    Args:
        T_max: number of positions that can be rotated.
        d_k: width of a query or key; even.
    """

    def __init__(self, T_max: int, d_k: int) -> None:
        super().__init__()
        angles = _angles(T_max, d_k)  # (T_max, d_k / 2)
        # Computed, so not part of the state dict.
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Rotate (..., T, d_k), whose first row stands at position ``start``; same shape out."""
        T = x.size(-2)
        return _turned(x, self.cos[start : start + T], self.sin[start : start + T])


def rotate(x: Tensor, start: int = 0) -> Tensor:
    """Do the same as :class:`RotaryEmbedding` for any length, and compute the angles each time."""
    T, d_k = x.shape[-2:]
    angles = _angles(start + T, d_k)[start:]  # (T, d_k / 2)
    return _turned(x, angles.cos().to(x), angles.sin().to(x))


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn pair j of row t by the angle of that cosine and sine; x is (..., T, d_k)."""
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2)
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2)  # (..., T, d_k)
