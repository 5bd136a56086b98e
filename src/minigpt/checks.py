"""The checkpoints of the lab: one per function that the student writes.

In the notebook all have one form:

    causal_mask = checks.causal_mask(causal_mask)

A right answer comes back as it is. For a wrong one, or none, the course's own function comes back,
so that the lesson goes on; what was wrong is printed, with a tiny case. :func:`judge` decides,
:func:`_tell` prints. A wrong answer is recognized by reproducing it: the same inputs go through the
student's function and through every mistake on record, and the mistake that gives the same outputs
on all of them is the one that was made.
"""

import contextlib
import io
import itertools
import linecache
import math
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minigpt import attention, inspection, positions
from minigpt.attention import MultiHeadAttention
from minigpt.model import Block, Config

Status = Literal["passed", "failed", "not attempted"]


@dataclass(frozen=True)
class Verdict:
    """What a checkpoint found: its status, the idea that went wrong, and what to say about it."""

    status: Status
    misconception: str | None = None
    message: str = ""


class CheckpointError(AssertionError):
    """A checkpoint was not passed while MINIGPT_STRICT=1 asks for all of them."""


class _Wrong(Exception):
    """An answer is wrong: the misconception, and the message for the student."""

    def __init__(self, misconception: str, message: str) -> None:
        super().__init__(misconception)
        self.misconception, self.message = misconception, message


class _NotAttempted(Exception):
    """The stub is as it was."""


# --- What was learned so far in this notebook -----------------------------------------------------

_verdicts: dict[str, Verdict] = {}
_attempts: dict[str, Any] = {}
_confirmed: dict[str, bool] = {}

CORE = {
    "scaled_dot_product_attention": "Exercise 1",
    "causal_mask": "Exercise 2",
    "embed_with_positions": "Exercise 3",
    "mean_attention_distance": "Exercise 5",
}
CHALLENGE = {"MyMultiHeadAttention": "Challenge", "MyBlock": "Challenge"}
_REFERENCES = {
    "scaled_dot_product_attention": attention.scaled_dot_product_attention,
    "causal_mask": attention.causal_mask,
    "embed_with_positions": positions.embed_with_positions,
    "mean_attention_distance": inspection.mean_attention_distance,
    "MyMultiHeadAttention": MultiHeadAttention,
    "MyBlock": Block,
}


def reference(name: str) -> Any:
    """Give the course's own function of this name, to train with in place of the student's.

    Raises:
        ValueError: no checkpoint has this name.
    """
    if name not in _REFERENCES:
        raise ValueError(f"a checkpoint is one of {', '.join(_REFERENCES)}; not {name!r}")
    return _REFERENCES[name]


def judge(name: str, answer: Any) -> Verdict:
    """Say whether an answer is right, and if not, which idea went wrong.

    The global source of chance, the answer's inputs and the screen are left alone.

    Args:
        name: the function's own, such as ``"causal_mask"``.
        answer: what the student wrote.

    Raises:
        ValueError: no checkpoint has this name.
    """
    reference(name)
    if not callable(answer):
        return Verdict(
            "failed",
            "not a function",
            f"`{name}` is {_kind(answer)} and not a function: another cell has probably used the "
            "same name. Run the cell with your function again, then this one.",
        )
    try:
        with _aside():
            notes = _EXAMINERS[name](answer)
    except _NotAttempted:
        return Verdict("not attempted")
    except _Wrong as wrong:
        return Verdict("failed", wrong.misconception, wrong.message)
    return Verdict("passed", None, "\n".join(notes))


def verdicts() -> dict[str, Verdict]:
    """Give the last verdict on each function; without one, it was not attempted."""
    return {name: _verdicts.get(name, Verdict("not attempted")) for name in _REFERENCES}


def attempts() -> dict[str, Any]:
    """Give what the student last handed to each checkpoint, right or wrong."""
    return dict(_attempts)


def _tell(name: str, answer: Any) -> Any:
    """Judge, print, remember; give back the answer if it is right, else the course's own."""
    own = reference(name)
    if answer is own:
        # The name in the notebook still points at what an earlier checkpoint handed out.
        verdict = _verdicts.setdefault(name, Verdict("not attempted"))
        print(f"{_mark(verdict)} {name} · {verdict.misconception or verdict.status}")
        print(
            "  This is the course's own function, not yours. Run the cell with your function "
            "first, then this one."
        )
    else:
        verdict = _verdicts[name] = judge(name, answer)
        if verdict.status != "not attempted":
            _attempts[name] = answer
        print(f"{_mark(verdict)} {name} · {verdict.misconception or verdict.status}")
        if verdict.message:
            print(_indented(verdict.message))
        if verdict.status == "failed":
            print(
                "  The lesson goes on with the course's own function. Mend yours and run its cell "
                "again, then this one."
            )
        elif verdict.status == "not attempted":
            print("  The lesson goes on with the course's own function until you write yours.")
    if verdict.status == "passed":
        return answer
    if _strict():
        raise CheckpointError(f"{name}: {verdict.misconception or verdict.status}")
    return own


def scaled_dot_product_attention(answer: Any) -> Any:
    """Check exercise 1 (equations 3, 4 and 6)."""
    return _tell("scaled_dot_product_attention", answer)


def causal_mask(answer: Any) -> Any:
    """Check exercise 2 (equation 6)."""
    return _tell("causal_mask", answer)


def embed_with_positions(answer: Any) -> Any:
    """Check exercise 3 (equation 8)."""
    return _tell("embed_with_positions", answer)


def mean_attention_distance(answer: Any) -> Any:
    """Check exercise 5."""
    return _tell("mean_attention_distance", answer)


def MyMultiHeadAttention(answer: Any) -> Any:
    """Check the first part of the challenge (equation 7)."""
    return _tell("MyMultiHeadAttention", answer)


def MyBlock(answer: Any) -> Any:
    """Check the second part of the challenge (equation 12)."""
    return _tell("MyBlock", answer)


def confirm(claim: str, held: bool, found: str) -> None:
    """Print whether something that was measured is as it has to be, and remember it.

    Raises:
        CheckpointError: it is not, and MINIGPT_STRICT=1.
    """
    _confirmed[claim] = held
    print(f"{'✓' if held else '✗'} {claim}: {found}")
    if not held and _strict():
        raise CheckpointError(f"{claim}: {found}")


def tally() -> None:
    """Print where the student stands: the core exercises, the challenge, and what was measured.

    Raises:
        CheckpointError: not everything was passed, and MINIGPT_STRICT=1.
    """
    now = verdicts()
    for title, names in (("Core exercises", CORE), ("Challenge (optional)", CHALLENGE)):
        count = {s: sum(now[n].status == s for n in names) for s in ("passed", "not attempted")}
        print(f"{title}: {count['passed']} of {len(names)} passed", end="")
        if count["not attempted"]:
            print(f", {count['not attempted']} of {len(names)} not attempted", end="")
        print()
        for name, exercise in names.items():
            verdict = now[name]
            print(f"  {_mark(verdict)} {exercise:10} {name} · ", end="")
            print(verdict.misconception or verdict.status)
    if _confirmed:
        held = sum(_confirmed.values())
        print(f"Measured on your model: {held} of {len(_confirmed)} as they have to be")
        for claim, held in _confirmed.items():
            print(f"  {'✓' if held else '✗'} {claim}")
    missing = [name for name, verdict in now.items() if verdict.status != "passed"]
    if missing and _strict():
        raise CheckpointError(f"not passed: {', '.join(missing)}")


