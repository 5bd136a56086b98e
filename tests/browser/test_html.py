"""What the built pages say, read without a browser."""

import json
import re
from datetime import datetime, timedelta
from urllib.parse import urljoin

import links
import pytest
from bs4 import BeautifulSoup
from chromium import ROOT
from opening import html, words
from serve import SITE, pages
from support import core, variants

from minigpt import checks

MASK = "book/briefing/03-causal-mask"
LAB = "labs/lab5_transformer"
VARIANTS = "labs/lab5_variants"
GENERATED = ["search", "genindex", "404"]
BUILT = sorted(str(page.relative_to(SITE).with_suffix("")) for page in SITE.rglob("*.html"))
FAILURE = re.compile(r"Traceback \(most recent call last\)|^\w*(?:Error|Exception|Warning): ", re.M)


def outside_folds(page: BeautifulSoup) -> str:
    """Give the text of a page, every fold closed."""
    page = BeautifulSoup(str(page.article), "html.parser")
    for fold in page.select("details"):
        assert "open" not in fold.attrs
        for part in fold.find_all(lambda part: part.name != "summary", recursive=False):
            part.decompose()
    return page.get_text()


def leads_to(name: str, site: str) -> list[str]:
    """List where the links of a page's article lead, for the site at an address."""
    found = html(name).select("article a[href]")
    return [urljoin(f"{site}{name}.html", link["href"]) for link in found]


def failures(page: BeautifulSoup) -> list[str]:
    """Find the outputs of a page that are tracebacks, went to stderr or read like a failure."""
    return [
        output.text.strip()
        for output in page.select(".cell_output .output")
        if {"stderr", "traceback"} & set(output["class"]) or FAILURE.search(output.text)
    ]


def test_there_is_a_site_to_look_at():
    assert len(BUILT) > 20, f"no book at {SITE}: run make book"


@pytest.mark.parametrize("name", BUILT)
def test_no_cell_of_a_page_failed_or_complained(name):
    assert failures(html(name)) == []


def test_every_page_has_a_name_and_a_description_of_its_own():
    names, descriptions = {}, {}
    for name in [*pages(), *GENERATED]:
        page = html(name)
        assert page.html["lang"] == "en", name
        assert page.select_one("link[rel=icon]")["href"].endswith("favicon.svg"), name
        assert page.title.text not in names, (name, names.get(page.title.text))
        assert "The Transformer" in page.title.text
        names[page.title.text] = name
        (told,) = (tag["content"] for tag in page.select("meta[name=description]"))
        assert 70 <= len(told) <= 160, (name, len(told))
        assert told not in descriptions, (name, descriptions.get(told))
        descriptions[told] = name
        if name in GENERATED:
            continue
        title = page.article.h1.text.removesuffix("#")
        assert page.select_one("meta[property='og:title']")["content"] == title
        assert page.select_one("meta[property='og:description']")["content"] == told


def test_the_mask_has_the_number_6_and_every_mention_leads_to_it():
    page = html(MASK)
    assert page.select_one("#equation-eq-6 .eqno").text.startswith("(6)")
    mentions = page.select('a[href="#equation-eq-6"]:not(.headerlink)')
    assert len(mentions) >= 3
    assert {mention.text for mention in mentions} == {"(6)"}
    assert re.findall(r"[Ee]quation\s+\(?\d", page.article.text) == []


def test_every_equation_has_its_own_number_wherever_it_stands():
    mentions = html("book/reference/equations").select('article a[href*="#equation-eq-"]')
    found = {link["href"].split("eq-")[-1]: link.text for link in mentions}
    assert found == {str(n): f"({n})" for n in range(1, 16)}


def test_the_figure_of_the_mask_and_its_table_tell_the_same_weights():
    page = html(MASK)
    alt = page.select_one("svg.drawing")["aria-label"]
    told = [re.findall(r"\d\.\d\d", row) for row in re.findall(r"row \d \(.\): ([\d., ]+)", alt)]
    rows = [[cell.text for cell in row.select("td")] for row in page.select(".weights tbody tr")]
    assert len(told) == len(rows) == 6
    for t, (said, row) in enumerate(zip(told, rows, strict=True)):
        assert row[t + 1 :] == ["0"] * (5 - t)
        # Two decimals against three: each is rounded by itself.
        assert list(map(float, said)) == pytest.approx(list(map(float, row[: t + 1])), abs=0.0056)
        assert sum(map(float, row)) == pytest.approx(1, abs=0.004)


def test_the_caption_names_the_head_that_was_drawn():
    page = html(MASK)
    named = re.search(r"layer (\d), head (\d)", page.select_one("svg.drawing")["aria-label"])
    caption = words(page.select_one("figcaption"))
    assert re.search(r"layer (\d), head (\d)", caption).groups() == named.groups()


def test_the_leak_test_that_ran_on_the_page_found_exactly_nothing():
    outputs = [output.text for output in html(MASK).select(".cell_output")]
    assert any("before the n: 0.0\n" in output for output in outputs)
    leaky = next(output for output in outputs if "above the diagonal" in output)
    assert "above the diagonal: 0.0" in leaky
    assert float(leaky.split("before the n:")[1]) > 0.001


def test_the_lab_has_an_anchor_for_every_exercise():
    anchors = {part["id"] for part in html(LAB).select("section[id], span[id]")}
    assert {*(f"exercise-{n}" for n in range(6)), "challenge"} <= anchors


