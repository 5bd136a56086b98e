"""Files of weights and results: what was written comes back, and what is damaged is refused."""

import json
import resource
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from support import random_model, random_text, randomize, same_bits

from minigpt.artifacts import (
    DamagedFileError,
    load_model,
    read_json,
    read_tensors,
    save_model,
    write_atomic,
    write_json,
    write_tensors,
)
from minigpt.attention import fused_attention
from minigpt.lstm import LSTM
from minigpt.model import MiniGPT


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
def test_a_gpt_comes_back_as_it_was(norm, positions, tmp_path):
    model = random_model(norm=norm, positions=positions, dropout=0.1)
    save_model(tmp_path / "model.safetensors", model)
    loaded = load_model(tmp_path / "model.safetensors")
    assert isinstance(loaded, MiniGPT)
    assert loaded.config == model.config
    assert same_bits(loaded, model)
    assert torch.equal(loaded(random_text(2, 9)), model(random_text(2, 9)))


def test_an_lstm_comes_back_as_it_was(tmp_path):
    model = randomize(LSTM(11, 6, 8, forget_bias=1.0))
    save_model(tmp_path / "model.safetensors", model)
    loaded = load_model(tmp_path / "model.safetensors")
    assert isinstance(loaded, LSTM)
    assert same_bits(loaded, model)
    assert torch.equal(loaded(random_text(2, 9)), model(random_text(2, 9)))


def test_a_model_saved_in_training_comes_back_ready_to_be_used(tmp_path):
    save_model(tmp_path / "model.safetensors", random_model(dropout=0.5).train())
    assert not load_model(tmp_path / "model.safetensors").training


def test_a_model_can_be_read_back_under_other_functions(tmp_path):
    model = random_model()
    save_model(tmp_path / "model.safetensors", model)
    loaded = load_model(tmp_path / "model.safetensors", attention=fused_attention)
    assert {block.attn.attention for block in loaded.blocks} == {fused_attention}
    torch.testing.assert_close(loaded(random_text(2, 9)), model(random_text(2, 9)))


def test_what_is_to_be_known_about_a_model_is_kept_with_it(tmp_path):
    save_model(tmp_path / "model.safetensors", random_model(), run="a run", seed=3)
    _, about = read_tensors(tmp_path / "model.safetensors")
    assert about["model"] == "gpt"
    assert about["config"]["d"] == 16
    assert (about["run"], about["seed"]) == ("a run", 3)


def test_tensors_of_every_kind_a_checkpoint_holds_come_back(tmp_path):
    tensors = {
        "matrix": torch.randn(4, 3).T,  # not contiguous
        "number": torch.tensor(7.0),
        "state": torch.arange(5, dtype=torch.uint8),
        "trained": torch.ones(2, requires_grad=True),
    }
    write_tensors(tmp_path / "all.safetensors", tensors, {"step": 3, "name": "é"})
    back, about = read_tensors(tmp_path / "all.safetensors")
    assert back.keys() == tensors.keys()
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)
    assert about == {"step": 3, "name": "é"}


@pytest.fixture
def saved(tmp_path) -> Path:
    path = tmp_path / "model.safetensors"
    save_model(path, randomize(LSTM(3, 2, 2)))
    return path


def test_a_missing_file_says_where_its_command_is_found(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no weights at .*data/README\.md"):
        load_model(tmp_path / "model.safetensors")
    with pytest.raises(FileNotFoundError, match=r"baselines\.json.*data/README\.md"):
        read_json(tmp_path / "baselines.json")


@pytest.mark.parametrize("kept", [0, 5, 100, -1], ids=["nothing", "5", "100", "all but one byte"])
def test_a_file_cut_short_is_refused(kept, saved):
    saved.write_bytes(saved.read_bytes()[:kept])
    with pytest.raises(DamagedFileError, match="not a whole safetensors file"):
        load_model(saved)


def test_one_flipped_bit_anywhere_in_the_weights_is_noticed(saved):
    content = saved.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    assert len(content) - header == 4 * sum(p.numel() for p in load_model(saved).parameters())
    for place in range(header, len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        saved.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match="not the ones that were written"):
            load_model(saved)


def test_one_flipped_bit_in_what_is_said_about_the_weights_is_noticed(saved):
    content = saved.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for place in range(header):
        damaged = bytearray(content)
        damaged[place] ^= 1
        saved.write_bytes(damaged)
        with pytest.raises(DamagedFileError):
            load_model(saved)


def test_weights_of_another_program_are_refused(tmp_path):
    path = tmp_path / "foreign.safetensors"
    save_file(random_model().state_dict(), path)
    with pytest.raises(DamagedFileError, match="not the ones that were written"):
        load_model(path)
    save_file(random_model().state_dict(), path, {"about": "{}", "format": "pt"})
    with pytest.raises(DamagedFileError, match="not the ones that were written"):
        load_model(path)


@pytest.mark.parametrize(
    "about",
    [
        {},
        {"model": "gpt"},
        {"model": "gpt", "config": {"d": 32, "vocab_size": 11}},
        {"model": "lstm", "config": {"d_h": 8}},
    ],
)
def test_weights_that_fit_no_model_are_refused(about, tmp_path):
    write_tensors(tmp_path / "other.safetensors", random_model().state_dict(), about)
    with pytest.raises(DamagedFileError, match="fit no model"):
        load_model(tmp_path / "other.safetensors")


def test_json_comes_back_and_is_written_for_people_to_read(tmp_path):
    value = {"name": "café", "nats": 1.5481123456789012, "none": None, "curve": [1, 2]}
    path = tmp_path / "new" / "folder" / "result.json"
    write_json(path, value)
    assert read_json(path) == value
    text = path.read_text(encoding="utf-8")
    assert "café" in text
    assert text.endswith("}\n")
    assert text.count("\n") > 4


@pytest.mark.parametrize("content", [b"", b'{"rows": {', b"\xff\xfe{}", b"{} {}"])
def test_a_broken_json_file_is_named(content, tmp_path):
    path = tmp_path / "baselines.json"
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"baselines\.json is not JSON"):
        read_json(path)


def test_writing_replaces_the_old_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "result.json"
    for content in (b"old and long", b"new"):
        write_atomic(path, content)
        assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_writer_without_room_leaves_the_old_file_whole_and_nothing_beside_it(tmp_path):
    path = tmp_path / "result.json"
    write_atomic(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            write_atomic(path, bytes(2_000_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_a_value_that_is_not_json_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"old": 1})
    with pytest.raises(TypeError):
        write_json(path, {"new": torch.ones(1)})
    assert json.loads(path.read_text()) == {"old": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
