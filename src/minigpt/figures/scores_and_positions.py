"""Figures of sections 2 and 5: the size of scores, and vectors that say where a token stands."""

import html
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from torch import Tensor

from minigpt.figures.drawing import AFTER, BEFORE, INK, STYLE, Drawing

# Orange below 0, blue above it, light at 0; the ends differ in hue and both are dark.
SIGNED = mpl.colors.LinearSegmentedColormap.from_list(
    "signed", ["#7F2704", BEFORE, "#F7F7F7", AFTER, "#08306B"]
)
ROOT = r"divided by $\sqrt{d_k}$"


def attention_shapes() -> Drawing:
    """Draw the two matrix products of attention as boxes with their shapes, one row marked."""
    T, d_k = 1.5, 0.8
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.7, 4.4))
        axes = figure.add_axes((0, 0, 1, 1))

        def box(x, y, width, height, name, shape, row=True, column=False):
            """Draw a matrix whose top left corner is (x, y); mark its row t or its column i."""
            axes.add_patch(
                Rectangle((x, y - height), width, height, fc=AFTER, ec="none", alpha=0.12)
            )
            if row:
                axes.add_patch(Rectangle((x, y - 0.72), width, 0.24, fc=AFTER, ec="none"))
            if column:
                axes.add_patch(Rectangle((x + 1.0, y - height), 0.24, height, fc=BEFORE, ec="none"))
            axes.add_patch(Rectangle((x, y - height), width, height, fill=False, ec=INK, lw=1))
            axes.text(x + width / 2, y + 0.12, name, ha="center", va="bottom", size=12)
            axes.text(x + width / 2, y - height - 0.12, shape, ha="center", va="top", size=10)

        def sign(x, y, text):
            axes.text(x, y, text, ha="center", va="center", size=14)

        top, bottom, middle = 5.0, 2.1, 0.75
        box(0.3, top, d_k, T, "$Q$", r"$T \times d_k$")
        axes.text(0.2, top - 0.6, "$t$", ha="right", va="center")
        sign(1.4, top - middle, r"$\times$")
        box(1.7, top - (T - d_k) / 2, T, d_k, r"$K^\top$", r"$d_k \times T$", False, True)
        axes.text(2.82, top - (T - d_k) / 2 + 0.08, "$i$", ha="center", va="bottom")
        sign(3.55, top - middle, "=")
        box(3.9, top, T, T, r"$Q K^\top$", r"$T \times T$")
        axes.add_patch(Rectangle((4.9, top - 0.72), 0.24, 0.24, fc=BEFORE, ec=INK, lw=1))
        axes.text(5.5, top - 0.6, "$t$", ha="left", va="center")

        axes.annotate(
            "",
            xy=(5.1, bottom + 0.08),
            xytext=(5.1, top - T - 0.1),
            arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.2},
        )
        axes.text(4.95, 2.72, r"$/\sqrt{d_k}$, softmax of each row", ha="right", va="center")

        box(3.9, bottom, T, T, "$A$", r"$T \times T$")
        axes.text(5.5, bottom - 0.6, "$t$", ha="left", va="center")
        sign(3.55, bottom - middle, r"$\times$")
        box(2.4, bottom, d_k, T, "$V$", r"$T \times d_k$", False)
        sign(2.05, bottom - middle, "=")
        box(0.9, bottom, d_k, T, r"$\bar V$", r"$T \times d_k$")
        axes.text(0.8, bottom - 0.6, "$t$", ha="right", va="center")
        axes.set(xlim=(0, 5.75), ylim=(0.1, 5.5), aspect="equal")
        axes.axis("off")
    alt = (
        "Two matrix products with their shapes. Above, Q, T by d_k, times the transpose of K, "
        "d_k by T, gives the products, T by T; row t of Q and column i of the transpose meet in "
        "one cell of row t. An arrow, divide by the root of d_k and take the softmax of each row, "
        "leads down to A, T by T. Below, A times V, T by d_k, gives V bar, T by d_k; row t of A "
        "makes row t of V bar."
    )
    return Drawing("attention-shapes", figure, alt)


