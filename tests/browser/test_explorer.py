"""What a reader does with the trained model in the page."""

import gzip
import re
from urllib.parse import quote

import pytest
import torch
from opening import COLOURS, barriers, turn_dark, unfold, write
from serve import SITE
from test_scaling_demo import Xoshiro128StarStar

from minigpt.artifacts import load_model
from minigpt.attention import scaled_dot_product_attention
from minigpt.corpus import load_corpus
from minigpt.inspection import attention_maps
from minigpt.model import MiniGPT

EXPLORER = "book/explorer"
SECTION = "book/briefing/03-causal-mask"
CORPUS = load_corpus()
VOCABULARY = CORPUS.vocabulary
GLYPHS = {"␣": " ", "↵": "\n"}


@pytest.fixture(scope="module")
def model() -> MiniGPT:
    """The trained model with its weights rounded as those of the page are."""
    return load_model().half().float().requires_grad_(False)


@pytest.fixture
def explore(open_page):
    """Open the explorer in a state given by its address."""

    def opened(state: str = "", **options):
        page = open_page(EXPLORER, fragment=state, **options)
        page.wait_for_selector(".explorer-app")
        page.wait_for_selector(".explorer-bars tbody tr")
        return page

    return opened


def position(page):
    return page.get_by_role("slider", name="Position")


def settled(page) -> None:
    """Wait until the model has answered what was asked last."""
    page.wait_for_function("document.querySelector('.explorer-app').dataset.state === 'settled'")


def bars(page) -> dict[str, float]:
    """What the page expects next: the probability of each character that it lists."""
    rows = page.locator(".explorer-bars tbody").evaluate(
        """body => [...body.rows].map((row) =>
            [row.querySelector("th span").innerText, [...row.cells].at(-1).innerText])"""
    )
    return {GLYPHS.get(glyph, glyph): float(likely.split()[0]) for glyph, likely in rows}


def expected(model: MiniGPT, text: str, temperature: float = 1.0) -> dict[str, float]:
    logits = model(VOCABULARY.encode(text)[None])[0, -1]
    likely = (logits / temperature).softmax(0).tolist()
    return dict(zip(VOCABULARY.characters, likely, strict=True))


def agree(page, wanted: dict[str, float]) -> None:
    found = bars(page)
    most = sorted(wanted, key=wanted.get, reverse=True)[: len(found)]
    assert min(wanted[c] for c in found) == pytest.approx(wanted[most[-1]], abs=1e-3)
    assert found == pytest.approx({c: wanted[c] for c in found}, abs=6e-4)


def losses(page) -> dict[str, float]:
    lines = page.locator(".explorer-losses p").all_inner_texts()
    return {name: float(n) for name, n in re.findall(r"(.+): ([\d.]+) nats", "\n".join(lines))}


def test_in_chromium_the_logits_are_those_of_torch(explore, model):
    page = explore()
    generator = torch.Generator().manual_seed(1)
    texts = [CORPUS["test"][:128], torch.randint(65, (77,), generator=generator)]
    found = page.evaluate(
        """async ([texts, base]) => {
            const { Model, Reading } = await import(`${base}model.js`);
            const file = await fetch(`${base}minigpt-float16.safetensors`);
            const model = new Model(await file.arrayBuffer());
            return texts.map((ids) => {
                const reading = new Reading(model).extend(ids);
                return Array.from(reading.logits.subarray(0, ids.length * 65));
            });
        }""",
        [
            [text.tolist() for text in texts],
            page.url.split("/book/")[0] + "/_static/explorer/",
        ],
    )
    for text, logits in zip(texts, found, strict=True):
        assert (torch.tensor(logits).view(-1, 65) - model(text[None])[0]).abs().max() < 1e-3


def test_a_section_loads_nothing_of_the_model_before_the_reader_asks(open_page):
    page = open_page(SECTION)
    page.mouse.wheel(0, 3000)
    heavy = [url for url in page.requested if "/explorer/" in url]
    assert heavy == []
    button = page.get_by_role("button", name="Run the trained model here")
    assert "MB" in button.inner_text()
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".explorer-app")
    assert page.locator(".explorer-app").evaluate("app => app === document.activeElement")
    page.keyboard.press("Tab")
    assert page.get_by_role("textbox", name="Type anything").evaluate(
        "box => box.matches(':focus')"
    )
    assert any(url.endswith(".safetensors") for url in page.requested)
    assert page.complaints == []


