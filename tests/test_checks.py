"""The checkpoints against a bank of right and wrong answers, and what they say and leave alone."""

import functools
import re
import warnings

import pytest
import torch
from answers.bank import answers
from support import challenge, core, variants

from minigpt import checks
from minigpt.checks import attention as attention_mistakes

NAMES = [*checks.CORE, *checks.CHALLENGE, *checks.VARIANTS]
BANK = [(name, answer) for name in NAMES for answer in answers(name)]
WRONG = [(name, answer) for name, answer in BANK if answer.misconception is not None]
RIGHT = [(name, answer) for name, answer in BANK if answer.misconception is None]

# Ideas that a checkpoint has to know by name, whatever else it knows.
EXPECTED = {
    "scaled_dot_product_attention": {
        "no scaling",
        "divided by d_k",
        "scaled by another axis",
        "softmax over queries",
        "mask after softmax",
        "mask multiplies the scores",
        "mask ignored",
        "only two dimensions",
        "only four dimensions",
        "a tuple too few",
        "wrong shape",
        "wrong dtype",
        "wrong device",
        "gradient cut",
        "inputs changed",
        "raised an error",
        "returned nothing",
    },
    "causal_mask": {
        "upper triangle",
        "diagonal left out",
        "upside down",
        "additive mask",
        "not boolean",
        "raised an error",
        "returned nothing",
    },
    "embed_with_positions": {
        "position by batch",
        "off by one",
        "multiplied",
        "whole table added",
        "gradient cut",
        "inputs changed",
        "wrong device",
    },
    "sinusoidal_table": {
        "half the exponent",
        "twice the exponent",
        "a frequency for each coordinate",
        "frequencies grow",
        "one frequency for all",
        "not in radians",
        "off by one",
        "halves",
        "sines and cosines exchanged",
        "wrong dtype",
    },
    "rotate": {
        "halves",
        "not put back",
        "turned backwards",
        "no rotation",
        "overwritten too early",
        "start ignored",
        "position left out",
        "positions along another axis",
        "only four dimensions",
        "gradient cut",
        "inputs changed",
    },
    "PostNormBlock": {
        "pre-norm",
        "norm of the output",
        "a normalization left out",
        "one normalization twice",
        "sum not kept normalized",
        "no residual",
        "mask not passed",
        "cache not passed",
        "dropout left out",
        "dropout on the stream",
    },
    "attend_with_cache": {
        "cache not kept",
        "cache overwritten",
        "cache not extended",
        "values not kept",
        "reads the new alone",
        "projected again",
        "another mask",
        "new before old",
        "queries of all positions",
    },
    "mean_attention_distance": {
        "signed",
        "without the weights",
        "over masked cells",
        "averaged over heads",
        "inputs changed",
        "wrong device",
    },
}


def ids(pairs: list) -> list[str]:
    return [f"{name}-{answer.__name__}" for name, answer in pairs]


@pytest.fixture(autouse=True)
def a_new_notebook(monkeypatch):
    """Forget what earlier tests handed in."""
    for memory in ("_verdicts", "_attempts", "_confirmed"):
        monkeypatch.setattr(checks, memory, {})
    monkeypatch.delenv("MINIGPT_STRICT", raising=False)


def unwritten(*inputs):
    raise NotImplementedError


def columns(message: str) -> tuple[list, list]:
    """Take a tiny case apart into what was expected and what came."""
    lines = message.splitlines()
    head = next((n for n, line in enumerate(lines) if line.startswith("  expected")), None)
    if head is None:
        return [], []
    at = lines[head].index("yours")
    rows = lines[head + 1 :]
    return [row[:at].split() for row in rows], [row[at:].split() for row in rows]


FIRST_SENTENCES: dict[tuple[str, str], str] = {}  # what has been said so far, and of which idea


def first_sentence(message: str) -> str:
    return message.split(". ")[0]


