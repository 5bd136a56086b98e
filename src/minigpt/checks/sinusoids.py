"""Variant 1, sinusoidal_table: its usual mistakes, and how they are told apart."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from minigpt.checks.trial import (
    Wrong,
    agreement,
    attempt,
    beside,
    check_elsewhere,
    close,
    first_explanation,
    kind,
)
from minigpt.positions import sinusoidal_table

# Angles that grow where they should shrink reach thousands of radians, which float32 rounds. What
# no mistake explains to the last digits is compared with this tolerance once more.
ROUGHLY = 0.01

# What goes wrong with the frequencies goes wrong with rotary positions too.
FREQUENCY_SAYS = {
    "half the exponent": (
        "Your exponent is j/d. Pair j has 2j/d: the first pair turns by 1 radian per position, and "
        "the last by almost 1/10000 (equation 9)."
    ),
    "twice the exponent": (
        "Your exponent is 4j/d, twice too large. In equation 9 the number 2j is already the even "
        "coordinate: a loop over 0, 2, 4, ... needs no further factor 2."
    ),
    "a frequency for each coordinate": (
        "Each of your coordinates has a frequency of its own. The two of a pair share one, so that "
        "they are a point on a circle: coordinates 2j and 2j + 1 both turn by ω_j (equation 9)."
    ),
    "frequencies grow": (
        "Your frequencies grow with j. The first pair is the fast one: the power of 10000 has a "
        "minus sign, or the position is divided by it (equation 9)."
    ),
    "not divided by d": (
        "Your exponent is 2j. It is a share of the width, 2j/d, so that the frequencies go down to "
        "1/10000 in d/2 even steps and not at the second pair (equation 9)."
    ),
    "another base": "Your frequencies are powers of another base than 10000 (equation 9).",
    "one frequency for all": (
        "All your pairs turn at the same speed. In the exponent 2j/d the division has to be `/`: "
        "with `//` it gives a whole number, which is 0 for every pair (equation 9)."
    ),
    "exponent rounded": (
        "Your exponents are whole numbers, so all pairs but the first turn equally slowly. 2j/d is "
        "a fraction: the division has to be `/`, and `//` rounds it (equation 9)."
    ),
    "last exponent is 1": (
        "Your exponents run evenly from 0 to 1, both ends included. Those of equation 9 stop "
        "before 1: pair j has 2j/d, and j ends at d/2 - 1."
    ),
    "pairs counted from 1": (
        "You count the pairs from 1. They count from 0, so that the first has the exponent 0 and "
        "turns by 1 radian per position (equation 9)."
    ),
    "not in radians": (
        "Your angles are in degrees or whole turns. ω_j t is in radians, and so are torch's sine "
        "and cosine: nothing has to be converted (equation 9)."
    ),
    "divided by T": (
        "Your exponent is 2j/T. It is a share of the width, 2j/d, and has nothing to do with how "
        "many positions there are (equation 9)."
    ),
}
SAYS = FREQUENCY_SAYS | {
    "off by one": (
        "Your positions count from 1. Rows of a table count from 0, and here row 0 is position 0: "
        "all its sines are 0, all its cosines 1."
    ),
    "counted backwards": "Your positions run backwards: the first row is position 0.",
    "positions as shares": (
        "You divide the positions by the length of the table. Then the vector of a place would "
        "change with T, and the step from one place to the next too. Position t is the number t."
    ),
    "halves": (
        "Your sines fill one half of the row and your cosines the other. The numbers are right, "
        "the order is not: sine and cosine of a pair stand side by side, coordinates 2j and 2j + 1 "
        "(equation 9)."
    ),
    "sines and cosines exchanged": (
        "Sines and cosines have changed places: even coordinates are sines, odd ones cosines "
        "(equation 9)."
    ),
    "sines alone": (
        "Your coordinates are all sines. A sine alone does not say where on its circle a hand "
        "stands: the odd coordinates are cosines (equation 9)."
    ),
    "cosines alone": (
        "Your coordinates are all cosines. A cosine alone does not say where on its circle a hand "
        "stands: the even coordinates are sines (equation 9)."
    ),
    "angles": "Your table holds the angles ω_j t themselves. Their sines and cosines are missing.",
    "wrong values": (
        "Your table is not that of equation 9, and none of the usual slips explains it. In this "
        "order: frequencies ω_j, one per pair; angles t·ω_j, (T, d/2); sines and cosines."
    ),
}


def _pair_exponent(d: int) -> Tensor:
    """Give 2j/d at both coordinates of each pair, (d,)."""
    return (torch.arange(d, dtype=torch.float64) // 2) * 2 / d


def _power(exponent: Tensor, base: float = 10_000.0) -> Tensor:
    return base**-exponent


# From T and d to the frequency of each coordinate, (d,).
FREQUENCIES: list[tuple[str | None, Callable[[int, int], Tensor]]] = [
    (None, lambda T, d: _power(_pair_exponent(d))),
    ("half the exponent", lambda T, d: _power(_pair_exponent(d) / 2)),
    ("twice the exponent", lambda T, d: _power(_pair_exponent(d) * 2)),
    ("a frequency for each coordinate", lambda T, d: _power(torch.arange(d) / d)),
    ("a frequency for each coordinate", lambda T, d: _power(2 * torch.arange(d) / d)),
    ("frequencies grow", lambda T, d: _power(-_pair_exponent(d))),
    ("one frequency for all", lambda T, d: torch.ones(d, dtype=torch.float64)),
    ("exponent rounded", lambda T, d: _power(_pair_exponent(d).ceil())),
    ("last exponent is 1", lambda T, d: _power(_pair_exponent(d) * d / (d - 2))),
    ("pairs counted from 1", lambda T, d: _power(_pair_exponent(d) + 2 / d)),
    ("not divided by d", lambda T, d: _power(_pair_exponent(d) * d)),
    ("divided by T", lambda T, d: _power(_pair_exponent(d) * d / T)),
    *[
        ("another base", lambda T, d, base=base: _power(_pair_exponent(d), base))
        for base in (10.0, 100.0, 1000.0, 100_000.0, 500_000.0, 1_000_000.0)
    ],
    *[
        ("not in radians", lambda T, d, unit=unit: _power(_pair_exponent(d)) * unit)
        for unit in (math.pi / 180, 180 / math.pi, 2 * math.pi, math.pi, 1 / (2 * math.pi))
    ],
]
_POSITIONS: list[tuple[str | None, Callable[[int], Tensor]]] = [
    (None, lambda T: torch.arange(T)),
    ("off by one", lambda T: torch.arange(1, T + 1)),
    ("counted backwards", lambda T: torch.arange(T).flip(0)),
    ("positions as shares", lambda T: torch.arange(T) / T),
    ("positions as shares", lambda T: torch.arange(T) / max(T - 1, 1)),
]
# From the angles of all coordinates, (T, d), to the table.
_LAYOUTS: list[tuple[str | None, Callable[[Tensor], Tensor]]] = [
    (None, lambda a: torch.stack([a[:, 0::2].sin(), a[:, 1::2].cos()], -1).flatten(1)),
    ("halves", lambda a: torch.cat([a[:, 0::2].sin(), a[:, 1::2].cos()], -1)),
    ("halves", lambda a: torch.cat([a[:, 0::2].cos(), a[:, 1::2].sin()], -1)),
    (
        "sines and cosines exchanged",
        lambda a: torch.stack([a[:, 0::2].cos(), a[:, 1::2].sin()], -1).flatten(1),
    ),
    ("sines alone", torch.sin),
    ("cosines alone", torch.cos),
    ("angles", lambda a: a),
]


def _mistakes() -> Iterator[tuple[list[str], Callable]]:
    """Give every combination of one or two mistakes, the single ones first."""
    choices = sorted(
        itertools.product(FREQUENCIES, _POSITIONS, _LAYOUTS),
        key=lambda choice: sum(name is not None for name, _ in choice),
    )
    for choice in choices:
        made = [name for name, _ in choice if name]
        if 1 <= len(made) <= 2:
            (_, omega), (_, places), (_, layout) = choice

            def mistake(T, d, omega=omega, places=places, layout=layout):
                return layout(places(T)[:, None] * omega(T, d))

            yield made, mistake


def in_words(says: dict[str, str], made: Sequence[str]) -> str:
    """Say what was done wrong, and what else."""
    return "\nAnd then: ".join(says[name] for name in made)


def _checked_table(result: Any, inputs: Sequence) -> Tensor:
    T, d = inputs
    if not isinstance(result, Tensor):
        raise Wrong("wrong type", f"The table has to be a tensor. It is {kind(result)}.")
    if tuple(result.shape) != (T, d):
        hint = ""
        if tuple(result.shape) == (d, T):
            hint = " Rows and columns have changed places: a row is a position."
        elif result.ndim == 3:
            hint = " It serves all texts of a batch, so it has no axis for them."
        elif tuple(result.shape) in ((T, d // 2), (T, 2 * d)):
            hint = " There are d/2 pairs, and each gives two coordinates, a sine and a cosine."
        raise Wrong(
            "wrong shape",
            f"sinusoidal_table({T}, {d}) has to have the shape ({T}, {d}). Yours has "
            f"{tuple(result.shape)}.{hint}",
        )
    if result.dtype != torch.float32:
        raise Wrong(
            "wrong dtype",
            "The table is added to embeddings, so it has to hold numbers of their kind, "
            f"torch.float32. Yours holds {result.dtype}: `.float()` turns one into the other.",
        )
    if result.device.type != "cpu":
        raise Wrong("wrong device", f"The table is on {result.device.type!r}. Leave it on the CPU.")
    return result


CASES = [(6, 8), (5, 6), (9, 12)]
LARGER = [
    ("with T = 128 and d = 128", (128, 128)),
    ("for a single position", (1, 4)),
    ("for a single pair", (4, 2)),
]


def examine(answer: Callable) -> list[str]:
    """Judge an answer; give notes when it is right.

    Raises:
        Wrong: it is not.
    """
    outcomes = [attempt(answer, inputs, _checked_table) for inputs in CASES]
    for outcome in outcomes:
        if isinstance(outcome, Wrong):
            raise outcome
    if not all(agreement(sinusoidal_table, CASES, outcomes)):
        made = (
            first_explanation(_mistakes(), CASES, outcomes)
            or first_explanation(_mistakes(), CASES, outcomes, ROUGHLY)
            or ["wrong values"]
        )
        raise Wrong(made[0], f"{in_words(SAYS, made)}\n{_example(answer)}".rstrip())
    check_elsewhere(answer, sinusoidal_table, LARGER, _checked_table)
    return []


def _example(answer: Callable) -> str:
    """Show a small table, or a larger one where the small one is right."""
    for T, d in ((3, 4), (3, 6), (4, 8)):
        expected, actual = sinusoidal_table(T, d), attempt(answer, (T, d), _checked_table)
        if isinstance(actual, Wrong) or not close(expected, actual):
            return beside(f"sinusoidal_table({T}, {d})", expected, actual)
    return ""
