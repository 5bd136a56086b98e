"""Variant 4, attend_with_cache: its usual mistakes, and how they are told apart.

The answer reads a text piece by piece. What it hands to the attention function, and what it leaves
in the cache, is looked at after every piece: there most mistakes show before any number is wrong.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from minigpt.attention import MultiHeadAttention, causal_mask, scaled_dot_product_attention
from minigpt.checks.layers import randomized
from minigpt.checks.trial import (
    Wrong,
    agreement,
    attempt,
    beside,
    check_elsewhere,
    first_explanation,
    kind,
    new_generator,
    run,
    same_tensor,
)

n_h, d_k = 3, 4  # of the layer that the examination runs on
SAYS = {
    "the layer itself called": (
        "Your function calls the layer, which is to call your function: the two would go round in "
        "circles. Use the parts of the layer: W_Q, W_K, W_V, split, attention and W_proj."
    ),
    "cache not kept": (
        "After the first call the cache is still empty, so nothing is left for the next one. It is "
        "a dict that your function has to put things into: `cache['K'] = K`. An assignment such as "
        "`cache = {...}` only gives another dict that name, inside the function."
    ),
    "another cache": (
        "The cache should hold the keys as `cache['K']` and the values as `cache['V']`: the model "
        "looks there for how many positions have been read."
    ),
    "cache overwritten": (
        "After the second call the cache holds the newest positions alone. What is kept has to be "
        "all of them so far: store K and V after they were put behind the earlier ones."
    ),
    "cache not extended": (
        "After the second call the cache holds no more than after the first: what was read last is "
        "missing. Store K and V again on every call."
    ),
    "heads not split": (
        "Attention is given the full width at once. Cut queries, keys and values into heads: "
        "`layer.split(layer.W_Q(H))` has the shape (B, n_h, T, d_k)."
    ),
    "queries of all positions": (
        "Your queries are those of all positions. Only the new ones ask: earlier positions have "
        "their outputs already. T queries meet S keys."
    ),
    "reads the new alone": (
        "The new positions read each other alone. What the cache holds has to stand before the "
        "new keys and values: `torch.cat([cache['K'], K], dim=-2)`, and the same for V."
    ),
    "the new left out": (
        "The new positions read what is in the cache and not themselves. Put the new keys and "
        "values behind the old ones before you attend."
    ),
    "values not kept": (
        "Keys and values do not fit each other: one of the two was put behind the earlier ones and "
        "the other was not. Each position that is read needs both."
    ),
    "mask not passed": (
        "The mask does not reach attention. A single new position may read all before it, but when "
        "several are read at once, as at the beginning, they would read ahead."
    ),
    "another mask": (
        "Attention gets another mask than your function. The one that comes in is right as it is: "
        "(T, S), a row for each new position and a column for each position so far."
    ),
    "own attention not used": (
        "Your function does not call `layer.attention`. Call the function that the layer was made "
        "with: otherwise nobody can exchange it, or look at its weights."
    ),
    "projected again": (
        "Your numbers are right, but you project positions that were projected before. That is the "
        "work which a cache saves: keep what W_K and W_V made, and give them the new rows alone."
    ),
    "new before old": (
        "You put the new keys and values before the old ones. Positions keep their order: first "
        "those of the cache, then the new, `torch.cat([cache['K'], K], dim=-2)`. (The mask has its "
        "columns in that order.)"
    ),
    "keys and values in different order": (
        "Keys and values do not stand in the same order: in one the new come first, in the other "
        "last. Each weight then falls on the value of another position."
    ),
    "projections exchanged": (
        "The projections have changed places, or one is used twice. W_Q makes the queries, W_K the "
        "keys, W_V the values, and the cache keeps the keys as 'K' and the values as 'V'."
    ),
    "keys and values exchanged": (
        "What was stored as keys comes back as values, or the other way round. Store K as 'K' and "
        "V as 'V', and put each behind its own."
    ),
    "no output projection": "The joined heads are returned as they are. W_proj has to mix them.",
    "merged without transpose": (
        "You join the heads while they still stand before the positions: different positions end "
        "up in one row. First `.transpose(1, 2)`, then `.flatten(2)`."
    ),
    "wrong values": (
        "Read piece by piece, the text gives other numbers than read at once, and none of the "
        "usual slips explains them. In this order: project the new positions, put K and V behind "
        "those of the cache, keep them, attend, join the heads, W_proj."
    ),
}


class _Watched(MultiHeadAttention):
    """A layer that looks at what its attention is given, and counts what it projects."""

    def __init__(self) -> None:
        super().__init__(n_h * d_k, n_h, attention=self._attend)
        randomized(self)
        for W in (self.W_Q, self.W_K, self.W_V):
            W.register_forward_hook(self._count)
        self.projected = self.calls = 0
        self.mask: Tensor | None = None  # that the answer is given, (T, S)

    def _count(self, W: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        self.projected = max(self.projected, inputs[0].size(-2))

    def forward(self, H: Tensor, mask: Tensor, cache: dict | None = None) -> Tensor:
        if self.mask is not None:
            raise Wrong("the layer itself called", SAYS["the layer itself called"])
        return super().forward(H, mask, cache)

    def _attend(self, Q, K, V, mask=None):
        self.calls += 1
        if self.mask is not None:
            _look_at(Q, K, V, mask, self.mask)
        V_bar, A = scaled_dot_product_attention(Q, K, V, mask)
        return V_bar * 1.5, A  # so that nothing but this function gives this result


def _look_at(Q: Any, K: Any, V: Any, mask: Any, given: Tensor) -> None:
    """Say what is wrong with what attention was given, as far as shapes and the mask tell."""
    T, S = given.shape
    for name, value, length in (("Q", Q, T), ("K", K, S), ("V", V, S)):
        if not isinstance(value, Tensor):
            raise Wrong("wrong type", f"{name} has to be a tensor. It is {kind(value)}.")
        if value.ndim < 3 or value.size(1) != n_h or value.size(-1) != d_k:
            expected = f"{name} of shape {(2, n_h, length, d_k)}"
            raise _told("heads not split", given, expected, tuple(value.shape))
    keys, values = K.size(-2), V.size(-2)
    if Q.size(-2) != T:
        raise _told("queries of all positions", given, f"queries: {T}", Q.size(-2))
    if keys != values:
        raise _told("values not kept", given, f"{S} keys and {S} values", f"{keys} and {values}")
    if keys != S:
        found = "reads the new alone" if keys == T else "the new left out"
        raise _told(found, given, f"keys: {S}", keys)
    if mask is None:
        if not given.all():
            raise _told("mask not passed", given, f"a mask of shape {(T, S)}", "none")
    elif not _same(mask, given):
        shape = tuple(mask.shape) if isinstance(mask, Tensor) else kind(mask)
        what = "others of its cells are True" if shape == (T, S) else shape
        raise _told("another mask", given, f"the mask of shape {(T, S)}", what)


def _told(found: str, given: Tensor, expected: str, actual: Any) -> Wrong:
    """Say what went wrong and where in the text, and what was expected there."""
    T, S = given.shape
    where = f"After {S - T} positions, {T} more {'come' if T > 1 else 'comes'} in:"
    return Wrong(found, f"{SAYS[found]}\n{where}\n  expected {expected}    yours: {actual}")


def _same(mask: Any, given: Tensor) -> bool:
    try:
        return torch.equal(mask.expand(given.shape), given)
    except (RuntimeError, AttributeError):
        return False


def _pieces(attend: Callable, layer: _Watched, H: Tensor, pieces: Sequence[int]) -> Iterator:
    """Let an answer read a text piece by piece, watched; give what it makes of each."""
    cache, S = {}, 0
    for T in pieces:
        part, S = H[:, S : S + T].clone(), S + T
        layer.mask, layer.projected = causal_mask(S)[S - T :], 0  # (T, S)
        result = run(attend, layer, part, layer.mask, cache)
        _look_after(result, part, cache, layer, layer.mask)
        yield result


def _look_after(result: Any, part: Tensor, cache: dict, layer: _Watched, given: Tensor) -> None:
    """Look at what came out, and at what was left in the cache."""
    T, S = given.shape
    same_tensor("The result", result, part.shape, part, "A layer keeps the shape (B, T, d).")
    if not layer.calls:
        raise Wrong("own attention not used", SAYS["own attention not used"])
    if not cache:
        raise Wrong("cache not kept", SAYS["cache not kept"])
    kept = [cache.get(name) for name in "KV"]
    if not all(isinstance(value, Tensor) and value.ndim >= 2 for value in kept):
        names = ", ".join(map(repr, cache))
        raise _told("another cache", given, "in the cache: 'K', 'V'", names)
    for value in kept:
        if (held := value.size(-2)) != S:
            found = "cache overwritten" if held == T else "cache not extended"
            raise _told(found, given, f"positions kept: {S}", held)
    if layer.projected > T:
        raise _told("projected again", given, f"positions projected: {T}", layer.projected)


def _cases() -> list[tuple]:
    """Make texts and the pieces they are read in."""
    H = torch.randn(2, 6, n_h * d_k, generator=new_generator())
    return [(H, 3, 1, 2), (H, 1, 1, 1, 3), (H, 2, 4)]


def _larger_cases() -> list[tuple[str, tuple]]:
    H = torch.randn(1, 128, n_h * d_k, generator=new_generator())
    return [
        ("for a text of 128 characters", (H, 100, *[1] * 28)),
        ("when the text is read at once", (H, 128)),
    ]


def examine(answer: Callable) -> list[str]:
    """Judge an answer; give notes when it is right.

    Raises:
        Wrong: it is not.
    """
    layer, cases = _Watched(), _cases()

    def at_once(H: Tensor, *pieces: int) -> Tensor:
        layer.mask = None
        return layer(H, causal_mask(sum(pieces)))

    def checked(result: Tensor, inputs: Sequence) -> Tensor:
        return result

    def mine(H: Tensor, *pieces: int) -> Tensor:
        return torch.cat([*_pieces(answer, layer, H, pieces)], dim=1)

    with torch.no_grad():
        outcomes = [attempt(mine, inputs, checked) for inputs in cases]
        for outcome in outcomes:
            if isinstance(outcome, Wrong):
                raise outcome
        right = agreement(at_once, cases, outcomes)
        if not all(right):
            layer.mask = None
            found = first_explanation(_mistakes(layer), cases, outcomes) or "wrong values"
            raise Wrong(found, f"{SAYS[found]}\n{_example(at_once, cases, outcomes, right)}")
        check_elsewhere(mine, at_once, _larger_cases(), checked)

        def beside_another(H: Tensor, *pieces: int) -> Tensor:
            """Read two texts in turn, each with a cache of its own, as two layers would."""
            readers = [_pieces(answer, layer, text, pieces) for text in (H, H.flip(1))]
            return torch.cat([part for part, _ in zip(*readers, strict=True)], dim=1)

        in_turn = [("when two texts are read in turn, each with its own cache", cases[1])]
        check_elsewhere(beside_another, at_once, in_turn, checked)
    return []


def _example(at_once: Callable, cases: Sequence, outcomes: Sequence, right: Sequence) -> str:
    """Show the first position that differs, four of its numbers."""
    place = right.index(False)
    expected, actual = at_once(*cases[place])[0], outcomes[place][0]  # (S, d)
    off = (expected - actual).abs()
    row = int((off.amax(dim=-1) > 1e-4 * expected.abs().max()).int().argmax())
    first = min(max(0, int(off[row].argmax()) - 1), expected.size(-1) - 4)
    window = slice(row, row + 1), slice(first, first + 4)
    pieces = ", then ".join(map(str, cases[place][1:]))
    return f"A text read in pieces, {pieces} positions:\n" + beside(
        f"position {row}, columns {first} to {first + 3}", expected[window], actual[window]
    )


def _mistakes(layer: _Watched) -> Iterator[tuple[str, Callable]]:
    def joined(x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2)

    def straight(x: Tensor) -> Tensor:
        return x.reshape(x.size(0), x.size(2), -1)

    def old_first(old: Tensor, new: Tensor) -> Tensor:
        return torch.cat([old, new], dim=-2)

    def new_first(old: Tensor, new: Tensor) -> Tensor:
        return torch.cat([new, old], dim=-2)

    def attend(
        which=("W_Q", "W_K", "W_V"), order=(old_first, old_first), kept="KV", join=joined, out=True
    ):
        def read(H: Tensor, *pieces: int) -> Tensor:
            cache, came, S = {}, [], 0
            for T in pieces:
                part, S = H[:, S : S + T], S + T
                Q, K, V = (layer.split(getattr(layer, name)(part)) for name in which)
                if cache:
                    K, V = order[0](cache[kept[0]], K), order[1](cache[kept[1]], V)
                cache.update(K=K, V=V)
                V_bar = join(layer.attention(Q, K, V, causal_mask(S)[S - T :])[0])
                came.append(layer.W_proj(V_bar) if out else V_bar)
            return torch.cat(came, dim=1)  # (B, S, d)

        return read

    names = ("W_Q", "W_K", "W_V")
    yield "new before old", attend(order=(new_first, new_first))
    yield "keys and values in different order", attend(order=(old_first, new_first))
    yield "keys and values in different order", attend(order=(new_first, old_first))
    yield "keys and values exchanged", attend(kept="VK")
    yield "merged without transpose", attend(join=straight)
    yield "no output projection", attend(out=False)
    for which in itertools.product(names, repeat=3):
        if which != names:
            yield "projections exchanged", attend(which=which)
