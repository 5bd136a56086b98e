"""The table and the figure of the variants, on made-up scores."""

import pytest
from test_figures import markdown_rows

from minigpt.figures import ablations


def row(name: str, *seeds: float, **more) -> dict:
    return {
        "name": name,
        "parameters": 1_234,
        "learning_rate": 0.005,
        "nats": sum(seeds) / len(seeds),
        "lowest": min(seeds),
        "highest": max(seeds),
        "by_seed": {str(seed): nats for seed, nats in enumerate(seeds)},
    } | more


ROWS = {
    "mini-gpt": row("itself", 1.75, 1.80, 1.70),
    "no-mask": row("no mask", 0.1, 0.1, 0.1, writing=3.0),
    "worse": row(
        "no this",
        *(2.10, 2.30, 2.20),
        learning_rate=0.0015,
        valid_by_rate={"0.005": 3.31, "0.0015": 2.25, "0.0005": 2.45},
    ),
    "better": row("other that", 1.60, 1.50, 1.55, valid_by_rate={"0.005": 1.5}),
    "alike": row("no other", 1.78, 1.82, 1.84, valid_by_rate={"0.005": 1.8}),
}


def test_rows_stand_by_their_loss_and_the_one_that_reads_ahead_is_left_out():
    assert ablations.by_effect(ROWS) == ["better", "mini-gpt", "alike", "worse"]


def test_the_table_says_how_far_each_lies_from_the_model_itself():
    header, _, *lines = markdown_rows(ablations.table(ROWS).text)
    assert lines == [
        ["other that", "1.550", "1.500–1.600", "−0.200", "1,234", "0.005"],
        ["**itself**", "1.750", "1.700–1.800", "–", "1,234", "0.005"],
        ["no other", "1.813", "1.780–1.840", "+0.063", "1,234", "0.005"],
        ["no this", "2.200", "2.100–2.300", "+0.450", "1,234", "0.0015"],
    ]
    assert len(header) == 6


def test_the_rates_that_were_tried_are_shown_where_the_first_did_not_do():
    _, _, *lines = markdown_rows(ablations.rates_table(ROWS).text)
    assert lines == [
        ["no this", "0.005", "3.310", ""],
        ["no this", "0.0015", "2.250", "kept"],
        ["no this", "0.0005", "2.450", ""],
    ]


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [((1.81, 1.9), True), ((1.5, 1.69), True), ((1.79, 1.9), False), ((1.5, 1.71), False)],
)
def test_a_variant_is_apart_when_no_seed_of_either_lies_among_the_other_s(seeds, expected):
    assert ablations.apart(ROWS | {"other": row("other", *seeds)}, "other") == expected


def test_a_row_of_the_figure_has_a_mark_for_each_seed_at_its_distance_from_the_mean():
    drawing = ablations.effects("effects", ROWS, ["better", "mini-gpt", "worse"])
    (axes,) = drawing.figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "other that",
        "itself",
        "no this",
    ]
    marks = [(line.get_xdata(), line.get_ydata(), line.get_marker()) for line in axes.lines]
    for (x, y, marker), expected, place, shape in zip(
        marks,
        ([-0.15, -0.25, -0.2], [0, 0.05, -0.05], [0.35, 0.55, 0.45]),
        range(3),
        "<o>",
        strict=True,
    ):
        assert list(x) == pytest.approx(expected)
        assert list(y) == [place] * 3
        assert marker == shape
    (shaded,) = axes.patches
    assert (shaded.get_x(), shaded.get_x() + shaded.get_width()) == pytest.approx((-0.05, 0.05))
    assert axes.get_ylim() == (2.5, -0.5)  # the first row on top
