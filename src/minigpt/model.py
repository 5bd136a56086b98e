"""A decoder-only Transformer, top to bottom: Config, FeedForward, Block, MiniGPT.

The multi-head layer it uses is in :mod:`minigpt.attention`, the input vectors in
:mod:`minigpt.positions`. With its default configuration the model has 824,897 parameters.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch.nn.functional as F
from torch import Tensor, nn

from minigpt.attention import (
    AttentionFunction,
    MultiHeadAttention,
    causal_mask,
    scaled_dot_product_attention,
)
from minigpt.passed_in import call_embed, call_mask
from minigpt.positions import RotaryEmbedding, embed_with_positions, sinusoidal_table

Norm = Literal["pre", "post"]
Positions = Literal["learned", "sinusoidal", "rotary", "none"]


@dataclass(frozen=True)
class Config:
    """The sizes of a model and its two choices of architecture.

    Raises:
        ValueError: a value makes no model; the message names it.
    """

    vocab_size: int = 65  # V, distinct characters
    d: int = 128  # width of the residual stream
    n_h: int = 4  # heads per layer; d_k = d / n_h
    n_l: int = 4  # blocks
    T_max: int = 128  # context length: the longest text the model reads at once
    dropout: float = 0.1  # on the input vectors and on each sublayer's output
    norm: Norm = "pre"  # LayerNorm before each sublayer (12) or after the addition (13)
    positions: Positions = "learned"  # how order enters

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d", "n_h", "n_l", "T_max"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} has to be a whole number above 0, not {value!r}")
        if self.d % self.n_h:
            raise ValueError(
                f"the width d = {self.d} cannot be cut into n_h = {self.n_h} heads of equal width"
            )
        if not (isinstance(self.dropout, int | float) and 0 <= self.dropout < 1):
            raise ValueError(f"dropout is a share from 0 up to but not 1, not {self.dropout!r}")
        for name, choices in (("norm", get_args(Norm)), ("positions", get_args(Positions))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is one of {choices}, not {getattr(self, name)!r}")
        if self.positions == "sinusoidal" and self.d % 2:
            raise ValueError(f"sinusoidal positions need an even width d, not {self.d}")
        if self.positions == "rotary" and (self.d // self.n_h) % 2:
            raise ValueError(f"rotary positions need an even head width, not {self.d // self.n_h}")


class FeedForward(nn.Module):
    """One hidden layer of width 4d with a GELU, the same at every position (equation 10)."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.W_1 = nn.Linear(d, 4 * d)
        self.W_2 = nn.Linear(4 * d, d)

    def forward(self, H: Tensor) -> Tensor:
        """Map (B, T, d) to (B, T, d)."""
        return self.W_2(F.gelu(self.W_1(H)))  # (B, T, 4d) inside


class Block(nn.Module):
    """Attention, then a feed-forward layer, each added to the residual stream.

    ``norm="pre"`` is equation 12 (Radford et al., 2019), ``norm="post"`` equation 13 (Vaswani et
    al., 2017).
    """

    def __init__(self, config: Config, *, attention: AttentionFunction, rotate=None) -> None:
        super().__init__()
        self.pre_norm = config.norm == "pre"
        self.norm_1 = nn.LayerNorm(config.d)
        self.attn = MultiHeadAttention(config.d, config.n_h, attention=attention, rotate=rotate)
        self.norm_2 = nn.LayerNorm(config.d)
        self.ffn = FeedForward(config.d)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, H: Tensor, mask: Tensor, cache: dict[str, Tensor] | None = None) -> Tensor:
        """Map (B, T, d) to (B, T, d); mask and cache as in :class:`MultiHeadAttention`."""
        if self.pre_norm:
            H = H + self.dropout(self.attn(self.norm_1(H), mask, cache))  # (B, T, d)
            return H + self.dropout(self.ffn(self.norm_2(H)))  # (B, T, d)
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))  # (B, T, d)
        return self.norm_2(H + self.dropout(self.ffn(H)))  # (B, T, d)


