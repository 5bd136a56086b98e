"""Tests of the book's figures: what they say in words, what they draw, and that they fit a page."""

import colorsys
import functools
import math
import re
import xml.etree.ElementTree as ET

import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from minigpt.artifacts import DATA, read_json
from minigpt.cost import activation_bytes, flops_per_step, state_bytes
from minigpt.figures import (
    ablations,
    attention,
    block,
    drawing,
    heads,
    results,
    training_cost,
)
from minigpt.figures import scores_and_positions as positions

TEXT = "a <&"
A = torch.tensor(
    [[1.0, 0, 0, 0], [0.27, 0.73, 0, 0], [0.11, 0.55, 0.34, 0], [0.62, 0.05, 0.04, 0.29]]
)
EVEN = torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]
FIRST = torch.zeros(4, 4).index_fill(1, torch.tensor([0]), 1.0)  # everyone reads position 1
MAPS = torch.stack([A, EVEN, FIRST, torch.eye(4)])
MOVED = {
    "with mask": torch.tensor([0, 0, 1.23, 4.56]),
    "without": torch.tensor([0.17, 0.89, 2.34, 3.21]),
}
SCALING = {
    4: {"sd": 2.03, "sd_scaled": 1.04, "slope": 0.065, "slope_scaled": 0.081},
    256: {"sd": 15.97, "sd_scaled": 0.99, "slope": 0.012, "slope_scaled": 0.079},
}
SCORE_ROWS = {
    4: (torch.tensor([0.125, 0.625, 0.25]), torch.tensor([0.25, 0.4, 0.35])),
    256: (torch.tensor([0.003, 0.006, 0.991]), torch.tensor([0.31, 0.322, 0.368])),
}
TABLE = torch.linspace(-0.1, 0.1, 70 * 6).view(70, 6)
COSINES = {
    "learned": torch.eye(70),
    "sinusoidal": 0.75 * torch.ones(70, 70) - 0.5 * torch.ones(70, 70).triu(30),
}
OMEGAS = {1: 1.0, 16: 0.145, 64: 0.001}
NORMS = {
    "small": {
        "pre": torch.tensor([[0.5, 0.25, 0.125], [0.7, 0.35, 0.375]]),
        "post": torch.tensor([[0.02, 0.1, 1.5], [0.04, 0.3, 1.9]]),
    },
    "large": {"pre": torch.tensor([[0.811, 0.5, 0.322]]), "post": torch.tensor([[0.033, 1, 2.1]])},
}
STREAM = ([0.21, 0.53, 0.94, 1.37, 2.68], [1.01, 1.02, 1.03, 1.04], [0.46, 0.71, 0.83, 1.92])
LENGTHS = [32, 64, 1024]
SECONDS = {
    "attention step": [1e-5, 4e-5, 0.0256],
    "attention layer": [2e-4, 4.5e-4, 0.03],
    "recurrent layer": [1.5e-3, 2.5e-3, 0.047],
}
EFFECTS = {
    "mini-gpt": {"name": "itself", "nats": 1.75, "by_seed": {"0": 1.7, "1": 1.8}},
    "rotary": {"name": "rotary positions", "nats": 1.55, "by_seed": {"0": 1.6, "1": 1.5}},
}
MINE = {"T": 128, "d": 128, "n_l": 4, "B": 16}


def measured_steps(speed: float) -> dict:
    """Measurements of steps of three lengths, widths, depths and batches, at an uneven speed."""
    points = []
    for name, value in MINE.items():
        for factor in (2, 1, 0.5) if name == "T" else (2, 0.5):  # its own sizes once
            point = MINE | {name: int(value * factor)}
            model = training_cost.model_of(point)
            flop = flops_per_step(model, point["B"], point["T"])
            seconds = flop / speed * (0.75 + 0.25 * factor)
            point |= {
                "flop": flop,
                "seconds": seconds,
                "quartiles": [0.9 * seconds, 1.2 * seconds],
                "state_bytes": state_bytes(model),
                "saved_bytes": activation_bytes(model, point["B"], point["T"]) + 2e6,
            }
            points.append(point)
    return {"default": MINE, "points": points}


STEPS = {"two threads": measured_steps(5e10), "one GPU": measured_steps(4e12)}
CHARACTERS = list("\n abcdefghij")
LOGITS = torch.tensor([0.0, 3.0, 1.0, -1.0, 2.0, 0.5, -2.0, 1.5, -3.0, 0.2, -0.4, -5.0])
FADING = {
    name: 3.0 * rate ** torch.arange(31.0)
    for name, rate in (("RNN", 0.5), ("LSTM", 0.9), ("GPT", 0.99))
}

