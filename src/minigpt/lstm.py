"""The recurrent baseline: one LSTM layer between an embedding and an output layer."""

import torch
from torch import Tensor, nn

State = tuple[Tensor, Tensor]


class LSTM(nn.Module):
    """Predict the next character from a state carried along the text.

    Hochreiter and Schmidhuber (1997); with its default sizes 350,593 parameters.

    Args:
        vocab_size: V, distinct characters.
        d_emb: width of the embeddings.
        d_h: width of the hidden state.
        forget_bias: start value of the forget gate's bias; None keeps PyTorch's own start.
        dropout: probability of dropping each number of the layer's output while training.

    Raises:
        ValueError: a size is not a whole number above 0, or dropout is not in [0, 1).
    """

    def __init__(
        self,
        vocab_size: int = 65,
        d_emb: int = 64,
        d_h: int = 256,
        *,
        forget_bias: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.sizes = {"vocab_size": vocab_size, "d_emb": d_emb, "d_h": d_h}
        for name, value in self.sizes.items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} has to be a whole number above 0, not {value!r}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout has to be at least 0 and less than 1, not {dropout!r}")
        self.emb = nn.Embedding(vocab_size, d_emb)
        self.lstm = nn.LSTM(d_emb, d_h, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.W_o = nn.Linear(d_h, vocab_size)
        if forget_bias is not None:
            # PyTorch keeps two biases per gate, in the order input, forget, cell, output.
            with torch.no_grad():
                self.lstm.bias_ih_l0[d_h : 2 * d_h] = forget_bias
                self.lstm.bias_hh_l0[d_h : 2 * d_h] = 0.0

    def forward(self, idx: Tensor) -> Tensor:
        """Give the logits of each next character, (B, T, V), for a text (B, T) read afresh."""
        return self.read(idx)[0]

    def read(self, idx: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read (B, T) characters on from ``state``; logits (B, T, V) and the state after them."""
        hidden, state = self.lstm(self.emb(idx), state)  # (B, T, d_h)
        return self.W_o(self.dropout(hidden)), state  # (B, T, V)
