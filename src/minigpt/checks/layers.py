"""The challenge, MyMultiHeadAttention and MyBlock: their usual mistakes, and how to tell them."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from minigpt.attention import MultiHeadAttention, causal_mask, scaled_dot_product_attention
from minigpt.checks.trial import (
    NotAttempted,
    Wrong,
    agreement,
    attempt,
    beside,
    check_elsewhere,
    check_gradients,
    close,
    first_explanation,
    guarded,
    kind,
    new_generator,
    run,
    same_tensor,
)
from minigpt.model import Block, Config

MULTI_HEAD_SAYS = {
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
    "projections exchanged": (
        "The projections have changed places. W_Q makes the queries, W_K the keys, W_V the values, "
        "and self.attention takes them in this order (equation 1)."
    ),
    "no projection of the values": (
        "Something goes into attention without its projection. Queries, keys and values are made "
        "from H by W_Q, W_K and W_V (equation 1)."
    ),
    "one projection twice": (
        "One projection is used for two things. Queries, keys and values have a matrix each, W_Q, "
        "W_K and W_V (equation 1)."
    ),
    "wrong values": (
        "On the same weights your layer gives other numbers than the course's own, and none of the "
        "usual slips explains them. In this order: project, cut into heads, self.attention with "
        "the mask as it came, join, W_proj; nothing else."
    ),
}
BLOCK_SAYS = {
    "post-norm": (
        "You normalize after the addition. That is the post-norm block of equation 13. This model "
        "is pre-norm: each sublayer reads a normalized copy (equation 12)."
    ),
    "norm of the output": (
        "You normalize what a sublayer gives back. The normalization comes before the sublayer: it "
        "reads a normalized copy of H (equation 12)."
    ),
    "a sublayer left out": (
        "One of the two sublayers, or both, leaves no trace in your result. Attention comes first, "
        "then the feed-forward layer, and each adds to H (equation 12)."
    ),
    "normalizations exchanged": (
        "The two normalizations have changed places: norm_1 belongs to attention, norm_2 to the "
        "feed-forward layer."
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
        "Your block drops nothing in training. `self.dropout` belongs on each sublayer's output, "
        "before the addition: `H + self.dropout(...)`."
    ),
    "dropout on one sublayer": (
        "Only one of your sublayers has its output dropped in training. `self.dropout` belongs on "
        "both: `H + self.dropout(...)`."
    ),
    "dropout misplaced": (
        "In training your dropout hits something else than each sublayer's output, once. It "
        "belongs there, before the addition: `H + self.dropout(...)`."
    ),
    "wrong values": (
        "On the same weights your block gives other numbers than the course's own (equation 12)."
    ),
}


SMALL = Config(vocab_size=11, d=12, n_h=3, n_l=1, T_max=8, dropout=0.5)


class Half(nn.Module):
    """Stand in for dropout, without chance: in training it halves every other coordinate.

    All of them would not do: a normalization takes no notice of a factor.
    """

    p = 1.0  # for a block that hands it to F.dropout, which then drops everything
    called = False

    def forward(self, x: Tensor) -> Tensor:
        self.called = True
        every_other = torch.arange(x.size(-1), device=x.device) % 2 == 0
        return torch.where(every_other, x / 2, x) if self.training else x


def randomized(module: nn.Module) -> nn.Module:
    """Give every weight a random value, so that none stands at a neutral 0 or 1."""
    generator = new_generator()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    return module.eval()


def built(name: str, answer: Any, own: nn.Module, *sizes: Any, **functions: Any) -> nn.Module:
    """Build the student's layer and give it the weights of the course's own."""
    mine = guarded(answer, *sizes, **functions)
    if not isinstance(mine, nn.Module):
        raise Wrong("wrong type", f"`{name}(...)` has to be an nn.Module. It is {kind(mine)}.")
    shapes = {key: tuple(value.shape) for key, value in own.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in mine.state_dict().items()}
    if shapes != found:
        odd = sorted({key for key, _ in shapes.items() ^ found.items()})
        raise Wrong(
            "other weights",
            "Your layer does not have the weights of the course's own, so the two cannot be "
            f"compared. They differ in {', '.join(odd)}. Keep `__init__` as it stands in the stub.",
        )
    mine.load_state_dict(own.state_dict())
    return mine.eval()


def checked_stream(result: Any, inputs: Sequence) -> Tensor:
    H = inputs[0]
    return same_tensor("The result", result, H.shape, H, "A layer keeps the shape (B, T, d).")


def compare(mine, own, cases, mistakes, says, fallback="wrong values") -> None:
    """Compare two layers with the same weights on every case."""
    outcomes = [attempt(mine, inputs, checked_stream) for inputs in cases]
    for outcome in outcomes:
        if isinstance(outcome, Wrong):
            raise outcome
    right = agreement(own, cases, outcomes)
    if not all(right):
        found = first_explanation(mistakes, cases, outcomes) or fallback
        raise Wrong(found, f"{says[found]}\n{example(own, cases, outcomes, right)}")


def example(own, cases, outcomes, right) -> str:
    """Show four neighbouring numbers around the largest difference."""
    place = right.index(False)
    expected, actual = own(*cases[place]).flatten(0, 1), outcomes[place].flatten(0, 1)  # (B * T, d)
    row, column = divmod(int((expected - actual).abs().argmax()), expected.size(-1))
    first = min(max(0, column - 1), expected.size(-1) - 4)
    what = f"row {row % cases[place][0].size(1)}, columns {first} to {first + 3}"
    window = slice(row, row + 1), slice(first, first + 4)
    return "On the same random weights and input:\n" + beside(
        what, expected[window], actual[window]
    )


def stream_cases() -> list[tuple[Tensor, Tensor]]:
    H = torch.randn(3, 5, 12, generator=new_generator())
    return [(H, causal_mask(5)), (H, torch.ones(5, 5, dtype=torch.bool))]


def larger_cases() -> list[tuple[str, tuple]]:
    generator = new_generator()
    return [
        ("with T = 128", (torch.randn(1, 128, 12, generator=generator), causal_mask(128))),
        (
            "for one text of one character",
            (torch.randn(1, 1, 12, generator=generator), causal_mask(1)),
        ),
    ]


def examine_multi_head(answer: Any) -> list[str]:
    """Judge MyMultiHeadAttention.

    Raises:
        Wrong: it is not right.
    """
    calls: list[tuple] = []

    def recording(Q, K, V, mask=None):
        calls.append(tuple(Q.shape))
        V_bar, A = scaled_dot_product_attention(Q, K, V, mask)
        return V_bar * 1.5, A  # so that nothing but this function gives this result

    own = randomized(MultiHeadAttention(12, 3, attention=recording))
    usual = randomized(MultiHeadAttention(12, 3))
    mine = built("MyMultiHeadAttention", answer, own, 12, 3, attention=recording)
    cases = [*stream_cases(), (stream_cases()[0][0], None)]
    outcomes = [attempt(mine, inputs, checked_stream) for inputs in cases]
    if all(agreement(usual, cases, outcomes)):
        raise Wrong("own attention not used", MULTI_HEAD_SAYS["own attention not used"])
    compare(mine, own, cases, _multi_head_mistakes(own), MULTI_HEAD_SAYS)
    check_gradients(mine, own, cases)
    check_elsewhere(mine, own, larger_cases(), checked_stream)
    check_elsewhere(mine.train(), own, [("in training", cases[0])], checked_stream)
    return []


def _multi_head_mistakes(own: MultiHeadAttention) -> list[tuple[str, Callable]]:
    attend, n_h = own.attention, own.n_h

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

    def layer(
        cut=split, join=joined, which=("W_Q", "W_K", "W_V"), out=True, masked=True, bare=(0, 0, 0)
    ):
        def forward(H: Tensor, mask: Tensor | None = None) -> Tensor:
            Q, K, V = (
                cut(H if skipped else getattr(own, name)(H))
                for name, skipped in zip(which, bare, strict=True)
            )
            V_bar = join(attend(Q, K, V, mask if masked else None)[0])
            return own.W_proj(V_bar) if out else V_bar

        return forward

    names = ("W_Q", "W_K", "W_V")
    mixed = [which for which in itertools.product(names, repeat=3) if which != names]

    def label(which: tuple[str, ...]) -> str:
        return "projections exchanged" if len(set(which)) == 3 else "one projection twice"

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
        *[(label(which), layer(which=which)) for which in mixed],
        *[
            ("no projection of the values", layer(bare=bare))
            for bare in itertools.product((False, True), repeat=3)
            if any(bare)
        ],
    ]


def examine_block(answer: Any) -> list[str]:
    """Judge MyBlock.

    Raises:
        Wrong: it is not right.
    """
    own = randomized(Block(SMALL, attention=scaled_dot_product_attention))
    compare_blocks(
        "MyBlock",
        answer,
        own,
        _block_mistakes,
        _dropout_mistakes,
        BLOCK_SAYS,
        lambda H: H,
    )
    return []


def compare_blocks(
    name: str,
    answer: Any,
    own: Block,
    mistakes: Callable[[Block], Sequence[tuple[str, Callable]]],
    dropout_mistakes: Callable[[Block], Sequence[tuple[str, Callable]]],
    says: dict[str, str],
    dropped: Callable[[Tensor], Tensor],
) -> nn.Module:
    """Compare a student's block with the course's own, first without dropout and then with it.

    Args:
        name: of the student's class.
        answer: that class.
        own: the course's own block, of the sizes of SMALL.
        mistakes: gives those on record, made with the parts of the course's own block.
        dropout_mistakes: the same, in training.
        says: what to say of each.
        dropped: what the block gives when all that its sublayers write is dropped.

    Returns:
        The student's block, in training mode.

    Raises:
        Wrong: it is not right.
    """
    mine = built(name, answer, own, SMALL, attention=scaled_dot_product_attention)
    cases = stream_cases()
    if not isinstance(mine.attn, MultiHeadAttention):
        _look_at_inner_layer(mine.attn, own.attn, cases)
    compare(mine, own, cases, mistakes(own), says)
    check_gradients(mine, own, cases)
    check_elsewhere(mine, own, larger_cases(), checked_stream)
    # In training, with a stand-in for dropout that leaves nothing to chance.
    mine.dropout, own.dropout = Half(), Half()
    through = run(mine.train(), *cases[0])
    if not mine.dropout.called and close(through, dropped(cases[0][0])):
        return mine  # F.dropout with self.dropout.p, on what each sublayer gives back
    compare(mine, own.train(), cases, dropout_mistakes(own), says, "dropout misplaced")
    return mine


def _look_at_inner_layer(attn: Any, own: MultiHeadAttention, cases: Sequence) -> None:
    """Tell a block that is right around a wrong attention layer."""
    try:
        outcomes = [attempt(attn, inputs, checked_stream) for inputs in cases]
    except NotAttempted:
        outcomes = []
    if outcomes and all(agreement(own, cases, outcomes)):
        return
    raise Wrong(
        "the layer inside",
        f"Your block uses {type(attn).__name__}, and that layer is not right yet. Run its "
        "checkpoint first: it lends you the course's own until yours is right.",
    )


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
        ("norm of the output", block(lambda H, m: H + n1(at(H, m)), lambda H, *_: H + n2(ff(H)))),
        ("norm of the output", block(lambda H, m: H + n1(at(H, m)), second)),
        ("norm of the output", block(first, lambda H, *_: H + n2(ff(H)))),
        ("a sublayer left out", lambda H, m: H),
        ("a sublayer left out", first),
        ("a sublayer left out", second),
        (
            "normalizations exchanged",
            block(lambda H, m: H + at(n2(H), m), lambda H, *_: H + ff(n1(H))),
        ),
        ("no residual", block(lambda H, m: at(n1(H), m), second)),
        ("no residual", block(first, lambda H, *_: ff(n2(H)))),
        ("no residual", block(lambda H, m: at(n1(H), m), lambda H, *_: ff(n2(H)))),
        ("no normalization", block(lambda H, m: H + at(H, m), second)),
        ("no normalization", block(first, lambda H, *_: H + ff(H))),
        ("no normalization", block(lambda H, m: H + at(H, m), lambda H, *_: H + ff(H))),
        ("one normalization twice", block(first, lambda H, *_: H + ff(n1(H)))),
        ("one normalization twice", block(lambda H, m: H + at(n2(H), m), second)),
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


def _dropout_mistakes(own: Block) -> list[tuple[str, Callable]]:
    n1, n2, at, ff, drop = own.norm_1, own.norm_2, own.attn, own.ffn, own.dropout

    def block(outer_1, inner_1, outer_2, inner_2):
        def forward(H: Tensor, mask: Tensor) -> Tensor:
            H = outer_1(H + inner_1(at(n1(H), mask)))
            return outer_2(H + inner_2(ff(n2(H))))

        return forward

    def none(x: Tensor) -> Tensor:
        return x

    names = {
        (none, none, none, none): "dropout left out",
        (none, drop, none, none): "dropout on one sublayer",
        (none, none, none, drop): "dropout on one sublayer",
    }
    choices = itertools.product((none, drop), repeat=4)
    # The right one stands among them, and is never asked for.
    return [(names.get(c, "dropout on the stream"), block(*c)) for c in choices]
