"""Figures of what one query reads and of several heads side by side."""

import html
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
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

# Told apart by their numbers and places too (Okabe and Ito, 2008).
HEADS = (AFTER, BEFORE, "#009E73", "#CC79A7")


def _box(axes, x: float, y: float, width: float, height: float, words: str, **look) -> None:
    """Draw a rounded box around (x, y) with words in it."""
    shape = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        **{
            "boxstyle": "round,pad=0,rounding_size=0.12",
            "fc": "none",
            "ec": INK,
            "lw": 1.2,
            **look,
        },
    )
    axes.add_patch(shape)
    axes.text(x, y, words, ha="center", va="center_baseline", size=11)


def _arrow(axes, start: tuple[float, float], end: tuple[float, float], **look) -> None:
    look = {"arrowstyle": "-|>", "color": INK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0, **look}
    axes.annotate("", end, start, arrowprops=look)


def one_query(weights: Tensor, text: str, reader: int) -> Drawing:
    """Draw how one position reads: its query against the keys, then the average of the values.

    Args:
        weights: what the position reads of each, (T,); 0 after the reader.
        text: the T characters.
        reader: the position that reads, counted from 1; those after it are masked.
    """
    T = len(text)
    query, keys, shares, values, output = 6.3, 4.3, 3.3, 2.3, 0.2
    middle = (reader + 1) / 2
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.8, 5.0))
        axes = figure.add_axes((0, 0, 1, 1))
        for i in range(1, T + 1):
            masked = i > reader
            weight = weights[i - 1].item()
            look = {"ls": (0, (3, 2)), "alpha": 0.7} if masked else {}
            _box(axes, i, keys, 0.62, 0.56, f"$k_{i}$", **look)
            _box(axes, i, values, 0.62, 0.56, f"$v_{i}$", **look)
            axes.text(i, keys + 1.02, visible(text[i - 1]), ha="center", va="center", size=12)
            axes.text(i, keys + 0.62, str(i), ha="center", va="center", size=9)
            if masked:
                axes.text(i, shares, "masked", ha="center", va="center", size=10, rotation=90)
                continue
            axes.text(i, shares, f"{weight:.2f}", ha="center", va="center", size=11)
            _arrow(axes, (i, keys - 0.32), (i, shares + 0.22), color=BEFORE)
            axes.plot(
                [i, i],
                [shares - 0.24, values + 0.34],
                color=AFTER,
                lw=1 + 22 * weight,
                solid_capstyle="butt",
            )
            axes.plot(
                [i, middle + 0.16 * (i - middle)],
                [values - 0.36, output + 0.4],
                color=AFTER,
                lw=1 + 22 * weight,
                solid_capstyle="butt",
            )
        # The query meets the keys along a rail, so that no line crosses a character.
        rail = query - 0.62
        axes.plot([1, reader], [rail, rail], color=BEFORE, lw=1.6)
        axes.plot([middle, middle], [query - 0.28, rail], color=BEFORE, lw=1.6)
        for i in range(1, reader + 1):
            axes.plot([i, i], [rail, rail - 0.13], color=BEFORE, lw=1.6)
        _box(axes, middle, query, 0.62, 0.56, f"$q_{reader}$", ec=BEFORE, lw=2)
        _box(axes, middle, output, 0.62, 0.62, rf"$\bar{{v}}_{reader}$", ec=AFTER, lw=2)
        for y, words in (
            (query, "query"),
            (keys, "keys"),
            (shares, "weights"),
            (values, "values"),
            (output, "output"),
        ):
            axes.text(-0.72, y, words, ha="left", va="center", size=11)
        axes.text(middle + 0.5, query, f"position {reader} asks", ha="left", va="center")
        axes.set(xlim=(-0.8, T + 0.45), ylim=(output - 0.4, query + 0.4))
        axes.set_axis_off()
    read = ", ".join(
        f"{weights[i - 1]:.2f} of position {i} ({visible(text[i - 1])})"
        for i in range(1, reader + 1)
    )
    alt = (
        f"Diagram of one query. The query of position {reader} meets the keys of positions 1 to "
        f"{reader}. The softmax of the scores gives weights: {read}. Lines from the values to the "
        f"output are wider where the weight is larger. Position {T} ({visible(text[-1])}) is "
        "dashed: it is masked and not read."
    )
    return Drawing("one-query", figure, alt)


