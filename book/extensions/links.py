"""Where the course lives: its repository, the ref to take from it, and its site.

All three stand in _config.yml; MINIGPT_REPOSITORY, MINIGPT_REF and MINIGPT_SITE override them. A
repository that differs from the one in _config.yml has its site where GitHub Pages puts it.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[2]
LAB = "labs/lab5_transformer.ipynb"
NOTEBOOKS = (LAB, "labs/lab5_variants.ipynb")


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
        """Open the lab in Colab."""
        return self.in_colab(LAB)

    @property
    def binder(self) -> str:
        """Open the lab on Binder."""
        return self.in_binder(LAB)

    def in_colab(self, notebook: str) -> str:
        """Open a notebook in Colab, which takes the ref to be one part of the path."""
        ref = quote(self.ref, safe="")
        return f"https://colab.research.google.com/github/{self.slug}/blob/{ref}/{notebook}"

    def in_binder(self, notebook: str) -> str:
        """Open a notebook on Binder."""
        ref, path = quote(self.ref, safe=""), quote(notebook, safe="")
        return f"https://mybinder.org/v2/gh/{self.slug}/{ref}?labpath={path}"

    @property
    def path(self) -> str:
        """Give the root of the site without its host: /name/."""
        return urlsplit(self.site).path + "/"

    def hub(self, address: str) -> str:
        """Open the student's notebook on a JupyterHub, with its extension nbgitpuller."""
        notebook = f"lab/tree/{self.slug.partition('/')[2]}/{LAB}"
        asked = {"repo": self.repository, "branch": self.ref, "urlpath": notebook}
        query = urlencode(asked, quote_via=quote, safe="")
        return f"{address.rstrip('/')}/hub/user-redirect/git-pull?{query}"

    def file(self, path: str) -> str:
        """Show a file of the repository."""
        return f"{self.repository}/blob/{self.ref}/{path}"

    def page(self, name: str) -> str:
        """Show a page of the site, named without its ending."""
        return f"{self.site}/{name}.html"


def pages_site(slug: str) -> str:
    """Say where GitHub Pages puts a site: at the root for a repository named after its owner."""
    owner, name = slug.split("/")
    host = f"{owner}.github.io"
    return f"https://{host}" if name.lower() == host.lower() else f"https://{host}/{name}"


def read(environment: dict[str, str] = os.environ) -> Links:
    """Read the three addresses. A variable that is empty counts as not set.

    Raises:
        ValueError: the repository is not one on GitHub, which Colab and Binder need.
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    committed = config["repository"]["url"]
    repository = environment.get("MINIGPT_REPOSITORY") or committed
    repository = repository.rstrip("/").removesuffix(".git")
    if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", repository):
        raise ValueError(
            f"a repository has the form https://github.com/owner/name, not {repository!r}: see "
            "repository.url in _config.yml, or MINIGPT_REPOSITORY"
        )
    site = config["html"]["baseurl"]
    if repository != committed:
        site = pages_site(repository.removeprefix("https://github.com/"))
    return Links(
        repository,
        environment.get("MINIGPT_REF") or config["repository"]["branch"],
        (environment.get("MINIGPT_SITE") or site).rstrip("/"),
    )
