"""Links that follow the repository, and the student's notebooks as pages of the book.

On any page, [words](repository:path/of/a/file) leads to that file in the repository, and
[words](colab:lab) opens the lab in Colab.

The notebooks are written for Colab: their links are absolute and they know no MyST. Here their
links to the site become links between pages, their exercises get anchors, their badges become plain
links, and the address of the repository is the one the site is built for. They run at the QUICK
budget.
"""

import json
import os
import re
import tomllib

import links

BADGE = re.compile(r"\[!\[([^\]]+)\]\([^)]*\)\]\(([^)]*)\)")
EXERCISE = re.compile(r"^#+ (?:(Exercise|Variant) (\d)|Challenge)", re.M)


def set_up(app, config):
    """Choose what the notebook does while the book is built, and where the site will be."""
    os.environ["MINIGPT_BUDGET"] = "quick"
    os.environ["TQDM_DISABLE"] = "1"
    here = links.read()
    # A placeholder must not become the canonical address of every page.
    config.html_baseurl = "" if here.placeholder else here.site
    config.myst_url_schemes = {
        "http": None,
        "https": None,
        "mailto": None,
        "repository": {"url": here.file("{{path}}")},
        "colab": {"url": here.colab},
    }
    project = tomllib.loads((links.ROOT / "pyproject.toml").read_text())["project"]
    config.version = config.release = project["version"]
    config.html_theme_options["repository_url"] = here.repository
    config.html_theme_options["repository_branch"] = here.ref


def adapt(app, docname, source):
    """Turn the Markdown of the notebook into that of a page."""
    name = f"{docname}.ipynb"
    if name not in links.NOTEBOOKS:
        return
    notebook = json.loads(source[0])
    committed, here = links.read({}), links.read()
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            text = text.replace(f'"{committed.repository}"', f'"{here.repository}"')
            cell["source"] = text.replace(f'_REF", "{committed.ref}"', f'_REF", "{here.ref}"')
        else:
            for mine, theirs in (
                (committed.in_colab(name), here.in_colab(name)),
                (committed.in_binder(name), here.in_binder(name)),
                (committed.file(""), here.file("")),
            ):
                text = text.replace(mine, theirs)
            text = BADGE.sub(r"[**\1**](\2)", text)
            text = EXERCISE.sub(with_anchor, text)
            cell["source"] = local_links(text, committed.site)
    source[0] = json.dumps(notebook)


def with_anchor(heading: re.Match) -> str:
    """Put the anchor exercise-N, variant-N or challenge before a heading."""
    name = f"{heading[1].lower()}-{heading[2]}" if heading[1] else "challenge"
    return f"({name})=\n{heading[0]}"


def local_links(text: str, site: str) -> str:
    """Replace links to the site by links between its pages."""
    site = re.escape(site)
    text = re.sub(
        rf"\[[Ee]quation (\d+)\]\({site}/[^)#]*#equation-eq-\1\)", r"equation {eq}`eq-\1`", text
    )
    text = re.sub(rf"\]\({site}/(labs/[^)#]*)\.html\)", r"](/\1.ipynb)", text)
    return re.sub(rf"\]\({site}/([^)#]*)\.html\)", r"](/\1.md)", text)


def setup(app):
    app.connect("config-inited", set_up)
    app.connect("source-read", adapt)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
