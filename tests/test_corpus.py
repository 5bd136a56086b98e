"""The corpus, its vocabulary, its splits and its batches."""

import hashlib
import zipfile

import build_corpus
import pytest
import torch

from minigpt.artifacts import DATA, DamagedFileError
from minigpt.corpus import Vocabulary, load_corpus, random_batch, split_corpus

CORPUS = DATA / "tinyshakespeare.txt"


def test_the_corpus_is_the_one_the_results_were_measured_on(corpus):
    content = CORPUS.read_bytes()
    digest = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    assert hashlib.sha256(content).hexdigest() == digest
    assert len(corpus.ids) == 1_115_394
    assert len(corpus.vocabulary) == 65
    assert corpus.vocabulary.decode(corpus.ids) == content.decode()


def test_the_splits_are_contiguous_and_together_the_whole_text(corpus):
    splits = [corpus[name] for name in ("train", "valid", "test")]
    assert [len(split) for split in splits] == [1_000_000, 55_000, 60_394]
    assert torch.equal(torch.cat(splits), corpus.ids)


def test_each_split_lies_where_its_bounds_say(corpus):
    for name, (start, stop) in corpus.bounds.items():
        assert torch.equal(corpus[name], corpus.ids[start:stop])
    assert corpus.bounds["test"] == (1_055_000, 1_115_394)


def test_a_split_of_another_name_is_refused_with_the_names_there_are(corpus):
    with pytest.raises(ValueError, match=r"train.*valid.*test.*'validation'"):
        corpus["validation"]


def test_a_text_comes_back_from_its_indices():
    vocabulary = Vocabulary("to be, or not to be")
    text = "bent or torn, not born"
    idx = vocabulary.encode(text)
    assert idx.shape == (len(text),)
    assert vocabulary.decode(idx) == text
    assert idx.max() < len(vocabulary) == len(set("to be, or not to be"))


def test_characters_are_numbered_in_the_order_of_their_code_points(corpus):
    assert corpus.vocabulary.decode(torch.arange(65)) == "".join(
        sorted(set(CORPUS.read_text(encoding="utf-8")))
    )
    assert corpus.vocabulary.encode("\nz").tolist() == [0, 64]


def test_a_character_outside_the_vocabulary_is_named(corpus):
    with pytest.raises(ValueError, match="'é'") as caught:
        corpus.vocabulary.encode("café au lait")
    assert "'c'" not in str(caught.value)


@pytest.mark.parametrize(
    "damage", [lambda c: c[:-1], lambda c: c + b"\n", lambda c: b"f" + c[1:], lambda c: b""]
)
def test_a_changed_corpus_is_refused(damage, tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(damage(CORPUS.read_bytes()))
    with pytest.raises(DamagedFileError, match="not the corpus"):
        load_corpus(path)


def test_a_missing_corpus_names_the_command_that_makes_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"python data/build_corpus\.py"):
        load_corpus(tmp_path / "text.txt")


def test_the_producer_leaves_a_whole_corpus_alone_and_refuses_a_damaged_one(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(CORPUS.read_bytes())
    before = path.stat().st_mtime_ns
    assert "there and whole" in build_corpus.build(path)
    assert path.stat().st_mtime_ns == before
    path.write_bytes(b"another text")
    with pytest.raises(build_corpus.CorpusError, match="damaged"):
        build_corpus.build(path)
    assert path.read_bytes() == b"another text"


def test_the_producer_refuses_another_wheel(tmp_path):
    wheel = tmp_path / "dm_sonnet-1.36-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        text, cuts = CORPUS.read_bytes(), (0, 1_003_854, 1_059_624, 1_115_394)
        for name, start, stop in zip(build_corpus.MEMBERS, cuts, cuts[1:], strict=False):
            archive.writestr(name, text[start:stop])
    with pytest.raises(build_corpus.CorpusError, match=r"dm_sonnet-1\.36.*expected"):
        build_corpus.corpus_from_wheel(wheel)


@pytest.mark.parametrize(("n_train", "n_valid"), [(5, 5), (0, 5), (5, 0), (11, 1), (-2, 4)])
def test_a_text_too_short_for_three_splits_is_refused(n_train, n_valid):
    split_corpus("abcdefghij", 4, 5)
    with pytest.raises(ValueError, match=r"no test split.*10"):
        split_corpus("abcdefghij", n_train, n_valid)


def test_targets_are_the_inputs_moved_on_by_one_and_both_are_cut_from_the_text(generator):
    ids = torch.randperm(500, generator=generator)  # each number once: a window tells its place
    x, y = random_batch(ids, 64, 9, generator)
    assert x.shape == y.shape == (64, 9)
    place = ids.argsort()
    assert torch.equal(x[:, 1:], y[:, :-1])
    assert torch.equal(place[y], place[x] + 1)


def test_every_window_that_fits_is_drawn_the_last_one_too(generator):
    x, y = random_batch(torch.arange(8), 500, 4, generator)
    assert set(x[:, 0].tolist()) == {0, 1, 2, 3}
    assert y.max() == 7


def test_batches_follow_from_their_generator_and_from_nothing_else():
    ids = torch.arange(10_000)

    def draw(seed):
        generator = torch.Generator().manual_seed(seed)
        return torch.stack([random_batch(ids, 4, 8, generator)[0] for _ in range(3)])

    torch.manual_seed(1)
    first = draw(0)
    torch.manual_seed(2)
    assert torch.equal(draw(0), first)
    assert not torch.equal(draw(1), first)
    assert not torch.equal(first[0], first[1])


@pytest.mark.parametrize("length", [0, 3, 8])
def test_a_text_without_room_for_a_window_and_its_targets_is_refused(length, generator):
    random_batch(torch.arange(9), 1, 8, generator)
    with pytest.raises(ValueError, match=f"{length} characters has no window of 8"):
        random_batch(torch.arange(length), 1, 8, generator)
