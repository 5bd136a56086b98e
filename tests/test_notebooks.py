"""The notebooks of the lab and its variants: two from a source, whole, run from top to bottom."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import build
import copies
import nbformat
import pytest
from exercises import exercises
from nbclient import NotebookClient
from support import challenge, core, variants

from minigpt import checks

ROOT = Path(__file__).resolve().parents[1]

LAB, VARIANTS = build.SOURCES
PATHS = [
    path for source in build.SOURCES for path in (build.student_of(source), build.solved_of(source))
]
ALL = pytest.mark.parametrize("source", build.SOURCES, ids=lambda source: source.stem)


@pytest.fixture
def source() -> Path:
    return LAB


@pytest.fixture
def student(source) -> nbformat.NotebookNode:
    return nbformat.read(build.student_of(source), as_version=4)


@pytest.fixture
def solved(source) -> nbformat.NotebookNode:
    return nbformat.read(build.solved_of(source), as_version=4)


def code(notebook) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def printed(cell) -> str:
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def exercise(notebook, heading: str) -> list:
    """Give the cells from a heading up to the next one."""
    starts = [i for i, c in enumerate(notebook.cells) if re.match(r"#+ ", c.source)]
    (start,) = (i for i in starts if heading in notebook.cells[i].source.split("\n")[0])
    return notebook.cells[start : min([i for i in starts if i > start], default=None)]


def test_the_notebooks_are_what_the_source_gives():
    for path, text in build.notebooks().items():
        assert path.read_text() == text, "run python labs/build.py"


def test_a_stale_notebook_is_reported_and_left_alone(monkeypatch, tmp_path, capsys):
    stale = tmp_path / "labs" / "lab5_transformer.ipynb"
    stale.parent.mkdir()
    stale.write_text("old")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "notebooks", lambda: {stale: "new"})
    monkeypatch.setattr(sys, "argv", ["build.py", "--check"])
    assert build.main() == 1
    assert "labs/lab5_transformer.ipynb" in capsys.readouterr().err
    assert stale.read_text() == "old"


def test_a_stale_or_missing_notebook_is_written_once(monkeypatch, tmp_path, capsys):
    missing, stale = tmp_path / "missing.ipynb", tmp_path / "stale.ipynb"
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(copies, "ROOT", tmp_path)
    build.write_all({stale: "old"})
    monkeypatch.setattr(build, "notebooks", lambda: {missing: "new", stale: "new too"})
    monkeypatch.setattr(sys, "argv", ["build.py"])
    assert build.main() == 0
    assert capsys.readouterr().out == "wrote missing.ipynb\nwrote stale.ipynb\n"
    assert (missing.read_text(), stale.read_text()) == ("new", "new too")
    assert build.main() == 0
    assert capsys.readouterr().out == ""


SOURCE = """\
# ---
# jupyter:
#   accelerator: TPU
#   myst:
#     html_meta:
#       description: A small one.
# ---

# %% [markdown]
# See [the briefing](page:book/index), [equation 6](eq-6), [equation 99](eq-99),
# [this](file:README.md), [the lab](page:labs/lab5_transformer) and [Colab](colab).

# %% tags=["hide-input"] cellView="form" odd="yes"
# Mine
# {set-up}

mine = torch

# %%
class MyLayer:
    def forward(self, H):
        # TODO: give back H
        ### BEGIN SOLUTION
        return H
        ### END SOLUTION