# By name: how each drawing comes about, and numbers of its data that its words must hold.
DRAWINGS = {
    "causal-weights": (
        lambda: attention.causal_weights(A, TEXT, 3, 2),
        ["layer 3", "head 2", "0.27, 0.73", "0.11, 0.55, 0.34", "0.62, 0.05, 0.04, 0.29"],
    ),
    "leak": (
        lambda: attention.leak(MOVED, TEXT, 2),
        ["number 3", "exactly 0", "1.23 to 4.56", "up to 0.89", "2.34 to 3.21"],
    ),
    "my-maps": (
        lambda: attention.weight_maps("my-maps", {"back": A, "ahead": A.T}, TEXT),
        ["2 heat maps", "4 by 4", f"{(0.27 + 0.66 + 0.11 + 1.86 + 0.1 + 0.04) / 4:.1f}", "0.62"],
    ),
    "head-distances": (
        lambda: attention.head_distances(torch.tensor([[1.3, 30.1], [4.0, 7.6], [9.4, 0.2]])),
        ["6 heads", "layer 1: 1.3, 30.1", "layer 2: 4.0, 7.6", "layer 3: 9.4, 0.2"],
    ),
    "one-query": (
        lambda: heads.one_query(A[2], TEXT, 3),
        ["position 3", "0.11 of position 1", "0.55 of position 2 (␣)", "0.34 of position 3"],
    ),
    "split": (lambda: heads.split(96, 4), ["4 heads", "96 columns", "slices of 24 columns"]),
    "head-maps": (
        lambda: heads.head_maps(MAPS, 2),
        ["4 heat maps", "layer 2", "head 1: 0.8", f"{math.log(24) / 4:.2f}", "head 3: 1.5"],
    ),
    "head-rows": (
        lambda: heads.head_rows(MAPS, TEXT, 4),
        ["first 4 characters", "weight 0.62", "weight 0.25", "weight 1.00", "position 4 (&), with"],
    ),
    "attention-shapes": (positions.attention_shapes, ["T by T", "T by d_k", "d_k by T"]),
    "scaling-measured": (
        lambda: positions.scaling_measured(SCALING),
        ["d_k = 4: spread 2.03 against 1.04", "0.065 against 0.081", "d_k = 256: spread 15.97"],
    ),
    "scaling-rows": (
        lambda: positions.scaling_rows(SCORE_ROWS),
        ["2 widths", "d_k = 4: 0.625 against 0.400", "d_k = 256: 0.991 against 0.368"],
    ),
    "position-tables": (
        lambda: positions.position_tables(TABLE, 20 * TABLE),
        ["70 positions by 6 coordinates", f"{3 * TABLE.numpy().std():.2f} on either side"],
    ),
    "position-similarity": (
        lambda: positions.position_similarity(COSINES),
        ["Learned", "0.00 on average", "Sinusoidal", "0.75 on average", "0.25 for positions 64"],
    ),
    "clock-hands": (
        lambda: positions.clock_hands(OMEGAS, 5),
        ["3 dials", "from 0 to 4", "j = 1: 1.000", "j = 16: 0.145", "j = 64: 0.001"],
    ),
    "block": (block.block_diagram, ["Pre-norm block", "Post-norm block", "The whole model"]),
    "gradients": (
        lambda: block.gradient_norms(NORMS),
        ["pre-norm: 0.600 in block 1, 0.250 in block 3", "0.030 in block 1, 1.700", "0.811", "2.1"],
    ),
    "stream": (
        lambda: block.stream_sizes(*STREAM),
        ["0.21, 0.53, 0.94, 1.37, 2.68", "1.01, 1.02, 1.03, 1.04", "0.46, 0.71, 0.83, 1.92"],
    ),
    "cost": (
        lambda: block.cost(LENGTHS, SECONDS, 64),
        ["32, 64, 1,024", "0.01, 0.04, 25.60", "0.20, 0.45, 30.00", "1.50, 2.50, 47.00"],
    ),
    "step-times": (
        lambda: training_cost.step_times(STEPS),
        [
            "two threads, length of the text 64, 128, 256: measured 92.5, 227.5, 649.4",
            "by its operations 105.7, 227.5, 519.5",
            "one GPU, texts in a batch 8, 16, 32: measured 1.2, 2.8, 7.1",
        ],
    ),
    "step-memory": (
        lambda: training_cost.step_memory(STEPS["two threads"]),
        ["blocks 2, 4, 8: parameters, gradients, AdamW's means 6.9, 13.2, 25.9", "width 64, 128"],
    ),
    "curves": (results.curves, ["mini-GPT", "LSTM", "3 seeds", "step 3,000", "step 1,500"]),
    "next-characters": (
        lambda: results.next_characters(LOGITS, CHARACTERS, (0.5, 1.0), "To be\n"),
        ["temperature 0.5", "temperature 1.0", "␣ 0.50", "the other 4 characters", r"'To be\n'"],
    ),
    "effects": (
        lambda: ablations.effects("effects", EFFECTS, ["rotary", "mini-gpt"]),
        ["rotary positions, −0.250 to −0.150", "itself, −0.050 to +0.050"],
    ),
    "variants": (results.variants, ["5 by 5", "5 target rows by 6 source columns"]),
    "fading": (
        lambda: results.fading(FADING),
        ["30 steps back", "RNN, 0.001 at 10", "LSTM, 0.3 at 10", "GPT, 0.9 at 10 steps and 0.7"],
    ),
}
# Text in a coloured cell is black or white, whichever can be read there.
ON_CELLS = {"causal-weights", "head-rows", "head-distances"}
every_drawing = pytest.mark.parametrize("name", DRAWINGS)


