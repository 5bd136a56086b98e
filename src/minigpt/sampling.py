"""Write text with a trained model: a plain sampler, and one that keeps keys and values."""

import torch
from torch import Tensor

from minigpt.corpus import Vocabulary
from minigpt.model import MiniGPT


def next_character(logits: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """Draw from softmax(logits / temperature).

    Args:
        logits: (V,).
        temperature: 1 leaves the model's distribution as it is, less sharpens it, 0 always takes
            the most likely character.
        generator: the source of chance, on the CPU.

    Returns:
        The index drawn, (1,), on the device of the logits.
    """
    if temperature == 0:
        return logits.argmax(keepdim=True)
    probabilities = (logits / temperature).softmax(dim=-1).cpu()  # (V,)
    return torch.multinomial(probabilities, 1, generator=generator).to(logits.device)


def sample(
    model: MiniGPT,
    idx: Tensor,
    length: int,
    *,
    temperature: float = 1.0,
    generator: torch.Generator,
    cached: bool = False,
) -> Tensor:
    """Continue a text by ``length`` characters, each drawn from the model's prediction.

    The plain sampler reads the last T_max characters anew for every character it writes. The
    cached one keeps the keys and values of each layer and computes one position a step: under the
    causal mask those of earlier positions do not change when a character is appended. Both draw
    the same characters from the same generator.

    That ends when the text outgrows T_max. Positions are absolute, counted from the start of the
    window, so when the window slides every character in it moves to another position, and with
    its position its keys and values change in all layers. From there on nothing kept is of use,
    and the cached sampler does what the plain one does.

    Args:
        model: a mini-GPT in evaluation mode; with dropout on, no two readings agree.
        idx: the text so far, (T,), T of 1 or more.
        length: characters to write.
        temperature: see :func:`next_character`.
        generator: the source of chance, on the CPU.
        cached: keep keys and values.

    Returns:
        The whole text, (T + length,).

    Raises:
        ValueError: the text is empty, ``length`` or ``temperature`` is negative, or the model is in
            training mode.
    """
    if idx.ndim != 1 or len(idx) == 0:
        raise ValueError(
            f"a text of shape (T,) with T of 1 or more is needed, not {tuple(idx.shape)}"
        )
    if length < 0 or temperature < 0:
        raise ValueError(f"length {length} and temperature {temperature} have to be 0 or more")
    if model.training:
        raise ValueError("the model is in training mode, where dropout blurs it: call model.eval()")
    T_max, cache = model.config.T_max, model.new_cache() if cached else None
    with torch.inference_mode():
        for _ in range(length):
            if len(idx) > T_max:
                cache = None
            logits = model(idx[None, -T_max:], cache)[0, -1]  # (V,)
            idx = torch.cat([idx, next_character(logits, temperature, generator)])
    return idx.clone()  # an ordinary tensor again, which may be trained on


def sample_text(
    model: MiniGPT,
    vocabulary: Vocabulary,
    prompt: str,
    length: int,
    *,
    temperature: float = 1.0,
    seed: int = 0,
    cached: bool = True,
) -> str:
    """Continue a prompt by ``length`` characters and return both as text; see :func:`sample`.

    Raises:
        ValueError: the prompt is empty or holds a character the model does not know.
    """
    device = next(model.parameters()).device
    idx = vocabulary.encode(prompt).to(device)
    generator = torch.Generator().manual_seed(seed)
    idx = sample(model, idx, length, temperature=temperature, generator=generator, cached=cached)
    return vocabulary.decode(idx)
