"""The counting baseline: a character n-gram with add-k smoothing."""

import numpy as np
import torch
from torch import Tensor


class NGram:
    """Predict a character from the n - 1 before it, by counts to which k is added.

    Jurafsky and Martin, *Speech and Language Processing*, chapter 3.

    Args:
        n: length of the counted runs, 2 or more.
        k: added to every count, above 0.
        vocab_size: V.

    Raises:
        ValueError: n or k is out of range, or V^n has no room in 64 bits.
    """

    def __init__(self, n: int, k: float, vocab_size: int = 65) -> None:
        if n < 2 or k <= 0:
            raise ValueError(f"an n-gram needs n of 2 or more and k above 0, not n={n}, k={k}")
        if vocab_size**n >= 2**63:
            raise ValueError(f"{vocab_size}^{n} runs have no number in 64 bits: take a smaller n")
        self.n, self.k, self.vocab_size = n, k, vocab_size

    def fit(self, ids: Tensor) -> "NGram":
        """Count the runs of a text, (N,)."""
        runs = self._runs(ids)
        self._runs_seen, self._run_counts = np.unique(runs, return_counts=True)
        self._contexts_seen, self._context_counts = np.unique(
            runs // self.vocab_size, return_counts=True
        )
        return self

    def nats(self, ids: Tensor, start: int, stop: int) -> Tensor:
        """Score the characters from ``start`` up to ``stop`` of a text, (stop - start,) in nats.

        Raises:
            ValueError: the first character has fewer than n - 1 before it.
        """
        if start < self.n - 1:
            raise ValueError(f"a {self.n}-gram needs {self.n - 1} characters before the first one")
        runs = self._runs(ids[start - self.n + 1 : stop])
        return torch.from_numpy(-np.log(self._probability(runs)))

    def probabilities(self, context: Tensor) -> Tensor:
        """Give the distribution, (V,), after a context of n - 1 characters or more.

        Raises:
            ValueError: the context is shorter.
        """
        if len(context) < self.n - 1:
            raise ValueError(
                f"a {self.n}-gram needs {self.n - 1} characters of context, not {len(context)}"
            )
        start = 0
        for index in context[len(context) - self.n + 1 :].tolist():
            start = start * self.vocab_size + index
        runs = start * self.vocab_size + np.arange(self.vocab_size)
        return torch.from_numpy(self._probability(runs))

    def _runs(self, ids: Tensor) -> np.ndarray:
        """Number each run of n characters: its digits in base V."""
        digits = ids.numpy().astype(np.int64)
        runs = np.zeros(len(digits) - self.n + 1, dtype=np.int64)
        for i in range(self.n):
            runs = runs * self.vocab_size + digits[i : i + len(runs)]
        return runs

    def _probability(self, runs: np.ndarray) -> np.ndarray:
        """(count of the run + k) / (count of its context + kV)."""
        run = _lookup(self._runs_seen, self._run_counts, runs)
        context = _lookup(self._contexts_seen, self._context_counts, runs // self.vocab_size)
        return (run + self.k) / (context + self.k * self.vocab_size)


def _lookup(seen: np.ndarray, counts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Count of each wanted number, 0 where it was never seen."""
    place = np.searchsorted(seen, wanted).clip(max=len(seen) - 1)
    return np.where(seen[place] == wanted, counts[place], 0)
