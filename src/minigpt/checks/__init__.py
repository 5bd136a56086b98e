"""The checkpoints of the lab and its variants: one per function that the student writes.

In the notebook all have one form:

    causal_mask = checks.causal_mask(causal_mask)

A right answer comes back as it is. For a wrong one, or none, the course's own function comes back,
so that the lesson goes on; what was wrong is printed, with a tiny case. :func:`judge` decides,
:func:`_tell` prints. A wrong answer is recognized by reproducing it: the same inputs go through the
student's function and through every mistake on record, and the mistake that gives the same outputs
on all of them is the one that was made. Each exercise has a module with its mistakes.
"""

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from minigpt.attention import MultiHeadAttention
from minigpt.attention import causal_mask as _causal_mask
from minigpt.attention import scaled_dot_product_attention as _scaled_dot_product_attention
from minigpt.checks import (
    attention,
    cache,
    distance,
    layers,
    mask,
    positions,
    post_norm,
    rotary,
    sinusoids,
)
from minigpt.checks.trial import NotAttempted, Wrong, aside, error_in_words, kind
from minigpt.inspection import mean_attention_distance as _mean_attention_distance
from minigpt.model import Block
from minigpt.positions import embed_with_positions as _embed_with_positions
from minigpt.positions import rotate as _rotate
from minigpt.positions import sinusoidal_table as _sinusoidal_table
from minigpt.variants import PostNormBlock as _PostNormBlock

Status = Literal["passed", "failed", "not attempted"]


@dataclass(frozen=True)
class Verdict:
    """What a checkpoint found: its status, the idea that went wrong, and what to say about it."""

    status: Status
    misconception: str | None = None
    message: str = ""


class CheckpointError(AssertionError):
    """A checkpoint was not passed while MINIGPT_STRICT=1 asks for all of them."""


MARKS: dict[Status, str] = {"passed": "✓", "failed": "✗", "not attempted": "○"}
BORROWED = (
    "This is the course's own, not yours. Run the cell with your version first, then this one. If "
    "that cell shows an error, mend it before."
)
CORE = {
    "scaled_dot_product_attention": "Exercise 1",
    "causal_mask": "Exercise 2",
    "embed_with_positions": "Exercise 3",
    "mean_attention_distance": "Exercise 5",
}
CHALLENGE = {"MyMultiHeadAttention": "Challenge", "MyBlock": "Challenge"}
VARIANTS = {  # in a notebook of their own
    "sinusoidal_table": "Variant 1",
    "rotate": "Variant 2",
    "PostNormBlock": "Variant 3",
    "attend_with_cache": "Variant 4",
}
_REFERENCES = {
    "scaled_dot_product_attention": _scaled_dot_product_attention,
    "causal_mask": _causal_mask,
    "embed_with_positions": _embed_with_positions,
    "mean_attention_distance": _mean_attention_distance,
    "MyMultiHeadAttention": MultiHeadAttention,
    "MyBlock": Block,
    "sinusoidal_table": _sinusoidal_table,
    "rotate": _rotate,
    "PostNormBlock": _PostNormBlock,
    "attend_with_cache": MultiHeadAttention.forward,
}
_EXAMINERS: dict[str, Callable[[Any], list[str]]] = {
    "scaled_dot_product_attention": attention.examine,
    "causal_mask": mask.examine,
    "embed_with_positions": positions.examine,
    "mean_attention_distance": distance.examine,
    "MyMultiHeadAttention": layers.examine_multi_head,
    "MyBlock": layers.examine_block,
    "sinusoidal_table": sinusoids.examine,
    "rotate": rotary.examine,
    "PostNormBlock": post_norm.examine,
    "attend_with_cache": cache.examine,
}

# What happened so far in this notebook.
_verdicts: dict[str, Verdict] = {}
_attempts: dict[str, Any] = {}
_confirmed: dict[str, bool] = {}


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
            f"`{name}` is {kind(answer)} and not a function: another cell has probably used the "
            "same name. Run the cell with your function again, then this one.",
        )
    try:
        with aside():
            notes = _EXAMINERS[name](answer)
    except NotAttempted:
        return Verdict("not attempted")
    except Wrong as wrong:
        return Verdict("failed", wrong.misconception, wrong.message)
    except Exception as error:  # the answer is so odd that looking at it fails
        odd = error_in_words(error)
        return Verdict("failed", odd.misconception, odd.message)
    return Verdict("passed", None, "\n".join(notes))


def headline(name: str, verdict: Verdict, exercise: str = "") -> str:
    """Put a verdict into the line that is printed; the exercise stands in the tally alone."""
    label = f"{exercise:10} " if exercise else ""
    return f"{MARKS[verdict.status]} {label}{name} · {verdict.misconception or verdict.status}"