@functools.cache
def made(name: str) -> drawing.Drawing:
    return DRAWINGS[name][0]()


@functools.cache
def svg_of(name: str) -> str:
    return made(name).svg()


@functools.cache
def parsed(name: str) -> ET.Element:
    return ET.fromstring(svg_of(name))


def attributes(name: str, key: str) -> list[str]:
    return [e.get(key) for e in parsed(name).iter() if e.get(key) is not None]


def contrast(one, other) -> float:
    """Contrast of two colours as WCAG 2.2 defines it, from 1 to 21."""

    def luminance(colour):
        red, green, blue = (
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def words_in(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def page_rows(page: str) -> list[list[str]]:
    """Give the entries of an HTML table, row by row, after reading it as XML."""
    table = ET.fromstring(page)
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]


def scopes(page: str) -> list[list[str | None]]:
    return [[cell.get("scope") for cell in row] for row in ET.fromstring(page).iter("tr")]


def markdown_rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]


# Every drawing


@every_drawing
def test_a_drawing_says_in_words_what_it_shows(name):
    alt = made(name).alt
    assert len(alt) > 40
    assert alt[-1] == "."
    assert "\n" not in alt
    for number in DRAWINGS[name][1]:
        assert number in alt


@every_drawing
def test_a_drawing_is_one_image_whose_words_arrive_whole(name):
    svg = svg_of(name)
    assert svg.startswith("<svg ")
    assert svg.endswith("</svg>")
    assert svg.count("<svg") == 1
    root = parsed(name)
    assert root.get("role") == "img"
    assert root.get("aria-label") == made(name).alt


@every_drawing
def test_text_takes_the_colour_of_the_page(name):
    svg = svg_of(name)
    assert "currentColor" in svg
    assert drawing.INK not in svg
    groups = [g for g in parsed(name).iter() if re.search(r"-text_\d+$", g.get("id", ""))]
    assert groups
    if name not in ON_CELLS:
        for group in groups:
            for part in group:
                assert part.get("style", "") == "fill: currentColor"


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_line_is_black_or_white_on_every_page(name):
    for style in attributes(name, "style"):
        assert not re.search(r"stroke: (#000000|#ffffff|black|white)", style)


@pytest.mark.parametrize("name", ["causal-weights", "head-rows"])
def test_text_in_a_shaded_cell_can_be_read(name):
    (axes,) = made(name).figure.axes
    cells = [cell for cell in axes.patches if cell.get_fill()]
    found = 0
    for text in axes.texts:
        for cell in cells:
            x, y = text.get_position()
            across, down = x - cell.get_x(), y - cell.get_y()
            if 0 < across < cell.get_width() and 0 < down < cell.get_height():
                assert contrast(text.get_color(), cell.get_facecolor()) > 4.5
                found += 1
    assert found == len(cells) > 5


@pytest.mark.parametrize("ink", range(24))
def test_text_stands_out_on_any_colour(ink):
    for lightness in (0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1):
        colour = colorsys.hls_to_rgb(ink / 24, lightness, 0.8)
        assert contrast(drawing.readable_on((*colour, 1.0)), colour) > 4.5


def test_drawings_on_one_page_share_no_id():
    owners = {}
    for name in DRAWINGS:
        assert made(name).name == name
        assert re.fullmatch("[a-z]+(-[a-z]+)*", name)
        own = attributes(name, "id")
        assert len(own) > 3
        for one in set(own):
            assert one not in owners, (name, owners[one])
            owners[one] = name


@every_drawing
def test_what_a_drawing_refers_to_is_its_own(name):
    links = [link.removeprefix("#") for link in re.findall(r'href="([^"]*)"', svg_of(name))]
    links = [link for link in links if not link.startswith("data:")]
    links += re.findall(r"url\(#([^)]*)\)", svg_of(name))
    assert links
    assert set(links) <= set(attributes(name, "id"))


@every_drawing
def test_the_same_data_give_the_same_image(name):
    assert DRAWINGS[name][0]()._repr_html_() == svg_of(name)


def test_words_with_quotes_and_brackets_do_not_break_the_image():
    alt = "a < b & \"c\" > 'd'"
    svg = drawing.Drawing("odd", Figure(figsize=(1, 1)), alt).svg()
    assert ET.fromstring(svg).get("aria-label") == alt


def test_a_saved_image_is_a_file_that_a_browser_can_open(tmp_path):
    path = tmp_path / "split.svg"
    made("split").save(path)
    assert "background: white" in ET.parse(path).getroot().get("style")


