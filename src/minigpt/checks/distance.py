"""Exercise 5, mean_attention_distance: its usual mistakes, and how they are told apart."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from minigpt.attention import causal_mask
from minigpt.checks.trial import (
    Wrong,
    agreement,
    attempt,
    beside,
    check_elsewhere,
    check_on_gpu,
    first_explanation,
    inline,
    new_generator,
    same_tensor,
)
from minigpt.inspection import mean_attention_distance

SAYS = {
    "all distances zero": (
        "All your results are 0. Either every distance is 0, as when a row of positions is taken "
        "from itself, or only cells above the diagonal are counted, where the weights are 0. "
        "The table of distances is a column minus a row: `x[:, None] - x`."
    ),
    "matrix product": (
        "You take the matrix product of A and the distances, `@`. Each weight belongs to one "
        "distance, that of its own cell: multiply cell by cell, `*`, then sum over each row."
    ),
    "distance to the start": (
        "You weigh the position i that is read, not how far back it lies. The distance is t - i."
    ),
    "signed": (
        "Your distances have the wrong sign: reading back from t to i is t - i positions, which is "
        "never negative under the causal mask."
    ),
    "without the weights": (
        "Your result is the same for every head: the weights do not enter. Each distance t - i "
        "counts as much as the head reads there, A[t, i]."
    ),
    "over masked cells": (
        "You average over the cells of the matrix. The weights of a row already sum to 1, so the "
        "sum over a row *is* its average. Only the T rows, and the texts, are left to average over."
    ),
    "averaged over heads": (
        "You average the heads together. The point of the exercise is that they differ: one number "
        "per head."
    ),
    "summed over rows": "You add the rows up. The mean over the T rows is asked for.",
    "summed over the batch": "You add the texts up. The mean over the batch is asked for.",
    "batch left in": (
        "You give one number per text and head. Average over the batch too, so that one number per "
        "head is left."
    ),
    "only the first text": "You look at the first text alone. Average over the whole batch.",
    "most-read position only": (
        "You count the distance to the most-read position alone. A head spreads its weight: every "
        "position counts, as much as it is read."
    ),
    "share of the length": (
        "You divide by the length of the text. The distance is asked for in characters."
    ),
    "squared": "You square the distances. The plain distance t - i is asked for.",
    "wrong values": (
        "These are not the mean distances. For each row t: the sum over i of A[t, i] · (t - i). "
        "Then the mean over rows and batch, head by head."
    ),
}


def _mistakes() -> list[tuple[str, Callable]]:
    def steps(A: Tensor) -> Tensor:
        T = A.size(-1)
        return (torch.arange(T)[:, None] - torch.arange(T)).to(A.dtype)

    def per_row(A: Tensor) -> Tensor:
        return (A * steps(A)).sum(-1)  # (B, n_h, T)

    def right(A: Tensor) -> Tensor:
        return per_row(A).mean((0, 2))

    def over(A: Tensor, count: float) -> Tensor:
        return per_row(A).sum((0, 2)) / (A.size(0) * count)

    def even(A: Tensor, value: Tensor) -> Tensor:
        return value.expand(A.size(1))

    def farthest(A: Tensor) -> Tensor:
        return (torch.arange(A.size(-1)) - A.argmax(-1)).to(A.dtype).mean((0, 2))

    def cells(T: int) -> Tensor:
        return torch.ones(T, T).tril()

    return [
        ("all distances zero", lambda A: A.new_zeros(A.size(1))),
        ("signed", lambda A: -right(A)),
        ("distance to the start", lambda A: (A * torch.arange(A.size(-1))).sum(-1).mean((0, 2))),
        ("averaged over heads", lambda A: right(A).mean()),
        ("averaged over heads", lambda A: even(A, right(A).mean())),
        ("over masked cells", lambda A: over(A, A.size(-1) ** 2)),
        ("over masked cells", lambda A: over(A, A.size(-1) * (A.size(-1) + 1) / 2)),
        ("over masked cells", lambda A: over(A, A.size(-1) * (A.size(-1) - 1) / 2)),
        ("over masked cells", lambda A: over(A, (A > 0).sum().item() / A.size(0) / A.size(1))),
        (
            "over masked cells",
            lambda A: (per_row(A) / torch.arange(1, A.size(-1) + 1)).mean((0, 2)),
        ),
        ("summed over rows", lambda A: per_row(A).mean(0).sum(-1)),
        ("summed over rows", lambda A: per_row(A).sum((0, 2))),
        ("summed over the batch", lambda A: per_row(A).mean(-1).sum(0)),
        ("batch left in", lambda A: per_row(A).mean(-1)),
        ("only the first text", lambda A: right(A[:1])),
        ("only the first text", lambda A: right(A[-1:])),
        ("most-read position only", farthest),
        ("share of the length", lambda A: right(A) / A.size(-1)),
        ("share of the length", lambda A: right(A) / (A.size(-1) - 1)),
        ("share of the length", lambda A: right(A) / 128),
        ("squared", lambda A: (A * steps(A) ** 2).sum(-1).mean((0, 2))),
        ("squared", lambda A: (A * steps(A) ** 2).sum(-1).mean((0, 2)).sqrt()),
        ("squared", lambda A: (A * steps(A) ** 2).sum(-1).sqrt().mean((0, 2))),
        ("without the weights", lambda A: even(A, steps(A).mean())),
        ("without the weights", lambda A: even(A, steps(A).abs().mean())),
        ("without the weights", lambda A: even(A, steps(A).tril().mean())),
        ("without the weights", lambda A: even(A, steps(A).tril().sum(-1).mean())),
        (
            "without the weights",
            lambda A: even(A, steps(A).tril().sum() / cells(A.size(-1)).sum()),
        ),
        (
            "without the weights",
            lambda A: even(A, (steps(A).tril().sum(-1) / cells(A.size(-1)).sum(-1)).mean()),
        ),
        *[
            ("matrix product", lambda A, D=D, R=R: R(A @ D(A)))
            for D in (
                steps,
                lambda A: steps(A).mT,
                lambda A: steps(A).tril(),
                lambda A: steps(A).abs(),
            )
            for R in (lambda X: X.sum(-1).mean((0, 2)), lambda X: X.mean((0, 2, 3)))
        ],
    ]


def _checked_distances(result: Any, inputs: Sequence) -> Tensor:
    (A,) = inputs
    B, n_h = A.shape[:2]
    if isinstance(result, list | tuple) and len(result) == n_h:
        make = "torch.stack" if isinstance(result[0], Tensor) else "torch.tensor"
        raise Wrong(
            "wrong type",
            f"The result has to be one tensor of shape ({n_h},). Yours is a {type(result).__name__}"
            f" of {len(result)}: `{make}` makes a tensor of them.",
        )
    if isinstance(result, Tensor) and result.shape in ((), (1,), (B, n_h)) and n_h > 1:
        found = "batch left in" if result.shape == (B, n_h) else "averaged over heads"
        raise Wrong(
            found,
            f"{SAYS[found]} The shape has to be ({n_h},); yours is {tuple(result.shape)}.",
        )
    # Nothing is trained through it, so a result in double precision is as good.
    floats = isinstance(result, Tensor) and result.is_floating_point()
    like = A.to(result.dtype) if floats else A
    because = "It holds one number per head, (n_h,): what is left are the heads, axis 1 of A."
    return same_tensor("The result", result, (n_h,), like, because)


def _case(B: int, n_h: int, T: int, generator: torch.Generator) -> tuple[Tensor]:
    scores = torch.randn(B, n_h, T, T, generator=generator)
    return (scores.masked_fill(~causal_mask(T), -math.inf).softmax(-1),)


def examine(answer: Callable) -> list[str]:
    """Judge an answer; give notes when it is right.

    Raises:
        Wrong: it is not.
    """
    own, generator = mean_attention_distance, new_generator()
    cases = [_case(*size, generator) for size in ((2, 3, 5), (3, 4, 6), (1, 2, 4))]
    outcomes = [attempt(answer, inputs, _checked_distances) for inputs in cases]
    for outcome in outcomes:
        if isinstance(outcome, Wrong):
            raise outcome
    if not all(agreement(own, cases, outcomes)):
        found = first_explanation(_mistakes(), cases, outcomes) or "wrong values"
        raise Wrong(found, f"{SAYS[found]}\n{_example(answer, found)}")
    larger = [
        ("with T = 128", _case(1, 2, 128, generator)),
        ("with 16 texts", _case(16, 4, 3, generator)),
        ("for one head", _case(2, 1, 3, generator)),
    ]
    check_elsewhere(answer, own, larger, _checked_distances)
    check_on_gpu(answer, cases[0], own(*cases[0]))
    return []


def _example(answer: Callable, found: str) -> str:
    """Show two heads on three characters; in a second text, if it matters, they change places."""
    spread = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
    far = torch.tensor([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])
    heads = torch.stack([spread, far])
    several = found in ("only the first text", "summed over the batch")
    inputs = (torch.stack([heads, heads.flip(0)]) if several else heads[None],)
    case = "A tiny case, T = 3, with two heads"
    lines = [
        case + (", which change places in a second text:" if several else ":"),
        f"  {inline(spread)}",
        f"  {inline(far)}",
        beside(
            "distances",
            mean_attention_distance(*inputs),
            attempt(answer, inputs, _checked_distances),
        ),
    ]
    return "\n".join(lines)
