"""What an instructor is told about returned notebooks, however they come back."""

import builtins
import contextlib
import csv
import io
import json
import os
import sys
from pathlib import Path

import pytest
import review
import torch
from answers.bank import answers

from minigpt import checks, lab

ROOT = Path(__file__).resolve().parents[1]
NAMES = [*checks.CORE, *checks.CHALLENGE]
READS_AHEAD = "def causal_mask(T):\n    return torch.ones(T, T).tril(1).bool()\n"
RIGHT_MASK = "def causal_mask(T):\n    return torch.ones(T, T).tril().bool()\n"


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    for memory in ("_verdicts", "_attempts", "_confirmed"):
        monkeypatch.setattr(checks, memory, {})
    monkeypatch.delenv("MINIGPT_STRICT", raising=False)


def handed_out(solved: bool = False) -> dict:
    path = review.LAB.parent / "solved" / review.LAB.name if solved else review.LAB
    return json.loads(path.read_text())


def cell_with(notebook: dict, words: str) -> dict:
    return next(
        c for c in notebook["cells"] if c["cell_type"] == "code" and words in "".join(c["source"])
    )


def write_code(notebook: dict, name: str, code: str) -> dict:
    """Put a student's code into the cell of a function."""
    keyword = "class" if name in checks.CHALLENGE else "def"
    cell = cell_with(notebook, f"{keyword} {name}(")
    cell["source"] = code.splitlines(keepends=True)
    return cell


def run(notebook: dict, leave_out: tuple[str, ...] = ()) -> dict:
    """Run the cells that define, predict, check and tally, in order, as a kernel would."""
    for memory in (checks._verdicts, checks._attempts, checks._confirmed):
        memory.clear()
    space = {"torch": torch, "math": __import__("math"), "checks": checks, "corpus": None}
    space |= {"predict": lab.Predictions(), "FeedForward": torch.nn.Identity}
    exec("from minigpt.model import FeedForward", space)
    count = 0
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        names = [f"checks.{name}(" for name in [*NAMES, "tally"]]
        names += [f"{word} {name}(" for name in NAMES for word in ("def", "class")]
        wanted = any(name in text for name in [*names, "\npredict(", *leave_out])
        wanted = (wanted or text.startswith("predict(")) and not any(w in text for w in leave_out)
        if cell["cell_type"] == "code" and wanted:
            count += 1
            run_cell(cell, text, space, count)
    return notebook


def run_cell(cell: dict, text: str, space: dict, count: int) -> None:
    screen, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(screen):
        try:
            exec(compile(text, "cell", "exec"), space)
        except Exception as error:
            outputs = [{"output_type": "error", "ename": type(error).__name__, "traceback": []}]
    lines = screen.getvalue().splitlines(keepends=True)
    stream = {"output_type": "stream", "name": "stdout", "text": lines}
    cell["outputs"], cell["execution_count"] = [stream] * bool(lines) + outputs, count


