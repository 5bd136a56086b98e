"""Exercise 1, scaled_dot_product_attention: its usual mistakes, and how they are told apart."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from minigpt.attention import causal_mask, scaled_dot_product_attention
from minigpt.checks.trial import (
    Outcome,
    Wrong,
    agreement,
    attempt,
    beside,
    check_elsewhere,
    check_gradients,
    check_on_gpu,
    close,
    explains,
    inline,
    kind,
    mention_if_slow,
    new_generator,
    run,
    same_tensor,
    stopped,
)

SAYS = {
    "no scaling": (
        "Your scores are not divided by √d_k. Their spread then grows with √d_k, the softmax "
        "starts out close to one-hot (one weight near 1, the others near 0), and almost no "
        "gradient comes through (equations 3 and 5)."
    ),
    "divided by d_k": (
        "Your scores are divided by d_k, not by its square root. That is too much: they become "
        "nearly equal, and every row of A starts out nearly even (equation 5)."
    ),
    "multiplied by the square root": (
        "Your scores are multiplied by √d_k. They have to be divided by it: q·k is already a sum "
        "of d_k terms, and the division brings its spread back to 1 (equation 5)."
    ),
    "scaled by another axis": (
        "Your scores are scaled by the size of another axis: the number of positions, heads or "
        "texts. A score is a sum over the d_k coordinates, so d_k, the size of the last axis of "
        "Q, is what its spread depends on (equation 5)."
    ),
    "no softmax": (
        "Your A is not a softmax of the scores. The softmax turns each row of them into weights "
        "that are positive and sum to 1 (equation 4)."
    ),
    "argmax": (
        "Your A puts all weight on the best match. That passes no gradient to the scores. The "
        "softmax shares the weight out, more to the better match (equation 4)."
    ),
    "softmax over queries": (
        "Your softmax runs over the queries: the columns of A sum to 1. Each position t shares out "
        "its own reading, so each row has to, over the keys: the last axis (equation 4)."
    ),
    "softmax over another axis": (
        "Your softmax runs over an axis counted from the front. With leading dimensions that is "
        "the texts or the heads. The keys are always the last axis: `dim=-1`."
    ),
    "mask after softmax": (
        "You set the forbidden weights to 0 after the softmax. The rest were already divided by a "
        "sum that contains the forbidden scores: rows no longer sum to 1, and how small the "
        "weights are gives the future away. Mask the scores, before the softmax (equation 6)."
    ),
    "mask multiplies the scores": (
        "Your mask makes the forbidden scores 0. But exp(0) = 1, so a score of 0 still gets "
        "weight. Only minus infinity gets none (equation 6)."
    ),
    "mask ignored": (
        "The mask changes nothing in your function: forbidden positions get weight. Where the mask "
        "is False the score has to become minus infinity before the softmax (equation 6). If you "
        "did call `masked_fill`: it gives back a new tensor, which has to be kept."
    ),
    "mask upside down": (
        "Your mask works the wrong way round: it forbids what may be read. True means *may read*, "
        "so the cells to fill are those of `~mask`."
    ),
    "own mask always": (
        "Your function always applies a causal mask, also when none is given. Which positions may "
        "be read is for the caller to say: use `mask`, and none when it is None."
    ),
    "fill is not low enough": (
        "Forbidden scores get a value that is low, but not low enough: their weight is small and "
        "not 0, and a large model learns to read it. Minus infinity gives exactly 0 (equation 6)."
    ),
    "infinity times zero": (
        "Your masked weights contain nan, which is not a number. It comes from multiplying by "
        "infinity, since 0 · ∞ is undefined, or from plus infinity. Put minus infinity in where "
        "the mask is False, and nowhere else, with `masked_fill` or `torch.where`."
    ),
    "only two dimensions": (
        "Your function is right for one (T, d_k) matrix, but the model calls it with texts and "
        "heads in front, (B, n_h, T, d_k). Count axes from the end: `K.transpose(-2, -1)` swaps "
        "the last two whatever stands before them; `K.T` and `.t()` do not."
    ),
    "only without leading dimensions": (
        "Your masking is right for one (T, T) table of scores, but the model has texts and heads "
        "in front of it. `scores[~mask] = ...` then looks for an axis that is not there. "
        "`masked_fill` and `torch.where` fit the mask to whatever stands in front."
    ),
    "queries and keys swapped": (
        "Your scores have keys as rows and queries as columns. Row t belongs to the query of "
        "position t: the queries come first, and the keys are transposed (equation 4)."
    ),
    "random": (
        "Your function gives another result each time it is called. Attention itself holds "
        "nothing random: this model drops nothing from A."
    ),
    "only three dimensions": (
        "Your function is right for (B, T, d_k) alone. The model calls it with heads in between, "
        "(B, n_h, T, d_k). Count axes from the end, -1 and -2."
    ),
    "only four dimensions": (
        "Your function is right for (B, n_h, T, d_k) alone. It should take any number of leading "
        "dimensions, and none. Count axes from the end, -1 and -2, and do not unpack `Q.shape`."
    ),
    "mask not optional": (
        "Your function needs a mask. Without one every position may read every other: keep "
        "`mask=None` and mask only under `if mask is not None:`."
    ),
    "no average of the values": (
        "Your A is right, but V_bar is not the average of the values under its weights. Row t of "
        "V_bar is the sum over i of A[t, i] times row i of V: one matrix product (equation 4)."
    ),
    "keys not transposed": (
        "The product of Q and K is not what it should be. Entry (t, i) of the scores compares "
        "query t with key i: rows of Q against rows of K, so K has to be transposed (equation 4)."
    ),
    "weights left out": (
        "Your V_bar is right, but A is missing. The lab looks at A in exercises 2 and 5, so return "
        "the weights too: `return V_bar, A`."
    ),
    "another A returned": (
        "Your V_bar is right, but the A you return is not the matrix of weights it was made with."
    ),
    "wrong values": (
        "Your weights are not those of equation 4, and none of the usual slips explains them. Go "
        "through it line by line: scores, division by √d_k, mask, softmax over the last axis."
    ),
}


def _cases() -> list[tuple]:
    """Make small inputs whose sizes all differ, without a mask and with one."""
    generator, cases = new_generator(), []
    for shape in ((5, 8), (3, 5, 8), (2, 3, 5, 8)):
        # As in the model: heads come from a transpose, so the numbers do not lie in a row.
        turned = (*shape[:-3], shape[-2], *shape[-3:-2], shape[-1])
        drawn = [torch.randn(turned, generator=generator) for _ in "QKV"]
        Q, K, V = (x.transpose(-3, -2) if len(shape) > 2 else x for x in drawn)
        cases += [(Q, K, V), (Q, K, V, causal_mask(5))]
    return cases


TINY = (
    torch.tensor([[1.0, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0]]),
    torch.tensor([[1.0, 1, 1, 1], [1, -1, 1, -1], [0, 0, 2, 0]]),
    torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]),
)


_SCALES: list[tuple[str | None, Callable[[Tensor], float]]] = [
    (None, lambda Q: Q.size(-1) ** 0.5),
    ("no scaling", lambda Q: 1.0),
    ("divided by d_k", lambda Q: Q.size(-1)),
    ("multiplied by the square root", lambda Q: Q.size(-1) ** -0.5),
    *[
        ("scaled by another axis", lambda Q, size=size, power=power: size(Q) ** power)
        for power in (0.5, 1.0)
        for size in (
            lambda Q: Q.size(-2),
            lambda Q: Q.size(0),
            lambda Q: Q.size(1),
            lambda Q: Q.size(2),
            lambda Q: Q.size(-3),
            lambda Q: Q.size(-2) * Q.size(-1),
            lambda Q: Q.size(-3) * Q.size(-1) if Q.ndim > 2 else Q.numel(),
            lambda Q: Q.size(-3) * Q.size(-1) if Q.ndim > 2 else Q.size(-1),
            lambda Q: Q.numel() / Q.size(-1),
            lambda Q: Q.numel(),
        )
    ],
]
_WEIGHTINGS: list[tuple[str | None, Callable[[Tensor], Tensor]]] = [
    (None, lambda s: s.softmax(-1)),
    ("softmax over queries", lambda s: s.softmax(-2)),
    ("softmax over another axis", lambda s: s.softmax(1)),
    ("softmax over another axis", lambda s: s.softmax(0)),
    ("softmax over another axis", lambda s: s.softmax(0 if s.ndim == 3 else 1)),  # without dim
    ("softmax over another axis", lambda s: s.flatten(-2).softmax(-1).view_as(s)),
    ("no softmax", lambda s: s),
    ("no softmax", lambda s: s / s.sum(-1, keepdim=True)),
    ("no softmax", lambda s: s.exp()),
    ("no softmax", lambda s: s.sigmoid()),
    ("argmax", lambda s: F.one_hot(s.argmax(-1), s.size(-1)).to(s.dtype)),
]
# Before the softmax, and after it.
_MASKINGS: list[tuple[str | None, Callable, Callable]] = [
    (None, lambda s, m: s.masked_fill(~m, -math.inf), lambda A, m: A),
    (None, lambda s, m: s.masked_fill(~m, -1e9), lambda A, m: A),
    ("mask after softmax", lambda s, m: s, lambda A, m: A * m),
    ("mask multiplies the scores", lambda s, m: s * m, lambda A, m: A),
    ("mask ignored", lambda s, m: s, lambda A, m: A),
    ("mask upside down", lambda s, m: s.masked_fill(m, -math.inf), lambda A, m: A),
    ("mask upside down", lambda s, m: s.masked_fill(m, -1e9), lambda A, m: A),
]
_PRODUCTS: list[tuple[str | None, Callable[[Tensor, Tensor], Tensor]]] = [
    (None, lambda Q, K: Q @ K.mT),
    ("keys not transposed", lambda Q, K: Q @ K.reshape(K.mT.shape)),
    ("keys not transposed", lambda Q, K: Q @ K),
    ("queries and keys swapped", lambda Q, K: K @ Q.mT),
]


def _mistakes() -> Iterator[tuple[list[str], Callable]]:
    """Give every combination of choices but the right one, fewest mistakes first."""
    choices = [
        ([name for name in (scale[0], weighting[0], masking[0], product[0]) if name], *rest)
        for rest in itertools.product(_SCALES, _WEIGHTINGS, _MASKINGS, _PRODUCTS)
        for scale, weighting, masking, product in [rest]
    ]
    for made, scale, weighting, masking, product in sorted(choices, key=lambda c: len(c[0])):

        def mistake(
            Q, K, V, mask=None, scale=scale, weighting=weighting, masking=masking, product=product
        ) -> tuple[Tensor, Tensor]:
            scores = product[1](Q, K) / scale[1](Q)
            if mask is None:
                A = weighting[1](scores)
            else:
                A = masking[2](weighting[1](masking[1](scores, mask)), mask)
            return A @ V, A

        if 1 <= len(made) <= 3:
            yield made, mistake

    def own_mask(Q, K, V, mask=None):
        return scaled_dot_product_attention(Q, K, V, causal_mask(Q.size(-2)))

    yield ["own mask always"], own_mask


def _checked_pair(result: Any, inputs: Sequence) -> tuple[Tensor, Tensor | None]:
    """See that attention gave back the pair (V_bar, A), in this order and of the right shapes."""
    Q, _, V = inputs[:3]
    weights_shape = (*Q.shape[:-1], Q.size(-2))
    if not isinstance(result, tuple | list) or len(result) != 2:
        many = isinstance(result, tuple | list)
        found = f"a {type(result).__name__} of {len(result)}" if many else kind(result)
        raise Wrong(
            "a tuple too few",
            f"Your function has to return two things, the averages and the weights: `return V_bar, "
            f"A`. It returns {found}.",
        )
    V_bar, A = result
    swapped = isinstance(A, Tensor) and A.shape == V.shape and isinstance(V_bar, Tensor)
    if swapped and V_bar.shape == weights_shape and V_bar.shape != V.shape:
        raise Wrong(
            "pair swapped",
            "You return the weights first and the averages second. The model expects the averages "
            "first: `return V_bar, A`.",
        )
    crossed = (*Q.shape[:-2], Q.size(-1), Q.size(-1))
    if isinstance(A, Tensor) and A.shape == crossed != weights_shape:
        raise Wrong("keys not transposed", SAYS["keys not transposed"])
    same_tensor("V_bar", V_bar, V.shape, Q, "It holds one average of values per query.")
    if A is not None:
        floats = isinstance(A, Tensor) and A.is_floating_point()
        same_tensor(
            "A",
            A,
            weights_shape,
            Q.to(A.dtype) if floats else Q,
            "It holds one weight per query and key, as a matrix product gives it: `@`, not `*`.",
        )
    return V_bar, A


def examine(answer: Callable) -> list[str]:
    """Judge an answer; give notes when it is right.

    Raises:
        Wrong: it is not.
    """
    own, cases = scaled_dot_product_attention, _cases()
    outcomes = [attempt(answer, inputs, _checked_pair) for inputs in cases]
    if all(isinstance(outcome, Wrong) for outcome in outcomes):
        if stopped(outcomes[0]):
            _look_for_missing_transpose(answer)
        raise outcomes[0]
    if any(not isinstance(o, Wrong) and o[1] is None for o in outcomes):
        averages = [o if isinstance(o, Wrong) else o[0] for o in outcomes]
        if all(agreement(lambda *inputs: own(*inputs)[0], cases, averages)):
            raise Wrong("weights left out", SAYS["weights left out"])
        raise Wrong("weights left out", "A is None, and V_bar is not what equation 4 gives.")
    right = agreement(own, cases, outcomes)
    if not all(right):
        _look_for_chance(answer, cases[4], outcomes[4])
        made, extra = _diagnosis(cases, outcomes, right)
        raise Wrong(made[0], _message(answer, made, extra))
    check_gradients(answer, own, [(*cases[4], None), cases[5]])
    check_elsewhere(answer, own, _larger_cases(), _checked_pair)
    check_on_gpu(answer, cases[5], own(*cases[5]))
    return _how_it_fills(answer) + mention_if_slow(
        answer, own, cases[5], "scaled_dot_product_attention"
    )


def _larger_cases() -> list[tuple[str, tuple]]:
    """Make inputs as the model has them: long, one text, many texts, another mask."""
    generator = new_generator()

    def drawn(*shape: int) -> list[Tensor]:
        return [torch.randn(shape, generator=generator) for _ in "QKV"]

    holes = causal_mask(5) & (torch.rand(5, 5, generator=generator) < 0.6) | torch.eye(5).bool()
    return [
        ("for one text, (1, n_h, T, d_k)", (*drawn(1, 2, 4, 8), causal_mask(4))),
        ("with T = 128", (*drawn(128, 2), causal_mask(128))),
        ("with 64 texts and 4 heads", (*drawn(64, 4, 3, 2), causal_mask(3))),
        ("under a mask other than the causal one", (*drawn(2, 5, 8), holes)),
        ("with d_k = 80", drawn(3, 80)),
        ("for a text of one character", (*drawn(1, 8), causal_mask(1))),
    ]


def _look_for_chance(answer: Callable, inputs: Sequence, outcome: Outcome) -> None:
    if isinstance(outcome, Wrong):
        return
    again = attempt(answer, inputs, _checked_pair)
    if not isinstance(again, Wrong) and not close(again, outcome):
        raise Wrong("random", SAYS["random"])


def _look_for_missing_transpose(answer: Callable) -> None:
    """Where T = d_k, a product without the transpose runs, and shows itself."""
    inputs = tuple(torch.randn(4, 4, generator=new_generator()) for _ in "QKV")
    outcome = attempt(answer, inputs, _checked_pair)
    for made, mistake in _mistakes():
        if made[-1] == "keys not transposed" and explains(mistake, [inputs], [outcome]):
            raise Wrong("keys not transposed", SAYS["keys not transposed"])


def _diagnosis(
    cases: Sequence, outcomes: Sequence[Outcome], right: Sequence[bool]
) -> tuple[list[str], str]:
    """Name the mistakes, most telling first, and add what is only known from the numbers."""
    for made, mistake in _mistakes():
        if explains(mistake, cases, outcomes):
            return made, ""
    own = scaled_dot_product_attention
    plain, masked = [0, 2, 4], [1, 3, 5]
    failed = [isinstance(outcome, Wrong) for outcome in outcomes]
    error = next((f"\n{o.message}" for o in outcomes if isinstance(o, Wrong)), "")
    if all(failed[i] for i in plain) and all(right[i] for i in masked):
        return ["mask not optional"], error
    if all(right[i] for i in (*plain, 1)) and failed[3] and failed[5]:
        return ["only without leading dimensions"], error
    for pair, name in (((0, 1), "two"), ((4, 5), "four"), ((2, 3), "three")):
        if all(right[i] for i in pair) and any(failed):
            return [f"only {name} dimensions"], error
    for (*inputs, mask), outcome in ((cases[i], outcomes[i]) for i in masked):
        if isinstance(outcome, Wrong):
            continue
        if outcome[1].isnan().any():
            return ["infinity times zero"], ""
        if filled := _fill_value(*inputs, mask, outcome[1]):
            return filled
    if any(failed):
        # What it gives where it does not stop may show an idea that went wrong before that.
        kept = [i for i, outcome in enumerate(outcomes) if not failed[i]]
        if not all(right[i] for i in kept):
            for made, mistake in _mistakes():
                if explains(mistake, [cases[i] for i in kept], [outcomes[i] for i in kept]):
                    return made, error
        raise outcomes[failed.index(True)]
    weights = [outcome[1] for outcome in outcomes]
    averages = [outcome[0] for outcome in outcomes]
    if all(agreement(lambda *inputs: own(*inputs)[1], cases, weights)):
        return ["no average of the values"], ""
    if all(agreement(lambda *inputs: own(*inputs)[0], cases, averages)):
        return ["another A returned"], ""
    return ["wrong values"], ""


def _fill_value(Q, K, V, mask, A) -> tuple[list[str], str] | None:
    """Find the finite number that forbidden scores were given, from the weights they got."""
    scores = Q @ K.mT / Q.size(-1) ** 0.5
    # The first cell of a row is always allowed; weights are exp(score) up to a factor per row.
    implied = A.log() - A[..., :1].log() + scores[..., :1]
    allowed = mask.expand_as(scores)
    if not torch.allclose(implied[allowed], scores[allowed], atol=1e-3):
        return None
    for values in (implied[~allowed], (implied - scores)[~allowed]):
        if values.isfinite().all() and values.max() - values.min() < 0.01 + 1e-3 * abs(values[0]):
            value = values.mean().item()
            if abs(value) < 0.01:
                return ["mask multiplies the scores"], ""
            return ["fill is not low enough"], f" Yours amounts to {value:.4g}."
    return None


def _message(answer: Callable, made: Sequence[str], extra: str) -> str:
    """Explain the mistakes and show the tiny case in which the first one is seen."""
    message = SAYS[made[0]] + extra
    for other in made[1:]:
        message += f"\nThen also, {other}: {SAYS[other]}"
    Q, K, V = TINY
    about_mask = made[0].startswith(("mask", "fill", "infinity")) and made[0] != "mask not optional"
    about_mask = about_mask or made[0] == "only without leading dimensions"
    about_values = made[0] == "no average of the values"
    case = "A tiny case, d_k = 4"
    inputs = (Q, K, V, causal_mask(3)) if about_mask else (Q, K, V)
    in_front = made[0].startswith("only") or "another axis" in made[0]
    if in_front and made[0] != "only four dimensions":
        case += ", given as one text with one head, (1, 1, 3, 4)"
        inputs = (*(x[None, None] for x in (Q, K, V)), *inputs[3:])
    case += ", under the causal mask:" if about_mask else ":"
    actual = attempt(answer, inputs, _checked_pair)
    expected = scaled_dot_product_attention(*inputs)
    which = 0 if about_values else 1
    shown = actual if isinstance(actual, Wrong) else actual[which]
    if shown is None or (not isinstance(shown, Wrong) and torch.equal(shown, expected[which])):
        return message
    lines = [case, "  Q = " + inline(Q), "  K = " + inline(K)]
    if about_values:
        lines.append("  V = " + inline(V))
    lines.append(beside("V_bar" if about_values else "A", expected[which], shown))
    return message + "\n" + "\n".join(lines)


def _how_it_fills(answer: Callable) -> list[str]:
    """Look at how a right answer masks: with minus infinity, or with a number far down."""
    generator, mask = new_generator(), causal_mask(5)
    V = torch.randn(5, 8, generator=generator)
    # All scores lie near -300, so a fill of -100 would stand out above them.
    Q = torch.full((5, 8), 30.0) + torch.randn(5, 8, generator=generator) * 0.01
    K = torch.full((5, 8), -3.5) + torch.randn(5, 8, generator=generator) * 0.01
    A = _checked_pair(run(answer, Q, K, V, mask), (Q, K, V))[1]
    if A.isnan().any():
        return [
            "Your softmax gives nan for very large or very small scores. Subtracting the largest "
            "score of a row before exp changes nothing else and prevents it, as torch's own does."
        ]
    if A.triu(1).any():
        raise Wrong(
            "fill is not low enough",
            SAYS["fill is not low enough"]
            + "\nIn a case whose allowed scores lie near -300, yours reads ahead.",
        )
    nothing_allowed = mask.clone()
    nothing_allowed[0] = False
    outcome = attempt(answer, (Q, K, V, nothing_allowed), _checked_pair)
    if isinstance(outcome, Wrong):  # what to do with an empty row was not asked
        return []
    row = outcome[1][0]
    if row.isfinite().all() and row.sum() > 0.5:
        return [
            "A note: you fill with a finite number. Here its weights come out as exactly 0, so all "
            "is well. Minus infinity needs no luck, and works in half precision too."
        ]
    return []
