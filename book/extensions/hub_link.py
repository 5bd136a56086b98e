"""A form that makes the link by which a JupyterHub opens the lab.

```{hub-link}
```

Without a script the form of the link stands there, with HUB for the hub's address.
book/assets/hub-link.js asks for the address and puts it before what links.py has made.
"""

import links
from check_yourself import tag
from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class HubLink(SphinxDirective):
    def run(self):
        here = links.read()
        # escaped, since an attribute is written as it stands
        box = tag("div", class_="hub-link", data_path=here.hub("").replace("&", "&amp;"))
        form = here.hub("https://HUB")
        box += nodes.literal_block(form, form, language="text")
        return [box]


def setup(app):
    app.add_directive("hub-link", HubLink)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
