"""Running what a student wrote, comparing it with what is right, and telling the difference."""

import ast
import contextlib
import copy
import inspect
import io
import itertools
import linecache
import math
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

PACKAGE = Path(__file__).resolve().parents[1]


class Wrong(Exception):
    """An answer is wrong: the misconception, and the message for the student."""

    def __init__(self, misconception: str, message: str) -> None:
        super().__init__(misconception)
        self.misconception, self.message = misconception, message


class NotAttempted(Exception):
    """The stub is as it was."""


Outcome = Any  # the tensors that came out, or the Wrong that kept them from coming


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Keep an examination from leaving traces: chance, warnings, prints, global settings."""
    default = torch.get_default_dtype()
    with (
        torch.random.fork_rng(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        torch.enable_grad(),
    ):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            torch.set_default_dtype(default)


def new_generator() -> torch.Generator:
    """Make a source of chance of the examination's own."""
    return torch.Generator().manual_seed(0)


# --- Running --------------------------------------------------------------------------------------


def guarded(function: Callable, *inputs: Any, **options: Any) -> Any:
    """Call something of the student's; whatever goes wrong in it becomes a sentence."""
    try:
        return function(*inputs, **options)
    except NotImplementedError as error:
        if not error.args and not _raise_left_in(function):
            raise NotAttempted from None
        raise error_in_words(error) from None
    except (KeyboardInterrupt, Wrong, NotAttempted):
        raise
    except BaseException as error:  # SystemExit too: it would end the notebook
        raise error_in_words(error) from None


def run(function: Callable, *inputs: Any) -> Any:
    """Call a student's function, and notice when it changes its inputs or returns nothing."""
    before = [_snapshot(value) for value in inputs]
    result = guarded(function, *inputs)
    for value, old in zip(inputs, before, strict=True):
        if old is not None and not torch.equal(_snapshot(value), old):
            raise Wrong(
                "inputs changed",
                "Your function changes what it was given: after the call one of its inputs holds "
                "other numbers. The model still needs them. An operation that ends in _ (such as "
                "`mul_`) or an assignment such as `x /= 2`, `x += y` or `x[...] = y` works in "
                "place: write `x = x / 2` instead.",
            )
    if result is None:
        raise Wrong(
            "returned nothing",
            "Your function returns nothing (None). Its last line has to be a `return`.",
        )
    return result


def attempt(function: Callable, inputs: Sequence, checked: Callable) -> Outcome:
    """Run a function on one case; give the tensors, or what was wrong."""
    try:
        return checked(run(function, *inputs), inputs)
    except Wrong as wrong:
        return wrong


def stopped(outcome: Outcome) -> bool:
    """Say whether an attempt ended in an error."""
    return isinstance(outcome, Wrong) and outcome.misconception == "raised an error"


def _snapshot(value: Any) -> Tensor | None:
    if isinstance(value, nn.Embedding):
        value = value.weight
    return value.detach().clone() if isinstance(value, Tensor) else None


def _raise_left_in(function: Callable) -> bool:
    """Say whether a function that raises NotImplementedError holds more than its stub does."""
    if isinstance(function, nn.Module):
        function = type(function).forward
    if isinstance(function, type):
        function = function.__init__
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    written = tree.body[0].body if isinstance(tree.body[0], ast.FunctionDef) else []
    return any(not isinstance(line, ast.Raise | ast.Pass | ast.Expr) for line in written)


def error_in_words(error: BaseException) -> Wrong:
    """Put an error into a sentence: its line in the student's code, and what it usually means."""
    if isinstance(error, NotImplementedError) and not error.args:
        return Wrong(
            "raise left in",
            "Your function still raises NotImplementedError. Delete that line: it only stood there "
            "as long as nothing was written.",
        )
    place = ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if "site-packages" in frame.filename or Path(frame.filename).is_relative_to(PACKAGE):
            continue
        line = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
        place = f"\nIt happened in line {frame.lineno}: {line}" if line else ""
        break
    try:
        text = str(error).strip().splitlines()
    except Exception:  # an error whose own text cannot be made
        text = []
    said = f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
    hint = next((f"\n{advice}" for words, advice in HINTS.items() if words in said), "")
    return Wrong("raised an error", f"Your function stopped with an error: {said}{place}{hint}")


