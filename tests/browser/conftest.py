"""The built site, served on a port of its own, and a Chromium to look at it with."""

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))
from find_browser import ROOT, find

SITE = ROOT / "_build" / "html"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pages() -> list[str]:
    """Name every page of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *chapters]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    if not (SITE / "index.html").exists():
        raise RuntimeError(f"no book at {SITE}: run make book")
    with serve(SITE) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path, environment = find()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, env=environment, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, site: str):
    """Open a page as ``open_page(name, width=..., scheme=..., fragment=...)``, formulas set."""
    contexts = []

    def opened(name: str, width: int = 1280, scheme: str = "light", fragment: str = "") -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.requested, page.complaints = [], []
        page.on("request", lambda request: page.requested.append(request.url))
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
        page.goto(f"{site}{name}.html{fragment}", wait_until="networkidle")
        if page.locator(".math").count():
            page.wait_for_selector("mjx-container")
        return page

    yield opened
    for context in contexts:
        context.close()
