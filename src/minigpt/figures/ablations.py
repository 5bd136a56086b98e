"""What each part of the mini-GPT is worth: the variants beside the model itself."""

import math

import matplotlib as mpl
from matplotlib.figure import Figure

from minigpt.artifacts import DATA, read_json
from minigpt.figures.drawing import AFTER, BEFORE, INK, STYLE, Drawing
from minigpt.figures.results import MarkdownTable

ITSELF = "mini-gpt"
TICKS = (-0.1, 0, 0.1, 0.2, 0.5, 1, 2)


def measured() -> dict[str, dict]:
    """Give the rows of ``data/ablations.json``."""
    return read_json(DATA / "ablations.json")["rows"]


def difference(rows: dict[str, dict], name: str) -> float:
    """Say how many nats per character a variant scores above the mini-GPT, in the means."""
    return rows[name]["nats"] - rows[ITSELF]["nats"]


def seed_range(row: dict) -> float:
    """Say how far the seeds of one row lie apart, in nats per character."""
    return row["highest"] - row["lowest"]


def apart(rows: dict[str, dict], name: str) -> bool:
    """Say whether all seeds of a variant lie on one side of all seeds of the mini-GPT."""
    row, itself = rows[name], rows[ITSELF]
    return row["lowest"] > itself["highest"] or row["highest"] < itself["lowest"]


def _in_symbols(name: str) -> str:
    """Write the roots in a name as mathematics, which pages and figures can both set."""
    return name.replace("√d_k", r"$\sqrt{d_k}$").replace("√d", r"$\sqrt{d}$")


def by_effect(rows: dict[str, dict]) -> list[str]:
    """Name the rows from the lowest loss to the highest, without the variant that reads ahead.

    The loss of that one is no prediction, so it has no place among the others.
    """
    return sorted(
        (name for name in rows if "writing" not in rows[name]), key=lambda name: rows[name]["nats"]
    )


def table(rows: dict[str, dict]) -> MarkdownTable:
    """Write the variants as a table, by effect, and the mini-GPT among them."""
    lines = [
        "| What differs | Nats | Seeds | Against the mini-GPT | Parameters | Learning rate |",
        "|:--|--:|--:|--:|--:|--:|",
    ]
    for name in by_effect(rows):
        row, itself = rows[name], name == ITSELF
        cells = [
            f"**{row['name']}**" if itself else _in_symbols(row["name"]),
            f"{row['nats']:.3f}",
            f"{row['lowest']:.3f}–{row['highest']:.3f}",
            "–" if itself else f"{difference(rows, name):+.3f}".replace("-", "−"),
            f"{row['parameters']:,}",
            f"{row['learning_rate']:g}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return MarkdownTable("\n".join(lines))


def rates_table(rows: dict[str, dict]) -> MarkdownTable:
    """Write what variants scored with each learning rate, for those that were given several."""
    lines = [
        "| What differs | Learning rate | Validation loss, seed 0 | Choice |",
        "|:--|--:|--:|:--|",
    ]
    for row in rows.values():
        tried = row.get("valid_by_rate", {})
        for rate, nats in tried.items() if len(tried) > 1 else ():
            kept = "kept" if float(rate) == row["learning_rate"] else ""
            lines.append(f"| {row['name']} | {rate} | {nats:.3f} | {kept} |")
    return MarkdownTable("\n".join(lines))


def effects(name: str, rows: dict[str, dict], variants: list[str]) -> Drawing:
    """Draw how far variants are from the mini-GPT, a row for each and a dot for each seed.

    Args:
        name: of the drawing.
        rows: as :func:`measured` gives them.
        variants: the rows to draw, from the top; the range of the mini-GPT's own seeds is shaded.
    """
    described = []
    itself = rows[ITSELF]["nats"]
    away_from_mean = {
        name: [nats - itself for nats in rows[name]["by_seed"].values()]
        for name in {ITSELF, *variants}
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.8, 0.4 * len(variants) + 1.0), layout="constrained")
        axes = figure.add_subplot()
        of_itself = away_from_mean[ITSELF]
        axes.axvspan(min(of_itself), max(of_itself), color=INK, alpha=0.18, lw=0)
        for place, variant in enumerate(variants):
            seeds = away_from_mean[variant]
            better = sum(seeds) < 0
            look = {"marker": "o", "color": INK}
            if variant != ITSELF:
                look = {"marker": "<" if better else ">", "color": AFTER if better else BEFORE}
            axes.plot(seeds, [place] * len(seeds), ls="", ms=8, alpha=0.8, mew=0, **look)
            low, high = (f"{nats:+.3f}".replace("-", "−") for nats in (min(seeds), max(seeds)))
            described.append(f"{rows[variant]['name']}, {low} to {high}")
        names = [_in_symbols(rows[variant]["name"]).replace(", ", ",\n") for variant in variants]
        axes.set_yticks(range(len(variants)), names)
        # A tenth of a nat is to be seen beside one and a half.
        axes.set_xscale("symlog", linthresh=0.1, linscale=0.6)
        every = [away for variant in variants for away in away_from_mean[variant]]
        low, high = min(-0.1, *every) - 0.02, 1.25 * max(0.1, *every)
        axes.set_xlim(low, high)
        shown = [tick for tick in TICKS if low <= tick <= high]
        axes.set_xticks(shown, [f"{tick:+g}".replace("-", "−") if tick else "0" for tick in shown])
        axes.set_xticks([], minor=True)
        axes.set(ylim=(len(variants) - 0.5, -0.5), xlabel="test loss less the mini-GPT's, nats")
        axes.grid(axis="x", color=INK, alpha=0.15)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    alt = (
        "Dot plot of how many nats per character variants lie above the mean of the mini-GPT, a "
        "row per variant and a mark per seed, the range of the mini-GPT's own seeds shaded. Lowest "
        "and highest seed, from the top: " + "; ".join(described) + "."
    )
    return Drawing(name, figure, alt)