def test_a_wider_figure_may_take_more_of_the_page():
    widths = [
        float(re.search(r"max-width: (\d+)rem", svg_of(name))[1]) for name in ("head-maps", "block")
    ]
    assert widths == [30, 35]


def test_spaces_and_line_ends_can_be_seen():
    assert [drawing.visible(c) for c in "a \n"] == ["a", "␣", "↵"]
    assert "␣" in made("causal-weights").alt
    ticks = made("next-characters").figure.axes[-1].get_xticklabels()
    assert [tick.get_text() for tick in ticks] == [*"␣cfa", "d", "h", "↵", "i", "rest"]


def test_words_made_from_data_stand_in_a_sentence_without_quotes():
    assert f"It reads {drawing.Words('the space')!r}." == "It reads the space."


# Attention


def test_the_head_that_spreads_most_is_found_and_counted_from_1():
    maps = torch.eye(4).repeat(3, 2, 1, 1)
    maps[2, 0] = EVEN
    assert attention.most_spread_head(maps) == (3, 1)
    assert attention.most_spread_head(maps.flip(0).flip(1)) == (1, 2)


def test_a_cell_is_darker_where_the_weight_is_larger_and_hatched_where_it_is_masked():
    (axes,) = made("causal-weights").figure.axes
    brightness = {}
    hatched = set()
    for cell in axes.patches:
        place = (round(cell.get_y() + 0.5), round(cell.get_x() + 0.5))
        if cell.get_hatch():
            hatched.add(place)
        else:
            brightness[place] = sum(cell.get_facecolor()[:3])
    assert hatched == {(t, i) for t in range(4) for i in range(4) if i > t}
    assert sorted(brightness, key=lambda p: -A[p]) == sorted(brightness, key=brightness.get)
    assert words_in(axes) == [f"{A[t, i]:.2f}" for t in range(4) for i in range(t + 1)]


def test_positions_before_and_after_a_change_differ_in_colour_and_0_is_written():
    with_mask, without = made("leak").figure.axes
    assert words_in(with_mask)[:2] == ["0", "0"]
    tops = [bar.get_y() + bar.get_height() for bar in with_mask.patches]
    assert tops == pytest.approx([1.23, 4.56])
    tops = [bar.get_y() + bar.get_height() for bar in without.patches]
    assert tops == pytest.approx([0.17, 0.89, 2.34, 3.21])
    colours = [bar.get_facecolor() for bar in without.patches]
    assert colours[0] == colours[1] != colours[2] == colours[3]


def test_maps_share_a_scale_and_leave_masked_cells_empty():
    back, ahead = made("my-maps").figure.axes
    assert back.images[0].get_clim() == ahead.images[0].get_clim()
    assert back.images[0].norm.vmin < 0 < back.images[0].norm.vmax == 1
    seen = back.images[0].get_array()
    assert torch.equal(torch.from_numpy(seen.mask), A == 0)
    assert seen.compressed() == pytest.approx(A[A != 0].numpy())
    assert [axes.get_title() for axes in (back, ahead)] == ["back", "ahead"]


def test_a_long_text_is_numbered_at_its_ends_and_a_short_one_written_out():
    ticks = made("my-maps").figure.axes[0].get_xticklabels()
    assert [tick.get_text() for tick in ticks] == ["a", "␣", "<", "&"]
    long = attention.weight_maps("long", {"one": torch.eye(13)}, "abcdefghijklm")
    assert [tick.get_text() for tick in long.figure.axes[0].get_yticklabels()] == ["1", "13"]


def test_every_head_is_a_dot_at_its_distance_in_the_row_of_its_layer():
    (axes,) = made("head-distances").figure.axes
    dots = [
        (line.get_ydata()[0], line.get_xdata()[0])
        for line in axes.lines
        if line.get_marker() == "o"
    ]
    places = [(text.get_position()[1], text.get_text()) for text in axes.texts]
    assert dots == [
        (layer, pytest.approx(distance))
        for layer, row in enumerate([[1.3, 30.1], [4.0, 7.6], [9.4, 0.2]])
        for distance in row
    ]
    assert places == [(layer, head) for layer in range(3) for head in "12"]
    left, right = axes.get_xlim()
    assert left < 0.2
    assert right > 30.1


def test_a_table_of_weights_shows_every_weight_and_names_its_rows_and_columns():
    page = attention.WeightTable(A, TEXT)._repr_html_()
    head, *rows = page_rows(page)
    names = ["1 a", "2 ␣", "3 <", "4 &"]
    assert head[1:] == names
    assert [row[0] for row in rows] == names
    assert rows[2][1:] == ["0.110", "0.550", "0.340", "0"]
    assert scopes(page) == [[None, *["col"] * 4], *[["row", *[None] * 4]] * 4]
    assert "tabindex" in ET.fromstring(page).attrib
    with pytest.raises(ValueError, match="argument"):
        attention.WeightTable(A, TEXT + "b")._repr_html_()


# Heads


