"""What the lab needs around the lesson: budget, predictions, table, the student's work."""

import functools
import sys
import types
from dataclasses import replace

import pytest
import torch
from support import random_model, same_bits, small_corpus

from minigpt import checks, figures, lab
from minigpt.artifacts import DATA, SHIPPED, DamagedFileError, read_json, save_model
from minigpt.attention import scaled_dot_product_attention
from minigpt.evaluation import Score
from minigpt.lab.results import ROWS, Table
from minigpt.lab.runtime import Runtime, has_bfloat16, seconds_per_step
from minigpt.lab.saved_work import WORK
from minigpt.lstm import LSTM
from minigpt.model import Config, MiniGPT
from minigpt.training import History, budget_for, train_lm

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def a_new_notebook(monkeypatch):
    for memory in ("_verdicts", "_attempts", "_confirmed"):
        monkeypatch.setattr(checks, memory, {})
    for name in ("MINIGPT_STRICT", "MINIGPT_BUDGET", "MINIGPT_STEPS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def colab(monkeypatch):
    """Stand in for Colab's own module, which downloads to the student's machine and uploads."""
    asked = []
    files = types.SimpleNamespace(
        download=lambda path: asked.append(("download", path)),
        upload=lambda: asked.append(("upload", None)),
    )
    package = types.ModuleType("google.colab")
    package.files = files
    package.__spec__ = types.SimpleNamespace(parent="google")
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", package)
    monkeypatch.setitem(sys.modules, "google.colab.files", files)
    return asked


def batch_over_32(model, corpus, budget, device, precision):
    """Stand in for the timing of steps: a second for every 32 texts of a batch."""
    return budget.batch_size / 32


def test_without_a_gpu_the_budget_is_quick_and_the_environment_may_choose(capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("MINIGPT_STEPS", "20")
    runtime = lab.start()
    assert (runtime.size, runtime.budget) == (
        "quick",
        replace(budget_for("gpt", "quick"), steps=20),
    )
    said = capsys.readouterr().out
    assert "Jupyter without a GPU" in said
    assert "QUICK, a short one, 20 steps with a batch of 16" in said
    assert "nothing to do" in said
    assert "less than two minutes of training" in said


def test_with_a_gpu_the_budget_is_the_full_one(capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    runtime = lab.start(batch_over_32, lambda device: False)
    assert runtime == Runtime(torch.device("cuda"), "full", budget_for("gpt", "full"))
    said = capsys.readouterr().out
    assert "Jupyter with a GPU, Tesla T4" in said
    assert "the full one, 3,000 steps with a batch of 64" in said
    assert "about 100 minutes of training" in said
    assert "No GPU" not in said


@pytest.mark.parametrize(
    ("seconds", "chosen", "said"),
    [
        ((0.4, 0.1), torch.bfloat16, "bfloat16, 4.0 times as fast here as in float32; the model"),
        ((0.1, 0.2), torch.float32, "float32, 2.0 times as fast here as in bfloat16; the model"),
    ],
)
def test_of_the_two_precisions_the_faster_is_taken(capsys, monkeypatch, seconds, chosen, said):
    timed = dict(zip((torch.float32, torch.bfloat16), seconds, strict=True))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    runtime = lab.start(lambda *given: timed[given[-1]], lambda device: True)
    assert runtime.precision == chosen
    told = capsys.readouterr().out
    assert f"matrix products in {said}" in told
    assert f"{min(seconds) * 1_500 / 60:.0f} minutes of training" in told  # of the faster


def test_without_bfloat16_there_is_no_choice_and_no_word_of_one(capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    timed = []

    def seconds_per_step(*given):
        timed.append(given[-1])
        return 1.0

    assert lab.start(seconds_per_step, lambda device: False).precision == torch.float32
    assert timed == [torch.float32]
    assert "Numbers" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("told", "has"),
    [
        ({"avx512_bf16": True, "amx_int8": True}, True),
        ({"avx2": True, "amx_bf16": True}, True),
        ({"avx512_bf16": False, "amx_bf16": False, "avx2": True}, False),
    ],
)
def test_a_processor_that_has_bfloat16_is_known_by_what_torch_says_of_it(monkeypatch, told, has):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: told)
    assert has_bfloat16(CPU) == has


def test_an_older_torch_that_cannot_say_so_is_taken_to_have_none(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert not has_bfloat16(CPU)


@pytest.mark.parametrize("has", [True, False])
def test_a_gpu_that_only_emulates_bfloat16_has_none(monkeypatch, has):
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation or has
    )
    assert has_bfloat16(torch.device("cuda")) == has


def test_steps_are_timed_in_the_precision_that_was_asked_for():
    seen = []

    class Model(MiniGPT):
        def forward(self, idx):
            logits = super().forward(idx)
            seen.append(logits.dtype)
            return logits

    budget = replace(budget_for("gpt", "quick"), batch_size=2, T=8)
    model = Model(Config(vocab_size=len(small_corpus().vocabulary), d=8, n_h=2, n_l=1))
    for precision in (torch.float32, torch.bfloat16):
        seconds_per_step(model, small_corpus(), budget, CPU, precision)
        assert set(seen) == {precision}
        assert {p.dtype for p in model.parameters()} == {torch.float32}
        seen.clear()


def test_in_colab_without_a_gpu_the_way_to_one_is_told(capsys, monkeypatch, colab):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    lab.start(batch_over_32)
    said = capsys.readouterr().out
    assert "Runtime: Colab without a GPU" in said
    assert "Runtime → Change runtime type → T4 GPU" in said


@pytest.mark.parametrize(
    ("name", "value"), [("MINIGPT_BUDGET", "huge"), ("MINIGPT_STEPS", "0"), ("MINIGPT_STEPS", "x")]
)
def test_a_budget_that_makes_no_sense_is_refused(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=name):
        lab.start()


def test_timing_a_few_steps_leaves_chance_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    model = random_model(vocab_size=len(small_corpus().vocabulary), dropout=0.5)
    budget = replace(budget_for("gpt", "quick"), batch_size=2, T=8)
    assert seconds_per_step(model, small_corpus(), budget, CPU) > 0
    assert torch.equal(torch.rand(2), expected)
    assert model.training  # what was timed is training, dropout included


def test_the_time_of_a_step_is_the_mean_of_all_but_the_first_two():
    took = [100.0, 100.0, 1.0, 2.0, 2.0, 3.0]
    done = []

    class Timed(LSTM):
        def forward(self, idx):
            done.append(idx)
            return super().forward(idx)

    def clock():
        return sum(took[: len(done)])

    model = Timed(vocab_size=len(small_corpus().vocabulary), d_emb=4, d_h=4)
    budget = replace(budget_for("lstm", "quick"), batch_size=2, T=8)
    assert seconds_per_step(model, small_corpus(), budget, CPU, clock=clock) == 2


def test_a_prediction_stands_beside_its_outcome(capsys):
    predict = lab.Predictions()
    predict("parameters", 800_000)
    predict("spread", [4, 8, 16])
    predict("best", None)
    capsys.readouterr()
    predict.compare("parameters", 824_897)
    assert capsys.readouterr().out == (
        "parameters\n  you predicted: 800,000\n  it came out:   824,897   (off by 3.0%)\n"
    )
    predict.compare("spread", [4.0372, 7.95, 15.96])
    assert "you predicted: 4, 8, 16\n  it came out:   4.037, 7.95, 15.96" in capsys.readouterr().out
    predict.compare("best", "LSTM")
    assert "you predicted: nothing\n  it came out:   LSTM" in capsys.readouterr().out
    predict.show()
    assert capsys.readouterr().out.count("it came out") == 3


@pytest.mark.parametrize(
    ("guess", "outcome", "said"),
    [
        (4, 4, "4\n  it came out:   4   (exactly)"),
        ("LSTM", "LSTM", "LSTM\n  it came out:   LSTM   (exactly)"),
        (1, 0, "1\n  it came out:   0"),
        (1, -2, "1\n  it came out:   -2   (off by 150.0%)"),
        (True, 8.0, "True\n  it came out:   8"),
        ([None, None], 1234.56, "nothing\n  it came out:   1235"),
    ],
)
def test_a_prediction_and_its_outcome_are_written_for_people(guess, outcome, said, capsys):
    predict = lab.Predictions()
    predict("it", guess)
    assert capsys.readouterr().out == f"it\n  you predict: {said.splitlines()[0]}\n"
    predict.compare("it", outcome)
    assert capsys.readouterr().out == f"it\n  you predicted: {said}\n"


ODD = ["about a million", [None, None], True, float("nan"), {"a": 1}, 10**400, torch.ones(2)]


@pytest.mark.parametrize("guess", ODD, ids=range(len(ODD)))
def test_whatever_is_predicted_nothing_breaks(guess, capsys):
    predict = lab.Predictions()
    predict("parameters", guess)
    predict.compare("parameters", 824_897)
    assert "it came out:   824,897" in capsys.readouterr().out


def untrained_lstms(size):
    return {name: LSTM() for name in ROWS[size] if name.startswith("lstm")}


@pytest.mark.parametrize("size", ["full", "quick"])
def test_the_table_sets_the_student_s_model_beside_the_rows_of_its_budget(size):
    rows = read_json(DATA / "baselines.json")["rows"]
    lstms = untrained_lstms(size)
    scores = {"gpt": Score(1.7, 10)} | {name: Score(rows[name]["nats"], 10) for name in lstms}
    done = budget_for("gpt", size).steps
    trained = lab.Trained(MiniGPT(), History(done, 61.4), size)
    table = lab.results(trained, scores, lstms, batch_over_32)
    names = [row[0] for row in table.rows]
    expected = ["trigram", "5-gram", "lstm-lab3", f"lstm-{size}"]
    assert names == [*(rows[key]["name"] for key in expected), "Mini-GPT, yours"]
    mine = dict(zip(table.head, table.rows[-1], strict=True))
    seeds = rows[f"gpt-{size}"]
    assert mine["Parameters"] == "824,897"
    assert mine["Steps × batch"] == f"{done:,} × {seeds['batch']}"
    assert (mine["Seconds"], mine["Nats"], mine["Perplexity"]) == ("61", "1.7000", "5.47")
    assert mine["Bits"] == "2.45"
    recorded = f"{seeds['lowest']:.4f} to {seeds['highest']:.4f}"
    assert mine["Seeds on record (nats)"] == recorded
    assert "do not compare" not in table.note


@pytest.mark.parametrize(
    ("trained_in", "has", "timed_in"),
    [
        ("bfloat16", True, "bfloat16"),
        ("float32", True, "float32"),
        ("bfloat16", False, "float32"),  # the model comes from elsewhere
    ],
)
def test_the_table_says_in_which_precision_models_were_trained_and_timed(trained_in, has, timed_in):
    timed = []

    def seconds_per_step(*given):
        timed.append(given[-1])
        return 1.0

    lstms = untrained_lstms("quick")
    scores = {name: Score(1.6, 10) for name in ["gpt", *lstms]}
    trained = lab.Trained(MiniGPT(), History(20, 3.0, precision=trained_in), "quick")
    table = lab.results(trained, scores, lstms, seconds_per_step, lambda device: has)
    assert f"trained with matrix products in {trained_in}." in table.note
    assert f"timed here, in {timed_in}. Every score is computed in float32." in table.note
    assert timed == [getattr(torch, timed_in)] * 2


def test_every_cell_of_the_rows_beside_the_student_s_is_the_one_on_record():
    rows = read_json(DATA / "baselines.json")["rows"]
    lstms = {name: LSTM(d_emb=4, d_h=4) for name in ("lstm-lab3", "lstm-quick")}
    copies = []

    def as_batch(model, *given):
        copies.append(model)
        return batch_over_32(model, *given)

    scores = {"gpt": Score(1.7, 10), "lstm-lab3": Score(1.25, 10), "lstm-quick": Score(1.5, 10)}
    trained = lab.Trained(MiniGPT(), History(1_500, 0.0), "quick", "the course's")
    table = lab.results(trained, scores, lstms, as_batch)
    for row, name in zip(table.rows, ("trigram", "5-gram"), strict=False):
        nats = rows[name]["nats"]
        perplexity, bits = f"{rows[name]['perplexity']:.2f}", f"{rows[name]['bits']:.2f}"
        expected = [rows[name]["name"], "–", "counts", "–", f"{nats:.4f}", perplexity, bits, "–"]
        assert row == expected
    seeds = f"{rows['lstm-quick']['lowest']:.4f} to {rows['lstm-quick']['highest']:.4f}"
    assert [row[1:] for row in table.rows[2:4]] == [
        ["350,593", "2,000 × 64", "≈ 4,000", "1.2500", "3.49", "1.80", "–"],
        ["350,593", "1,500 × 16", "≈ 750", "1.5000", "4.48", "2.16", seeds],
    ]
    assert table.rows[-1][0] == "Mini-GPT, the course's"
    assert table.rows[-1][3] == "–"  # its seconds are not known
    for copied, model in zip(copies, lstms.values(), strict=True):  # which learns from being timed
        assert copied is not model
        assert copied.sizes == model.sizes


def test_an_n_gram_s_score_is_the_one_on_record():
    rows = read_json(DATA / "baselines.json")["rows"]
    assert lab.ngram_nats() == rows["trigram"]["nats"]
    assert lab.ngram_nats("5-gram") == rows["5-gram"]["nats"]


def test_a_model_trained_longer_is_not_set_beside_the_seeds_without_a_word_either():
    trained = lab.Trained(MiniGPT(), History(2_000, 3.0), "quick")
    table = lab.results(trained, {"gpt": Score(1.6, 10)}, {})
    assert "2,000 steps, those on record for 1,500: the two do not compare" in table.note


def test_a_model_stopped_early_is_not_set_beside_the_seeds_without_a_word():
    lstms = untrained_lstms("quick")
    scores = {name: Score(1.6, 10) for name in ["gpt", *lstms]}
    trained = lab.Trained(MiniGPT(), History(20, 3.0), "quick")
    table = lab.results(trained, scores, lstms, batch_over_32)
    assert "20 steps, those on record for 1,500: the two do not compare" in table.note


def test_a_table_is_shown_to_people_and_to_screen_readers():
    table = Table(["Model", "Nats"], [["a < b", "1.5"], ["c", "12.5"]], "A note.")
    assert repr(table).splitlines() == ["Model  Nats", "a < b   1.5", "c      12.5", "A note."]
    page = table._repr_html_()
    assert page.count('scope="col"') == 2
    assert page.count('scope="row"') == 2
    assert "a &lt; b" in page
    assert "<p>A note.</p>" in page
    bare = Table(["Model", "Nats"], [["c", "< 1.5"]])
    assert "<td>&lt; 1.5</td>" in bare._repr_html_()
    assert "<p>" not in bare._repr_html_()
    assert repr(bare).splitlines()[-1] == "c      < 1.5"


@pytest.mark.slow
@pytest.mark.parametrize("size", ["full", "quick"])
def test_the_lstms_to_compare_with_are_loaded_trained(size):
    lstms = lab.load_lstms(size, CPU)
    assert list(lstms) == ["lstm-lab3", f"lstm-{size}"]
    assert not any(model.training for model in lstms.values())


def test_the_curves_on_record_are_those_of_the_chosen_runs():
    for size, steps in (("full", 3_000), ("quick", 1_500)):
        curves = lab.recorded_curves(size)
        assert len(curves) > 1
        assert all(curve[-1]["step"] == steps for curve in curves)


def test_the_committed_model_runs_under_the_student_s_functions(capsys):
    calls = []

    def mine(Q, K, V, mask=None):
        calls.append(Q.shape)
        return scaled_dot_product_attention(Q, K, V, mask)

    trained = lab.load_committed(CPU, attention=mine)
    assert trained.history.steps == 3_000
    assert trained.history.curve[-1]["step"] == 3_000
    assert (trained.size, trained.owner) == ("full", "the course's")
    assert trained.history.seconds == 0  # spent on another machine
    trained.model(torch.zeros(1, 5, dtype=torch.long))
    assert len(calls) == 4
    assert "3,000 steps" in capsys.readouterr().out


def my_mask(T):
    return torch.ones(T, T).tril().bool()


def worked(predict) -> lab.Trained:
    """Do what a student does up to the saving cell."""
    checks.causal_mask(my_mask)
    checks.embed_with_positions(lambda idx, tok_emb, pos_emb: tok_emb(idx))
    predict("best", "LSTM")
    predict("odd", torch.tensor([1.0, 2.0]))
    predict("odder", object)
    predict.compare("parameters", 824_897)
    torch.manual_seed(0)
    history = History(20, 3.5, [{"step": 20, "train": 3.0, "valid": 3.1}], "bfloat16")
    return lab.Trained(MiniGPT().eval(), history, "quick", "yours")


def test_saved_work_comes_back_whole_and_code_is_printed_but_never_run(
    tmp_path, monkeypatch, capsys
):
    predict, path = lab.Predictions(), tmp_path / "work.safetensors"
    trained = worked(predict)
    lab.save_work(trained, predict, path)
    assert "the code of causal_mask, embed_with_positions" in capsys.readouterr().out

    for memory in ("_verdicts", "_attempts"):
        monkeypatch.setattr(checks, memory, {})
    anew = lab.Predictions()
    again = lab.restore_work(CPU, anew, path, mask=my_mask)
    assert same_bits(again.model, trained.model)
    assert again.model.mask is my_mask
    assert (again.history, again.size, again.owner) == (trained.history, "quick", "yours")
    assert anew.guesses["best"] == "LSTM"
    assert anew.guesses["odd"] == [1.0, 2.0]
    assert anew.outcomes == {"parameters": 824_897}
    said = capsys.readouterr().out
    assert "Restored the model after 20 steps with matrix products in bfloat16" in said
    assert "def my_mask(T):\n    return torch.ones(T, T).tril().bool()" in said
    assert checks.verdicts()["causal_mask"].status == "not attempted"


def test_the_work_of_an_earlier_session_is_not_written_over(tmp_path, capsys):
    path, predict = tmp_path / "work.safetensors", lab.Predictions()
    path.write_bytes(b"earlier")
    lab.save_work(worked(predict), predict, path)
    assert f"is now in {tmp_path / 'work-2.safetensors'}" in capsys.readouterr().out
    lab.save_work(worked(predict), predict, path)  # its own it replaces
    assert "earlier session" not in capsys.readouterr().out
    lab.restore_work(CPU, lab.Predictions(), path)
    path.write_bytes(b"brought back from elsewhere")
    lab.save_work(worked(predict), predict, path)
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file != path}
    assert files == {
        "work-2.safetensors": b"earlier",
        "work-3.safetensors": b"brought back from elsewhere",
    }


def test_work_on_the_course_s_model_stays_the_course_s(tmp_path, capsys):
    path = tmp_path / "work.safetensors"
    trained = lab.Trained(MiniGPT(), History(3_000, 0.0, []), "full", "the course's")
    lab.save_work(trained, lab.Predictions(), path)
    assert "the code of no function" in capsys.readouterr().out
    again = lab.restore_work(CPU, lab.Predictions(), path)
    assert (again.size, again.owner) == ("full", "the course's")


def test_work_that_was_saved_before_there_was_a_choice_of_precision_was_trained_in_float32(
    tmp_path, capsys
):
    path = tmp_path / "work.safetensors"
    history = {"steps": 20, "seconds": 3.5, "curve": []}
    about = {"size": "quick", "owner": "yours", "predictions": {}, "outcomes": {}, "code": {}}
    save_model(path, MiniGPT(), history=history, **about)
    assert lab.restore_work(CPU, lab.Predictions(), path).history == History(20, 3.5, [], "float32")
    assert "with matrix products in float32" in capsys.readouterr().out


def test_what_was_predicted_since_stands_over_what_was_saved(tmp_path):
    path = tmp_path / "work.safetensors"
    saved = lab.Predictions({"best": "LSTM", "spread": 4}, {"spread": 4.04, "best": "LSTM"})
    lab.save_work(lab.Trained(MiniGPT(), History(20, 3.5, []), "quick"), saved, path)
    now = lab.Predictions({"best": "mini-GPT", "parameters": 1}, {"spread": 4.05})
    lab.restore_work(CPU, now, path)
    assert now.guesses == {"best": "mini-GPT", "spread": 4, "parameters": 1}
    assert now.outcomes == {"spread": 4.05, "best": "LSTM"}


def test_code_that_is_written_already_is_not_printed_again(tmp_path, capsys):
    predict, path = lab.Predictions(), tmp_path / "work.safetensors"
    lab.save_work(worked(predict), predict, path)
    capsys.readouterr()
    lab.restore_work(CPU, predict, path)
    assert "def my_mask" not in capsys.readouterr().out


def test_code_whose_text_is_not_known_is_named(tmp_path, capsys):
    checks.causal_mask(functools.partial(my_mask))
    trained = lab.Trained(MiniGPT(), History(20, 3.5, []), "quick")
    lab.save_work(trained, lab.Predictions(), tmp_path / "work.safetensors")
    assert "The code of causal_mask could not be found" in capsys.readouterr().out


def test_in_colab_work_is_downloaded_and_asked_for(tmp_path, monkeypatch, colab):
    monkeypatch.chdir(tmp_path)
    predict = lab.Predictions()
    lab.save_work(worked(predict), predict)
    lab.restore_work(CPU, predict)
    assert colab == [("download", "lab5-work.safetensors")]
    WORK.unlink()
    with pytest.raises(FileNotFoundError, match="lab5-work"):
        lab.restore_work(CPU, predict)
    assert colab[1:] == [("upload", None)]


def test_work_that_is_damaged_or_foreign_is_refused_and_changes_nothing(tmp_path):
    predict, path = lab.Predictions(), tmp_path / "work.safetensors"
    lab.save_work(worked(predict), predict, path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    anew = lab.Predictions()
    with pytest.raises(DamagedFileError, match="are not the ones that were written"):
        lab.restore_work(CPU, anew, path)
    with pytest.raises(DamagedFileError, match="not written by the lab's saving cell"):
        lab.restore_work(CPU, anew, SHIPPED["lstm-quick"])
    history = {"steps": 20, "seconds": 3.5, "curve": []}
    save_model(path, MiniGPT(), history=history, size="quick", owner="yours")
    with pytest.raises(DamagedFileError, match="not written by the lab's saving cell"):
        lab.restore_work(CPU, anew, path)
    assert anew == lab.Predictions()


def test_the_bar_of_a_training_goes_where_the_text_of_its_cell_goes(capsys):
    corpus = small_corpus()
    model = LSTM(vocab_size=len(corpus.vocabulary), d_emb=8, d_h=8)
    budget = replace(budget_for("lstm", "quick"), steps=5, batch_size=2, T=8, validate_every=100)
    train_lm(model, corpus, budget)
    assert "5/5" in capsys.readouterr().out


def test_figures_of_the_lab_say_in_words_what_they_show():
    A = torch.zeros(3, 3)
    A[:, 0] = 1
    maps = figures.weight_maps("maps", {"back": A, "ahead": A.T}, "abc")
    assert "back: 0 above the diagonal, 1.0 characters back on average" in maps.alt
    assert "ahead: cells above the diagonal carry up to 1.00" in maps.alt
    distances = figures.head_distances(torch.tensor([[1.25, 30.0], [4.0, 7.5]]))
    assert "layer 1: 1.2, 30.0; layer 2: 4.0, 7.5" in distances.alt
    curve = [{"step": 250, "train": 2.0, "valid": 2.1}, {"step": 500, "train": 1.8, "valid": 1.94}]
    drawn = figures.learning_curve(curve, [curve, curve[:1]])
    assert "2.10 at step 250, 1.94 at step 500" in drawn.alt
    assert "they end between 1.94 and 2.10" in drawn.alt
    for drawing in (maps, distances, drawn):
        assert drawing.svg().startswith("<svg role=")


def test_every_row_that_the_lab_compares_with_is_shipped():
    assert {name for rows in ROWS.values() for name in rows} - {"gpt-quick"} == set(SHIPPED)