# The order in which the page goes through the rows; two neighbours may change places.
ORDER = [
    ["rotary"],
    ["post-norm", "post-norm-no-warm-up"],
    ["sinusoidal-scaled", ITSELF],
    ["no-scaling"],
    ["one-head"],
    ["no-norms"],
    ["no-ffn", "no-positions"],
    ["sinusoidal"],
    ["no-warm-up"],
    ["no-residuals"],
]
ALIKE = ("sinusoidal-scaled", "no-scaling")  # their seeds overlap with the mini-GPT's


def check_sentences() -> None:
    """See that the results are such as the sections and the page of the variants say in words.

    Raises:
        ValueError: they are not; the sentences have to be written anew.
    """
    everything = read_json(DATA / "ablations.json")
    rows, bigram = everything["rows"], everything["bigram"]["test"]
    order, mask = by_effect(rows), next(row for row in rows.values() if "writing" in row)
    for group in ORDER:
        if set(order[: len(group)]) != set(group):
            break
        order = order[len(group) :]
    holds = (
        not order,
        all(apart(rows, name) for name in rows if name not in (ITSELF, *ALIKE)),
        not any(apart(rows, name) for name in ALIKE),
        abs(difference(rows, "no-scaling")) < 1.5 * seed_range(rows[ITSELF]),
        rows["sinusoidal"]["nats"] > rows["no-positions"]["highest"],
        [name for name in rows if len(rows[name].get("valid_by_rate", {})) > 1] == ["no-residuals"],
        rows["no-residuals"]["lowest"] > bigram + 0.5,
        all(rows[name]["highest"] < bigram for name in rows if name != "no-residuals"),
        rows["no-positions"]["highest"] < bigram - 0.3,
        mask["highest"] < 0.1 < math.log(65) < mask["writing"],
        abs(mask["writing_full"] - bigram) < 0.3,
    )
    if not all(holds):
        raise ValueError(
            "the variants' results have changed, and the sentences on them no longer hold: read "
            "book/reference/ablations.md, sections 2 to 6 and the debrief beside "
            "data/ablations.json, and write them anew"
        )
