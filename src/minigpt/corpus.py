"""The corpus: its text, its vocabulary, its three splits, and random batches from it."""

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from minigpt.artifacts import DATA, DamagedFileError

SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
TRAIN_CHARACTERS = 1_000_000
VALID_CHARACTERS = 55_000


class Vocabulary:
    """Number the distinct characters of a text in the order of their code points."""

    def __init__(self, text: str) -> None:
        self.characters = sorted(set(text))
        self._index = {character: i for i, character in enumerate(self.characters)}

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> Tensor:
        """Turn a text of T characters into indices, (T,).

        Raises:
            ValueError: a character is not in the vocabulary; the message names it.
        """
        unknown = sorted(set(text) - self._index.keys())
        if unknown:
            raise ValueError(
                f"the vocabulary has no {', '.join(map(repr, unknown))}: it holds the "
                f"{len(self)} characters {''.join(self.characters)!r}"
            )
        return torch.tensor([self._index[character] for character in text], dtype=torch.long)

    def decode(self, idx: Tensor) -> str:
        """Turn indices, (T,), back into a text."""
        return "".join(self.characters[i] for i in idx.tolist())


@dataclass(frozen=True)
class Corpus:
    """A text as indices, cut into three contiguous splits."""

    vocabulary: Vocabulary
    ids: Tensor  # the whole text, (N,)
    bounds: dict[str, tuple[int, int]]  # split -> its first character and the one after its last

    def __getitem__(self, split: str) -> Tensor:
        """Give the indices of one split: "train", "valid" or "test"."""
        start, stop = self.span(split)
        return self.ids[start:stop]

    def span(self, split: str) -> tuple[int, int]:
        """Give the place of a split's first character and of the one after its last.

        Raises:
            ValueError: there is no split of this name.
        """
        if split not in self.bounds:
            raise ValueError(f"a split is one of {tuple(self.bounds)}, not {split!r}")
        return self.bounds[split]


def split_corpus(text: str, n_train: int, n_valid: int) -> Corpus:
    """Cut a text into train, validation and test; the test split is what the first two leave.

    Raises:
        ValueError: the text is too short to leave a test split.
    """
    if min(n_train, n_valid) < 1 or n_train + n_valid >= len(text):
        raise ValueError(
            f"{n_train} characters of train and {n_valid} of validation leave no test split in a "
            f"text of {len(text)}"
        )
    vocabulary = Vocabulary(text)
    cuts = (0, n_train, n_train + n_valid, len(text))
    bounds = dict(zip(("train", "valid", "test"), pairwise(cuts), strict=True))
    return Corpus(vocabulary, vocabulary.encode(text), bounds)


def load_corpus(path: Path = DATA / "tinyshakespeare.txt") -> Corpus:
    """Read tiny Shakespeare, check that it is the text the results were measured on, and split it.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedFileError: its sha256 is another one.
    """
    if not path.exists():
        raise FileNotFoundError(f"no corpus at {path}: make it with `python data/build_corpus.py`")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise DamagedFileError(
            f"{path} is not the corpus ({len(content):,} bytes, another sha256): delete it and run "
            "`python data/build_corpus.py`"
        )
    return split_corpus(content.decode(), TRAIN_CHARACTERS, VALID_CHARACTERS)


def random_batch(
    ids: Tensor, batch_size: int, T: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw windows of a text and, for each of their characters, the one that follows.

    Args:
        ids: the text, (N,), longer than T.
        batch_size: B.
        T: characters in a window.
        generator: the source of chance, on the CPU.

    Returns:
        Inputs and targets, both (B, T).

    Raises:
        ValueError: the text is too short for one window and its targets.
    """
    if len(ids) <= T:
        raise ValueError(f"a text of {len(ids)} characters has no window of {T} with its targets")
    starts = torch.randint(len(ids) - T, (batch_size, 1), generator=generator)
    windows = ids[starts + torch.arange(T + 1)]  # (B, T + 1)
    return windows[:, :-1], windows[:, 1:]