def scaling_measured(measured: dict[int, dict[str, float]]) -> Drawing:
    """Draw the spread of scores and the softmax derivative it leaves against d_k.

    Args:
        measured: by d_k, the four numbers ``sd``, ``sd_scaled``, ``slope``, ``slope_scaled``.
    """
    widths = list(measured)
    places = range(len(widths))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.0, 5.4), layout="constrained")
        above, below = figure.subplots(2, sharex=True)
        for axes, key in ((above, "sd"), (below, "slope")):
            plain = [row[key] for row in measured.values()]
            scaled = [row[f"{key}_scaled"] for row in measured.values()]
            axes.plot(places, plain, "o--", color=BEFORE, ms=7, lw=1.5)
            axes.plot(places, scaled, "s-", color=AFTER, ms=7, lw=1.5)
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="y", color=INK, alpha=0.15)
        above.set(yscale="log", ylim=(0.7, 50), xlim=(-0.3, len(widths) - 0.7))
        ticks = [1, 2, 4, 8, 16, 32]
        above.set_yticks(ticks, [str(tick) for tick in ticks])
        above.minorticks_off()
        above.set_title("spread of the scores (standard deviation)", fontsize=11, loc="left")
        above.text(2.0, 13, "not divided", ha="right")
        above.text(2.0, 1.2, ROOT, ha="center")
        below.set(ylim=(0, 0.1))
        below.set_title("derivative of a weight by its score, mean", fontsize=11, loc="left")
        below.text(2.15, 0.025, "not divided", ha="left")
        below.text(2.0, 0.086, ROOT, ha="center")
        below.set_xticks(places, [str(width) for width in widths])
        below.set_xlabel("width $d_k$")
    rows = "; ".join(
        f"d_k = {width}: spread {row['sd']:.2f} against {row['sd_scaled']:.2f}, derivative "
        f"{row['slope']:.3f} against {row['slope_scaled']:.3f}"
        for width, row in measured.items()
    )
    alt = (
        "Two line charts over the width d_k, each with the scores as they are and divided by the "
        "root of d_k. Not divided, the spread grows and the derivative of the softmax falls; "
        f"divided, both stay level. Not divided against divided, {rows}."
    )
    return Drawing("scaling-measured", figure, alt)


def scaling_rows(rows: dict[int, tuple[Tensor, Tensor]]) -> Drawing:
    """Draw one row of weights per width, from products as they are and from divided ones.

    Args:
        rows: by d_k, the two rows of weights, (positions,) each.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.0, 6.6), layout="constrained")
        panels = figure.subplots(len(rows), 2, sharex=True, sharey=True)
        for line, (width, pair) in zip(panels, rows.items(), strict=True):
            for axes, row, colour in zip(line, pair, (BEFORE, AFTER), strict=True):
                weights = row.tolist()
                places = range(1, len(weights) + 1)
                axes.bar(places, weights, color=colour, width=0.8)
                top = max(range(len(weights)), key=weights.__getitem__)
                axes.text(
                    top + 1, weights[top] + 0.04, f"{weights[top]:.2f}", ha="center", va="bottom"
                )
                axes.set(ylim=(0, 1.3), xlim=(0.2, len(weights) + 0.8))
                axes.set_yticks([0, 1])
                axes.set_xticks([1, 5, 10])
                axes.tick_params(axis="x", length=0)
                axes.spines[["top", "right"]].set_visible(False)
            line[0].set_ylabel(f"$d_k = {width}$")
        panels[0, 0].set_title("not divided", fontsize=11)
        panels[0, 1].set_title(ROOT, fontsize=11)
        figure.supxlabel("position $i$ that is read", fontsize=11)
    described = "; ".join(
        f"d_k = {width}: {plain.max():.3f} against {scaled.max():.3f}"
        for width, (plain, scaled) in rows.items()
    )
    alt = (
        f"Bar charts of one row of attention weights for each of {len(rows)} widths, without the "
        "division on the left, with it on the right. Without it one bar takes nearly everything "
        "at the larger widths; with it several bars stay at every width. Largest weight, not "
        f"divided against divided, {described}."
    )
    return Drawing("scaling-rows", figure, alt)


def position_tables(learned: Tensor, sinusoidal: Tensor) -> Drawing:
    """Draw two tables of position vectors as heat maps, one row per position.

    Args:
        learned: (T_max, d).
        sinusoidal: (T_max, d).
    """
    tables = {"learned": learned, "sinusoidal": sinusoidal}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.2), layout="constrained")
        panels = figure.subplots(1, 2)
        limits = {}
        for axes, (name, table) in zip(panels, tables.items(), strict=True):
            values = table.detach().float().numpy()
            limits[name] = limit = min(1.0, 3 * values.std().item())
            axes.imshow(
                values, cmap=SIGNED, vmin=-limit, vmax=limit, interpolation="none", aspect="auto"
            )
            axes.set_title(name, fontsize=11)
            _ends(axes, *values.shape)
        panels[0].set_ylabel("position $t$")
        figure.supxlabel("coordinate of $p_t$", fontsize=11)
    T, d = learned.shape
    alt = (
        f"Two heat maps, {T} positions by {d} coordinates, orange below 0 and blue above. The "
        f"learned table looks like vertical streaks of noise, its colours end at "
        f"{limits['learned']:.2f} on either side. The sinusoidal table has waves that run down "
        "the positions: short ones in the first coordinates, ever longer ones to the right, and "
        "in the last coordinates columns that hardly change."
    )
    return Drawing("position-tables", figure, alt)


def position_similarity(similarity: dict[str, Tensor]) -> Drawing:
    """Draw how alike the vectors of any two positions are, a heat map per table.

    Args:
        similarity: by the name of a table, cosines, (T_max, T_max).
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.6), layout="constrained")
        panels = figure.subplots(1, len(similarity))
        for axes, (name, cosines) in zip(panels, similarity.items(), strict=True):
            values = cosines.detach().float().numpy()
            image = axes.imshow(values, cmap=SIGNED, vmin=-1, vmax=1, interpolation="none")
            axes.set_title(name, fontsize=11)
            _ends(axes, *values.shape)
        panels[0].set_ylabel("position")
        bar = figure.colorbar(image, ax=panels, location="bottom", shrink=0.6, aspect=24)
        bar.set_ticks([-1, 0, 1])
        bar.outline.set_linewidth(0.5)
        bar.set_label("cosine of the two vectors", fontsize=11)
    described = ". ".join(
        f"{name.capitalize()}: the cosine is {cosines.diagonal(1).mean():.2f} on average for "
        f"neighbours, {cosines.diagonal(8).mean():.2f} for positions 8 apart, "
        f"{cosines.diagonal(64).mean():.2f} for positions 64 apart"
        for name, cosines in similarity.items()
    )
    alt = (
        "Two heat maps of the cosine between the vectors of any two positions, blue where they "
        "are alike and orange where they are opposed. Both show bands along the diagonal. "
        f"{described}."
    )
    return Drawing("position-similarity", figure, alt)