def test_the_windows_begin_where_their_sections_are(open_page):
    page = open_page(SECTION)
    named = re.search(r"layer (\d), head (\d)", page.locator("figcaption").first.inner_text())
    page.locator(".explorer-begin").click()
    page.wait_for_selector(".explorer-app")
    settled(page)
    chosen = page.get_by_role("radio", checked=True, name=re.compile("Layer"))
    assert chosen.get_attribute("aria-label").startswith(f"Layer {named[1]}, head {named[2]}:")
    assert page.get_by_role("textbox", name="Type anything").input_value() == "To be,"
    assert page.get_by_role("checkbox").count() == 1
    page.get_by_role("checkbox", name="Causal mask").uncheck()
    settled(page)
    page.get_by_role("link", name="Open this in the explorer").click()
    page.wait_for_selector(".explorer-app")
    assert page.url.endswith("explorer.html#text=To%20be%2C&layer=4&off=mask")
    page = open_page("book/briefing/07-language-model")
    page.locator(".explorer-begin").click()
    page.wait_for_selector(".explorer-app")
    assert page.get_by_role("textbox", name="Type anything").input_value() == "ROMEO:\n"


@pytest.mark.parametrize("text", ["What is th", "O"])
def test_what_comes_next_is_what_torch_says(explore, model, text):
    page = explore()
    assert not page.locator("#fig-explorer").is_visible()  # the live model is in its place
    page.get_by_role("textbox", name="Type anything").fill(text)
    settled(page)
    agree(page, expected(model, text))
    page.get_by_label("Temperature").fill("0.5")
    settled(page)
    agree(page, expected(model, text, 0.5))
    page.get_by_label("Temperature").fill("0")
    settled(page)
    assert sorted(bars(page).values())[-2:] == [0, 1]


def test_an_earlier_position_shows_what_the_model_expected_there(explore, model):
    page = explore("text=What%20is%20this")
    position(page).fill("6")
    settled(page)
    agree(page, expected(model, "What i") | {"s": expected(model, "What i")["s"]})
    assert "then came s" in page.locator(".explorer-next").inner_text()
    position(page).press("ArrowLeft")
    settled(page)
    assert position(page).get_attribute("aria-valuetext") == "5, space"


def test_a_character_that_the_model_lacks_is_named_and_left_out(explore, model):
    page = explore()
    box = page.get_by_role("textbox", name="Type anything")
    box.fill("Dürer’s 7 ü")
    settled(page)
    told = page.locator(".explorer-left").inner_text()
    assert "Left out: “ü” (2 times), “7”." in told
    assert "65 characters" in told
    assert page.locator(".explorer-strip").first.inner_text().replace("\n", "") == "Drer's␣␣"
    agree(page, expected(model, "Drer's  "))
    box.fill("")
    settled(page)
    assert "needs one character" in page.locator(".explorer-text").inner_text()
    assert page.get_by_role("button", name="Write on").is_disabled()
    box.fill("So")
    settled(page)
    agree(page, expected(model, "So"))


def test_of_a_long_text_the_last_128_characters_are_read(explore, model):
    text = VOCABULARY.decode(CORPUS["test"][:200])
    page = explore()
    page.get_by_role("textbox", name="Type anything").fill(text)
    settled(page)
    agree(page, expected(model, text[-128:]))
    assert "reads the last 128" in page.locator(".explorer-text").inner_text()
    assert position(page).get_attribute("min") == "73"
    assert page.locator(".explorer-text .beyond").last.inner_text() in text[71] + "␣↵"
    assert page.locator(".explorer-text .explorer-strip span:not(.beyond)").count() == 128
    canvas = page.locator(".explorer-large")
    cell = (canvas.bounding_box()["width"] - 6) / 128
    canvas.click(position={"x": 4 + 9.5 * cell, "y": 4 + 99.5 * cell})
    settled(page)
    assert position(page).input_value() == "172"
    agree(page, expected(model, text[72:172]))
    weight = attention_maps(model, VOCABULARY.encode(text[72:])[None])[0, 0, 0, 99, 9]
    assert page.locator(".explorer-cell").inner_text().endswith(f"{weight:.3f}")
    page.locator(".explorer-row .explorer-strip span").nth(30).click()
    settled(page)
    assert position(page).input_value() == "103"