@pytest.mark.parametrize(("name", "answer"), WRONG, ids=ids(WRONG))
def test_a_wrong_answer_is_caught_by_its_own_misconception(name, answer):
    verdict = checks.judge(name, answer)
    assert (verdict.status, verdict.misconception) == ("failed", answer.misconception)
    assert "Traceback" not in verdict.message
    assert len(verdict.message) > 30
    expected, actual = columns(verdict.message)
    if expected and answer.misconception != "not boolean":
        assert expected != actual  # a case that shows no difference explains nothing
    first = first_sentence(verdict.message)
    idea = FIRST_SENTENCES.setdefault((name, first), answer.misconception)
    assert idea == answer.misconception  # no two ideas begin with the same words


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=ids(RIGHT))
def test_a_right_answer_passes_in_whatever_style(name, answer):
    verdict = checks.judge(name, answer)
    assert (verdict.status, verdict.misconception) == ("passed", None), verdict.message
    if answer.note:
        assert answer.note in verdict.message
    else:
        assert "finite" not in verdict.message
        assert "nan" not in verdict.message


@pytest.mark.parametrize("name", NAMES)
def test_the_course_s_own_function_passes_its_checkpoint(name):
    assert checks.judge(name, checks.reference(name)).status == "passed"


@pytest.mark.parametrize("name", NAMES)
def test_an_untouched_stub_counts_as_not_attempted(name):
    class Unwritten(torch.nn.Module):
        def __init__(self, *sizes, **functions):
            raise NotImplementedError

    stub = Unwritten if isinstance(checks.reference(name), type) else unwritten
    assert checks.judge(name, stub).status == "not attempted"


@pytest.mark.parametrize("name", NAMES)
def test_the_bank_is_large_enough_to_mean_something(name):
    wrong = [answer for answer in answers(name) if answer.misconception is not None]
    right = [answer for answer in answers(name) if answer.misconception is None]
    assert len(wrong) >= (4 if name == "causal_mask" else 8)
    assert len(right) >= 5
    found = {answer.misconception for answer in wrong}
    assert found >= EXPECTED.get(name, set())


@pytest.mark.parametrize("name", NAMES)
def test_every_misconception_has_words_of_its_own(name):
    one_of_each = {answer.misconception: answer for n, answer in WRONG if n == name}
    for idea, answer in one_of_each.items():
        first = first_sentence(checks.judge(name, answer).message)
        assert FIRST_SENTENCES.setdefault((name, first), idea) == idea


def test_a_wrong_answer_is_shown_a_tiny_case_with_both_values():
    def unscaled(Q, K, V, mask=None):
        A = (Q @ K.mT).softmax(-1)
        return A @ V, A

    message = checks.judge("scaled_dot_product_attention", unscaled).message
    rows = re.findall(r"^ +([\d. ]+?)    +([\d. ]+)$", message, re.M)
    assert len(rows) == 3
    for expected, actual in rows:
        assert expected.split() != actual.split()
        assert abs(sum(map(float, expected.split())) - 1) < 0.01
    Q, K, V = attention_mistakes.TINY
    right = checks.reference("scaled_dot_product_attention")(Q, K, V)[1][0]
    assert [float(x) for x in rows[0][0].split()] == pytest.approx(right.tolist(), abs=5e-4)


def test_an_error_names_the_student_s_own_line_and_what_it_usually_means():
    def misnamed(idx, tok_emb, pos_emb):
        return tok_emb(idx) + pos_emb(postions)  # noqa: F821

    verdict = checks.judge("embed_with_positions", misnamed)
    assert verdict.misconception == "raised an error"
    assert "NameError: name 'postions' is not defined" in verdict.message
    assert "return tok_emb(idx) + pos_emb(postions)" in verdict.message
    assert "the cell that defines it was not run" in verdict.message


def test_what_is_not_a_function_is_told_apart():
    verdict = checks.judge("causal_mask", torch.ones(4, 4))
    assert (verdict.status, verdict.misconception) == ("failed", "not a function")
    assert "(4, 4)" in verdict.message


def test_two_mistakes_at_once_are_both_named():
    def twice_wrong(Q, K, V, mask=None):
        A = (Q @ K.mT).softmax(-1)
        return A @ V, A

    verdict = checks.judge("scaled_dot_product_attention", twice_wrong)
    assert verdict.misconception == "no scaling"
    assert "mask ignored" in verdict.message


def test_an_unknown_checkpoint_is_refused():
    with pytest.raises(ValueError, match="a checkpoint is one of"):
        checks.judge("softmax", unwritten)