HINTS = {
    "bad operand type for unary ~": (
        "Without a mask, `mask` is None: look at it only under `if mask is not None:`."
    ),
    "argument 'mask'": "Without a mask, `mask` is None: use it only under `if mask is not None:`.",
    "Boolean value of Tensor": (
        "A whole tensor is neither true nor false. Whether there is a mask is asked with `if mask "
        "is not None:`."
    ),
    "view size is not compatible": (
        "`view` needs numbers that lie in a row in memory. `reshape` does the same without that."
    ),
    "does not match the shape of the indexed tensor": (
        "A (T, T) mask in square brackets fits a (T, T) tensor alone. `masked_fill` and "
        "`torch.where` fit it to whatever stands in front; so does `scores[..., ~mask]`."
    ),
    "shape of the mask": (
        "A (T, T) mask in square brackets fits a (T, T) tensor alone. `masked_fill` and "
        "`torch.where` fit it to whatever stands in front; so does `scores[..., ~mask]`."
    ),
    "must match the size": (
        "Two shapes do not fit. Print the `.shape` of each tensor in that line and compare them "
        "from the right: sizes have to be equal, or one of them 1."
    ),
    "shapes cannot be multiplied": (
        "In a matrix product the last size of the left has to equal the last but one of the right."
    ),
    "Expected size for first two dimensions": (
        "In a matrix product the last size of the left has to equal the last but one of the right."
    ),
    "to have the same dtype": (
        "A matrix product needs numbers of one kind: `.to(A.dtype)` turns whole numbers into the "
        "kind of A. And did you mean `@`, or `*`, cell by cell?"
    ),
    "modified by an inplace operation": (
        "The gradient needs numbers that were overwritten. Operations that end in _, `/=`, `+=` "
        "and `out=` overwrite: write `x = x / y` in place of `x /= y`."
    ),
    "Can't call numpy()": (
        "Numpy knows no gradient. Stay with operations on tensors; torch has almost all of numpy's."
    ),
    "Integers to negative integer powers": (
        "Whole numbers have no negative powers. Write the base with a point: `10000.0 ** ...`."
    ),
    "Sizes of tensors must match except in dimension": (
        "Tensors are joined along one axis, and all other sizes have to be equal. Positions are "
        "the last axis but one: `torch.cat([...], dim=-2)`."
    ),
    "KeyError: 'K'": (
        "On the first call the cache is an empty dict. Look whether it holds anything: `if cache:`."
    ),
    "argument 'indices' (position 2) must be Tensor": (
        "An embedding is called with a tensor of whole numbers, such as `torch.arange(T)`."
    ),
    "must be Tensor, not int": (
        "This function wants a tensor. For a plain number write `** 0.5` or `math.sqrt`; "
        "`torch.ones(T, T)` makes a tensor to start from."
    ),
    "'Embedding' object is not subscriptable": (
        "An embedding is not indexed but called, with whole numbers: `tok_emb(idx)`."
    ),
    "'Embedding'": (
        "An embedding is a table, not a tensor. Called with whole numbers it gives their rows: "
        "`tok_emb(idx)`, `pos_emb(torch.arange(T))`."
    ),
    "for argument #1 'indices'": "An embedding is called with whole numbers, such as torch.arange.",
    "index out of range in self": (
        "An embedding was asked for a row that it does not have. Positions run from 0 to T - 1, "
        "with T taken from idx."
    ),
    "Dimension out of range": (
        "An axis counted from the front changes with the number of leading dimensions. Counted "
        "from the end, -1 and -2, it does not."
    ),
    "values to unpack": (
        "The tensor has another number of axes than you unpack it into. Print its `.shape`, or "
        "take single sizes, from the end: `.size(-1)`."
    ),
    "'tuple' object has no attribute": (
        "Attention gives back two things. Take them apart: `V_bar, A = ...`."
    ),
    "is not defined": (
        "That name is not known there. Make it inside the function, for example from a shape; what "
        "belongs to a class needs `self.` in front; or the cell that defines it was not run."
    ),
    "positional argument": "Keep the arguments, and their defaults, as they stand in the stub.",
    "unexpected keyword argument": (
        "Keep the arguments, and their defaults, as they stand in the stub."
    ),
    "missing the required": (
        "`forward` has to stand inside the class, indented by four spaces, under that name."
    ),
    "same device": (
        "A tensor made inside the function has to lie on the device of the inputs: `device=` and "
        "the `.device` of one of them."
    ),
    "SystemExit": "A function gives its result back with `return`. `exit` would end the notebook.",
}


