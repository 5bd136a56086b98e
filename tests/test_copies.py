"""What a person wrote is never overwritten or removed, and nothing typed behind make is run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import build
import copies
import pytest
from support import commit_all

ROOT = Path(__file__).resolve().parents[1]

LAB = "labs/lab5_transformer.ipynb"
SOLVED = "labs/solved/lab5_transformer.ipynb"


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """Commit two notebooks to a repository of their own, for which build.py and copies.py work."""
    monkeypatch.setattr(copies, "ROOT", tmp_path)
    for name in (LAB, SOLVED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    commit_all(tmp_path)
    return tmp_path


@pytest.fixture
def bare(tmp_path) -> Path:
    """A folder with what make needs before it runs anything of the course."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def worked_in(notebook: Path, count: int = 1) -> bytes:
    """Run a cell of a notebook so many times, as Jupyter saves it."""
    content = json.loads(notebook.read_text())
    cell = next(cell for cell in content["cells"] if cell["cell_type"] == "code")
    cell["execution_count"] = count
    notebook.write_text(json.dumps(content, indent=1) + "\n")
    return notebook.read_bytes()


def kept(course: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (course / "labs/mine").glob("*.ipynb")}


def test_a_notebook_that_git_keeps_or_that_was_written_here_is_nobody_s_work(course, capsys):
    for text in ("new\n", "newer\n"):
        assert build.write_all({course / LAB: text}) == [course / LAB]
    assert build.write_all({course / LAB: "newer\n"}) == []
    assert kept(course) == {}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("changed", ["a cell was run", "not a notebook any more", "conflict"])
@pytest.mark.parametrize(
    ("name", "own"), [(LAB, "lab5_transformer"), (SOLVED, "lab5_transformer-solved")]
)
def test_somebody_s_work_in_a_notebook_is_kept_before_it_is_written_anew(
    course, capsys, changed, name, own
):
    path = course / name
    if changed == "a cell was run":
        worked_in(path)
    elif changed == "conflict":
        path.write_bytes(b"<<<<<<< HEAD\n" + path.read_bytes())
    else:
        path.write_bytes(b"\xff mine")
    work = path.read_bytes()
    assert build.write_all({path: "new"}) == [path]
    assert path.read_text() == "new"
    assert kept(course) == {f"{own}.ipynb": work}
    said = capsys.readouterr().out
    assert f"{name} held somebody's work, which is now in labs/mine/{own}.ipynb" in said

    path.write_bytes(b"more work")
    build.write_all({path: "new"})
    path.write_bytes(work)  # which is there already
    build.write_all({path: "new"})
    assert kept(course) == {f"{own}.ipynb": work, f"{own}-2.ipynb": b"more work"}