def read_headline(line: str) -> tuple[str, Verdict] | None:
    """Read back what :func:`headline` wrote, for labs/review.py; None for any other line."""
    begin, _, words = line.partition(" · ")
    mark, name = begin[:1], begin.rpartition(" ")[2]
    status = next((status for status, sign in MARKS.items() if sign == mark), None)
    if status is None or name not in _REFERENCES:
        return None
    verdict = Verdict(status, words if status == "failed" else None)
    exercise = (CORE | CHALLENGE | VARIANTS)[name]
    written = headline(name, verdict), headline(name, verdict, exercise)
    return (name, verdict) if line in written else None


def verdicts() -> dict[str, Verdict]:
    """Give the last verdict on each function; without one, it was not attempted."""
    return {name: _verdicts.get(name, Verdict("not attempted")) for name in _REFERENCES}


def attempts() -> dict[str, Any]:
    """Give what the student last handed to each checkpoint, right or wrong."""
    return dict(_attempts)


def _tell(name: str, answer: Any) -> Any:
    """Judge, print, remember; give back the answer if it is right, else the course's own."""
    own = reference(name)
    borrowed = answer is own or (isinstance(answer, type) and issubclass(answer, own))
    if borrowed:
        # The name in the notebook still points at what an earlier checkpoint handed out.
        verdict = _verdicts.setdefault(name, Verdict("not attempted"))
    else:
        try:
            verdict = judge(name, answer)
        except KeyboardInterrupt:
            verdict = Verdict(
                "failed", "interrupted", "You stopped your function: it ran too long."
            )
        _verdicts[name] = verdict
        if verdict.status != "not attempted":
            _attempts[name] = answer
    print(headline(name, verdict))
    if borrowed:
        print(f"  {BORROWED}")
    elif verdict.message:
        print("\n".join(f"  {line}".rstrip() for line in verdict.message.splitlines()))
    if not borrowed and verdict.status == "failed":
        print(
            "  The lesson goes on with the course's own function. Mend yours and run its cell "
            "again, then this one."
        )
    elif not borrowed and verdict.status == "not attempted":
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


def sinusoidal_table(answer: Any) -> Any:
    """Check the first variant (equation 9)."""
    return _tell("sinusoidal_table", answer)


def rotate(answer: Any) -> Any:
    """Check the second variant, rotary positions."""
    return _tell("rotate", answer)


def PostNormBlock(answer: Any) -> Any:
    """Check the third variant (equation 13)."""
    return _tell("PostNormBlock", answer)


def attend_with_cache(answer: Any) -> Any:
    """Check the fourth variant, attention that keeps keys and values."""
    return _tell("attend_with_cache", answer)


def confirm(claim: str, held: bool, found: str) -> None:
    """Print whether something that was measured is as it has to be, and remember it.

    Raises:
        CheckpointError: it is not, and MINIGPT_STRICT=1.
    """
    _confirmed[claim] = held
    print(f"{_mark(held)} {claim}: {found}")
    if not held and _strict():
        raise CheckpointError(f"{claim}: {found}")


def tally() -> None:
    """Print where the student stands: the core exercises, the challenge, and what was measured.

    Raises:
        CheckpointError: not everything was passed, and MINIGPT_STRICT=1.
    """
    _count({"Core exercises": CORE, "Challenge (optional)": CHALLENGE})


def tally_variants() -> None:
    """Do the same for the notebook of the variants.

    Raises:
        CheckpointError: not everything was passed, and MINIGPT_STRICT=1.
    """
    _count({"Variants": VARIANTS})


def _count(parts: dict[str, dict[str, str]]) -> None:
    now = verdicts()
    for title, names in parts.items():
        count = {s: sum(now[n].status == s for n in names) for s in ("passed", "not attempted")}
        print(f"{title}: {count['passed']} of {len(names)} passed", end="")
        if count["not attempted"]:
            print(f", {count['not attempted']} of {len(names)} not attempted", end="")
        print()
        for name, exercise in names.items():
            print(f"  {headline(name, now[name], exercise)}")
    if _confirmed:
        held = sum(_confirmed.values())
        print(f"Measured along the way: {held} of {len(_confirmed)} as they have to be")
        for claim, held in _confirmed.items():
            print(f"  {_mark(held)} {claim}")
    asked = itertools.chain(*parts.values())
    missing = [name for name in asked if now[name].status != "passed"]
    if missing and _strict():
        raise CheckpointError(f"not passed: {', '.join(missing)}")


def _strict() -> bool:
    return os.environ.get("MINIGPT_STRICT") == "1"


def _mark(held: bool) -> str:
    return MARKS["passed" if held else "failed"]
