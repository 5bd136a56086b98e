"""What training costs, on paper: parameters, operations and memory, from a model's sizes alone.

The letters are those of :mod:`minigpt.attention` and :class:`~minigpt.model.Config`. One
multiplication or one addition is one floating-point operation (flop).
"""

from minigpt.model import Config

PASSES = 3  # forward; backward for the gradients of what goes in, and for those of the weights
BYTES = 4  # of a number in float32
KEPT = 4  # numbers per parameter: itself, its gradient, the two running means of AdamW


def parameters(config: Config) -> int:
    """Count the parameters of a model with learned positions.

    Raises:
        ValueError: order enters the model in another way.
    """
    if config.positions != "learned":
        raise ValueError(f"the formula is for learned positions, not {config.positions!r} ones")
    d, V = config.d, config.vocab_size
    matrices = 12 * d * d  # W_Q, W_K, W_V, W_proj; W_1 and W_2
    vectors = 10 * d  # biases of W_proj, W_1 and W_2; gain and bias of two LayerNorms
    last_norm = 2 * d if config.norm == "pre" else 0
    tables = (V + config.T_max) * d
    return tables + config.n_l * (matrices + vectors) + last_norm + V * d + V


def flops_per_step(config: Config, batch: int, T: int) -> int:
    """Count what the matrix products of a training step take, forward and backward.

    Args:
        config: sizes of the model.
        batch: texts in a step, B.
        T: tokens in each of them.
    """
    d = config.d
    per_block = 2 * T * T * d + 12 * T * d * d  # multiplications
    output_layer = T * d * config.vocab_size
    return 2 * PASSES * batch * (config.n_l * per_block + output_layer)


def state_bytes(config: Config) -> int:
    """Count the memory of parameters, gradients and AdamW's means: 16 bytes a parameter."""
    return BYTES * KEPT * parameters(config)


def activation_bytes(config: Config, batch: int, T: int) -> int:
    """Count the memory of what the forward pass keeps for the backward pass.

    Large terms only: a block keeps 8 vectors of width d per position, 2 of width 4d, and the
    weights of its heads. Left out are means and variances, masks and indices. Dropout keeps more.
    """
    d = config.d
    per_block = 16 * T * d + config.n_h * T * T
    ends = 2 * T * d + T * config.vocab_size  # around the output layer
    return BYTES * batch * (config.n_l * per_block + ends)
