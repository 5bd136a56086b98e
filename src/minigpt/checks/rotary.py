"""Variant 2, rotate: its usual mistakes, and how they are told apart."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from minigpt.checks.sinusoids import FREQUENCIES, FREQUENCY_SAYS, ROUGHLY, in_words
from minigpt.checks.trial import (
    Wrong,
    agreement,
    attempt,
    beside,
    check_elsewhere,
    check_gradients,
    check_on_gpu,
    close,
    first_explanation,
    new_generator,
    same_tensor,
    stopped,
)
from minigpt.positions import rotate

_SHARED = FREQUENCY_SAYS.keys() - {"a frequency for each coordinate"}  # a pair has one angle here
_WIDTH = " For a rotation d is d_k, the width of x."
SAYS = {name: FREQUENCY_SAYS[name] + _WIDTH for name in _SHARED} | {
    "start ignored": (
        "Your function takes no notice of `start`: its first row is always turned as position 0. "
        "Row number n stands at position start + n. A cache that feeds one position at a time "
        "relies on it."
    ),
    "start subtracted": (
        "You subtract `start`. Row number n of x stands at position start + n, not n - start."
    ),
    "off by one": (
        "Your first position is start + 1. It is `start`: at position 0 nothing turns. (All "
        "offsets are right in yours, so a model could live with it; but two functions that share a "
        "cache have to count alike.)"
    ),
    "counted backwards": "Your positions run backwards: the first row stands at `start`.",
    "position left out": (
        "Every row is turned by the same angles, whatever its position. Pair j of the row at "
        "position t is turned by ω_j times t."
    ),
    "positions along another axis": (
        "Your positions run along the heads or the texts. The position is the last axis but one, "
        "`x.size(-2)` long, however many axes stand before it."
    ),
    "halves": (
        "You pair each coordinate with the one half a row further on. Some models do. Here the "
        "pairs are neighbours, (0, 1), (2, 3), and so on: `x[..., 0::2]` and `x[..., 1::2]`."
    ),
    "not put back": (
        "Each pair is turned rightly, but then the first coordinates of all pairs stand in one "
        "half of the row and the second ones in the other. Each has to go back to its place: "
        "`torch.stack([...], dim=-1).flatten(-2)`."
    ),
    "turned backwards": (
        "You turn the other way round. The turn by an angle a takes (x, y) to (x cos a - y sin a, "
        "x sin a + y cos a). (The offset still decides alone in yours, with its sign reversed.)"
    ),
    "no rotation": (
        "Each pair is changed, but not turned: lengths do not stay what they were, or the offset "
        "no longer decides alone. The turn by an angle a takes (x, y) to (x cos a - y sin a, "
        "x sin a + y cos a): one minus sign, in the first."
    ),
    "overwritten too early": (
        "One coordinate of each pair is made from the other as it is after the turn. A slice such "
        "as `x[..., 0::2]` is a view: when its place is written to, it changes. Compute both new "
        "coordinates before you put one of them away."
    ),
    "added": (
        "You add sines and cosines to x. That is the encoding of equation 9. A rotary one adds "
        "nothing: it turns each pair of coordinates."
    ),
    "multiplied": (
        "You multiply x by sines and cosines, coordinate by coordinate. In a turn each new "
        "coordinate is made of both old ones: x cos a - y sin a, and x sin a + y cos a."
    ),
    "only four dimensions": (
        "Your function is right for (B, n_h, T, d_k) alone. It should take any number of leading "
        "dimensions, and none: count axes from the end, `x.size(-2)` and `x.size(-1)`."
    ),
    "only three dimensions": (
        "Your function is right for (B, T, d_k) alone. The model calls it with heads in between, "
        "(B, n_h, T, d_k): count axes from the end, `x.size(-2)` and `x.size(-1)`."
    ),
    "only two dimensions": (
        "Your function is right for one (T, d_k) matrix, but the model calls it with texts and "
        "heads in front, (B, n_h, T, d_k): count axes from the end, `x.size(-2)` and `x.size(-1)`."
    ),
    "wrong values": (
        "Your vectors are not turned as they should be, and none of the usual slips explains it. "
        "In this order: angles ω_j (start + n), (T, d_k/2); the first and the second coordinates "
        "of the pairs; the turn; each back to its place."
    ),
}


def _along(axis: int) -> Callable[[Tensor, int], Tensor]:
    """Count along an axis other than that of the positions."""

    def places(x: Tensor, start: int) -> Tensor:
        shape = [1] * x.ndim
        shape[axis] = -1
        return (start + torch.arange(x.size(axis))).view(shape)

    return places


# From x and start to positions that fit (..., T, 1).
_POSITIONS: list[tuple[str | None, Callable[[Tensor, int], Tensor]]] = [
    (None, lambda x, start: start + torch.arange(x.size(-2))[:, None]),
    ("start ignored", lambda x, start: torch.arange(x.size(-2))[:, None]),
    ("start ignored", lambda x, start: torch.full((1, 1), start)),
    ("start subtracted", lambda x, start: torch.arange(x.size(-2))[:, None] - start),
    ("off by one", lambda x, start: start + 1 + torch.arange(x.size(-2))[:, None]),
    ("counted backwards", lambda x, start: start + torch.arange(x.size(-2)).flip(0)[:, None]),
    ("position left out", lambda x, start: torch.ones(1, 1)),
    ("positions along another axis", _along(0)),
    ("positions along another axis", _along(1)),
    ("positions along another axis", _along(-3)),
]
# From a pair of coordinates, cosine and sine to the pair that comes out.
_TURNS: list[tuple[str | None, Callable]] = [
    (None, lambda x, y, c, s: (x * c - y * s, x * s + y * c)),
    ("turned backwards", lambda x, y, c, s: (x * c + y * s, y * c - x * s)),
    ("no rotation", lambda x, y, c, s: (x * c + y * s, x * s + y * c)),
    ("no rotation", lambda x, y, c, s: (x * c - y * s, x * s - y * c)),
    ("no rotation", lambda x, y, c, s: (x * c + y * s, x * s - y * c)),
    ("no rotation", lambda x, y, c, s: (x * c - y * s, y * c - x * s)),
    ("no rotation", lambda x, y, c, s: (x * c - y * s, x * c + y * s)),
    ("no rotation", lambda x, y, c, s: (x * s - y * c, x * c + y * s)),
    ("overwritten too early", lambda x, y, c, s: (x * c - y * s, (x * c - y * s) * s + y * c)),
    ("overwritten too early", lambda x, y, c, s: (x * c - (x * s + y * c) * s, x * s + y * c)),
    ("added", lambda x, y, c, s: (x + s, y + c)),
    ("added", lambda x, y, c, s: (x + c, y + s)),
    ("multiplied", lambda x, y, c, s: (x * c, y * s)),
    ("multiplied", lambda x, y, c, s: (x * s, y * c)),
    ("multiplied", lambda x, y, c, s: (x * c, y * c)),
]


def _neighbours(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 0::2], x[..., 1::2]


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.chunk(2, dim=-1)


def _side_by_side(x: Tensor, y: Tensor) -> Tensor:
    return torch.stack([x, y], dim=-1).flatten(-2)


def _one_after_the_other(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y], dim=-1)


# How pairs are taken from a row, and put back.
_PAIRS: list[tuple[str | None, tuple[Callable, Callable]]] = [
    (None, (_neighbours, _side_by_side)),
    ("halves", (_halves, _one_after_the_other)),
    ("halves", (_halves, _side_by_side)),
    ("not put back", (_neighbours, _one_after_the_other)),
]


def _mistakes() -> Iterator[tuple[list[str], Callable]]:
    """Give every combination of one or two mistakes, the single ones first."""
    frequencies = [choice for choice in FREQUENCIES if choice[0] in (None, *_SHARED)]
    choices = sorted(
        itertools.product(_POSITIONS, _TURNS, _PAIRS, frequencies),
        key=lambda choice: sum(name is not None for name, _ in choice),
    )
    for choice in choices:
        made = [name for name, _ in choice if name]
        if 1 <= len(made) <= 2:
            (_, places), (_, turn), (_, (take, put)), (_, omega) = choice

            def mistake(x, start=0, places=places, turn=turn, take=take, put=put, omega=omega):
                angles = places(x, start) * omega(*x.shape[-2:])[0::2]
                return put(*turn(*take(x), angles.cos(), angles.sin()))

            yield made, mistake


def _checked_vectors(result: Any, inputs: Sequence) -> Tensor:
    x = inputs[0]
    return same_tensor("The result", result, x.shape, x, "A turn keeps the shape.")


def _cases() -> list[tuple]:
    generator = new_generator()
    return [
        (torch.randn(shape, generator=generator), *start)
        for shape in ((2, 3, 5, 8), (3, 5, 6), (7, 8))
        for start in ((), (3,))
    ]


def _larger_cases() -> list[tuple[str, tuple]]:
    """Make inputs as the model has them: long, one position at a time, heads by a transpose."""
    generator = new_generator()

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    return [
        ("with T = 128", (drawn(1, 2, 128, 32),)),
        ("for a single position, the last of 128", (drawn(1, 2, 1, 32), 127)),
        ("for a single pair", (drawn(2, 3, 5, 2),)),
        ("when x does not lie in a row in memory", (drawn(2, 5, 3, 8).transpose(1, 2), 4)),
        ("with 64 texts", (drawn(64, 4, 3, 4),)),
    ]


def examine(answer: Callable) -> list[str]:
    """Judge an answer; give notes when it is right.

    Raises:
        Wrong: it is not.
    """
    cases = _cases()
    outcomes = [attempt(answer, inputs, _checked_vectors) for inputs in cases]
    right = agreement(rotate, cases, outcomes)
    if not all(right):
        raise _diagnosis(answer, cases, outcomes, right)
    check_gradients(answer, rotate, cases[:2])
    check_elsewhere(answer, rotate, _larger_cases(), _checked_vectors)
    check_on_gpu(answer, cases[0], rotate(*cases[0]))
    return []


def _diagnosis(answer: Callable, cases: Sequence, outcomes: Sequence, right: Sequence) -> Wrong:
    if any(isinstance(outcome, Wrong) for outcome in outcomes):
        for many, name in ((2, "two"), (3, "three"), (4, "four")):
            fits = [inputs[0].ndim == many for inputs in cases]
            if right == fits:
                return Wrong(f"only {name} dimensions", SAYS[f"only {name} dimensions"])
    made = _explanation(cases, outcomes)
    failed = next((outcome for outcome in outcomes if isinstance(outcome, Wrong)), None)
    if made is None and failed is not None:
        # It stops on some cases; what it gives on the others may tell the idea.
        kept = [i for i, outcome in enumerate(outcomes) if not isinstance(outcome, Wrong)]
        if not stopped(failed) or all(right[i] for i in kept):
            return failed
        made = _explanation([cases[i] for i in kept], [outcomes[i] for i in kept])
        if made is None:
            return failed
    made = made or ["wrong values"]
    return Wrong(made[0], f"{in_words(SAYS, made)}\n{_example(answer)}".rstrip())


def _explanation(cases: Sequence, outcomes: Sequence) -> list[str] | None:
    exactly = first_explanation(_mistakes(), cases, outcomes)
    return exactly or first_explanation(_mistakes(), cases, outcomes, ROUGHLY)


def _example(answer: Callable) -> str:
    """Show three equal rows, which come out turned by more and more."""
    narrow, wide = torch.arange(1.0, 5), torch.arange(1.0, 7)
    for row, start in ((narrow, 0), (narrow, 2), (wide, 0)):
        x = row.repeat(3, 1)  # (T, d_k)
        expected, actual = rotate(x, start), attempt(answer, (x, start), _checked_vectors)
        if isinstance(actual, Wrong) or not close(expected, actual):
            numbers = " ".join(f"{value:g}" for value in row.tolist())
            return f"Three rows ({numbers}), with start = {start}:\n" + beside(
                "rows", expected, actual
            )
    return ""