def test_hints_solutions_and_results_of_the_lab_are_folded_until_asked_for():
    page = html(LAB)
    folds = page.select("article details")
    assert len(folds) >= 16
    text = outside_folds(page)
    assert "Hint: two ways" in text
    assert "torch.where(mask" not in text
    assert "Perplexity" not in text
    (hint,) = (fold for fold in folds if "Hint: two ways" in fold.summary.text)
    assert "torch.arange(T)" in hint.text


def test_the_lab_shows_no_failure_and_every_figure():
    page = html(LAB)
    text = page.article.text
    assert "✗" not in text
    assert "Traceback" not in text
    assert text.count("not attempted") >= len(checks.CORE | checks.CHALLENGE)
    assert core(0, len(checks.CORE)) in text
    assert len(page.select("article svg.drawing")) == 4
    assert len(page.select("article .results table")) == 1


def test_the_lab_leads_to_its_own_repository_and_to_pages_of_this_site():
    course, site = links.read(), "http://127.0.0.1/"
    found = leads_to(LAB, site)
    assert course.colab in found
    assert course.binder in found
    assert f"{site}book/briefing/03-causal-mask.html" in found
    assert not [link for link in found if link.startswith(course.site)]


def test_the_variants_keep_their_answers_folded_show_no_failure_and_lead_to_themselves():
    course, site, page = links.read(), "http://127.0.0.1/", html(VARIANTS)
    closed = outside_folds(page)
    assert closed.count("not attempted") >= len(checks.VARIANTS)
    assert "808,513" not in closed
    assert "torch.cat([cache" not in closed
    found = leads_to(VARIANTS, site)
    assert course.in_colab(f"{VARIANTS}.ipynb") in found
    assert course.in_binder(f"{VARIANTS}.ipynb") in found
    assert f"{site}{LAB}.html" in found
    assert not [link for link in found if link.startswith(course.site)]
    text = page.article.text
    assert "808,513" in text
    assert variants(0, len(checks.VARIANTS)) in text
    assert "✗" not in text
    assert "Traceback" not in text


def test_the_agenda_is_computed_from_the_sections():
    text = words(html("book/index").article)
    assert "45 minutes of exposition, 10 of activities" in text
    assert "10:10 Lab 55" in text
    assert "11:05 Debrief 10" in text
    assert "Total 120" in text


# Live Code


@pytest.mark.parametrize("name", pages())
def test_the_button_stands_on_pages_with_cells_and_on_no_others(name):
    page = html(name)
    buttons = [button for button in page.select("button") if words(button) == "Live Code"]
    assert len(buttons) == bool(page.select("article .cell_input"))


def test_a_page_hands_over_its_cells_and_none_of_its_answers():
    with_cells = [name for name in pages() if html(name).select("article .cell")]
    assert len(with_cells) >= 10
    for name in with_cells:
        data = json.loads(html(name).select_one("#live-code").string)
        shown = [one["source"].strip() for one in data["cells"] if one["shown"]]
        assert shown == [pre.text.strip() for pre in html(name).select("article .cell_input pre")]
    assert not (SITE / "_sources").exists()


# For whoever teaches


def first_paragraph(page: BeautifulSoup, level: str, title: str) -> str:
    (heading,) = (heading for heading in page.select(level) if title in heading.text)
    return words(heading.find_next("p"))


def test_the_plan_runs_from_a_quarter_past_nine_through_120_minutes():
    rows = [
        [words(cell) for cell in row.select("td")]
        for row in html("book/instructor/timeline").select(".class-timeline tbody tr")
    ]
    *parts, end = rows
    clock = datetime.strptime("09:15", "%H:%M")
    for begins, minutes, *_ in parts:
        assert begins == f"{clock:%H:%M}"
        clock += timedelta(minutes=int(minutes))
    assert end[:2] == [f"{clock:%H:%M}", "120"] == ["11:15", "120"]
    assert [row[0] for row in parts if row[2] in ("Set-up (notes)", "Debrief (notes)")] == [
        "10:10",
        "11:05",
    ]


def test_every_note_gives_the_minutes_that_the_lab_gives_its_exercise():
    for number in range(6):
        title = f"Exercise {number}"
        minutes = re.match(r"\d+ minutes", first_paragraph(html(LAB), "h3", title))
        notes = first_paragraph(html("book/instructor/lab"), "h2", title)
        assert f"· {minutes[0]} ·" in notes


def test_the_answers_to_expect_are_those_of_the_questions_themselves():
    rows = {
        words(row.select("td")[1]): words(row.td)[0]
        for row in html("book/instructor/briefing").select("article details tbody tr")
    }
    told = 0
    for path in sorted((ROOT / "book" / "briefing").glob("0*.md")):
        for box in html(f"book/briefing/{path.stem}").select(".check-yourself"):
            rights = [option["data-right"] for option in box.select("[data-right]")]
            reasons = map(words, box.select(".check-reasons > dd"))
            for reason, right in zip(reasons, rights, strict=True):
                assert rows[reason] == ("✓" if right == "true" else "✗")
                told += 1
    assert told == len(rows) >= 36


def test_a_wrong_answer_to_expect_stands_beside_what_its_checkpoint_says():
    page = html("book/instructor/lab")
    assert "The checkpoint says" not in outside_folds(page)
    folds = page.select("details")
    (fold,) = (fold for fold in folds if "diagonal left out" in fold.summary.text)
    assert "def one_below_the_diagonal(T):" in fold.text
    assert "The rule is i ≤ t, not i < t." in words(fold)
    assert "expected causal_mask(4) yours" in words(fold)
