"""What the lab's page shows of a training that really took place while the book was built."""

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "_build" / "jupyter_execute" / "labs" / "lab5_transformer.ipynb"


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What each cell of the page printed, by its text."""
    cells = nbformat.read(PAGE, as_version=4).cells
    return {
        cell.source: "".join(output.get("text", "") for output in cell.outputs)
        for cell in cells
        if cell.cell_type == "code"
    }


def test_the_page_trained_at_the_whole_quick_budget(printed):
    (said,) = (text for source, text in printed.items() if "train_lm(" in source)
    assert "1,500 steps in" in said, "build the book without MINIGPT_STEPS"


def test_the_model_that_it_trained_beats_the_trigram(printed):
    (said,) = (text for source, text in printed.items() if source.startswith("nats = "))
    assert float(re.search(r"mini-GPT is ([\d.]+) nats below the trigram", said)[1]) > 0.1


def test_the_course_s_functions_stand_in_for_every_stub(printed):
    verdicts = [text for source, text in printed.items() if "= checks." in source]
    assert len(verdicts) >= 6
    assert all(text.startswith("○") for text in verdicts)
