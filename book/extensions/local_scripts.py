"""Ship third-party scripts with the site, and drop those that would come from another host.

The package manager has fetched them into node_modules, at the versions of the lock file.
"""

import shutil
from pathlib import Path

from sphinx.errors import ExtensionError

SINGLE_FILES = (
    # of the hover previews
    "@popperjs/core/dist/umd/popper.min.js",
    "tippy.js/dist/tippy-bundle.umd.min.js",
    # of Live Code's editors
    "codemirror/lib/codemirror.js",
    "codemirror/lib/codemirror.css",
    "codemirror/mode/python/python.js",
)


def copy_scripts(app):
    modules = Path(app.srcdir) / "node_modules"
    source = modules / "mathjax" / "es5"
    if not source.is_dir():
        raise ExtensionError(f"no MathJax at {source}: `make book` fetches it")
    vendor = Path(app.outdir) / "_static" / "vendor"
    target = vendor / "mathjax"
    for file in SINGLE_FILES:
        vendor.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(modules / file, vendor / Path(file).name)
    # Live Code's way to a kernel. It loads its other parts from beside itself, wherever that is.
    shutil.copytree(
        modules / "thebe-core" / "dist" / "lib",
        vendor / "thebe-core",
        ignore=shutil.ignore_patterns("*.map", "*.css"),
        dirs_exist_ok=True,
    )
    for part in ("tex-mml-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions"):
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, dirs_exist_ok=True)
        else:
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / part, target / part)


def drop_foreign_scripts(app, pagename, templatename, context, doctree):
    """sphinx-thebe has to be loaded for the theme, but its script is on a CDN that lacks it."""
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if "thebe" not in f"{script.filename} {script.attributes.get('body')}".lower()
    ]


def setup(app):
    app.connect("builder-inited", copy_scripts)
    app.connect("html-page-context", drop_foreign_scripts, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