def split(d: int, n_h: int) -> Drawing:
    """Draw the way of Q, K and V through the heads: cut, attend, put side by side, mix.

    Args:
        d: columns of Q, K and V.
        n_h: heads; divides d.
    """
    d_k = d // n_h
    width = 5.2 / n_h  # of a slice
    left = 0.9
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.9, 5.4))
        axes = figure.add_axes((0, 0, 1, 1))

        def bar(y: float, name: str, labels: list[str]) -> None:
            for r, label in enumerate(labels):
                corner = (left + r * width, y - 0.24)
                look = {"fc": (*mpl.colors.to_rgb(HEADS[r % 4]), 0.3), "ec": INK, "lw": 1}
                axes.add_patch(Rectangle(corner, width, 0.48, **look))
                axes.text(
                    corner[0] + width / 2, y, label, ha="center", va="center_baseline", size=10
                )
            axes.text(left - 0.15, y, name, ha="right", va="center_baseline", size=12)

        centre = left + 2.6
        _box(axes, centre, 8.3, 5.2, 0.5, f"$H$:  $T$ rows, $d$ = {d} columns")
        _arrow(axes, (centre, 8.05), (centre, 7.36))
        axes.text(centre + 0.15, 7.7, "$W_Q$,  $W_K$,  $W_V$", va="center", size=11)
        for y, name in ((7.08, "$Q$"), (6.48, "$K$"), (5.88, "$V$")):
            bar(y, name, [f"{r * d_k + 1}–{(r + 1) * d_k}" for r in range(n_h)])
        for r in range(n_h):
            x = left + (r + 0.5) * width
            _arrow(axes, (x, 5.62), (x, 5.0))
            _box(
                axes,
                x,
                4.42,
                width * 0.86,
                1.1,
                f"head {r + 1}\n$A^{{({r + 1})}}$",
                ec=HEADS[r % 4],
                lw=2.2,
            )
            _arrow(axes, (x, 3.85), (x, 3.2))
        bar(2.94, "", [rf"$\bar{{V}}^{{({r + 1})}}$" for r in range(n_h)])
        _arrow(axes, (centre, 2.68), (centre, 1.98))
        axes.text(
            centre + 0.15, 2.33, r"$W_{\mathrm{proj}}$,  $b_{\mathrm{proj}}$", va="center", size=11
        )
        _box(axes, centre, 1.7, 5.2, 0.5, f"output:  $T$ rows, $d$ = {d} columns")
        for y, words in ((6.48, "cut"), (4.42, "attend"), (2.94, "join"), (1.7, "mix")):
            axes.text(-0.62, y, words, ha="left", va="center_baseline", size=11, weight="bold")
        axes.set(xlim=(-0.7, left + 5.3), ylim=(1.3, 8.65))
        axes.set_axis_off()
    alt = (
        f"Diagram of multi-head attention with {n_h} heads. H with {d} columns becomes Q, K and V, "
        f"each cut into {n_h} slices of {d_k} columns. Head r takes the slice r of each, computes "
        f"its weights and returns {d_k} columns. The {n_h} results stand side by side, {d} columns "
        f"again, and W_proj mixes them into the output."
    )
    return Drawing("split", figure, alt)


def most_varied_layer(maps: Tensor) -> int:
    """Find the layer whose heads differ most: the largest range of their mean entropies.

    Args:
        maps: (n_l, n_h, T, T).

    Returns:
        The layer, counted from 1.
    """
    entropy = attention_entropy(maps)  # (n_l, n_h)
    return int((entropy.amax(1) - entropy.amin(1)).argmax()) + 1


