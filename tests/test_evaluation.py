"""Scoring: which characters, with how much context, and in which units."""

import math

import pytest
import torch
from support import random_model, random_text, randomize, small_corpus

from minigpt.evaluation import (
    Score,
    evaluate,
    evaluate_gpt,
    evaluate_lstm,
    evaluate_ngram,
    gpt_nats,
    lstm_nats,
    windows,
    writing_nats,
)
from minigpt.lstm import LSTM
from minigpt.ngram import NGram
from minigpt.variants import everything_allowed


@pytest.mark.parametrize(
    ("split", "T", "shortest"), [("test", 128, 65), ("valid", 128, 65), ("test", 100, 51)]
)
def test_each_character_is_scored_once_with_more_than_half_a_window_before_it(
    split, T, shortest, corpus
):
    start, stop = corpus.bounds[split]
    scored, context = [], []
    for begin, first in windows(start, stop, T):
        targets = range(first, begin + T + 1)
        scored += targets
        context += [target - begin for target in targets]
    assert scored == list(range(start, stop))
    assert min(context) == shortest
    assert max(context) == T


def test_the_test_split_has_60394_characters_to_score(corpus):
    start, stop = corpus.bounds["test"]
    assert sum(b + 129 - first for b, first in windows(start, stop, 128)) == 60_394


