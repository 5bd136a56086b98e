"""Figures of attention weights: heat maps, their tables, what leaks, how far heads look."""

import html
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from minigpt.figures.drawing import (
    AFTER,
    BEFORE,
    INK,
    STYLE,
    WEIGHTS,
    Drawing,
    readable_on,
    visible,
)
from minigpt.inspection import attention_entropy, mean_attention_distance


def most_spread_head(maps: Tensor) -> tuple[int, int]:
    """Find the head that spreads its weight most: the largest mean entropy of its rows.

    Args:
        maps: (n_l, n_h, T, T).

    Returns:
        Its layer and its head, both counted from 1.
    """
    entropy = attention_entropy(maps)  # (n_l, n_h)
    layer, head = divmod(int(entropy.argmax()), entropy.size(1))
    return layer + 1, head + 1


def causal_weights(A: Tensor, text: str, layer: int, head: int) -> Drawing:
    """Draw the weights of one head on a short text, the masked cells hatched.

    Args:
        A: causal weights, (T, T).
        text: the T characters that were read.
        layer: counted from 1.
        head: counted from 1.
    """
    T = len(text)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 4.4))
        axes = figure.add_subplot()
        for t in range(T):
            for i in range(T):
                weight = A[t, i].item()
                corner = (i - 0.5, t - 0.5)
                if i > t:
                    cell = Rectangle(
                        corner, 1, 1, fill=False, ec=INK, hatch="////", lw=0.7, alpha=0.6
                    )
                    axes.add_patch(cell)
                    continue
                colour = WEIGHTS(0.05 + 0.85 * weight)
                axes.add_patch(Rectangle(corner, 1, 1, fc=colour, ec=INK, lw=0.7))
                axes.text(
                    i, t, f"{weight:.2f}", ha="center", va="center", color=readable_on(colour)
                )
        axes.set(xlim=(-0.52, T - 0.48), ylim=(T - 0.48, -0.52), aspect="equal")
        labels = [f"{visible(c)}\n{i}" for i, c in enumerate(text, 1)]
        axes.set_xticks(range(T), labels)
        axes.set_yticks(range(T), [f"{i}  {visible(c)}" for i, c in enumerate(text, 1)])
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("position $i$ that is read", labelpad=8)
        axes.set_ylabel("position $t$ that reads", labelpad=8)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    rows = "; ".join(
        f"row {t + 1} ({visible(text[t])}): "
        + ", ".join(f"{weight:.2f}" for weight in A[t, : t + 1].tolist())
        for t in range(T)
    )
    alt = (
        f"Heat map of the {T} by {T} attention weights of layer {layer}, head {head} on the "
        f"characters {text!r}. All cells above the diagonal are hatched, with a weight of exactly "
        f"0. From the first position to the last, {rows}."
    )
    return Drawing("causal-weights", figure, alt)


def leak(moved: dict[str, Tensor], text: str, place: int) -> Drawing:
    """Draw how far the logits move at each position when one character is changed.

    Args:
        moved: by the name of a model, the largest change of a logit at each position, (T,).
        text: the T characters before the change.
        place: the character changed, counted from 0.
    """
    T, floor = len(text), 1e-4
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.0, 4.8), layout="constrained")
        panels = figure.subplots(len(moved), sharex=True, sharey=True)
        for axes, (name, change) in zip(panels, moved.items(), strict=True):
            for t, height in enumerate(change.tolist()):
                if height == 0:  # has no place on a logarithmic axis
                    axes.text(t, floor * 1.3, "0", ha="center", va="bottom")
                else:
                    colour = BEFORE if t < place else AFTER
                    axes.bar(t, height - floor, bottom=floor, color=colour, width=0.75)
            axes.axvline(place - 0.5, color=INK, lw=1, ls="--")
            axes.set(yscale="log", ylim=(floor, 30), xlim=(-0.6, T - 0.4))
            axes.set_title(name, fontsize=11, loc="left")
            axes.spines[["top", "right"]].set_visible(False)
            axes.minorticks_off()
            axes.tick_params(axis="x", length=0)
        panels[0].text(place - 0.7, 30, "past", ha="right", va="top")
        panels[0].text(place - 0.3, 30, "changed, and after", ha="left", va="top")
        panels[-1].set_xticks(range(T), [visible(c) for c in text])
        figure.supylabel("largest change of a logit", fontsize=11)
    parts = []
    for name, change in moved.items():
        past, later = change[:place], change[place:]
        if past.max() == 0:
            before = "every position before the change moves by exactly 0"
        else:
            before = f"the positions before the change move by up to {past.max():.2f}"
        parts.append(
            f"{name.capitalize()}: {before}, "
            f"those from it on by {later.min():.2f} to {later.max():.2f}"
        )
    alt = (
        f"Two bar charts on a logarithmic axis over the {T} characters of {text!r}, of which "
        f"number {place + 1}, {text[place]!r}, is changed. " + ". ".join(parts) + "."
    )
    return Drawing("leak", figure, alt)


