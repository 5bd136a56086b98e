"""The built site, served on a port of its own, and a Chromium to look at it with."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).parent))
from live import Jupyter, jupyter_server
from opening import load
from serve import browsing, serving


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with jupyter_server(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture
def open_page(chromium: Browser, site: str) -> Iterator[Callable[..., Page]]:
    """Open a page as ``open_page(name, width=..., scheme=..., fragment=...)``."""
    contexts = []

    def opened(name: str, fragment: str = "", **how: object) -> Page:
        page = load(chromium, f"{site}{name}.html#{fragment}".removesuffix("#"), **how)
        contexts.append(page.context)
        return page

    yield opened
    for context in contexts:
        context.close()