def without(name: str) -> MiniGPT:
    def unscaled(Q, K, V, mask=None):
        return scaled_dot_product_attention(Q * Q.size(-1) ** 0.5, K, V, mask)

    functions = {
        "mask": {"mask": lambda T: torch.ones(T, T, dtype=torch.bool)},
        "scaling": {"attention": unscaled},
        "positions": {"embed": lambda idx, tok_emb, pos_emb: tok_emb(idx)},
        "head": {},
    }[name]
    model = load_model(**functions).half().float().requires_grad_(False)
    if name == "head":
        model.blocks[0].attn.W_proj.weight[:, 32:64] = 0
    return model


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("mask", "Causal mask"),
        ("scaling", "Division by √dₖ"),
        ("positions", "Positions"),
        ("head", "head 2"),
    ],
)
def test_a_switch_changes_the_loss_and_the_bars_beside_the_trained_values(
    explore, model, name, label
):
    page = explore("text=What%20is%20th")
    excerpt = CORPUS["test"][:129]

    def loss(model):
        logits = model(excerpt[None, :-1])[0]
        return torch.nn.functional.cross_entropy(logits, excerpt[1:]).item()

    settled(page)
    trained = losses(page)["Loss as trained"]
    assert trained == pytest.approx(loss(model), abs=0.006)
    assert "Loss like this" not in losses(page)
    page.locator("summary", has_text="Single heads").click()
    switch = page.get_by_role("checkbox", name=label).first
    switch.focus()
    page.keyboard.press("Space")
    settled(page)
    changed = without(name)
    assert losses(page)["Loss as trained"] == trained
    assert losses(page)["Loss like this"] == pytest.approx(loss(changed), abs=0.006)
    agree(page, expected(changed, "What is th"))
    was = page.locator(".explorer-bars .was").first.inner_text()
    first = next(iter(bars(page)))
    assert float(was.strip().removeprefix("was ")) == pytest.approx(
        expected(model, "What is th")[first], abs=6e-4
    )
    page.get_by_role("button", name="All on").click()
    settled(page)
    agree(page, expected(model, "What is th"))
    assert switch.is_checked()


def test_another_text_is_read_anew_also_while_a_part_is_off(explore, model):
    page = explore("text=To%20be")
    box = page.get_by_role("textbox", name="Type anything")
    box.fill("At last")  # longer, and different from the start
    settled(page)
    agree(page, expected(model, "At last"))
    page.get_by_role("checkbox", name="Causal mask").uncheck()
    settled(page)
    box.fill("At last I")  # goes on, but without the mask every position changes
    settled(page)
    agree(page, expected(without("mask"), "At last I"))
    wanted = expected(model, "At last I")
    for row, character in zip(
        page.locator(".explorer-bars tbody tr").all(), bars(page), strict=True
    ):
        was = float(row.locator(".was").inner_text().removeprefix(" was "))
        assert was == pytest.approx(wanted[character], abs=6e-4)


def test_the_bars_are_as_long_as_the_numbers_say(explore):
    page = explore("text=ROMEO%3A%0A&layer=2&off=positions")
    cell, bar, mark = (
        page.locator(".explorer-bars tbody tr").first.locator(part).bounding_box()
        for part in ("td:nth-child(2)", ".bar", ".mark")
    )
    room = bar["width"] / next(iter(bars(page).values()))
    was = float(page.locator(".explorer-bars .was").first.inner_text().removeprefix(" was "))
    assert room == pytest.approx(cell["width"] - 16, rel=0.05)
    assert mark["x"] - bar["x"] == pytest.approx(was * room, abs=3)
    heights = page.locator(".explorer-weighted [data-position]").evaluate_all(
        "all => all.map((cell) => parseFloat(getComputedStyle(cell).backgroundSize.split(' ')[1]))"
    )
    off = without("positions")
    row = attention_maps(off, VOCABULARY.encode("ROMEO:\n")[None])[1, 0, 0, -1]
    shares = [height / max(heights) for height in heights]
    assert shares == pytest.approx((row / row.max()).tolist(), abs=0.02)


