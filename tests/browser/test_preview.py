"""`make preview` as an author uses it, on a small book: real builds, kernels and pages."""

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest
import yaml
from chromium import ROOT
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
PATIENCE = 300  # seconds for a build on a busy machine
STOP = 60  # seconds until nothing may be left, there
CONFIG = """
title: A small book
only_build_toc_files: true
exclude_patterns: [_build, ".*", labs/source]
execute: {execute_notebooks: cache, allow_errors: false, raise_on_error: true}
sphinx: {recursive_update: true}
"""
TOC = """
format: jb-book
root: book/index
chapters: [{file: book/code}, {file: labs/lab}]
"""
CODE = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
# Code

```{code-cell}
x = 6 * 7
print("the answer is", x)
print("the source says", open("../src/said.txt").read())
```
"""
LAB = """import json
text = open("labs/source/lab.md").read()
cells = [{"cell_type": "markdown", "metadata": {}, "source": text}]
book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
open("labs/lab.ipynb", "w").write(json.dumps(book))
"""


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def small_book(folder: Path) -> Path:
    write(folder / "_config.yml", CONFIG)
    write(folder / "_toc.yml", TOC)
    write(folder / "book/index.md", "# Start\n\nThe first text.\n")
    write(folder / "book/code.md", CODE)
    write(folder / "src/said.txt", "one")
    write(folder / "labs/build.py", LAB)
    write(folder / "labs/source/lab.md", "# Lab\n\nThe first lab.\n")
    return folder


class Running:
    """A preview, and what it has said so far."""

    def __init__(self, book: Path, **environment: str) -> None:
        self.book, self.said = book, ""
        command = [sys.executable, ROOT / "book" / "preview", "--port", "0", book]
        variables = {key: value for key, value in os.environ.items() if "DISPLAY" not in key}
        self.process = subprocess.Popen(
            command,
            env=variables | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def wait_for(self, words: str) -> re.Match:
        """Wait until it says this, after all that was waited for before."""
        passed = ""
        while True:
            line = self.lines.get(timeout=PATIENCE)
            self.said += line
            passed += line
            if found := re.search(words, line):
                return found
            if not line:
                raise AssertionError(f"it ended and never said {words!r}:\n{self.said}")

    def ready(self) -> "Running":
        found = self.wait_for(r"(http://[\d.:]+)(/\S+)#live=(http://[\d.:]+)&token=(\w+)")
        self.site, self.start, self.live, self.token = found.groups()
        return self

    def save(self, name: str, text: str) -> None:
        (self.book / name).write_text(text)

    def family(self) -> list[psutil.Process]:
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]

    def ask(self, url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
        asked = Request(
            url, method=method, headers=headers, data=b"{}" if method == "POST" else None
        )
        try:
            with urlopen(asked) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def kernel(self) -> str:
        """Start a kernel, and name it."""
        key = f"token {self.token}"
        return json.loads(self.ask(f"{self.live}/api/kernels", "POST", Authorization=key)[1])["id"]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(STOP)
        self.reader.join()
        self.process.stdout.close()


@contextlib.contextmanager
def preview(book: Path, **environment: str) -> Iterator[Running]:
    running = Running(book, **environment)
    try:
        yield running
    finally:
        running.end()


@contextlib.contextmanager
def visitor() -> Iterator[socket.socket]:
    """Wait at a port for somebody to come by."""
    with socket.create_server(("127.0.0.1", 0)) as waiting:
        waiting.settimeout(PATIENCE)
        yield waiting


def heard(waiting: socket.socket) -> str:
    with waiting.accept()[0] as visit, visit.makefile() as words:
        return words.read()


def visit(waiting: socket.socket, words: str) -> str:
    """Give the Python that goes there and says something."""
    address = waiting.getsockname()
    return f"import socket, sys; socket.create_connection({address}).sendall({words}.encode())"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with preview(small_book(tmp_path_factory.mktemp("book"))) as one:
        yield one.ready()


@pytest.fixture
def page(new_context) -> Iterator[Page]:
    context = new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    yield page
    context.close()


def shows(page: Page, words: str) -> None:
    expect(page.locator("article")).to_contain_text(words, timeout=PATIENCE * 1000)


def test_a_page_opened_too_early_turns_into_the_book(tmp_path, page):
    with preview(small_book(tmp_path)) as one:
        site = one.wait_for(r"The pages will be at (http://[\d.:]+/);")[1]
        page.goto(f"{site}book/index.html")
        expect(page.locator("h1")).to_have_text("The book is being built")
        shows(page, "The first text.")
        assert "All cells run anew" in one.said + one.ready().said


def test_a_saved_text_is_built_and_the_open_page_reloads(running, page):
    page.goto(running.site + running.start)
    shows(page, "text.")
    running.save("book/index.md", "# Start\n\nThe second text.\n")
    shows(page, "The second text.")
    running.wait_for("Built in")


def test_an_open_page_reloads_in_the_place_where_it_was(running, page):
    page.goto(f"{running.site}/book/code.html")
    shows(page, "the answer is")
    running.save("book/code.md", CODE.replace("6 * 7", "6 * 8") + "\n\nline" * 200)
    shows(page, "the answer is 48")
    page.mouse.wheel(0, 1500)
    page.wait_for_function("scrollY > 1000")
    running.wait_for("Built in")
    running.save("book/code.md", CODE + "\n\nline" * 200)
    shows(page, "the answer is 42")
    page.wait_for_function("scrollY > 1000")
    running.wait_for("Built in")


def test_a_failing_cell_is_named_and_the_good_page_stays_until_it_is_mended(running, page):
    page.goto(f"{running.site}/book/code.html")
    running.save("book/code.md", CODE.replace("6 * 7", "6 * seven").replace("# Code", "# New"))
    said = running.wait_for("could not be built.*").string
    cell = "book/code.md, the cell that starts with `x = 6 * seven`: NameError: name 'seven' is"
    assert cell in said
    assert "The last good pages stay up" in said
    log = Path(re.search(r"All messages: (\S+)", said)[1])
    assert "NameError" in log.read_text()
    page.reload()
    shows(page, "the answer is")
    expect(page.locator("article h1")).to_contain_text("Code")
    running.save("book/code.md", CODE.replace("6 * 7", "6 * 9"))
    shows(page, "the answer is 54")
    running.wait_for("Built in")


def test_a_warning_keeps_the_page_back_and_is_not_forgotten(running):
    running.save("book/code.md", CODE + "\n[there](nowhere.md)\n")
    assert "book/code.md, line 13: 'myst' cross-ref" in running.wait_for("could not be").string
    running.save("book/index.md", "# Start\n\nThe third text.\n")
    assert "nowhere.md" in running.wait_for("could not be built").string
    assert "nowhere" not in running.ask(f"{running.site}/book/code.html")[1]
    assert "third" not in running.ask(running.site + running.start)[1]
    running.save("book/code.md", CODE)
    running.wait_for("Built in")
    assert "third" in running.ask(running.site + running.start)[1]


def test_what_the_cells_read_from_src_runs_all_of_them_anew(running):
    running.save("src/said.txt", "two")
    assert re.search(r"took \d.* last time", running.wait_for("All cells run anew.*").string)
    running.wait_for("Built in")
    assert "the source says two" in running.ask(f"{running.site}/book/code.html")[1]


def test_a_mistake_in_src_leaves_no_page_with_what_was_true_before(running):
    source = running.book / "src" / "said.txt"
    source.rename(source.with_name("gone.txt"))
    assert "FileNotFoundError" in running.wait_for("could not be built").string
    running.save("book/code.md", CODE.replace('open("../src/said.txt").read()', '"nothing"'))
    running.wait_for("Built in")
    assert "the source says nothing" in running.ask(f"{running.site}/book/code.html")[1]
    source.with_name("gone.txt").rename(source)
    running.save("book/code.md", CODE)
    running.wait_for("Built in")


def test_what_is_saved_during_a_build_is_built_after_it(running):
    running.save("book/index.md", "# Start\n\nThe fourth text.\n")
    running.wait_for("book/index.md changed")
    running.save("book/index.md", "# Start\n\nThe fifth text.\n")
    running.wait_for("Built in")
    running.wait_for("book/index.md changed")
    running.wait_for("Built in")
    assert "The fifth text" in running.ask(running.site + running.start)[1]


def test_the_lab_is_written_from_its_source_and_what_editors_leave_behind_builds_nothing(running):
    running.save("labs/source/lab.md", "# Lab\n\nThe second lab.\n")
    assert "labs/source/lab.md changed" in running.wait_for("changed").string
    running.wait_for("Built in")
    assert "The second lab" in running.ask(f"{running.site}/labs/lab.html")[1]
    for name in ("book/index.md~", "book/.index.md.swp", "book/#index.md#", "book/4913"):
        running.save(name, "left behind")
    write(running.book / "labs/.ipynb_checkpoints/lab.ipynb", "left behind")
    write(running.book / "_build/html/book/index.html", "another build")
    running.save("book/index.md", "# Start\n\nThe sixth text.\n")
    assert "book/index.md changed." in running.wait_for("changed").string
    running.wait_for("Built in")
    assert "The sixth text" in running.ask(running.site + running.start)[1]


def test_somebody_s_work_in_the_lab_is_kept_and_told_of_and_work_in_a_copy_builds_nothing(tmp_path):
    book = small_book(tmp_path)
    for name in ("labs/build.py", "labs/copies.py", "labs/source/lab5_variants.py"):
        write(book / name, (ROOT / name).read_text())
    for name in ("labs/source/set_up.py", "book/extensions/links.py"):
        write(book / name, (ROOT / name).read_text())
    address = yaml.safe_load((ROOT / "_config.yml").read_text())
    parts = {"repository": address["repository"], "html": {"baseurl": address["html"]["baseurl"]}}
    write(book / "_config.yml", CONFIG + yaml.safe_dump(parts))
    write(book / "_toc.yml", TOC.replace(", {file: labs/lab}", ""))
    (book / "src" / "minigpt").symlink_to(ROOT / "src" / "minigpt")
    write(book / "labs/lab5_variants.ipynb", "somebody's work")
    with preview(book) as one:
        one.wait_for("labs/lab5_variants.ipynb held somebody's work, which is now in labs/mine")
        one.ready()
        assert (book / "labs/mine/lab5_variants.ipynb").read_text() == "somebody's work"
        assert '"cells"' in (book / "labs/lab5_variants.ipynb").read_text()
        one.save("labs/mine/lab5_variants.ipynb", "more work")
        one.save("labs/mine/lab5-work.safetensors", "saved")
        one.save("book/index.md", "# Start\n\nThe second text.\n")
        assert "book/index.md changed." in one.wait_for("changed").string
        one.wait_for("Built in")
    assert (book / "labs/mine/lab5_variants.ipynb").read_text() == "more work"


def test_nothing_of_the_preview_is_in_what_was_built(running):
    served = running.ask(running.site + running.start)[1]
    built = (running.book / ".preview/good/html" / running.start[1:]).read_text()
    assert "WebSocket" in served
    assert "WebSocket" not in built


TRY = """async ([url, headers, method]) => {
  try {
    const answer = await fetch(url, { headers, method });
    return answer.status;
  } catch {
    return "refused";
  }
}"""
CONNECT = """(url) => new Promise((done) => {
  const socket = new WebSocket(url);
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[str]:
    """Serve an empty page from another port of this machine."""
    write(tmp_path / "foreign" / "index.html", "<!doctype html><title>Foreign</title>")

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path / "foreign"))

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()
        thread.join()


