"""What the pages' sources and the README may and may not say."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from exercises import exercises

from minigpt.artifacts import DATA, read_json

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "book").rglob("*.md"))
LABS = sorted((ROOT / "labs" / "source").glob("lab*.py"))

# Numbers with two decimals or more that are facts, not results: by page, with their reason.
FACTS = {
    "03-causal-mask.md": {"0.88", "0.12", "0.25", "0.016"},  # options of the worked example
    "02-scaled-dot-product-attention.md": {"0.125", "0.016"},  # options of the question
    "06-transformer-block.md": {  # the first weights, and the worked example with wrong options
        *("0.02", "1.07", "0.53", "1.60", "0.93", "0.46", "1.39", "0.57", "0.29", "0.86"),
    },
    "gotchas.md": {"3.11"},  # the version of Python
    "ablations.md": {"0.005", "0.02"},  # the learning rate, the spread of the first weights
    "lab5_transformer.py": {"4.17"},  # ln 65
}


def prose(page: Path) -> str:
    """Leave out the front matter and the code that runs: a number in its output is measured."""
    if page in LABS:
        return "\n".join(line for line in page.read_text().splitlines() if line.startswith("#"))
    text = page.read_text()
    if text.startswith("---\n"):
        text = text.split("\n---\n", 1)[1]
    return re.sub(r"```\{code-cell\}.*?\n```", "", text, flags=re.S)


@pytest.mark.parametrize("page", [*PAGES, *LABS], ids=lambda page: page.name)
def test_no_measured_number_is_typed_into_a_page(page):
    found = set(re.findall(r"(?<![\w.])\d+\.\d{2,}\b", prose(page)))
    assert found <= FACTS.get(page.name, set())


@pytest.mark.parametrize("page", [*PAGES, *LABS], ids=lambda page: page.name)
def test_every_mention_of_an_equation_is_a_link(page):
    assert re.findall(r"(?<!\[)[Ee]quations?\s+\(?\d+", prose(page)) == []
    for label in re.findall(r":label: (.*)", page.read_text()):
        assert re.fullmatch(r"eq-(1[0-5]|[1-9])", label)


@pytest.mark.parametrize("page", [*PAGES, *LABS], ids=lambda page: page.name)
def test_every_mention_of_a_figure_or_a_section_is_a_link(page):
    text = re.sub(r"\[[^\]]*\]\([^)]*\)|\{\w+\}`[^`]*`", "", prose(page))  # links and roles
    assert re.findall(r"\b[Ff]ig(?:ure|\.)\s+\d+", text) == []
    assert re.findall(r"\b[Ss]ections?\s+\d+", re.sub(r"(?m)^#+ .*$", "", text)) == []


@pytest.mark.parametrize("page", [*PAGES, *LABS], ids=lambda page: page.name)
def test_every_link_to_another_site_is_encrypted(page):
    assert re.findall(r"http://[^\s)]*", page.read_text()) == []


def test_every_question_has_an_answer_and_three_are_asked_in_the_room():
    in_the_room = []
    for page in PAGES:
        for question in page.read_text().split("::::{check-yourself}")[1:]:
            if re.match(r"[^\n]*\n:minutes: 2\n", question):
                in_the_room.append(page.name[:2])
            assert question.count(":right:") <= 1
            assert ":::{answer}" in question
    assert sorted(in_the_room) == ["02", "03", "06"]


def test_the_minutes_of_the_sections_follow_each_other_and_sum_to_55(tmp_path):
    from section_head import agenda
    from sphinx.errors import ExtensionError

    sections = agenda(ROOT / "book" / "briefing")
    assert [section["number"] for section in sections] == list(range(1, 9))
    assert sections[-1]["stop"] == 55
    assert sum(section["activities"] for section in sections) == 10
    for name, span in (("01-a.md", [0, 5]), ("02-b.md", [6, 9])):
        front = f"---\nsection: {name[1]}\nminutes: {span}\n---\n\n# {name[1]}. Title\n"
        (tmp_path / name).write_text(front)
    with pytest.raises(ExtensionError, match="its minutes are 6 to 9"):
        agenda(tmp_path)


def test_every_section_leads_to_its_exercises_and_to_colab():
    for page in PAGES:
        if section := re.search(r"^section: (\d)$", page.read_text(), re.M):
            box = page.read_text().split(":::{admonition} In the lab")[1].split("\n:::\n")[0]
            leaning = {str(one.number) for one in exercises() if int(section[1]) in one.sections}
            named = set(re.findall(r"\{exercise\}`(\d)`", box))
            assert named >= leaning, page.name
            assert named, page.name
            assert "[in Colab](colab:lab)" in box, page.name


def test_every_equation_stands_on_exactly_one_page():
    labels = [label for page in PAGES for label in re.findall(r":label: (eq-.*)", page.read_text())]
    assert sorted(labels) == sorted(f"eq-{number}" for number in range(1, 16))


def test_every_page_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    listed = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    pages = [str(page.relative_to(ROOT).with_suffix("")) for page in PAGES]
    assert sorted(listed) == sorted([*pages, *(f"labs/{lab.stem}" for lab in LABS)])


def test_the_readme_shows_the_results_as_they_were_measured():
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
    assert binder.pop("nbgitpuller")  # a hub needs it, and no test here has a hub
    assert {name: tested[name] for name in binder} == binder


def test_binder_has_whatever_a_cell_imports():
    cells = [lab.read_text() for lab in (ROOT / "labs" / "source").glob("*.py")]
    for page in PAGES:
        cells += re.findall(r"```\{code-cell\}.*?\n```", page.read_text(), re.S)
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", "\n".join(cells), re.M))
    there = (ROOT / ".binder" / "requirements.txt").read_text().replace("-", "_")
    needed = imported - sys.stdlib_module_names - {"minigpt"}
    assert {"torch", "myst_nb"} <= needed
    assert [name for name in needed if f"\n{name}==" not in there] == []