def test_a_state_travels_in_the_address(explore, open_page, site):
    page = explore()
    page.get_by_role("textbox", name="Type anything").fill("Good night, good night!\n100%?")
    position(page).fill("12")
    write(page.get_by_label("Seed"), "7")
    position(page).fill("12")
    page.get_by_label("Temperature").fill("0.6")
    page.get_by_role("checkbox", name="Residual connections").uncheck()
    page.locator("summary", has_text="Single heads").click()
    page.get_by_role("group", name="Layer 3").get_by_label("head 4").uncheck()
    page.locator(".explorer-grid").get_by_role("radio", name=re.compile("Layer 2, head 3")).click()
    settled(page)
    page.wait_for_function("location.hash.includes('head=3')")
    there = explore(page.evaluate("location.hash")[1:])
    settled(there)
    assert bars(there) == bars(page)
    assert losses(there) == losses(page)
    assert position(there).input_value() == position(page).input_value() == "12"
    for label in ("Temperature", "Seed", "Type anything"):
        assert there.get_by_label(label).input_value() == page.get_by_label(label).input_value()
    label = "Map of layer 2, head 3"
    assert there.get_by_role("img", name=label).is_visible()
    # The same page follows an address that is changed under it, and what was written goes.
    there.get_by_role("button", name="Write on").click()
    there.wait_for_function("document.querySelector('.explorer-wrote mark').textContent")
    there.evaluate("location.hash = 'text=Hark&layer=4'")
    there.wait_for_function("document.querySelector('.explorer textarea').value === 'Hark'")
    settled(there)
    assert there.get_by_role("img", name="Map of layer 4, head 1").is_visible()
    assert there.locator(".explorer-wrote").text_content() == "Hark"
    assert there.get_by_role("button", name="Write on").is_visible()  # and no more is written


def test_the_way_back_leads_to_the_state_before(explore):
    page = explore()
    page.get_by_role("link", name="Turn the causal mask off").click()
    mask = page.get_by_role("checkbox", name="Causal mask")
    page.wait_for_function("document.querySelector('.explorer-losses').innerText.includes('this')")
    assert not mask.is_checked()
    page.evaluate("location.hash = 'fig-explorer'")  # a place on the page, not a state
    settled(page)
    assert not mask.is_checked()
    page.evaluate("history.go(-2)")
    page.wait_for_function("document.querySelector('.explorer-switches input').checked")
    settled(page)
    assert "Loss like this" not in losses(page)
    assert page.evaluate("location.hash") == ""


def test_an_address_that_asks_for_what_there_is_not_is_answered(explore):
    page = explore("layer=9&head=x&seed=-1&temperature=5&off=mask,soul,5.1,constructor&position=40")
    told = page.locator(".explorer-trouble").inner_text()
    assert "layer 9; it has to be a whole number from 1 to 4" in told
    for part in (
        *("head x", "seed -1", "temperature 5", "position 40; the model reads positions 1 to 19"),
        *("switches off soul", "switches off 5.1", "switches off constructor"),
    ):
        assert part in told
    assert page.get_by_role("radio", checked=True).first.is_visible()
    assert not page.get_by_role("checkbox", name="Causal mask").is_checked()
    assert page.complaints == []


