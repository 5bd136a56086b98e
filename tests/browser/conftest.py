"""The built site, served on a port of its own, and a Chromium to look at it with."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).parent))
from serve import browsing, serving


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


def load(browser: Browser, address: str, width: int = 1280, scheme: str = "light") -> Page:
    """Open a page in a context of its own, formulas set, and note what it requests and says."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
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
    page.goto(address, wait_until="networkidle")
    if page.locator(".math").count():
        page.wait_for_selector("mjx-container")
    return page


@pytest.fixture
def open_page(chromium: Browser, site: str):
    """Open a page as ``open_page(name, width=..., scheme=..., fragment=...)``."""
    contexts = []

    def opened(name: str, width: int = 1280, scheme: str = "light", fragment: str = "") -> Page:
        address = f"{site}{name}.html#{fragment}".removesuffix("#")
        page = load(chromium, address, width, scheme)
        contexts.append(page.context)
        return page

    yield opened
    for context in contexts:
        context.close()
