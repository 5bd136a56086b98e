"""What of a build is made anew when something that it was made from has changed."""

from pathlib import Path

import pytest
from made_from import NAMES, drop_what_is_stale, made_from

ROOT = Path(__file__).resolve().parents[1]

FILES = (
    *("src/minigpt/model.py", "data/baselines.json", "data/tinyshakespeare.txt"),
    *("data/minigpt.safetensors", "data/runs/gpt.json", "data/README.md", "data/bench_lab.py"),
    *("data/runs/unfinished/gpt.safetensors", "book/extensions/links.py", "_config.yml"),
    *("book/index.md", "labs/lab5_transformer.ipynb", "requirements.txt", "package-lock.json"),
)
CELLS, PAGES = "_build/.jupyter_cache/cell", "_build/html/index.html"


@pytest.fixture
def book(tmp_path, monkeypatch) -> Path:
    """A small course that was built."""
    monkeypatch.delenv("MINIGPT_STEPS", raising=False)
    for name in (*FILES, CELLS, PAGES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("as it was")
    drop_what_is_stale(tmp_path / "_build", made_from(tmp_path))
    for name in (CELLS, PAGES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("made")
    return tmp_path


def left(book: Path) -> tuple[str, set[str]]:
    stale = drop_what_is_stale(book / "_build", made_from(book))
    return stale, {name for name in (CELLS, PAGES) if (book / name).exists()}


@pytest.mark.parametrize(
    "name",
    [
        *("src/minigpt/model.py", "src/minigpt/new.py", "data/baselines.json", "data/new.json"),
        *("data/tinyshakespeare.txt", "data/minigpt.safetensors", "requirements.txt"),
    ],
)
def test_what_cells_read_runs_them_anew(book, name):
    (book / name).write_text("new")
    assert left(book) == ("cells", set())
    assert left(book) == ("nothing", set())  # it was noted


def test_another_length_of_the_training_runs_them_anew(book, monkeypatch):
    monkeypatch.setenv("MINIGPT_STEPS", "20")
    assert left(book) == ("cells", set())


@pytest.mark.parametrize("name", ["book/extensions/links.py", "_config.yml", "package-lock.json"])
def test_what_makes_pages_of_them_runs_no_cell(book, name):
    (book / name).write_text("new")
    assert left(book) == ("pages", {CELLS})


@pytest.mark.parametrize(
    "name",
    [
        *("data/README.md", "data/bench_lab.py", "data/new.py", "data/runs/unfinished/new.json"),
        *("data/runs/weights/new.safetensors", "src/minigpt/__pycache__/model.pyc"),
        *("data/contest.csv", "data/runs/gpt.json"),  # baselines.json changes with reported runs
        # Their own text is in the key of the cache, and Sphinx knows when a page was saved.
        *("book/index.md", "labs/lab5_transformer.ipynb"),
    ],
)
def test_what_no_other_page_is_made_from_changes_nothing(book, name):
    (book / name).parent.mkdir(exist_ok=True)
    (book / name).write_text("new")
    assert left(book) == ("nothing", {CELLS, PAGES})


def test_a_build_of_which_nothing_is_known_is_made_anew(book):
    (book / "_build" / "made-from").unlink()
    assert left(book) == ("cells", set())


def test_what_is_looked_at_is_there():
    assert all((ROOT / name).exists() for name in NAMES)