def hand_in(folder: Path, name: str, notebook: dict | str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(notebook, dict):
        notebook = json.dumps(notebook, indent=1)
    path.write_bytes(notebook if isinstance(notebook, bytes) else notebook.encode())
    return path


def finding(path: Path, name: str) -> review.Finding:
    return review.review(path, review.Lab()).findings[name]


def report(folder: Path, capsys, *options: str) -> str:
    capsys.readouterr()
    assert review.main([str(folder), *options]) == 0
    return capsys.readouterr().out


def row(said: str, student: str) -> list[str]:
    (line,) = (x for x in said.splitlines() if x.startswith(student + " "))
    return line.removeprefix(student).split()


# --- What the checkpoints say ---------------------------------------------------------------------


def test_every_line_of_the_checkpoints_is_read_back(capsys):
    for name in NAMES:
        for answer in [*answers(name)[:12], NotImplemented, checks.reference(name)]:
            checks._verdicts.clear()
            getattr(checks, name)(answer)
            line = capsys.readouterr().out.splitlines()[0]
            found, verdict = checks.read_headline(line)
            expected = checks.verdicts()[name]
            assert (found, verdict.status) == (name, expected.status)
            assert verdict.misconception == expected.misconception


@pytest.mark.parametrize(
    "line",
    [
        "✓ causal_mask · failed",
        "✗ causal_mask · ",
        "✓ softmax · passed",
        "- causal_mask · passed",
        "✓ my causal_mask · passed",
        "",
    ],
)
def test_what_no_checkpoint_prints_is_no_verdict(line):
    assert checks.read_headline(line) is None


@pytest.mark.slow
def test_the_solved_notebook_has_passed_everything(tmp_path, capsys):
    notebook = run(handed_out(solved=True))
    cell_with(notebook, "predict(")["source"] = [
        'predict("Exercise 0: parameters of the model", 8e5)'
    ]
    hand_in(tmp_path, "anna.ipynb", notebook)
    said = report(tmp_path, capsys)
    assert row(said, "anna") == [*"✓✓✓✓✓✓", "1", "-", "4", "of", "4"]
    assert "What went wrong" not in said
    assert "Worth a look" not in said
    assert "All core exercises passed: 1" in said


def test_a_wrong_answer_is_reported_with_its_idea_and_what_was_said_about_it(tmp_path, capsys):
    notebook = handed_out()
    write_code(notebook, "causal_mask", READS_AHEAD)
    for name in ("anna", "ben"):
        hand_in(tmp_path, f"{name}.ipynb", run(notebook))
    write_code(notebook, "causal_mask", "def causal_mask(T):\n    return torch.ones(T, T).bool()\n")
    hand_in(tmp_path, "cem.ipynb", run(notebook))
    said = report(tmp_path, capsys)
    assert row(said, "anna")[:6] == list("○✗○○○○")
    assert row(said, "passed") == ["0"] * len(NAMES)
    first, second = said.index("reads one ahead: anna, ben"), said.index("everything allowed: cem")
    assert first < second
    assert "   2 × Exercise 2, causal_mask · reads one ahead: anna, ben" in said
    assert "right after them, which is just the one" in said
    assert all(len(line) <= 100 for line in said.splitlines())


@pytest.mark.parametrize("head", ["def causal_mask(T):", "def causal_mask(\n    T,\n):"])
def test_a_stub_with_comments_and_another_docstring_is_not_attempted(head, tmp_path):
    notebook = handed_out()
    stub = f'{head}\n    """Mine."""\n# how?\n\n    raise NotImplementedError\n'
    write_code(notebook, "causal_mask", f"%%time\n!date\n{stub}")
    path = hand_in(tmp_path, "a.ipynb", notebook)
    assert finding(path, "causal_mask").status == "not attempted"


@pytest.mark.parametrize(
    "code",
    [
        RIGHT_MASK,
        "%time\n" + RIGHT_MASK,
        "def causal_mask(T):\n    return torch.ones(T, T",  # no Python yet
        'def causal_mask(T):\n    "\\d"\n    return 1\n',  # Python warns of this text
        "causal_mask = lambda T: torch.ones(T, T).tril().bool()",
        "if True:\n    " + RIGHT_MASK.replace("\n", "\n    "),
    ],
)
def test_what_was_written_and_never_checked_is_told_from_a_stub(code, tmp_path):
    notebook = run(handed_out(), leave_out=("causal_mask",))
    write_code(notebook, "causal_mask", code)
    found = finding(hand_in(tmp_path, "a.ipynb", notebook), "causal_mask")
    assert (found.status, found.note) == ("not checked", "the checkpoint was not run")


def test_a_deleted_checkpoint_is_missed_and_a_deleted_exercise_too(tmp_path):
    notebook = run(handed_out(), leave_out=("causal_mask", "checks.tally"))
    write_code(notebook, "causal_mask", RIGHT_MASK)
    notebook["cells"].remove(cell_with(notebook, "checks.causal_mask"))
    notebook["cells"].remove(cell_with(notebook, "def mean_attention_distance"))
    notebook["cells"].remove(cell_with(notebook, "checks.mean_attention_distance"))
    path = hand_in(tmp_path, "a.ipynb", notebook)
    assert finding(path, "causal_mask").note == "the checkpoint was deleted"
    assert finding(path, "mean_attention_distance").status == "not in the notebook"


def test_cells_may_be_split_joined_and_shuffled_and_lose_their_ids(tmp_path):
    notebook = handed_out()
    write_code(notebook, "causal_mask", RIGHT_MASK)
    run(notebook)
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = {"id": f"colab{number}"}
        del cell["id"]
    checked, defined = (
        cell_with(notebook, words) for words in ("checks.causal_mask", "def causal_mask")
    )
    checked["source"] = [*defined["source"], "\n", "%matplotlib inline\n", *checked["source"]]
    notebook["cells"].remove(defined)
    notebook["cells"].reverse()
    assert finding(hand_in(tmp_path, "a.ipynb", notebook), "causal_mask").status == "passed"


def test_of_two_checkpoints_the_one_that_was_run_last_counts(tmp_path):
    notebook = handed_out()
    write_code(notebook, "causal_mask", READS_AHEAD)
    run(notebook)
    old = json.loads(json.dumps(cell_with(notebook, "checks.causal_mask")))
    write_code(notebook, "causal_mask", RIGHT_MASK)
    run(notebook)
    notebook["cells"].append(old | {"execution_count": 1})
    path = hand_in(tmp_path, "a.ipynb", notebook)
    assert finding(path, "causal_mask").status == "passed"
    notebook["cells"][-1]["execution_count"] = 1000
    assert finding(hand_in(tmp_path, "a.ipynb", notebook), "causal_mask").status == "failed"


def test_code_that_ran_after_its_checkpoint_is_worth_a_look(tmp_path, capsys):
    notebook = handed_out()
    cell = write_code(notebook, "causal_mask", RIGHT_MASK)
    run(notebook)
    cell["execution_count"] = 1000
    hand_in(tmp_path, "anna.ipynb", notebook)
    said = report(tmp_path, capsys)
    assert "causal_mask · passed, but its cell was run again after the checkpoint: anna" in said


def test_a_stub_beneath_a_passed_checkpoint_is_worth_a_look(tmp_path):
    notebook, stub = handed_out(), cell_with(handed_out(), "def causal_mask")["source"]
    write_code(notebook, "causal_mask", RIGHT_MASK)
    run(notebook)
    cell_with(notebook, "def causal_mask")["source"] = stub
    found = finding(hand_in(tmp_path, "a.ipynb", notebook), "causal_mask")
    assert (found.status, found.note) == ("passed", "but its cell holds the stub now")
    notebook["cells"].remove(cell_with(notebook, "def causal_mask"))
    found = finding(hand_in(tmp_path, "a.ipynb", notebook), "causal_mask")
    assert (found.status, found.note) == ("passed", "but its code is gone")


def test_cleared_outputs_are_told_from_a_checkpoint_that_was_not_run(tmp_path):
    notebook = handed_out()
    write_code(notebook, "causal_mask", RIGHT_MASK)
    run(notebook)
    tally, checked = (cell_with(notebook, f"checks.{n}") for n in ("tally", "causal_mask"))
    checked["outputs"] = []
    path = hand_in(tmp_path, "a.ipynb", notebook)
    assert finding(path, "causal_mask")[::3] == ("passed", "said by the tally alone")
    tally["outputs"] = []
    path = hand_in(tmp_path, "a.ipynb", notebook)
    assert finding(path, "causal_mask").status == "outputs cleared"
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    path = hand_in(tmp_path, "a.ipynb", notebook)
    assert finding(path, "causal_mask").status == "outputs cleared"
    assert finding(path, "embed_with_positions").status == "not attempted"


def test_a_cell_that_stopped_is_named_by_its_error(tmp_path):
    notebook = handed_out()
    write_code(notebook, "causal_mask", "def causal_mask(T):\n    return (T\n")
    found = finding(hand_in(tmp_path, "a.ipynb", run(notebook)), "causal_mask")
    assert found.status == "not checked"
    assert "stopped with SyntaxError" in found.note


def test_running_only_the_checkpoint_again_keeps_the_idea_and_says_nothing_of_borrowing(tmp_path):
    notebook = handed_out()
    write_code(notebook, "causal_mask", READS_AHEAD)
    checked = cell_with(notebook, "checks.causal_mask")
    checked["source"] = [*checked["source"], "\n", *checked["source"]]
    found = finding(hand_in(tmp_path, "a.ipynb", run(notebook)), "causal_mask")
    assert (found.misconception, found.message) == ("reads one ahead", "")


def test_predictions_are_counted_from_the_code_even_beside_a_slip(tmp_path, capsys):
    notebook = handed_out()
    cell = cell_with(notebook, "predict(")
    cell["source"] = [
        'predict("Exercise 0: class that calls attention", Block  # in quotes\n',
        'predict("Exercise 0: parameters of the model", 800 * 1000)\n',
    ]
    cell_with(notebook, "spread after the division")["source"] = [
        'predict("Exercise 1: spread of the products, d_k = 16, 64, 256", [4, 8, None])\n',
        'predict("Exercise 1: spread after the division", [None, None, None])\n',
        'predict("Exercise 4: who is best", "\\d")',  # Python warns of this text
    ]
    seen = review.review(hand_in(tmp_path, "a.ipynb", notebook), review.Lab())
    assert seen.guesses == {
        "Exercise 0: parameters of the model": "800 * 1000",
        "Exercise 1: spread of the products, d_k = 16, 64, 256": "[4, 8, None]",
        "Exercise 4: who is best": r"'\\d'",
    }


def test_a_notebook_with_nothing_but_predictions_is_still_of_this_lab(tmp_path):
    notebook = handed_out()
    notebook["cells"] = [cell_with(notebook, "predict(")]
    found = finding(hand_in(tmp_path, "a.ipynb", notebook), "causal_mask")
    assert found.status == "not in the notebook"


def test_a_notebook_of_the_variants_is_set_aside(tmp_path, capsys):
    notebook = json.loads((review.LAB.parent / "lab5_variants.ipynb").read_text())
    cell = cell_with(notebook, "= checks.rotate(")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        checks.rotate(lambda x, start=0: x)
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": said.getvalue()}]
    hand_in(tmp_path, "anna.ipynb", notebook)
    hand_in(tmp_path, "ben.ipynb", handed_out())
    said = report(tmp_path, capsys)
    assert "no cell of this lab is in it: anna" in " ".join(said.split())
    assert "1 read, 1 not" in said


def test_names_of_any_length_and_script_leave_the_table_straight_and_sorted(tmp_path, capsys):
    for name in ("Zoe", "Öz", "anna", "王" * 10, "王" * 40 + "a", "x" * 200):
        hand_in(tmp_path, f"{name}.ipynb", handed_out())
    said = report(tmp_path, capsys)
    rows = [line for line in said.splitlines() if line.count("○") == len(NAMES)]
    assert [line[:2] for line in rows] == ["an", "Öz", "xx", "Zo", "王王", "王王"]
    assert {line.index("○") + line.count("王") for line in rows} == {rows[0].index("○")}
    assert max(map(len, rows)) < 100


def test_a_screen_that_lacks_the_marks_still_shows_the_report(tmp_path, monkeypatch):
    hand_in(tmp_path, "anna.ipynb", handed_out())
    screen = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(screen, encoding="ascii"))
    assert review.main([str(tmp_path)]) == 0
    sys.stdout.flush()
    assert b"1 read, 0 not" in screen.getvalue()


