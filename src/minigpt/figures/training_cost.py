"""Figures of what a training step costs: measured by ``data/bench_scaling.py``, beside formulas."""

from collections.abc import Callable

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minigpt.cost import activation_bytes, state_bytes
from minigpt.figures.drawing import AFTER, BEFORE, INK, STYLE, Drawing
from minigpt.figures.results import MarkdownTable
from minigpt.model import Config

SIZES = {
    "T": ("length of the text", "$T$"),
    "d": ("width", "$d$"),
    "n_l": ("blocks", r"$n_\ell$"),
    "B": ("texts in a batch", "$B$"),
}
DOTTED = {"color": INK, "lw": 1.4, "ls": (0, (2, 3))}


def along(measured: dict, name: str) -> list[dict]:
    """Give the points of a measurement in which no size but one differs from the mini-GPT's."""
    same = {size: value for size, value in measured["default"].items() if size != name}
    points = [point for point in measured["points"] if same.items() <= point.items()]
    return sorted(points, key=lambda point: point[name])


def at_one_speed(measured: dict, points: list[dict]) -> list[float]:
    """Give the seconds that steps would take if operations always went as fast as the mini-GPT's.

    Raises:
        ValueError: the mini-GPT itself was not measured.
    """
    own = [p for p in measured["points"] if measured["default"].items() <= p.items()]
    if not own:
        raise ValueError(f"no point has the sizes of the mini-GPT, {measured['default']}")
    speed = own[0]["flop"] / own[0]["seconds"]
    return [point["flop"] / speed for point in points]


def over_the_line(measured: dict) -> MarkdownTable:
    """Divide the times at the ends of each series by what they would be at one speed."""
    lines = ["| series | at its smallest | at its largest |", "|---|--:|--:|"]
    for name, (word, letter) in SIZES.items():
        points = along(measured, name)
        over = [
            point["seconds"] / expected
            for point, expected in zip(points, at_one_speed(measured, points), strict=True)
        ]
        span = f"{points[0][name]:,} to {points[-1][name]:,}"
        lines.append(f"| {word} {letter}, from {span} | {over[0]:.2f} | {over[-1]:.2f} |")
    return MarkdownTable("\n".join(lines))


def model_of(point: dict) -> Config:
    """Give the model that was measured at a point."""
    return Config(d=point["d"], n_l=point["n_l"], T_max=point["T"])


def _panels(measured: dict, draw: Callable[[Axes, str, list[int]], None], unit: str) -> Figure:
    """Draw a panel per size, all with the same logarithmic axis upwards, and one legend."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 5.8), layout="constrained")
        grid = figure.subplots(2, 2, sharey=True).flat
        for axes, (name, (word, letter)) in zip(grid, SIZES.items(), strict=True):
            values = [point[name] for point in along(measured, name)]
            draw(axes, name, values)
            axes.set(xscale="log", yscale="log", xlabel=f"{word} {letter}")
            every = 2 if len(values) > 5 else 1  # a tick each, and names for as many as fit
            named = values[::-every]
            axes.set_xticks(values, [f"{value:,}" if value in named else "" for value in values])
            axes.minorticks_off()
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g}")
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color=INK, alpha=0.15)
        figure.supylabel(unit, fontsize=11)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", frameon=False)
    return figure


def step_times(machines: dict[str, dict]) -> Drawing:
    """Draw the time of a training step against each of its sizes, and what operations alone say.

    Args:
        machines: measurements by the name of what was measured, one or two.
    """
    looks = ((AFTER, "o-"), (BEFORE, "s-"))
    described = []

    def draw(axes: Axes, name: str, values: list[int]) -> None:
        for (machine, measured), (colour, line) in zip(machines.items(), looks, strict=False):
            points = along(measured, name)
            milliseconds = [1e3 * point["seconds"] for point in points]
            expected = [1e3 * seconds for seconds in at_one_speed(measured, points)]
            low, high = zip(*(point["quartiles"] for point in points), strict=True)
            axes.vlines(
                values,
                [1e3 * s for s in low],
                [1e3 * s for s in high],
                color=colour,
                lw=5,
                alpha=0.4,
            )
            axes.plot(values, milliseconds, line, color=colour, lw=1.8, ms=5, label=machine)
            axes.plot(values, expected, **DOTTED)
            described.append(
                f"{machine}, {SIZES[name][0]} {', '.join(f'{value:,}' for value in values)}: "
                f"measured {', '.join(f'{ms:.1f}' for ms in milliseconds)}, "
                f"by its operations {', '.join(f'{ms:.1f}' for ms in expected)}"
            )
        axes.lines[-1].set_label("operations, all at one speed")

    figure = _panels(next(iter(machines.values())), draw, "milliseconds per step")
    alt = (
        "Four line charts on logarithmic axes: the milliseconds of a training step as one size "
        "grows, beside dotted lines that go through the mini-GPT's own time and follow the number "
        f"of operations. {'; '.join(described)}."
    )
    return Drawing("step-times", figure, alt)


def step_memory(measured: dict) -> Drawing:
    """Draw the counted memory of a training step against each of its sizes, on its formulas."""
    looks = {
        "state_bytes": ("parameters, gradients, AdamW's means", "s", AFTER),
        "saved_bytes": ("kept for the backward pass", "o", BEFORE),
    }
    described = []

    def draw(axes: Axes, name: str, values: list[int]) -> None:
        points = along(measured, name)
        models = [model_of(point) for point in points]
        formulas = {
            "state_bytes": [state_bytes(model) for model in models],
            "saved_bytes": [
                activation_bytes(model, point["B"], point["T"])
                for model, point in zip(models, points, strict=True)
            ],
        }
        for key, (label, mark, colour) in looks.items():
            megabytes = [point[key] / 1e6 for point in points]
            axes.plot(values, megabytes, mark, color=colour, ms=6, label=label)
            axes.plot(values, [size / 1e6 for size in formulas[key]], **DOTTED)
            described.append(
                f"{SIZES[name][0]} {', '.join(f'{value:,}' for value in values)}: {label} "
                f"{', '.join(f'{size:.1f}' for size in megabytes)}"
            )
        axes.lines[-1].set_label("the formulas")

    figure = _panels(measured, draw, "megabytes")
    alt = (
        "Four charts on logarithmic axes: the megabytes of a training step as one size grows. All "
        f"points lie on the dotted lines of the formulas. {'; '.join(described)}."
    )
    return Drawing("step-memory", figure, alt)
