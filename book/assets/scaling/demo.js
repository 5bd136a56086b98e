// The demo of section 2: ten weights of one random row at five widths, with and without the division
// by the root of d_k. The numbers come from draw.js.
import { LARGEST_SEED } from "../random.js";
import { WIDTHS, draw } from "./draw.js";
import { Prediction } from "./prediction.js";

const FIRST_SEED = 1;
const D_K = "<i>d</i><sub>k</sub>";
const SIDES = { plain: "not divided", scaled: `divided by √${D_K}` };

const panel = ([side, title]) => `
  <div class="scaling-panel" data-side="${side}">
    <p>${title}</p>
    <div class="scaling-bars" role="img">
      <span class="scaling-axis">1</span><span class="scaling-axis">0.5</span><span class="scaling-axis">0</span>
      ${Array.from({ length: 10 }, (_, i) => `<span class="scaling-bar"><b></b><i>${i + 1}</i></span>`).join("")}
    </div>
  </div>`;

const LIVE = `
  <p class="scaling-title" id="scaling-title"><strong>Demo</strong> · One row, drawn in your browser</p>
  <form class="scaling-predict" novalidate></form>
  <div class="scaling-controls">
    <label class="scaling-width">
      <span>Width ${D_K}</span>
      <input type="range" min="0" max="${WIDTHS.length - 1}" step="1" aria-describedby="scaling-locked">
      <span class="scaling-ticks" aria-hidden="true">${WIDTHS.map((width) => `<span>${width}</span>`).join("")}</span>
    </label>
    <p id="scaling-locked"></p>
    <p class="scaling-fields">
      <label>Seed <input class="scaling-seed" inputmode="numeric" autocomplete="off" size="10" aria-describedby="scaling-seed-error"></label>
      <button type="button" class="scaling-next">Another draw</button>
      <button type="button" class="scaling-reset">Reset</button>
    </p>
    <p class="scaling-error" id="scaling-seed-error" role="alert"></p>
  </div>
  <p class="scaling-status" role="status"></p>
  <div class="scaling-panels">${Object.entries(SIDES).map(panel).join("")}</div>
  <p class="scaling-axis-title">position <i>i</i> that is read</p>
  <table class="scaling-numbers">
    <caption class="visually-hidden">The numbers of this draw</caption>
    <thead><tr><td></td>${Object.values(SIDES).map((title) => `<th scope="col">${title}</th>`).join("")}</tr></thead>
    <tbody>
      <tr data-row="largest"><th scope="row">largest weight α</th><td></td><td></td></tr>
      <tr data-row="slope"><th scope="row">its slope α (1 − α)</th><td></td><td></td></tr>
      <tr data-row="spread"><th scope="row">spread of 200 scores</th><td></td><td></td></tr>
      <tr data-row="predicted"><th scope="row">expected spread</th><td></td><td>1</td></tr>
    </tbody>
  </table>
  <div class="scaling-outcome" role="status"></div>
  <div class="scaling-weights">
    <div class="weights" tabindex="0" role="group" aria-label="The ten weights">
      <table>
        <thead>
          <tr><th scope="col">position</th><th scope="col">product</th><th scope="col">weight</th><th scope="col">divided</th><th scope="col">weight, divided</th></tr>
        </thead>
        <tbody></tbody>
      </table>
    </div>
  </div>
  <p class="scaling-how">The 200 scores are this row and 19 more, each with a query and ten keys of its own. The seed
    fixes them all. A wider vector keeps the coordinates of the narrower one and gets new ones behind them: as ${D_K}
    grows, nothing changes but the number of terms in each product.</p>`;

// Three decimals, or one significant digit more where these would say 0.
function short(number) {
  if (number >= 0.001 || number === 0) return number.toFixed(3);
  const [digits, power] = number.toExponential(1).split("e-");
  return `${digits} × 10<sup>−${power}</sup>`;
}

// A fold that looks like the page's own.
function foldLike(pattern, title, ...content) {
  const fold = pattern.cloneNode(false);
  const summary = pattern.querySelector("summary").cloneNode(true);
  summary.querySelector(".sd-summary-text").textContent = title;
  const body = pattern.querySelector(".sd-summary-content").cloneNode(false);
  body.append(...content);
  fold.append(summary, body);
  return fold;
}

