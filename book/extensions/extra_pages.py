"""Two pages that no source is written for: the way in, and the one for addresses that lead nowhere.

GitHub Pages shows 404.html at every address it knows nothing of, however deep. What the page loads
and links to is therefore found from the root of the site, whose path follows the site's address.
"""

import links


def collect(app):
    yield "404", {"title": "Page Not Found", "root": links.read().path}, "404.html"
    yield "index", {"first_page": app.builder.get_target_uri(app.config.root_doc)}, "redirect.html"


def setup(app):
    app.connect("html-collect-pages", collect)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
