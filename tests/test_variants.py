"""The variants: each lacks what its name says, and nothing else."""

import math

import pytest
import torch
from support import random_text, randomize

from minigpt.artifacts import DamagedFileError, load_model, save_model
from minigpt.attention import causal_mask
from minigpt.inspection import attention_maps
from minigpt.model import Config, MiniGPT
from minigpt.training import budget_for
from minigpt.variants import VARIANTS

SMALL = Config(vocab_size=11, d=16, n_h=4, n_l=2, T_max=12)


def small(name: str):
    return randomize(VARIANTS[name].build(SMALL)).eval()


def parameters(model) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def test_a_variant_trains_fewer_parameters_only_where_a_part_that_has_some_is_gone():
    table, norm = 128 * 128, 2 * 128
    fewer = {
        "no-positions": table,
        "sinusoidal": table,
        "sinusoidal-scaled": table,
        "rotary": table,
        "post-norm": norm,  # there is none after the last block
        "post-norm-no-warm-up": norm,
        "no-norms": 4 * 2 * norm,
        "no-ffn": 4 * (2 * 4 * 128 * 128 + 5 * 128 + norm),
    }
    for name, variant in VARIANTS.items():
        assert parameters(variant.build()) == 824_897 - fewer.get(name, 0), name


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("t", [0, 5, 10])
def test_only_the_variant_without_a_mask_reads_ahead(name, t):
    model, vectors = small(name), []

    def as_inputs(module, arguments, output):
        vectors.append(output.detach().requires_grad_())
        return vectors[0]

    model.tok_emb.register_forward_hook(as_inputs)
    model(random_text(2, 12))[:, t].sum().backward()
    moved = vectors[0].grad.abs().amax(dim=-1)  # (B, T)
    assert (moved[:, : t + 1] > 0).all()
    assert (moved[:, t + 1 :] > 0).all() == VARIANTS[name].reads_ahead
    assert (moved[:, t + 1 :] == 0).all() == (not VARIANTS[name].reads_ahead)


def test_the_variant_that_reads_ahead_is_known_by_it():
    assert [name for name, variant in VARIANTS.items() if variant.reads_ahead] == ["no-mask"]


def test_without_scaling_the_raw_dot_products_meet_the_softmax(generator):
    attention = VARIANTS["no-scaling"].functions["attention"]
    Q, K, V = torch.randn(3, 2, 5, 16, generator=generator)
    weights = torch.einsum("btd,bsd->bts", Q, K).exp() * causal_mask(5)
    weights /= weights.sum(dim=-1, keepdim=True)
    V_bar, A = attention(Q, K, V, causal_mask(5))
    torch.testing.assert_close(A, weights)
    torch.testing.assert_close(V_bar, weights @ V)


def test_larger_token_vectors_are_larger_by_the_root_of_the_width():
    tok_emb, pos_emb, idx = (
        torch.nn.Embedding(11, 16),
        torch.nn.Embedding(12, 16),
        random_text(2, 12),
    )
    embed = VARIANTS["sinusoidal-scaled"].functions["embed"]
    expected = 4 * tok_emb.weight[idx] + pos_emb.weight
    torch.testing.assert_close(embed(idx, tok_emb, pos_emb), expected)


def silence(*layers) -> None:
    """Make layers write zeros."""
    for layer in layers:
        for parameter in layer.parameters():
            torch.nn.init.zeros_(parameter)


@pytest.mark.parametrize("sublayer", ["attn.W_proj", "ffn.W_2"])
def test_without_residuals_nothing_passes_a_silent_sublayer(sublayer):
    idx = random_text(2, 12)
    for name, passes in (("no-residuals", False), ("no-scaling", True)):
        model = small(name)
        silence(model.blocks[1].get_submodule(sublayer))
        logits = model(idx)
        assert torch.equal(logits, logits[:1, :1].expand_as(logits)) != passes


def test_without_a_feed_forward_layer_a_model_computes_what_one_does_whose_layer_is_silent():
    whole, without = MiniGPT(SMALL), small("no-ffn")
    whole.load_state_dict(without.state_dict(), strict=False)
    for block in whole.blocks:
        silence(block.ffn.W_2)
    idx = random_text(2, 12)
    torch.testing.assert_close(whole.eval()(idx), without(idx))


def test_without_norms_a_sublayer_reads_the_stream_as_it_is():
    whole, without = MiniGPT(SMALL), small("no-norms")
    whole.load_state_dict(without.state_dict(), strict=False)
    for block in whole.blocks:
        block.norm_1 = block.norm_2 = torch.nn.Identity()
    idx = random_text(2, 12)
    torch.testing.assert_close(whole.eval()(idx), without(idx))


def test_without_warm_up_the_first_step_has_the_highest_rate():
    budget = budget_for("gpt", "quick")
    assert budget.rate(0) == pytest.approx(budget.learning_rate / 100)
    for name in ("no-warm-up", "post-norm-no-warm-up"):
        without = VARIANTS[name].train_with(budget)
        assert without.rate(0) == budget.learning_rate
        assert all(without.rate(i) < budget.learning_rate for i in (1, 99, 100, 1_499))
    assert VARIANTS["post-norm"].train_with(budget) == budget


@pytest.mark.parametrize("name", [name for name in VARIANTS if not VARIANTS[name].reads_ahead])
def test_a_variant_read_in_pieces_with_a_cache_gives_the_logits_of_one_reading(name):
    model, idx = small(name), random_text(2, 12)
    cache = model.new_cache()
    pieces = [model(idx[:, :stop], cache) for stop in (3, 4, 10, 12)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(idx))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_read_back_with_its_functions_and_can_be_looked_into(name, tmp_path):
    model, path, idx = small(name), tmp_path / "model.safetensors", random_text(2, 12)
    save_model(path, model)
    again = load_model(path, **VARIANTS[name].functions)
    assert torch.equal(model(idx), again(idx))
    maps = attention_maps(again, idx)
    assert maps.shape == (2, 2, 1 if name == "one-head" else 4, 12, 12)
    assert (maps.triu(1).max() > 0) == VARIANTS[name].reads_ahead


def test_weights_of_a_block_that_is_not_passed_fit_no_model(tmp_path):
    path = tmp_path / "model.safetensors"
    save_model(path, small("no-ffn"))
    with pytest.raises(DamagedFileError, match="fit no model"):
        load_model(path)


@pytest.mark.parametrize("name", VARIANTS)
def test_an_untrained_variant_is_about_as_surprised_as_a_fair_die_of_65_sides(name):
    torch.manual_seed(0)
    logits = VARIANTS[name].build().eval()(random_text(4, 128, vocab_size=65))  # (B, T, V)
    surprise = logits.logsumexp(dim=-1) - logits.mean(dim=-1)
    assert surprise.mean().item() == pytest.approx(math.log(65), abs=0.15)
