"""The built site as GitHub Pages would serve it, and the browser to look at it with."""

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml
from chromium import ROOT, find
from playwright.sync_api import Browser, sync_playwright

sys.path.append(str(ROOT / "book" / "extensions"))
import links

SITE = ROOT / "_build" / "html"
PATH = links.read().path
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


class Pages(SimpleHTTPRequestHandler):
    """Serve everything below the path of the site, and 404.html for what is not there."""

    def translate_path(self, path: str) -> str:
        if not path.startswith(PATH):
            return str(Path(self.directory) / "nowhere")
        return super().translate_path("/" + path.removeprefix(PATH))

    def send_error(self, code: int, *args: object, **named: object) -> None:
        if code != HTTPStatus.NOT_FOUND:
            super().send_error(code, *args, **named)
            return
        body = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(site: Path = SITE) -> Iterator[str]:
    """Serve the site, and give its address.

    Raises:
        RuntimeError: it has not been built.
    """
    if not (site / "index.html").exists():
        raise RuntimeError(f"no book at {site}: run make book")
    handler = functools.partial(Pages, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{PATH}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def browsing() -> Iterator[Browser]:
    """Start the browser."""
    path, environment = find()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, env=environment, args=FLAGS)
        yield browser
        browser.close()
