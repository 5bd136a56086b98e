"""What the pages' sources and the README may and may not say."""

import re
import sys
from pathlib import Path

import pytest
import yaml

from minigpt.artifacts import DATA, read_json

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "book").rglob("*.md"))
LAB = ROOT / "labs" / "source" / "lab5_transformer.py"

# Numbers with two decimals or more that are facts, not results: by page, with their reason.
FACTS = {
    "03-causal-mask.md": {"0.88", "0.12", "0.25"},  # wrong answers to the worked example
    "lab5_transformer.py": {"4.17"},  # ln 65
}


def prose(page: Path) -> str:
    """Leave out the front matter and the code that runs: a number in its output is measured."""
    if page == LAB:
        return "\n".join(line for line in page.read_text().splitlines() if line.startswith("#"))
    text = page.read_text().split("\n---\n", 1)[1]
    return re.sub(r"```\{code-cell\}.*?\n```", "", text, flags=re.S)


@pytest.mark.parametrize("page", [*PAGES, LAB], ids=lambda page: page.name)
def test_no_measured_number_is_typed_into_a_page(page):
    found = set(re.findall(r"(?<![\w.])\d+\.\d{2,}\b", prose(page)))
    assert found <= FACTS.get(page.name, set())


@pytest.mark.parametrize("page", [*PAGES, LAB], ids=lambda page: page.name)
def test_every_mention_of_an_equation_is_a_link(page):
    assert re.findall(r"(?<!\[)[Ee]quations?\s+\(?\d+", prose(page)) == []
    for label in re.findall(r":label: (.*)", page.read_text()):
        assert re.fullmatch(r"eq-(1[0-5]|[1-9])", label)


def test_every_page_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    listed = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    pages = [str(page.relative_to(ROOT).with_suffix("")) for page in PAGES]
    assert sorted(listed) == sorted([*pages, "labs/lab5_transformer"])


def test_the_readme_shows_the_results_as_they_were_measured():
    sys.path.insert(0, str(DATA))
    from measure import with_results

    readme = (ROOT / "README.md").read_text()
    rows = read_json(DATA / "baselines.json")["rows"]
    assert with_results(readme, rows) == readme
    for row in rows.values():
        assert f"{row['nats']:.4f}" in readme


def test_every_path_of_the_readme_s_tree_is_there():
    readme = (ROOT / "README.md").read_text()
    tree = next(block for block in readme.split("```") if block.startswith("\n_config.yml"))
    for line in tree.strip().splitlines():
        for path in re.split(r" {3,}", line)[0].split():
            assert (ROOT / path).exists(), path


def test_binder_gets_the_versions_that_the_project_is_tested_with():
    def pins(path: Path) -> dict[str, str]:
        found = re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(), re.M)
        return dict(found)

    tested = pins(ROOT / "requirements.txt")
    binder = pins(ROOT / ".binder" / "requirements.txt")
    assert {"torch", "numpy", "matplotlib", "safetensors", "tqdm", "jupyterlab"} <= binder.keys()
    assert {name: tested[name] for name in binder} == binder
