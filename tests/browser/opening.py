"""How the tests open a page, and what they ask of pages of every kind."""

from functools import cache

from bs4 import BeautifulSoup
from find_browser import ROOT
from playwright.sync_api import Browser, Page
from serve import SITE

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
COLOURS = (
    "color-contrast",
    "link-in-text-block",
)  # the rules that the scheme can make a page break

# The formulas are set, in their fonts.
READY = """async () => {
    await window.MathJax?.startup?.promise;
    await document.fonts.ready;
}"""

# What is still half transparent has no contrast yet. A spinner never ends.
SETTLED = """() => Promise.all(document.getAnimations()
    .filter((a) => a.effect.getComputedTiming().endTime < Infinity)
    .map((a) => a.finished.catch(() => 0))).then(() => 0)"""

# Axe writes long reports of all that is well; those stay in the page.
RUN_AXE = """async ([within, rules]) => {
    const options = { resultTypes: ["violations"] };
    if (rules.length) options.runOnly = rules;
    const { violations } = await axe.run(within ?? document, options);
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}"""


@cache
def html(name: str) -> BeautifulSoup:
    """Read a page as it was built; nothing may be changed in it."""
    return BeautifulSoup((SITE / f"{name}.html").read_text(), "html.parser")


def words(part) -> str:
    """Give the text of a part of a page as a reader sees it, in one line."""
    return " ".join(part.get_text().split())


def load(
    browser: Browser, address: str, width: int = 1280, scheme: str = "light", **options: object
) -> Page:
    """Open a page in a context of its own, formulas set, and note what it requests and says."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, **options
    )
    page = context.new_page()
    page.requested, page.responses, page.complaints = [], [], []
    page.on("request", lambda request: page.requested.append(request.url))
    page.on("response", lambda response: page.responses.append(response))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on(
        "console",
        lambda line: line.type in ("error", "warning") and page.complaints.append(line.text),
    )
    page.on(
        "response",
        lambda answer: (
            answer.status >= 400 and page.complaints.append(f"{answer.status} {answer.url}")
        ),
    )
    go(page, address)
    return page


def go(page: Page, address: str) -> None:
    page.goto(address)
    page.evaluate(READY)


def unfold(page: Page) -> None:
    """Open every fold, and wait until it has faded in."""
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    page.evaluate(SETTLED)


def barriers(
    page: Page, within: str | None = None, rules: tuple[str, ...] = ()
) -> list[tuple[str, list[str]]]:
    """List what axe finds wrong with what is seen of a page."""
    page.evaluate(SETTLED)
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=str(AXE))
    return page.evaluate(RUN_AXE, [within, rules])