def test_the_heads_are_gone_through_with_the_arrow_keys(explore, model):
    page = explore()
    page.locator(".explorer-grid [role=radio][aria-checked=true]").focus()
    for key, name in (
        ("ArrowDown", (2, 1)),
        ("ArrowRight", (2, 2)),
        ("ArrowUp", (1, 2)),
        ("ArrowUp", (4, 2)),
    ):
        page.keyboard.press(key)
        settled(page)
        chosen = page.locator(":focus")
        assert chosen.get_attribute("aria-checked") == "true"
        assert chosen.get_attribute("aria-label").startswith(f"Layer {name[0]}, head {name[1]}:")
    page.keyboard.press("Alt+ArrowRight")  # the browser's
    assert page.locator(":focus").get_attribute("aria-label").startswith("Layer 4, head 2:")
    text = "To be, or not to be"
    maps = attention_maps(model, VOCABULARY.encode(text)[None])[:, 0]
    back = re.search(r"looks ([\d.]+) characters", chosen.get_attribute("aria-label"))[1]
    T = len(text)
    distance = (maps[3, 1] * (torch.arange(T)[:, None] - torch.arange(T))).sum(-1).mean().item()
    assert float(back) == pytest.approx(distance, abs=0.06)
    row = maps[3, 1, -1]
    page.get_by_text("The row as a table").click()
    page.locator(".explorer-row tbody tr").first.wait_for()
    cells = page.locator(".explorer-row tbody td:last-child").all_inner_texts()
    assert [float(cell) for cell in cells] == pytest.approx(row.tolist(), abs=1e-4)
    words = page.locator(".explorer-large").get_attribute("aria-label")
    assert f"position {int(row.argmax()) + 1} (" in words
    assert f"with {row.max():.2f}" in words


def test_the_row_of_a_map_is_chosen_and_its_cells_are_read_with_the_pointer(explore, model):
    page = explore()
    canvas = page.locator(".explorer-large")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    cell = (box["width"] - 18) / 19
    place = {"x": 16 + 3.5 * cell, "y": 16 + 8.5 * cell}
    canvas.hover(position=place)
    maps = attention_maps(model, VOCABULARY.encode("To be, or not to be")[None])[:, 0]
    told = page.locator(".explorer-cell").inner_text()
    assert told == f"Position 9 (r) reads position 4 (b): {maps[0, 0, 8, 3]:.3f}"
    canvas.hover(position={"x": place["y"], "y": place["x"]})
    assert "masked, exactly 0" in page.locator(".explorer-cell").inner_text()
    canvas.click(position=place)
    settled(page)
    assert position(page).input_value() == "9"
    assert "reads most of position" in page.locator(".explorer-row").inner_text()
    assert page.locator(".explorer-cell").inner_text() == told
    page.get_by_role("textbox", name="Type anything").fill("")
    settled(page)
    canvas.hover(position=place)
    assert "Point at a cell" in page.locator(".explorer-cell").inner_text()
    assert page.complaints == []


# What a map of six characters looks like: its first cell, its last row's first, hatching, frame.
DRAWN = """canvas => {
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const at = (x, y) => {
        const start = 4 * (Math.floor(y) * width + Math.floor(x));
        return [...data.subarray(start, start + 4)];
    };
    const side = (width - 18) / 6;
    const cell = (t, i) => at(16 + (i + 0.5) * side, 16 + (t + 0.5) * side);
    const six = [0, 1, 2, 3, 4, 5];
    return {
        width, first: cell(0, 0), last: cell(5, 0),
        hatched: six.some((x) => at(16 + 4.5 * side + x, 16 + side / 2)[3] > 0),
        framed: six.filter((t) => at(width / 2, 16 + t * side)[3] > 200),
    };
}"""


def test_the_map_is_drawn_anew_in_another_theme_and_width(explore, model):
    page = explore("text=To%20be%2C&position=4&layer=2")
    canvas = page.locator(".explorer-large")

    def drawn():
        return canvas.evaluate(DRAWN)

    light = drawn()
    weight = attention_maps(model, VOCABULARY.encode("To be,")[None])[1, 0, 0, 5, 0].item()
    assert 0.05 < weight < 0.8
    assert light["first"] == [0, 90, 181, 255]
    assert light["last"][3] == pytest.approx(255 * weight**0.5, abs=2)
    assert light["hatched"]
    assert light["framed"] == [3, 4]  # above and below the fourth row
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function(f"({DRAWN})(document.querySelector('.explorer-large')).first[0] === 110")
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function(
        f"(it => it.width === it.clientWidth && it.width !== {light['width']})"
        "(document.querySelector('.explorer-large'))"
    )


