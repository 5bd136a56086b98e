"""A fork takes the course over: every link leads to it, and none to where the course came from."""

import os
import re
import subprocess
import sys
from pathlib import Path

import adopt
import build
import links
import pytest
import yaml
from support import copy_of_the_course

ROOT = Path(__file__).resolve().parents[1]

PLACEHOLDER = links.Links(
    "https://github.com/OWNER/REPOSITORY", "main", "https://OWNER.github.io/REPOSITORY"
)


@pytest.fixture
def fork(fork) -> Path:
    """Copy the course as it is before anybody adopts it, wherever this one leads."""
    if links.read({}) != PLACEHOLDER:
        done = take_over(fork, PLACEHOLDER.slug, PLACEHOLDER.ref)
        assert done.returncode == 0, done.stderr
    return fork


def take_over(fork: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, fork / "labs" / "adopt.py"]
    for option, value in zip(("--repository", "--ref", "--site"), arguments, strict=False):
        command += [f"{option}={value}"]
    return subprocess.run(command, capture_output=True, text=True, cwd=fork)


def texts(fork: Path) -> dict[str, str]:
    files = [p for p in fork.rglob("*") if p.is_file()]
    files = [p for p in files if not {"__pycache__", ".git", ".record.json"} & {*p.parts}]
    return {str(p.relative_to(fork)): p.read_text(errors="replace") for p in files}


def links_to(owner: str, fork: Path) -> list[str]:
    """Find every address that has an owner in it."""
    address = rf"https://[\w./%-]*\b{owner}\b[\w./%?=&#-]*"
    return [found for text in texts(fork).values() for found in re.findall(address, text)]


def test_a_fork_of_a_fork_has_no_link_to_either_of_those_before_it(fork):
    placeholder = texts(fork)
    assert take_over(fork, "ada-l/gpt", "class/2027").returncode == 0
    assert links_to("OWNER", fork) == []
    first = set(links_to("ada-l", fork))
    colab = "https://colab.research.google.com/github/ada-l/gpt/blob/class%2F2027/"
    assert f"{colab}labs/lab5_transformer.ipynb" in first
    assert (
        "https://mybinder.org/v2/gh/ada-l/gpt/class%2F2027?labpath=labs%2Flab5_transformer.ipynb"
        in (first)
    )
    assert (
        "https://github.com/ada-l/gpt/blob/class/2027/labs/solved/lab5_transformer.ipynb" in first
    )
    assert "https://ada-l.github.io/gpt/book/index.html" in first
    assert f"{colab}labs/lab5_variants.ipynb" in first
    assert "https://ada-l.github.io/gpt/labs/lab5_variants.html" in first
    notebooks = [path.relative_to(fork) for path in (fork / "labs").rglob("*.ipynb")]
    assert len(notebooks) == 4
    for name in notebooks:
        assert '\\"MINIGPT_REF\\", \\"class/2027\\"' in (fork / name).read_text()

    adopted = texts(fork)
    done = take_over(fork, "ada-l/gpt", "class/2027")
    assert done.stdout == "nothing to do: all links lead there already\n"
    assert texts(fork) == adopted

    # Named after its owner, and on a branch whose name YAML would take for a number.
    assert take_over(fork, "Grace/grace.github.io", "2027").returncode == 0
    assert links_to("ada-l", fork) == []
    assert "class/2027" not in (fork / "labs" / "lab5_transformer.ipynb").read_text()
    config = yaml.safe_load((fork / "_config.yml").read_text())
    assert config["repository"]["branch"] == "2027"
    assert config["html"]["baseurl"] == "https://Grace.github.io"
    assert "https://Grace.github.io/book/index.html" in links_to("Grace", fork)

    assert take_over(fork, "OWNER/REPOSITORY", "main").returncode == 0
    assert texts(fork) == placeholder


def test_a_site_of_one_s_own_is_where_the_notebooks_lead(fork):
    done = take_over(fork, "ada/gpt", "v1.0", "https://course.example.org/gpt/")
    assert done.returncode == 0, done.stderr
    notebook = (fork / "labs" / "lab5_transformer.ipynb").read_text()
    assert "https://course.example.org/gpt/book/index.html" in notebook
    assert "ada.github.io" not in notebook