@pytest.mark.parametrize(("start", "stop"), [(40, 140), (13, 100), (50, 51), (50, 53), (30, 36)])
@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_a_gpt_is_scored_on_each_character_as_its_own_window_predicts_it(start, stop, batch_size):
    model, ids = random_model(T_max=12), random_text(150)
    nats = gpt_nats(model, ids, start, stop, batch_size=batch_size)
    by_hand = []
    for t in range(start, stop):
        # Windows of 12 end where 6 more characters are scored, or with the text.
        end = min(start + 6 * ((t - start) // 6 + 1), stop)
        with torch.no_grad():
            logits = model(ids[None, end - 13 : t])[0, -1]  # (V,)
        by_hand.append(-logits.log_softmax(dim=-1)[ids[t]])
    assert nats.shape == (stop - start,)
    torch.testing.assert_close(nats, torch.stack(by_hand))


@pytest.mark.parametrize(("start", "stop"), [(40, 140), (13, 100), (50, 51), (30, 36)])
@pytest.mark.parametrize("batch_size", [1, 3, 128])
def test_at_the_end_of_its_text_a_causal_model_predicts_as_well_as_in_the_middle(
    start, stop, batch_size
):
    model, ids = random_model(T_max=12), random_text(150)
    torch.testing.assert_close(
        writing_nats(model, ids, start, stop, batch_size=batch_size),
        gpt_nats(model, ids, start, stop),
    )


def test_a_model_that_reads_ahead_has_nothing_ahead_to_read_when_it_writes():
    model, ids = random_model(T_max=12, mask=everything_allowed), random_text(150)
    with torch.no_grad():
        by_hand = [-model(ids[None, 30:t])[0, -1].log_softmax(-1)[ids[t]] for t in range(37, 43)]
    written = writing_nats(model, ids, 37, 43)
    torch.testing.assert_close(written, torch.stack(by_hand))
    differences = (written - gpt_nats(model, ids, 37, 43)).abs()
    assert differences[:-1].min() > 1e-3
    assert differences[-1] == 0.0  # the last position of a window has nothing ahead either


@pytest.mark.parametrize("chunk", [1, 7, 64, 1_000])
def test_the_score_of_an_lstm_does_not_depend_on_the_pieces_it_is_read_in(chunk):
    model, ids = randomize(LSTM(11, 6, 8)), random_text(150)
    nats = lstm_nats(model, ids, 40, 150, prime=20, chunk=chunk)
    with torch.no_grad():
        logits = model(ids[None, 20:149])[0]  # (129, V), the first of them for character 21
    by_hand = -logits.log_softmax(dim=-1)[torch.arange(129), ids[21:150]]
    torch.testing.assert_close(nats, by_hand[19:])


def test_an_lstm_is_primed_with_the_128_characters_before_the_split():
    model, corpus = randomize(LSTM(len(small_corpus().vocabulary), 6, 8)), small_corpus()
    start, stop = corpus.bounds["test"]
    with torch.no_grad():
        logits = model(corpus.ids[None, start - 128 : stop - 1])[0, 127:]  # (N, V)
    by_hand = torch.nn.functional.cross_entropy(logits, corpus["test"])
    assert evaluate_lstm(model, corpus, "test").nats == pytest.approx(by_hand.item(), abs=1e-5)


def test_a_character_after_the_split_has_no_part_in_its_score():
    ids = random_text(150)
    changed = torch.cat([ids[:100], random_text(50, seed=1)])
    gpt, lstm = random_model(T_max=12), randomize(LSTM(11, 6, 8))
    assert torch.equal(gpt_nats(gpt, ids, 50, 100), gpt_nats(gpt, changed, 50, 100))
    first, second = (lstm_nats(lstm, x, 50, 100, prime=20, chunk=64) for x in (ids, changed))
    assert torch.equal(first, second)


def test_perplexity_is_the_exponential_of_nats_and_bits_count_halvings():
    fair_die = Score(math.log(65), 1)
    assert fair_die.perplexity == pytest.approx(65)
    assert Score(math.log(8), 1).bits == pytest.approx(3)
    assert 2**fair_die.bits == pytest.approx(fair_die.perplexity)


def test_a_model_that_knows_nothing_scores_as_a_fair_die():
    corpus = small_corpus()
    V = len(corpus.vocabulary)
    gpt, lstm = random_model(vocab_size=V), LSTM(V, 6, 8)
    for model in (gpt, lstm):
        torch.nn.init.zeros_(model.W_o.weight)
        torch.nn.init.zeros_(model.W_o.bias)
        for split in ("valid", "test"):
            score = evaluate(model, corpus, split)
            assert score.nats == pytest.approx(math.log(V), abs=1e-6)
            assert score.characters == len(corpus[split]) == 300


def test_each_kind_of_model_is_scored_its_own_way():
    corpus = small_corpus()
    V = len(corpus.vocabulary)
    gpt, lstm = random_model(vocab_size=V), randomize(LSTM(V, 6, 8))
    assert evaluate(gpt, corpus) == evaluate_gpt(gpt, corpus)
    assert evaluate(lstm, corpus) == evaluate_lstm(lstm, corpus)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_an_evaluation_switches_dropout_off_and_then_on_again_if_it_was(kind, training):
    corpus = small_corpus()
    V = len(corpus.vocabulary)
    kinds = {"gpt": random_model(vocab_size=V, dropout=0.5), "lstm": randomize(LSTM(V, 6, 8))}
    model = kinds[kind]
    expected = evaluate(model.eval(), corpus)
    model.train(training)
    assert evaluate(model, corpus) == expected
    assert all(module.training == training for module in model.modules())


def test_an_evaluation_that_fails_leaves_the_mode_as_it_was():
    corpus, model = small_corpus(), random_model().train()
    with pytest.raises(ValueError, match="before the first one"):
        evaluate(model, corpus, "train")
    assert model.training


def test_an_evaluation_leaves_no_gradients_behind():
    corpus = small_corpus()
    V = len(corpus.vocabulary)
    start, stop = corpus.bounds["test"]
    assert not gpt_nats(random_model(vocab_size=V), corpus.ids, start, stop).requires_grad
    assert not lstm_nats(randomize(LSTM(V, 6, 8)), corpus.ids, start, stop).requires_grad


@pytest.mark.parametrize("threads", [1, 2])
def test_an_evaluation_leaves_the_number_of_threads_as_it_was(threads):
    before, ids = torch.get_num_threads(), random_text(30)
    try:
        torch.set_num_threads(threads)
        lstm_nats(LSTM(11, 6, 8), ids, 10, 30, prime=5)
        assert torch.get_num_threads() == threads
        with pytest.raises(IndexError):
            lstm_nats(LSTM(5, 6, 8), ids, 10, 30, prime=5)  # the text has characters above 4
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_too_little_text_before_the_first_character_is_refused_with_the_numbers():
    ids = random_text(150)
    with pytest.raises(ValueError, match=r"12.*not 5"):
        gpt_nats(random_model(T_max=12), ids, 5, 100)
    with pytest.raises(ValueError, match=r"primed with 128.*100 stand before"):
        lstm_nats(LSTM(11, 6, 8), ids, 100, 150)


def test_all_models_are_scored_on_the_same_characters():
    corpus = small_corpus()
    V = len(corpus.vocabulary)
    ngram = NGram(3, 0.1, V).fit(corpus["train"])
    models = random_model(vocab_size=V), LSTM(V, 6, 8)
    counts = {evaluate(model, corpus, "test").characters for model in models}
    assert counts | {evaluate_ngram(ngram, corpus, "test").characters} == {300}


def test_a_split_that_does_not_exist_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"train.*valid.*test.*'tset'"):
        evaluate(random_model(vocab_size=len(small_corpus().vocabulary)), small_corpus(), "tset")


def test_windows_of_one_character_come_to_an_end():
    assert [scored for _, scored in windows(3, 8, 1)] == [3, 4, 5, 6, 7]