def kind(value: Any) -> str:
    """Say what something is that should have been something else."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if inspect.ismethod(value) or inspect.isbuiltin(value):
        return f"the method {value.__name__} itself: the brackets () that call it are missing"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def same_tensor(
    what: str, value: Any, shape: Sequence[int], like: Tensor, because: str = ""
) -> Tensor:
    """Say in words what keeps a result from being a tensor of this shape, dtype and device."""
    because = f" {because}" if because else ""
    if not isinstance(value, Tensor):
        raise Wrong("wrong type", f"{what} has to be a tensor. It is {kind(value)}.{because}")
    if value.layout != torch.strided:
        raise Wrong("wrong type", f"{what} has to be an ordinary tensor, not a sparse one.")
    if tuple(value.shape) != tuple(shape):
        raise Wrong(
            "wrong shape",
            f"{what} has to have the shape {tuple(shape)}. Yours has {tuple(value.shape)}."
            f"{because}",
        )
    if value.dtype != like.dtype:
        raise Wrong(
            "wrong dtype",
            f"{what} has to keep the dtype of the inputs, {like.dtype}. Yours is {value.dtype}.",
        )
    if value.device.type != like.device.type:
        raise Wrong(
            "wrong device",
            f"{what} has to stay on the device of the inputs, {like.device.type!r}. Yours is on "
            f"{value.device.type!r}. A tensor made inside needs `device=`.",
        )
    return value


# --- Comparing ------------------------------------------------------------------------------------


def close(one: Any, other: Any, atol: float = 2e-5) -> bool:
    """Compare tensors, or tuples of them, up to the rounding of float32."""
    if isinstance(one, tuple):
        return all(close(a, b, atol) for a, b in zip(one, other, strict=True))
    return one.shape == other.shape and torch.allclose(
        one.float().cpu(), other.float().cpu(), rtol=1e-4, atol=atol, equal_nan=True
    )


def agreement(own: Callable, cases: Sequence, outcomes: Sequence[Outcome]) -> list[bool]:
    """Say for each case whether what came out is what the course's own function gives."""
    return [
        not isinstance(outcome, Wrong) and close(own(*inputs), outcome)
        for inputs, outcome in zip(cases, outcomes, strict=True)
    ]


def explains(
    mistake: Callable, cases: Sequence, outcomes: Sequence[Outcome], atol: float = 2e-5
) -> bool:
    """Say whether a mistake gives what the student's function gave, on every case."""
    for inputs, outcome in zip(cases, outcomes, strict=True):
        try:
            result = mistake(*inputs)
        except Exception:
            if not stopped(outcome):
                return False
            continue
        if isinstance(outcome, Wrong) or not close(result, outcome, atol):
            return False
    return any(not isinstance(outcome, Wrong) for outcome in outcomes)


def first_explanation(
    mistakes: Iterable[tuple[Any, Callable]],
    cases: Sequence,
    outcomes: Sequence[Outcome],
    atol: float = 2e-5,
) -> Any:
    """Name the first mistake that explains all that came out."""
    return next((name for name, m in mistakes if explains(m, cases, outcomes, atol)), None)


def check_elsewhere(
    answer: Callable, own: Callable, cases: Sequence[tuple[str, tuple]], checked: Callable
) -> None:
    """Look at an answer that was right on small cases where it meets the model.

    Args:
        answer: the student's.
        own: the course's.
        cases: what is special about a case, in words, and its inputs.
        checked: gives the tensors of a result, or raises.
    """
    state = torch.manual_seed(20_260_101).get_state()
    for special, inputs in [*cases, ("the second time it is called", cases[0][1])]:
        with torch.no_grad():
            expected, outcome = own(*inputs), attempt(answer, inputs, checked)
        if isinstance(outcome, Wrong):
            raise Wrong(
                "only in some cases",
                f"Your function is right on small cases, but not {special}.\n{outcome.message}",
            )
        if not close(expected, outcome):
            raise Wrong(
                "only in some cases",
                f"Your function is right on small cases, but not {special}. Does it contain a "
                "fixed size, an `if`, something random, or a memory of an earlier call?",
            )
    if not torch.equal(state, torch.get_rng_state()):
        raise Wrong(
            "random",
            "Your function draws random numbers, or sets their seed. Nothing here is random, and "
            "in training the batches and the dropout would suffer from it.",
        )


