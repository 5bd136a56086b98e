"""The mini-GPT with one part taken out or exchanged, to train it and see what the part is worth."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from minigpt.attention import causal_mask, scaled_dot_product_attention
from minigpt.model import Block, Config, MiniGPT
from minigpt.positions import embed_with_positions
from minigpt.training import Budget


def unscaled_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attend with the raw dot products, not divided by sqrt(d_k); shapes as in the scaled one."""
    return scaled_dot_product_attention(Q * Q.size(-1) ** 0.5, K, V, mask)


def everything_allowed(T: int) -> Tensor:
    """Let every position read every other, (T, T); what a causal mask is there to prevent."""
    return torch.ones(T, T, dtype=torch.bool)


def embed_with_larger_tokens(idx: Tensor, tok_emb: nn.Embedding, pos_emb: nn.Embedding) -> Tensor:
    """Multiply the token vectors by sqrt(d) before the positions are added, (B, T, d).

    Vaswani et al. (2017), section 3.4.
    """
    return embed_with_positions(
        idx, lambda tokens: tok_emb(tokens) * tok_emb.embedding_dim**0.5, pos_emb
    )


class BlockWithoutResiduals(Block):
    """A pre-norm block in which each sublayer replaces the stream and is not added to it."""

    def forward(self, H: Tensor, mask: Tensor, cache: dict[str, Tensor] | None = None) -> Tensor:
        """Map (B, T, d) to (B, T, d)."""
        H = self.dropout(self.attn(self.norm_1(H), mask, cache))  # (B, T, d)
        return self.dropout(self.ffn(self.norm_2(H)))  # (B, T, d)


class BlockWithoutFeedForward(Block):
    """A pre-norm block of attention alone."""

    def __init__(self, config: Config, **functions) -> None:
        super().__init__(config, **functions)
        del self.norm_2, self.ffn

    def forward(self, H: Tensor, mask: Tensor, cache: dict[str, Tensor] | None = None) -> Tensor:
        """Map (B, T, d) to (B, T, d)."""
        return H + self.dropout(self.attn(self.norm_1(H), mask, cache))  # (B, T, d)


class BlockWithoutNorms(Block):
    """A block whose sublayers read the stream as it is."""

    def __init__(self, config: Config, **functions) -> None:
        super().__init__(config, **functions)
        del self.norm_1, self.norm_2

    def forward(self, H: Tensor, mask: Tensor, cache: dict[str, Tensor] | None = None) -> Tensor:
        """Map (B, T, d) to (B, T, d)."""
        H = H + self.dropout(self.attn(H, mask, cache))  # (B, T, d)
        return H + self.dropout(self.ffn(H))  # (B, T, d)


class PostNormBlock(Block):
    """A block that is post-norm (equation 13) whatever its configuration says."""

    def __init__(self, config: Config, **functions) -> None:
        super().__init__(replace(config, norm="post"), **functions)


@dataclass(frozen=True)
class Variant:
    """What differs from the mini-GPT; everything left empty is as it is there."""

    name: str
    config: dict = field(default_factory=dict)  # fields of Config
    functions: dict[str, Callable] = field(default_factory=dict)  # arguments of MiniGPT
    budget: dict = field(default_factory=dict)  # fields of Budget

    @property
    def reads_ahead(self) -> bool:
        """Whether it sees the character that it predicts, so that its loss is no prediction."""
        mask = self.functions.get("mask", causal_mask)
        return bool(mask(2)[0, 1])

    def build(self, config: Config | None = None) -> MiniGPT:
        """Make the model, with random weights."""
        return MiniGPT(replace(config or Config(), **self.config), **self.functions)

    def train_with(self, budget: Budget) -> Budget:
        """Give the variant's own budget."""
        return replace(budget, **self.budget)


VARIANTS = {
    "no-mask": Variant("no causal mask", functions={"mask": everything_allowed}),
    "no-positions": Variant("no positions", config={"positions": "none"}),
    "sinusoidal": Variant("sinusoidal positions", config={"positions": "sinusoidal"}),
    "sinusoidal-scaled": Variant(
        "sinusoidal positions, token vectors times √d",
        config={"positions": "sinusoidal"},
        functions={"embed": embed_with_larger_tokens},
    ),
    "rotary": Variant("rotary positions", config={"positions": "rotary"}),
    "no-scaling": Variant("no division by √d_k", functions={"attention": unscaled_attention}),
    "one-head": Variant("one head", config={"n_h": 1}),
    "post-norm": Variant("post-norm", config={"norm": "post"}),
    "post-norm-no-warm-up": Variant(
        "post-norm, no warm-up", config={"norm": "post"}, budget={"warm_up": 0}
    ),
    "no-warm-up": Variant("no warm-up", budget={"warm_up": 0}),
    "no-norms": Variant("no LayerNorm", functions={"block": BlockWithoutNorms}),
    "no-residuals": Variant("no residual connections", functions={"block": BlockWithoutResiduals}),
    "no-ffn": Variant("no feed-forward layer", functions={"block": BlockWithoutFeedForward}),
}
