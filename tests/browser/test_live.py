"""Live Code as a reader uses it: real cells on a real kernel, and a stand-in for Binder."""

import random
import re
from collections.abc import Iterator

import pytest
from live import Hub, Jupyter, jupyter_server, stand_in_hub
from opening import COLOURS, barriers, html, turn_dark, unfold
from playwright.sync_api import Locator, Page, expect
from serve import SITE, pages

MASK = "book/briefing/03-causal-mask"
LAB = "labs/lab5_transformer"
HEADS = "book/briefing/04-multi-head-attention"
MINUTE = 60_000  # ms
COUNTER = "import builtins\nbuiltins.n = getattr(builtins, 'n', 0) + 1\nprint('run', builtins.n)"
FOREVER = "while True:\n    pass"


def with_cells() -> list[str]:
    """Name the pages that show code, from the built site."""
    return [name for name in pages() if html(name).select("article .cell")]


@pytest.fixture
def hub(jupyter: Jupyter) -> Iterator[Hub]:
    with stand_in_hub(jupyter) as hub:
        yield hub


def status(page: Page) -> Locator:
    return page.locator(".live-bar").get_by_role("status")


def press(page: Page) -> None:
    page.get_by_role("button", name="Live Code").click()


def configure(page: Page, **changes: object) -> None:
    """Change what the page knows of Binder, before the button is pressed."""
    page.locator("#live-code").evaluate(
        """(data, changes) => {
            data.textContent = JSON.stringify({...JSON.parse(data.textContent), ...changes});
        }""",
        changes,
    )


@pytest.fixture
def live(open_page, jupyter: Jupyter):
    """Open a page with the address of the server, press the button, and wait for the kernel."""

    def opened(name: str, **how: object) -> Page:
        page = open_page(name, fragment=jupyter.fragment, **how)
        press(page)
        expect(status(page)).to_contain_text("Ready", timeout=MINUTE)
        return page

    yield opened
    jupyter.end_sessions()


def cell(page: Page, number: int) -> Locator:
    return page.locator("article .cell").nth(number - 1)


def output(page: Page, number: int) -> Locator:
    return cell(page, number).locator(".cell_output")


def write(page: Page, number: int, text: str) -> None:
    cell(page, number).locator(".CodeMirror").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def start(page: Page, number: int) -> None:
    cell(page, number).get_by_role("button", name=f"Run cell {number}", exact=True).click()


def run(page: Page, number: int, minutes: int = 3) -> None:
    start(page, number)
    done = f"Cell {number} has run."
    expect(status(page)).to_have_text(done, timeout=minutes * MINUTE)


def errors(page: Page) -> list[str]:
    return page.locator(".live-error, .live-hidden-error").all_inner_texts()


def test_nothing_is_fetched_before_the_click_and_nothing_from_elsewhere_after(
    open_page, site, jupyter
):
    page = open_page(MASK, fragment=jupyter.fragment)
    parts = ("thebe-core", "codemirror", "_static/live/")
    assert not [url for url in page.requested if any(part in url for part in parts)]
    assert not [url for url in page.requested if url.startswith(jupyter.url)]
    press(page)
    expect(status(page)).to_contain_text("Ready", timeout=MINUTE)
    # Every control has a name of its own, and every editor says how to leave it.
    buttons = page.locator(".live-bar button, .live-tools button").all()
    names = [one.get_attribute("aria-label") or one.inner_text() for one in buttons]
    assert all(names)
    assert len(set(names)) == len(names) == 3 + 2 * 4
    for editor in page.get_by_role("textbox", name="Code of cell").all():
        keys = page.locator(f"#{editor.get_attribute('aria-describedby')}").inner_text()
        assert "press Escape, then Tab" in keys
    page.get_by_role("button", name="Run all").click()
    expect(status(page)).to_have_text("All cells of the page have run.", timeout=MINUTE)
    allowed = (site, jupyter.url, "data:", "blob:")
    assert [url for url in page.requested if not url.startswith(allowed)] == []
    assert [url for url in page.requested if "thebe-core" in url]
    assert page.complaints == []
    page.context.close()
    jupyter.end_sessions()


