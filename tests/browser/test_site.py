"""What a reader sees in the built site."""

import json
import re
import sys

import pytest
from conftest import ROOT, pages

sys.path.append(str(ROOT / "book" / "extensions"))
import links

MASK = "book/briefing/03-causal-mask"
LAB = "labs/lab5_transformer"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
EVERY_PAGE = pytest.mark.parametrize("name", pages())


@EVERY_PAGE
def test_a_page_loads_everything_from_the_site_itself_and_without_complaint(open_page, site, name):
    page = open_page(name)
    elsewhere = [url for url in page.requested if not url.startswith((site, "data:", "blob:"))]
    assert elsewhere == []
    assert page.complaints == []


@EVERY_PAGE
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_never_scrolls_sideways(open_page, name, width):
    page = open_page(name, width=width)
    for fold in page.locator("details").all():
        fold.evaluate("fold => fold.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@EVERY_PAGE
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_has_no_barrier_that_axe_can_find(open_page, name, width, scheme):
    page = open_page(name, width=width, scheme=scheme)
    for fold in page.locator("details").all():
        fold.evaluate("fold => fold.open = true")
    # Folds fade in, and what is half transparent has no contrast yet.
    page.evaluate("Promise.all(document.getAnimations().map((a) => a.finished)).then(() => 0)")
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run()")["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []


@EVERY_PAGE
def test_every_figure_says_in_words_what_it_shows(open_page, name):
    page = open_page(name)
    images = page.locator(
        "article img, article svg[role=img], article canvas:not([aria-hidden])"
    ).all()
    for image in images:
        words = image.get_attribute("alt") or image.get_attribute("aria-label") or ""
        assert len(words) > 40, image.evaluate("image => image.outerHTML.slice(0, 200)")


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


def test_no_page_before_the_lab_gives_the_results_away(open_page):
    rows = json.loads((ROOT / "data" / "baselines.json").read_text())["rows"]
    for name in pages():
        text = open_page(name).locator("article").inner_text()
        for row in rows.values():
            assert f"{row['nats']:.3f}" not in text


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
    assert "1 of 9" in progress.inner_text()
    progress.get_by_role("button", name="Forget my answers").click()
    assert "0 of 9" in progress.inner_text()


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
