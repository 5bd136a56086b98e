"""The built site, served on a port of its own, and a browser to look at it with."""

from collections.abc import Callable, Iterator

import pytest
from live import Jupyter, jupyter_server
from opening import engine, load
from playwright.sync_api import BrowserContext, Page
from serve import serving


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def new_context() -> Iterator[Callable[..., BrowserContext]]:
    with engine() as context:
        yield context


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with jupyter_server(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture
def open_page(new_context: Callable[..., BrowserContext], site: str) -> Iterator[Callable]:
    """Open a page by its name or address, as ``open_page(name, fragment, width=..., ...)``."""
    contexts = []

    def opened(name: str, fragment: str = "", **how: object) -> Page:
        address = name if "://" in name else f"{site}{name}.html"
        page = load(new_context, f"{address}#{fragment}".removesuffix("#"), **how)
        contexts.append(page.context)
        return page

    yield opened
    for context in contexts:
        context.close()
