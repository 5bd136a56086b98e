"""Run the student's notebooks as Google Colab would: elsewhere, without the package, from a clone.

    python labs/colab/run.py REPOSITORY FOLDER

REPOSITORY is a folder that holds the course; a copy of it, with its changes, is committed to a
repository of its own, from which the first notebook clones; the second finds that clone. FOLDER is
made, and is where they run. The interpreter that runs this file runs the notebooks too. A stand-in
for google.colab writes down what it is asked to do. 20 training steps are taken.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = ("lab5_transformer", "lab5_variants")
REF = "class/2026"  # with a slash, as a branch may have
STAND_IN = """
from pathlib import Path

LOG = Path(__file__).parents[2] / "asked-of-colab.txt"


def download(path):
    assert Path(path).exists(), path
    with LOG.open("a") as log:
        log.write(f"download {path}\\n")


def upload():
    raise AssertionError("nothing was to be uploaded")
"""


def as_remote(repository: Path, target: Path) -> None:
    """Commit a repository's files, with whatever is not committed yet, as a remote to clone."""
    listed = subprocess.run(
        ["git", "-C", repository, "ls-files", "-co", "--exclude-standard", "-z"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (repository / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(repository / name, target / name)
    who = ["-c", "user.name=course", "-c", "user.email=course@example.org"]
    for step in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "all"], ["branch", REF]):
        subprocess.run(["git", "-C", target, *step], check=True, capture_output=True)


def run(repository: Path, folder: Path) -> None:
    """Execute the notebooks in an empty folder and write them, with their outputs, beside it."""
    content, library, remote = folder / "content", folder / "library", folder / "remote"
    content.mkdir(parents=True)
    (library / "google" / "colab").mkdir(parents=True)
    (library / "google" / "__init__.py").touch()
    (library / "google" / "colab" / "__init__.py").touch()
    (library / "google" / "colab" / "files.py").write_text(STAND_IN)
    as_remote(repository, remote)

    # A clone that was cut short is lying about.
    (content / "transformer-course.part" / "src" / "minigpt").mkdir(parents=True)

    kept = {"PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"}
    environment = {key: value for key, value in os.environ.items() if key in kept}
    environment |= {
        "PYTHONPATH": str(library),
        "MINIGPT_REPOSITORY": str(remote),
        "MINIGPT_REF": REF,
        "MINIGPT_STEPS": "20",
        "IPYTHONDIR": str(folder / "ipython"),
    }
    for name in NOTEBOOKS:
        notebook = nbformat.read(repository / "labs" / f"{name}.ipynb", as_version=4)
        for cell in notebook.cells:
            # The student keeps her work, which in Colab is a download.
            cell.source = cell.source.replace("SAVE = False", "SAVE = True")
        set_up = next(cell for cell in notebook.cells if "@title Set-up" in cell.source)
        notebook.cells.append(nbformat.v4.new_code_cell(set_up.source, id="set-up-again"))
        client = NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": content}}
        )
        client.execute(env=environment)
        nbformat.write(notebook, folder / f"{name}.ipynb")


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
    import torch

    print(f"both notebooks run on Python {sys.version.split()[0]} with torch {torch.__version__}")
