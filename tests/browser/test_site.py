"""What a reader sees in the built site."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import check_yourself
import pytest
from bench_site import weights
from bs4 import BeautifulSoup
from conftest import load
from find_browser import ROOT
from playwright.sync_api import Page
from serve import SITE, pages

sys.path.append(str(ROOT / "book" / "extensions"))
import links

MASK = "book/briefing/03-causal-mask"
LAB = "labs/lab5_transformer"
VARIANTS = "labs/lab5_variants"
ONE_OF_EACH_KIND = ["book/index", MASK, LAB, "book/explorer", "book/reference/glossary", "search"]
GENERATED = ["search", "genindex", "404"]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module", params=[*pages(), *GENERATED])
def shown(request, chromium, site) -> Iterator[Page]:
    """Every page in turn, loaded once for all checks that leave it as they found it."""
    query = "?q=mask" if request.param == "search" else ""
    page = load(chromium, f"{site}{request.param}.html{query}")
    yield page
    page.context.close()


@contextmanager
def unfolded(page: Page) -> Iterator[None]:
    """Open every fold for a while, and wait until it has faded in."""
    folds = page.locator("details:not([open])").element_handles()
    for fold in folds:
        fold.evaluate("fold => fold.open = true")
    settle(page)
    yield
    for fold in folds:
        fold.evaluate("fold => fold.open = false")


def settle(page: Page) -> None:
    # What is still half transparent has no contrast yet. A spinner never ends.
    page.evaluate(
        """() => Promise.all(document.getAnimations()
            .filter((a) => a.effect.getComputedTiming().endTime < Infinity)
            .map((a) => a.finished.catch(() => 0))).then(() => 0)"""
    )


def barriers(page: Page) -> list[tuple[str, list[str]]]:
    """List what axe finds wrong with a page, every fold open."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=str(AXE))
    with unfolded(page):
        found = page.evaluate("axe.run()")["violations"]
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]


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
    levels = [
        int(heading.evaluate("heading => heading.tagName[1]"))
        for heading in shown.locator("h1, h2, h3, h4, h5, h6").all()
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(lower <= upper + 1 for upper, lower in pairwise(levels))


def test_every_figure_says_in_words_what_it_shows(shown):
    images = shown.locator("article :is(img, svg[role=img], canvas):not([aria-hidden=true])").all()
    for image in images:
        words = image.get_attribute("alt") or image.get_attribute("aria-label") or ""
        assert len(words) > 40, image.evaluate("image => image.outerHTML.slice(0, 200)")


def test_no_page_gives_the_results_away_before_a_fold_is_opened(shown):
    rows = json.loads((ROOT / "data" / "baselines.json").read_text())["rows"]
    text = shown.locator("main").inner_text()
    assert [name for name, row in rows.items() if f"{row['nats']:.3f}" in text] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_never_scrolls_sideways(shown, width):
    shown.set_viewport_size({"width": width, "height": 900})
    with unfolded(shown):
        assert shown.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_has_no_barrier_that_axe_can_find(shown, scheme):
    shown.emulate_media(color_scheme=scheme)
    shown.wait_for_selector(f"html[data-theme={scheme}]")
    assert barriers(shown) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_a_page_on_a_narrow_screen_has_no_barrier_that_axe_can_find(open_page, name, scheme):
    assert barriers(open_page(name, width=390, scheme=scheme)) == []


def test_every_page_has_a_name_and_a_description_of_its_own():
    names, descriptions = {}, {}
    for name in [*pages(), *GENERATED]:
        page = BeautifulSoup((SITE / f"{name}.html").read_text(), "html.parser")
        assert page.html["lang"] == "en", name
        assert page.select_one("link[rel=icon]")["href"].endswith("favicon.svg"), name
        assert page.title.text not in names, (name, names.get(page.title.text))
        assert "The Transformer" in page.title.text
        names[page.title.text] = name
        (words,) = (tag["content"] for tag in page.select("meta[name=description]"))
        assert 70 <= len(words) <= 160, (name, len(words))
        assert words not in descriptions, (name, descriptions.get(words))
        descriptions[words] = name
        if name in GENERATED:
            continue
        title = page.article.h1.text.removesuffix("#")
        assert page.select_one("meta[property='og:title']")["content"] == title
        assert page.select_one("meta[property='og:description']")["content"] == words


def test_the_address_of_the_site_leads_to_its_first_page(chromium, site):
    page = load(chromium, site)
    page.wait_for_url(f"{site}book/index.html")
    page.context.close()


def test_an_address_that_leads_nowhere_shows_a_page_that_leads_on(chromium, site):
    address = f"{site}book/briefing/no/such/page.html"
    page = load(chromium, address)
    assert page.url == address
    assert page.locator("h1").inner_text() == "Page Not Found"
    assert [url for url in page.requested if not url.startswith(site)] == []
    failed = f"404 {address}", "Failed to load resource: the server responded with a status of 404"
    assert [line for line in page.complaints if not line.startswith(failed)] == []
    links = {link.evaluate("link => link.href") for link in page.locator("a[href]").all()}
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
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement !== document.body"):
        page.keyboard.press("Tab")
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


def test_a_page_prints_with_its_folds_open_without_scripts_too(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}{MASK}.html")
    answer = page.locator(".check-answer > :not(summary)").first
    heights = []
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        heights.append(answer.bounding_box())
    assert not heights[0] or heights[0]["height"] == 0
    assert heights[1]["height"] > 0
    context.close()


def test_the_mask_has_the_number_6_and_every_mention_leads_to_it(open_page):
    page = open_page(MASK)
    equation = page.locator("#equation-eq-6")
    assert equation.locator(".eqno").inner_text().startswith("(6)")
    assert equation.locator("mjx-container").count() == 1
    mentions = page.locator('a[href="#equation-eq-6"]:not(.headerlink)').all()
    assert len(mentions) >= 3
    assert {mention.inner_text() for mention in mentions} == {"(6)"}
    bare = re.findall(r"[Ee]quation\s+\(?\d", page.locator("article").inner_text())
    assert bare == []


def test_formulas_are_set_in_fonts_of_the_site(open_page, site):
    page = open_page(MASK)
    fonts = [url for url in page.requested if "MathJax" in url and url.endswith(".woff")]
    assert fonts
    assert all(url.startswith(f"{site}_static/vendor/mathjax/") for url in fonts)


def test_the_figure_of_the_mask_and_its_table_tell_the_same_weights(open_page):
    page = open_page(MASK)
    alt = page.locator("svg.drawing").first.get_attribute("aria-label")
    told = [re.findall(r"\d\.\d\d", row) for row in re.findall(r"row \d \(.\): ([\d., ]+)", alt)]
    rows = [
        [cell.text_content() for cell in row.locator("td").all()]
        for row in page.locator(".weights tbody tr").all()
    ]
    assert len(told) == len(rows) == 6
    for t, (said, row) in enumerate(zip(told, rows, strict=True)):
        assert row[t + 1 :] == ["0"] * (5 - t)
        # Two decimals against three: each is rounded by itself.
        assert list(map(float, said)) == pytest.approx(list(map(float, row[: t + 1])), abs=0.0056)
        assert sum(map(float, row)) == pytest.approx(1, abs=0.004)


def test_the_caption_names_the_head_that_was_drawn(open_page):
    page = open_page(MASK)
    caption = page.locator("figcaption").first.inner_text()
    alt = page.locator("svg.drawing").first.get_attribute("aria-label")
    named = re.search(r"layer (\d), head (\d)", alt).groups()
    assert re.search(r"layer\s+(\d),\s+head\s+(\d)", caption).groups() == named


def test_a_drawing_takes_the_colour_of_the_text_around_it(open_page):
    inks = {}
    for scheme in ("light", "dark"):
        page = open_page(MASK, scheme=scheme)
        inks[scheme] = page.evaluate(
            """() => {
                const stroke = document.querySelector('svg.drawing [style*=currentColor]');
                const style = getComputedStyle(stroke);
                const text = getComputedStyle(document.querySelector('article p')).color;
                return [[style.fill, style.stroke].includes(text), text];
            }"""
        )
    assert inks["light"][0]
    assert inks["dark"][0]
    assert inks["light"][1] != inks["dark"][1]


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


def test_the_leak_test_that_ran_on_the_page_found_exactly_nothing(open_page):
    page = open_page(MASK)
    outputs = [output.inner_text() for output in page.locator(".cell_output").all()]
    assert any("before the n: 0.0\n" in output for output in outputs)
    leaky = next(output for output in outputs if "above the diagonal" in output)
    assert "above the diagonal: 0.0" in leaky
    assert float(leaky.split("before the n:")[1]) > 0.001


def test_the_lab_has_an_anchor_for_every_exercise(open_page):
    page = open_page(LAB)
    headings = {
        anchor: page.locator(f"section#{anchor}, span#{anchor} + section, span#{anchor}").count()
        for anchor in [*(f"exercise-{n}" for n in range(6)), "challenge"]
    }
    assert all(headings.values()), headings
    page = open_page(MASK)
    page.get_by_role("link", name="Exercise 2").click()
    page.wait_for_url("**/lab5_transformer.html#exercise-2")
    top = page.locator("h3", has_text="Exercise 2").bounding_box()["y"]
    assert 0 <= top < 300


def test_hints_solutions_and_results_of_the_lab_are_folded_until_asked_for(open_page):
    page = open_page(LAB)
    folds = page.locator("article details").all()
    assert len(folds) >= 16
    assert all(fold.get_attribute("open") is None for fold in folds)
    text = page.locator("article").inner_text()
    assert "torch.where(mask" not in text
    assert "Perplexity" not in text
    page.locator("summary", has_text="Hint: two ways").focus()
    page.keyboard.press("Enter")
    assert "torch.arange(T)" in page.locator("article").inner_text()


def test_the_lab_shows_no_failure_and_every_figure(open_page):
    page = open_page(LAB)
    for fold in page.locator("details").all():
        fold.evaluate("fold => fold.open = true")
    text = page.locator("article").inner_text()
    assert "✗" not in text
    assert "Traceback" not in text
    assert text.count("not attempted") >= 6
    assert "Core exercises: 0 of 4 passed, 4 of 4 not attempted" in text
    assert page.locator("article svg.drawing").count() == 4
    assert page.locator("article .results table").count() == 1


def test_the_lab_leads_to_its_own_repository_and_to_pages_of_this_site(open_page, site):
    course = links.read()
    page = open_page(LAB)
    found = [link.evaluate("link => link.href") for link in page.locator("article a").all()]
    assert course.colab in found
    assert course.binder in found
    assert f"{site}book/briefing/03-causal-mask.html" in found
    assert not [link for link in found if link.startswith(course.site)]


def test_the_variants_have_anchors_keep_their_answers_folded_and_show_no_failure(open_page, site):
    course = links.read()
    page = open_page("book/reference/equations")
    page.get_by_role("link", name="variant 3").click()
    page.wait_for_url("**/lab5_variants.html#variant-3")
    top = page.locator("h2", has_text="Variant 3").bounding_box()["y"]
    assert 0 <= top < 300
    text = page.locator("article").inner_text()
    assert text.count("not attempted") >= 4
    assert "808,513" not in text
    assert "torch.cat([cache" not in text
    found = [link.evaluate("link => link.href") for link in page.locator("article a").all()]
    assert course.in_colab(f"{VARIANTS}.ipynb") in found
    assert course.in_binder(f"{VARIANTS}.ipynb") in found
    assert f"{site}{LAB}.html" in found
    assert not [link for link in found if link.startswith(course.site)]
    for fold in page.locator("details").all():
        fold.evaluate("fold => fold.open = true")
    text = page.locator("article").inner_text()
    assert "808,513" in text
    assert "Variants: 0 of 4 passed, 4 of 4 not attempted" in text
    assert "✗" not in text
    assert "Traceback" not in text


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
    page.reload(wait_until="networkidle")
    page.locator(".check-choice").first.wait_for()
    assert page.get_by_role("radio").nth(1).is_checked()
    assert "Right" in page.get_by_role("status").first.inner_text()
    page.goto(page.url.replace("briefing/03-causal-mask", "index"), wait_until="networkidle")
    progress = page.locator("[data-checks]")
    assert f"1 of {check_yourself.count()}" in progress.inner_text()
    progress.get_by_role("button", name="Forget my answers").click()
    assert f"0 of {check_yourself.count()}" in progress.inner_text()


def test_without_scripts_a_question_is_a_list_and_an_ordinary_dropdown(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}{MASK}.html")
    question = page.locator(".check-yourself").first
    assert question.locator("ol.check-options > li").count() == 4
    assert question.get_by_role("radio").count() == 0
    question.locator("summary").click()
    assert "masks too late" in question.inner_text()
    context.close()


def test_resting_on_the_number_of_an_equation_shows_the_formula(open_page):
    page = open_page(MASK)
    page.locator('article a[href="#equation-eq-6"]:not(.headerlink)').first.hover()
    tip = page.locator("[data-tippy-root]")
    tip.wait_for()
    assert tip.locator("mjx-container").count() == 1


def test_every_equation_has_its_own_number_wherever_it_stands(open_page):
    page = open_page("book/reference/equations")
    mentions = page.locator('article a[href*="#equation-eq-"]').all()
    found = {link.get_attribute("href").split("eq-")[-1]: link.inner_text() for link in mentions}
    assert found == {str(n): f"({n})" for n in range(1, 16)}


def test_the_agenda_is_computed_from_the_sections(open_page):
    text = open_page("book/index").locator("article").inner_text()
    assert "45 minutes of exposition, 10 of activities" in text
    assert re.search(r"10:10\s+Lab\s+55", text)
    assert re.search(r"11:05\s+Debrief\s+10", text)
    assert re.search(r"Total\s+120", text)