def test_a_right_answer_comes_back_as_it_is(capsys):
    def mine(T):
        return torch.ones(T, T).tril().bool()

    assert checks.causal_mask(mine) is mine
    assert capsys.readouterr().out.startswith("✓ causal_mask · passed")


def test_a_wrong_or_missing_answer_is_replaced_so_that_the_lesson_goes_on(capsys):
    own = checks.reference("causal_mask")
    assert checks.causal_mask(lambda T: torch.ones(T, T).triu().bool()) is own
    assert capsys.readouterr().out.startswith("✗ causal_mask · upper triangle")
    assert checks.causal_mask(unwritten) is own
    assert capsys.readouterr().out.startswith("○ causal_mask · not attempted")


def test_running_only_the_checkpoint_again_does_not_turn_it_green(capsys):
    handed_out = checks.causal_mask(lambda T: torch.ones(T, T).triu().bool())
    capsys.readouterr()
    assert checks.causal_mask(handed_out) is handed_out
    said = capsys.readouterr().out
    assert said.startswith("✗ causal_mask · upper triangle")
    assert "not yours" in said
    assert checks.verdicts()["causal_mask"].status == "failed"


def test_an_answer_that_is_mended_turns_green():
    checks.causal_mask(unwritten)
    checks.causal_mask(lambda T: torch.ones(T, T).tril().bool())
    assert checks.verdicts()["causal_mask"].status == "passed"


def test_asked_to_be_strict_a_checkpoint_raises(monkeypatch):
    monkeypatch.setenv("MINIGPT_STRICT", "1")
    with pytest.raises(checks.CheckpointError, match="causal_mask: not attempted"):
        checks.causal_mask(unwritten)
    with pytest.raises(checks.CheckpointError, match="causal_mask: everything allowed"):
        checks.causal_mask(lambda T: torch.ones(T, T, dtype=torch.bool))
    with pytest.raises(checks.CheckpointError, match=r"the past moved: 0\.3"):
        checks.confirm("the past moved", False, "0.3")
    with pytest.raises(checks.CheckpointError, match="not passed: scaled_dot"):
        checks.tally()


def test_the_tally_counts_the_challenge_apart(capsys):
    checks.tally()
    said = capsys.readouterr().out
    assert core(0, len(checks.CORE)) in said
    assert challenge(0, len(checks.CHALLENGE)) in said
    checks.causal_mask(lambda T: torch.ones(T, T).tril().bool())
    checks.embed_with_positions(lambda idx, tok_emb, pos_emb: tok_emb(idx))
    checks.confirm("nothing leaks", True, "0.0")
    capsys.readouterr()
    checks.tally()
    said = capsys.readouterr().out
    assert core(1, len(checks.CORE) - 2) in said
    assert re.search(r"✓ Exercise 2 +causal_mask · passed", said)
    assert re.search(r"✗ Exercise 3 +embed_with_positions · no positions", said)
    assert "✓ nothing leaks" in said


def test_a_notebook_s_tally_counts_its_own_exercises_alone(capsys, monkeypatch):
    checks.sinusoidal_table(checks.reference("sinusoidal_table"))  # lent, so it earns nothing
    checks.rotate(lambda x, start=0: x)
    checks.causal_mask(lambda T: torch.ones(T, T).tril().bool())
    capsys.readouterr()
    checks.tally_variants()
    said = capsys.readouterr().out
    assert variants(0, len(checks.VARIANTS) - 1) in said
    assert re.search(r"✗ Variant 2 +rotate · ", said)
    assert "causal_mask" not in said
    checks.tally()
    said = capsys.readouterr().out
    assert core(1) in said
    assert "rotate" not in said
    monkeypatch.setenv("MINIGPT_STRICT", "1")
    with pytest.raises(checks.CheckpointError, match="not passed: sinusoidal_table, rotate, Post"):
        checks.tally_variants()


def test_two_mistakes_in_a_table_or_a_rotation_are_both_named():
    shifted = message_of("sinusoidal_table", from_the_bank("sinusoidal_table", "two_mistakes"))
    assert "exponent is j/d" in shifted
    assert "count from 1" in shifted
    style = from_the_bank("rotate", "halves_and_start_ignored")
    assert "takes no notice of `start`" in message_of("rotate", style)
    assert "neighbours, (0, 1)" in message_of("rotate", style)


