"""What whoever teaches finds: the plan, its clock, links into the model, answers to expect."""

from datetime import datetime, timedelta
from urllib.parse import parse_qsl

import pytest
from opening import html, load
from test_explorer import losses, settled

INDEX = "book/instructor/index"
TIMELINE = "book/instructor/timeline"
NOTES = "book/instructor/briefing"
MASK = "book/briefing/03-causal-mask"
FIRST = {"text": "To be, or not to be", "layer": "1", "head": "1"}  # left out of an address
MORNING = datetime(2026, 3, 2, 9, 0)


@pytest.fixture
def at_nine(new_context, site):
    """Open the timeline in a browser of its own whose clock stands at 09:00 until it is moved."""
    context = new_context(timezone_id="UTC")
    page = context.new_page()
    page.clock.install(time=MORNING)
    page.clock.pause_at(MORNING + timedelta(seconds=1))
    page.goto(f"{site}{TIMELINE}.html")
    page.wait_for_selector(".class-clock-part")
    yield page
    context.close()


def shown(page) -> str:
    return page.locator(".class-clock-face").inner_text()


def current_rows(page) -> list[str]:
    rows = page.locator(".class-timeline tr[aria-current=time]")
    return [row.locator("a").first.inner_text() for row in rows.all()]


def test_the_clock_goes_from_part_to_part_and_tells_each_change_once(at_nine):
    page = at_nine
    assert "not running" in shown(page)
    told = page.locator(".class-clock [role=status]")
    page.get_by_role("button", name="Start now").focus()
    page.keyboard.press("Enter")
    page.clock.run_for(1000)
    assert "1. From Attention" in shown(page)
    assert "5 minutes left of 5" in shown(page)
    assert "Next, at 09:05: 2. Scaled" in shown(page)
    page.evaluate(
        """() => {
            window.tellings = 0;
            const status = document.querySelector(".class-clock [role=status]");
            new MutationObserver(() => window.tellings++).observe(status, { childList: true });
        }"""
    )
    page.clock.run_for("04:00")
    assert "1 minute left of 5" in shown(page)
    assert page.evaluate("window.tellings") == 0
    page.clock.run_for("01:00")
    assert "2. Scaled" in shown(page)
    assert "15 minutes left of 15" in shown(page)
    assert told.inner_text() == "Now: 2. Scaled Dot-Product Attention. 15 minutes."
    assert page.evaluate("window.tellings") == 1
    assert current_rows(page) == ["2. Scaled Dot-Product Attention"]
    page.clock.fast_forward("01:54:59")
    assert "The class is over" in shown(page)
    assert current_rows(page) == []


def test_the_clock_survives_a_reload_and_stops_when_asked(at_nine):
    page = at_nine
    page.get_by_role("button", name="Start now").click()
    page.clock.fast_forward("21:00")
    page.reload()
    page.wait_for_selector(".class-clock-part")
    assert "3. The Causal Mask" in shown(page)
    assert "6 minutes left of 7" in shown(page)
    page.get_by_role("button", name="Stop").click()
    assert "not running" in shown(page)
    assert page.evaluate("document.activeElement.textContent") == "Start now"
    page.reload()
    page.wait_for_selector(".class-clock-part")
    assert "not running" in shown(page)


def test_a_class_that_began_earlier_or_has_yet_to_begin_is_shown_as_such(at_nine):
    page = at_nine
    field, button = (
        page.get_by_label("We began at"),
        page.get_by_role("button", name="Set", exact=True),
    )
    assert field.input_value() == "09:15"
    button.click()
    assert "begins in 15 minutes, at 09:15" in shown(page)
    field.fill("07:55")
    button.click()
    assert "Exercise 1 · Scaled" in shown(page)
    field.fill("23:30")  # yesterday evening
    button.click()
    assert "ended at 01:30" in shown(page)
    field.fill("")
    button.click()
    assert "such as 09:15" in page.locator(".class-clock [role=alert]").inner_text()


@pytest.fixture(scope="module")
def explorer(new_context, site):
    """Give the explorer's page as ``explorer(state)``: its address is changed under it."""
    page = load(new_context, f"{site}book/explorer.html")
    page.wait_for_selector(".explorer-bars tbody tr")

    def asked(state: str):
        page.evaluate(
            """(state) => new Promise((done) => {
                addEventListener("hashchange", done, { once: true });
                location.hash = state;
            }).then(() => 0)""",
            state,
        )
        settled(page)
        return page

    yield asked
    page.context.close()


def test_every_link_into_the_model_sets_the_state_it_names(explorer):
    links = html(NOTES).select('article a[href*="explorer.html#"]')
    states = {link["href"].split("#")[1] for link in links}
    assert len(links) >= 15
    for state in sorted(states):
        page = explorer(state)
        assert page.locator(".explorer-trouble").inner_text() == ""
        # What the explorer reads from the address is all that the link asks for.
        read = page.evaluate(
            """async (state) => {
                const { fromAddress, toAddress } = await import("../_static/explorer/state.js");
                const { state: read } = fromAddress(state, { n_l: 4, n_h: 4, largestSeed: 9 });
                return toAddress(read);
            }""",
            state,
        )
        asked = {key: value for key, value in parse_qsl(state) if FIRST.get(key) != value}
        assert dict(parse_qsl(read)) == asked


def test_the_model_does_what_the_notes_promise_the_room(explorer):
    def measured(state: str) -> tuple[float, float]:
        found = losses(explorer(state))
        return found["Loss as trained"], found["Loss like this"]

    uniform = 4.17
    trained, no_mask = measured("off=mask")
    assert 1.7 < no_mask / trained < 2
    assert no_mask < uniform
    assert uniform - 0.1 < measured("off=positions")[1] < uniform
    assert measured("off=residual")[1] > uniform
    rises = [measured(f"off=1.{head}")[1] - trained for head in (1, 2, 4)]
    assert rises == sorted(rises, reverse=True)
    assert rises[-1] < 0.2 < rises[1]
    text = "I%20confess%20two%20sleeves."
    for head, back in ((1, 1), (2, 2), (4, 3)):
        page = explorer(f"text={text}&head={head}&position=20")
        assert f"most of position {20 - back} (" in page.locator(".explorer-app").inner_text()


def test_one_switch_opens_all_answers_and_a_page_offers_to_close_them(open_page):
    page = open_page(INDEX)
    page.get_by_role("checkbox", name="Open all answers").focus()
    page.keyboard.press("Space")
    mask = page.url.replace("instructor/index", "briefing/03-causal-mask")
    page.goto(mask)
    page.locator(".answers-open").wait_for()
    line = page.locator(".answers-open")
    assert "Answers are open (the instructor’s switch)" in line.inner_text()
    folds = page.locator("article details:is(.check-answer, .sd-dropdown)").all()
    assert len(folds) == 2
    assert all(fold.get_attribute("open") is not None for fold in folds)
    line.get_by_role("button", name="Close them").focus()
    page.keyboard.press("Enter")
    assert all(fold.get_attribute("open") is None for fold in folds)
    assert line.inner_text() == "Answers closed."
    page.reload()
    assert page.locator(".answers-open").count() == 0
    page.goto(mask.replace("briefing/03-causal-mask", "instructor/index"))
    assert not page.get_by_role("checkbox", name="Open all answers").is_checked()


def test_a_student_meets_no_switch_and_closed_answers(open_page):
    page = open_page(MASK)
    assert page.locator(".answers-open, .answers-switch").count() == 0
    assert page.locator("article details[open]").count() == 0