def _strict() -> bool:
    return os.environ.get("MINIGPT_STRICT") == "1"


def _mark(verdict: Verdict) -> str:
    return {"passed": "✓", "failed": "✗", "not attempted": "○"}[verdict.status]


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


# --- Running what a student wrote -----------------------------------------------------------------


@contextlib.contextmanager
def _aside() -> Iterator[None]:
    """Keep an examination from leaving traces: chance, warnings, prints, gradient mode."""
    with (
        torch.random.fork_rng(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        torch.enable_grad(),
    ):
        warnings.simplefilter("ignore")
        yield


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _run(function: Callable, *inputs: Any) -> Any:
    """Call a student's function; an error becomes a sentence, a changed input is noticed."""
    before = [_snapshot(value) for value in inputs]
    try:
        result = function(*inputs)
    except NotImplementedError as error:
        if error.args:  # torch raises it too, with words
            raise _raised(error) from None
        raise _NotAttempted from None
    except Exception as error:
        raise _raised(error) from None
    for value, old in zip(inputs, before, strict=True):
        if old is not None and not torch.equal(_snapshot(value), old):
            raise _Wrong(
                "inputs changed",
                "Your function changes what it was given: after the call one of its inputs holds "
                "other numbers. The model still needs them. An operation that ends in _ (such as "
                "`mul_`) or an assignment such as `Q /= 2` or `x[...] = ...` works in place: write "
                "`Q = Q / 2` instead.",
            )
    if result is None:
        raise _Wrong(
            "returned nothing",
            "Your function returns nothing (None). Its last line has to be a `return`.",
        )
    return result


def _snapshot(value: Any) -> Tensor | None:
    if isinstance(value, nn.Embedding):
        value = value.weight
    return value.detach().clone() if isinstance(value, Tensor) else None


def _raised(error: Exception) -> _Wrong:
    """Put an error into a sentence: its line in the student's code, and what it usually means."""
    place = ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        foreign = "site-packages" in frame.filename or frame.filename == __file__
        if not foreign and "minigpt" not in frame.filename.replace("\\", "/").split("/"):
            line = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
            place = f"\nIt happened in line {frame.lineno}: {line}" if line else ""
            break
    text = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
    hint = next((f"\n{advice}" for words, advice in _HINTS.items() if words in said), "")
    return _Wrong("raised an error", f"Your function stopped with an error: {said}{place}{hint}")


_HINTS = {
    "bad operand type for unary ~": (
        "Without a mask, `mask` is None: look at it only under `if mask is not None:`."
    ),
    "argument 'mask'": "Without a mask, `mask` is None: use it only under `if mask is not None:`.",
    "view size is not compatible": (
        "`view` needs numbers that lie in a row in memory. `reshape` does the same without that."
    ),
    "must match the size": (
        "Two shapes do not fit. Print the `.shape` of each tensor in that line; the comments in "
        "the stub say which they should be."
    ),
    "shapes cannot be multiplied": (
        "In a matrix product the last size of the left has to equal the last but one of the right."
    ),
    "Expected size for first two dimensions": (
        "In a matrix product the last size of the left has to equal the last but one of the right."
    ),
    "Dimension out of range": (
        "An axis counted from the front changes with the number of leading dimensions. Counted "
        "from the end, -1 and -2, it does not."
    ),
    "not enough values to unpack": (
        "Only the last two axes are sure to be there: take their sizes with `Q.size(-1)` and "
        "`Q.size(-2)`."
    ),
    "too many values to unpack": (
        "There can be any number of leading dimensions: take sizes from the end, `Q.size(-1)`."
    ),
    "is not defined": "A name is used that does not exist there. Was its cell run?",
    "missing 1 required positional argument": (
        "Keep the arguments, and their defaults, as they stand in the stub."
    ),
    "index out of range in self": (
        "An embedding was asked for a row that it does not have. Positions count from 0."
    ),
    "same device": (
        "A tensor made inside the function has to lie on the device of the inputs: "
        "`device=idx.device`."
    ),
}


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _same_tensor(
    what: str, value: Any, shape: Sequence[int], like: Tensor, because: str = ""
) -> Tensor:
    """Say in words what keeps a result from being a tensor of this shape, dtype and device."""
    if not isinstance(value, Tensor):
        raise _Wrong(
            "wrong type", f"{what} has to be a tensor. It is {_kind(value)}.{_space(because)}"
        )
    if tuple(value.shape) != tuple(shape):
        raise _Wrong(
            "wrong shape",
            f"{what} has to have the shape {tuple(shape)}. Yours has {tuple(value.shape)}."
            f"{_space(because)}",
        )
    if value.dtype != like.dtype:
        raise _Wrong(
            "wrong dtype",
            f"{what} has to keep the dtype of the inputs, {like.dtype}. Yours is {value.dtype}.",
        )
    if value.device.type != like.device.type:
        raise _Wrong(
            "wrong device",
            f"{what} has to stay on the device of the inputs, {like.device.type!r}. Yours is on "
            f"{value.device.type!r}. A tensor made inside needs `device=`.",
        )
    return value


def _space(text: str) -> str:
    return f" {text}" if text else ""


Outcome = Any  # the tensors that came out, or the _Wrong that kept them from coming


def _outcome(function: Callable, inputs: Sequence, checked: Callable) -> Outcome:
    """Run a function on one case; give the tensors, or what was wrong."""
    try:
        return checked(_run(function, *inputs), inputs)
    except _Wrong as wrong:
        return wrong


def _close(one: Any, other: Any) -> bool:
    """Compare tensors, or tuples of them, up to the rounding of float32."""
    if isinstance(one, tuple):
        return all(_close(a, b) for a, b in zip(one, other, strict=True))
    return one.shape == other.shape and torch.allclose(
        one.float().cpu(), other.float().cpu(), rtol=1e-4, atol=2e-5, equal_nan=True
    )


def _explains(mistake: Callable, cases: Sequence, outcomes: Sequence[Outcome]) -> bool:
    """Say whether a mistake gives what the student's function gave, on every case."""
    for inputs, outcome in zip(cases, outcomes, strict=True):
        try:
            result = mistake(*inputs)
        except Exception:
            if not _stopped(outcome):
                return False
            continue
        if isinstance(outcome, _Wrong) or not _close(result, outcome):
            return False
    return any(not isinstance(outcome, _Wrong) for outcome in outcomes)


def _stopped(outcome: Outcome) -> bool:
    return isinstance(outcome, _Wrong) and outcome.misconception == "raised an error"


def _right(own: Callable, cases: Sequence, outcomes: Sequence[Outcome]) -> list[bool]:
    return [
        not isinstance(outcome, _Wrong) and _close(own(*inputs), outcome)
        for inputs, outcome in zip(cases, outcomes, strict=True)
    ]


def _numbers(values: Tensor) -> list[str]:
    """Write a vector or a matrix, one text line a row."""
    rows = values.detach().float().cpu().reshape(-1, values.shape[-1] if values.ndim else 1)

    def number(x: float) -> str:
        if x == int(x) if math.isfinite(x) else False:
            return str(int(x))
        return f"{x:.3g}" if 0 < abs(x) < 0.001 else f"{x:.3f}"

    cells = [[number(x) for x in row] for row in rows.tolist()]
    width = max(len(cell) for row in cells for cell in row)
    return ["  ".join(cell.rjust(width) for cell in row) for row in cells]


def _inline(values: Tensor) -> str:
    """Write a small matrix in one line."""
    return ", ".join(f"[{' '.join(f'{x:g}' for x in row)}]" for row in values.tolist())


def _beside(what: str, expected: Tensor, actual: Outcome) -> str:
    """Write expected and actual numbers side by side."""
    left = [f"expected {what}", *_numbers(expected)]
    right = (
        ["yours: an error"]
        if _stopped(actual)
        else [f"yours: {actual.misconception}"]
        if isinstance(actual, _Wrong)
        else ["yours", *_numbers(actual)]
    )
    width = max(map(len, left)) + 4
    pairs = itertools.zip_longest(left, right, fillvalue="")
    return "\n".join(f"  {a.ljust(width)}{b}".rstrip() for a, b in pairs)


def _mention_if_slow(
    answer: Callable, own: Callable, inputs: Sequence, name: str, ratio: float = 30
) -> list[str]:
    """Tell the owner of a right but slow answer how to train without waiting for it."""
    times = _seconds(answer, inputs) / _seconds(own, inputs)
    if times < ratio:
        return []
    return [
        f"It is right, and about {times:.0f} times as slow as the course's own on a small input. "
        "To train without waiting, write "
        f'`checks.reference("{name}")` in its place in the training cell.'
    ]


def _seconds(function: Callable, inputs: Sequence) -> float:
    best = math.inf
    for _ in range(3):
        started = time.perf_counter()
        function(*inputs)
        best = min(best, time.perf_counter() - started)
    return best


def _check_gradients(answer: Callable, own: Callable, cases: Sequence[Sequence[Any]]) -> None:
    """Compare the gradients that reach the inputs with those of the course's own function."""
    for inputs in cases:
        gradients = []
        for function in (answer, own):
            leaves = [
                value.detach().clone().requires_grad_() if _is_float(value) else value
                for value in inputs
            ]
            # Leaves may not be changed in place, so the function gets copies of them.
            copies = [leaf.clone() if _is_float(leaf) else leaf for leaf in leaves]
            weights = [leaf.weight for leaf in leaves if isinstance(leaf, nn.Embedding)]
            wanted = [leaf for leaf in leaves if _is_float(leaf)] + weights
            result = function(*copies)
            first = result[0] if isinstance(result, tuple) else result
            if not first.requires_grad:
                raise _Wrong("gradient cut", _GRADIENT_CUT)
            weighting = torch.linspace(-1, 1, first.numel(), device=first.device)
            loss = (first * weighting.view_as(first)).sum()
            gradients.append(torch.autograd.grad(loss, wanted, allow_unused=True))
        for mine, expected in zip(*gradients, strict=True):
            if mine is None or not _close(mine, expected):
                raise _Wrong("gradient cut", _GRADIENT_CUT)


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


_GRADIENT_CUT = (
    "The numbers are right, but the gradient does not come through, so the model could not learn. "
    "Something cuts it: `.detach()`, `.data`, `.item()`, `.numpy()`, `torch.no_grad()`, or a new "
    "tensor built from plain numbers, as in `torch.tensor(...)`. Stay with operations on tensors."
)


def _check_on_gpu(answer: Callable, inputs: Sequence, expected: Any) -> None:
    """Where there is a GPU the answer has to run on it too."""
    if not torch.cuda.is_available():
        return

    def moved(value: Any) -> Any:
        if isinstance(value, nn.Embedding):
            return nn.Embedding.from_pretrained(value.weight.detach().cuda())
        return value.cuda() if isinstance(value, Tensor) else value

    result = _run(answer, *map(moved, inputs))
    first = result[0] if isinstance(result, tuple) else result
    if not (isinstance(first, Tensor) and first.is_cuda and _close(result, expected)):
        raise _Wrong(
            "wrong device",
            "On the CPU your function is right, but not on the GPU. A tensor made inside needs the "
            "device of the inputs: `device=Q.device` or `device=idx.device`.",
        )


# --- Exercise 1: scaled_dot_product_attention -----------------------------------------------------

_ATTENTION_SAYS = {
    "no scaling": (
        "Your scores are not divided by √d_k. Their spread then grows with √d_k, the softmax "
        "starts out close to one-hot, and almost no gradient comes through (equations 3 and 5)."
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
        "Your A holds the scores themselves. The softmax turns each row of them into weights that "
        "are positive and sum to 1 (equation 4)."
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
        "is False the score has to become minus infinity before the softmax (equation 6)."
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


def _attention_cases() -> list[tuple]:
    """Make small inputs whose sizes all differ, without a mask and with one."""
    generator, cases = _generator(), []
    for shape in ((5, 8), (3, 5, 8), (2, 3, 5, 8)):
        # As in the model: heads come from a transpose, so the numbers do not lie in a row.
        turned = (*shape[:-3], shape[-2], *shape[-3:-2], shape[-1])
        drawn = [torch.randn(turned, generator=generator) for _ in "QKV"]
        Q, K, V = (x.transpose(-3, -2) if len(shape) > 2 else x for x in drawn)
        cases += [(Q, K, V), (Q, K, V, attention.causal_mask(5))]
    return cases


_TINY_QKV = (
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
]


def _attention_mistakes() -> Iterator[tuple[list[str], Callable]]:
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
        return attention.scaled_dot_product_attention(Q, K, V, attention.causal_mask(Q.size(-2)))

    yield ["own mask always"], own_mask


def _checked_pair(result: Any, inputs: Sequence) -> tuple[Tensor, Tensor | None]:
    """See that attention gave back the pair (V_bar, A), in this order and of the right shapes."""
    Q, _, V = inputs[:3]
    weights_shape = (*Q.shape[:-1], Q.size(-2))
    if isinstance(result, list):
        result = tuple(result)
    if not isinstance(result, tuple) or len(result) != 2:
        found = f"a tuple of {len(result)}" if isinstance(result, tuple) else _kind(result)
        raise _Wrong(
            "a tuple too few",
            f"Your function has to return two things, the averages and the weights: `return V_bar, "
            f"A`. It returns {found}.",
        )
    V_bar, A = result
    swapped = isinstance(A, Tensor) and A.shape == V.shape and isinstance(V_bar, Tensor)
    if swapped and V_bar.shape == weights_shape and V_bar.shape != V.shape:
        raise _Wrong(
            "pair swapped",
            "You return the weights first and the averages second. The model expects the averages "
            "first: `return V_bar, A`.",
        )
    crossed = (*Q.shape[:-2], Q.size(-1), Q.size(-1))
    if isinstance(A, Tensor) and A.shape == crossed != weights_shape:
        raise _Wrong("keys not transposed", _ATTENTION_SAYS["keys not transposed"])
    _same_tensor("V_bar", V_bar, V.shape, Q, "It holds one average of values per query.")
    if A is not None:
        _same_tensor("A", A, weights_shape, Q, "It holds one weight per query and key.")
    return V_bar, A


def _examine_attention(answer: Callable) -> list[str]:
    own = attention.scaled_dot_product_attention
    cases = _attention_cases()
    outcomes = [_outcome(answer, inputs, _checked_pair) for inputs in cases]
    if all(isinstance(outcome, _Wrong) for outcome in outcomes):
        if _stopped(outcomes[0]):
            _look_for_missing_transpose(answer)
        raise outcomes[0]
    if any(not isinstance(o, _Wrong) and o[1] is None for o in outcomes):
        averages = [o if isinstance(o, _Wrong) else o[0] for o in outcomes]
        if all(_right(lambda *inputs: own(*inputs)[0], cases, averages)):
            raise _Wrong("weights left out", _ATTENTION_SAYS["weights left out"])
        raise _Wrong("weights left out", "A is None, and V_bar is not what equation 4 gives.")
    right = _right(own, cases, outcomes)
    if not all(right):
        made, extra = _attention_diagnosis(cases, outcomes, right)
        raise _Wrong(made[0], _attention_message(answer, made, extra))
    _check_gradients(answer, own, [(*cases[4], None), cases[5]])
    _check_on_gpu(answer, cases[5], own(*cases[5]))
    notes = _attention_fill(answer)
    return notes + _mention_if_slow(answer, own, cases[5], "scaled_dot_product_attention")


def _look_for_missing_transpose(answer: Callable) -> None:
    """Where T = d_k, a product without the transpose runs, and shows itself."""
    inputs = tuple(torch.randn(4, 4, generator=_generator()) for _ in "QKV")
    outcome = _outcome(answer, inputs, _checked_pair)
    for made, mistake in _attention_mistakes():
        if made[-1] == "keys not transposed" and _explains(mistake, [inputs], [outcome]):
            raise _Wrong("keys not transposed", _ATTENTION_SAYS["keys not transposed"])


def _attention_diagnosis(
    cases: Sequence, outcomes: Sequence[Outcome], right: Sequence[bool]
) -> tuple[list[str], str]:
    """Name the mistakes, most telling first, and add what is only known from the numbers."""
    for made, mistake in _attention_mistakes():
        if _explains(mistake, cases, outcomes):
            return made, ""
    own = attention.scaled_dot_product_attention
    plain, masked = [0, 2, 4], [1, 3, 5]
    raised = [isinstance(outcome, _Wrong) for outcome in outcomes]
    if all(raised[i] for i in plain) and all(right[i] for i in masked):
        return ["mask not optional"], ""
    for pair, name in (((0, 1), "two"), ((4, 5), "four"), ((2, 3), "three")):
        if all(right[i] for i in pair) and any(raised):
            return [f"only {name} dimensions"], ""
    for (*inputs, mask), outcome in ((cases[i], outcomes[i]) for i in masked):
        # Both triangles have to be seen, so that nan from an empty row is told apart.
        if not isinstance(outcome, _Wrong) and outcome[1].isnan().any():
            return ["infinity times zero"], ""
        if not isinstance(outcome, _Wrong) and (filled := _fill_value(*inputs, mask, outcome[1])):
            return filled
    structural = [outcome for outcome in outcomes if isinstance(outcome, _Wrong)]
    if structural:
        # What it gives where it does not stop may show an idea that went wrong before that.
        kept = [i for i, o in enumerate(outcomes) if not isinstance(o, _Wrong)]
        if not all(right[i] for i in kept):
            for made, mistake in _attention_mistakes():
                if _explains(mistake, [cases[i] for i in kept], [outcomes[i] for i in kept]):
                    return made, ""
        raise structural[0]
    weights = [outcome[1] for outcome in outcomes]
    averages = [outcome[0] for outcome in outcomes]
    if all(_right(lambda *i: own(*i)[1], cases, weights)):
        return ["no average of the values"], ""
    if all(_right(lambda *i: own(*i)[0], cases, averages)):
        return ["another A returned"], ""
    return ["wrong values"], ""


def _fill_value(Q, K, V, mask, A) -> tuple[list[str], str] | None:
    """Find the finite number that forbidden scores were given, from the weights they got."""
    scores = Q @ K.mT / Q.size(-1) ** 0.5
    # The first allowed cell of a row is its first; weights are exp(score) up to a factor per row.
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


def _attention_message(answer: Callable, made: Sequence[str], extra: str) -> str:
    """Explain the mistakes and show the tiny case in which the first one is seen."""
    message = _ATTENTION_SAYS[made[0]] + extra
    for other in made[1:]:
        message += f"\nThen also, {other}: {_ATTENTION_SAYS[other]}"
    Q, K, V = _TINY_QKV
    about_mask = made[0].startswith(("mask", "fill", "infinity")) and made[0] != "mask not optional"
    inputs = (Q, K, V, attention.causal_mask(3)) if about_mask else (Q, K, V)
    about_values = made[0] == "no average of the values"
    if made[0].startswith("only two") or "another axis" in made[0]:
        inputs = tuple(x[None, None] if x.ndim > 2 or x.size(-1) == 4 else x for x in inputs)
    actual = _outcome(answer, inputs, _checked_pair)
    expected = attention.scaled_dot_product_attention(*inputs)
    which = 0 if about_values else 1
    shown = actual if isinstance(actual, _Wrong) else actual[which]
    if shown is None or (not isinstance(shown, _Wrong) and torch.equal(shown, expected[which])):
        return message
    case = ["A tiny case, d_k = 4" + (", under the causal mask:" if about_mask else ":")]
    case += ["  Q = " + _inline(Q), "  K = " + _inline(K)]
    if about_values:
        case += ["  V = " + _inline(V)]
    case.append(_beside("V_bar" if about_values else "A", expected[which], shown))
    return message + "\n" + "\n".join(case)


def _attention_fill(answer: Callable) -> list[str]:
    """Look at how a right answer masks: with minus infinity, or with a number far down."""
    generator, mask = _generator(), attention.causal_mask(5)
    V = torch.randn(5, 8, generator=generator)
    # All scores lie near -300, so a fill of -100 would stand out above them.
    Q = torch.full((5, 8), 30.0) + torch.randn(5, 8, generator=generator) * 0.01
    K = torch.full((5, 8), -3.5) + torch.randn(5, 8, generator=generator) * 0.01
    A = _checked_pair(_run(answer, Q, K, V, mask), (Q, K, V))[1]
    if A.isnan().any():
        return [
            "Your softmax gives nan for very large or very small scores. Subtracting the largest "
            "score of a row before exp changes nothing else and prevents it, as torch's own does."
        ]
    if A.triu(1).any():
        raise _Wrong(
            "fill is not low enough",
            _ATTENTION_SAYS["fill is not low enough"]
            + "\nIn a case whose allowed scores lie near -300, yours reads ahead.",
        )
    nothing_allowed = mask.clone()
    nothing_allowed[0] = False
    outcome = _outcome(answer, (Q, K, V, nothing_allowed), _checked_pair)
    if isinstance(outcome, _Wrong):  # what to do with an empty row was not asked
        return []
    row = outcome[1][0]
    if row.isfinite().all() and row.sum() > 0.5:
        return [
            "A note: you fill with a finite number. Here its weights come out as exactly 0, so all "
            "is well. Minus infinity needs no luck, and works in half precision too."
        ]
    return []


# --- Exercise 2: causal_mask ----------------------------------------------------------------------

_MASK_SAYS = {
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
        "The numbers are in the right places, but they are numbers. `~mask` on numbers is not "
        "*not*: make it boolean, with `dtype=torch.bool`, `.bool()` or a comparison such as i <= t."
    ),
    "mirrored": (
        "Your triangle is mirrored: the boundary has to run from the top left to the bottom right."
    ),
    "wrong values": "Your mask allows other cells than i ≤ t, row t reading column i.",
}


def _checked_mask(result: Any, inputs: Sequence) -> Tensor:
    (T,) = inputs
    if not isinstance(result, Tensor):
        raise _Wrong("wrong type", f"A mask has to be a tensor. Yours is {_kind(result)}.")
    if result.ndim == 2 and result.size(0) == result.size(1) != T:
        raise _Wrong(
            "wrong size",
            f"causal_mask({T}) has to be ({T}, {T}), for whatever T is asked for. Yours is "
            f"{tuple(result.shape)}.",
        )
    if tuple(result.shape) != (T, T):
        raise _Wrong(
            "wrong shape",
            f"causal_mask({T}) has to have the shape ({T}, {T}). Yours has {tuple(result.shape)}.",
        )
    if result.device.type == "meta":
        raise _Wrong("wrong device", "Your mask holds no numbers: it is on the device 'meta'.")
    return result.cpu()


def _examine_mask(answer: Callable) -> list[str]:
    own, cases = attention.causal_mask, [(4,), (1,), (2,), (7,)]
    outcomes = [_outcome(answer, inputs, _checked_mask) for inputs in cases]
    for outcome in outcomes:
        if isinstance(outcome, _Wrong):
            raise outcome
    first = outcomes[0]
    found = _mask_misconception(first)
    if found is None and not all(_right(own, cases, [o.bool() for o in outcomes])):
        found = "wrong values"
    if found is not None:
        shown = first.int() if first.dtype == torch.bool else first
        tiny = _beside("causal_mask(4)", own(4).int(), shown)
        legend = "\nWith 1 for True and 0 for False:" if first.dtype == torch.bool else ""
        raise _Wrong(found, f"{_MASK_SAYS[found]}{legend}\n{tiny}")
    return _mention_if_slow(answer, own, (64,), "causal_mask", ratio=300)


def _mask_misconception(mask: Tensor) -> str | None:
    lower = attention.causal_mask(4)
    if mask.dtype != torch.bool:
        if (mask[~lower] < 0).all() and (mask[lower] == 0).all():
            return "additive mask"
        if (mask < 0).any():
            return "additive mask" if (mask.triu(1) == 0).all() else "wrong values"
        if torch.equal(mask != 0, lower):
            return "not boolean"
        mask = mask != 0
    patterns = {
        "upside down": ~lower,
        "upper triangle": lower.T,
        "diagonal left out": lower.tril(-1),
        "everything allowed": torch.ones_like(lower),
        "nothing allowed": torch.zeros_like(lower),
        "only itself": torch.eye(4, dtype=torch.bool),
        "mirrored": lower.flip(0),
    }
    for name, pattern in patterns.items():
        if torch.equal(mask, pattern):
            return name
    if torch.equal(mask, lower.flip(1)):
        return "mirrored"
    return None if torch.equal(mask, lower) else "wrong values"


# --- Exercise 3: embed_with_positions -------------------------------------------------------------

_EMBED_SAYS = {
    "position by batch": (
        "Your positions count the texts of the batch, not the characters of a text. idx is (B, T): "
        "its second axis is the position, `idx.size(1)` long. All texts share the same positions."
    ),
    "off by one": (
        "Your positions are off by one. Rows of a table count from 0, so position t of a text, "
        "counted from 1, is row t - 1: `torch.arange(T)`."
    ),
    "multiplied": (
        "You multiply the two embeddings. Equation 8 adds them: each keeps its own directions, and "
        "a near-zero position would wipe the character out of a product."
    ),
    "whole table added": (
        "You add the whole position table. It has T_max rows, and the text only T characters: look "
        "up the first T rows, with `pos_emb(torch.arange(T))`."
    ),
    "counted from the end": (
        "You take the last T rows of the position table. A text starts at position 0."
    ),
    "counted backwards": "Your positions run backwards: the first character has to get row 0.",
    "no positions": (
        "Your result is the token embedding alone. Without positions the model could not tell the "
        "order of what it reads (equation 8)."
    ),
    "no tokens": "Your result is the position alone: the characters themselves are missing.",
    "positions looked up by token": (
        "You look the position up by the character, `pos_emb(idx)`. Its row is where the character "
        "stands, 0 to T - 1, not which character it is."
    ),
    "position number added": (
        "You add the number of the position to every coordinate. What has to be added is a learned "
        "vector, the row of `pos_emb` for that position (equation 8)."
    ),
    "embeddings scaled": (
        "Your embeddings are scaled. The original paper multiplied the token embeddings by √d, but "
        "this model does not: equation 8 is a plain sum."
    ),
    "same position for all": (
        "All characters get the same position vector. Each has to get its own: rows 0 to T - 1."
    ),
    "tables swapped": (
        "You look characters up in the table of positions and positions in the table of "
        "characters. `tok_emb` takes idx, `pos_emb` the positions 0 to T - 1."
    ),
    "averaged": "You take the mean of the two embeddings. Equation 8 is their sum.",
    "subtracted": "You subtract the positions. Equation 8 adds them.",
    "wrong values": (
        "Your vectors are not those of equation 8, token embedding plus position embedding, and "
        "none of the usual slips explains them."
    ),
}


def _embed_case(B: int, T: int, T_max: int, d: int, generator: torch.Generator) -> tuple:
    V = 6
    tok_emb, pos_emb = nn.Embedding(V, d), nn.Embedding(T_max, d)
    with torch.no_grad():
        for table in (tok_emb, pos_emb):
            table.weight.normal_(generator=generator)
    return torch.randint(V, (B, T), generator=generator), tok_emb, pos_emb


def _rows(idx, tok_emb, pos_emb, positions) -> Tensor:
    return tok_emb(idx) + pos_emb(positions)


_EMBED_MISTAKES: list[tuple[str, Callable]] = [
    ("position by batch", lambda i, t, p: _rows(i, t, p, torch.arange(i.size(0)))),
    ("position by batch", lambda i, t, p: _rows(i, t, p, torch.arange(i.size(0))[:, None])),
    ("off by one", lambda i, t, p: _rows(i, t, p, torch.arange(i.size(1)) + 1)),
    (
        "off by one",
        lambda i, t, p: _rows(
            i, t, p, (torch.arange(i.size(1)) + 1).clamp(max=p.num_embeddings - 1)
        ),
    ),
    (
        "off by one",
        lambda i, t, p: _rows(i, t, p, (torch.arange(i.size(1)) + 1) % p.num_embeddings),
    ),
    ("off by one", lambda i, t, p: _rows(i, t, p, (torch.arange(i.size(1)) - 1).clamp(min=0))),
    ("multiplied", lambda i, t, p: t(i) * p(torch.arange(i.size(1)))),
    ("whole table added", lambda i, t, p: t(i) + p.weight),
    ("counted from the end", lambda i, t, p: t(i) + p.weight[-i.size(1) :]),
    ("counted backwards", lambda i, t, p: _rows(i, t, p, torch.arange(i.size(1)).flip(0))),
    ("counted backwards", lambda i, t, p: t(i) + p.weight.flip(0)[: i.size(1)]),
    ("no positions", lambda i, t, p: t(i)),
    ("no tokens", lambda i, t, p: p(torch.arange(i.size(1))).expand(*i.shape, -1)),
    ("positions looked up by token", lambda i, t, p: t(i) + p(i)),
    ("positions looked up by token", lambda i, t, p: t(i) + p(i % i.size(1))),
    ("position number added", lambda i, t, p: t(i) + torch.arange(i.size(1))[:, None]),
    ("position number added", lambda i, t, p: t(i) + torch.arange(1, i.size(1) + 1)[:, None]),
    (
        "embeddings scaled",
        lambda i, t, p: t(i) * t.embedding_dim**0.5 + p(torch.arange(i.size(1))),
    ),
    ("same position for all", lambda i, t, p: _rows(i, t, p, torch.zeros_like(i))),
    (
        "embeddings scaled",
        lambda i, t, p: _rows(i, t, p, torch.arange(i.size(1))) * t.embedding_dim**0.5,
    ),
    ("embeddings scaled", lambda i, t, p: _rows(i, t, p, torch.arange(i.size(1))) / 2**0.5),
    (
        "same position for all",
        lambda i, t, p: _rows(i, t, p, torch.full_like(i, i.size(1) - 1)),
    ),
    ("tables swapped", lambda i, t, p: p(i) + t(torch.arange(i.size(1)))),
    ("averaged", lambda i, t, p: _rows(i, t, p, torch.arange(i.size(1))) / 2),
    ("subtracted", lambda i, t, p: t(i) - p(torch.arange(i.size(1)))),
]


def _checked_vectors(result: Any, inputs: Sequence) -> Tensor:
    idx, tok_emb, _ = inputs
    expected = (*idx.shape, tok_emb.embedding_dim)
    B, T, d = expected
    if isinstance(result, Tensor) and result.shape in ((B, T, 2 * d), (B, 2 * T, d)):
        raise _Wrong(
            "concatenated",
            "You put the two embeddings beside each other, so the result is twice as large. "
            "Equation 8 adds them.",
        )
    because = "It holds one vector of width d per text and position, (B, T, d)."
    return _same_tensor("The result", result, expected, tok_emb.weight, because)


def _examine_embed(answer: Callable) -> list[str]:
    own, generator = positions.embed_with_positions, _generator()
    sizes = [(3, 5, 9, 6), (4, 4, 9, 6), (2, 7, 7, 6), (1, 2, 9, 6)]
    cases = [_embed_case(*size, generator) for size in sizes]
    outcomes = [_outcome(answer, inputs, _checked_vectors) for inputs in cases]
    right = _right(own, cases, outcomes)
    if not all(right):
        found = next((name for name, m in _EMBED_MISTAKES if _explains(m, cases, outcomes)), None)
        if found is None:
            failed = next((o for o in outcomes if isinstance(o, _Wrong)), None)
            if failed is not None and failed.misconception != "raised an error":
                raise failed
            kept = [i for i, o in enumerate(outcomes) if not isinstance(o, _Wrong)]
            if failed is not None:
                # One that stops on some cases: what it gives on the others may tell the idea.
                found = kept and next(
                    (
                        name
                        for name, m in _EMBED_MISTAKES
                        if not all(right[i] for i in kept)
                        and _explains(m, [cases[i] for i in kept], [outcomes[i] for i in kept])
                    ),
                    None,
                )
                if not found:
                    raise failed
        found = found or "wrong values"
        raise _Wrong(found, f"{_EMBED_SAYS[found]}\n{_embed_example(answer)}".rstrip())
    _check_gradients(answer, own, cases[:1])
    _check_on_gpu(answer, cases[0], own(*cases[0]))
    return _mention_if_slow(answer, own, cases[0], "embed_with_positions")


def _embed_example(answer: Callable) -> str:
    """Show one short text in which a character comes twice, so that its places differ."""
    tok_emb, pos_emb = nn.Embedding(2, 2), nn.Embedding(4, 2)
    with torch.no_grad():
        tok_emb.weight.copy_(torch.tensor([[10.0, 20], [30, 40]]))
        pos_emb.weight.copy_(torch.tensor([[1.0, 2], [3, 4], [5, 6], [7, 8]]))
    inputs = (torch.tensor([[0, 0, 1], [1, 0, 0]]), tok_emb, pos_emb)
    actual = _outcome(answer, inputs, _checked_vectors)
    expected = positions.embed_with_positions(*inputs)
    if not isinstance(actual, _Wrong) and _close(actual, expected):
        return ""
    shown = actual if isinstance(actual, _Wrong) else actual[0]
    return "\n".join(
        [
            "A tiny case, the text 0 0 1 (one of two) with T_max = 4:",
            "  tok_emb = " + _inline(tok_emb.weight),
            "  pos_emb = " + _inline(pos_emb.weight),
            _beside("for 0 0 1", expected[0], shown),
        ]
    )


# --- Exercise 5: mean_attention_distance ----------------------------------------------------------

_DISTANCE_SAYS = {
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


def _distance_mistakes() -> list[tuple[str, Callable]]:
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
        ("signed", lambda A: -right(A)),
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
    ]


def _checked_distances(result: Any, inputs: Sequence) -> Tensor:
    (A,) = inputs
    B, n_h = A.shape[:2]
    if isinstance(result, list | tuple) and all(isinstance(x, float | Tensor) for x in result):
        raise _Wrong(
            "wrong type",
            f"The result has to be one tensor of shape ({n_h},). Yours is a {type(result).__name__}"
            f" of {len(result)}: `torch.stack` makes a tensor of them.",
        )
    if isinstance(result, Tensor) and result.shape in ((), (1,), (B, n_h)):
        found = "batch left in" if result.shape == (B, n_h) else "averaged over heads"
        raise _Wrong(
            found,
            f"{_DISTANCE_SAYS[found]} The shape has to be ({n_h},); yours is "
            f"{tuple(result.shape)}.",
        )
    return _same_tensor("The result", result, (n_h,), A, "It holds one number per head, (n_h,).")


def _distance_cases() -> list[tuple[Tensor]]:
    generator, cases = _generator(), []
    for B, n_h, T in ((2, 3, 5), (3, 4, 6), (1, 2, 4)):
        scores = torch.randn(B, n_h, T, T, generator=generator)
        scores = scores.masked_fill(~attention.causal_mask(T), -math.inf)
        cases.append((scores.softmax(-1),))
    return cases


def _examine_distance(answer: Callable) -> list[str]:
    own, cases = inspection.mean_attention_distance, _distance_cases()
    outcomes = [_outcome(answer, inputs, _checked_distances) for inputs in cases]
    wrong = [outcome for outcome in outcomes if isinstance(outcome, _Wrong)]
    if wrong:
        raise wrong[0]
    if not all(_right(own, cases, outcomes)):
        found = next(
            (name for name, m in _distance_mistakes() if _explains(m, cases, outcomes)),
            "wrong values",
        )
        A = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
        other = torch.tensor([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])
        heads = torch.stack([A, other])
        several = found in ("only the first text", "summed over the batch")
        inputs = (torch.stack([heads, heads.flip(0)]) if several else heads[None],)
        expected, actual = own(*inputs), _outcome(answer, inputs, _checked_distances)
        lines = [
            _DISTANCE_SAYS[found],
            "A tiny case, T = 3, with two heads"
            + (", which change places in a second text:" if several else ":"),
            f"  {_inline(A)}",
            f"  {_inline(other)}",
            _beside("distances", expected, actual),
        ]
        raise _Wrong(found, "\n".join(lines))
    _check_on_gpu(answer, cases[0], own(*cases[0]))
    return []


# --- The challenge --------------------------------------------------------------------------------

_MULTI_HEAD_SAYS = {
    "heads not split": (
        "Your layer runs one attention step over the full width. Cut Q, K and V into n_h heads of "
        "width d_k = d / n_h first (equation 7)."
    ),
    "split without transpose": (
        "Your view puts the heads before the positions without moving them there: numbers of "
        "different positions end up in one head. First (B, T, n_h, d_k), then `.transpose(1, 2)`."
    ),
    "heads interleaved": (
        "Your heads take every n_h-th column. Head r has the neighbouring columns from r·d_k on: "
        "view as (B, T, n_h, d_k), not (B, T, d_k, n_h)."
    ),
    "merged without transpose": (
        "You join the heads while they still stand before the positions: different positions end "
        "up in one row. First `.transpose(1, 2)`, then reshape to (B, T, d)."
    ),
    "no output projection": (
        "The joined heads are returned as they are. W_proj has to mix them (equation 7)."
    ),
    "mask not passed": "The mask does not reach your attention function, so positions read ahead.",
    "own attention not used": (
        "The numbers are right, but they do not come from `self.attention`. Call the function that "
        "was passed in: otherwise nobody can exchange it, or look at its weights."
    ),
    "one projection twice": (
        "One projection is used for two things. Queries, keys and values have a matrix each, W_Q, "
        "W_K and W_V (equation 1)."
    ),
    "wrong values": (
        "On the same weights your layer gives other numbers than the course's own. Follow the "
        "shapes: (B, T, d), (B, T, n_h, d_k), (B, n_h, T, d_k), attention, and all the way back."
    ),
}
_BLOCK_SAYS = {
    "post-norm": (
        "You normalize after the addition. That is the post-norm block of equation 13. This model "
        "is pre-norm: each sublayer reads a normalized copy (equation 12)."
    ),
    "no residual": (
        "A sublayer replaces the stream instead of adding to it. Without `H + ...` the gradient "
        "has no straight way through a deep stack (equation 12)."
    ),
    "no normalization": (
        "A sublayer reads the stream as it is. It should read a normalized copy: norm_1 before "
        "attention, norm_2 before the feed-forward layer (equation 12)."
    ),
    "one normalization twice": (
        "Both sublayers use the same normalization. Each has its own: norm_1 for attention, norm_2 "
        "for the feed-forward layer."
    ),
    "residual from the normalized": (
        "You add the sublayer's output to the normalized copy. Add it to H itself, so that the "
        "stream runs through untouched (equation 12)."
    ),
    "parallel sublayers": (
        "Both sublayers read the same input. The feed-forward layer comes second: it reads H', "
        "which already contains what attention wrote (equation 12)."
    ),
    "order swapped": "The feed-forward layer comes first in yours. Attention does (equation 12).",
    "mask not passed": "The mask does not reach the attention layer, so positions read ahead.",
    "dropout on the stream": (
        "In training your dropout hits the stream itself. It belongs on each sublayer's output, "
        "before the addition: `H + self.dropout(...)`."
    ),
    "dropout left out": (
        "Your block never drops anything. In training, dropout belongs on each sublayer's output, "
        "before the addition: `H + self.dropout(...)`."
    ),
    "wrong values": (
        "On the same weights your block gives other numbers than the course's own (equation 12)."
    ),
}


def _randomized(module: nn.Module) -> nn.Module:
    """Give every weight a random value, so that none stands at a neutral 0 or 1."""
    generator = _generator()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    return module.eval()


def _built(name: str, answer: Any, own: nn.Module, *sizes: Any, **functions: Any) -> nn.Module:
    """Build the student's layer and give it the weights of the course's own."""
    try:
        mine = answer(*sizes, **functions)
    except NotImplementedError as error:
        raise _raised(error) if error.args else _NotAttempted from None
    except Exception as error:
        raise _raised(error) from None
    if not isinstance(mine, nn.Module):
        raise _Wrong("wrong type", f"`{name}(...)` has to be an nn.Module. It is {_kind(mine)}.")
    shapes = {key: tuple(value.shape) for key, value in own.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in mine.state_dict().items()}
    if shapes != found:
        odd = sorted({key for key, _ in shapes.items() ^ found.items()})
        raise _Wrong(
            "other weights",
            "Your layer does not have the weights of the course's own, so the two cannot be "
            f"compared. They differ in {', '.join(odd)}. Keep `__init__` as it stands in the stub.",
        )
    mine.load_state_dict(own.state_dict())
    return mine.eval()


def _checked_stream(result: Any, inputs: Sequence) -> Tensor:
    H = inputs[0]
    return _same_tensor("The result", result, H.shape, H, "A layer keeps the shape (B, T, d).")


def _compare_layers(mine, own, cases, mistakes, says) -> None:
    """Compare two layers with the same weights on every case."""
    outcomes = [_outcome(mine, inputs, _checked_stream) for inputs in cases]
    wrong = [outcome for outcome in outcomes if isinstance(outcome, _Wrong)]
    if wrong:
        raise wrong[0]
    if not all(_right(own, cases, outcomes)):
        found = next(
            (name for name, m in mistakes if _explains(m, cases, outcomes)), "wrong values"
        )
        place = next(i for i, same in enumerate(_right(own, cases, outcomes)) if not same)
        expected, actual = own(*cases[place])[0], outcomes[place][0]  # (T, d)
        t = int((expected - actual).abs().amax(dim=-1).argmax())
        what = f"row {t} (4 of {expected.size(-1)})"
        tiny = _beside(what, expected[t : t + 1, :4], actual[t : t + 1, :4])
        raise _Wrong(found, f"{says[found]}\nOn the same random weights and input:\n{tiny}")
    _check_gradients(mine, own, cases)


def _stream_cases() -> list[tuple[Tensor, Tensor]]:
    H = torch.randn(2, 5, 12, generator=_generator())
    return [(H, attention.causal_mask(5)), (H, torch.ones(5, 5, dtype=torch.bool))]


def _examine_multi_head(answer: Any) -> list[str]:
    calls: list[tuple] = []

    def recording(Q, K, V, mask=None):
        calls.append(tuple(Q.shape))
        return attention.scaled_dot_product_attention(Q, K, V, mask)

    own = _randomized(MultiHeadAttention(12, 3))
    mine = _built("MyMultiHeadAttention", answer, own, 12, 3, attention=recording)
    cases = [*_stream_cases(), (_stream_cases()[0][0], None)]
    _compare_layers(mine, own, cases, _multi_head_mistakes(own), _MULTI_HEAD_SAYS)
    if not calls:
        raise _Wrong("own attention not used", _MULTI_HEAD_SAYS["own attention not used"])
    return []


def _multi_head_mistakes(own: MultiHeadAttention) -> list[tuple[str, Callable]]:
    attend, n_h = attention.scaled_dot_product_attention, own.n_h

    def split(x: Tensor) -> Tensor:
        return own.split(x)

    def crooked(x: Tensor) -> Tensor:
        return x.reshape(x.size(0), n_h, x.size(1), -1)

    def interleaved(x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, n_h)).permute(0, 3, 1, 2)

    def joined(x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2)

    def rejoined(x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).flatten(2)

    def straight(x: Tensor) -> Tensor:
        return x.reshape(x.size(0), x.size(2), -1)

    def layer(cut=split, join=joined, which=("W_Q", "W_K", "W_V"), out=True, masked=True):
        def forward(H: Tensor, mask: Tensor | None = None) -> Tensor:
            Q, K, V = (cut(getattr(own, name)(H)) for name in which)
            V_bar = join(attend(Q, K, V, mask if masked else None)[0])
            return own.W_proj(V_bar) if out else V_bar

        return forward

    names = ("W_Q", "W_K", "W_V")
    mixed = [which for which in itertools.product(names, repeat=3) if which != names]
    return [
        ("heads not split", layer(cut=lambda x: x, join=lambda x: x)),
        ("split without transpose", layer(cut=crooked)),
        ("split without transpose", layer(cut=crooked, join=straight)),
        ("heads interleaved", layer(cut=interleaved)),
        ("heads interleaved", layer(cut=interleaved, join=rejoined)),
        ("heads interleaved", layer(join=rejoined)),
        ("merged without transpose", layer(join=straight)),
        ("no output projection", layer(out=False)),
        ("mask not passed", layer(masked=False)),
        *[("one projection twice", layer(which=which)) for which in mixed],
    ]


def _examine_block(answer: Any) -> list[str]:
    config = Config(vocab_size=11, d=12, n_h=3, n_l=1, T_max=8, dropout=0.5)
    attend = attention.scaled_dot_product_attention
    own = _randomized(Block(config, attention=attend))
    mine = _built("MyBlock", answer, own, config, attention=attend)
    cases = _stream_cases()
    _compare_layers(mine, own, cases, _block_mistakes(own), _BLOCK_SAYS)
    # With everything dropped nothing is written, and the stream comes out as it went in.
    mine.train()
    for module in mine.modules():
        if isinstance(module, nn.Dropout):
            module.p = 1.0
    result = _run(mine, *cases[0])
    if not _close(result, cases[0][0]):
        everything = not result.detach().any()
        found = "dropout on the stream" if everything else "dropout left out"
        raise _Wrong(found, _BLOCK_SAYS[found])
    return []


def _block_mistakes(own: Block) -> list[tuple[str, Callable]]:
    n1, n2, at, ff = own.norm_1, own.norm_2, own.attn, own.ffn

    def block(first, second):
        """Make a block of two steps; the second also sees the mask and what the first was given."""

        def forward(H: Tensor, mask: Tensor) -> Tensor:
            return second(first(H, mask), mask, H)

        return forward

    def first(H, mask):
        return H + at(n1(H), mask)

    def second(H, mask=None, before=None):
        return H + ff(n2(H))

    return [
        ("post-norm", block(lambda H, m: n1(H + at(H, m)), lambda H, *_: n2(H + ff(H)))),
        ("post-norm", block(lambda H, m: H + n1(at(H, m)), lambda H, *_: H + n2(ff(H)))),
        ("no residual", block(lambda H, m: at(n1(H), m), second)),
        ("no residual", block(first, lambda H, *_: ff(n2(H)))),
        ("no residual", block(lambda H, m: at(n1(H), m), lambda H, *_: ff(n2(H)))),
        ("no normalization", block(lambda H, m: H + at(H, m), second)),
        ("no normalization", block(first, lambda H, *_: H + ff(H))),
        ("no normalization", block(lambda H, m: H + at(H, m), lambda H, *_: H + ff(H))),
        ("one normalization twice", block(first, lambda H, *_: H + ff(n1(H)))),
        ("one normalization twice", block(lambda H, m: H + at(n2(H), m), second)),
        (
            "one normalization twice",
            block(lambda H, m: H + at(n2(H), m), lambda H, *_: H + ff(n1(H))),
        ),
        ("residual from the normalized", block(lambda H, m: n1(H) + at(n1(H), m), second)),
        ("residual from the normalized", block(first, lambda H, *_: n2(H) + ff(n2(H)))),
        (
            "residual from the normalized",
            block(lambda H, m: n1(H) + at(n1(H), m), lambda H, *_: n2(H) + ff(n2(H))),
        ),
        ("parallel sublayers", block(first, lambda H, _, before: H + ff(n2(before)))),
        ("order swapped", lambda H, m: first(second(H), m)),
        ("order swapped", block(lambda H, m: H + ff(n1(H)), lambda H, m, _: H + at(n2(H), m))),
        ("mask not passed", block(lambda H, m: H + at(n1(H), None), second)),
    ]


_EXAMINERS: dict[str, Callable[[Any], list[str]]] = {
    "scaled_dot_product_attention": _examine_attention,
    "causal_mask": _examine_mask,
    "embed_with_positions": _examine_embed,
    "mean_attention_distance": _examine_distance,
    "MyMultiHeadAttention": _examine_multi_head,
    "MyBlock": _examine_block,
}