def test_a_finger_reads_a_cell_too(explore):
    page = explore(width=390, touch=True)
    settled(page)
    canvas = page.locator(".explorer-large")
    cell = (canvas.bounding_box()["width"] - 18) / 19
    canvas.tap(position={"x": 16 + 3.5 * cell, "y": 16 + 8.5 * cell})
    settled(page)
    told = page.locator(".explorer-cell").inner_text()
    assert told.startswith("Position 9 (r) reads position 4 (b)")


def test_one_position_is_followed_step_by_step_with_its_numbers(explore, model):
    page = explore("text=To%20be%2C&layer=2&head=3&position=4")
    page.get_by_text("Follow one position").click()
    page.wait_for_selector(".explorer-station")
    steps = page.locator(".explorer-steps")
    words = {
        label.rsplit(":", 1)[0]: label
        for label in steps.locator("canvas").evaluate_all("all => all.map((c) => c.ariaLabel)")
    }
    ids = VOCABULARY.encode("To b")
    vectors = {
        "embedding of b": model.tok_emb.weight[ids[3]],
        "position 4": model.pos_emb.weight[3],
        "their sum, which enters layer 1": model.tok_emb.weight[ids[3]] + model.pos_emb.weight[3],
    }
    with_hooks = model.blocks[1].attn.W_Q.register_forward_hook(
        lambda module, given, made: vectors.update(
            {"normalized": given[0][0, 3], "query of position 4 (b)": made[0, 3, 64:96]}
        )
    )
    weighted = model.blocks[1].attn.W_proj.register_forward_pre_hook(
        lambda module, given: vectors.update({"average v̄": given[0][0, 3, 64:96]})
    )
    model(ids[None])
    with_hooks.remove()
    weighted.remove()
    for name, vector in vectors.items():
        shown = [f"{x:.2f}".replace("-0.00", "0.00").replace("-", "−") for x in vector]
        assert words[name].endswith(f"the first {', '.join(shown[:4])}"), name
        numbers = steps.locator(".explorer-numbers", has=page.get_by_text(name, exact=True))
        assert numbers.first.locator(".explorer-figures").text_content().split() == shown, name
    assert steps.get_by_role("heading").count() == 7
    links = steps.locator("a").all()
    assert [link.inner_text() for link in links] == [f"({n})" for n in (8, 11, 1, 3, 6, 2, 12, 14)]
    assert all("#equation-eq-" in link.get_attribute("href") for link in links)
    rows = steps.get_by_role("group", name=re.compile("Scores and weights")).locator("tbody tr")
    table = [row.locator("td").all_inner_texts() for row in rows.all()]
    maps = attention_maps(model, VOCABULARY.encode("To be,")[None])[:, 0]
    assert [float(row[5]) for row in table] == pytest.approx(maps[1, 2, 3].tolist(), abs=6e-4)
    assert [row[4] for row in table[4:]] == ["−∞", "−∞"]
    for row in table[:4]:
        product, scaled = (float(cell.replace("−", "-")) for cell in row[2:4])
        assert product / 32**0.5 == pytest.approx(scaled, abs=0.01)
    last = steps.get_by_role("group", name=re.compile("Predictions after")).locator("tbody tr").last
    wanted = expected(model, "To b")
    found = [cell.rsplit(" ", 1) for cell in last.locator("td").all_inner_texts()[1:]]
    for glyph, probability in found:
        assert wanted[GLYPHS.get(glyph, glyph)] == pytest.approx(float(probability), abs=0.006)
    position(page).fill("2")
    page.wait_for_function(
        "document.querySelector('.explorer-station').innerText.includes('character o')"
    )


def test_the_same_seed_writes_the_same_text_and_another_one_another(explore):
    texts = []
    for seed in (5, 5, 6):
        page = explore(f"text=ROMEO%3A%0A&seed={seed}")
        for _ in range(12):
            page.get_by_role("button", name="One character").click()
            settled(page)
        texts.append(page.locator(".explorer-wrote mark").text_content())
    assert len(texts[0]) == 12
    assert texts[0] == texts[1] != texts[2]