def weight_maps(name: str, maps: dict[str, Tensor], text: str) -> Drawing:
    """Draw matrices of weights, two in a row, on one scale; masked cells stay empty.

    Args:
        name: of the drawing.
        maps: by title, weights (T, T).
        text: what was read, T characters; written along the axes when there is room.
    """
    rows = -(-len(maps) // 2)
    T = len(text)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5, 2.4 * rows + 0.3), layout="constrained")
        panels = figure.subplots(rows, 2, squeeze=False).flat
        for axes, (title, A) in zip(panels, maps.items(), strict=False):
            values = A.detach().float().cpu().numpy()
            shown = np.ma.masked_where(values == 0, values)
            axes.imshow(shown, cmap=WEIGHTS, vmin=-0.08, vmax=1, interpolation="none")
            axes.set_title(title, fontsize=10)
            if T <= 12:
                axes.set_xticks(range(T), [visible(c) for c in text])
                axes.set_yticks(range(T), [visible(c) for c in text])
            else:
                ends = [0, T - 1]
                axes.set_xticks(ends, [str(t + 1) for t in ends])
                axes.set_yticks(ends, [str(t + 1) for t in ends])
            axes.tick_params(length=0)
            axes.spines[:].set_linewidth(0.5)
        figure.supxlabel("position that is read", fontsize=10)
        figure.supylabel("position that reads", fontsize=10)
    described = []
    for title, A in maps.items():
        if A.triu(1).any():
            described.append(f"{title}: cells above the diagonal carry up to {A.triu(1).max():.2f}")
        else:
            back = mean_attention_distance(A[None]).item()
            described.append(
                f"{title}: 0 above the diagonal, {back:.1f} characters back on average"
            )
    alt = (
        f"{len(maps)} heat maps of attention weights, {T} by {T}, dark where a weight is large. "
        + "; ".join(described)
        + "."
    )
    return Drawing(name, figure, alt)


def head_distances(distances: Tensor) -> Drawing:
    """Draw how far back each head looks, a dot per head in a row per layer.

    Args:
        distances: mean distances in characters, (n_l, n_h).
    """
    layers = distances.detach().float().cpu()
    n_l, n_h = layers.shape
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6, 0.62 * n_l + 0.9), layout="constrained")
        axes = figure.add_subplot()
        for layer, row in enumerate(layers.tolist()):
            axes.plot(row, [layer] * n_h, color=INK, lw=0.6, alpha=0.5)
            for head, distance in enumerate(row):
                axes.plot(distance, layer, "o", color=AFTER, ms=15)
                axes.text(
                    distance, layer, str(head + 1), color="white", ha="center", va="center", size=9
                )
        axes.set_yticks(range(n_l), [f"layer {layer + 1}" for layer in range(n_l)])
        axes.set(ylim=(n_l - 0.5, -0.5), xlabel="mean distance in characters")
        axes.set_xlim(min(0, layers.min().item() - 1), layers.max().item() * 1.08 + 1)
        axes.grid(axis="x", color=INK, alpha=0.15)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    rows = "; ".join(
        f"layer {layer + 1}: " + ", ".join(f"{distance:.1f}" for distance in row)
        for layer, row in enumerate(layers.tolist())
    )
    alt = (
        f"Dot plot of how many characters back each of {n_l * n_h} heads looks on average, a row "
        f"per layer, each dot with the number of its head. From head 1 on, {rows}."
    )
    return Drawing("head-distances", figure, alt)


@dataclass(frozen=True)
class WeightTable:
    """The weights of a heat map as a table that can be read out."""

    A: Tensor  # (T, T)
    text: str

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col">{i} {html.escape(visible(c))}</th>'
            for i, c in enumerate(self.text, 1)
        )
        rows = "".join(
            f'<tr><th scope="row">{t} {html.escape(visible(c))}</th>'
            + "".join(f"<td>{w:.3f}</td>" if w else "<td>0</td>" for w in row)
            + "</tr>"
            for (t, c), row in zip(enumerate(self.text, 1), self.A.tolist(), strict=True)
        )
        return (
            '<div class="weights" tabindex="0" role="group" aria-label="Weights">'
            f"<table><thead><tr><td>reads ↓ is read →</td>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
