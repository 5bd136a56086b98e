"""What the head of a page tells search engines, and those to whom its link is sent.

Each page brings a description of its own in its front matter:

myst:
  html_meta:
    description: What the reader finds on this page, in one sentence.
"""

from html import escape

import links
from docutils import nodes
from markupsafe import Markup
from sphinx.util import logging

logger = logging.getLogger(__name__)

GENERATED = {  # pages without a source of their own
    "404": "No page of this course lives here. A search box and the list of all pages help you on.",
    "genindex": "The terms of the course from A to Z, each with a link to its place in it.",
    "search": "Search the course for a word, a function of the lab or the name of a formula.",
}


def description(pagename: str, doctree) -> str:
    """Give the description of a page, or say that it has none."""
    if doctree is None:
        return GENERATED.get(pagename, "")
    for meta in doctree.findall(nodes.meta):
        if meta.get("name") == "description":
            return meta["content"]
    logger.warning(
        "this page has no description: give its front matter `myst: html_meta: description:`",
        location=pagename,
    )
    return ""


def describe(app, pagename, templatename, context, doctree):
    """Put the tags into the head; a page's own address only where the site's is known."""
    words = description(pagename, doctree)
    if doctree is None:
        if words:
            context["metatags"] = f'<meta name="description" content="{escape(words)}" />'
        if pagename == "404":
            context["pageurl"] = None  # it is shown at addresses that are not its own
        return
    tags = {
        "og:type": "website",
        "og:site_name": app.config.html_title,
        "og:title": Markup(context["title"]).striptags(),
        "og:description": words,
    }
    here = links.read()
    if not here.placeholder:
        tags["og:url"] = here.page(pagename)
    for name, content in tags.items():
        context["metatags"] += f'<meta property="{name}" content="{escape(content)}" />\n'


def setup(app):
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