def test_writing_plays_past_the_window_pauses_and_is_erased(explore, model):
    begin = VOCABULARY.decode(CORPUS["test"][:110])
    page = explore(f"text={quote(begin)}&temperature=0")
    page.get_by_role("button", name="Write on").click()
    page.wait_for_function("document.querySelector('.explorer-wrote mark').textContent.length > 25")
    page.get_by_role("button", name="Pause").click()
    settled(page)
    text = page.locator(".explorer-wrote mark").text_content()
    ids = VOCABULARY.encode(begin)
    while len(ids) < 110 + len(text):
        ids = torch.cat([ids, model(ids[None, -128:])[0, -1].argmax(keepdim=True)])
    assert VOCABULARY.decode(ids[110:]) == text
    assert f"Paused after {len(text)} characters" in page.locator(".explorer-write").inner_text()
    # What was written is not in the address, nor is a position within it.
    position(page).fill("115")
    page.get_by_label("Temperature").fill("0.1")
    page.wait_for_function("location.hash.endsWith('&temperature=0.1')")
    assert "position" not in page.url
    page.get_by_role("button", name="Erase").press("Enter")
    settled(page)
    assert page.locator(".explorer-wrote").text_content() == begin
    assert page.locator(":focus").inner_text() == "Write on"


def test_while_it_writes_no_live_region_speaks_at_each_character(explore):
    page = explore()
    page.evaluate(
        """() => {
            window.said = new Set();
            const live = "[role=status], [role=alert], [aria-live], output";
            for (const region of document.querySelectorAll(live)) {
                const listen = () => region.textContent && window.said.add(region.textContent);
                new MutationObserver(listen).observe(
                    region, { childList: true, characterData: true, subtree: true });
            }
        }"""
    )
    page.get_by_role("button", name="Write on").click()
    page.wait_for_function("document.querySelector('.explorer-wrote mark').textContent.length > 5")
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused after").wait_for()
    said = page.evaluate("[...window.said]")
    assert said[0] == "Writing …"
    assert said[1].startswith("Paused after")
    assert len(said) == 2


def test_typing_stops_the_writing(explore, model):
    page = explore()
    page.get_by_role("button", name="Write on").click()
    page.wait_for_function("document.querySelector('.explorer-wrote mark').textContent.length > 3")
    page.get_by_role("textbox", name="Type anything").fill("O my")
    settled(page)
    assert page.get_by_role("button", name="Write on").is_visible()
    assert page.locator(".explorer-wrote").text_content() == "O my"
    agree(page, expected(model, "O my"))
    # Also while the model still works on the character that was asked for.
    page.evaluate(
        """() => {
            const box = document.querySelector(".explorer textarea");
            document.querySelectorAll(".explorer-write button")[1].click();
            box.value = "So";
            box.dispatchEvent(new Event("input"));
        }"""
    )
    settled(page)
    assert page.locator(".explorer-wrote").text_content() == "So"


def test_erasing_begins_the_same_chance_again_and_a_new_seed_another_text(explore, model):
    page = explore("text=ROMEO%3A%0A")
    chance, ids = Xoshiro128StarStar(1), VOCABULARY.encode("ROMEO:\n")
    for _ in range(
        12
    ):  # the first character whose share of the unit interval the number falls into
        below = model(ids[None])[0, -1].double().softmax(0).cumsum(0) <= chance.uniform()
        ids = torch.cat([ids, below.sum()[None]])
    mark = page.locator(".explorer-wrote mark")
    wrote = []
    for _ in range(2):
        for _ in range(12):
            page.get_by_role("button", name="One character").click()
            settled(page)
        wrote.append(mark.text_content())
        page.get_by_role("button", name="Erase").click()
        settled(page)
    assert wrote == [VOCABULARY.decode(ids[7:])] * 2
    page.get_by_role("button", name="One character").click()
    settled(page)
    write(page.get_by_label("Seed"), "9")
    settled(page)
    assert mark.text_content() == ""