def test_a_figure_and_the_numbers_in_the_text_follow_a_change_and_the_caption_stays(live):
    page = live(MASK)
    figure = page.locator("#fig-leak")
    before = figure.locator("svg.drawing").get_attribute("aria-label")
    caption = figure.locator("figcaption").inner_text()
    run(page, 4)  # the last cell can be run first, and the hidden ones show nothing
    assert errors(page) == []
    marks = page.locator("article .cell .live-mark").all_inner_texts()
    assert marks == ["run by you"] * 4
    assert "papermill" not in page.locator("article").inner_text()
    assert page.locator("article .cell").count() == 4
    assert figure.locator("svg.drawing").get_attribute("aria-label") == before
    assert figure.locator("figcaption").inner_text() == caption
    write(page, 4, "above = torch.zeros(1)\nmoved_leaky = moved + 7")
    run(page, 4)
    after = figure.locator("svg.drawing").get_attribute("aria-label")
    assert after != before
    assert "7.00" in figure.locator("figcaption").inner_text()
    numbered = re.compile(r"\d+\.\d\d")
    assert numbered.sub("", figure.locator("figcaption").inner_text()) == numbered.sub("", caption)


def test_an_error_is_shown_and_stops_what_comes_after_it_and_so_does_one_of_a_hidden_cell(live):
    page = live(MASK)
    write(page, 2, "print('before')\nscores / 0\nundefined_name")
    page.get_by_role("button", name="Run all").click()
    expect(status(page)).to_contain_text("Cell 2 of 4 stopped with an error", timeout=MINUTE)
    said = output(page, 2).inner_text()
    assert "before" in said
    assert "NameError" in said
    assert "\x1b" not in said
    marks = page.locator("article .cell .live-mark").all_inner_texts()
    assert marks == ["run by you", "error", "", ""]
    cell(page, 2).get_by_role("button", name="Reset cell 2").click()
    write(page, 4, "moved_leaky = None")
    start(page, 4)
    expect(status(page)).to_contain_text("A hidden cell of the page stopped", timeout=MINUTE)
    hidden = cell(page, 4).locator(".live-hidden-error")
    expect(hidden).to_contain_text("Error")
    cell(page, 4).get_by_role("button", name="Reset cell 4").click()
    run(page, 4)
    expect(hidden).to_have_count(0)


def test_live_code_has_no_barrier_that_axe_can_find_and_fits_a_telephone(live):
    page = live(HEADS, width=390)
    write(page, 1, "undefined_name")
    start(page, 1)
    expect(status(page)).to_contain_text("stopped with an error", timeout=MINUTE)
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert barriers(page) == []
    turn_dark(page)
    assert barriers(page, rules=COLOURS) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", with_cells())
def test_every_cell_runs_in_any_order(live, name):
    page = live(name)
    unfold(page)
    drawings = page.locator("article svg.drawing").count()
    numbers = list(range(1, page.locator("article .cell").count() + 1))
    random.Random(name).shuffle(numbers)
    if name.startswith("labs/"):  # a stub that runs again takes back what its checkpoint has lent
        page.get_by_role("button", name="Run all").click()
        expect(status(page)).to_have_text("All cells of the page have run.", timeout=10 * MINUTE)
        assert errors(page) == []
        numbers = [max(numbers)]
    for number in numbers:  # those above that have not run yet run before it
        run(page, number, minutes=10)
        assert errors(page) == []
    assert page.locator("article svg.drawing").count() == drawings


def test_an_edited_cell_gives_a_new_output_and_reset_brings_the_text_back(live):
    page = live(MASK)
    run(page, 1)
    expect(output(page, 1)).to_contain_text("[1, 1, 1, 1, 1, 1]")
    write(page, 1, "mask = torch.ones(6, 6).bool()\nmask.sum()")
    run(page, 1)
    expect(output(page, 1)).to_have_text("tensor(36)")
    run(page, 2)
    expect(output(page, 2)).to_contain_text("[0.1667, 0.1667, 0.1667, 0.1667, 0.1667, 0.1667],")
    cell(page, 1).get_by_role("button", name="Reset cell 1").click()
    run(page, 1)
    expect(output(page, 1)).to_contain_text("[1, 1, 1, 1, 1, 1]], dtype")


def test_restart_forgets_everything_and_the_cells_still_run(live):
    page = live(MASK)
    for expected in ("run 1", "run 2"):
        write(page, 1, COUNTER + "\nmask = torch.ones(6, 6).bool()")
        run(page, 1)
        expect(output(page, 1)).to_have_text(expected)
    page.get_by_role("button", name="Restart the kernel").click()
    expect(status(page)).to_contain_text("was restarted", timeout=MINUTE)
    expect(output(page, 1)).to_have_text("run 2")
    run(page, 2)
    expect(output(page, 1)).to_have_text("run 1")
    assert errors(page) == []