def test_a_mistake_in_the_cache_is_shown_where_in_the_text_it_is_made():
    message = message_of("attend_with_cache", from_the_bank("attend_with_cache", "keys_alone"))
    assert "After 3 positions, 1 more comes in:" in message
    assert "expected 4 keys and 4 values    yours: 4 and 1" in message


def test_a_checkpoint_leaves_chance_the_screen_and_the_gradient_mode_alone(capsys):
    def noisy(T):
        torch.manual_seed(5)
        print("hello", torch.rand(1))
        return torch.ones(T, T).tril().bool()

    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with torch.no_grad():
        assert checks.judge("causal_mask", noisy).misconception == "random"
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.rand(3), expected)
    assert capsys.readouterr().out == ""


def test_a_function_that_never_ends_can_be_stopped_and_the_lesson_goes_on(capsys):
    def stopped(T):
        raise KeyboardInterrupt  # what the stop button of a notebook does

    assert checks.causal_mask(stopped) is checks.reference("causal_mask")
    assert capsys.readouterr().out.startswith("✗ causal_mask · interrupted")


def test_the_course_s_own_function_is_lent_and_earns_nothing(capsys):
    own = checks.reference("MyBlock")

    class Borrowed(own):
        pass

    for borrowed in (own, Borrowed):
        assert checks.MyBlock(borrowed) is own
        assert capsys.readouterr().out.startswith("○ MyBlock · not attempted")


def test_an_answer_too_odd_to_be_looked_at_still_gets_a_verdict():
    class Odd(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *args, **kwargs):
            raise OSError("odd")

    verdict = checks.judge("causal_mask", lambda T: torch.ones(T, T).as_subclass(Odd))
    assert (verdict.status, verdict.misconception) == ("failed", "raised an error")


def test_a_right_but_very_slow_answer_passes_with_the_offer_of_the_course_s_own():
    (slow,) = (a for a in answers("scaled_dot_product_attention") if a.__name__ == "plain_loops")
    verdict = checks.judge("scaled_dot_product_attention", slow)
    assert verdict.status == "passed"
    assert 'checks.reference("scaled_dot_product_attention")' in verdict.message


def test_a_slow_answer_to_the_third_exercise_gets_the_same_offer():
    def counts_in_between(idx, tok_emb, pos_emb):
        for _ in range(100_000):
            pass
        return tok_emb(idx) + pos_emb(torch.arange(idx.size(1)))

    verdict = checks.judge("embed_with_positions", counts_in_between)
    assert verdict.status == "passed"
    assert 'checks.reference("embed_with_positions")' in verdict.message


def message_of(name: str, answer) -> str:
    verdict = checks.judge(name, answer)
    assert verdict.status == "failed"
    return verdict.message


def from_the_bank(name: str, style: str):
    (answer,) = (a for a in answers(name) if a.__name__ == style)
    return answer


def with_words(T):
    """Makes the mask."""
    raise NotImplementedError


def with_pass(T):
    pass
    raise NotImplementedError


typed_at_a_prompt: dict = {}
exec("def causal_mask(T):\n    raise NotImplementedError", typed_at_a_prompt)
STUBS = [with_words, with_pass, typed_at_a_prompt["causal_mask"], functools.partial(unwritten)]


@pytest.mark.parametrize("stub", STUBS, ids=["docstring", "pass", "no text", "no function"])
def test_a_stub_counts_as_one_however_it_is_written(stub):
    assert checks.judge("causal_mask", stub).status == "not attempted"


def test_a_notimplementederror_with_a_reason_is_an_error_like_any_other():
    # What torch says of a tensor without numbers; a lambda's text shows no raise.
    message = message_of("causal_mask", lambda T: torch.ones(T, T, device="meta").cpu())
    assert "NotImplementedError: Cannot copy out of meta tensor" in message


def test_an_error_inside_a_library_or_the_course_names_the_student_s_own_line():
    def in_torch(idx, tok_emb, pos_emb):
        return tok_emb(idx) + pos_emb("0 1 2")

    class InTheCourse(checks.reference("MyMultiHeadAttention")):
        def forward(self, H, mask=None):
            Q, K, V = (self.split(W(H)) for W in (self.W_Q, self.W_K, self.W_V))
            return self.attention(Q, K.mT, V, mask)[0]

    def in_a_helper(T):
        return helped(T)

    def helped(T):
        return torch.ones(T, T) @ torch.ones(T + 1)

    assert ': return tok_emb(idx) + pos_emb("0 1 2")' in message_of(
        "embed_with_positions", in_torch
    )
    assert ": return self.attention(Q, K.mT" in message_of("MyMultiHeadAttention", InTheCourse)
    assert ": return torch.ones(T, T) @" in message_of("causal_mask", in_a_helper)


