"""The trained model in the page and the scaling demo in WebKit, by its own driver."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import WebKitGTK
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from selenium.webdriver.webkitgtk.options import Options
from selenium.webdriver.webkitgtk.service import Service
from test_explorer import EXPLORER, GLYPHS, VOCABULARY, expected, without
from test_scaling_demo import SECTION, WIDTHS, Xoshiro128StarStar
from test_scaling_demo import expected as drawn

from minigpt.artifacts import load_model

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:setting remote_server_addr"),  # Selenium calls itself so
]
PATIENCE = 120  # seconds, on a busy machine
DRIVER, SCREEN = shutil.which("WebKitWebDriver"), shutil.which("Xvfb")
BROWSER = next(Path("/usr").glob("lib*/*/webkit2gtk-4.1/MiniBrowser"), None)
BARS = """return [...document.querySelector(".explorer-bars tbody").rows].map((row) =>
    [row.querySelector("th span").innerText, row.cells[row.cells.length - 1].innerText]);"""
TABLE = """return Object.fromEntries([...document.querySelector(".scaling-numbers tbody").rows].map(
    (row) => [row.dataset.row, [...row.cells].slice(1).map((cell) => cell.textContent)]));"""


@pytest.fixture(scope="module")
def webkit() -> Iterator[WebKitGTK]:
    if not (DRIVER and SCREEN and BROWSER):
        pytest.skip("there is no WebKit here: make engines installs it")
    command = [SCREEN, "-displayfd", "1", "-screen", "0", "1280x900x24"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as screen:
        try:
            environment = os.environ | {"DISPLAY": f":{screen.stdout.readline().strip()}"}
            options = Options()
            options.binary_location = str(BROWSER)
            options.add_argument("--automation")
            driver = WebKitGTK(options=options, service=Service(DRIVER, env=environment))
            yield driver
            driver.quit()
        finally:
            screen.terminate()


class Explorer:
    def __init__(self, driver: WebKitGTK, address: str) -> None:
        self.driver = driver
        driver.get("about:blank")
        driver.get(address)
        self.until("return document.querySelector('.explorer-bars tbody tr') !== null")

    def until(self, script: str) -> None:
        WebDriverWait(self.driver, PATIENCE).until(lambda driver: driver.execute_script(script))

    def settled(self) -> "Explorer":
        self.until("return document.querySelector('.explorer-app').dataset.state === 'settled'")
        return self

    def type(self, text: str) -> None:
        box = self.driver.find_element(By.CSS_SELECTOR, ".explorer textarea")
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(Keys.NULL, text)
        self.settled()

    def press(self, name: str) -> None:
        self.driver.find_element(By.XPATH, f"//button[normalize-space()='{name}']").click()
        self.settled()

    def text(self, place: str) -> str:
        return self.driver.execute_script(
            "return document.querySelector(arguments[0]).textContent", place
        )

    def agrees(self, wanted: dict[str, float]) -> None:
        rows = self.settled().driver.execute_script(BARS)
        found = {GLYPHS.get(glyph, glyph): float(likely.split()[0]) for glyph, likely in rows}
        assert len(found) >= 5
        assert found == pytest.approx({c: wanted[c] for c in found}, abs=6e-4)


@pytest.fixture(scope="module")
def model():
    return load_model().half().float().requires_grad_(False)


def test_what_comes_next_in_webkit_is_what_torch_says(webkit, site, model):
    page = Explorer(webkit, f"{site}{EXPLORER}.html#text=To%20be")
    page.agrees(expected(model, "To be"))
    page.type("What is th")
    page.agrees(expected(model, "What is th"))
    webkit.find_element(By.XPATH, "//label[contains(., 'Causal mask')]//input").click()
    page.agrees(expected(without("mask"), "What is th"))
    assert "Loss like this" in page.text(".explorer-losses")
    page.press("All on")
    page.agrees(expected(model, "What is th"))


def test_the_map_is_drawn_in_webkit_and_heads_are_chosen_with_the_arrow_keys(webkit, site):
    page = Explorer(webkit, f"{site}{EXPLORER}.html#text=To%20be%2C").settled()
    ink = """const canvas = document.querySelector(".explorer-large");
        const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return all.filter((value, i) => i % 4 === 3 && value > 0).length;"""
    assert webkit.execute_script(ink) > 100
    chosen = webkit.find_element(By.CSS_SELECTOR, ".explorer-grid [aria-checked=true]")
    chosen.send_keys(Keys.ARROW_RIGHT)
    page.settled()
    label = webkit.execute_script("return document.activeElement.getAttribute('aria-label')")
    assert label.startswith("Layer 1, head 2:")


def test_the_same_seed_writes_in_webkit_what_it_writes_elsewhere(webkit, site, model):
    page = Explorer(webkit, f"{site}{EXPLORER}.html#text=ROMEO%3A%0A").settled()
    chance, text = Xoshiro128StarStar(1), "ROMEO:\n"
    for _ in range(8):
        likely = model(VOCABULARY.encode(text)[None])[0, -1].double().softmax(0)
        below = likely.cumsum(0) <= chance.uniform()
        text += VOCABULARY.decode(below.sum()[None])
        page.press("One character")
    assert page.text(".explorer-wrote mark") == text[7:]


def test_every_number_of_the_demo_in_webkit_follows_from_the_seed(webkit, site):
    webkit.get(f"{site}{SECTION}.html")
    skip = "//button[normalize-space()='Skip the prediction']"
    WebDriverWait(webkit, PATIENCE).until(lambda driver: driver.find_elements(By.XPATH, skip))
    webkit.find_element(By.XPATH, skip).click()
    slider = webkit.find_element(By.CSS_SELECTOR, ".scaling-demo input[type=range]")
    for seed in (1, 2):
        slider.send_keys(Keys.HOME)
        for width in WIDTHS:
            truth, shown = drawn(seed, width), webkit.execute_script(TABLE)
            assert shown["largest"] == [f"{weight:.3f}" for weight in truth["largest"]]
            assert shown["spread"] == [f"{spread:.2f}" for spread in truth["spread"]]
            slider.send_keys(Keys.ARROW_RIGHT)
        webkit.find_element(By.XPATH, "//button[normalize-space()='Another draw']").click()
