"""The head of a page on a site whose address is known, and of a page without a description."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = """
extensions = ["myst_parser", "course_links", "page_head"]
html_theme = "sphinx_book_theme"
project = "A course"
"""
PAGE = """---
myst:
  html_meta:
    description: What the reader finds here.
---

# A page & more
"""


@pytest.fixture
def build(tmp_path):
    """Build a site of one page for somebody's address: what was said, and the page."""

    def built(page: str) -> tuple[str, BeautifulSoup]:
        (tmp_path / "conf.py").write_text(CONFIGURATION)
        (tmp_path / "index.md").write_text(page)
        address = {
            "MINIGPT_REPOSITORY": "https://github.com/someone/course",
            "MINIGPT_SITE": "https://someone.github.io/course",
        }
        out = tmp_path / "out"
        done = subprocess.run(
            [sys.executable, "-m", "sphinx", "-q", tmp_path, out],
            env=os.environ | address | {"PYTHONPATH": str(ROOT / "book" / "extensions")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stderr, BeautifulSoup((out / "index.html").read_text(), "html.parser")

    return built


def test_a_page_names_its_own_address_where_the_site_has_one(build):
    said, page = build(PAGE)
    assert "description" not in said
    address = "https://someone.github.io/course/index.html"
    assert page.select_one("link[rel=canonical]")["href"] == address
    tags = {tag["property"]: tag["content"] for tag in page.select("meta[property^='og:']")}
    assert tags["og:url"] == address
    assert tags["og:title"] == "A page & more"
    assert tags["og:description"] == "What the reader finds here."


def test_a_page_without_a_description_is_named_in_a_warning(build):
    said, _ = build("# A page\n")
    assert "index.md: WARNING: this page has no description" in said