def test_an_error_with_no_words_too_many_or_none_that_can_be_made_is_told_shortly():
    class Odd(Exception):
        def __str__(self):
            raise OSError("odd")

    def raising(error):
        def answer(T):
            raise error

        return answer

    assert "an error: ValueError\n" in message_of("causal_mask", raising(ValueError()))
    assert "an error: Odd\n" in message_of("causal_mask", raising(Odd()))
    assert len(message_of("causal_mask", raising(ValueError("long " * 1000)))) < 600


@pytest.mark.parametrize("method", ["bool", "unflatten"])  # in C++ and in Python
def test_brackets_that_were_forgotten_are_named(method):
    message = message_of("causal_mask", lambda T: getattr(torch.ones(T, T), method))
    assert f"the method {method} itself: the brackets () that call it are missing" in message


def test_what_came_back_instead_is_told_and_how_to_mend_it():
    def without_averages(Q, K, V, mask=None):
        return None, (Q @ K.mT).softmax(-1)

    def unscaled_without_weights(Q, K, V, mask=None):
        return (Q @ K.mT).softmax(-1) @ V, None

    attention, distance = "scaled_dot_product_attention", "mean_attention_distance"
    assert "It is None." in message_of(attention, without_averages)
    assert "V_bar is not what equation 4 gives" in message_of(attention, unscaled_without_weights)
    row = from_the_bank("causal_mask", "row_compared_with_itself")
    assert "Make one a column: `x[:, None]`" in message_of("causal_mask", row)
    numbers, tensors = (from_the_bank(distance, f"list_of_{x}") for x in ("numbers", "tensors"))
    assert "`torch.tensor` makes a tensor of them" in message_of(distance, numbers)
    assert "`torch.stack` makes a tensor of them" in message_of(distance, tensors)


def test_a_tiny_case_is_one_in_which_the_mistake_is_seen():
    attention = "scaled_dot_product_attention"
    said = message_of(attention, from_the_bank(attention, "capital_t"))
    assert "given as one text with one head, (1, 1, 3, 4):" in said
    assert "yours: an error" in said
    said = message_of(attention, from_the_bank(attention, "mask_in_square_brackets"))
    assert "(1, 1, 3, 4), under the causal mask:" in said
    triangle = from_the_bank("causal_mask", "triu_of_ones")
    assert "With 1 for True and 0 for False:" in message_of("causal_mask", triangle)
    distance = "mean_attention_distance"
    said = message_of(distance, from_the_bank(distance, "text_zero"))
    assert "which change places in a second text:" in said

    class LastColumn(checks.reference("MyBlock")):
        def forward(self, H, mask):
            return super().forward(H, mask) + torch.eye(H.size(-1))[-1]

    assert "columns 8 to 11" in message_of("MyBlock", LastColumn)


def test_a_tiny_case_of_another_shape_is_told_as_such():
    def odd_for_short_texts(idx, tok_emb, pos_emb):
        return tok_emb(idx) if idx.size(1) > 3 else tok_emb(idx)[0]

    assert "yours: wrong shape" in message_of("embed_with_positions", odd_for_short_texts)


def test_a_fill_that_is_not_low_enough_is_told_and_its_small_weight_is_not_shown_as_0():
    name = "scaled_dot_product_attention"
    message = message_of(name, from_the_bank(name, "fill_of_minus_ten"))
    assert "Yours amounts to -10." in message
    assert re.search(r"\d\.\d+e-0[56]", message)


def test_a_view_of_heads_that_do_not_lie_in_a_row_is_told_to_be_a_reshape():
    step_by_step = from_the_bank("scaled_dot_product_attention", "step_by_step")

    def viewed(Q, K, V, mask=None):
        T, d_k = Q.shape[-2:]
        V_bar, A = step_by_step(*(x.view(-1, T, d_k) for x in (Q, K, V)), mask)
        return V_bar.view(Q.shape), A.view(*Q.shape[:-1], T)

    assert "`reshape` does the same" in message_of("scaled_dot_product_attention", viewed)