def test_lines_are_wider_where_a_weight_is_larger_and_masked_positions_have_none():
    (axes,) = made("one-query").figure.axes
    read = [line for line in axes.lines if line.get_color() == drawing.AFTER]
    assert len(read) == 6
    width = {i: line.get_linewidth() for line in read for i in [line.get_xdata()[0]]}
    assert sorted(width, key=width.get) == [1, 3, 2]
    assert width[2] - width[1] == pytest.approx((width[3] - width[1]) * 0.44 / 0.23)
    assert words_in(axes).count("masked") == 1
    boxes = [box for box in axes.patches if isinstance(box, FancyBboxPatch)]
    assert sum(box.get_linestyle() not in ("-", "solid") for box in boxes) == 2


@pytest.mark.parametrize(("d", "n_h"), [(96, 4), (12, 2), (30, 3)])
def test_the_slices_of_the_heads_cover_all_columns_once(d, n_h):
    (axes,) = heads.split(d, n_h).figure.axes
    slices = [re.fullmatch(r"(\d+)–(\d+)", words) for words in words_in(axes)]
    slices = [range(int(m[1]), int(m[2]) + 1) for m in slices if m]
    assert len(slices) == 3 * n_h  # Q, K and V
    assert [c for s in slices for c in s] == [*range(1, d + 1)] * 3
    assert sum(isinstance(patch, Rectangle) for patch in axes.patches) == 4 * n_h


def test_the_layer_whose_heads_differ_most_is_found_and_counted_from_1():
    alike = torch.stack([EVEN, EVEN])  # wide, but alike
    varied = torch.stack([torch.eye(4), EVEN])
    assert heads.most_varied_layer(torch.stack([alike, varied, torch.stack([A, A])])) == 2
    assert heads.most_varied_layer(torch.stack([alike, alike, varied])) == 3


@pytest.mark.parametrize("n_h", [2, 3, 4])
def test_every_head_has_its_map_on_one_scale(n_h):
    axes = heads.head_maps(MAPS[:n_h], 1).figure.axes
    filled = [one for one in axes if one.images]
    assert [one.get_title() for one in filled] == [f"head {r + 1}" for r in range(n_h)]
    assert len({one.images[0].get_clim() for one in filled}) == 1
    for one, weights in zip(filled, MAPS, strict=False):
        seen = one.images[0].get_array()
        assert seen.compressed() == pytest.approx(weights[torch.ones(4, 4).tril() > 0].numpy())


def test_a_row_per_head_shades_characters_by_weight_and_stops_at_the_reader():
    (axes,) = heads.head_rows(MAPS[:2], TEXT, 3).figure.axes
    rows = [[cell for cell in axes.patches if round(cell.get_y() + 0.38) == r] for r in range(2)]
    assert [len(row) for row in rows] == [3, 3]
    bright = [sum(cell.get_facecolor()[:3]) for cell in rows[0]]
    assert bright[1] < bright[2] < bright[0]  # 0.55, 0.34, 0.11
    assert len({cell.get_facecolor() for cell in rows[1]}) == 1
    for row in rows:
        thick = [cell.get_linewidth() for cell in row]
        assert thick.index(max(thick)) == 2
    assert "".join(words_in(axes)).count("␣") == 2
    assert "&" not in words_in(axes)


def test_a_table_of_heads_has_a_row_for_each_and_refuses_columns_of_other_lengths():
    page = heads.HeadTable({"back < 1": ["0.8", "1.5"], "entropy": ["0.6", "<0"]})._repr_html_()
    assert page_rows(page) == [
        ["", "back < 1", "entropy"],
        ["head 1", "0.8", "0.6"],
        ["head 2", "1.5", "<0"],
    ]
    assert scopes(page) == [[None, "col", "col"], ["row", None, None], ["row", None, None]]
    with pytest.raises(ValueError, match="zip"):
        heads.HeadTable({"a": ["1"], "b": ["1", "2"]})._repr_html_()


# Scores and positions


def test_measured_scores_are_drawn_as_given_and_fit_their_axes():
    above, below = made("scaling-measured").figure.axes
    for axes, key in ((above, "sd"), (below, "slope")):
        drawn = [list(line.get_ydata()) for line in axes.lines[:2]]
        wanted = [[row[k] for row in SCALING.values()] for k in (key, f"{key}_scaled")]
        assert drawn == wanted
        low, high = axes.get_ylim()
        assert all(low < value < high for values in wanted for value in values)
    assert [tick.get_text() for tick in below.get_xticklabels()] == ["4", "256"]


def test_the_largest_weight_of_each_row_is_written_on_its_bar():
    panels = made("scaling-rows").figure.axes
    drawn = [[bar.get_height() for bar in axes.patches] for axes in panels]
    weights = [row.tolist() for pair in SCORE_ROWS.values() for row in pair]
    assert drawn == weights
    for axes, row in zip(panels, weights, strict=True):
        (label,) = axes.texts
        assert label.get_text() == f"{max(row):.2f}"
        assert label.get_position()[0] == row.index(max(row)) + 1


