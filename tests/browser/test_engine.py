"""The browser that opens the pages."""

import pytest
from opening import ENGINE, FIREFOX


def test_the_browser_that_was_asked_for_opens_the_pages(open_page):
    if ENGINE == "firefox" and not FIREFOX:
        pytest.skip(
            "there is no Firefox on this machine, so Chromium ran: make engines installs it"
        )
    agent = open_page("book/index").evaluate("navigator.userAgent")
    assert {"chromium": "Chrome/", "firefox": "Firefox/"}[ENGINE] in agent
