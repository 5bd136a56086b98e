"""The part of `make preflight` that looks where the links of the built book lead."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from checks import Failed, Skipped, Warned, built, some

REFUSALS = {401, 403, 405, 406, 418, 429}  # what sites answer to a program that asks


class Page(HTMLParser):
    """The places that a page names, and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places, self.links, self.outward = {"", "top"}, [], []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)
                if tag == "a" and value.startswith(("http://", "https://")):
                    self.outward.append(value)


@cache
def read(site: Path) -> dict[Path, Page]:
    """Read every page of the site."""
    built(site)
    files = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    return {path: Page(path.read_text(encoding="utf-8")) for path in files}


def dead_links(site: Path, prefix: str) -> Iterator[tuple[str, str]]:
    """Find the pages whose links within the site lead to no file, or to no place of a page."""
    found = read(site)
    for path, page in found.items():
        name = path.relative_to(site).as_posix()
        for link in dict.fromkeys(page.links):
            address = urlsplit(urljoin(f"https://site.invalid{prefix}{name}", link))
            if address.netloc != "site.invalid":
                continue
            target = site / unquote(address.path).removeprefix(prefix).lstrip("/")
            if target.is_dir():
                target /= "index.html"
            place = unquote(address.fragment)
            if not address.path.startswith(prefix) or not target.is_file():
                yield name, f"no file {unquote(address.path).removeprefix(prefix)}"
            # With = in it a fragment is a state of the explorer, not a place.
            elif target in found and "=" not in place and place not in found[target].places:
                yield name, f"no place #{place} in {target.relative_to(site)}"


def internal_links(site: Path) -> str:
    import serve

    dead: dict[str, list[str]] = {}
    for name, what in dead_links(site, serve.PATH):
        dead.setdefault(what, []).append(name)
    if dead:
        said = [f"{what} (linked from {some(names, ', ')})" for what, names in dead.items()]
        raise Failed(some(said), "correct the links in these pages, then make book")
    found = read(site).values()
    return f"{sum(len(set(page.links)) for page in found):,} links on {len(found)} pages"


def answer(address: str) -> int | str:
    """Ask for an address: the status that comes back, or why none does."""
    import requests

    try:
        for method in ("HEAD", "GET"):  # some know only the second
            with requests.request(
                method, address, timeout=10, allow_redirects=True, stream=True
            ) as response:
                status = response.status_code
            if status < 400:
                break
        return status
    except requests.Timeout:
        return "no answer in time"
    except requests.RequestException:
        return "no connection"


def outward_links(site: Path) -> str:
    found = {
        link.partition("#")[0]
        for page in read(site).values()
        for link in page.outward
        if "OWNER/REPOSITORY" not in link  # the row of the course's own links tells
    }
    with ThreadPoolExecutor(16) as pool:
        answers = dict(zip(sorted(found), pool.map(answer, sorted(found)), strict=True))
    if found and not any(isinstance(status, int) for status in answers.values()):
        raise Skipped(f"offline: {len(found)} links to other sites were not checked")
    bad = {link: status for link, status in answers.items() if status not in range(400)}
    unsure = {
        link: status
        for link, status in bad.items()
        if status in REFUSALS or status in range(500, 600) or status == "no answer in time"
    }
    counted = f"{len(found) - len(bad)} of {len(found)} answer"
    if dead := [f"{link} ({status})" for link, status in bad.items() if link not in unsure]:
        raise Failed(f"{counted}; dead: {some(dead)}", "correct them in the page, then make book")
    if unsure:
        refused = some([f"{link} ({status})" for link, status in unsure.items()])
        raise Warned(f"{counted}; no answer for a program: {refused}", "open them in a browser")
    return counted


def origin(root: Path) -> str:
    """Give owner/name of the repository on GitHub that this one was cloned from, or nothing."""
    done = subprocess.run(
        ["git", "-C", root, "remote", "get-url", "origin"], capture_output=True, text=True
    )
    _, found, slug = done.stdout.strip().replace(":", "/").rpartition("github.com/")
    return slug.removesuffix(".git") if found else ""


def is_right(link: str, here, root: Path) -> bool | None:
    """Say whether a link to the course leads to its repository and ref; None for other links."""
    from links import NOTEBOOKS

    if link.startswith("https://colab.research.google.com/github/"):
        return link in map(here.in_colab, NOTEBOOKS)
    if link.startswith("https://mybinder.org/v2/"):
        return link in map(here.in_binder, NOTEBOOKS)
    for start in (f"{here.repository}/blob/", f"{here.repository}/edit/"):
        if link.startswith(start):
            inside = link.removeprefix(f"{start}{here.ref}/")
            return (root / unquote(inside)).exists()  # not so for another ref
    return False if "OWNER/REPOSITORY" in link else None


def course_links(site: Path, root: Path) -> str:
    """Compare the links to Colab, Binder and the repository with the repository that this is."""
    import links

    here, cloned = links.read(), origin(root)
    if here.placeholder:
        raise Warned(
            "the course has no address yet, so that Colab and Binder cannot open the lab",
            "make adopt REPO=you/yours REF=main, then make book",
        )
    if cloned and cloned.lower() != here.slug.lower():
        raise Failed(
            f"links lead to {here.slug}, and this is a clone of {cloned}",
            f"make adopt REPO={cloned} REF={here.ref}, then make book",
        )
    judged = {
        f"{path.relative_to(site)}: {link}": is_right(link, here, root)
        for path, page in read(site).items()
        for link in page.outward
    }
    if wrong := [link for link, right in judged.items() if right is False]:
        raise Failed(f"not to {here.slug} at {here.ref}: {some(wrong)}", "make book")
    return f"{list(judged.values()).count(True)} lead to {here.slug} at {here.ref}"