def test_a_mistake_and_an_error_at_once_are_both_told():
    for name, style, idea in (
        ("scaled_dot_product_attention", "unscaled_and_only_two_dimensions", "divided by √d_k"),
        ("embed_with_positions", "scaled_and_always_five_positions", "embeddings are scaled"),
    ):
        message = message_of(name, from_the_bank(name, style))
        assert idea in message
        assert "stopped with an error: RuntimeError" in message


def test_a_memory_of_an_earlier_call_is_noticed():
    tables = {}

    def worked_on_in_place(A):
        t = torch.arange(A.size(-1))
        table = tables.setdefault(A.shape, t[:, None] - t)
        result = (A * table).sum(-1).mean((0, 2))
        table += 1
        return result

    verdict = checks.judge("mean_attention_distance", worked_on_in_place)
    assert verdict.misconception == "only in some cases"
    assert "the second time it is called" in verdict.message


def test_a_checkpoint_looks_at_gradients_where_they_are_switched_off():
    answer = from_the_bank("scaled_dot_product_attention", "step_by_step")
    with torch.no_grad():
        assert checks.judge("scaled_dot_product_attention", answer).status == "passed"


def test_a_checkpoint_leaves_warnings_and_the_default_dtype_alone():
    def in_double_precision(T):
        torch.set_default_dtype(torch.float64)
        return torch.ones(T, T).tril().bool()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        try:
            assert checks.judge("causal_mask", in_double_precision).status == "passed"
            assert torch.get_default_dtype() == torch.float32
        finally:
            torch.set_default_dtype(torch.float32)
        assert warnings.filters == before


def test_what_is_wrong_is_printed_and_that_the_lesson_goes_on(capsys):
    checks.causal_mask(lambda T: torch.ones(T, T).triu().bool())
    said = capsys.readouterr().out
    assert "  Your triangle is the upper one" in said
    assert "  expected causal_mask(4)    yours" in said
    assert "The lesson goes on with the course's own function. Mend yours" in said
    checks.causal_mask(unwritten)
    assert "The lesson goes on with the course's own function until" in capsys.readouterr().out
    checks.causal_mask(checks.reference("causal_mask"))
    assert "The lesson goes on" not in capsys.readouterr().out


def test_what_was_handed_in_is_kept_right_or_wrong_but_not_a_stub():
    def wrong(T):
        return torch.ones(T, T).triu().bool()

    checks.causal_mask(wrong)
    checks.causal_mask(unwritten)
    checks.embed_with_positions(unwritten)
    checks.causal_mask(checks.reference("causal_mask"))
    assert checks.attempts() == {"causal_mask": wrong}


def test_what_was_measured_is_marked_by_whether_it_held(capsys):
    checks.confirm("nothing leaks", False, "0.3")
    checks.confirm("rows sum to 1", True, "1.0")
    assert capsys.readouterr().out == "✗ nothing leaks: 0.3\n✓ rows sum to 1: 1.0\n"
    checks.tally()
    said = capsys.readouterr().out
    assert "Measured along the way: 1 of 2 as they have to be" in said
    assert "  ✗ nothing leaks\n  ✓ rows sum to 1\n" in said


def test_asked_to_be_strict_nothing_is_raised_over_what_is_right(monkeypatch, capsys):
    monkeypatch.setenv("MINIGPT_STRICT", "1")
    checks.confirm("nothing leaks", True, "0.0")
    for name in NAMES:
        answer = next(a for a in answers(name) if a.misconception is None)
        assert getattr(checks, name)(answer) is answer
    capsys.readouterr()
    checks.tally()
    said = capsys.readouterr().out
    assert f"{core(len(checks.CORE))}\n" in said
    assert f"{challenge(len(checks.CHALLENGE))}\n" in said
    checks.tally_variants()
    assert f"{variants(len(checks.VARIANTS))}\n" in capsys.readouterr().out


def test_only_a_1_asks_to_be_strict(monkeypatch):
    monkeypatch.setenv("MINIGPT_STRICT", "0")
    assert checks.causal_mask(unwritten) is checks.reference("causal_mask")
