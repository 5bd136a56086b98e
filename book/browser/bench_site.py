"""Count what the first load of each page of the built site transfers.

    make book && make bench

An empty cache, nothing clicked. Text is counted as GitHub Pages sends it, gzipped; fonts, pictures
and weights as they are. A size is the same on every machine, so nothing is kept.
"""

import gzip
import sys
from collections.abc import Iterator

from playwright.sync_api import Browser, Response
from serve import browsing, pages, serving

TEXT = ("text/", "application/javascript", "application/json", "image/svg+xml")


def transferred(response: Response) -> int:
    body = response.body()
    if response.header_value("content-type").startswith(TEXT):
        body = gzip.compress(body)
    return len(body)


def weights(responses: list[Response]) -> dict[str, int]:
    """Give the bytes of every file that came over the network."""
    return {
        response.url: transferred(response)
        for response in responses
        if response.url.startswith("http")
    }


def first_load(browser: Browser, address: str) -> dict[str, int]:
    """Open a page with nothing in the cache, and weigh every file that comes."""
    context = browser.new_context()
    page = context.new_page()
    responses = []
    page.on("response", lambda response: responses.append(response))
    page.goto(address, wait_until="networkidle")
    files = weights(responses)
    context.close()
    return files


def table(browser: Browser, site: str) -> Iterator[str]:
    yield f"{'first load of':<48}{'kB':>6}{'files':>7}   heaviest"
    for name in pages():
        files = first_load(browser, f"{site}{name}.html")
        heaviest = max(files, key=files.get)
        file = heaviest.rsplit("/", 1)[1].partition("?")[0]
        kilobytes = sum(files.values()) / 1000
        yield (
            f"{name:<48}{kilobytes:>6.0f}{len(files):>7}   {file}, {files[heaviest] / 1000:.0f} kB"
        )


def main() -> None:
    with serving() as site, browsing() as browser:
        for line in table(browser, site):
            print(line)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))
