"""Where the course lives: its repository, the ref to take from it, and its site.

All three stand in _config.yml; MINIGPT_REPOSITORY, MINIGPT_REF and MINIGPT_SITE override them.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[2]
LAB = "labs/lab5_transformer.ipynb"


@dataclass(frozen=True)
class Links:
    """The three addresses, and everything that is made from them."""

    repository: str  # https://github.com/owner/name
    ref: str  # a branch, a tag or a commit
    site: str  # https://owner.github.io/name

    @property
    def placeholder(self) -> bool:
        """Say whether nobody has put their own repository in yet."""
        return "OWNER/REPOSITORY" in self.repository

    @property
    def slug(self) -> str:
        """Give owner/name."""
        return self.repository.removeprefix("https://github.com/")

    @property
    def colab(self) -> str:
        """Open the student's notebook in Colab."""
        return f"https://colab.research.google.com/github/{self.slug}/blob/{self.ref}/{LAB}"

    @property
    def binder(self) -> str:
        """Open the student's notebook on Binder."""
        ref, path = quote(self.ref, safe=""), quote(LAB, safe="")
        return f"https://mybinder.org/v2/gh/{self.slug}/{ref}?labpath={path}"

    @property
    def path(self) -> str:
        """Give the root of the site without its host: /name/."""
        return urlsplit(self.site).path + "/"

    def file(self, path: str) -> str:
        """Show a file of the repository."""
        return f"{self.repository}/blob/{self.ref}/{path}"

    def page(self, name: str) -> str:
        """Show a page of the site, named without its ending."""
        return f"{self.site}/{name}.html"


def read(environment: dict[str, str] = os.environ) -> Links:
    """Read the three addresses.

    Raises:
        ValueError: the repository is not one on GitHub, which Colab and Binder need.
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    repository = environment.get("MINIGPT_REPOSITORY", config["repository"]["url"])
    repository = repository.rstrip("/").removesuffix(".git")
    if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", repository):
        raise ValueError(
            f"a repository has the form https://github.com/owner/name, not {repository!r}: see "
            "repository.url in _config.yml, or MINIGPT_REPOSITORY"
        )
    return Links(
        repository,
        environment.get("MINIGPT_REF", config["repository"]["branch"]),
        environment.get("MINIGPT_SITE", config["html"]["baseurl"]).rstrip("/"),
    )
