"""The results: their tables, the learning curves, and what a trained model says comes next."""

from dataclasses import dataclass

import matplotlib as mpl
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from minigpt.artifacts import DATA, read_json
from minigpt.figures.drawing import AFTER, BEFORE, INK, STYLE, Drawing, visible
from minigpt.rows import COUNTED, TRAINED
from minigpt.runs import reported

# What the original workshop reports for its own runs, in nats per character: one seed each.
ORIGINAL = {key: row.original for key, row in (COUNTED | TRAINED).items()}
GREEN = "#009E73"


@dataclass(frozen=True)
class MarkdownTable:
    """A table in Markdown, to be glued into a page."""

    text: str

    def _repr_markdown_(self) -> str:
        return self.text


def measured() -> dict[str, dict]:
    """Give the rows of ``data/baselines.json``."""
    return read_json(DATA / "baselines.json")["rows"]


def results_table() -> MarkdownTable:
    """Write the rows that were measured as a table."""
    lines = [
        "| Model | Parameters | Steps × batch | Nats | Range | Perplexity | Bits |",
        "|:--|--:|--:|--:|--:|--:|--:|",
    ]
    times = "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}"
    for row in measured().values():
        several = (row["seeds"] or 0) > 1
        cells = [
            row["name"] + (f" ({row['seeds']} seeds)" if several else ""),
            f"{row['parameters']:,}" if row["parameters"] else "–",
            f"{row['steps']:,}{times}{row['batch']}" if row["steps"] else "counts",
            f"{row['nats']:.4f}",
            f"{row['lowest']:.4f}–{row['highest']:.4f}" if several else "–",
            f"{row['perplexity']:.2f}",
            f"{row['bits']:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return MarkdownTable("\n".join(lines))


def original_table() -> MarkdownTable:
    """Set the numbers that the original workshop reports beside those measured here."""
    lines = [
        "| Model | Measured here | The original workshop |",
        "|:--|--:|--:|",
    ]
    for key, row in measured().items():
        lines.append(f"| {row['name']} | {row['nats']:.4f} | {ORIGINAL[key]} |")
    return MarkdownTable("\n".join(lines))


def comparison(size: str) -> dict:
    """Compare the mini-GPT and the LSTM at one budget, "full" or "quick".

    Returns:
        ``leader`` and ``other`` in words, the ``gap`` between their means, the larger of their
        two ranges over seeds, ``range``, and whether the ranges are ``apart``.
    """
    rows = measured()
    pair = {"the mini-GPT": rows[f"gpt-{size}"], "the LSTM": rows[f"lstm-{size}"]}
    leader, other = sorted(pair, key=lambda name: pair[name]["nats"])
    return {
        "leader": leader,
        "other": other,
        "gap": pair[other]["nats"] - pair[leader]["nats"],
        "range": max(row["highest"] - row["lowest"] for row in pair.values()),
        "apart": pair[leader]["highest"] < pair[other]["lowest"],
    }


def trained_curves(model: str, size: str) -> list[list[dict]]:
    """Give the validation curves behind one row of the table, by seed."""
    return [record["curve"] for record in reported(model, size)]


def curves(name: str = "curves") -> Drawing:
    """Draw the validation loss of every seed during training, a panel for each budget.

    Args:
        name: of the drawing.
    """
    looks = {"gpt": ("mini-GPT", AFTER, "-", "o"), "lstm": ("LSTM", BEFORE, "--", "s")}
    titles = {"full": "full budget, batch 64", "quick": "QUICK, batch 16"}
    described = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 6.8), layout="constrained")
        panels = figure.subplots(2, sharex=True, sharey=True)
        for axes, (size, title) in zip(panels, titles.items(), strict=True):
            for model, (label, colour, dashes, marker) in looks.items():
                found = trained_curves(model, size)
                steps = [point["step"] for point in found[0]]
                losses = torch.tensor([[point["valid"] for point in curve] for curve in found])
                low, high = losses.amin(dim=0), losses.amax(dim=0)
                axes.fill_between(steps, low, high, color=colour, alpha=0.3, lw=0)
                for loss in losses.tolist():
                    axes.plot(steps, loss, color=colour, lw=0.8, ls=dashes, marker=marker, ms=3)
                above = model == "gpt"
                axes.annotate(
                    label,
                    (steps[0], (high if above else low)[0].item()),
                    xytext=(12, 0) if above else (-8, -22),
                    textcoords="offset points",
                    va="center" if above else "baseline",
                )
                ends = losses[:, -1].tolist()
                described.append(
                    f"{label} at the {'full' if size == 'full' else 'QUICK'} budget, "
                    f"{len(found)} seeds: {losses[:, 0].mean():.2f} at step {steps[0]:,}, between "
                    f"{min(ends):.3f} and {max(ends):.3f} at step {steps[-1]:,}"
                )
            axes.set_title(title, fontsize=11, loc="left")
            axes.set_ylim(1.3, 2.55)
            axes.grid(axis="y", color=INK, alpha=0.15)
            axes.spines[["top", "right"]].set_visible(False)
        panels[-1].set_xlabel("training step")
        figure.supylabel("validation loss, nats", fontsize=11)
    alt = (
        "Two line charts of the validation loss in nats per character during training, every seed "
        "a line, the range of the seeds shaded. " + "; ".join(described) + "."
    )
    return Drawing(name, figure, alt)