def reach(page: Page, running: Running, kernel: str) -> dict[str, object]:
    """Try every way from a page to the kernels."""
    key = {"Authorization": f"token {running.token}"}
    status, start = f"{running.live}/api/status", f"{running.live}/api/kernels"
    channels = f"{start}/{kernel}/channels".replace("http", "ws", 1)
    with_token = f"?token={running.token}"
    return {  # those without the token first: with it a page gets a cookie
        "status without the token": page.evaluate(TRY, [status, {}, "GET"]),
        "a kernel without the token": page.evaluate(TRY, [start, {}, "POST"]),
        "a socket without the token": page.evaluate(CONNECT, channels),
        "status": page.evaluate(TRY, [status, key, "GET"]),
        "status, token in the address": page.evaluate(TRY, [status + with_token, {}, "GET"]),
        "a kernel": page.evaluate(TRY, [start, key, "POST"]),
        "a kernel, token in the address": page.evaluate(TRY, [start + with_token, {}, "POST"]),
        "a socket": page.evaluate(CONNECT, channels + with_token),
    }


def test_the_pages_of_the_preview_reach_the_kernels_and_only_with_the_token(running, page):
    page.goto(running.site + running.start)
    assert reach(page, running, running.kernel()) == {
        "status": 200,
        "status, token in the address": 200,
        "status without the token": "refused",
        "a kernel": 201,
        "a kernel, token in the address": 201,
        "a kernel without the token": "refused",
        "a socket": "open",
        "a socket without the token": "refused",
    }