@pytest.mark.parametrize(
    ("repository", "ref", "site", "said"),
    [
        ("", "main", "", "REPO= is not the name of a repository"),
        ("ada", "main", "", "REPO=you/yours"),
        ("ada/gpt/tree", "main", "", "REPO=you/yours"),
        ("ada /gpt", "main", "", "REPO=you/yours"),
        ("ada/..", "main", "", "REPO=you/yours"),
        ("ada/gpt.git", "main", "", "without an address before it or .git after it"),
        ("https://github.com/ada/gpt", "main", "", "without an address before it"),
        ("ada/gpt", "", "", "REF= is not the name of a branch"),
        ("ada/gpt", "my class", "", "REF=my class is not the name of a branch"),
        ("ada/gpt", "$(shell date)", "", "REF=$(shell date) is not"),
        ("ada/gpt", "class..2027", "", "REF=class..2027 is not"),
        ("ada/gpt", "class/", "", "REF=class/ is not"),
        ("ada/gpt", "-x", "", "REF=-x is not"),
        ("ada/gpt", 'a"b', "", "is not the name of a branch"),
        ("ada/gpt", "main", "ada.org", "it begins with https://"),
        ("ada/gpt", "main", "https://ada.org/a b", "it begins with https://"),
    ],
)
def test_what_cannot_be_a_course_s_address_is_refused(repository, ref, site, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        adopt.place(repository, ref, site)


def test_a_refusal_changes_nothing_and_says_what_would_do(fork):
    before = texts(fork)
    done = take_over(fork, "https://github.com/ada/gpt.git", "main")
    assert done.returncode == 1
    assert done.stderr.endswith("REPO=you/yours. Nothing was changed.\n")
    assert "Traceback" not in done.stderr
    assert texts(fork) == before


def test_when_one_file_cannot_be_written_none_is(tmp_path):
    first, impossible = tmp_path / "first", Path("/proc/version")
    first.write_text("old")
    with pytest.raises(OSError, match="proc"):
        build.write_all({first: "new", impossible: "new"})
    assert first.read_text() == "old"


def test_a_repository_that_does_not_lead_to_itself_is_told_how_to(monkeypatch):
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    monkeypatch.setenv("MINIGPT_REPOSITORY", config["repository"]["url"])
    monkeypatch.setenv("MINIGPT_REF", config["repository"]["branch"])
    adopt.adopted()
    elsewhere = f"{links.read({}).slug}-2"
    monkeypatch.setenv("MINIGPT_REPOSITORY", f"https://github.com/{elsewhere}")
    with pytest.raises(ValueError, match=f"make adopt REPO={elsewhere} REF="):
        adopt.adopted()


def test_a_hub_fetches_the_course_and_opens_the_student_s_notebook():
    course = links.Links("https://github.com/ada/gpt", "class/2027", "https://ada.github.io/gpt")
    assert course.hub("https://hub.example.edu/") == (
        "https://hub.example.edu/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgithub.com%2Fada%2Fgpt"
        "&branch=class%2F2027&urlpath=lab%2Ftree%2Fgpt%2Flabs%2Flab5_transformer.ipynb"
    )


@pytest.mark.parametrize(
    ("repository", "site"),
    [
        ("ada/gpt", "https://ada.github.io/gpt"),
        ("ada/Ada.github.io", "https://ada.github.io"),
    ],
)
def test_a_site_follows_a_repository_that_the_environment_names(
    repository, site, tmp_path, monkeypatch
):
    (tmp_path / "_config.yml").write_text(
        "repository: {url: https://github.com/eve/first, branch: main}\n"
        "html: {baseurl: https://eve.example.org}\n"
    )
    monkeypatch.setattr(links, "ROOT", tmp_path)
    assert links.read({}).site == "https://eve.example.org"
    environment = {"MINIGPT_REPOSITORY": f"https://github.com/{repository}", "MINIGPT_SITE": ""}
    assert links.read(environment).site == site
    assert links.read(environment | {"MINIGPT_SITE": "https://a.org/"}).site == "https://a.org"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("repository", "ref", "site"),
    [
        ("ada-l/gpt", "class/2027", ""),
        ("ada/gpt", "main", "https://course.example.org"),
    ],
)
def test_a_fork_that_has_adopted_the_course_passes_the_tests_that_know_its_address(
    tmp_path, repository, ref, site
):
    fork = copy_of_the_course(tmp_path / "fork", "data")
    (fork / "data").symlink_to(ROOT / "data")
    done = take_over(fork, repository, ref, site)
    assert done.returncode == 0, done.stderr
    where = {  # as on GitHub Actions
        "MINIGPT_REPOSITORY": f"https://github.com/{repository}",
        "MINIGPT_REF": ref,
        "MINIGPT_SITE": site,
        "PYTHONPATH": str(fork / "src"),
    }
    names = [f"tests/test_{name}.py" for name in ("adopt", "notebooks", "page_head", "preflight")]
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *names]
    but = ["-k", "not solved_variants"]  # which take seconds, and no notice of an address
    done = subprocess.run(
        [*pytest_here, *but], cwd=fork, env=os.environ | where, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
