"""The counting baseline."""

import math

import pytest
import torch

from minigpt.corpus import Vocabulary
from minigpt.evaluation import evaluate_ngram
from minigpt.ngram import NGram


def fitted(text: str, n: int, k: float) -> tuple[NGram, Vocabulary]:
    vocabulary = Vocabulary(text)
    return NGram(n, k, len(vocabulary)).fit(vocabulary.encode(text)), vocabulary


def test_probabilities_are_counts_with_k_added():
    model, vocabulary = fitted("abracadabra", 2, 0.5)
    # a is followed by b twice, c once, d once; what follows the last a is not in the text.
    expected = torch.tensor([0.5, 2.5, 1.5, 1.5, 0.5], dtype=torch.float64) / (4 + 0.5 * 5)
    torch.testing.assert_close(model.probabilities(vocabulary.encode("a")), expected)


def test_only_the_last_n_minus_1_characters_of_the_context_count():
    model, vocabulary = fitted("abracadabra", 3, 0.1)
    short, long = (model.probabilities(vocabulary.encode(text)) for text in ("ab", "cadab"))
    assert torch.equal(short, long)
    assert short.argmax() == vocabulary.encode("r")


@pytest.mark.parametrize(("n", "k"), [(2, 1.0), (3, 0.1), (5, 0.01)])
@pytest.mark.parametrize("context", ["the", "ZZZZ", "the king", "$$$$$"])
def test_probabilities_sum_to_one_after_seen_and_unseen_contexts(n, k, context, corpus):
    model = NGram(n, k).fit(corpus["valid"])
    p = model.probabilities(corpus.vocabulary.encode("..." + context))
    assert p.shape == (65,)
    assert (p > 0).all()
    assert p.sum().item() == pytest.approx(1.0, abs=1e-12)


def test_a_context_never_seen_leaves_all_characters_equally_likely():
    model, vocabulary = fitted("abracadabra", 3, 0.1)
    torch.testing.assert_close(
        model.probabilities(vocabulary.encode("dd")), torch.full((5,), 0.2, dtype=torch.float64)
    )


def test_a_text_is_scored_by_the_probability_of_each_character_after_those_before_it():
    text = "abracadabra abracadabra"
    model, vocabulary = fitted(text[:15], 3, 0.1)
    ids = vocabulary.encode(text)
    nats = model.nats(ids, 4, 20)
    by_hand = [-math.log(model.probabilities(ids[:t])[ids[t]]) for t in range(4, 20)]
    assert nats.tolist() == pytest.approx(by_hand)


@pytest.mark.parametrize(("n", "k", "nats"), [(3, 0.1, 2.0859), (5, 0.01, 1.8326)])
def test_the_test_split_scores_as_published(n, k, nats, corpus):
    score = evaluate_ngram(NGram(n, k).fit(corpus["train"]), corpus, "test")
    assert score.characters == 60_394
    assert round(score.nats, 4) == nats


@pytest.mark.parametrize(("n", "k"), [(1, 0.1), (0, 0.1), (3, 0.0), (3, -1.0)])
def test_no_context_and_no_smoothing_are_refused(n, k):
    with pytest.raises(ValueError, match=f"n={n}, k={k}"):
        NGram(n, k)


def test_runs_too_long_to_be_numbered_are_refused():
    NGram(10, 0.1)
    with pytest.raises(ValueError, match=r"65\^11"):
        NGram(11, 0.1)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_context_that_is_too_short_is_refused(length, corpus):
    model = NGram(5, 0.01).fit(corpus["valid"])
    with pytest.raises(ValueError, match="4 characters before"):
        model.nats(corpus.ids[:50], length, 50)
    with pytest.raises(ValueError, match="4 characters"):
        model.probabilities(corpus.ids[:length])
