"""Exercise 3, embed_with_positions: its usual mistakes, and how they are told apart."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

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
    inline,
    mention_if_slow,
    new_generator,
    same_tensor,
    stopped,
)
from minigpt.positions import embed_with_positions, sinusoidal_table

SAYS = {
    "position by batch": (
        "Your positions run along the texts of the batch, not along the characters of a text. idx "
        "is (B, T): its second axis is the position, `idx.size(1)` long. All texts share the same "
        "vectors, (T, d), which add to (B, T, d) without another axis."
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
    "sines and cosines": (
        "You add the fixed sines and cosines of equation 9. This model learns its positions: they "
        "are the rows of `pos_emb`."
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


def _case(B: int, T: int, T_max: int, d: int, generator: torch.Generator) -> tuple:
    V = 6
    tok_emb, pos_emb = nn.Embedding(V, d), nn.Embedding(T_max, d)
    with torch.no_grad():
        for table in (tok_emb, pos_emb):
            table.weight.normal_(generator=generator)
    return torch.randint(V, (B, T), generator=generator), tok_emb, pos_emb


def _rows(idx, tok_emb, pos_emb, positions) -> Tensor:
    return tok_emb(idx) + pos_emb(positions)


MISTAKES: list[tuple[str, Callable]] = [
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
    ("sines and cosines", lambda i, t, p: t(i) + sinusoidal_table(i.size(1), t.embedding_dim)),
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
        raise Wrong(
            "concatenated",
            "You put the two embeddings beside each other, so the result is twice as large. "
            "Equation 8 adds them.",
        )
    because = "It holds one vector of width d per text and position, (B, T, d)."
    return same_tensor("The result", result, expected, tok_emb.weight, because)


def _cases() -> list[tuple]:
    generator = new_generator()
    return [_case(*size, generator) for size in ((3, 5, 9, 6), (4, 4, 9, 6), (2, 7, 7, 6))]


def _larger_cases() -> list[tuple[str, tuple]]:
    """Make inputs as the model has them: long, one text, many texts, tables in evaluation mode."""
    generator = new_generator()
    sizes = {
        "with T = 128": (2, 128, 128, 2),
        "for one text": (1, 3, 9, 6),
        "for a text of one character": (3, 1, 9, 6),
        "with 64 texts": (64, 3, 9, 2),
    }
    cases = [(special, _case(*size, generator)) for special, size in sizes.items()]
    idx, tok_emb, pos_emb = _case(5, 3, 9, 6, generator)
    cases.append(("when idx does not lie in a row in memory", (idx.T, tok_emb, pos_emb)))
    idx, tok_emb, pos_emb = _case(2, 3, 9, 6, generator)
    cases.append(("in evaluation mode", (idx, tok_emb.eval(), pos_emb.eval())))
    return cases


def examine(answer: Callable) -> list[str]:
    """Judge an answer; give notes when it is right.

    Raises:
        Wrong: it is not.
    """
    own, cases = embed_with_positions, _cases()
    outcomes = [attempt(answer, inputs, _checked_vectors) for inputs in cases]
    right = agreement(own, cases, outcomes)
    if not all(right):
        raise _diagnosis(answer, cases, outcomes, right)
    check_gradients(answer, own, cases[:1])
    check_elsewhere(answer, own, _larger_cases(), _checked_vectors)
    check_on_gpu(answer, cases[0], own(*cases[0]))
    return mention_if_slow(answer, own, cases[0], "embed_with_positions")


def _diagnosis(answer: Callable, cases: Sequence, outcomes: Sequence, right: Sequence) -> Wrong:
    found, error = first_explanation(MISTAKES, cases, outcomes), ""
    failed = next((outcome for outcome in outcomes if isinstance(outcome, Wrong)), None)
    if found is None and failed is not None:
        if not stopped(failed):
            return failed
        # It stops on some cases; what it gives on the others may tell the idea.
        kept = [i for i, outcome in enumerate(outcomes) if not isinstance(outcome, Wrong)]
        if all(right[i] for i in kept):
            return failed
        found = first_explanation(MISTAKES, [cases[i] for i in kept], [outcomes[i] for i in kept])
        if found is None:
            return failed
        error = f"\n{failed.message}"
    found = found or "wrong values"
    return Wrong(found, f"{SAYS[found]}{error}\n{_example(answer)}".rstrip())


def _example(answer: Callable) -> str:
    """Show one short text in which a character comes twice, so that its places differ."""
    tok_emb, pos_emb = nn.Embedding(2, 2), nn.Embedding(4, 2)
    with torch.no_grad():
        tok_emb.weight.copy_(torch.tensor([[10.0, 20], [30, 40]]))
        pos_emb.weight.copy_(torch.tensor([[1.0, 2], [3, 4], [5, 6], [7, 8]]))
    inputs = (torch.tensor([[0, 0, 1], [1, 0, 0]]), tok_emb, pos_emb)
    actual = attempt(answer, inputs, _checked_vectors)
    expected = embed_with_positions(*inputs)
    if not isinstance(actual, Wrong) and close(actual, expected):
        return ""
    shown = actual if isinstance(actual, Wrong) else actual[0]
    return "\n".join(
        [
            "A tiny case, the text 0 0 1 (one of two) with T_max = 4:",
            "  tok_emb = " + inline(tok_emb.weight),
            "  pos_emb = " + inline(pos_emb.weight),
            beside("for 0 0 1", expected[0], shown),
        ]
    )