def clock_hands(omegas: dict[int, float], positions: int = 7) -> Drawing:
    """Draw the pairs of coordinates of a sinusoidal vector as points on circles.

    Args:
        omegas: by the number j of a pair, its frequency.
        positions: how many positions are drawn, from 0.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.6, 2.3), layout="constrained")
        panels = figure.subplots(1, len(omegas))
        for axes, (pair, omega) in zip(panels, omegas.items(), strict=True):
            axes.add_patch(Circle((0, 0), 1, fill=False, ec=INK, lw=0.8, alpha=0.6))
            for t in range(positions):
                x, y = np.sin(omega * t), np.cos(omega * t)
                last = t == positions - 1
                axes.plot([0, x], [0, y], color=AFTER, lw=2 if last else 0.8)
                axes.plot(x, y, "o", color=AFTER, ms=6 if last else 4)
                if omega > 0.2 or t in (0, positions - 1):
                    axes.text(1.25 * x, 1.25 * y, str(t), ha="center", va="center", size=10)
            axes.set_title(rf"$j = {pair}$", fontsize=11)
            axes.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal")
            axes.axis("off")
    described = "; ".join(
        f"j = {pair}: {omega:.3f} radians per position" for pair, omega in omegas.items()
    )
    alt = (
        f"{len(omegas)} dials. On each a hand starts at the top and turns clockwise as the "
        f"position goes from 0 to {positions - 1}, by the same angle each time. {described}."
    )
    return Drawing("clock-hands", figure, alt)


def _ends(axes, rows: int, columns: int) -> None:
    """Write only the first and the last row and column, counted from 1."""
    axes.set_xticks([0, columns - 1], ["1", str(columns)])
    axes.set_yticks([0, rows - 1], ["1", str(rows)])
    axes.tick_params(length=0)
    axes.spines[:].set_linewidth(0.5)


@dataclass(frozen=True)
class NumberTable:
    """A table of numbers that stands in for a figure; a row per key, the first column names it."""

    corner: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[float, ...]]
    digits: int = 2

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col">{html.escape(name)}</th>' for name in (self.corner, *self.columns)
        )
        rows = "".join(
            f'<tr><th scope="row">{html.escape(name)}</th>'
            + "".join(f"<td>{value:.{self.digits}f}</td>" for value in values)
            + "</tr>"
            for name, values in self.rows.items()
        )
        return (
            '<div class="weights" tabindex="0" role="group" aria-label="Numbers">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )
