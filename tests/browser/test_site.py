"""What a reader sees in the built site."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import check_yourself
import pytest
from bench_site import weights
from chromium import ROOT
from opening import COLOURS, READY, SETTLED, barriers, load, unfold
from playwright.sync_api import Page
from serve import pages

MASK = "book/briefing/03-causal-mask"
LAB = "labs/lab5_transformer"
ONE_OF_EACH_KIND = ["book/index", MASK, LAB, "book/explorer", "book/reference/glossary", "search"]
GENERATED = ["search", "genindex", "404"]

# The theme lets the keyboard into what can be scrolled, a moment after the window has changed.
REACHABLE = """() => [...document.querySelectorAll("pre")]
    .every((pre) => pre.scrollWidth <= pre.clientWidth || pre.tabIndex === 0)"""

# The parts that come by themselves have come; the model of the explorer has answered.
COMPLETE = """() => {
    const parts = ".scaling-demo, .class-clock, .hub-link, .explorer";
    const app = document.querySelector(".explorer-app");
    return [...document.querySelectorAll(parts)].every((part) => part.querySelector("button"))
        && (!app || app.dataset.state === "settled");
}"""


@pytest.fixture(scope="module", params=[*pages(), *GENERATED])
def shown(request, new_context, site) -> Iterator[Page]:
    """Every page in turn, loaded once for all checks that leave it as they found it."""
    query = "?q=mask" if request.param == "search" else ""
    page = load(new_context, f"{site}{request.param}.html{query}")
    page.wait_for_function(COMPLETE)
    page.of_each_kind = request.param in ONE_OF_EACH_KIND
    yield page
    page.context.close()


@pytest.fixture
def unfolded(shown) -> Iterator[Page]:
    """The page with every fold open for a while."""
    closed = shown.evaluate_handle("[...document.querySelectorAll('details:not([open])')]")
    unfold(shown)
    yield shown
    closed.evaluate("folds => folds.forEach((fold) => (fold.open = false))")


def test_a_page_loads_everything_from_the_site_itself_and_without_complaint(shown, site):
    elsewhere = [url for url in shown.requested if not url.startswith((site, "data:", "blob:"))]
    assert elsewhere == []
    assert shown.complaints == []


def test_the_first_load_of_a_page_is_light(shown):
    # The explorer's own page starts its model at once; the others wait until they are asked.
    files = {url: size for url, size in weights(shown.responses).items() if "explorer/" not in url}
    assert sum(files.values()) < 1_500_000, sorted(files.items(), key=lambda file: -file[1])[:5]


def test_every_icon_of_a_page_is_drawn(shown):
    assert shown.locator("svg.svg-inline--fa path").count() >= 5
    assert shown.locator("i[class*=fa-], span[class*=fa-]").count() == 0


def test_the_headings_of_a_page_are_its_outline(shown):
    levels = shown.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
        "all => all.map((heading) => Number(heading.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(lower <= upper + 1 for upper, lower in pairwise(levels))


def test_every_figure_says_in_words_what_it_shows(shown):
    images = shown.locator("article :is(img, svg[role=img], canvas):not([aria-hidden=true])")
    told = images.evaluate_all(
        """all => all.map((image) => [image.getAttribute("alt") || image.ariaLabel || "",
            image.outerHTML.slice(0, 200)])"""
    )
    assert [image for words, image in told if len(words) <= 40] == []


def test_no_page_gives_the_results_away_before_a_fold_is_opened(shown):
    rows = json.loads((ROOT / "data" / "baselines.json").read_text())["rows"]
    text = shown.locator("main").inner_text()
    assert [name for name, row in rows.items() if f"{row['nats']:.3f}" in text] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_never_scrolls_sideways(unfolded, width):
    unfolded.set_viewport_size({"width": width, "height": 900})
    assert unfolded.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_has_no_barrier_that_axe_can_find(unfolded, scheme):
    unfolded.emulate_media(color_scheme=scheme)
    unfolded.wait_for_selector(f"html[data-theme={scheme}]")
    # Narrowed after loading, the explorer is another one: test_explorer.py loads it narrow.
    narrowed = unfolded.of_each_kind and "explorer" not in unfolded.url
    for width in (390, 1280) if narrowed else (1280,):
        unfolded.set_viewport_size({"width": width, "height": 900})
        unfolded.wait_for_function(REACHABLE)
        assert barriers(unfolded, rules=COLOURS if scheme == "dark" else ()) == []


def test_the_address_of_the_site_leads_to_its_first_page(new_context, site):
    page = new_context().new_page()
    page.goto(site)
    page.wait_for_url(f"{site}book/index.html")
    page.context.close()


def test_an_address_that_leads_nowhere_shows_a_page_that_leads_on(new_context, site):
    address = f"{site}book/briefing/no/such/page.html"
    page = load(new_context, address)
    assert page.url == address
    assert page.locator("h1").inner_text() == "Page Not Found"
    assert [url for url in page.requested if not url.startswith(site)] == []
    failed = f"404 {address}", "Failed to load resource: the server responded with a status of 404"
    assert [line for line in page.complaints if not line.startswith(failed)] == []
    links = set(page.locator("a[href]").evaluate_all("all => all.map((link) => link.href)"))
    assert len(links) > len(pages())
    for link in links:
        if link.startswith(site):
            assert page.request.get(link).ok, link
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/404.html#main-content")
    assert page.locator("h1").inner_text() == "Page Not Found"
    page.goto(address)
    page.locator("article input").fill("mask")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}search.html?q=mask")
    page.locator("#search-results a", has_text="The Causal Mask").first.wait_for()
    page.context.close()


# Writes down what has had the focus, and its ring: the outline as far as it can be seen, the shadow
# and the border.
WATCH = """() => {
    window.ring = (element) => {
        const style = getComputedStyle(element);
        let seen = style.opacity;
        let cut = 0;
        const reach = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth) / 2;
        const box = element.getBoundingClientRect();
        for (let outer = element.parentElement; outer; outer = outer.parentElement) {
            const { opacity, overflow } = getComputedStyle(outer);
            seen *= opacity;
            if (overflow === "visible" || outer === document.documentElement) continue;
            const edge = outer.getBoundingClientRect();
            const beyond = [edge.left - box.left, edge.top - box.top, box.right - edge.right,
                box.bottom - edge.bottom];
            cut = Math.max(cut, beyond.filter((by) => by + reach > 0).length);
        }
        const outline = style.outlineStyle === "none" || cut > 1 ? "" : style.outline;
        return seen > 0.9 ? [outline, style.boxShadow, style.border].join("|") : "";
    };
    window.visited = [];
    addEventListener("focusin", ({ target }) => visited.push([target, ring(target)]));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*ONE_OF_EACH_KIND, "book/briefing/07-language-model", "404"])
def test_whatever_has_the_focus_shows_it(open_page, name, scheme):
    page = open_page(name, scheme=scheme)
    page.add_style_tag(content="* { transition: none !important; }")
    page.evaluate("document.activeElement.blur()")
    page.evaluate(WATCH)
    while page.evaluate("visited.filter(([element]) => element === visited[0][0]).length < 2"):
        for _ in range(20):
            page.keyboard.press("Tab")
    page.evaluate("document.activeElement.blur()")
    assert page.evaluate("visited.length") > 20
    unseen = page.evaluate(
        """visited.filter(([element, then]) => !then || then === ring(element))
            .map(([element]) => element.outerHTML.slice(0, 150))"""
    )
    assert unseen == []


@pytest.mark.parametrize("name", [MASK, LAB])
def test_a_printed_page_is_light_with_every_fold_open_and_nothing_to_click(open_page, name):
    page = open_page(name, scheme="dark")
    closed = page.locator("details:not([open])").count()
    assert closed > 0
    state = """() => window.state = {
        theme: document.documentElement.dataset.theme,
        closed: document.querySelectorAll("details:not([open])").length,
    }"""
    page.evaluate(f"addEventListener('beforeprint', {state})")
    page.pdf()
    assert page.evaluate("state") == {"theme": "light", "closed": 0}
    assert page.evaluate(f"({state})()") == {"theme": "dark", "closed": closed}
    # What it looks like on paper; a sheet of A4 leaves 673 pixels between its margins.
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.set_viewport_size({"width": 673, "height": 900})
    page.emulate_media(media="print")
    assert page.locator("h1:visible").count() == 1
    for gone in ("button", "nav", "dialog", "input[type=search]", "a.headerlink", "footer"):
        assert page.locator(f"{gone} >> visible=true").count() == 0, gone
    for fold in page.locator("article details").all():
        assert fold.locator("> :not(summary)").last.is_visible()
    wide = page.locator("article :is(pre, table, svg.drawing)").evaluate_all(
        "all => all.filter((e) => e.getBoundingClientRect().right > 673).map((e) => e.outerHTML)"
    )
    assert wide == []
    ink = page.locator("article p").first.evaluate("p => getComputedStyle(p).color")
    assert max(map(int, re.findall(r"\d+", ink)[:3])) < 80


def test_a_page_prints_with_its_folds_open_without_scripts_too(open_page):
    page = open_page(MASK, scripts=False)
    answer = page.locator(".check-answer > :not(summary)").first
    heights = []
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        heights.append(answer.bounding_box())
    assert not heights[0] or heights[0]["height"] == 0
    assert heights[1]["height"] > 0


def test_the_answer_is_closed_until_the_reader_opens_it_with_the_keyboard(open_page):
    page = open_page(MASK)
    answer = page.locator(".check-yourself details")
    assert answer.get_attribute("open") is None
    answer.locator("summary").focus()
    page.keyboard.press("Enter")
    assert answer.get_attribute("open") is not None
    assert "(0.5, 0.5, 0, 0)" in answer.inner_text()
    assert "(0.016, 0.016, 0, 0)" in answer.inner_text()
    assert "(0.366, 0.366, 0, 0)" in answer.inner_text()


def test_a_choice_is_judged_with_its_reason_and_remembered_in_this_browser(open_page):
    page = open_page(MASK)
    question = page.locator(".check-yourself").first
    question.get_by_role("button", name="Check my choice").click()
    assert question.get_by_role("status").inner_text() == "Choose one of the options first."
    question.get_by_role("radio").nth(2).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "Not this one" in question.get_by_role("status").inner_text()
    assert "masks too late" in question.get_by_role("status").inner_text()
    question.get_by_role("radio").nth(1).check()
    question.get_by_role("button", name="Check my choice").click()
    assert "Right" in question.get_by_role("status").inner_text()
    page.reload()
    page.locator(".check-choice").first.wait_for()
    assert page.get_by_role("radio").nth(1).is_checked()
    assert "Right" in page.get_by_role("status").first.inner_text()
    page.goto(page.url.replace("briefing/03-causal-mask", "index"))
    progress = page.locator("[data-checks]")
    assert f"1 of {check_yourself.count()}" in progress.inner_text()
    progress.get_by_role("button", name="Forget my answers").click()
    assert f"0 of {check_yourself.count()}" in progress.inner_text()


def test_without_scripts_a_question_is_a_list_and_an_ordinary_dropdown(open_page):
    page = open_page(MASK, scripts=False)
    question = page.locator(".check-yourself").first
    assert question.locator("ol.check-options > li").count() == 4
    assert question.get_by_role("radio").count() == 0
    question.locator("summary").click()
    assert "masks too late" in question.inner_text()


def test_formulas_are_set_in_fonts_of_the_site_and_shown_by_their_numbers(open_page, site):
    page = open_page(MASK)
    fonts = [url for url in page.requested if "MathJax" in url and url.endswith(".woff")]
    assert fonts
    assert all(url.startswith(f"{site}_static/vendor/mathjax/") for url in fonts)
    assert page.locator("#equation-eq-6 mjx-container").count() == 1
    page.locator('article a[href="#equation-eq-6"]:not(.headerlink)').first.hover()
    tip = page.locator("[data-tippy-root]")
    tip.wait_for()
    assert tip.locator("mjx-container").count() == 1


def test_a_drawing_takes_the_colour_of_the_text_around_it(open_page):
    page, inks = open_page(MASK), set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f"html[data-theme={scheme}]")
        page.evaluate(SETTLED)
        drawn, ink = page.evaluate(
            """() => {
                const stroke = document.querySelector('svg.drawing [style*=currentColor]');
                const { fill, stroke: line } = getComputedStyle(stroke);
                return [[fill, line], getComputedStyle(document.querySelector('article p')).color];
            }"""
        )
        assert ink in drawn
        inks.add(ink)
    assert len(inks) == 2


@pytest.mark.parametrize(
    ("start", "link", "anchor", "title"),
    [
        (MASK, "Exercise 2", "labs/lab5_transformer.html#exercise-2", "Exercise 2"),
        ("book/reference/equations", "variant 3", "labs/lab5_variants.html#variant-3", "Variant 3"),
    ],
)
def test_a_link_leads_to_its_exercise(open_page, start, link, anchor, title):
    page = open_page(start)
    page.get_by_role("link", name=link).click()
    page.wait_for_url(f"**/{anchor}")
    page.evaluate(READY)
    assert 0 <= page.locator("h2, h3", has_text=title).bounding_box()["y"] < 300
