"""Figures of training."""

import matplotlib as mpl
from matplotlib.figure import Figure

from minigpt.figures.drawing import AFTER, INK, STYLE, Drawing


def learning_curve(curve: list[dict], recorded: list[list[dict]]) -> Drawing:
    """Draw the validation loss during training beside that of the seeds on record.

    Args:
        curve: of :class:`~minigpt.training.History`; one entry per validation.
        recorded: the curves of other trainings.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for other in recorded:
            axes.plot(
                [point["step"] for point in other],
                [point["valid"] for point in other],
                color=INK,
                alpha=0.45,
                lw=1,
                ls="--",
                label="seeds on record",
            )
        steps, losses = ([point[key] for point in curve] for key in ("step", "valid"))
        axes.plot(steps, losses, "o-", color=AFTER, label="yours")
        handles, labels = axes.get_legend_handles_labels()
        unique = dict(zip(labels, handles, strict=True))
        axes.legend(unique.values(), unique.keys(), frameon=False)
        axes.set(xlabel="training step", ylabel="validation loss, nats")
        axes.spines[["top", "right"]].set_visible(False)
    yours = ", ".join(
        f"{loss:.2f} at step {step:,}" for step, loss in zip(steps, losses, strict=True)
    )
    alt = f"Line chart of the validation loss in nats per character. Yours: {yours}."
    if recorded:
        ends = [other[-1]["valid"] for other in recorded]
        alt += (
            f" {len(recorded)} trainings on record are drawn dashed; they end between "
            f"{min(ends):.2f} and {max(ends):.2f}."
        )
    return Drawing("learning-curve", figure, alt)