def test_what_was_measured_is_read_from_what_confirm_prints(tmp_path, capsys):
    notebook = handed_out()
    capsys.readouterr()
    checks.confirm("the trained model does not read ahead", False, "earlier logits moved by 0.3")
    checks.confirm("the untrained model does not read ahead", True, "earlier logits moved by 0.0")
    text = capsys.readouterr().out
    cell = cell_with(notebook, "the trained model does not read ahead")
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
    hand_in(tmp_path, "anna.ipynb", notebook)
    said = report(tmp_path, capsys)
    assert row(said, "anna")[6:] == ["0", "1", "of", "2", "-"]
    assert "Measured, and not so · the trained model does not read ahead: anna" in said


# --- What comes back instead of a notebook --------------------------------------------------------


def test_a_notebook_of_format_3_is_read(tmp_path):
    notebook = handed_out()
    defined = write_code(notebook, "causal_mask", READS_AHEAD)
    cells = run(notebook)["cells"]
    defined["execution_count"] = 1000
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["input"] = cell.pop("source")
            cell["prompt_number"] = cell.pop("execution_count")
            for output in cell["outputs"]:
                output["stream"] = "stdout"
    path = hand_in(tmp_path, "a.ipynb", {"nbformat": 3, "worksheets": [{"cells": cells}]})
    found = finding(path, "causal_mask")
    assert found.misconception == "reads one ahead"
    assert found.note == "but its cell was run again after the checkpoint"