def next_characters(
    logits: Tensor, characters: list[str], temperatures: tuple[float, ...], prompt: str
) -> Drawing:
    """Draw the probabilities of the next character at several temperatures, a panel for each.

    Args:
        logits: (V,).
        characters: the V characters.
        temperatures: by which the logits are divided.
        prompt: the text that was read.
    """
    shown = logits.topk(8).indices  # the same for every temperature
    ticks = [visible(characters[i]) for i in shown.tolist()]
    described = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 5.2), layout="constrained")
        panels = figure.subplots(len(temperatures), sharex=True, sharey=True)
        for axes, temperature in zip(panels, temperatures, strict=True):
            probabilities = (logits / temperature).softmax(dim=-1)  # (V,)
            heights = probabilities[shown].tolist()
            rest = 1 - sum(heights)
            axes.bar(range(len(shown)), heights, color=AFTER, width=0.72)
            axes.bar(len(shown) + 0.4, rest, fill=False, ec=INK, hatch="////", width=0.72)
            places = [*range(len(shown)), len(shown) + 0.4]
            for place, height in zip(places, [*heights, rest], strict=True):
                axes.text(
                    place, height + 0.01, f"{height:.2f}", ha="center", va="bottom", fontsize=10
                )
            axes.set_title(rf"$\tau$ = {temperature}", fontsize=11, loc="left")
            axes.set_xticks(places, [*ticks, "rest"])
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(axis="x", length=0)
            described.append(
                f"temperature {temperature}: "
                + ", ".join(f"{c} {h:.2f}" for c, h in zip(ticks, heights, strict=True))
                + f", the other {len(characters) - len(shown)} characters together {rest:.2f}"
            )
        tallest = max(bar.get_height() for axes in panels for bar in axes.patches)
        panels[0].set_ylim(0, 1.25 * tallest)
        figure.supylabel("probability", fontsize=11)
    alt = (
        f"Bar charts of the mini-GPT's probabilities for the character after {prompt!r}. "
        + "; ".join(described)
        + "."
    )
    return Drawing("next-characters", figure, alt)