def head_maps(maps: Tensor, layer: int) -> Drawing:
    """Draw the weights of all heads of a layer, two in a row, on one scale.

    Args:
        maps: causal weights of the layer, (n_h, T, T).
        layer: counted from 1.
    """
    n_h, T, _ = maps.shape
    rows = -(-n_h // 2)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5, 2.55 * rows + 0.3), layout="constrained")
        panels = figure.subplots(rows, 2, squeeze=False, sharex=True, sharey=True)
        for r, axes in enumerate(panels.flat[:n_h]):
            values = maps[r].numpy()
            hidden = np.triu(np.ones_like(values), 1) > 0
            shown = np.ma.masked_where(hidden, values)
            axes.imshow(
                shown,
                cmap=WEIGHTS,
                vmin=-0.08,
                vmax=1,
                interpolation="none",
                extent=(0.5, T + 0.5, T + 0.5, 0.5),
            )
            axes.set_title(f"head {r + 1}", fontsize=11)
            ticks = [1, *range(5, T + 1, 5)]
            axes.set_xticks(ticks)
            axes.set_yticks(ticks)
            axes.tick_params(length=2, labelsize=10)
            axes.spines[:].set_linewidth(0.5)
        figure.supxlabel("position $i$ that is read", fontsize=11)
        figure.supylabel("position $t$ that reads", fontsize=11)
    back = mean_attention_distance(maps[None]).tolist()
    entropy = attention_entropy(maps).tolist()
    described = "; ".join(
        f"head {r + 1}: {back[r]:.1f} characters back on average, entropy {entropy[r]:.2f} nats"
        for r in range(n_h)
    )
    alt = (
        f"{n_h} heat maps of attention weights, {T} by {T}, of the heads of layer {layer}, empty "
        f"above the diagonal and darker where a weight is larger. {described}."
    )
    return Drawing("head-maps", figure, alt)


def head_rows(maps: Tensor, text: str, reader: int) -> Drawing:
    """Draw what one position reads in each head: the text once per head, each character shaded.

    Args:
        maps: causal weights of a layer, (n_h, T, T).
        text: the T characters that were read.
        reader: the position that reads, counted from 1.
    """
    n_h = maps.size(0)
    shown = text[:reader]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.8, 0.6 * n_h + 0.35))
        axes = figure.add_axes((0, 0, 1, 1))
        for r in range(n_h):
            row = maps[r, reader - 1].tolist()
            axes.text(-0.4, r, f"head {r + 1}", ha="right", va="center", size=11)
            for i, character in enumerate(shown):
                colour = WEIGHTS(0.02 + 0.88 * row[i])
                edge = {"lw": 2.4, "ec": BEFORE} if i == reader - 1 else {"lw": 0.6, "ec": INK}
                axes.add_patch(Rectangle((i, r - 0.38), 0.96, 0.76, fc=colour, **edge))
                axes.text(
                    i + 0.48,
                    r,
                    visible(character),
                    ha="center",
                    va="center_baseline",
                    size=12,
                    color=readable_on(colour),
                )
        axes.text(reader - 0.5, -0.62, "reads", ha="center", va="center", size=10)
        axes.set(xlim=(-3.6, reader + 0.2), ylim=(n_h - 0.5, -0.9))
        axes.set_axis_off()
    most = []
    for r in range(n_h):
        weight, place = maps[r, reader - 1].max(-1)
        most.append(
            f"head {r + 1} reads most of position {place + 1} "
            f"({visible(text[place])}), with weight {weight:.2f}"
        )
    alt = (
        f"The first {reader} characters of {text!r}, once per head, shaded by how much position "
        f"{reader} ({visible(text[reader - 1])}) reads of each: " + "; ".join(most) + "."
    )
    return Drawing("head-rows", figure, alt)


@dataclass(frozen=True)
class HeadTable:
    """One row per head: what its map comes to in numbers."""

    columns: dict[str, list[str]]  # by title, one entry per head

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in self.columns)
        rows = "".join(
            f'<tr><th scope="row">head {r}</th>'
            + "".join(f"<td>{html.escape(entry)}</td>" for entry in entries)
            + "</tr>"
            for r, entries in enumerate(zip(*self.columns.values(), strict=True), 1)
        )
        return (
            '<div class="results" tabindex="0" role="group" aria-label="Heads">'
            f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )
