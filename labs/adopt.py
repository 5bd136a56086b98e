"""Say where this course lives: in _config.yml, and from there in the notebooks.

    make adopt REPO=you/yours REF=main
    make adopt REPO=you/yours REF=main SITE=https://course.example.org
    make adopted

REF is what readers of the notebooks get: a branch or a tag. Without SITE the address is that of
GitHub Pages. `make adopted` changes nothing; it fails when the notebooks lead elsewhere than the
environment says (MINIGPT_REPOSITORY and MINIGPT_REF, as on GitHub Actions).
"""

import argparse
import json
import re
import subprocess
import sys

import build
import yaml
from build import links

CONFIG = links.ROOT / "_config.yml"


def place(repository: str, ref: str, site: str = "") -> links.Links:
    """Make the links of a course from what somebody typed.

    Raises:
        ValueError: one of the three has no form that links can be made from.
    """
    name = r"[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*"  # anything but . and ..
    if not re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9-]*/{name}", repository) or repository.endswith(
        ".git"
    ):
        raise ValueError(
            f"REPO={repository} is not the name of a repository on GitHub. It is owner/name, "
            "without an address before it or .git after it: REPO=you/yours"
        )
    # Of the names that git allows, those that a link can hold as they are.
    if (
        not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*", ref)
        or subprocess.run(["git", "check-ref-format", f"refs/heads/{ref}"]).returncode
    ):
        raise ValueError(
            f"REF={ref} is not the name of a branch or a tag that a link can hold. Letters, "
            "digits and _ . - + / are fine: REF=main or REF=class/2027"
        )
    if site and not re.fullmatch(r"https://[A-Za-z0-9.-]+(:\d+)?(/[A-Za-z0-9_.~/-]*)?", site):
        raise ValueError(
            f"SITE={site} is not the address of a site: it begins with https:// and holds no "
            "spaces, ? or #: SITE=https://course.example.org"
        )
    site = site.rstrip("/") or links.pages_site(repository)
    return links.Links(f"https://github.com/{repository}", ref, site)


def settled(config: str, here: links.Links) -> str:
    """Put the three addresses into the text of _config.yml and leave all else as it is.

    Raises:
        ValueError: the text has not exactly one line for each.
    """
    for key, value in (("url", here.repository), ("branch", here.ref), ("baseurl", here.site)):
        # A ref such as 2027 or on is text only between quotes.
        text = value if yaml.safe_load(value) == value else json.dumps(value)
        config, found = re.subn(rf"(?m)^  {key}: .*$", f"  {key}: {text}", config)
        if found != 1:
            raise ValueError(f"_config.yml has {found} lines that begin with `  {key}: `, not one")
    return config


def adopt(here: links.Links) -> None:
    """Write the course's address wherever it stands."""
    files = {CONFIG: settled(CONFIG.read_text(), here), **build.notebooks(here)}
    written = build.write_all(files)
    for path in written:
        print(f"wrote {path.relative_to(links.ROOT)}")
    if not written:
        print("nothing to do: all links lead there already")


def adopted() -> None:
    """Compare what is committed with what the environment says.

    Raises:
        ValueError: the two differ.
    """
    committed, here = links.read({}), links.read()
    if (committed.repository, committed.ref) != (here.repository, here.ref):
        raise ValueError(
            f"the notebooks lead to {committed.slug} at {committed.ref}, not to {here.slug} at "
            f"{here.ref}. Run make adopt REPO={here.slug} REF={here.ref}, commit and push"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="what make adopted does")
    for name in ("repository", "ref", "site"):
        parser.add_argument(f"--{name}", default="")
    asked = parser.parse_args()
    try:
        if asked.check:
            adopted()
        else:
            adopt(place(asked.repository, asked.ref, asked.site))
    except (ValueError, OSError) as error:
        print(error if asked.check else f"{error}. Nothing was changed.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
