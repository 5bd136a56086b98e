"""The model: its sizes, its causality, and its equality with independent implementations."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from support import random_model, random_text, randomize
from torch import nn

from minigpt.attention import causal_mask, fused_attention, scaled_dot_product_attention
from minigpt.corpus import random_batch
from minigpt.model import Block, Config, MiniGPT

NORMS = ["pre", "post"]
POSITIONS = ["learned", "sinusoidal", "rotary", "none"]


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_the_model_of_the_course_has_824897_parameters():
    assert parameters(MiniGPT()) == 824_897


def test_twice_the_context_costs_16384_parameters():
    assert parameters(MiniGPT(Config(T_max=256))) - parameters(MiniGPT()) == 16_384


def test_an_untrained_model_is_about_as_surprised_as_a_fair_die_of_65_sides(corpus, generator):
    x, y = random_batch(corpus["train"], 8, 128, generator)
    for seed in range(3):
        torch.manual_seed(seed)
        loss = F.cross_entropy(MiniGPT()(x).flatten(0, 1), y.flatten())
        assert loss.item() == pytest.approx(math.log(65), abs=0.1)


def test_the_layers_that_write_into_the_stream_start_smaller_the_more_of_them_there_are():
    for n_l in (1, 8):
        torch.manual_seed(0)
        model = MiniGPT(Config(n_l=n_l))
        for block in model.blocks:
            for layer in (block.attn.W_proj, block.ffn.W_2):
                expected = 0.02 / math.sqrt(2 * n_l)
                assert layer.weight.std().item() == pytest.approx(expected, rel=0.05)
            assert block.ffn.W_1.weight.std().item() == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("t", [0, 5, 11])
def test_a_later_character_never_moves_an_earlier_logit(norm, positions, t):
    model, vectors = random_model(norm=norm, positions=positions), []

    def as_inputs(module, arguments, output):
        vectors.append(output.detach().requires_grad_())
        return vectors[0]

    model.tok_emb.register_forward_hook(as_inputs)
    logits = model(random_text(2, 12))  # (B, T, V)
    for logit in (0, 7):
        (gradient,) = torch.autograd.grad(logits[:, t, logit].sum(), vectors, retain_graph=True)
        moved = gradient.abs().amax(dim=-1)  # (B, T)
        assert (moved[:, t + 1 :] == 0).all()
        assert (moved[:, : t + 1] > 0).all()


def without_positions(idx, tok_emb, pos_emb):
    return tok_emb(idx)


def test_without_positions_one_layer_cannot_tell_in_which_order_it_read():
    for model in (
        random_model(n_l=1, embed=without_positions),
        random_model(n_l=1, positions="none"),
    ):
        first, second = model(torch.tensor([[1, 2, 3, 4, 5, 6], [5, 3, 1, 4, 2, 6]]))[:, -1]
        torch.testing.assert_close(first, second)


@pytest.mark.parametrize(
    "options",
    [
        {"n_l": 2, "embed": without_positions},
        {"n_l": 2, "positions": "none"},
        {"n_l": 1, "positions": "learned"},
        {"n_l": 1, "positions": "sinusoidal"},
        {"n_l": 1, "positions": "rotary"},
    ],
    ids=["two layers", "two layers, none", "learned", "sinusoidal", "rotary"],
)
def test_a_second_masked_layer_or_any_kind_of_positions_can_tell(options):
    model = random_model(**options)
    idx = torch.tensor([[1, 2, 3, 4, 5, 6], [5, 3, 1, 4, 2, 6]])
    first, second = model(idx)[:, -1]
    assert (first - second).abs().max() > 0.01


def test_rotary_attention_reads_one_character_repeated_by_its_distance_alone():
    recorded = []

    def recording(Q, K, V, mask=None):
        V_bar, A = scaled_dot_product_attention(Q, K, V, mask)
        recorded.append(A.detach())
        return V_bar, A

    random_model(n_l=1, positions="rotary", attention=recording)(torch.full((1, 12), 3))
    scores = recorded[0][0].log()  # (n_h, T, T), less one number per row
    scores -= scores.diagonal(dim1=-2, dim2=-1)[..., None]  # measured from the score of itself
    by_distance = [scores.diagonal(-distance, dim1=-2, dim2=-1) for distance in range(1, 11)]
    for diagonal in by_distance:
        torch.testing.assert_close(diagonal, diagonal[:, :1].expand_as(diagonal))
    assert (torch.stack([diagonal[:, 0] for diagonal in by_distance]).std(dim=0) > 0.01).all()


def test_logits_equal_those_of_gpt_2_with_the_same_weights():
    from transformers import GPT2Config, GPT2Model

    ours = random_model(vocab_size=13, d=24, n_h=3, n_l=3, T_max=16).double()
    config = GPT2Config(
        vocab_size=13,
        n_embd=24,
        n_head=3,
        n_layer=3,
        n_positions=16,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",
    )
    theirs = randomize(GPT2Model(config).double(), seed=1).eval()
    weights = {
        "wte.weight": ours.tok_emb.weight,
        "wpe.weight": ours.pos_emb.weight,
        "ln_f.weight": ours.norm_f.weight,
        "ln_f.bias": ours.norm_f.bias,
    }
    for i, block in enumerate(ours.blocks):
        attn, ffn = block.attn, block.ffn
        # GPT-2 keeps its matrices transposed and those of Q, K and V side by side.
        QKV = torch.cat([attn.W_Q.weight, attn.W_K.weight, attn.W_V.weight])
        weights |= {
            f"h.{i}.ln_1.weight": block.norm_1.weight,
            f"h.{i}.ln_1.bias": block.norm_1.bias,
            f"h.{i}.ln_2.weight": block.norm_2.weight,
            f"h.{i}.ln_2.bias": block.norm_2.bias,
            f"h.{i}.attn.c_attn.weight": QKV.T,
            f"h.{i}.attn.c_attn.bias": torch.zeros(72),
            f"h.{i}.attn.c_proj.weight": attn.W_proj.weight.T,
            f"h.{i}.attn.c_proj.bias": attn.W_proj.bias,
            f"h.{i}.mlp.c_fc.weight": ffn.W_1.weight.T,
            f"h.{i}.mlp.c_fc.bias": ffn.W_1.bias,
            f"h.{i}.mlp.c_proj.weight": ffn.W_2.weight.T,
            f"h.{i}.mlp.c_proj.bias": ffn.W_2.bias,
        }
    theirs.load_state_dict(weights)
    for T in (16, 5):
        idx = random_text(2, T, vocab_size=13)
        with torch.no_grad():
            expected = ours.W_o(theirs(input_ids=idx).last_hidden_state)  # (B, T, V)
            torch.testing.assert_close(ours(idx), expected)
    assert expected.std() > 0.5


@pytest.mark.parametrize("norm", NORMS)
def test_a_block_equals_torchs_own_with_the_norm_on_either_side(norm, generator):
    config = Config(d=12, n_h=3, norm=norm)
    ours = randomize(Block(config, attention=scaled_dot_product_attention)).eval()
    theirs = nn.TransformerEncoderLayer(
        12, 3, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=norm == "pre"
    ).eval()
    attn = ours.attn
    theirs.load_state_dict(
        {
            "self_attn.in_proj_weight": torch.cat(
                [attn.W_Q.weight, attn.W_K.weight, attn.W_V.weight]
            ),
            "self_attn.in_proj_bias": torch.zeros(36),
            "self_attn.out_proj.weight": attn.W_proj.weight,
            "self_attn.out_proj.bias": attn.W_proj.bias,
            "linear1.weight": ours.ffn.W_1.weight,
            "linear1.bias": ours.ffn.W_1.bias,
            "linear2.weight": ours.ffn.W_2.weight,
            "linear2.bias": ours.ffn.W_2.bias,
            "norm1.weight": ours.norm_1.weight,
            "norm1.bias": ours.norm_1.bias,
            "norm2.weight": ours.norm_2.weight,
            "norm2.bias": ours.norm_2.bias,
        }
    )
    H, mask = torch.randn(2, 7, 12, generator=generator), causal_mask(7)
    # torch's mask is True where reading is forbidden.
    torch.testing.assert_close(ours(H, mask), theirs(H, src_mask=~mask))


def test_the_norm_forgets_the_scale_and_the_mean_of_its_vector():
    norm = MiniGPT(Config(d=4, n_h=1, n_l=1)).blocks[0].norm_1
    h = torch.tensor([1.0, 2.0, 3.0, 6.0])
    expected = torch.tensor([-1.07, -0.53, 0.0, 1.60])
    torch.testing.assert_close(norm(h), expected, atol=5e-3, rtol=0)
    torch.testing.assert_close(norm(10 * h + 5), norm(h), atol=1e-4, rtol=0)


@pytest.mark.parametrize("norm", NORMS)
def test_a_norm_stands_before_the_output_layer_exactly_once(norm):
    model, seen = random_model(norm=norm), {}
    model.blocks[-1].register_forward_hook(lambda m, a, output: seen.update(block=output))
    model.W_o.register_forward_pre_hook(lambda m, arguments: seen.update(output=arguments[0]))
    for norm_layer in (model.norm_f, model.blocks[-1].norm_2):
        for parameter, value in zip(norm_layer.parameters(), (1.0, 0.0), strict=False):
            nn.init.constant_(parameter, value)
    model(random_text(2, 12))
    assert torch.equal(seen["block"], seen["output"]) == (norm == "post")
    torch.testing.assert_close(seen["output"].mean(dim=-1), torch.zeros(2, 12))
    variance = seen["output"].var(dim=-1, correction=0)
    torch.testing.assert_close(variance, torch.ones(2, 12), atol=1e-3, rtol=0)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_text_read_in_pieces_with_a_cache_gives_the_logits_of_one_reading(positions):
    model, idx = random_model(positions=positions), random_text(2, 12)
    cache = model.new_cache()
    pieces = [model(idx[:, :stop], cache) for stop in (3, 4, 10, 12)]
    assert [piece.size(1) for piece in pieces] == [3, 1, 6, 2]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(idx))


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_fused_kernel_gives_the_same_logits(positions):
    explicit = random_model(positions=positions)
    fused = random_model(positions=positions, attention=fused_attention)
    idx = random_text(2, 12)
    torch.testing.assert_close(explicit(idx), fused(idx))


def foreign_attention(Q, K, V, mask=None):
    scores = torch.einsum("...td,...sd->...ts", Q, K) / Q.size(-1) ** 0.5
    A = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return torch.einsum("...ts,...sd->...td", A, V), A


def foreign_mask(T):
    return torch.ones(T, T).tril().bool()


def foreign_embed(idx, tok_emb, pos_emb):
    return tok_emb(idx) + pos_emb.weight[: idx.size(1)]


def test_the_weights_fit_whichever_functions_are_passed():
    functions = {"attention": foreign_attention, "mask": foreign_mask, "embed": foreign_embed}
    for norm in NORMS:
        for positions in POSITIONS:
            own = random_model(norm=norm, positions=positions)
            foreign = random_model(norm=norm, positions=positions, seed=1, **functions)
            assert list(own.state_dict()) == list(foreign.state_dict())
            foreign.load_state_dict(own.state_dict())
            idx = random_text(2, 12)
            torch.testing.assert_close(own(idx), foreign(idx))


def test_the_trained_weights_load_under_a_foreign_attention(trained, corpus):
    foreign = MiniGPT(
        trained.config, attention=foreign_attention, mask=foreign_mask, embed=foreign_embed
    ).eval()
    foreign.load_state_dict(trained.state_dict())
    idx = corpus["test"][None, :128]
    with torch.no_grad():
        torch.testing.assert_close(trained(idx), foreign(idx), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vocab_size", 0),
        ("d", 128.0),
        ("d", 130),
        ("n_h", 3),
        ("n_h", -4),
        ("n_l", True),
        ("T_max", 0),
        ("T_max", "128"),
        ("dropout", 1.0),
        ("dropout", -0.1),
        ("dropout", math.nan),
        ("norm", "Pre"),
        ("norm", None),
        ("positions", "rope"),
    ],
)
def test_a_configuration_that_makes_no_model_names_the_field(field, value):
    with pytest.raises(ValueError, match=rf"\b{field}\b.*{value}"):
        Config(**{field: value})


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ({"d": 7, "n_h": 1, "positions": "sinusoidal"}, "width d, not 7"),
        ({"d": 12, "n_h": 4, "positions": "rotary"}, "head width, not 3"),
    ],
)
def test_sines_without_cosines_are_refused_before_a_model_is_built(sizes, named):
    with pytest.raises(ValueError, match=named):
        Config(**sizes)


def test_a_text_longer_than_the_context_is_refused_with_both_numbers():
    model = random_model(T_max=12)
    model(random_text(1, 12))
    with pytest.raises(ValueError, match=r"13 characters.*12"):
        model(random_text(1, 13))


def additive_mask(T):
    return torch.zeros(T, T).masked_fill(~causal_mask(T), -math.inf)


def mask_with_a_batch(T):
    return causal_mask(T)[None]


def mask_one_too_small(T):
    return causal_mask(T - 1)


def mask_of_lists(T):
    return causal_mask(T).tolist()


@pytest.mark.parametrize(
    ("mask", "found"),
    [
        (additive_mask, r"torch\.float32"),
        (mask_with_a_batch, r"\(1, 5, 5\)"),
        (mask_one_too_small, r"\(4, 4\)"),
        (mask_of_lists, "list"),
    ],
)
def test_a_foreign_mask_function_is_named_with_what_it_returned(mask, found):
    with pytest.raises(ValueError, match=rf"{mask.__name__}.*\(5, 5\).*{found}"):
        random_model(mask=mask)(random_text(2, 5))


def embed_summed_over_the_batch(idx, tok_emb, pos_emb):
    return foreign_embed(idx, tok_emb, pos_emb).sum(dim=0)


def embed_transposed(idx, tok_emb, pos_emb):
    return foreign_embed(idx, tok_emb, pos_emb).mT


def embed_forgotten(idx, tok_emb, pos_emb):
    foreign_embed(idx, tok_emb, pos_emb)


@pytest.mark.parametrize(
    ("embed", "found"),
    [
        (embed_summed_over_the_batch, r"shape \(5, 16\)"),
        (embed_transposed, r"shape \(2, 16, 5\)"),
        (embed_forgotten, "NoneType"),
    ],
)
def test_a_foreign_embedding_function_is_named_with_what_it_returned(embed, found):
    with pytest.raises(ValueError, match=rf"{embed.__name__}.*\(2, 5, 16\).*{found}"):
        random_model(embed=embed)(random_text(2, 5))


def test_sinusoids_are_never_learned():
    model = random_model(positions="sinusoidal")
    model(random_text(2, 12)).sum().backward()
    assert model.pos_emb.weight.grad is None
    assert model.tok_emb.weight.grad is not None


def test_dropout_blurs_the_model_in_training_and_is_off_in_evaluation():
    model, idx = random_model(dropout=0.5), random_text(2, 12)
    twin = copy.deepcopy(model)
    twin.dropout.p = 0.0
    for block in twin.blocks:
        block.dropout.p = 0.0
    assert torch.equal(model(idx), model(idx))
    assert torch.equal(model(idx), twin(idx))
    model.train()
    assert not torch.equal(model(idx), model(idx))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("silent", ["attn", "ffn"])
def test_dropout_falls_on_what_each_sublayer_adds_to_the_stream(norm, silent, generator):
    config = Config(d=64, n_h=4, dropout=0.5, norm=norm)
    block = randomize(Block(config, attention=scaled_dot_product_attention)).train()
    if norm == "post":
        block.norm_1, block.norm_2 = nn.Identity(), nn.Identity()
    for parameter in (block.attn.W_proj if silent == "attn" else block.ffn.W_2).parameters():
        nn.init.zeros_(parameter)
    H = torch.randn(4, 10, 64, generator=generator)
    torch.manual_seed(0)
    untouched = (block(H, causal_mask(10)) == H).float().mean().item()
    assert untouched == pytest.approx(0.5, abs=0.1)


def test_dropout_falls_on_the_input_vectors():
    model, seen = random_model(d=64, dropout=0.5), []
    model.train().blocks[0].register_forward_pre_hook(lambda m, arguments: seen.append(arguments))
    torch.manual_seed(0)
    model(random_text(4, 12))
    H = seen[0][0]
    assert (H == 0).float().mean().item() == pytest.approx(0.5, abs=0.1)
