# @title Set-up
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = os.environ.get("MINIGPT_REPOSITORY", "{repository}")
REF = os.environ.get("MINIGPT_REF", "{ref}")


def fetch(folder):
    """Clone the course at its ref; a clone that was cut short is started anew."""
    if "OWNER/REPOSITORY" in REPOSITORY:
        raise RuntimeError(
            "This copy of the notebook does not say yet where its course lives. Open it inside a "
            "clone of the course, or set the variable MINIGPT_REPOSITORY to the address of one."
        )
    part = Path(f"{folder}.part")
    shutil.rmtree(part, ignore_errors=True)
    for step in (
        ["init", "-q", part],
        ["-C", part, "fetch", "-q", "--depth", "1", REPOSITORY, REF],
        ["-C", part, "checkout", "-q", "FETCH_HEAD"],
    ):
        done = subprocess.run(
            ["git", *map(str, step)], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(
                f"The course could not be fetched from {REPOSITORY} at {REF}. Is there a network? "
                f"Run this cell again to try once more.\ngit says: {done.stderr.strip()}"
            )
    part.rename(folder)


here = Path.cwd()
course = next(
    (f for f in [here, *here.parents] if (f / "src" / "minigpt").is_dir()), None
)
if course is None:
    course = here / "transformer-course"
    if not course.exists():
        fetch(course)
if str(course / "src") not in sys.path:
    sys.path.insert(0, str(course / "src"))

try:
    for module in ("minigpt.figures", "minigpt.lab"):
        importlib.import_module(module)
except ModuleNotFoundError as missing:
    raise RuntimeError(
        f"Python's package {missing.name!r} is missing here. Colab has it. Elsewhere: "
        "pip install torch numpy matplotlib safetensors tqdm"
    ) from None