def test_tables_of_positions_are_drawn_whole_and_light_at_0():
    for axes, table in zip(made("position-tables").figure.axes, (TABLE, 20 * TABLE), strict=True):
        (image,) = axes.images
        assert torch.equal(torch.from_numpy(image.get_array().data), table)
        assert image.norm(0.0) == pytest.approx(0.5)
        assert image.norm.vmax <= 1
        assert [tick.get_text() for tick in axes.get_yticklabels()] == ["1", "70"]
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "6"]
    red, _, blue, _ = positions.SIGNED(0.25)
    assert red > blue  # orange below 0
    red, _, blue, _ = positions.SIGNED(0.75)
    assert red < blue
    assert min(positions.SIGNED(0.5)[:3]) > 0.9


def test_cosines_of_all_tables_share_the_scale_from_minus_1_to_1():
    panels = [axes for axes in made("position-similarity").figure.axes if axes.images]
    assert [axes.get_title() for axes in panels] == list(COSINES)
    for axes, cosines in zip(panels, COSINES.values(), strict=True):
        assert axes.images[0].get_clim() == (-1, 1)
        assert torch.equal(torch.from_numpy(axes.images[0].get_array().data), cosines)


def test_a_hand_starts_at_the_top_and_turns_clockwise_by_its_frequency():
    for axes, omega in zip(made("clock-hands").figure.axes, OMEGAS.values(), strict=True):
        hands = [line.get_xydata()[-1] for line in axes.lines if len(line.get_xdata()) == 2]
        assert len(hands) == 5
        angles = [math.atan2(x, y) % (2 * math.pi) for x, y in hands]
        assert angles == pytest.approx([omega * t % (2 * math.pi) for t in range(5)], abs=1e-9)
        assert [math.hypot(*hand) for hand in hands] == pytest.approx([1] * 5)


def test_a_table_of_numbers_shows_what_it_was_given():
    rows = {"a & b": (1.005, 2.0), "c": (-0.12345, 1234.5)}
    page = positions.NumberTable("d < k", ("not divided", "divided"), rows, digits=3)._repr_html_()
    assert page_rows(page) == [
        ["d < k", "not divided", "divided"],
        ["a & b", "1.005", "2.000"],
        ["c", "-0.123", "1234.500"],
    ]
    assert scopes(page) == [["col"] * 3, ["row", None, None], ["row", None, None]]
    assert "tabindex" in ET.fromstring(page).attrib
    assert "<td>0.33</td>" in positions.NumberTable("a", ("b",), {"c": (1 / 3,)})._repr_html_()


# The block


def test_the_diagram_has_the_parts_of_both_blocks_and_of_the_model():
    (axes,) = made("block").figure.axes
    words = words_in(axes)
    assert words.count("LN") == 4
    assert words.count("FFN") == 2
    assert [part for part in words if part.startswith("MHA")] == ["MHA, masked", "MHA"]
    assert words.index("final LN") < words.index("output layer") < words.index("softmax")


def test_gradient_norms_are_drawn_by_seed_and_their_mean_stands_out():
    panels = made("gradients").figure.axes
    assert [axes.get_title(loc="left") for axes in panels] == ["small", "large"]
    lines = panels[0].lines
    bold = [line for line in lines if line.get_linewidth() > 1]
    assert len(lines) - len(bold) == 4
    assert [list(line.get_ydata()) for line in bold] == [
        pytest.approx([0.6, 0.3, 0.25]),
        pytest.approx([0.03, 0.2, 1.7]),
    ]
    assert list(bold[0].get_xdata()) == [1, 2, 3]


def test_sublayers_of_the_stream_are_named_and_stand_at_what_they_read_and_write():
    (axes,) = made("stream").figure.axes
    stream, written, read = axes.lines
    assert (list(stream.get_ydata()), list(read.get_ydata()), list(written.get_ydata())) == STREAM
    assert list(stream.get_xdata()) == [0, 1, 2, 3, 4]
    assert list(read.get_xdata()) == list(written.get_xdata()) == [1, 2, 3, 4]
    ticks = [tick.get_text() for tick in axes.get_xticklabels()]
    assert ticks == ["input", "att\n1", "ffn\n1", "att\n2", "ffn\n2"]
    assert stream.get_linewidth() > max(read.get_linewidth(), written.get_linewidth())


def test_guides_touch_the_measured_times_and_grow_as_t_and_t_squared():
    (axes,) = made("cost").figure.axes
    square, straight = (dict(zip(*line.get_data(), strict=True)) for line in axes.lines[:2])
    assert square[64] == pytest.approx(0.04)
    assert square[1024] == pytest.approx(0.04 * 256)
    assert straight[64] == pytest.approx(2.5)
    assert straight[1024] == pytest.approx(2.5 * 16)
    for line in axes.lines[2:]:
        assert list(line.get_ydata()) == pytest.approx([1e3 * s for s in SECONDS[line.get_label()]])
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(shown) == sorted(SECONDS)


