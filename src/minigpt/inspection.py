"""Look into a model: its attention maps, how far its heads look, whether it reads ahead."""

import torch
from torch import Tensor

from minigpt.model import MiniGPT
from minigpt.passed_in import function_name


@torch.no_grad()
def attention_maps(model: MiniGPT, idx: Tensor) -> Tensor:
    """Record the weights A of every head while the model reads a text.

    A twin of the model is built around a recording attention function; the weights are shared.

    Args:
        model: the model to look into; its own attention function makes the maps.
        idx: the text, (B, T).

    Returns:
        (n_l, B, n_h, T, T).

    Raises:
        ValueError: the model's attention function returns no weights, as a fused kernel does.
    """
    maps: list[Tensor] = []
    attention = model.blocks[0].attn.attention

    def recording(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None):
        V_bar, A = attention(Q, K, V, mask)
        if A is None:
            raise ValueError(
                f"the attention function {function_name(attention)!r} returns no weights to look "
                "at: build the model with scaled_dot_product_attention"
            )
        maps.append(A)
        return V_bar, A

    with torch.random.fork_rng(devices=[]):  # the weights it draws are replaced at once
        twin = MiniGPT(
            model.config,
            attention=recording,
            mask=model.mask,
            embed=model.embed,
            block=model.block,
        )
    twin.load_state_dict(model.state_dict(), assign=True)
    twin.eval().to(idx.device)(idx)
    return torch.stack(maps)


def mean_attention_distance(A: Tensor) -> Tensor:
    """Say how far back each head looks: the mean over rows of sum_i A[t, i] (t - i).

    Args:
        A: causal weights, (..., n_h, T, T).

    Returns:
        Characters, one number per head, averaged over rows and leading dimensions, (n_h,).
    """
    T = A.size(-1)
    positions = torch.arange(T, device=A.device)
    distance = (positions[:, None] - positions).to(A.dtype)  # (T, T): t - i
    per_row = (A * distance).sum(dim=-1)  # (..., n_h, T)
    return per_row.mean(dim=-1).reshape(-1, A.size(-3)).mean(dim=0)  # (n_h,)


def attention_entropy(A: Tensor) -> Tensor:
    """Say how widely each head spreads its weight: the mean entropy of its rows, in nats.

    Args:
        A: weights, (..., T, T).

    Returns:
        (...): 0 when each row reads one position, and the larger the more evenly it reads.
    """
    return torch.special.entr(A).sum(dim=-1).mean(dim=-1)


@torch.no_grad()
def model_leak_test(model: MiniGPT, idx: Tensor, position: int) -> float:
    """Change one character and see how much the logits before it move: 0.0 when nothing leaks.

    Args:
        model: any model from (B, T) to (B, T, V); dropout is switched off for the test.
        idx: a text, (B, T).
        position: the position changed, 1 to T - 1.

    Returns:
        The largest absolute change of a logit at the positions before ``position``.

    Raises:
        ValueError: no position stands before ``position``, or it is outside the text.
    """
    if not 1 <= position < idx.size(-1):
        raise ValueError(
            f"the position has to be from 1 to {idx.size(-1) - 1}, so that one stands before it, "
            f"not {position}"
        )
    changed = idx.clone()
    was_training = model.training
    model.eval()
    try:
        before = model(idx)  # (B, T, V)
        changed[:, position] = (changed[:, position] + 1) % before.size(-1)
        after = model(changed)  # (B, T, V)
    finally:
        model.train(was_training)
    return (before - after)[:, :position].abs().max().item()
