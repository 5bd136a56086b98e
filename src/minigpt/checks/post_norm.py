"""Variant 3, PostNormBlock: its usual mistakes, and how they are told apart."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from minigpt.attention import scaled_dot_product_attention
from minigpt.checks.layers import BLOCK_SAYS, SMALL, compare_blocks, randomized, stream_cases
from minigpt.checks.trial import Wrong, guarded
from minigpt.model import Block
from minigpt.variants import PostNormBlock

SAYS = {
    "pre-norm": (
        "You normalize what a sublayer reads. That is the pre-norm block of equation 12. Post-norm "
        "lets the sublayer read the stream as it is, and normalizes the sum (equation 13)."
    ),
    "normalized before and after": (
        "You normalize twice: what a sublayer reads, and the sum. In equation 13 there is one "
        "normalization for each sublayer, around the sum."
    ),
    "norm of the output": (
        "You normalize what a sublayer gives back, and then add it. In equation 13 the addition "
        "comes first: the normalization is around the sum, `self.norm_1(H + ...)`."
    ),
    "a normalization left out": (
        "One of the two sums, or both, is left as it is. Each sublayer is followed by a "
        "normalization: norm_1 after attention, norm_2 after the feed-forward layer (equation 13)."
    ),
    "sum not kept normalized": (
        "The normalized sum goes to the feed-forward layer alone, or the sum goes on beside it as "
        "it was. In equation 13 H' is the normalized sum: the feed-forward layer reads it, and it "
        "is what is added to."
    ),
    "a sublayer left out": (
        "One of the two sublayers, or both, leaves no trace in your result. Attention comes first, "
        "then the feed-forward layer, each added to the stream (equation 13)."
    ),
    "normalizations exchanged": BLOCK_SAYS["normalizations exchanged"],
    "one normalization twice": BLOCK_SAYS["one normalization twice"],
    "no residual": (
        "A sublayer replaces the stream instead of adding to it. In equation 13 the normalization "
        "is around H *plus* what the sublayer gives back."
    ),
    "parallel sublayers": (
        "Both sublayers read the same input. The feed-forward layer comes second: it reads H', the "
        "normalized sum, which already contains what attention wrote (equation 13)."
    ),
    "order swapped": "The feed-forward layer comes first in yours. Attention does (equation 13).",
    "mask not passed": BLOCK_SAYS["mask not passed"],
    "cache not passed": (
        "Your block is right, but the cache does not reach the attention layer: `self.attn(H, "
        "mask, cache)`. A model of such blocks could not write with a cache."
    ),
    "dropout on the stream": BLOCK_SAYS["dropout on the stream"],
    "dropout left out": BLOCK_SAYS["dropout left out"],
    "dropout on one sublayer": BLOCK_SAYS["dropout on one sublayer"],
    "dropout misplaced": BLOCK_SAYS["dropout misplaced"],
    "wrong values": (
        "On the same weights your block gives other numbers than the course's own (equation 13)."
    ),
}


def examine(answer: Any) -> list[str]:
    """Judge an answer; give notes when it is right.

    Raises:
        Wrong: it is not.
    """
    own = randomized(PostNormBlock(SMALL, attention=scaled_dot_product_attention))

    def all_dropped(H: Tensor) -> Tensor:
        return own.norm_2(own.norm_1(H))

    mine = compare_blocks(
        "PostNormBlock", answer, own, _mistakes, _dropout_mistakes, SAYS, all_dropped
    )
    cache: dict[str, Tensor] = {}
    with torch.no_grad():
        guarded(mine.eval(), *stream_cases()[0], cache)
    if not cache:
        raise Wrong("cache not passed", SAYS["cache not passed"])
    return []


def _mistakes(own: Block) -> list[tuple[str, Callable]]:
    n1, n2, at, ff = own.norm_1, own.norm_2, own.attn, own.ffn

    def none(x: Tensor) -> Tensor:
        return x

    def block(before=none, inside=none, after=n1, masked=True, adds=1, then=None):
        """Make a block whose first step may be wrong; the second sees both states."""

        def forward(H: Tensor, mask: Tensor) -> Tensor:
            wrote = inside(at(before(H), mask if masked else None))
            H_1 = after(adds * H + wrote)
            return (then or second)(H_1, H)

        return forward

    def second(H: Tensor, _) -> Tensor:
        return n2(H + ff(H))

    def steps(before, inside, after, adds=1):
        return lambda H, _: after(adds * H + inside(ff(before(H))))

    pairs = [
        ("pre-norm", (n1, none, none), (n2, none, none)),
        ("normalized before and after", (n1, none, n1), (n2, none, n2)),
        ("norm of the output", (none, n1, none), (none, n2, none)),
        ("a normalization left out", (none, none, none), (none, none, none)),
        ("one normalization twice", (none, none, n1), (none, none, n1)),
        ("one normalization twice", (none, none, n2), (none, none, n2)),
        ("normalizations exchanged", (none, none, n2), (none, none, n1)),
        ("no residual", (none, none, n1, True, 0), (none, none, n2, 0)),
    ]
    made = []
    for name, one, two in pairs:
        made.append((name, block(*one, then=steps(*two))))
        if name != "normalizations exchanged":
            made += [(name, block(*one)), (name, block(then=steps(*two)))]
    bare = {"after": none}  # the first sum as it is, for what the second step makes of it
    return [
        *made,
        ("sum not kept normalized", block(**bare, then=lambda H, _: n2(H + ff(n1(H))))),
        ("sum not kept normalized", block(**bare, then=lambda H, _: n2(n1(H) + ff(H)))),
        ("sum not kept normalized", block(**bare, then=lambda H, _: H + n2(n1(H) + ff(n1(H))))),
        ("a normalization left out", block(**bare, then=lambda H, _: n2(n1(H + ff(H))))),
        ("a sublayer left out", lambda H, mask: H),
        ("a sublayer left out", block(then=lambda H, _: H)),
        ("a sublayer left out", block(then=lambda H, _: n2(H))),
        ("a sublayer left out", lambda H, mask: second(H, H)),
        ("a sublayer left out", lambda H, mask: second(n1(H), H)),
        ("parallel sublayers", block(then=lambda H, before: n2(H + ff(before)))),
        ("parallel sublayers", block(**bare, then=lambda H, before: n2(H + ff(before)))),
        ("parallel sublayers", block(**bare, then=lambda H, before: n2(n1(H + ff(before))))),
        ("order swapped", lambda H, mask: (lambda F: n2(F + at(F, mask)))(n1(H + ff(H)))),
        ("order swapped", lambda H, mask: (lambda F: n1(F + at(F, mask)))(n2(H + ff(H)))),
        ("mask not passed", block(masked=False)),
    ]


def _dropout_mistakes(own: Block) -> list[tuple[str, Callable]]:
    n1, n2, at, ff, drop = own.norm_1, own.norm_2, own.attn, own.ffn, own.dropout

    def none(x: Tensor) -> Tensor:
        return x

    def block(inner_1, sum_1, outer_1, inner_2, sum_2, outer_2):
        def forward(H: Tensor, mask: Tensor) -> Tensor:
            H = outer_1(n1(sum_1(H + inner_1(at(H, mask)))))
            return outer_2(n2(sum_2(H + inner_2(ff(H)))))

        return forward

    names = {
        (none,) * 6: "dropout left out",
        (drop, *(none,) * 5): "dropout on one sublayer",
        (*(none,) * 3, drop, none, none): "dropout on one sublayer",
    }
    choices = itertools.product((none, drop), repeat=6)
    # The right one stands among them, and is never asked for.
    return [(names.get(c, "dropout on the stream"), block(*c)) for c in choices]
