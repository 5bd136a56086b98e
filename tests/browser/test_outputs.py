"""What the cells of the built pages printed: no failure may be published."""

import re

import pytest
from bs4 import BeautifulSoup
from find_browser import ROOT

SITE = ROOT / "_build" / "html"
PAGES = sorted(str(page.relative_to(SITE)) for page in SITE.rglob("*.html"))
FAILURE = re.compile(r"Traceback \(most recent call last\)|^\w*(?:Error|Exception|Warning): ", re.M)


def failures(html: str) -> list[str]:
    """Find the outputs of a page that are tracebacks, went to stderr or read like a failure."""
    page = BeautifulSoup(html, "html.parser")
    return [
        output.text.strip()
        for output in page.select(".cell_output .output")
        if {"stderr", "traceback"} & set(output["class"]) or FAILURE.search(output.text)
    ]


def test_there_is_a_site_to_look_at():
    assert len(PAGES) > 20, f"no book at {SITE}: run make book"


@pytest.mark.parametrize("name", PAGES)
def test_no_cell_of_a_page_failed_or_complained(name):
    assert failures((SITE / name).read_text()) == []
