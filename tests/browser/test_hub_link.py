"""The form that makes the link by which a hub opens the lab."""

import links

SCALE = "book/instructor/scale"
HUB = "https://hub.example.edu"


def answer(page, address: str):
    page.get_by_label("Address of your hub").fill(address)
    page.keyboard.press("Enter")
    return page.locator(".hub-answer")


def test_whatever_address_of_a_hub_is_pasted_becomes_the_link_that_python_makes(open_page):
    page = open_page(SCALE)
    for typed, hub in (
        ("hub.example.edu", HUB),
        (f"  {HUB}/  ", HUB),
        (f"{HUB}/hub/home?next=x", HUB),
        (f"{HUB}/jupyter/user/ada/lab", f"{HUB}/jupyter"),
        ("https://hubs.example.edu:8443/hub", "https://hubs.example.edu:8443"),
        ("http://localhost:8000", "http://localhost:8000"),
    ):
        link = answer(page, typed).get_by_role("link")
        assert link.get_attribute("href") == links.read().hub(hub)
        assert link.inner_text() == links.read().hub(hub)
    assert page.url.endswith("scale.html")


def test_what_is_no_address_of_a_hub_is_told_what_one_looks_like(open_page):
    page = open_page(SCALE)
    for typed in ("", "hub", "http://hub.example.edu", f"https://ada:secret@{HUB[8:]}", "a b.edu"):
        answer(page, HUB)
        told = answer(page, typed)
        assert "It looks like https://hub.example.edu" in told.inner_text()
        assert told.get_by_role("link").count() == 0
        field = page.get_by_label("Address of your hub")
        assert field.get_attribute("aria-invalid") == "true"
        assert field.evaluate("field => field === document.activeElement")


def test_the_link_is_copied(open_page):
    page = open_page(SCALE)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    told = answer(page, HUB)
    told.get_by_role("button", name="Copy").click()
    told.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == links.read().hub(HUB)


def test_without_scripts_the_form_of_the_link_stands_there(open_page):
    page = open_page(SCALE, scripts=False)
    assert links.read().hub("https://HUB") in page.locator(".hub-link").inner_text()