def test_a_seed_that_is_none_is_refused_and_the_old_one_kept(explore):
    page = explore("seed=4")
    seed = page.get_by_label("Seed")
    write(seed, "-2")
    assert "whole number from 0 to" in page.locator(".explorer-trouble").inner_text()
    assert seed.input_value() == "4"


def test_when_the_weights_do_not_come_the_static_figure_stays_and_the_page_says_why(open_page):
    def fail(route):
        route.fulfill(status=503)

    page = open_page(EXPLORER, before=lambda page: page.route("**/*.safetensors", fail))
    note = page.locator(".interactive-note")
    note.wait_for()
    assert "could not be fetched: 503" in note.inner_text()
    assert page.locator("#fig-explorer svg").is_visible()
    page.goto(page.url.replace(EXPLORER, SECTION))
    page.locator(".explorer-begin").click()
    note.wait_for()
    page.unroute_all()
    page.locator(".explorer-begin").click()
    page.wait_for_selector(".explorer-app")
    assert note.count() == 0


def test_when_the_model_cannot_run_apart_the_static_figure_stays_and_the_page_says_why(open_page):
    def stop(page):
        page.route("**/explorer/worker.js", lambda route: route.abort())

    page = open_page(EXPLORER, before=stop)
    note = page.locator(".interactive-note")
    note.wait_for()
    assert page.locator("#fig-explorer svg").is_visible()
    page.add_init_script("window.Worker = class { constructor() { throw Error('no workers'); } }")
    page.reload()
    note.wait_for()
    assert "(no workers)" in note.inner_text()
    assert page.locator(".explorer-wait").count() == 0


def test_when_the_model_stops_the_page_says_so_and_writes_nothing_more(explore):
    keep = """window.Worker = class extends Worker {
        constructor(...of) { super(...of); window.model = this; }
    }"""
    page = explore(before=lambda page: page.add_init_script(keep))
    settled(page)
    page.evaluate("model.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }))")
    page.get_by_role("button", name="One character").click()
    settled(page)
    told = page.locator(".explorer-trouble").inner_text()
    assert told == "The model stopped: out of memory. Loading the page again helps."
    assert page.locator(".explorer-wrote mark").text_content() == ""


def test_in_high_contrast_the_choice_and_the_bars_are_seen(explore):
    page = explore("off=mask", contrast=True)
    for chosen in (".explorer-strip .chosen", ".explorer-grid [aria-checked=true]"):
        style = page.locator(chosen).first.evaluate("it => getComputedStyle(it).outlineStyle")
        assert style == "solid"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for kind in ("trained", "now", "uniform"):
        bar = page.locator(f".explorer-loss.{kind}")
        assert bar.evaluate("it => getComputedStyle(it, '::before').backgroundColor") != ground


def test_opened_from_a_file_the_page_says_why_it_only_shows_the_figure(open_page):
    page = open_page((SITE / f"{EXPLORER}.html").as_uri())
    page.locator(".interactive-note").wait_for()
    assert "opened from a file" in page.locator(".interactive-note").inner_text()
    assert page.locator("#fig-explorer svg").is_visible()


def test_without_scripts_there_is_the_figure_and_no_empty_window(open_page):
    assert open_page(EXPLORER, scripts=False).locator("#fig-explorer svg").is_visible()
    assert not open_page(SECTION, scripts=False).locator(".explorer").is_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_explorer_in_use_has_no_barrier_and_does_not_scroll_sideways(explore, width):
    page = explore("off=mask,1.2&text=Caf%C3%A9&layer=9", width=width)
    unfold(page)
    page.wait_for_selector(".explorer-station")
    unfold(page)
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
    turn_dark(page)
    assert barriers(page, rules=COLOURS) == []
    for canvas in page.locator("canvas:not([aria-hidden])").all():
        assert len(canvas.get_attribute("aria-label")) > 40


def test_model_and_scripts_together_stay_under_2_mb():
    files = [*(SITE / "_static" / "explorer").iterdir(), SITE / "_static" / "random.js"]
    assert len(files) >= 7
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < 2_000_000