def encoded(encoding: str) -> bytes:
    return json.dumps(handed_out(), ensure_ascii=False).encode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_notebook_in_another_encoding_is_read(tmp_path, encoding):
    path = hand_in(tmp_path, "a.ipynb", encoded(encoding))
    assert finding(path, "causal_mask").status == "not attempted"


DAMAGED = {
    "empty": b"",
    "blank": b" \n\n",
    "cut": encoded("utf-8")[:20_000],
    "latin": b'{"cells": ["\xfc"]}',
    "binary": bytes(range(256)),
    "page": b"\n<!doctype html><title>Sign in</title>",
    "number": b"5",
    "list": b"[1, 2]",
    "nested": b"[" * 200_000,
    "other json": b'{"cells": 3}',
    "odd sheets": b'{"worksheets": [3, {"cells": null}]}',
    "foreign": b'{"cells": [{"cell_type": "code", "source": "F.scaled_dot_product_attention(q)"}]}',
    "no cells": b'{"cells": []}',
    "odd cells": json.dumps(
        {
            "cells": [
                None,
                "text",
                {"cell_type": "code"},
                {"cell_type": "code", "source": {"a": 1}, "outputs": 5, "execution_count": "x"},
                {"cell_type": "code", "source": [1, None], "outputs": [1, {"ename": 5}]},
                {"cell_type": ["code"], "source": 3},
            ]
        }
    ).encode(),
}