def test_old_outputs_stay_until_new_ones_come_and_cancel_stops_a_run(live):
    page = live(MASK)
    old = output(page, 1).inner_text()
    write(page, 1, FOREVER)
    start(page, 1)
    expect(cell(page, 1).locator(".live-mark")).to_have_text("running", timeout=MINUTE)
    expect(status(page)).to_have_text("Running cell 1 of 4…")
    assert output(page, 1).inner_text() == old
    start(page, 2)  # waits for its turn, and is dropped with the rest
    page.get_by_role("button", name="Cancel what is running").click()
    expect(status(page)).to_contain_text("Cancelled")
    expect(cell(page, 1).locator(".live-mark")).to_have_text("stopped", timeout=MINUTE)
    assert cell(page, 2).locator(".live-mark").inner_text() == ""
    write(page, 1, "mask = torch.ones(2, 2)\nmask.sum()")
    run(page, 1)
    expect(output(page, 1)).to_have_text("tensor(4.)")


def test_a_kernel_that_dies_is_noticed_and_the_next_run_works(live):
    page = live(MASK)
    write(page, 1, "import os\nos._exit(1)")
    start(page, 1)
    expect(status(page)).to_contain_text("The kernel died", timeout=MINUTE)
    cell(page, 1).get_by_role("button", name="Reset cell 1").click()
    run(page, 2)
    assert errors(page) == []


def test_a_connection_that_breaks_is_said(open_page, tmp_path):
    with jupyter_server(tmp_path) as server:
        page = open_page(MASK, fragment=server.fragment)
        press(page)
        expect(status(page)).to_contain_text("Ready", timeout=MINUTE)
    expect(status(page)).to_contain_text("connection to the server is", timeout=MINUTE)


def test_an_editor_is_written_in_run_and_left_with_the_keyboard(live):
    page = live(MASK)
    write(page, 1, "if True:\n")
    page.keyboard.press("Tab")
    page.keyboard.insert_text("print(6 * 7)")
    expect(page.locator(".CodeMirror-focused")).to_have_count(1)
    page.keyboard.press("Shift+Enter")
    expect(output(page, 1)).to_have_text("42", timeout=MINUTE)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator(".CodeMirror-focused")).to_have_count(0)
    expect(cell(page, 1).get_by_role("button", name="Run cell 1")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".CodeMirror-focused")).to_have_count(1)


def test_the_token_leaves_the_address_and_the_next_page_keeps_the_server(live, jupyter):
    page = live(MASK)
    assert jupyter.token not in page.url
    assert "#" not in page.url
    before = {session["id"] for session in jupyter.sessions()}
    page.locator("a.right-next").click()
    page.wait_for_url("**/04-multi-head-attention.html")
    press(page)
    expect(status(page)).to_contain_text("Ready", timeout=MINUTE)
    run(page, 1)
    after = {session["id"] for session in jupyter.sessions()}
    assert len(after - before) == 1  # of this page
    assert len(before - after) == 1  # that of the page left behind is gone


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org",
        "http://127.0.0.1.example.org:8888",
        "http://127.0.0.1@example.org",
        "javascript:alert(1)",
        "//example.org",
    ],
)
def test_a_server_on_another_computer_is_refused(open_page, site, address):
    page = open_page(MASK, fragment=f"live={address}&token=secret")
    expect(status(page)).to_contain_text(re.compile("refused|ignored"))
    assert "secret" not in page.url
    configure(page, placeholder=True)
    press(page)
    expect(status(page)).to_contain_text("does not say yet where its repository lives")
    assert [url for url in page.requested if not url.startswith((site, "data:", "blob:"))] == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_server_on_this_computer_is_remembered_by_any_of_its_names(open_page, host):
    page = open_page(MASK, fragment=f"live=http://{host}:1/some/folder&token=secret")
    assert page.locator(".live-bar").count() == 0
    page.on("request", lambda request: page.requested.append(request.url))
    press(page)
    expect(status(page)).to_contain_text("Nothing answers at", timeout=MINUTE)
    assert f"http://{host}:1/some/folder/api/status" in page.requested


def test_a_local_server_that_is_gone_leaves_the_choice_of_binder(open_page, hub):
    page = open_page(MASK, fragment="live=http://127.0.0.1:1&token=secret")
    configure(page, placeholder=False, hub=hub.address)
    press(page)
    expect(status(page)).to_contain_text("Is the Jupyter server there still running")
    page.get_by_role("button", name="Forget this server and use Binder").click()
    expect(status(page)).to_contain_text("Ready", timeout=MINUTE)
    assert len(hub.asked) == 1