def variants() -> Drawing:
    """Draw what each position reads in the three variants, one cell per pair of positions."""
    T, S = 5, 6
    panels = [
        ("decoder-only", "position read", torch.ones(T, T).tril()),
        ("encoder-only", "position read", torch.ones(T, T)),
        ("encoder-decoder:\ndecoder reads itself", "target read", torch.ones(T, T).tril()),
        ("encoder-decoder:\ncross-attention", "source read", torch.ones(T, S)),
    ]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.8, 4.9), layout="constrained")
        for axes, (title, below, may_read) in zip(figure.subplots(2, 2).flat, panels, strict=True):
            for t, row in enumerate(may_read.tolist()):
                for i, allowed in enumerate(row):
                    look = (
                        {"fc": AFTER, "ec": INK}
                        if allowed
                        else {"fill": False, "ec": INK, "hatch": "////"}
                    )
                    axes.add_patch(Rectangle((i - 0.5, t - 0.5), 1, 1, lw=0.7, **look))
            rows, columns = may_read.shape
            axes.set(xlim=(-0.52, S - 0.48), ylim=(rows - 0.48, -0.52), aspect="equal")
            axes.set_xticks(range(columns), [str(i + 1) for i in range(columns)])
            axes.set_yticks(range(rows), [str(t + 1) for t in range(rows)])
            middle = columns / 2 / (S + 0.04)  # of the grid, in a panel as wide as the widest
            axes.set_title(title, fontsize=10, x=middle)
            axes.set_xlabel(below, fontsize=10, x=middle)
            axes.tick_params(length=0, labelsize=9)
            axes.spines[:].set_visible(False)
        figure.supylabel("position that reads", fontsize=10)
    alt = (
        f"Four grids, a row per position that reads, blue where it may read and hatched where not. "
        f"Decoder-only, {T} by {T}: blue on and below the diagonal. Encoder-only, {T} by {T}: all "
        f"blue. Encoder-decoder: the decoder's self-attention is blue on and below the diagonal; "
        f"its cross-attention, {T} target rows by {S} source columns, is all blue."
    )
    return Drawing("variants", figure, alt)


def fading(gradients: dict[str, Tensor]) -> Drawing:
    """Draw how the gradient of a state shrinks with the distance of the input.

    Args:
        gradients: by the name of a network, the norm of the gradient for the input 0, 1, ...
            steps back.
    """
    looks = [(BEFORE, ":", 12), (GREEN, "--", -31), (AFTER, "-", 10)]
    described = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.9), layout="constrained")
        axes = figure.add_subplot()
        for (name, gradient), (colour, dashes, off) in zip(gradients.items(), looks, strict=True):
            share = (gradient / gradient[0]).tolist()
            axes.plot(share, color=colour, ls=dashes, lw=2)
            axes.annotate(
                name,
                (len(share) * 0.45, share[int(len(share) * 0.45)]),
                xytext=(4, off),
                textcoords="offset points",
            )
            described.append(f"{name}, {share[10]:.1g} at 10 steps and {share[-1]:.1g} at the end")
        axes.set(yscale="log", xlabel="steps back", ylabel="gradient, as a share")
        axes.set_xlim(0, len(share) - 1)
        axes.grid(axis="y", color=INK, alpha=0.15)
        axes.spines[["top", "right"]].set_visible(False)
        axes.minorticks_off()
    alt = (
        f"Line chart, logarithmic, of how much of the gradient reaches inputs up to "
        f"{len(share) - 1} steps back, as a share of that at the last input. "
        + "; ".join(described)
        + "."
    )
    return Drawing("fading", figure, alt)


def check_sentences() -> None:
    """See that the results are such as section 7 and the debrief describe in words.

    Raises:
        ValueError: they are not; the sentences have to be written anew.
    """
    rows, full, quick = measured(), comparison("full"), comparison("quick")
    ends = {
        model: [curve[-1]["valid"] for curve in trained_curves(model, "full")]
        for model in ("gpt", "lstm")
    }
    valid_gap = sum(ends["gpt"]) / len(ends["gpt"]) - sum(ends["lstm"]) / len(ends["lstm"])
    holds = (
        full["leader"] == quick["leader"] == "the LSTM",
        full["apart"] and quick["apart"] and quick["gap"] > 2 * full["gap"],
        rows["lstm-full"]["nats"] < rows["lstm-lab3"]["nats"] < rows["5-gram"]["nats"],
        0 < valid_gap < full["gap"] / 2,
        all(max(ends[model]) < rows[f"{model}-full"]["lowest"] for model in ends),
    )
    if not all(holds):
        raise ValueError(
            "the results have changed, and the sentences on them no longer hold: read the fold of "
            "section 7 and the debrief beside data/baselines.json, and write them anew"
        )