def test_every_damaged_file_is_a_line_with_its_reason_and_stops_nothing(tmp_path, capsys):
    for name, content in DAMAGED.items():
        hand_in(tmp_path, f"{name}.ipynb", content)
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "loop.ipynb").symlink_to("loop.ipynb")
    (tmp_path / "gone.ipynb").symlink_to("nowhere")
    (tmp_path / "locked.ipynb").symlink_to("/proc/self/mem")  # opens, and cannot be read
    (tmp_path / "around").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.ipynb")
    with (tmp_path / "huge.ipynb").open("wb") as file:
        file.truncate(300_000_000)
    hand_in(tmp_path, "all.zip", b"PK")
    hand_in(tmp_path, "zoe.ipynb", run(handed_out()))
    said = report(tmp_path, capsys, "--csv", str(tmp_path / "out.csv"))
    assert row(said, "zoe")[: len(NAMES)] == ["○"] * len(NAMES)
    lost = len(DAMAGED) + 7
    assert f"1 read, {lost} not" in said
    unread = said[said.index("Could not be read") :]
    for reason, who in {
        "empty": ["blank.ipynb", "empty.ipynb"],
        "no JSON: damaged or cut short": [
            f"{n}.ipynb" for n in ("binary", "cut", "latin", "nested")
        ],
        "a web page, no notebook": ["page.ipynb"],
        "JSON, but no notebook": [
            f"{n}.ipynb" for n in ("list", "number", "odd sheets", "other json")
        ],
        "larger than 50 MB: ask for it with its outputs cleared": ["huge.ipynb"],
        "a folder, no notebook": ["folder.ipynb"],
        "an archive: unpack it, then run this again": ["all.zip"],
        "cannot be opened: Input/output error": ["locked.ipynb"],
    }.items():
        assert f"{len(who)} × {reason}: {', '.join(who)}" in unread
    rows = list(csv.reader((tmp_path / "out.csv").read_text("utf-8-sig").splitlines()))
    assert len(rows) == 1 + 1 + lost
    assert {len(r) for r in rows} == {len(rows[0])}