def test_a_wrong_token_is_named(open_page, jupyter):
    page = open_page(MASK, fragment=f"live={jupyter.url}&token=wrong")
    press(page)
    expect(status(page)).to_contain_text("Its token may be a new one", timeout=MINUTE)


def test_without_a_repository_binder_is_not_even_tried(open_page, hub):
    page = open_page(MASK)
    configure(page, placeholder=True, hub=hub.address)
    press(page)
    expect(status(page)).to_contain_text("does not say yet where its repository lives")
    assert hub.asked == []


def test_binder_is_asked_for_the_ref_and_says_what_it_does(open_page, hub):
    hub.events = [
        {"phase": "waiting", "message": "in the queue\n"},
        {"phase": "building", "message": "Step 1 of 3"},
    ]
    hub.go_on.clear()
    page = open_page(MASK)
    old = output(page, 1).inner_text()
    configure(page, placeholder=False, hub=hub.address, repository="some/where", ref="a/branch")
    press(page)
    expect(status(page)).to_contain_text("Binder is building the environment")
    expect(status(page)).to_contain_text("several minutes")
    assert hub.asked == ["/build/gh/some/where/a%2Fbranch"]
    log = page.locator(".live-log")
    assert log.get_attribute("open") is None
    log.locator("summary").click()
    assert log.locator("pre").inner_text() == "in the queue\nStep 1 of 3\n"
    assert output(page, 1).inner_text() == old
    hub.go_on.set()
    expect(status(page)).to_contain_text("Ready", timeout=MINUTE)
    run(page, 1)
    page.locator("a.right-next").click()
    page.wait_for_url("**/04-multi-head-attention.html")
    configure(page, placeholder=False, hub=hub.address)
    press(page)
    expect(status(page)).to_contain_text("Ready", timeout=MINUTE)
    assert len(hub.asked) == 1  # the server of before is used again


def test_binder_s_refusal_is_passed_on(open_page, hub):
    hub.end = "failed"
    page = open_page(MASK)
    configure(page, placeholder=False, hub=hub.address)
    press(page)
    expect(status(page)).to_contain_text("Binder could not start the environment (no such branch)")
    hub.end = "ready"
    page.get_by_role("button", name="Try again").click()
    expect(status(page)).to_contain_text("Ready", timeout=MINUTE)


def test_cancel_leaves_binder_s_queue(open_page, hub):
    hub.go_on.clear()
    hub.events = [{"phase": "launching", "message": "soon"}]
    page = open_page(MASK)
    configure(page, placeholder=False, hub=hub.address)
    press(page)
    expect(status(page)).to_contain_text("Binder is starting a server")
    page.get_by_role("button", name="Cancel").click()
    expect(status(page)).to_contain_text("Cancelled")
    hub.go_on.set()
    page.get_by_role("button", name="Try again").click()
    expect(status(page)).to_contain_text("Ready", timeout=MINUTE)
    assert len(hub.asked) == 2


def test_offline_it_says_so_within_five_seconds(open_page, hub):
    # Seconds are what a busy machine has none of: how long the page waits stands in its script.
    waits = re.search(r"PATIENCE = ([\d_]+)", (SITE / "_static/live/server.js").read_text())
    assert int(waits[1]) < 5000
    page = open_page(MASK)
    configure(page, placeholder=False, hub="http://127.0.0.1:1")
    press(page)
    expect(status(page)).to_contain_text("You are probably offline", timeout=MINUTE)
    hub.silent = True
    configure(page, hub=hub.address)
    page.get_by_role("button", name="Try again").click()
    expect(status(page)).to_contain_text("You may be offline", timeout=MINUTE)
    page.get_by_role("button", name="Cancel").click()
    expect(status(page)).to_contain_text("Cancelled")
    hub.silent = False
    page.context.set_offline(True)
    page.get_by_role("button", name="Try again").click()
    expect(status(page)).to_contain_text("You are probably offline", timeout=MINUTE)
    assert len(hub.asked) == 1


def test_a_site_that_is_out_of_reach_is_named(open_page):
    page = open_page(MASK)
    page.context.set_offline(True)
    press(page)
    expect(status(page)).to_contain_text("You may be offline", timeout=MINUTE)


def test_a_page_opened_from_a_file_says_why_its_code_cannot_run(open_page):
    page = open_page((SITE / f"{MASK}.html").as_uri())
    press(page)
    expect(status(page)).to_contain_text("opened from a file")
