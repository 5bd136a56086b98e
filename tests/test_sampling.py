"""Writing text: the plain sampler and the cached one."""

import pytest
import torch
from support import random_model, random_text

from minigpt.attention import scaled_dot_product_attention
from minigpt.corpus import Vocabulary
from minigpt.sampling import next_character, sample, sample_text


def written(model, idx, length, *, seed=0, **options):
    return sample(model, idx, length, generator=torch.Generator().manual_seed(seed), **options)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("prompt", "length"), [(1, 8), (3, 9), (3, 40), (12, 20), (30, 20)])
def test_both_samplers_write_the_same_before_and_after_the_window_slides(
    positions, norm, prompt, length
):
    model, idx = random_model(positions=positions, norm=norm), random_text(prompt)
    plain = torch.stack([written(model, idx, length, seed=seed) for seed in range(3)])
    cached = torch.stack([written(model, idx, length, seed=s, cached=True) for s in range(3)])
    assert plain.shape == (3, prompt + length)
    assert torch.equal(plain, cached)
    assert len(plain[:, prompt:].unique()) > 3


def test_both_samplers_write_the_same_with_the_trained_model(trained, corpus):
    for prompt, length in ((20, 100), (120, 20)):
        idx = corpus["test"][:prompt]
        plain = written(trained, idx, length)
        assert torch.equal(plain, written(trained, idx, length, cached=True))


def test_the_cached_sampler_computes_one_position_a_step_until_the_window_slides():
    positions = []

    def recording(Q, K, V, mask=None):
        positions.append((Q.size(-2), K.size(-2)))
        return scaled_dot_product_attention(Q, K, V, mask)

    model = random_model(n_l=1, T_max=12, attention=recording)
    written(model, random_text(5), 11, cached=True)
    fits = [(5, 5), *((1, read) for read in range(6, 13))]
    assert positions == [*fits, *[(12, 12)] * 3]
    positions.clear()
    written(model, random_text(5), 11)
    assert positions == [*((read, read) for read in range(5, 13)), *[(12, 12)] * 3]


def test_the_model_reads_the_last_characters_and_no_others():
    model = random_model(T_max=12)
    long = random_text(40)
    tail = written(model, long[-12:], 20)
    assert torch.equal(written(model, long, 20)[28:], tail)


@pytest.mark.parametrize("cached", [False, True])
def test_temperature_zero_always_takes_the_most_likely_character(cached):
    model, idx = random_model(T_max=12), random_text(4)
    greedy = idx
    with torch.no_grad():
        for _ in range(20):
            greedy = torch.cat([greedy, model(greedy[None, -12:])[0, -1].argmax()[None]])
    for seed in range(2):
        sampled = written(model, idx, 20, seed=seed, temperature=0.0, cached=cached)
        assert torch.equal(sampled, greedy)


@pytest.mark.parametrize(("temperature", "odds"), [(1.0, 3.0), (0.5, 9.0), (2.0, 3.0**0.5)])
def test_characters_are_drawn_with_the_odds_that_the_temperature_sets(temperature, odds, generator):
    logits = torch.tensor([1.0, 3.0]).log()  # odds of 3 to 1 for the second
    draws = torch.cat([next_character(logits, temperature, generator) for _ in range(4_000)])
    assert draws.float().mean().item() == pytest.approx(odds / (1 + odds), abs=0.03)


def test_the_seed_decides_and_the_global_random_state_has_no_part():
    model, idx = random_model(), random_text(4)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = written(model, idx, 30, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(5)
    assert torch.equal(written(model, idx, 30, seed=1), first)
    assert not torch.equal(written(model, idx, 30, seed=2), first)


def test_the_prompt_comes_back_in_front_and_length_zero_adds_nothing():
    model, idx = random_model(), random_text(4)
    assert torch.equal(written(model, idx, 0), idx)
    assert torch.equal(written(model, idx, 10)[:4], idx)


@pytest.mark.parametrize("length", [0, 5])
def test_a_text_that_was_written_can_be_trained_on(length):
    model = random_model()
    model(written(model, random_text(4), length)[None]).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(
    ("idx", "length", "temperature", "complaint"),
    [
        (torch.tensor([], dtype=torch.long), 5, 1.0, r"not \(0,\)"),
        (torch.tensor([[1, 2]]), 5, 1.0, r"not \(1, 2\)"),
        (torch.tensor([1, 2]), -1, 1.0, "length -1"),
        (torch.tensor([1, 2]), 5, -0.5, r"temperature -0\.5"),
    ],
)
def test_what_cannot_be_sampled_is_refused(idx, length, temperature, complaint, cached):
    with pytest.raises(ValueError, match=complaint):
        written(random_model(), idx, length, temperature=temperature, cached=cached)


def test_a_model_in_training_mode_is_refused():
    with pytest.raises(ValueError, match=r"model\.eval\(\)"):
        written(random_model(dropout=0.1).train(), random_text(3), 5)


def test_a_prompt_goes_in_as_text_and_comes_out_continued():
    vocabulary = Vocabulary("hello world")
    model = random_model(vocab_size=len(vocabulary), std=0.5)
    text = sample_text(model, vocabulary, "hell", 30)
    assert len(text) == 34
    assert text.startswith("hell")
    assert set(text) <= set("hello world")
    assert torch.equal(vocabulary.encode(text), written(model, vocabulary.encode("hell"), 30))
    assert text == sample_text(model, vocabulary, "hell", 30)
    assert text != sample_text(model, vocabulary, "hell", 30, seed=1)
    greedy = {sample_text(model, vocabulary, "o", 30, temperature=0.0, seed=s) for s in range(3)}
    assert len(greedy) == 1


@pytest.mark.parametrize(("prompt", "complaint"), [("", "1 or more"), ("hi", "'i'")])
def test_a_prompt_that_is_empty_or_unknown_to_the_model_is_refused(prompt, complaint):
    vocabulary = Vocabulary("hello world")
    with pytest.raises(ValueError, match=complaint):
        sample_text(random_model(vocab_size=len(vocabulary)), vocabulary, prompt, 5)