def test_code_that_is_nested_too_deeply_is_left_alone(tmp_path, capsys):
    notebook = handed_out()
    for code in ("[" * 10_000, "-" * 100_000 + "1", "1" + "+1" * 900, "1" + "+1" * 20_000):
        write_code(notebook, "causal_mask", f"def causal_mask(T):\n    return {code}\n")
        hand_in(tmp_path, f"n{len(code)}.ipynb", notebook)
    cell_with(notebook, "predict(")["source"] = [
        "predict" + "(1)" * 900,
        "\nx" + ".b" * 900 + "(2)",
    ]
    hand_in(tmp_path, "calls.ipynb", notebook)
    said = report(tmp_path, capsys)
    assert "its code is nested too deeply: calls.ipynb" in said
    assert row(said, "n1801")[1] == "?"


def test_hidden_copies_are_passed_over_and_a_tree_is_searched(tmp_path, capsys):
    for name in (
        "Müller Anna_1_file/lab5_transformer.ipynb",
        "Öz Cem_2_file/Copy of lab5_transformer.ipynb",
        "Ray Bo_3_file/lab5_transformer (1).IPYNB",
        "Ray Bo_3_file/.ipynb_checkpoints/lab5_transformer-checkpoint.ipynb",
        "__MACOSX/Ray Bo_3_file/lab5_transformer.ipynb",
        "Ray Bo_3_file/._lab5_transformer.ipynb",
        "Zoe_4_file/lab5_transformer.ipynb.txt",
    ):
        hand_in(tmp_path, name, handed_out())
    said = report(tmp_path, capsys)
    assert "4 read, 0 not" in said
    for student in ("Müller Anna_1", "Öz Cem_2", "Ray Bo_3", "Zoe_4"):
        assert row(said, student)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["anna.ipynb", "ben.ipynb"], ["anna", "ben"]),
        (["1/anna.ipynb", "2/ben.ipynb"], ["anna", "ben"]),
        (["1/anna.ipynb", "2/anna.ipynb", "2/ben.ipynb"], ["1/anna.ipynb", "2/anna.ipynb", "ben"]),
        (["anna/x.ipynb", "ben/x.ipynb"], ["anna", "ben"]),
        (["all/anna/x.ipynb", "all/ben/x.ipynb"], ["all/anna", "all/ben"]),
        (["Ann_1_in_/x.ipynb", "Bo_21_in_/x.ipynb"], ["Ann_1", "Bo_21"]),
        (["ben/x.ipynb", "jen/x.ipynb", "yen/x.ipynb"], ["ben", "jen", "yen"]),
        (["x.ipynb"], ["x"]),
        (["lab5_transformer.ipynb", "lab5_transformer (1).ipynb"], None),
    ],
)
def test_a_student_is_called_by_the_file_or_where_that_says_nothing_by_the_folder(files, expected):
    folder = Path("/class")
    if expected is None:
        expected = [Path(f).stem for f in files]
    assert review.students([folder / f for f in files], folder) == expected


