"""The check of the evening before class: each of its rows turns red for what it is there for."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import checks
import hyperlinks as links
import nbformat
import pytest
from checks import Failed, Skipped, Warned
from table import SITE

from minigpt.artifacts import DATA

ROOT = Path(__file__).resolve().parents[1]

# The machine


def test_a_python_that_is_too_old_fails(tmp_path):
    text = (ROOT / "pyproject.toml").read_text()
    old, new = 'requires-python = ">=3.11"', 'requires-python = ">=3.99"'
    assert old in text
    (tmp_path / "pyproject.toml").write_text(text.replace(old, new))
    with pytest.raises(Failed, match=r">=3\.99 is needed"):
        checks.python(tmp_path / "pyproject.toml")
    assert checks.python(ROOT / "pyproject.toml")


def test_a_package_that_is_missing_or_of_another_version_fails(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("# pins\nnumpy==0.1  # old\ntorch\nno-such-package==1.0\n\n-e .\n")
    said = r"numpy is [\d.]+, not ==0\.1; no-such-package is not installed$"
    with pytest.raises(Failed, match=said):
        checks.packages(file)


def test_a_node_module_that_is_missing_or_of_another_version_fails(tmp_path):
    lock, folder = tmp_path / "package-lock.json", tmp_path / "node_modules"
    wanted = {"": {}, "node_modules/mathjax": {"version": "3.2.2"}}
    wanted["node_modules/for-another-system"] = {"version": "1.0.0", "optional": True}
    lock.write_text(json.dumps({"packages": wanted}))
    with pytest.raises(Failed, match=r"mathjax is missing$"):
        checks.node_modules(lock, folder)
    (folder / "mathjax").mkdir(parents=True)
    (folder / "mathjax" / "package.json").write_text('{"version": "3.2.1"}')
    with pytest.raises(Failed, match=r"mathjax is 3\.2\.1, not 3\.2\.2$"):
        checks.node_modules(lock, folder)
    (folder / "mathjax" / "package.json").write_text('{"version": "3.2.2"}')
    checks.node_modules(lock, folder)


def test_a_machine_without_a_browser_fails(tmp_path, monkeypatch):
    import chromium

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "UNPACKED", tmp_path)
    with pytest.raises(Failed, match="no Chromium was found"):
        checks.browser()


def test_a_full_disk_fails(tmp_path):
    with pytest.raises(Failed, match=r"GB are free, and .* are needed"):
        checks.disk(tmp_path, 10**18)
    assert "GB free" in checks.disk(tmp_path, 1)


# Texts, weights, results


@pytest.fixture
def data(tmp_path) -> Path:
    """Give the files of data/ as links: a test puts one of its own in the place of another."""
    folder = tmp_path / "data"
    folder.mkdir()
    for path in DATA.iterdir():
        (folder / path.name).symlink_to(path)
    return folder


def replace(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("minigpt.safetensors", "not the ones that were written"),
        ("lstm-quick.safetensors", "not the ones that were written"),
        ("tinyshakespeare.txt", "tinyshakespeare"),
    ],
)
def test_one_byte_in_the_corpus_or_in_any_weights_fails(data, name, said):
    content = bytearray((data / name).read_bytes())
    content[-1000] ^= 1
    replace(data / name, bytes(content))
    with pytest.raises(Failed, match=said):
        checks.artifacts(data)


def test_missing_weights_fail(data):
    (data / "lstm.safetensors").unlink()
    with pytest.raises(Failed, match="no weights at"):
        checks.artifacts(data)


def changed(table: Path, change) -> None:
    rows = json.loads(table.read_text())
    change(rows["rows"])
    replace(table, json.dumps(rows).encode())


@pytest.mark.slow
def test_a_table_that_does_not_follow_from_its_runs_fails(data):
    changed(data / "baselines.json", lambda rows: rows["trigram"].update(nats=2.0))
    with pytest.raises(Failed, match=r"row trigram says 2\.0000 nats, and the runs give 2\.0859"):
        checks.baselines(data)


@pytest.mark.slow
def test_weights_that_score_otherwise_than_recorded_fail(data):
    changed(data / "baselines.json", lambda rows: rows["gpt-full"]["by_seed"].update({"0": 1.5}))
    with pytest.raises(Failed, match=r"minigpt\.safetensors scores .* and 1\.500000 is recorded"):
        checks.baselines(data)


@pytest.mark.slow
def test_a_stale_notebook_fails(tmp_path):
    for folder in ("labs", "book", "src"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copyfile(ROOT / "_config.yml", tmp_path / "_config.yml")
    notebook = tmp_path / "labs" / "solved" / "lab5_transformer.ipynb"
    notebook.write_text(notebook.read_text().replace("causal_mask", "casual_mask", 1))
    with pytest.raises(Failed, match=r"labs/solved/lab5_transformer\.ipynb"):
        checks.notebooks(tmp_path / "labs" / "build.py")


def test_minutes_that_do_not_add_up_fail(tmp_path):
    index, briefing = ROOT / "book" / "index.md", ROOT / "book" / "briefing"
    source = ROOT / "labs" / "source" / "lab5_transformer.py"
    assert "120 minutes" in checks.agenda(index, briefing, source)
    text = index.read_text()
    assert ":debrief: 10" in text
    (tmp_path / "index.md").write_text(text.replace(":debrief: 10", ":debrief: 20"))
    with pytest.raises(Failed, match="takes 130 minutes, and 120 are announced"):
        checks.agenda(tmp_path / "index.md", briefing, source)


# The built book


@pytest.fixture
def book(tmp_path) -> tuple[Path, Path]:
    """Write sources and pages, as empty as may be, for every entry of the table of contents."""
    import serve

    root, site = tmp_path / "root", tmp_path / "site"
    for name in serve.pages():
        for path in (root / f"{name}.md", site / f"{name}.html"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("1,500 steps in 60 seconds")
            os.utime(path, (1000, 1000))
    (site / "index.html").touch()
    return root, site


def test_a_book_that_is_not_built_fails_once_and_what_needs_it_is_skipped(tmp_path):
    with pytest.raises(Failed, match="there is no book") as failed:
        checks.pages(tmp_path, ROOT)
    assert failed.value.remedy == "make book"
    needs = [
        lambda: links.internal_links(tmp_path),
        lambda: links.outward_links(tmp_path),
        lambda: checks.explorer(tmp_path),
    ]
    for check in needs:
        with pytest.raises(Skipped, match="has not been built"):
            check()


def test_a_page_of_the_table_of_contents_that_is_missing_fails(book):
    root, site = book
    assert "pages" in checks.pages(site, root)
    (site / "book" / "debrief.html").unlink()
    with pytest.raises(Failed, match=r"not built: book/debrief$"):
        checks.pages(site, root)


def test_a_page_older_than_its_source_is_warned_of(book):
    root, site = book
    os.utime(root / "book" / "debrief.md", (2000, 2000))
    with pytest.raises(Warned, match=r"changed since the book was built: book/debrief$"):
        checks.pages(site, root)


def test_a_lab_whose_training_was_cut_short_for_the_page_is_warned_of(book):
    root, site = book
    (site / "labs" / "lab5_transformer.html").write_text("20 steps in 1 seconds")
    with pytest.raises(Warned, match="cut short"):
        checks.pages(site, root)


@pytest.fixture
def site(tmp_path) -> Path:
    """A site of two pages, one below the other."""
    folder = tmp_path / "site"
    (folder / "book").mkdir(parents=True)
    (folder / "index.html").write_text('<h1 id="begin">Begin</h1>')
    (folder / "book" / "page.html").write_text('<h1 id="title">Page</h1>')
    return folder


def linking(site: Path, *addresses: str) -> Path:
    """Write a third page that leads to some addresses."""
    text = "".join(f'<a href="{address}">words</a>' for address in addresses)
    (site / "book" / "linking.html").write_text(f"<p id='here'>{text}</p>")
    return site


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nowhere.html", "no file book/nowhere.html"),
        ("../_static/gone.js", "no file _static/gone.js"),
        ("/index.html", "no file /index.html"),  # outside of where the site lives
        ("#there", "no place #there in book/linking.html"),
        ("../index.html#end", "no place #end in index.html"),
    ],
)
def test_a_dead_link_within_the_site_fails_and_its_page_is_named(site, address, said, monkeypatch):
    import serve

    monkeypatch.setattr(serve, "PATH", "/course/")  # it may as well live at the root of its host
    with pytest.raises(Failed) as failed:
        links.internal_links(linking(site, "page.html", address))
    assert failed.value.reason == f"{said} (linked from book/linking.html)"


def test_links_that_lead_somewhere_pass(site):
    import serve

    linking(
        site,
        *("page.html", "page.html#title", "../index.html?q=mask#begin", "#here", "#", "../"),
        *("page.html#text=To%20be&off=mask", "mailto:ada@example.org", "https://example.org/x"),
        f"{serve.PATH}index.html#begin",
    )
    assert links.internal_links(site) == "10 links on 3 pages"


class Answers(BaseHTTPRequestHandler):
    """Answers with the status that the path names; /get/ knows no HEAD."""

    def do_HEAD(self) -> None:
        self.send_response(405 if self.path == "/get/" else int(self.path.strip("/")))
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/get/" else int(self.path.strip("/")))
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


NOBODY = "http://127.0.0.1:1"  # a port at which nothing listens


@pytest.mark.parametrize("dead", ["{}/404", "{}/410", NOBODY])
def test_an_outward_link_that_is_dead_fails(site, elsewhere, dead):
    dead = dead.format(elsewhere)
    with pytest.raises(Failed, match=rf"^2 of 4 answer; dead: {dead} \(\w") as failed:
        links.outward_links(
            linking(site, f"{elsewhere}/200", f"{elsewhere}/get/#x", f"{elsewhere}/403", dead)
        )
    assert "403" not in failed.value.reason


@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_site_that_refuses_programs_is_warned_of(site, elsewhere, status):
    with pytest.raises(Warned, match=rf"^1 of 2 answer; .*/{status} \({status}\)$"):
        links.outward_links(linking(site, f"{elsewhere}/200", f"{elsewhere}/{status}"))


def test_without_a_network_outward_links_are_said_to_be_skipped(site):
    with pytest.raises(Skipped, match="offline: 2 links"):
        links.outward_links(linking(site, f"{NOBODY}/a", f"{NOBODY}/b"))


@pytest.fixture
def ours(monkeypatch):
    """The course belongs to ada/gpt, at a branch with a slash in its name."""
    monkeypatch.setenv("MINIGPT_REPOSITORY", "https://github.com/ada/gpt")
    monkeypatch.setenv("MINIGPT_REF", "class/2027")
    import links

    return links.read()


def test_a_course_without_an_address_is_warned_of_with_the_command_that_gives_one(
    site, monkeypatch
):
    monkeypatch.setenv("MINIGPT_REPOSITORY", "https://github.com/OWNER/REPOSITORY")
    with pytest.raises(Warned, match="no address yet") as warned:
        links.course_links(site, site)
    assert "make adopt REPO=you/yours" in warned.value.remedy


def test_a_clone_of_another_repository_than_the_links_lead_to_fails(site, ours):
    git = ["git", "-C", site]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "git@github.com:grace/gpt.git"], check=True)
    with pytest.raises(Failed, match="lead to ada/gpt, and this is a clone of grace/gpt"):
        links.course_links(site, site)
    subprocess.run([*git, "remote", "set-url", "origin", "https://github.com/Ada/gpt"], check=True)
    links.course_links(site, site)


def test_links_to_this_repository_and_ref_pass(site, ours):
    here = [ours.colab, ours.binder, ours.file("index.html"), "https://github.com/karpathy/nanoGPT"]
    here += [ours.in_colab("labs/lab5_variants.ipynb"), ours.in_binder("labs/lab5_variants.ipynb")]
    assert links.course_links(linking(site, *here), site) == "5 lead to ada/gpt at class/2027"


@pytest.mark.parametrize(
    "wrong",
    [
        "https://colab.research.google.com/github/grace/gpt/blob/main/labs/lab5_transformer.ipynb",
        "https://colab.research.google.com/github/ada/gpt/blob/class%2F2027/labs/gone.ipynb",
        "https://mybinder.org/v2/gh/ada/gpt/main?labpath=labs%2Flab5_transformer.ipynb",
        "https://github.com/ada/gpt/blob/main/index.html",
        "https://github.com/ada/gpt/edit/class/2027/gone.md",
        "https://github.com/OWNER/REPOSITORY/blob/main/README.md",
    ],
)
def test_a_link_to_another_repository_ref_or_file_fails(site, ours, wrong):
    with pytest.raises(Failed, match="not to ada/gpt at class/2027") as failed:
        links.course_links(linking(site, ours.colab, wrong), site)
    assert failed.value.reason.endswith(f"book/linking.html: {wrong}")


@pytest.mark.slow
def test_an_explorer_whose_weights_are_damaged_fails(tmp_path):
    site = tmp_path / "site"
    shutil.copytree(SITE, site, copy_function=os.symlink)
    weights = site / "_static" / "explorer" / "minigpt-float16.safetensors"
    content = weights.read_bytes()
    replace(weights, content[: len(content) // 2])

    def check() -> str:
        # In a thread, as preflight does: another test's browser may hold this one.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(checks.explorer, site).result()

    with pytest.raises(Failed, match="The interactive part could not be loaded"):
        check()
    replace(weights, content)
    assert re.match(r"wrote \d\d characters after", check())


# The lab


def notebook(tmp_path: Path, *cells: str) -> Path:
    path = tmp_path / "lab.ipynb"
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(made, path)
    return path


@pytest.mark.slow
def test_a_checkpoint_that_is_not_passed_in_the_lab_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGPT_STEPS", "20")
    path = notebook(
        tmp_path,
        "import os; assert os.environ['MINIGPT_BUDGET'] == 'quick'",
        "assert 'MINIGPT_STEPS' not in os.environ",
        "from minigpt import checks; checks.causal_mask(lambda T: None)",
    )
    said = []
    with pytest.raises(Failed, match="CheckpointError"):
        checks.lab(path, said.append)
    assert said == ["cell 1 of 3", "cell 2 of 3", "cell 3 of 3"]


# The table


PREFLIGHT = ROOT / "book" / "preflight"


def command(rows: str, *arguments: str) -> list[str]:
    """Run preflight with rows of the test's own."""
    program = f"""
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
import table
from checks import Failed, Skipped, Warned
def fails(): raise Failed("the reason " * 20, "the remedy")
def warns(): raise Warned("a warning")
def skips(): raise Skipped("not here")
def crashes(): return {{}}["missing"]
table.all_checks = lambda say, fast: [{rows}]
table.main()
"""
    return [sys.executable, "-c", program, *arguments]


