// Predict first: asks what the demo will show, and afterwards sets it beside what came out. The
// prediction is remembered in this browser, and nowhere else.
const NAME = "scaling-demo:prediction";
const WIDTH = 256; // where the largest weights are predicted
const D_K = "<i>d</i><sub>k</sub>";

const SPREADS = {
  same: {
    option: "stays the same",
    said: "leaves the spread as it is",
    reply: "That is true of the divided scores. Without the division the spread grows with the root of the width",
  },
  double: {
    option: "doubles",
    said: "doubles the spread",
    reply: "So it does, up to the chance of a draw",
  },
  quadruple: {
    option: "becomes four times as large",
    said: "makes the spread four times as large",
    reply: "That is what happens to the variance. The spread is its root",
  },
};

const FORM = `
  <fieldset>
    <legend>Predict first, then move</legend>
    <p>In this draw, how large will the largest weight be when ${D_K} is ${WIDTH}?</p>
    <p class="scaling-fields">
      <label>not divided <input name="plain" inputmode="decimal" autocomplete="off" size="6"></label>
      <label>divided by √${D_K} <input name="scaled" inputmode="decimal" autocomplete="off" size="6"></label>
    </p>
    <div role="radiogroup" aria-labelledby="scaling-spread-question">
      <p id="scaling-spread-question">When ${D_K} becomes four times as large, the spread of the scores that are not divided …</p>
      <p class="scaling-fields">
        ${Object.entries(SPREADS)
          .map(([value, { option }]) => `<label><input type="radio" name="spread" value="${value}"> ${option}</label>`)
          .join("")}
      </p>
    </div>
    <p class="scaling-error" role="alert"></p>
    <p class="scaling-fields">
      <button type="submit">Keep my prediction</button>
      <button type="button" class="scaling-skip">Skip the prediction</button>
    </p>
  </fieldset>`;

const possible = (weight) => weight >= 0.1 && weight <= 1;

function remembered() {
  try {
    const { plain, scaled, spread } = JSON.parse(localStorage.getItem(NAME)) ?? {};
    return possible(plain) && possible(scaled) && Object.hasOwn(SPREADS, spread) ? { plain, scaled, spread } : null;
  } catch {
    return null; // a browser that keeps nothing, or a note that is not ours
  }
}

function remember(prediction) {
  try {
    if (prediction) localStorage.setItem(NAME, JSON.stringify(prediction));
    else localStorage.removeItem(NAME);
  } catch {
    /* the prediction is compared all the same */
  }
}

// What to say about the two weights, in one sentence.
function judge(said, was) {
  const off = { plain: was.plain - said.plain, scaled: was.scaled - said.scaled };
  const wrong = Object.keys(off).filter((side) => Math.abs(off[side]) > 0.1);
  if (!wrong.length) return "Both of your numbers are within 0.1 of it; another draw shows how far that carries.";
  const found = wrong.map((side) => {
    const row = side === "plain" ? "the row that is not divided" : "the divided row";
    return `${row} is ${off[side] > 0 ? "sharper" : "flatter"} than you expected`;
  });
  return `Here ${found.join(", and ")}; it is one draw, so look at a few more.`;
}

// Asks in `form` and answers in `outcome`; calls `settled` when the reader has predicted or skipped.
export class Prediction {
  #form;
  #outcome;
  #kept = remembered();
  #skipped = false;
  #reached = false; // the predicted width has been looked at

  constructor(form, outcome, settled) {
    this.#form = form;
    this.#outcome = outcome;
    form.innerHTML = FORM;
    form.hidden = !this.awaited;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#keep()) settled();
    });
    form.querySelector(".scaling-skip").addEventListener("click", () => {
      this.#skipped = true;
      form.hidden = true;
      settled();
    });
  }

  get awaited() {
    return !this.#kept && !this.#skipped;
  }

  forget() {
    remember(null);
    this.#kept = null;
    this.#skipped = this.#reached = false;
    this.#form.reset();
    this.#complain("");
    this.#form.hidden = false;
  }

  // Sets the prediction beside `results`, the draw that is shown, now at `width`.
  compare(results, width) {
    this.#reached ||= width === WIDTH && !this.awaited;
    const words = this.#words(results);
    // A live region that is written anew is read anew.
    if (this.#outcome.innerHTML !== words) this.#outcome.innerHTML = words;
  }

  #keep() {
    const given = new FormData(this.#form);
    const number = (name) => Number(given.get(name).trim().replace(",", ".") || NaN);
    const prediction = { plain: number("plain"), scaled: number("scaled"), spread: given.get("spread") };
    if (!possible(prediction.plain) || !possible(prediction.scaled)) {
      const name = possible(prediction.plain) ? "scaled" : "plain";
      this.#complain("The largest of ten weights that sum to 1 lies between 0.1 and 1. Give a number in that range, such as 0.4.", name);
      return false;
    }
    if (!prediction.spread) {
      this.#complain("Choose what happens to the spread.", "spread");
      return false;
    }
    this.#complain("");
    this.#kept = prediction;
    remember(prediction);
    this.#form.hidden = true;
    return true;
  }

  // Says what is missing, and goes to it.
  #complain(words, name) {
    this.#form.querySelector(".scaling-error").textContent = words;
    for (const field of this.#form.querySelectorAll("input:not([type=radio])")) {
      field.setAttribute("aria-invalid", field.name === name);
    }
    if (name) this.#form.querySelector(`[name=${name}]`).focus();
  }

  #words(results) {
    const said = this.#kept;
    if (!said) return "";
    const numbers = `<strong>You predicted</strong> ${said.plain} not divided and ${said.scaled} divided at ${D_K} = ${WIDTH}`;
    if (!this.#reached) return `<p>${numbers}. Now move ${D_K} to ${WIDTH}.</p>`;
    const { plain, scaled } = results.get(WIDTH);
    const before = results.get(WIDTH / 4).plain.spread;
    const was = { plain: plain.largest, scaled: scaled.largest };
    const { said: claim, reply } = SPREADS[said.spread];
    return (
      `<p>${numbers}. This draw gives ${was.plain.toFixed(2)} and ${was.scaled.toFixed(2)}. ${judge(said, was)}</p>` +
      `<p><strong>You predicted</strong> that a ${D_K} four times as large ${claim}. ${reply}: from ${D_K} = ${WIDTH / 4} to ${WIDTH} ` +
      `it went from ${before.toFixed(2)} to ${plain.spread.toFixed(2)} here, ${(plain.spread / before).toFixed(2)} times as much, and √4 = 2.</p>`
    );
  }
}
