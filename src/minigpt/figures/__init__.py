"""Every figure of the book: each function returns the drawing and says in words what it shows.

The look and the alternative text come from :mod:`minigpt.figures.drawing`.
"""

from minigpt.figures.attention import (
    WeightTable,
    causal_weights,
    head_distances,
    leak,
    most_spread_head,
    weight_maps,
)
from minigpt.figures.drawing import Drawing, Words
from minigpt.figures.training import learning_curve

__all__ = [
    "Drawing",
    "WeightTable",
    "Words",
    "causal_weights",
    "head_distances",
    "leak",
    "learning_curve",
    "most_spread_head",
    "weight_maps",
]