def test_a_guide_at_a_length_that_was_not_measured_is_refused():
    with pytest.raises(ValueError, match="100"):
        block.cost(LENGTHS, SECONDS, 100)


def test_a_series_has_every_point_in_which_the_other_sizes_are_the_mini_gpt_s():
    steps = STEPS["one GPU"]
    assert [p["T"] for p in training_cost.along(steps, "T")] == [64, 128, 256]
    assert [p["B"] for p in training_cost.along(steps, "B")] == [8, 16, 32]
    assert {p["T"] for p in training_cost.along(steps, "B")} == {128}


def test_measured_steps_stand_beside_lines_of_their_operations_through_the_mini_gpt_s_time():
    panels = made("step-times").figure.axes
    assert len(panels) == 4
    for axes, name in zip(panels, MINE, strict=True):
        for (measured, expected), steps in zip(
            (axes.lines[:2], axes.lines[2:]), STEPS.values(), strict=True
        ):
            points = training_cost.along(steps, name)
            assert list(measured.get_xdata()) == [point[name] for point in points]
            own = points[1]
            assert measured.get_ydata()[1] == expected.get_ydata()[1]
            assert list(measured.get_ydata()) == [1e3 * point["seconds"] for point in points]
            per_flop = 1e3 * own["seconds"] / own["flop"]
            assert list(expected.get_ydata()) == pytest.approx(
                [per_flop * point["flop"] for point in points]
            )
        low, high = axes.collections[0].get_segments()[0][:, 1]
        first = axes.lines[0].get_ydata()[0]
        assert (low, high) == pytest.approx((0.9 * first, 1.2 * first))


def test_the_ends_of_a_series_are_compared_with_its_line():
    head, _, *rows = markdown_rows(training_cost.over_the_line(STEPS["one GPU"]).text)
    assert head == ["series", "at its smallest", "at its largest"]
    for row in rows:
        assert [float(cell) for cell in row[1:]] == pytest.approx([0.875, 1.25], abs=0.006)
    assert rows[0][0] == "length of the text $T$, from 64 to 256"


def test_one_machine_is_drawn_without_the_other_and_every_line_has_a_name():
    for machines in (STEPS, {"two threads": STEPS["two threads"]}):
        figure = training_cost.step_times(machines).figure
        named = [text.get_text() for text in figure.legends[0].get_texts()]
        assert sorted(named) == sorted([*machines, "operations, all at one speed"])


def test_memory_is_drawn_as_it_was_counted_on_lines_of_the_formulas():
    for axes, name in zip(made("step-memory").figure.axes, MINE, strict=True):
        state, by_formula, kept, kept_by_formula = (line.get_ydata() for line in axes.lines)
        points = training_cost.along(STEPS["two threads"], name)
        assert list(state) == [point["state_bytes"] / 1e6 for point in points]
        assert list(by_formula) == list(state)
        assert list(kept) == [point["saved_bytes"] / 1e6 for point in points]
        assert list(kept_by_formula) == pytest.approx([value - 2 for value in kept])


def test_steps_without_the_mini_gpt_s_own_have_no_speed_to_go_by():
    steps = STEPS["one GPU"]
    others = [point for point in steps["points"] if not MINE.items() <= point.items()]
    with pytest.raises(ValueError, match="no point has the sizes of the mini-GPT"):
        training_cost.at_one_speed(steps | {"points": others}, others)


# Results


def test_the_results_have_each_row_on_record_with_the_range_of_its_seeds():
    head, _, *rows = markdown_rows(results.results_table().text)
    record = read_json(DATA / "baselines.json")["rows"]
    assert len(rows) == len(record)
    for cells, row in zip(rows, record.values(), strict=True):
        entry = dict(zip(head, cells, strict=True))
        assert entry["Model"].startswith(row["name"])
        assert entry["Nats"] == f"{row['nats']:.4f}"
        assert float(entry["Perplexity"]) == pytest.approx(math.exp(row["nats"]), abs=0.006)
        assert float(entry["Bits"]) == pytest.approx(row["nats"] / math.log(2), abs=0.006)
        seeds = row.get("by_seed", {})
        if len(seeds) > 1:
            assert f"({len(seeds)} seeds)" in entry["Model"]
            low, high = entry["Range"].split("–")
            assert (low, high) == (f"{min(seeds.values()):.4f}", f"{max(seeds.values()):.4f}")
            assert float(low) <= float(entry["Nats"]) <= float(high)
        else:
            assert "seed" not in entry["Model"]
            assert entry["Range"] == "–"
        if row["steps"]:
            assert entry["Parameters"] == f"{row['parameters']:,}"
            batch = entry["Steps × batch"].replace("\N{NO-BREAK SPACE}", " ")
            assert batch == f"{row['steps']:,} × {row['batch']}"
        else:
            assert (entry["Parameters"], entry["Steps × batch"]) == ("–", "counts")


