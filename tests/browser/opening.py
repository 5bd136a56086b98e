"""How the tests open a page, in which engine, and what they ask of pages of every kind.

    ENGINE=firefox .venv/bin/pytest tests/browser/test_explorer.py

Without ENGINE it is Chromium. Firefox is Debian's or Mozilla's own. Its driver can do less: what it
cannot do is skipped, in words.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from bs4 import BeautifulSoup
from chromium import ROOT
from playwright.sync_api import BrowserContext, Locator, Page, sync_playwright
from serve import SITE, browsing

ENGINE = os.environ.get("ENGINE") or "chromium"
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
LACKS = {"scripts": "switch scripts off", "touch": "touch", "contrast": "force colours"}

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
COLOURS = (
    "color-contrast",
    "link-in-text-block",
)  # the rules that the scheme can make a page break

# The formulas are set, in their fonts.
READY = """async () => {
    await window.MathJax?.startup?.promise;
    await document.fonts.ready;
}"""

# What is still half transparent has no contrast yet. A spinner never ends.
SETTLED = """() => Promise.all(document.getAnimations()
    .filter((a) => a.effect.getComputedTiming().endTime < Infinity)
    .map((a) => a.finished.catch(() => 0))).then(() => 0)"""

# Axe writes long reports of all that is well; those stay in the page.
RUN_AXE = """async ([within, rules]) => {
    const options = { resultTypes: ["violations"] };
    if (rules.length) options.runOnly = rules;
    const { violations } = await axe.run(within ?? document, options);
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}"""


@cache
def html(name: str) -> BeautifulSoup:
    """Read a page as it was built; nothing may be changed in it."""
    return BeautifulSoup((SITE / f"{name}.html").read_text(), "html.parser")


def words(part) -> str:
    """Give the text of a part of a page as a reader sees it, in one line."""
    return " ".join(part.get_text().split())


@contextmanager
def chromium() -> Iterator[Callable[..., BrowserContext]]:
    """Start Chromium, and give what makes a context in it."""
    with browsing() as browser:

        def context(
            width: int = 1280,
            scheme: str = "light",
            scripts: bool = True,
            touch: bool = False,
            contrast: bool = False,
            still: bool = False,
            **options: object,
        ) -> BrowserContext:
            return browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
                java_script_enabled=scripts,
                has_touch=touch,
                forced_colors="active" if contrast else "none",
                reduced_motion="reduce" if still else "no-preference",
                **options,
            )

        yield context


@contextmanager
def firefox() -> Iterator[Callable[..., BrowserContext]]:
    """Start Firefox, once for each scheme, and give what makes a context in it."""
    browsers = {}

    with sync_playwright() as playwright:

        def context(
            width: int = 1280, scheme: str = "light", still: bool = True, **options: object
        ) -> BrowserContext:
            for option in options:
                pytest.skip(f"the driver of Firefox cannot {LACKS[option]}")
            if scheme not in browsers:
                browsers[scheme] = playwright.firefox.launch(
                    channel="moz-firefox",
                    executable_path=FIREFOX,
                    firefox_user_prefs={
                        "layout.css.prefers-color-scheme.content-override": int(scheme == "light"),
                        "ui.systemUsesDarkTheme": int(scheme == "dark"),
                        "ui.prefersReducedMotion": 1,
                    },
                )
            return browsers[scheme].new_context(viewport={"width": width, "height": 900})

        yield context
        for browser in browsers.values():
            browser.close()


def engine():
    """Start the browser that was asked for, or Chromium where it is missing."""
    if ENGINE not in ("chromium", "firefox"):
        raise ValueError(f"ENGINE={ENGINE} is none that can be asked for: chromium or firefox")
    return firefox() if ENGINE == "firefox" and FIREFOX else chromium()


def watch(page: Page) -> None:
    """Note what a page requests and says."""
    page.requested, page.responses, page.complaints = [], [], []
    page.on("request", lambda request: page.requested.append(request.url))
    page.on("response", lambda response: page.responses.append(response))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on(
        "console",
        lambda line: line.type in ("error", "warning") and page.complaints.append(line.text),
    )
    page.on(
        "response",
        lambda answer: (
            answer.status >= 400 and page.complaints.append(f"{answer.status} {answer.url}")
        ),
    )


def load(
    new_context: Callable[..., BrowserContext],
    address: str,
    before: Callable[[Page], object] = lambda page: None,
    **how: object,
) -> Page:
    """Open a page in a context of its own, formulas set; ``before`` prepares the empty page."""
    page = new_context(**how).new_page()
    watch(page)
    before(page)
    page.goto(address)
    if how.get("scripts", True):
        page.evaluate(READY)
    return page


def write(field: Locator, text: str) -> None:
    """Write into a field by the keyboard, in the place of what stood there, and confirm it."""
    field.press("ControlOrMeta+a")
    field.press("Delete")
    field.press_sequentially(text)
    field.press("Enter")


def unfold(page: Page) -> None:
    """Open every fold, and wait until it has faded in."""
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    page.evaluate(SETTLED)


def put_on_paper(page: Page) -> None:
    if ENGINE == "firefox" and FIREFOX:
        pytest.skip("the driver of Firefox cannot print")
    page.emulate_media(media="print")


def turn_dark(page: Page) -> None:
    page.evaluate("document.documentElement.dataset.theme = 'dark'")


def barriers(
    page: Page, within: str | None = None, rules: tuple[str, ...] = ()
) -> list[tuple[str, list[str]]]:
    """List what axe finds wrong with what is seen of a page."""
    page.evaluate(SETTLED)
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=str(AXE))
    return page.evaluate(RUN_AXE, [within, rules])