def check_gradients(answer: Callable, own: Callable, cases: Sequence[Sequence[Any]]) -> None:
    """Compare the gradients that reach the inputs with those of the course's own function."""
    for inputs in cases:
        expected = _gradients(own, inputs)
        mine = guarded(_gradients, answer, inputs)
        for one, other in zip(mine, expected, strict=True):
            if one is None or not close(one, other):
                raise Wrong("gradient cut", _GRADIENT_CUT)


def _gradients(function: Callable, inputs: Sequence[Any]) -> Sequence[Tensor | None]:
    leaves = [
        value.detach().clone().requires_grad_() if _is_float(value) else value for value in inputs
    ]
    # Leaves may not be changed in place, so the function gets copies of them.
    result = function(*(leaf.clone() if _is_float(leaf) else leaf for leaf in leaves))
    first = result[0] if isinstance(result, tuple | list) else result
    if not first.requires_grad:
        raise Wrong("gradient cut", _GRADIENT_CUT)
    wanted = [leaf for leaf in leaves if _is_float(leaf)]
    wanted += [leaf.weight for leaf in leaves if isinstance(leaf, nn.Embedding)]
    weighting = torch.linspace(-1, 1, first.numel(), device=first.device).view(first.shape)
    return torch.autograd.grad((first * weighting).sum(), wanted, allow_unused=True)


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


_GRADIENT_CUT = (
    "The numbers are right, but the gradient does not come through, so the model could not learn. "
    "Something cuts it: `.detach()`, `.data`, `.item()`, `.numpy()`, `torch.no_grad()`, or a new "
    "tensor built from plain numbers, as in `torch.tensor(...)`. Stay with operations on tensors."
)


def check_on_gpu(answer: Callable, inputs: Sequence, expected: Any) -> None:
    """Where there is a GPU, see that an answer runs on it too."""
    if not torch.cuda.is_available():
        return

    def moved(value: Any) -> Any:
        if isinstance(value, nn.Embedding):
            return copy.deepcopy(value).cuda()
        return value.cuda() if isinstance(value, Tensor) else value

    result = run(answer, *map(moved, inputs))
    first = result[0] if isinstance(result, tuple | list) else result
    if not (isinstance(first, Tensor) and first.is_cuda and close(result, expected)):
        raise Wrong(
            "wrong device",
            "On the CPU your function is right, but not on the GPU. A tensor made inside needs the "
            "device of the inputs: `device=Q.device` or `device=idx.device`.",
        )


def mention_if_slow(
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
        guarded(function, *inputs)
        best = min(best, time.perf_counter() - started)
    return best


# --- Showing --------------------------------------------------------------------------------------


def _numbers(values: Tensor) -> list[str]:
    """Write a vector or a matrix, one text line a row."""
    rows = values.detach().float().cpu().reshape(-1, values.shape[-1] if values.ndim else 1)

    def number(x: float) -> str:
        if math.isfinite(x) and x == int(x):
            return str(int(x))
        return f"{x:.3g}" if 0 < abs(x) < 0.001 else f"{x:.3f}"

    cells = [[number(x) for x in row] for row in rows.tolist()]
    width = max(len(cell) for row in cells for cell in row)
    return ["  ".join(cell.rjust(width) for cell in row) for row in cells]


def inline(values: Tensor) -> str:
    """Write a small matrix in one line."""
    return ", ".join(f"[{' '.join(f'{x:g}' for x in row)}]" for row in values.tolist())


def beside(what: str, expected: Tensor, actual: Outcome) -> str:
    """Write expected and actual numbers side by side."""
    left = [f"expected {what}", *_numbers(expected)]
    if isinstance(actual, Wrong):
        right = [f"yours: {'an error' if stopped(actual) else actual.misconception}"]
    else:
        right = ["yours", *_numbers(actual)]
    width = max(map(len, left)) + 4
    pairs = itertools.zip_longest(left, right, fillvalue="")
    return "\n".join(f"  {a.ljust(width)}{b}".rstrip() for a, b in pairs)