def test_without_git_and_without_a_record_a_notebook_counts_as_somebody_s_work(
    course, monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    before = (course / LAB).read_bytes()
    build.write_all({course / LAB: "new"})
    assert kept(course) == {"lab5_transformer.ipynb": before}


def test_a_copy_is_made_once_and_told_when_the_course_s_notebook_has_changed(course):
    own = course / "labs/mine/lab5_transformer.ipynb"
    first = (course / LAB).read_bytes()
    assert "is your copy" in copies.copy(course / LAB)
    assert own.read_bytes() == first
    work = worked_in(own)
    assert copies.copy(course / LAB).endswith("is there as you left it.")

    (course / LAB).write_text("new")
    said = copies.copy(course / LAB)
    assert "the course's notebook has changed" in said
    assert "give yours another name, run make lab again" in said
    assert own.read_bytes() == work

    own.rename(own.with_stem("old"))
    assert "is your copy" in copies.copy(course / LAB)
    assert own.read_text() == "new"
    assert "as you left it." in copies.copy(course / LAB)


@pytest.mark.parametrize("newer", [True, False])
def test_work_that_was_kept_is_told_of_a_newer_notebook_only_if_there_is_one(course, newer):
    first = (course / LAB).read_text()
    worked_in(course / LAB)
    build.write_all({course / LAB: "new" if newer else first})
    assert ("has changed" in copies.copy(course / LAB)) == newer


def make(fork: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run make, with an environment of Python that is not the fork's to set up."""
    done = ["-o", ".venv/ready", "-o", "node_modules/ready"]
    return subprocess.run(
        ["make", *done, *arguments],
        cwd=fork,
        env=os.environ | {"PYTHONPATH": str(fork / "src")} | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_no_target_of_make_overwrites_or_removes_somebody_s_work(fork):
    (fork / ".venv").symlink_to(sys.prefix)
    work = {}
    for number, target in enumerate(
        (["notebooks"], ["adopt", "REPO=some/body"], ["notebooks"]), start=1
    ):
        name = f"lab5_transformer{f'-{number}' if number > 1 else ''}.ipynb"
        work[name] = worked_in(fork / LAB, number)
        done = make(fork, *target)
        assert done.returncode == 0, done.stderr
        assert "held somebody's work" in done.stdout
        assert kept(fork) == work

    saved = fork / "labs/mine/lab5-work.safetensors"
    saved.write_text("saved")
    done = make(fork, "lab", "ARGS=--version")
    assert "labs/mine/lab5_transformer.ipynb is there as you left it" in done.stdout
    assert done.returncode == 0, done.stderr
    variants = (fork / "labs/lab5_variants.ipynb").read_bytes()
    work["lab5_variants.ipynb"] = variants
    assert make(fork, "clean").returncode == 0
    assert kept(fork) == work
    assert saved.read_text() == "saved"
    ignored = subprocess.run(
        ["git", "-C", fork, "status", "--short", "labs/mine"], capture_output=True, text=True
    )
    assert ignored.stdout == ""


def test_an_environment_of_python_that_make_did_not_make_is_left_alone(bare):
    own = bare / ".venv" / "own"
    own.parent.mkdir()
    own.write_text("mine")
    (bare / "_build").mkdir()
    command = ["make", ".venv/ready", "PYTHON=false"]  # which would be asked next
    done = subprocess.run(command, cwd=bare, capture_output=True, text=True)
    assert done.returncode != 0
    assert "make did not make it: give it another name" in done.stderr
    done = make(bare, "clean")
    assert "left .venv alone" in done.stdout
    assert not (bare / "_build").exists()
    assert [path.name for path in own.parent.iterdir()] == ["own"]
    (bare / ".venv" / "ready").touch()
    make(bare, "clean")
    assert not (bare / ".venv").exists()


def test_the_set_up_cell_finds_the_course_around_a_copy(tmp_path):
    for name in ("src", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    mine = tmp_path / "labs" / "mine"
    mine.mkdir(parents=True)
    source = f"""
import json
cells = json.load(open({str(ROOT / LAB)!r}))["cells"]
text = next("".join(c["source"]) for c in cells if "@title Set-up" in "".join(c["source"]))
exec(text.partition("from minigpt import lab")[0])
from minigpt.corpus import load_corpus
import minigpt
print(course, minigpt.__file__, len(load_corpus().ids))
"""
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=mine,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path} {tmp_path}/src/minigpt/__init__.py 1115394\n"
    assert list(mine.iterdir()) == []


WRITES_DOWN = """#!/bin/bash
printf '%s\\n' "$@" >> asked
"""
TYPED = """$(shell touch ran)$(touch ran)`touch ran`${shell touch ran}";touch ran;'"""


def that_write_down(fork: Path, *programs: str) -> None:
    for program in programs:
        path = fork / ".venv" / "bin" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(WRITES_DOWN)
        path.chmod(0o755)


def test_the_makefile_s_own_names_cannot_be_given_another_meaning(bare):
    that_write_down(bare, "python")
    done = make(bare, "notebooks", f"BIN={TYPED}")
    assert done.returncode == 0, done.stderr
    assert (bare / "asked").read_text() == "labs/build.py\n"
    assert not (bare / "ran").exists()


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("adopt", "REPO"),
        ("adopt", "REF"),
        ("adopt", "SITE"),
        ("serve", "PORT"),
        ("preview", "PORT"),
        ("preflight", "ARGS"),
        ("lab", "ARGS"),
        ("runs", "JOBS"),
        ("runs", "SCHEDULER"),
    ],
)
@pytest.mark.parametrize("way", ["behind make", "in the environment"])
def test_what_is_typed_reaches_the_program_as_it_is_and_nothing_of_it_is_run(
    bare, target, name, way
):
    that_write_down(bare, "python", "jupyter")
    (bare / "_build" / "html").mkdir(parents=True)
    (bare / "_build" / "html" / "index.html").touch()
    if way == "behind make":
        done = make(bare, target, f"{name}={TYPED}")
    else:
        done = make(bare, target, **{name: TYPED})
    assert done.returncode == 0, done.stderr
    asked = (bare / "asked").read_text().splitlines()
    assert " ".join(asked).endswith(TYPED) or TYPED in asked
    assert not (bare / "ran").exists()


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (".venv/ready", "PYTHON"),
        ("colab-check", "COLAB_PYTHON"),
        ("colab-check", "COLAB_VERSION"),
        ("help", "MINIGPT_STEPS"),
    ],
)
def test_a_variable_that_holds_a_command_does_not_give_it(bare, target, name):
    command = ["make", target, f"{name}={TYPED}"]
    done = subprocess.run(command, cwd=bare, capture_output=True, text=True)
    assert (done.returncode == 0) == (target == "help")
    assert not (bare / "ran").exists()
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ref", ["", "$(shell touch ran)"])
def test_a_ref_that_is_none_is_refused_by_make_in_words(fork, ref):
    (fork / ".venv").symlink_to(sys.prefix)
    done = make(fork, "adopt", "REPO=you/yours", f"REF={ref}")
    assert done.returncode != 0
    assert done.stderr.startswith(f"REF={ref} is not the name of a branch or a tag")
    assert "Nothing was changed." in done.stderr
    changed = ["git", "-C", fork, "status", "--short", "--untracked-files=no"]
    assert subprocess.run(changed, capture_output=True, text=True).stdout == ""
    assert not (fork / "ran").exists()