// The static figure, which the text refers to, moves into a fold: it would give the answer away.
function foldFigure(place) {
  const figure = place.querySelector("figure");
  const table = place.querySelector("details");
  const number = figure.querySelector(".caption-number").textContent.trim();
  const fold = foldLike(table, `${number}: all five widths of one fixed draw`);
  fold.classList.add("scaling-static");
  place.append(fold);
  fold.lastElementChild.append(figure, table);
  const open = (link) => {
    if (link?.hash === `#${figure.id}`) fold.open = true;
    return fold.open;
  };
  document.addEventListener("click", (event) => open(event.target.closest("a")));
  if (open(location)) figure.scrollIntoView();
}

export function mount(place) {
  const live = document.createElement("div");
  live.className = "scaling-live";
  live.setAttribute("role", "group");
  live.setAttribute("aria-labelledby", "scaling-title");
  live.innerHTML = LIVE;
  const find = (selector) => live.querySelector(selector);
  const slider = find("[type=range]");
  const seedField = find(".scaling-seed");
  const weights = find(".scaling-weights");
  weights.replaceWith(foldLike(place.querySelector("details"), "The ten weights as a table", ...weights.childNodes));

  let seed;
  let results;

  function showPanel(side, { weights, position }, width) {
    const bars = find(`[data-side=${side}] .scaling-bars`);
    const numbers = weights.map((weight) => weight.toFixed(3)).join(", ");
    bars.setAttribute(
      "aria-label",
      `Bar chart of the ten weights at d_k = ${width}, ${side === "plain" ? "not divided" : "divided"}: ${numbers}. The largest is at position ${position + 1}.`,
    );
    bars.querySelectorAll(".scaling-bar").forEach((bar, i) => {
      bar.style.setProperty("--weight", weights[i]);
      bar.firstChild.textContent = i === position ? weights[i].toFixed(2) : "";
    });
  }

  function showNumbers({ plain, scaled }, width) {
    const write = (row, ...cells) =>
      find(`[data-row=${row}]`).querySelectorAll("td").forEach((cell, i) => (cell.innerHTML = cells[i]));
    write("largest", plain.largest.toFixed(3), scaled.largest.toFixed(3));
    write("slope", short(plain.slope), short(scaled.slope));
    write("spread", plain.spread.toFixed(2), scaled.spread.toFixed(2));
    write("predicted", `√${width} = ${Math.sqrt(width)}`, "1");
    find(".weights tbody").innerHTML = plain.row
      .map((product, i) => {
        const score = (number) => number.toFixed(2).replace("-", "−");
        const cells = [score(product), short(plain.weights[i]), score(scaled.row[i]), short(scaled.weights[i])];
        return `<tr><th scope="row">${i + 1}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
      })
      .join("");
  }

  function show() {
    const width = WIDTHS[slider.value];
    const now = results.get(width);
    slider.setAttribute("aria-valuetext", `d_k = ${width}`);
    find(".scaling-status").innerHTML =
      `<strong>${D_K} = ${width}</strong>, seed ${seed}: largest weight ${now.plain.largest.toFixed(2)} not divided, ${now.scaled.largest.toFixed(2)} divided`;
    for (const side of Object.keys(SIDES)) showPanel(side, now[side], width);
    showNumbers(now, width);
    slider.disabled = prediction.awaited;
    find("#scaling-locked").textContent = prediction.awaited ? "The slider is free once you have predicted, or skipped the prediction." : "";
    prediction.compare(results, width);
  }

  function take(newSeed) {
    seed = newSeed;
    results = draw(seed);
    seedField.value = seed;
    complain("");
    show();
  }

  function complain(words) {
    find("#scaling-seed-error").textContent = words;
    seedField.setAttribute("aria-invalid", words !== "");
  }

  const prediction = new Prediction(find(".scaling-predict"), find(".scaling-outcome"), () => {
    show();
    slider.focus();
  });
  slider.addEventListener("input", show);
  seedField.addEventListener("change", () => {
    const typed = seedField.value.trim();
    if (/^\d+$/.test(typed) && Number(typed) <= LARGEST_SEED) take(Number(typed));
    else complain(`A seed is a whole number from 0 to ${LARGEST_SEED}. The draw of seed ${seed} is still shown.`);
  });
  find(".scaling-next").addEventListener("click", () => take(seed === LARGEST_SEED ? 0 : seed + 1));
  find(".scaling-reset").addEventListener("click", () => {
    prediction.forget();
    slider.value = 0;
    take(FIRST_SEED);
  });

  slider.value = 0;
  take(FIRST_SEED);
  foldFigure(place);
  place.prepend(live);
}
