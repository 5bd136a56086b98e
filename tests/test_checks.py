"""The checkpoints against a bank of right and wrong answers, and what they say and leave alone."""

import re
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from wrong_answers.bank import answers

from minigpt import checks
from minigpt.checks import attention as attention_mistakes

NAMES = [*checks.CORE, *checks.CHALLENGE]
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


@pytest.mark.parametrize(("name", "answer"), WRONG, ids=ids(WRONG))
def test_a_wrong_answer_is_caught_by_its_own_misconception(name, answer):
    verdict = checks.judge(name, answer)
    assert (verdict.status, verdict.misconception) == ("failed", answer.misconception)
    assert "Traceback" not in verdict.message
    assert len(verdict.message) > 30


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=ids(RIGHT))
def test_a_right_answer_passes_in_whatever_style(name, answer):
    verdict = checks.judge(name, answer)
    assert (verdict.status, verdict.misconception) == ("passed", None), verdict.message
    if answer.note:
        assert answer.note in verdict.message


@pytest.mark.parametrize("name", NAMES)
def test_the_course_s_own_function_passes_its_checkpoint(name):
    assert checks.judge(name, checks.reference(name)).status == "passed"


@pytest.mark.parametrize("name", NAMES)
def test_an_untouched_stub_counts_as_not_attempted(name):
    class Unwritten(torch.nn.Module):
        def __init__(self, *sizes, **functions):
            raise NotImplementedError

    stub = Unwritten if name in checks.CHALLENGE else unwritten
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
    said = {}
    for answer in answers(name):
        if answer.misconception is not None:
            first = checks.judge(name, answer).message.split(". ")[0]
            said.setdefault(first, set()).add(answer.misconception)
    assert all(len(ideas) == 1 for ideas in said.values()), said


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
    assert "Core exercises: 0 of 4 passed, 4 of 4 not attempted" in said
    assert "Challenge (optional): 0 of 2 passed, 2 of 2 not attempted" in said
    checks.causal_mask(lambda T: torch.ones(T, T).tril().bool())
    checks.embed_with_positions(lambda idx, tok_emb, pos_emb: tok_emb(idx))
    checks.confirm("nothing leaks", True, "0.0")
    capsys.readouterr()
    checks.tally()
    said = capsys.readouterr().out
    assert "Core exercises: 1 of 4 passed, 2 of 4 not attempted" in said
    assert re.search(r"✓ Exercise 2 +causal_mask · passed", said)
    assert re.search(r"✗ Exercise 3 +embed_with_positions · no positions", said)
    assert "✓ nothing leaks" in said


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