def test_a_page_of_another_origin_reaches_no_kernel_with_the_token_or_without(
    running, page, foreign
):
    kernel = running.kernel()
    page.goto(running.site + running.start)
    reach(page, running, kernel)  # leaves the cookie of whoever had the token
    kernels = f"{running.live}/api/kernels?token={running.token}"
    before = len(json.loads(running.ask(kernels)[1]))
    page.goto(foreign)
    assert set(reach(page, running, kernel).values()) == {"refused"}
    assert len(json.loads(running.ask(kernels)[1])) == before  # not even blindly
    assert page.evaluate(TRY, [running.site + running.start, {}, "GET"]) == "refused"
    socket_of_pages = f"{running.site}/.preview/builds".replace("http", "ws", 1)
    assert page.evaluate(CONNECT, socket_of_pages) == "refused"


def test_without_the_token_and_under_another_name_nothing_answers(running):
    for path in ("", "/api/kernels", "/api/contents", "/api/sessions"):
        status, _ = running.ask(f"{running.live}{path}/", Host="example.org")
        assert status == 403, path
    assert running.ask(f"{running.live}/api/kernels")[0] == 403
    assert running.ask(f"{running.live}/api/kernels?token=wrong")[0] == 403
    port = running.site.rpartition(":")[2]
    for name in ("example.org", f"example.org:{port}", "127.0.0.1", f"localhost:{port}"):
        for path in (running.start, "/.preview/builds", "/.preview/start/x", "/_static/x.css"):
            status, said = running.ask(running.site + path, Host=name)
            assert status == 403, (name, path)
            assert f"Its address is {running.site}/" in said


