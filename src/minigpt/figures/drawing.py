"""What all figures share: one look, one way to be shown, and words for what they show."""

import html
import io
import re
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from minigpt.artifacts import write_atomic

# A sequential palette of one hue, told apart by lightness alone, so by every reader.
WEIGHTS = mpl.colormaps["Blues"]
# Text and lines drawn in this colour take the colour of the page's own text, light or dark.
INK = "#010203"
BEFORE, AFTER = "#D55E00", "#0072B2"  # Okabe and Ito (2008); told apart by their place too
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "svg.fonttype": "path",
    "svg.hashsalt": "minigpt",
    "hatch.linewidth": 0.7,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.color": INK,
}


@dataclass(frozen=True)
class Drawing:
    """A figure with its alternative text; a notebook or a page of the book shows it as SVG."""

    name: str  # unique on a page, made of letters and hyphens
    figure: Figure
    alt: str

    def svg(self) -> str:
        """Give the figure as one SVG element that follows the colours of the page around it."""
        buffer = io.StringIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(
                buffer,
                format="svg",
                transparent=True,
                bbox_inches="tight",
                pad_inches=0.05,
                metadata={"Date": None, "Creator": None},
            )
        svg = buffer.getvalue()
        svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
        # Two figures on a page must not share an id.
        svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", svg)
        # Text comes out at about the size of the page's own; narrow pages shrink it.
        width = f"max-width: {6 * self.figure.get_figwidth():.0f}rem"
        label = (
            f'<svg role="img" aria-label="{html.escape(self.alt)}" class="drawing" style="{width}"'
        )
        return svg.replace("<svg", label, 1).strip()

    def save(self, path: Path) -> None:
        """Write the figure as an SVG file that brings its own light background."""
        colours = 'style="background: white; color: black; '
        write_atomic(path, self.svg().replace('style="', colours, 1).encode())

    def _repr_html_(self) -> str:
        return self.svg()


def readable_on(colour: tuple[float, ...]) -> str:
    """Choose black or white, whichever stands out more (WCAG 2.2, relative luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # The contrasts with black and with white are equal at this luminance.
    return "black" if luminance > 0.179 else "white"


def visible(character: str) -> str:
    """Write a character so that it can be seen: a space as ␣, a line's end as ↵."""
    return {" ": "␣", "\n": "↵"}.get(character, character)


@dataclass(frozen=True)
class Words:
    """A piece of text made from data, to stand in a sentence without quotation marks."""

    text: str

    def __repr__(self) -> str:
        return self.text
