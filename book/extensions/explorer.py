"""The trained model in the page: its weights as 16-bit floats, and the places where it runs.

```{explorer}
:show: text next write
:text: To be,
:off: mask            (what is switched off at first)
:window:              (waits for a click before it loads anything)

What stands here when it cannot run.
```

book/assets/explorer/ holds the scripts; book/assets/interactive.js starts them.
"""

import json
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote, urlencode

from check_yourself import tag
from docutils import nodes
from docutils.parsers.rst import directives
from safetensors.torch import save_file
from sphinx.util.docutils import SphinxDirective

from minigpt.artifacts import DATA, load_model
from minigpt.corpus import load_corpus

WEIGHTS = "_static/explorer/minigpt-float16.safetensors"
PARTS = ("text", "next", "switches", "write", "maps", "row", "steps")
EQUATIONS = (1, 2, 3, 6, 8, 11, 12, 14)  # that the steps link to


def write_weights(path: Path) -> None:
    """Write the trained weights as 16-bit floats, with what a page has to know about the model."""
    model, corpus = load_model(), load_corpus()
    config = asdict(model.config)
    about = {
        "config": {name: config[name] for name in ("vocab_size", "d", "n_h", "n_l", "T_max")},
        "characters": "".join(corpus.vocabulary.characters),
        # The start of the test split: as many characters as the model reads, and the one after.
        "excerpt": corpus["test"][: model.config.T_max + 1].tolist(),
    }
    tensors = {name: tensor.half() for name, tensor in model.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path, metadata={"about": json.dumps(about)})
    path.chmod(0o644)  # it is made for its owner alone, and a web server may be somebody else


class Explorer(SphinxDirective):
    has_content = True
    option_spec = {  # noqa: RUF012, docutils reads it
        "show": directives.unchanged_required,
        "window": directives.flag,
        **dict.fromkeys(
            ("text", "layer", "head", "position", "off", "temperature", "seed"),
            directives.unchanged,
        ),
    }

    def run(self):
        options = dict(self.options)
        show = options.pop("show", "").split() or list(PARTS)
        if unknown := [name for name in show if name.partition("=")[0] not in PARTS]:
            raise self.error(f"the explorer has no part {unknown[0]!r}; it has {', '.join(PARTS)}")
        window = "window" in options
        options.pop("window", None)
        if "text" in options:
            options["text"] = options["text"].replace("\\n", "\n")  # the end of a line
        # As in the address of the explorer's own page.
        state = urlencode(options, quote_via=quote)
        box = tag("div", class_="explorer", data_show=" ".join(show), data_state=state)
        weights = (DATA / "minigpt.safetensors").stat().st_size / 2
        box["attributes"]["data-megabytes"] = f"{weights / 1e6:.1f}"
        if window:
            box["attributes"]["data-window"] = ""
        box += self.parse_content_to_nodes()
        if "steps" in show:
            links, _ = self.parse_inline(" ".join(f"{{eq}}`eq-{n}`" for n in EQUATIONS))
            box += tag("template", nodes.paragraph("", "", *links))
        return [box]


def setup(app):
    app.add_directive("explorer", Explorer)
    app.connect("builder-inited", lambda app: write_weights(Path(app.outdir) / WEIGHTS))
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
