"""The plan of the class, and what its pages take from the briefing, the lab and the bank."""

import re
from pathlib import Path

import pytest
from class_plan import INDEX, LAB, clock_time, plan
from instructor import example, questions
from section_head import front_matter
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[1]

BRIEFING = sorted((ROOT / "book" / "briefing").glob("0*.md"))
NOTES = ROOT / "book" / "instructor"


def test_the_plan_fills_the_two_hours_without_a_gap():
    parts = plan()
    ends = [part.start + part.minutes for part in parts]
    assert [part.start for part in parts] == [0, *ends[:-1]]
    assert ends[-1] == 120
    assert clock_time(9 * 60 + 15 + ends[-1]) == "11:15"


def test_the_minutes_of_a_section_are_those_of_its_front_matter():
    planned = {part.key: [part.start, part.start + part.minutes] for part in plan()}
    for page in BRIEFING:
        front = front_matter(page)
        assert planned[f"section-{front['section']}"] == front["minutes"]


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("index", ":lab: 55", ":lab: 50", "leave 0 of the lab's 50 minutes"),
        ("index", ":debrief: 10", ":debrief: 20", "takes 130 minutes, and 120 are announced"),
        ("index", ":briefing: 55", ":briefing: 60", "take 55 minutes, and 60 are announced"),
        ("index", ":start:", ":begin:", "an agenda with start"),
        ("lab", "*12 minutes", "*22 minutes", "leave -5 of the lab's 55 minutes"),
    ],
)
def test_a_plan_that_does_not_add_up_stops_the_build(tmp_path, file, old, new, complaint):
    files = {"index": INDEX, "lab": LAB}
    text = files[file].read_text()
    assert old in text
    files[file] = tmp_path / "changed"
    files[file].write_text(text.replace(old, new))
    with pytest.raises(ExtensionError, match=complaint):
        plan(index=files["index"], lab=files["lab"])


def test_every_part_of_the_plan_has_its_notes_and_every_note_its_part():
    labels = {
        label
        for page in NOTES.glob("*.md")
        for label in re.findall(r"^\(teach-(\w.*)\)=$", page.read_text(), re.M)
    }
    wanted = {part.key.removeprefix("section-") for part in plan()}
    assert wanted <= labels
    planned = {
        key for page in NOTES.glob("*.md") for key in re.findall(r"\{plan\} (.*)", page.read_text())
    }
    assert planned == {part.key for part in plan()}


def test_all_questions_are_read_with_their_options():
    found = [question for page in BRIEFING for question in questions(page)]
    assert len(found) >= len(BRIEFING)
    assert sum(question["minutes"] == 2 for question in found) == 3
    for question in found:
        assert len(question["options"]) >= 4
        assert sum(option["right"] for option in question["options"]) == 1
        assert all(option["reason"] for option in question["options"])


def test_a_wrong_answer_comes_from_the_bank_with_what_its_checkpoint_says():
    source, message = example("causal_mask", "upside down")
    assert source.startswith("def ")
    assert "True where reading is forbidden" in message
    with pytest.raises(ExtensionError, match="has no 'inside out'; it has additive mask"):
        example("causal_mask", "inside out")