def run(rows: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(command(rows, *arguments), cwd=PREFLIGHT, capture_output=True, text=True)


def test_when_all_is_well_it_says_so_and_ends_with_0():
    done = run('("One", lambda: "fine"), ("Two", warns), ("Three", skips)')
    assert done.stdout.endswith("\nReady; to look at: Two; not checked: Three.\n")
    assert done.returncode == 0


def test_a_failure_or_a_crash_is_a_row_the_rest_goes_on_and_it_ends_with_1():
    done = run('("One", fails), ("Two", crashes), ("Three", lambda: "fine")')
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert "What helps: the remedy" in done.stdout
    assert re.search(r"^FAILED +Two +[\d.]+ s  KeyError: 'missing'$", done.stdout, re.M)
    assert re.search(r"^ok +Three +[\d.]+ s  fine$", done.stdout, re.M)
    assert lines[-1] == "Not ready: One, Two."
    assert done.returncode == 1


def test_a_machine_gets_json_and_nothing_else():
    done = run('("One", lambda: "fine"), ("Two", fails)', "--json")
    told = json.loads(done.stdout)
    assert told["ready"] is False
    assert told["verdict"] == "Not ready: Two."
    assert [(row["name"], row["status"]) for row in told["checks"]] == [
        ("One", "ok"),
        ("Two", "FAILED"),
    ]
    assert told["checks"][1]["remedy"] == "the remedy"
    assert "What helps" in done.stderr


def test_ctrl_c_ends_it_with_what_was_found_so_far():
    rows = '("One", lambda: "fine"), ("Two", lambda: time.sleep(600)), ("Three", fails)'
    with subprocess.Popen(
        command(rows), cwd=PREFLIGHT, stdout=subprocess.PIPE, text=True
    ) as process:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert first.startswith("ok       One")
    assert rest == "\nNothing wrong so far; stopped after One.\n"
    assert process.returncode == 130


def test_the_fast_check_leaves_the_lab_out_and_says_so():
    from table import all_checks

    rows = dict(all_checks(print, fast=True))
    with pytest.raises(Skipped, match="left out by --fast"):
        rows["Lab"]()