def test_the_original_workshop_s_numbers_are_those_of_its_document():
    head, _, *rows = markdown_rows(results.original_table().text)
    record = read_json(DATA / "baselines.json")["rows"]
    told = {
        key: dict(zip(head, cells, strict=True))["The original workshop"]
        for key, cells in zip(record, rows, strict=True)
    }
    quick = {key: told.pop(key) for key in ("lstm-quick", "gpt-quick")}
    assert told == {
        "trigram": "2.0859",
        "5-gram": "1.8326",
        "lstm-lab3": "1.6114",
        "lstm-full": "1.5727",
        "gpt-full": "1.5481",
    }
    assert quick == {"lstm-quick": "1.56 to 1.58", "gpt-quick": "1.77 to 1.79"}
    assert [cells[:2] for cells in rows] == [
        [row["name"], f"{row['nats']:.4f}"] for row in record.values()
    ]


def test_every_row_of_a_table_has_as_many_cells_as_its_head():
    for table in (results.results_table(), results.original_table()):
        rows = markdown_rows(table._repr_markdown_())
        assert len({len(row) for row in rows}) == 1
        assert all(cell for row in rows for cell in row)


@pytest.mark.parametrize("size", ["full", "quick"])
def test_a_comparison_is_won_by_the_lower_mean_and_apart_only_without_overlap(size):
    record = read_json(DATA / "baselines.json")["rows"]
    seeds = {
        "the mini-GPT": [*record[f"gpt-{size}"]["by_seed"].values()],
        "the LSTM": [*record[f"lstm-{size}"]["by_seed"].values()],
    }
    said = results.comparison(size)
    mean = {name: sum(values) / len(values) for name, values in seeds.items()}
    assert {said["leader"], said["other"]} == set(seeds)
    assert mean[said["leader"]] < mean[said["other"]]
    assert said["gap"] == pytest.approx(abs(mean["the LSTM"] - mean["the mini-GPT"]))
    assert said["range"] == pytest.approx(max(max(v) - min(v) for v in seeds.values()))
    assert said["apart"] == (max(seeds[said["leader"]]) < min(seeds[said["other"]]))


@pytest.mark.parametrize("model", ["gpt", "lstm"])
@pytest.mark.parametrize(("size", "steps"), [("full", 3_000), ("quick", 1_500)])
def test_the_curves_are_those_of_the_seeds_in_the_table(model, size, steps):
    rows = read_json(DATA / "baselines.json")["rows"]
    curves = results.trained_curves(model, size)
    assert len(curves) == rows[f"{model}-{size}"]["seeds"]
    assert all(curve[-1]["step"] == steps for curve in curves)
    panel = made("curves").figure.axes[("full", "quick").index(size)]
    drawn = [list(line.get_ydata()) for line in panel.lines]
    assert len(drawn) == sum(rows[f"{one}-{size}"]["seeds"] for one in ("gpt", "lstm"))
    low, high = panel.get_ylim()
    for curve in curves:
        losses = [point["valid"] for point in curve]
        assert any(line == pytest.approx(losses) for line in drawn)
        assert low < min(losses) < losses[0] < high
    ends = [curve[-1]["valid"] for curve in curves]
    assert f"between {min(ends):.3f} and {max(ends):.3f} at step {steps:,}" in made("curves").alt


def test_probabilities_fall_from_left_to_right_and_with_the_rest_make_1():
    cold, warm = (
        [bar.get_height() for bar in axes.patches] for axes in made("next-characters").figure.axes
    )
    for bars, temperature in ((cold, 0.5), (warm, 1.0)):
        assert len(bars) == 9
        assert sum(bars) == pytest.approx(1)
        assert bars[:8] == sorted(bars[:8], reverse=True)
        odds = math.log(bars[0] / bars[1])
        assert odds == pytest.approx(1 / temperature, rel=1e-4)  # logits 3 and 2
    assert cold[0] > warm[0]
    assert cold[-1] < warm[-1]
    axes = made("next-characters").figure.axes[0]
    assert words_in(axes) == [f"{height:.2f}" for height in cold]
    assert axes.get_ylim()[1] > cold[0]


def test_only_the_masked_variants_have_hatched_cells():
    hatched = {}
    for axes in made("variants").figure.axes:
        cells = [(c.get_x(), c.get_y(), c.get_hatch()) for c in axes.patches]
        hatched[axes.get_title()] = (len(cells), sum(bool(hatch) for *_, hatch in cells))
        assert all(x > y for x, y, hatch in cells if hatch)
    assert list(hatched.values()) == [(25, 10), (25, 0), (25, 10), (30, 0)]


def test_gradients_are_drawn_as_shares_of_that_at_the_last_input():
    (axes,) = made("fading").figure.axes
    for line, rate in zip(axes.lines, (0.5, 0.9, 0.99), strict=True):
        assert list(line.get_ydata()) == pytest.approx([rate**t for t in range(31)], rel=1e-3)
    assert axes.get_yscale() == "log"
    assert words_in(axes) == list(FADING)