"""


def test_a_small_source_gives_the_notebooks_that_one_expects(monkeypatch, tmp_path):
    import links

    source = tmp_path / "lab6.py"
    source.write_text(SOURCE)
    (tmp_path / "set_up.py").write_text("import torch\n# It is {repository} at {ref}.\n")
    monkeypatch.setattr(build, "SOURCES", [source])
    monkeypatch.setattr(build, "SET_UP", tmp_path / "set_up.py")
    texts = build.notebooks()
    assert list(texts) == [ROOT / "labs" / "lab6.ipynb", ROOT / "labs" / "solved" / "lab6.ipynb"]
    student, solved = (nbformat.reads(text, 4) for text in texts.values())
    here = links.read({})
    assert [cell.source for cell in student.cells] == [
        f"See [the briefing]({here.site}/book/index.html), "
        f"[equation 6]({here.site}/book/briefing/03-causal-mask.html#equation-eq-6), "
        f"equation 99,\n[this]({here.repository}/blob/{here.ref}/README.md), "
        f"[the lab]({here.site}/labs/lab5_transformer.html) and "
        f"[Colab]({here.in_colab('labs/lab6.ipynb')}).",
        f"# Mine\nimport torch\n# It is {here.repository} at {here.ref}.\n\nmine = torch",
        "class MyLayer:\n    def forward(self, H):\n        # TODO: give back H\n"
        "        raise NotImplementedError",
        "<details>\n<summary>Solution</summary>\n\n```python\n"
        "class MyLayer:\n    def forward(self, H):\n        return H\n```\n\n</details>",
    ]
    assert [cell.source for cell in solved.cells][2:] == [
        "class MyLayer:\n    def forward(self, H):\n        return H"
    ]
    for notebook in (student, solved):
        assert notebook.cells[1].metadata == {"tags": ["hide-input"], "cellView": "form"}
        assert notebook.cells[0].metadata == notebook.cells[2].metadata == {}
        assert notebook.metadata["accelerator"] == "TPU"
        assert notebook.metadata["myst"] == {"html_meta": {"description": "A small one."}}
        assert notebook.metadata["colab"]["toc_visible"]


def test_a_fork_s_address_leaves_the_committed_notebooks_as_they_are(monkeypatch):
    monkeypatch.setenv("MINIGPT_REPOSITORY", "https://github.com/ada/gpt")
    for path, text in build.notebooks().items():
        assert path.read_text() == text


@ALL
def test_every_cell_of_code_is_python(student, solved):
    for notebook in (student, solved):
        for source in code(notebook):
            compile(source, "cell", "exec")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(ROOT / "labs")))
def test_a_notebook_is_committed_without_outputs_and_with_constant_ids(path):
    notebook = json.loads(path.read_text())
    cells = notebook["cells"]
    assert [cell["id"] for cell in cells] == [f"cell-{n:02}" for n in range(1, len(cells) + 1)]
    for cell in cells:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_colab_is_asked_for_a_gpu_where_something_is_trained():
    def asked(path: Path) -> tuple[str | None, str | None]:
        metadata = json.loads(path.read_text())["metadata"]
        return metadata.get("accelerator"), metadata["colab"].get("gpuType")

    assert [asked(path) for path in PATHS] == [("GPU", "T4")] * 2 + [(None, None)] * 2


def test_the_minutes_of_the_exercises_sum_to_those_announced(student):
    planned = exercises()
    for one in planned:
        assert f"*{one.minutes} minutes" in exercise(student, f"Exercise {one.number} ·")[0].source
    total = sum(one.minutes for one in planned)
    assert f"**Time.** {total} minutes in two parts" in student.cells[0].source


def home(name: str) -> Path:
    """Give the source that an exercise stands in."""
    return VARIANTS if name in checks.VARIANTS else LAB


@pytest.mark.parametrize(
    ("source", "name"), [(home(name), name) for name in (*checks.CORE, *checks.VARIANTS)]
)
def test_an_exercise_has_a_hint_a_stub_a_solution_and_a_checkpoint_in_this_order(student, name):
    cells = student.cells
    (stub,) = (i for i, c in enumerate(cells) if re.match(rf"(def|class) {name}\(", c.source))
    assert "<summary>Hint" in cells[stub - 1].source
    assert "# TODO" in cells[stub].source
    assert cells[stub].source.endswith("raise NotImplementedError")
    fold = cells[stub + 1].source
    assert fold.startswith("<details>\n<summary>Solution</summary>")
    assert re.search(rf"^(def|class) {name}\(", fold, re.M)
    assert "TODO" not in fold
    assert "**Checkpoint" in cells[stub + 2].source
    assert cells[stub + 3].source.startswith(f"{name} = checks.{name}(")


@pytest.mark.parametrize(
    ("source", "name"),
    [(home(name), name) for name in (*checks.CORE, *checks.CHALLENGE, *checks.VARIANTS)],
)
def test_the_folded_solution_is_the_one_that_the_solved_notebook_runs(student, solved, name):
    (written,) = (s for s in code(solved) if re.match(rf"(def|class) {name}\(", s))
    folds = [c.source for c in student.cells if "<summary>Solution" in c.source]
    assert sum(f"```python\n{written}\n```" in fold for fold in folds) == 1
    assert "NotImplementedError" not in written


@ALL
def test_no_mark_of_the_source_is_left_over(student, solved):
    for notebook in (student, solved):
        text = "\n".join(cell.source for cell in notebook.cells)
        assert "### BEGIN" not in text
        assert "### END" not in text
        assert "{repository}" not in text
        assert "{set-up}" not in text
        assert not re.search(r"\]\((section|eq|index|lab|colab|binder|file)\b", text)


@ALL
def test_a_notebook_holds_nothing_that_colab_would_show_as_dead_text(student, solved):
    for notebook in (student, solved):
        text = prose(notebook)
        assert not re.search(r"^(:{3,}|`{3,}\{)", text, re.M)  # directives
        assert not re.search(r"\{\w+\}`", text)  # roles
        assert str(ROOT) not in text + "\n".join(code(notebook))


@ALL
def test_links_to_the_course_follow_one_place(source, student):
    import links

    here, text = links.read({}), prose(student)
    colab, binder = (f(f"labs/{source.stem}.ipynb") for f in (here.in_colab, here.in_binder))
    assert f"]({colab})" in text
    assert f"]({binder})" in text
    assert f"]({here.page('book/briefing/06-transformer-block')})" in text
    for address in re.findall(r"\]\((https?://[^)]*)\)", text):
        known = (
            here.repository,
            here.site,
            colab,
            binder,
            "https://colab.research.google.com/assets",
        )
        assert address.startswith(known), address


def test_a_fork_s_address_reaches_every_link():
    import links

    fork = links.read(
        {
            "MINIGPT_REPOSITORY": "https://github.com/ada/gpt.git/",
            "MINIGPT_REF": "class/2026",
            "MINIGPT_SITE": "https://ada.github.io/gpt/",
        }
    )
    assert fork.colab == (
        "https://colab.research.google.com/github/ada/gpt/blob/class%2F2026/"
        "labs/lab5_transformer.ipynb"
    )
    assert fork.binder == (
        "https://mybinder.org/v2/gh/ada/gpt/class%2F2026?labpath=labs%2Flab5_transformer.ipynb"
    )
    assert fork.page("book/index") == "https://ada.github.io/gpt/book/index.html"
    assert fork.file("README.md") == "https://github.com/ada/gpt/blob/class/2026/README.md"
    assert not fork.placeholder
    unset = links.read({"MINIGPT_REPOSITORY": "https://github.com/OWNER/REPOSITORY"})
    assert unset.placeholder
    for address in ("ada/gpt", "https://github.com/ada/gpt/tree/main"):
        with pytest.raises(ValueError, match=r"https://github\.com/owner/name"):
            links.read({"MINIGPT_REPOSITORY": address})


def set_up_cell(student) -> str:
    return next(source for source in code(student) if "@title Set-up" in source)


@pytest.mark.parametrize(
    ("repository", "said"),
    [
        (None, "does not say yet where its course lives"),
        ("/nowhere/course", "could not be fetched from /nowhere/course at class/2027"),
    ],
)
def test_a_course_that_cannot_be_fetched_is_one_clear_error(
    source, tmp_path, monkeypatch, repository, said
):
    import links

    nobody = links.Links("https://github.com/OWNER/REPOSITORY", "class/2027", "https://a.org")
    student = nbformat.reads(build.notebooks(nobody)[build.student_of(source)], 4)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINIGPT_REPOSITORY", raising=False)
    monkeypatch.delenv("MINIGPT_REF", raising=False)
    if repository:
        monkeypatch.setenv("MINIGPT_REPOSITORY", repository)
    with pytest.raises(RuntimeError, match=said):
        exec(compile(set_up_cell(student), "set-up", "exec"), {})
    assert not (tmp_path / "transformer-course").exists()


@pytest.mark.slow
@pytest.mark.parametrize("steps", [20, pytest.param(1_500, marks=pytest.mark.long)])
def test_the_solved_notebook_passes_every_checkpoint(solved, monkeypatch, steps):
    monkeypatch.delenv("MINIGPT_REPOSITORY", raising=False)
    environment = {"MINIGPT_STRICT": "1", "MINIGPT_BUDGET": "quick", "MINIGPT_STEPS": str(steps)}
    notebook = solved.copy()
    client = NotebookClient(
        notebook,
        timeout=None,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT / "labs" / "solved")}},
    )
    client.execute(env=os.environ | environment)
    outputs = {cell.source: printed(cell) for cell in notebook.cells if cell.cell_type == "code"}
    tally = next(text for source, text in outputs.items() if source == "checks.tally()")
    assert core(len(checks.CORE)) in tally
    assert challenge(len(checks.CHALLENGE)) in tally
    assert "✗" not in "".join(outputs.values())
    trained = next(text for source, text in outputs.items() if "train_lm(" in source)
    assert f"{steps:,} steps in" in trained
    assert f"{steps}/{steps}" in trained  # the bar
    compared = next(text for source, text in outputs.items() if source.startswith("nats = "))
    below = re.search(r"mini-GPT is ([\d.]+) nats below the trigram", compared)
    assert (below is not None and float(below[1]) > 0.1) == (steps == 1_500)


@pytest.mark.parametrize("source", [VARIANTS], ids=["lab5_variants"])
def test_the_solved_variants_pass_every_checkpoint_and_train_nothing(solved, monkeypatch):
    notebook = solved.copy()
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT / "labs" / "solved")}},
    )
    client.execute(env=os.environ | {"MINIGPT_STRICT": "1"})
    outputs = {cell.source: printed(cell) for cell in notebook.cells if cell.cell_type == "code"}
    tally = outputs["checks.tally_variants()"]
    assert variants(len(checks.VARIANTS)) in tally
    assert "exercises" not in tally
    assert "Challenge" not in tally
    assert "Measured along the way: 6 of 6 as they have to be" in tally
    assert "✗" not in "".join(outputs.values())
    assert "train_lm" not in "".join(outputs)


@pytest.mark.slow
def test_the_student_s_notebooks_run_in_colab_untouched(tmp_path):
    # A Python with the libraries of this one, but without the package: in its list of folders an
    # editable install is not followed.
    python = tmp_path / "python"
    venv.create(python, with_pip=False, symlinks=True)
    (packages,) = python.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_paths()["purelib"])
    interpreter = str(python / "bin" / "python")
    missing = [interpreter, "-c", "import torch, nbclient; import minigpt"]
    done = subprocess.run(missing, capture_output=True, text=True, cwd=tmp_path)
    assert "No module named 'minigpt'" in done.stderr

    folder = tmp_path / "colab"
    done = subprocess.run(
        [interpreter, str(ROOT / "labs" / "colab" / "run.py"), str(ROOT), str(folder)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr

    def executed(name: str) -> list:
        notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for output in (output for cell in cells for output in cell.outputs):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
        assert "✗" not in "".join(map(printed, cells))
        return cells

    cells = executed("lab5_transformer")
    first, again = printed(cells[0]), printed(cells[-1])
    for said in (first, again):
        assert "Runtime: Colab without a GPU" in said
        assert "QUICK, a short one, 20 steps" in said
        assert "Change runtime type → T4 GPU" in said
        assert re.search(r"Time: .*minutes of training", said)
    assert (folder / "content" / "transformer-course" / "src" / "minigpt").is_dir()
    assert not (folder / "content" / "transformer-course.part").exists()

    stubs = [cell for cell in cells if "= checks." in cell.source]
    assert [printed(cell)[0] for cell in stubs] == ["○"] * len(checks.CORE | checks.CHALLENGE)
    (tally,) = (printed(cell) for cell in cells if cell.source == "checks.tally()")
    assert core(0, len(checks.CORE)) in tally
    assert challenge(0, len(checks.CHALLENGE)) in tally
    (tally,) = (
        printed(cell)
        for cell in executed("lab5_variants")
        if cell.source == "checks.tally_variants()"
    )
    assert variants(0, len(checks.VARIANTS)) in tally

    drawn = [
        output.data["text/html"]
        for cell in cells
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert sum("<svg" in html for html in drawn) == 4
    assert sum("<table" in html for html in drawn) == 1
    asked = (folder / "library" / "asked-of-colab.txt").read_text()
    assert asked == "download lab5-work.safetensors\n"
