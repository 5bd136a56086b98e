"""Exercise 2, causal_mask: its usual mistakes, and how they are told apart."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from minigpt.attention import causal_mask
from minigpt.checks.trial import (
    Wrong,
    attempt,
    beside,
    check_elsewhere,
    kind,
    mention_if_slow,
)

SAYS = {
    "upside down": (
        "Your mask is True where reading is forbidden. In this course, as in torch's "
        "`F.scaled_dot_product_attention`, True means *may read*: row t is True for i ≤ t."
    ),
    "upper triangle": (
        "Your triangle is the upper one: position t reads itself and what comes after it. It "
        "should be the lower one, row t True for i ≤ t. Rows are the positions that read."
    ),
    "diagonal left out": (
        "Your positions may not read themselves. The rule is i ≤ t, not i < t. The first row is "
        "left with nothing to read, and its softmax has nothing to share out."
    ),
    "reads one ahead": (
        "Your positions may also read the character right after them, which is just the one they "
        "should predict. The rule is i ≤ t: the diagonal is the last that is allowed."
    ),
    "everything allowed": (
        "Your mask allows everything, so every position can read the character that it should "
        "predict."
    ),
    "nothing allowed": (
        "Your mask allows nothing. Each position may read itself and those before it."
    ),
    "only itself": (
        "In your mask a position reads itself alone. It may read all earlier positions too, i ≤ t."
    ),
    "additive mask": (
        "This is the mask M of equation 6, with 0 and minus infinity, to be added to the scores. "
        "It is right as mathematics. The lab wants its boolean twin: True where M is 0, False "
        "where it is minus infinity. `masked_fill` then puts the infinity in."
    ),
    "not boolean": (
        "Everything is in the right place, but in numbers, and for numbers ~ does not mean *not*. "
        "Make it boolean: `dtype=torch.bool`, `.bool()`, or a comparison such as i <= t."
    ),
    "mirrored": (
        "Your triangle is mirrored: the boundary has to run from the top left to the bottom right."
    ),
    "wrong values": "Your mask allows other cells than i ≤ t, row t reading column i.",
}


def _checked_mask(result: Any, inputs: Sequence) -> Tensor:
    (T,) = inputs
    if not isinstance(result, Tensor):
        raise Wrong("wrong type", f"A mask has to be a tensor. Yours is {kind(result)}.")
    if result.layout != torch.strided:
        raise Wrong("wrong type", "A mask has to be an ordinary tensor, not a sparse one.")
    if result.ndim == 2 and result.size(0) == result.size(1) != T:
        raise Wrong(
            "wrong size",
            f"causal_mask({T}) has to be ({T}, {T}), for whatever T is asked for. Yours is "
            f"{tuple(result.shape)}.",
        )
    if tuple(result.shape) != (T, T):
        hint = ""
        if tuple(result.shape) == (T,):
            hint = " A row compared with itself gives a row. Make one a column: `x[:, None]`."
        raise Wrong(
            "wrong shape",
            f"causal_mask({T}) has to have the shape ({T}, {T}). Yours has "
            f"{tuple(result.shape)}.{hint}",
        )
    if result.device.type == "meta":
        raise Wrong("wrong device", "Your mask holds no numbers: it is on the device 'meta'.")
    return result.cpu()


def examine(answer: Callable) -> list[str]:
    """Judge an answer; give notes when it is right.

    Raises:
        Wrong: it is not.
    """
    mask = attempt(answer, (4,), _checked_mask)
    if isinstance(mask, Wrong):
        raise mask
    if found := _misconception(mask):
        shown = mask.int() if mask.dtype == torch.bool else mask
        tiny = beside("causal_mask(4)", causal_mask(4).int(), shown)
        legend = "\nWith 1 for True and 0 for False:" if mask.dtype == torch.bool else ""
        raise Wrong(found, f"{SAYS[found]}{legend}\n{tiny}")
    lengths = [(f"with T = {T}", (T,)) for T in (1, 2, 7, 64, 128)]
    for _, inputs in lengths:
        outcome = attempt(answer, inputs, _checked_mask)
        if isinstance(outcome, Wrong) and outcome.misconception != "raised an error":
            raise outcome
    check_elsewhere(answer, causal_mask, lengths, _checked_mask)
    return mention_if_slow(answer, causal_mask, (64,), "causal_mask", ratio=300)


def _misconception(mask: Tensor) -> str | None:
    """Name what is wrong with a mask for T = 4."""
    lower = causal_mask(4)
    if mask.dtype != torch.bool:
        if (mask < 0).any():
            return "additive mask" if (mask[lower] == 0).all() else "wrong values"
        if torch.equal(mask != 0, lower):
            return "not boolean"
        mask = mask != 0
    patterns = {
        "upside down": ~lower,
        "upper triangle": lower.T,
        "diagonal left out": lower.tril(-1),
        "reads one ahead": torch.ones_like(lower).tril(1),
        "everything allowed": torch.ones_like(lower),
        "nothing allowed": torch.zeros_like(lower),
        "only itself": torch.eye(4, dtype=torch.bool),
    }
    for name, pattern in patterns.items():
        if torch.equal(mask, pattern):
            return name
    if torch.equal(mask, lower.flip(0)) or torch.equal(mask, lower.flip(1)):
        return "mirrored"
    return None if torch.equal(mask, lower) else "wrong values"
