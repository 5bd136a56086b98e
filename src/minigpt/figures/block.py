"""Figures of the transformer block: how it is built, what its gradients do, what it costs."""

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch
from torch import Tensor

from minigpt.figures.drawing import AFTER, BEFORE, INK, STYLE, Drawing

GREEN = "#009E73"
STREAM = 3.2  # width of the line that is the residual stream


def _box(axes: Axes, x: float, y: float, text: str, colour: str, width=1.25, height=0.44) -> None:
    """Draw a box with its middle at (x, y), tinted and labelled."""
    corner = (x - width / 2, y - height / 2)
    style = "round,pad=0,rounding_size=0.08"
    patch = {"boxstyle": style, "lw": 1.2, "zorder": 3}
    tint = 0.07 if colour == INK else 0.2
    axes.add_patch(FancyBboxPatch(corner, width, height, fc=(colour, tint), ec=colour, **patch))
    axes.text(x, y, text, ha="center", va="center", zorder=4)


def _line(axes: Axes, *points: tuple[float, float], stream=False, head=True) -> None:
    """Draw a line through the points, an arrow head at its end; thick for the residual stream."""
    xs, ys = zip(*points, strict=True)
    look = {"color": AFTER if stream else INK, "lw": STREAM if stream else 1.2}
    axes.plot(xs, ys, solid_joinstyle="miter", solid_capstyle="butt", zorder=1, **look)
    if head:
        axes.annotate(
            "",
            points[-1],
            points[-2],
            arrowprops={"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11}
            | look,
            zorder=2,
        )


def _plus(axes: Axes, x: float, y: float) -> None:
    """Draw the sign of an addition on the residual stream."""
    axes.add_patch(Circle((x, y), 0.15, fc=(AFTER, 0.2), ec=AFTER, lw=1.5, zorder=3))
    axes.plot([x - 0.08, x + 0.08], [y, y], color=INK, lw=1.4, zorder=4)
    axes.plot([x, x], [y - 0.08, y + 0.08], color=INK, lw=1.4, zorder=4)


def _pre_norm(axes: Axes, x: float, side: float) -> None:
    """Draw the block: the stream at x, the sublayers at side."""
    axes.text(x, 0.0, r"$H^{(\ell-1)}$", ha="center", va="center")
    _line(axes, (x, 0.25), (x, 2.03), stream=True, head=False)
    _line(axes, (x, 2.33), (x, 4.13), stream=True, head=False)
    _line(axes, (x, 4.43), (x, 4.98), stream=True)
    axes.text(x, 5.18, r"$H^{(\ell)}$", ha="center", va="center")
    axes.text(x - 0.16, 2.55, "$H'$", ha="right", va="center")
    axes.text(x - 0.2, 1.25, "residual stream", rotation=90, ha="right", va="center")
    for start, name, colour in ((0.5, "MHA, masked", BEFORE), (2.6, "FFN", GREEN)):
        _line(axes, (x, start), (side, start), (side, start + 0.23))
        _box(axes, side, start + 0.45, "LN", AFTER)
        _line(axes, (side, start + 0.67), (side, start + 0.88))
        _box(axes, side, start + 1.1, name, colour)
        _line(axes, (side, start + 1.32), (side, start + 1.68), (x + 0.15, start + 1.68))
        _plus(axes, x, start + 1.68)


def _model(axes: Axes, x: float) -> None:
    """Draw the whole model, from the characters up to the probabilities."""
    axes.text(x, 0.0, "characters $w_1 … w_T$", ha="center", va="center")
    _line(axes, (x, 0.2), (x, 0.5))
    _box(axes, x, 0.84, "token embeddings\n+ positions", INK, width=1.75, height=0.62)
    _line(axes, (x, 1.15), (x, 1.55), stream=True)
    axes.text(x + 0.15, 1.34, "$H^{(0)}$", va="center")
    for shift in (0.16, 0.08):
        corner = (x - 0.72 + shift, 1.55 + shift)
        patch = FancyBboxPatch(
            corner, 1.44, 0.95, boxstyle="round,pad=0,rounding_size=0.08", fill=False, ec=INK, lw=1
        )
        axes.add_patch(patch)
    _box(axes, x, 2.03, "block\n" r"$\times\; n_\ell$", INK, width=1.44, height=0.95)
    _line(axes, (x, 2.66), (x, 3.1), stream=True)
    axes.text(x + 0.15, 2.9, r"$H^{(n_\ell)}$", va="center")
    _box(axes, x, 3.32, "final LN", AFTER)
    _line(axes, (x, 3.54), (x, 3.76))
    _box(axes, x, 3.98, "output layer", INK, width=1.44)
    _line(axes, (x, 4.2), (x, 4.42))
    _box(axes, x, 4.64, "softmax", INK)
    _line(axes, (x, 4.86), (x, 5.03))
    axes.text(x, 5.18, "next character", ha="center", va="center")


def _post_norm(axes: Axes, y: float) -> None:
    """Draw the post-norm block lying on its side, the stream at height y."""
    axes.text(-0.03, y, r"$H^{(\ell-1)}$", ha="center", va="center")
    _line(axes, (0.3, y), (1.4, y), stream=True, head=False)
    _line(axes, (1.7, y), (1.98, y), stream=True, head=False)
    _line(axes, (2.52, y), (3.68, y), stream=True, head=False)
    _line(axes, (3.98, y), (4.26, y), stream=True, head=False)
    _line(axes, (4.8, y), (5.12, y), stream=True)
    axes.text(5.33, y, r"$H^{(\ell)}$", ha="center", va="center")
    axes.text(2.66, y - 0.22, "$H'$", ha="center", va="center")
    for start, name, colour in ((0.5, "MHA", BEFORE), (2.78, "FFN", GREEN)):
        middle, plus = start + 0.47, start + 1.05
        _line(axes, (start, y), (start, y + 0.65), (middle - 0.34, y + 0.65), head=False)
        _box(axes, middle, y + 0.65, name, colour, width=0.68)
        _line(axes, (middle + 0.34, y + 0.65), (plus, y + 0.65), (plus, y + 0.15))
        _plus(axes, plus, y)
        _box(axes, plus + 0.7, y, "LN", AFTER, width=0.54)


def block_diagram() -> Drawing:
    """Draw the pre-norm block, the model it stands in, and the post-norm block beneath."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.8, 7.6))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-0.35, 5.65), ylim=(-2.22, 5.85), aspect="equal")
        axes.set_axis_off()
        axes.text(-0.3, 5.62, "Pre-norm block", weight="bold", va="center")
        axes.text(3.3, 5.62, "The whole model", weight="bold", va="center")
        axes.text(-0.3, -0.68, "Post-norm block", weight="bold", va="center")
        axes.plot([-0.3, 5.6], [-0.38, -0.38], color=INK, lw=0.6, alpha=0.5)
        axes.plot([2.95, 2.95], [-0.1, 5.75], color=INK, lw=0.6, alpha=0.5)
        _pre_norm(axes, 0.3, 1.85)
        _model(axes, 4.35)
        _post_norm(axes, -1.9)
    alt = (
        "Three diagrams. Pre-norm block: a thick line, the residual stream, runs from the input "
        "of the block straight up to its output and meets only two additions. Before the first, a "
        "branch leads through LN and masked multi-head attention to the addition; before the "
        "second, a branch leads through LN and the feed-forward layer. The whole model, upwards: "
        "characters, token embeddings plus positions, a stack of blocks, a final LN, output layer, "
        "softmax, next character. Post-norm block: the branches hold attention and the "
        "feed-forward layer alone, and an LN stands on the stream itself after each addition."
    )
    return Drawing("block", figure, alt)


def gradient_norms(draws: dict[str, dict[str, Tensor]]) -> Drawing:
    """Draw gradient norms by block, pre-norm and post-norm, a panel per way to draw the weights.

    Args:
        draws: by title, then by "pre" and "post", norms (seeds, n_l).
    """
    looks = {"pre": (AFTER, "o-", "pre-norm"), "post": (BEFORE, "s--", "post-norm")}
    described = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.0, 2.5 * len(draws)), layout="constrained")
        panels = figure.subplots(len(draws), sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (title, norms) in zip(panels, draws.items(), strict=True):
            for norm, values in norms.items():
                colour, line, label = looks[norm]
                blocks = range(1, values.size(1) + 1)
                for seed in values.tolist():
                    axes.plot(blocks, seed, color=colour, lw=0.7, alpha=0.4)
                mean = values.mean(dim=0).tolist()
                axes.plot(blocks, mean, line, color=colour, lw=2, ms=5)
                axes.text(blocks[-1] + 0.4, mean[-1], label, va="center", color=INK)
                described.append(
                    f"{title}, {label}: {mean[0]:.3f} in block 1, {mean[-1]:.3f} in block "
                    f"{blocks[-1]}"
                )
            axes.set(yscale="log", xlim=(0.5, blocks[-1] + 3.6), ylim=(0.008, 4))
            axes.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
            axes.minorticks_off()
            axes.set_title(title, fontsize=11, loc="left")
            axes.set_xticks([1, *range(3, blocks[-1] + 1, 3)])
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="y", color=INK, alpha=0.15)
        panels[-1].set_xlabel("block, from the input to the output", loc="left")
        figure.supylabel(r"size of the gradient of $W_2$", fontsize=11)
    alt = (
        f"{len(draws)} line charts on a logarithmic axis: the norm of the gradient of the "
        "feed-forward matrix by block, mean over the seeds. " + "; ".join(described) + "."
    )
    return Drawing("gradients", figure, alt)


def stream_sizes(stream: list[float], read: list[float], written: list[float]) -> Drawing:
    """Draw how large the stream is along the model, and what sublayers read and write.

    Args:
        stream: root mean square of the input vectors and after each sublayer, 2 n_l + 1.
        read: of what each sublayer reads, 2 n_l.
        written: of what each sublayer writes, 2 n_l.
    """
    places = range(len(stream))
    names = ["input"] + [
        f"{part}\n{layer}" for layer in range(1, len(read) // 2 + 1) for part in ("att", "ffn")
    ]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 3.7), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(places, stream, "o-", color=AFTER, lw=STREAM, ms=7)
        axes.plot(places[1:], written, "^:", color=GREEN, lw=1.5, ms=7)
        axes.plot(places[1:], read, "s--", color=BEFORE, lw=1.5, ms=5)
        end = places[-1] + 0.3
        axes.text(end, stream[-1] * 1.08, "stream\nafter it", va="center")
        axes.text(end, written[-1] * 1.1, "what it\nwrites", va="center")
        axes.text(end, read[-1] * 0.9, "what it\nreads", va="center")
        axes.set(yscale="log", xlim=(-0.4, places[-1] + 2.1), ylim=(0.15, 4.6))
        axes.set_yticks([0.2, 0.5, 1, 2, 4], ["0.2", "0.5", "1", "2", "4"])
        axes.minorticks_off()
        axes.set_xticks(places, names, fontsize=10)
        axes.set_ylabel("size (root mean square)")
        axes.set_xlabel("sublayer", loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=INK, alpha=0.15)
    series = {
        "the stream, from the input on": stream,
        "what the sublayers read": read,
        "what they write": written,
    }
    alt = (
        "Line chart on a logarithmic axis of root mean squares along the trained model. "
        + "; ".join(f"{k}: " + ", ".join(f"{v:.2f}" for v in vs) for k, vs in series.items())
        + "."
    )
    return Drawing("stream", figure, alt)


def cost(lengths: list[int], seconds: dict[str, list[float]], guide: int) -> Drawing:
    """Draw measured times against the length of the text, lines of T and of T squared beside.

    Args:
        lengths: of the text, T.
        seconds: by name, one time per length; "attention step" and "recurrent layer" get a line.
        guide: the length at which those lines touch the measurement.
    """
    looks = {
        "attention layer": (GREEN, "^-"),
        "attention step": (BEFORE, "s-"),
        "recurrent layer": (AFTER, "o-"),
    }
    at = lengths.index(guide)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 4.8), layout="constrained")
        axes = figure.add_subplot()
        for name, power in (("attention step", 2), ("recurrent layer", 1)):
            start = seconds[name][at] * 1e3
            line = [start * (T / guide) ** power for T in lengths]
            axes.plot(lengths, line, color=INK, lw=1.2, ls=(0, (2, 3)))
            label = "$T^2$" if power == 2 else "$T$"
            axes.text(lengths[-1] * 1.1, line[-1] * 0.85, label, va="center")
        for name, (colour, line) in looks.items():
            times = [s * 1e3 for s in seconds[name]]
            axes.plot(lengths, times, line, color=colour, lw=1.8, ms=6, label=name)
        axes.legend(loc="upper left", frameon=False)
        axes.set(xscale="log", yscale="log", xlabel="length of the text $T$")
        axes.set_ylabel("milliseconds")
        axes.set_xticks(lengths, [f"{T:,}" for T in lengths])
        axes.set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=INK, alpha=0.15)
    alt = (
        "Line chart on logarithmic axes of milliseconds against the length T, with dotted lines "
        f"of T squared and of T. At T = {', '.join(f'{T:,}' for T in lengths)}: "
        + "; ".join(
            f"{name} " + ", ".join(f"{s * 1e3:.2f}" for s in values)
            for name, values in seconds.items()
        )
        + "."
    )
    return Drawing("cost", figure, alt)
