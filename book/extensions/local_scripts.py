"""Ship third-party scripts with the site, and drop those that would come from another host.

The package manager has fetched them into node_modules, at the versions of the lock file.
"""

import json
import re
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
STYLES = {  # of Font Awesome: the classes that ask for one, its own short name first
    "brands": ("fab", "fa-brands"),
    "regular": ("far", "fa-regular"),
    "solid": ("fas", "fa-solid"),
}


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


def icon(modules: Path, style: str, name: str) -> dict | None:
    """Give an icon as Font Awesome's library takes it; None if there is no such icon."""
    drawing = modules / "@fortawesome" / "fontawesome-free" / "svgs" / style / f"{name}.svg"
    if not drawing.exists():
        return None
    width, height, path = re.search(
        r'viewBox="0 0 (\d+) (\d+)".*<path d="([^"]+)"', drawing.read_text()
    ).groups()
    return {
        "prefix": STYLES[style][0],
        "iconName": name,
        "icon": [int(width), int(height), [], "", path],
    }


def keep_few_icons(app, exception):
    """Put the icons that the pages show in the place of the theme's script with all 2,000.

    That script is by far the heaviest file of a page, and the site shows a dozen of its icons.
    """
    if exception:
        return
    modules, out = Path(app.srcdir) / "node_modules", Path(app.outdir)
    found = {("solid", "xmark"): icon(modules, "solid", "xmark")}  # the theme's script draws it
    for page in out.rglob("*.html"):
        for classes in re.findall(r'class="([^"]*\bfa-[^"]*)"', page.read_text(encoding="utf-8")):
            words = classes.split()
            style = next((s for s, names in STYLES.items() if {*names} & {*words}), "solid")
            names = [word.removeprefix("fa-") for word in words if word.startswith("fa-")]
            here = {(style, name): drawn for name in names if (drawn := icon(modules, style, name))}
            if not here:
                raise ExtensionError(
                    f"{page.relative_to(out)}: the free Font Awesome has no icon {classes!r}"
                )
            found |= here
    core = modules / "@fortawesome" / "fontawesome-free" / "js" / "fontawesome.min.js"
    icons = ",".join(json.dumps(drawn) for drawn in found.values())
    script = f"{core.read_text(encoding='utf-8')};FontAwesome.library.add({icons});"
    (out / "_static" / "scripts" / "fontawesome.js").write_text(script, encoding="utf-8")


def setup(app):
    app.connect("builder-inited", copy_scripts)
    app.connect("build-finished", keep_few_icons)
    app.connect("html-page-context", drop_foreign_scripts, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
