"""Score a model on a split: every character once, in nats, perplexity and bits."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minigpt.artifacts import DATA, SHIPPED, DamagedFileError, load_model, read_json
from minigpt.corpus import Corpus, load_corpus
from minigpt.lstm import LSTM
from minigpt.model import MiniGPT
from minigpt.ngram import NGram


@dataclass(frozen=True)
class Score:
    """The mean surprise of a model over the characters of a text (equation 15)."""

    nats: float  # per character
    characters: int  # how many were scored

    @property
    def perplexity(self) -> float:
        """The number of equally likely characters that would surprise as much: exp(nats)."""
        return math.exp(self.nats)

    @property
    def bits(self) -> float:
        """The same surprise in bits per character: nats / ln 2."""
        return self.nats / math.log(2)


def windows(start: int, stop: int, T: int) -> Iterator[tuple[int, int]]:
    """Cut the targets from ``start`` up to ``stop`` into windows of at most T characters of input.

    A window moves on by T // 2 and only its second half is scored, so that every target has more
    than half a window of context. The last window is moved back to end with the text.

    Yields:
        First input of the window (its inputs are the T characters from there), and the first
        target it scores (its targets end one character after its inputs).
    """
    scored, step = start, max(1, T // 2)
    while scored < stop:
        end = min(scored + step, stop)  # the character after the last target
        yield end - 1 - T, scored
        scored = end


@torch.no_grad()
def gpt_nats(model: MiniGPT, ids: Tensor, start: int, stop: int, *, batch_size: int = 32) -> Tensor:
    """Score the characters from ``start`` up to ``stop`` of a text, (stop - start,) in nats.

    Raises:
        ValueError: fewer than T_max characters stand before ``start``.
    """
    T, device = model.config.T_max, next(model.parameters()).device
    if start < T:
        raise ValueError(
            f"windows of {T} characters need {T} before the first one scored, not {start}"
        )
    nats = torch.full((stop - start,), math.nan)
    cut = list(windows(start, stop, T))
    for first in range(0, len(cut), batch_size):
        batch = cut[first : first + batch_size]
        texts = torch.stack([ids[begin : begin + T + 1] for begin, _ in batch]).to(device)
        logits = model(texts[:, :-1])  # (B, T, V)
        losses = F.cross_entropy(logits.mT, texts[:, 1:], reduction="none").cpu()  # (B, T)
        for row, (begin, scored) in zip(losses, batch, strict=True):
            end = begin + T + 1
            nats[scored - start : end - start] = row[scored - end :]
    return nats


@torch.no_grad()
def writing_nats(
    model: MiniGPT, ids: Tensor, start: int, stop: int, *, batch_size: int = 128
) -> Tensor:
    """Score the same characters as a model meets them that writes: at the end of its text.

    Each is predicted from the characters that stand before it in its window, and the model is given
    no others. Under a causal mask the scores are those of :func:`gpt_nats`, at many times the work.
    """
    T, device = model.config.T_max, next(model.parameters()).device
    nats = torch.full((stop - start,), math.nan)
    cut = list(windows(start, stop, T))
    for first in range(0, len(cut), batch_size):
        batch = cut[first : first + batch_size]
        for length in range(1, T + 1):
            targets = [begin + length for begin, scored in batch if begin + length >= scored]
            if not targets:
                continue
            texts = torch.stack([ids[target - length : target] for target in targets]).to(device)
            logits = model(texts)[:, -1]  # (B, V)
            losses = F.cross_entropy(logits, ids[targets].to(device), reduction="none")  # (B,)
            nats[torch.tensor(targets) - start] = losses.cpu()
    return nats


@torch.no_grad()
def lstm_nats(
    model: LSTM, ids: Tensor, start: int, stop: int, *, prime: int = 128, chunk: int = 1024
) -> Tensor:
    """Score the same characters with a state carried along, primed with the ``prime`` before them.

    Raises:
        ValueError: fewer than ``prime`` characters stand before ``start``.
    """
    if not 1 <= prime <= start:
        raise ValueError(f"the state is primed with {prime} characters, but {start} stand before")
    device, state, parts = next(model.parameters()).device, None, []
    # One text read character by character leaves nothing to share out among threads, and on a busy
    # machine they would wait for each other at every character.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for begin in range(start - prime, stop - 1, chunk):
            text = ids[begin : min(begin + chunk + 1, stop)].to(device)
            logits, state = model.read(text[None, :-1], state)  # (1, chunk, V)
            parts.append(F.cross_entropy(logits[0], text[1:], reduction="none").cpu())
    finally:
        torch.set_num_threads(threads)
    return torch.cat(parts)[prime - 1 :]


def _score(nats: Tensor) -> Score:
    return Score(nats.double().mean().item(), len(nats))


def evaluate_gpt(model: MiniGPT, corpus: Corpus, split: str = "test") -> Score:
    """Score a split with overlapping windows: 65 to 128 characters of context for T_max = 128."""
    return _score(_without_dropout(gpt_nats, model, corpus, split))


def evaluate_lstm(model: LSTM, corpus: Corpus, split: str = "test") -> Score:
    """Score a split with one state carried over it from end to end."""
    return _score(_without_dropout(lstm_nats, model, corpus, split))


def evaluate_ngram(model: NGram, corpus: Corpus, split: str = "test") -> Score:
    """Score a split with the true preceding characters."""
    return _score(model.nats(corpus.ids, *corpus.span(split)))


def split_nats(model: nn.Module, corpus: Corpus, split: str = "test") -> Tensor:
    """Score each character of a split with whichever of the functions above fits the model."""
    nats = lstm_nats if isinstance(model, LSTM) else gpt_nats
    return _without_dropout(nats, model, corpus, split)


def evaluate(model: nn.Module, corpus: Corpus, split: str = "test") -> Score:
    """Score a split with whichever of the functions above fits the model."""
    return _score(split_nats(model, corpus, split))


def _without_dropout(nats, model: nn.Module, corpus: Corpus, split: str) -> Tensor:
    """Switch dropout off for the time of an evaluation."""
    training = model.training
    model.eval()
    try:
        return nats(model, corpus.ids, *corpus.span(split))
    finally:
        model.train(training)


def verify_weights(tolerance: float = 1e-4, data: Path = DATA) -> dict[str, float]:
    """Score the committed models on the test split again and compare with ``baselines.json``.

    Returns:
        By model, how far the score lies from the recorded one, in nats per character.

    Raises:
        DamagedFileError: a score differs by more than ``tolerance``.
    """
    rows = read_json(data / "baselines.json")["rows"]
    corpus, differences = load_corpus(data / "tinyshakespeare.txt"), {}
    for row, path in SHIPPED.items():
        name = rows[row]["name"]
        score = evaluate(load_model(data / path.name), corpus, "test").nats
        recorded = rows[row]["by_seed"]["0"]
        differences[name] = abs(score - recorded)
        if not differences[name] <= tolerance:
            raise DamagedFileError(
                f"{path.name} scores {score:.6f} nats and {recorded:.6f} is recorded: train it, "
                "or run `python data/measure.py`, again"
            )
    return differences
