"""Run the solved lab without a GPU, time what each exercise waits for, and write data/lab.json.

    make bench

The lab trains at the QUICK budget, as it does wherever there is no GPU. The time of an exercise is
that of its cells; what a student does between them is not in it. Memory and processor time are
those of the kernel, by the operating system's account.
"""

import os
import re
import resource
import sys
from datetime import datetime

import nbformat
from nbclient import NotebookClient
from train import machine

from minigpt.artifacts import DATA, write_json

SOLVED = DATA.parent / "labs" / "solved" / "lab5_transformer.ipynb"
HEADING = re.compile(r"^#{2,3} (Set-up|Exercise \d|Challenge|Where you stand)", re.M)


def seconds_of(cell: nbformat.NotebookNode) -> float:
    """Give the time between a cell's start and its end, by the kernel's own clock."""
    marks = cell.metadata.execution
    start, stop = (marks[key] for key in ("iopub.execute_input", "shell.execute_reply"))
    return (datetime.fromisoformat(stop) - datetime.fromisoformat(start)).total_seconds()


def main() -> None:
    load = os.getloadavg()[0]
    os.environ.update({"CUDA_VISIBLE_DEVICES": "", "MINIGPT_BUDGET": "quick"})
    os.environ.pop("MINIGPT_STEPS", None)
    notebook = nbformat.read(SOLVED, as_version=4)
    client = NotebookClient(
        notebook, timeout=3600, record_timing=True, resources={"metadata": {"path": SOLVED.parent}}
    )
    client.execute()
    parts: dict[str, float] = {}
    part, training, precision = None, 0.0, ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if found := HEADING.search(cell.source):
                part = found[1]
        elif part:
            parts[part] = parts.get(part, 0) + seconds_of(cell)
            if "= train_lm(" in cell.source:
                training = seconds_of(cell)
                printed = "".join(output.get("text", "") for output in cell.outputs)
                precision = re.search(r"seconds \((\w+)\)$", printed, re.M)[1]
    kernel = resource.getrusage(resource.RUSAGE_CHILDREN)  # the largest child that has ended
    unit = 1024**2 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    write_json(
        DATA / "lab.json",
        {
            **machine(),
            "load_at_start": round(load, 2),
            "budget": "quick",
            "precision": precision,
            "peak_memory_mib": round(kernel.ru_maxrss / unit),
            "cpu_seconds": round(kernel.ru_utime + kernel.ru_stime, 1),
            "training": round(training, 1),
            "seconds": {name: round(value, 1) for name, value in parts.items()},
        },
    )
    for name, value in parts.items():
        print(f"{name:12}{value:8.1f} s")


if __name__ == "__main__":
    main()