class MiniGPT(nn.Module):
    """Predict the next character at every position of a text (equation 14).

    Args:
        config: sizes and architecture; the default is the model of the course.
        attention: used in every layer; see :func:`~minigpt.attention.scaled_dot_product_attention`.
        mask: ``mask(T)`` gives the boolean (T, T) mask, True = may read.
        embed: ``embed(idx, tok_emb, pos_emb)`` gives the input vectors, (B, T, d). With rotary
            positions, or none, nothing is added to the tokens and it is not called.
        block: ``block(config, attention=…, rotate=…)`` makes a layer with the signature of
            :class:`Block`.

    The state dict is the same whichever attention, mask or embedding is passed.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        attention: AttentionFunction = scaled_dot_product_attention,
        mask: Callable[[int], Tensor] = causal_mask,
        embed: Callable[[Tensor, nn.Embedding, nn.Embedding], Tensor] = embed_with_positions,
        block: Callable[..., nn.Module] = Block,
    ) -> None:
        super().__init__()
        self.config = config = config or Config()
        self.mask, self.embed, self.block = mask, embed, block
        self.tok_emb = nn.Embedding(config.vocab_size, config.d)
        self.pos_emb = rotate = None
        if config.positions == "rotary":
            rotate = RotaryEmbedding(config.T_max, config.d // config.n_h)
        elif config.positions != "none":
            self.pos_emb = nn.Embedding(config.T_max, config.d)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            block(config, attention=attention, rotate=rotate) for _ in range(config.n_l)
        )
        # Post-norm blocks end in a normalization; another one would follow it directly.
        self.norm_f = nn.LayerNorm(config.d) if config.norm == "pre" else nn.Identity()
        self.W_o = nn.Linear(config.d, config.vocab_size)
        self._initialize()

    def _initialize(self) -> None:
        """Draw the weights as GPT-2 does (Radford et al., 2019): normal, 0.02, biases 0.

        The layers that write into the residual stream start smaller by the square root of their
        number, so that the stream does not grow with depth.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        for name, weight in self.blocks.named_parameters():
            if name.endswith(("attn.W_proj.weight", "ffn.W_2.weight")):
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * self.config.n_l))
        if self.config.positions == "sinusoidal":
            table = sinusoidal_table(self.config.T_max, self.config.d)  # (T_max, d)
            self.pos_emb.weight = nn.Parameter(table, requires_grad=False)

    def forward(self, idx: Tensor, cache: list[dict[str, Tensor]] | None = None) -> Tensor:
        """Give the logits of the character that follows each position.

        Args:
            idx: the text from its first character, (B, T), T at most T_max.
            cache: what :meth:`new_cache` made and earlier calls filled. The positions it holds
                are not computed again, and logits come back for the new ones alone.

        Returns:
            Logits, (B, T, V), or (B, T - cached, V).

        Raises:
            ValueError: the text is longer than T_max, or a function that was passed in returned
                something of the wrong shape.
        """
        T = idx.size(-1)
        if T > self.config.T_max:  # noqa: SIM300
            raise ValueError(
                f"the text has {T} characters and the model reads at most T_max = "
                f"{self.config.T_max}: cut it to the last {self.config.T_max}"
            )
        past = cache[0]["K"].size(-2) if cache and cache[0] else 0
        mask = call_mask(self.mask, T).to(idx.device)[past:]  # (T - past, T)
        if self.pos_emb is None:
            H = self.tok_emb(idx)  # (B, T, d)
        else:
            H = call_embed(self.embed, idx, self.tok_emb, self.pos_emb)  # (B, T, d)
        H = self.dropout(H[:, past:])  # (B, T - past, d)
        for layer, block in enumerate(self.blocks):
            H = block(H, mask, cache[layer] if cache else None)  # (B, T - past, d)
        return self.W_o(self.norm_f(H))  # (B, T - past, V)

    def new_cache(self) -> list[dict[str, Tensor]]:
        """Make an empty key-value cache, one entry per layer, for :meth:`forward` to fill."""
        return [{} for _ in self.blocks]