def test_letters_that_steer_a_screen_or_a_spreadsheet_are_disarmed(tmp_path, capsys):
    notebook = handed_out()
    write_code(notebook, "causal_mask", READS_AHEAD)
    cell_with(notebook, "predict(")["source"] = [
        'predict("Exercise 0: parameters of the model", -1 + 8)',
    ]
    run(notebook)
    printed = cell_with(notebook, "checks.causal_mask")["outputs"][0]["text"]
    printed[0] = "✗ causal_mask · \x1b[31m\x1b]0;title\x07red\u202e\x9b2J\n"
    printed[1] = "  \x1b[2Jcleared\r\x00 a\n"
    hand_in(tmp_path, "=SUM(A1)\x1b[31m.ipynb", notebook)
    hand_in(
        tmp_path,
        "@x\udcff\t.ipynb".encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"),
        notebook,
    )
    said = report(tmp_path, capsys, "--csv", str(tmp_path / "out.csv"))
    table = (tmp_path / "out.csv").read_text("utf-8-sig")
    for text in (said, table):
        assert not any((ord(c) < 32 and c not in "\r\n") or 127 <= ord(c) < 160 for c in text)
        assert "\u202e" not in text
    head, first, second = csv.reader(table.splitlines())
    assert (first[0], second[0]) == ("'=SUM(A1)", "'@x")
    assert first[head.index("Exercise 0: parameters of the model")] == "'-1 + 8"
    assert "Exercise 2, causal_mask · ]0;title red 2J: =SUM(A1), @x" in said


def test_two_hundred_notebooks_are_read_and_nothing_of_them_is_run(tmp_path, capsys, monkeypatch):
    notebook = handed_out()
    write_code(notebook, "causal_mask", READS_AHEAD + "open('ran', 'w')\n")
    run(notebook, leave_out=("causal_mask",))
    picture = {"output_type": "display_data", "data": {"image/png": "A" * 20_000}}
    cell_with(notebook, "learning_curve")["outputs"] = [picture]
    for number in range(200):
        hand_in(tmp_path, f"student {number:03}.ipynb", notebook)
    monkeypatch.setattr(builtins, "exec", None)
    monkeypatch.chdir(tmp_path)
    said = report(tmp_path, capsys)
    assert "200 read, 0 not" in said
    assert not Path("ran").exists()
    assert all(len(line) <= 100 for line in said.splitlines())


# --- The command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: None, "there is no folder"),
        (lambda folder: folder.write_text("x"), "there is no folder"),
        (lambda folder: folder.mkdir(), "no notebook (.ipynb) in"),
        (lambda folder: hand_in(folder, "a.zip", "PK"), "a.zip: an archive: unpack it"),
    ],
    ids=["none", "a file", "empty", "an archive"],
)
def test_a_folder_without_notebooks_is_said_in_a_line(make, words, tmp_path, capsys):
    make(tmp_path / "class")
    with pytest.raises(SystemExit) as ended:
        review.main([str(tmp_path / "class")])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_file_that_is_there_is_not_written_over(tmp_path, capsys):
    table = tmp_path / "out.csv"
    table.write_text("with my notes")
    with pytest.raises(SystemExit):
        review.main([str(tmp_path), "--csv", str(table)])
    assert "is there already: choose another name" in capsys.readouterr().err
    assert table.read_text() == "with my notes"


def test_a_csv_that_cannot_be_written_is_said_in_a_line(tmp_path, capsys):
    hand_in(tmp_path, "a.ipynb", handed_out())
    with pytest.raises(SystemExit) as ended:
        review.main([str(tmp_path), "--csv", str(tmp_path)])
    assert ended.value.code == 2
    assert "could not be written" in capsys.readouterr().err


def test_the_csv_names_every_function_prediction_and_measurement(tmp_path, capsys):
    notebook = handed_out()
    write_code(notebook, "causal_mask", READS_AHEAD)
    hand_in(tmp_path, "Jürgen.ipynb", run(notebook))
    report(tmp_path, capsys, "--csv", str(tmp_path / "new" / "out.csv"))
    content = (tmp_path / "new" / "out.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    head, line = csv.reader(content.decode("utf-8-sig").splitlines())
    assert (
        dict(zip(head, line, strict=True))["Exercise 2: causal_mask"] == "failed: reads one ahead"
    )
    assert line[0] == "Jürgen"
    assert {what.split(":")[0] for what in head if what.count(":") and what[:4] == "Exer"} == {
        f"Exercise {n}" for n in (0, 1, 2, 3, 4, 5)
    }
    assert "the trained model does not read ahead" in head