def test_everything_listens_on_this_machine_alone(running):
    running.kernel()
    places = {
        one.laddr.ip
        for process in running.family()
        for one in process.net_connections("inet")
        if one.status == psutil.CONN_LISTEN
    }
    assert places == {"127.0.0.1"}


def test_the_token_stands_in_no_command_line_and_in_no_file(running):
    for process in running.family():
        assert running.token not in " ".join(process.cmdline())
    for file in (running.book / ".preview").rglob("*"):
        assert file.is_dir() or running.token.encode() not in file.read_bytes(), file


def start_in_vain(*arguments: object) -> str:
    command = [sys.executable, ROOT / "book" / "preview", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_port_that_is_taken_and_a_second_preview_cost_one_line(running, tmp_path):
    assert running.site in start_in_vain("--port", "0", running.book)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = start_in_vain("--port", str(port), small_book(tmp_path / "copy"))
        assert f"Port {port} is taken" in said
        assert f"make preview PORT={port + 1}" in said
    assert "There is no port 70000" in start_in_vain("--port", "70000", tmp_path / "copy")


def copy_of(running: Running, folder: Path) -> Path:
    """Copy a book with what the preview has made of it, so that it has pages at once."""
    return shutil.copytree(running.book, folder / "copy")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_no_process_outlives_it_whatever_ends_it(running, tmp_path, name):
    book = copy_of(running, tmp_path)
    with visitor() as waiting:
        busy = f"{visit(waiting, repr('busy'))}\nwhile True: pass"
        write(book / "book/code.md", CODE.replace("x = 6 * 7", busy))
        with preview(book) as one:
            one.ready().kernel()
            assert heard(waiting) == "busy"  # a cell of the build
            family = one.family()
            assert sum("ipykernel" in " ".join(process.cmdline()) for process in family) == 2
            one.process.send_signal(signal.Signals[name])
            assert one.process.wait(STOP) == (-9 if name == "SIGKILL" else 0)
            _, left = psutil.wait_procs(family, timeout=STOP)
            assert left == []
        with preview(book) as again:  # nothing that it left stands in the way
            again.ready()
            assert heard(waiting) == "busy"


def test_a_browser_is_opened_by_an_address_that_is_good_for_once(running, tmp_path, page):
    book = copy_of(running, tmp_path)
    with visitor() as waiting:
        script = tmp_path / "browser.py"
        script.write_text(visit(waiting, "sys.argv[1]"))
        with preview(book, BROWSER=f"{sys.executable} {script} %s") as one:
            one.ready()
            address = heard(waiting)
            assert one.token not in address
            page.goto(address)
            assert page.url == f"{one.site}{one.start}#live={one.live}&token={one.token}"
            assert one.ask(address)[0] == 404


def test_where_there_is_no_browser_it_says_so(running, tmp_path):
    with preview(copy_of(running, tmp_path), BROWSER="/no/such/browser %s") as one:
        one.ready().wait_for("There is no browser here")
