// The trained model in the page: type, look, switch off, let it write.
import { Random, LARGEST_SEED } from "../random.js";
import { element, fixed, largeMap, smallMap, strip } from "./draw.js";
import { softmax } from "./model.js";
import { anyOff, fromAddress, glyph, isOff, LONGEST, named, noneOff, readable, spoken, SWITCHES, toAddress } from "./state.js";

let places = 0;

/** Ask the worker, answer by answer. */
function thread(base) {
  const worker = new Worker(new URL("explorer/worker.js", base), { type: "module" });
  const waiting = new Map();
  let count = 0;
  let broken = null;
  worker.onmessage = ({ data: { id, answer, error } }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error) reject(new Error(error));
    else resolve(answer);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    broken = new Error(event.message || "a script of the explorer could not be fetched");
    for (const { reject } of waiting.values()) reject(broken);
    waiting.clear();
  };
  const ask = (what, rest = {}) =>
    new Promise((resolve, reject) => {
      if (broken) throw broken;
      waiting.set(++count, { resolve, reject });
      worker.postMessage({ id: count, ask: what, ...rest });
    });
  return { ask, stop: () => worker.terminate() };
}

/** Load the explorer's style sheet, once. */
function style(href) {
  if (document.querySelector(`link[href="${href}"]`)) return null;
  const link = element("link", { rel: "stylesheet", href });
  document.head.append(link);
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => {
      link.remove();
      reject(new Error("its style sheet could not be fetched"));
    };
  });
}

/** Put the explorer into `place`. Its attributes say which parts it shows and where it begins. */
export async function mount(place, base) {
  const inWindow = "window" in place.dataset;
  const parts = place.dataset.show.split(" ");
  const waiting = element("p", { role: "status", class: "explorer-wait" }, `Fetching the model, ${place.dataset.megabytes} MB …`);
  place.append(waiting);
  let worker;
  try {
    worker = thread(base);
    await style(new URL("explorer/explorer.css", base).href);
    const about = await worker.ask("load", { url: new URL("explorer/minigpt-float16.safetensors", base).href });
    new Explorer(place, { ask: worker.ask, about, base, inWindow, parts, name: `explorer-${++places}` });
  } catch (error) {
    worker?.stop();
    throw error;
  } finally {
    waiting.remove();
  }
}

class Explorer {
  writing = null; // the stretch of writing that goes on

  constructor(place, { ask, about, base, inWindow, parts, name }) {
    Object.assign(this, { place, ask, about, base, inWindow, parts, name });
    this.characters = about.characters;
    this.sizes = { ...about.config, largestSeed: LARGEST_SEED };
    this.number = new Map([...this.characters].map((character, i) => [character, i]));
    this.begin(!inWindow && location.hash.includes("=") ? location.hash : place.dataset.state);
    this.build();
    place.querySelector(".explorer-still")?.setAttribute("hidden", "");
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    new ResizeObserver(() => this.drawLarge()).observe(place);
    if (!inWindow) addEventListener("hashchange", () => this.follow());
    this.update();
  }

  /** Take the state that an address gives. */
  begin(address) {
    Object.assign(this, fromAddress(address, this.sizes));
    const { position } = this.state;
    const last = this.whole().length;
    const first = Math.max(0, last - this.sizes.T_max) + 1;
    if (position !== null && (position < first || position > last)) {
      this.state.position = null;
      this.problems.push(`The address asks for position ${position}; the model reads ${last ? `positions ${first} to ${last} of this text` : "no position of an empty text"}.`);
    }
  }

  /** The state as an address. What was written is not in it, nor a position within that. */
  address() {
    const { text, position } = this.state;
    return toAddress({ ...this.state, position: position > readable(text, this.characters).kept.length ? null : position });
  }

  /** The address was changed by hand, by a link on the page or by the way back; a name of a place on the page is none of ours. */
  follow() {
    if ((location.hash && !location.hash.includes("=")) || location.hash.slice(1) === this.address()) return;
    clearTimeout(this.later);
    this.rewind();
    this.begin(location.hash || this.place.dataset.state);
    this.controls();
    this.update();
  }

  // ---- what stands on the page ----

  build() {
    this.app = element("div", { class: "explorer-app", role: "group", "aria-label": "The trained model", tabindex: -1 });
    const made = { text: this.buildText, switches: this.buildSwitches, next: this.buildNext, write: this.buildWrite, maps: this.buildMaps, row: this.buildRow, steps: this.buildSteps };
    this.shown = new Map();
    for (const part of this.parts) {
      const [key, only] = part.split("=");
      const panel = made[key].call(this, only?.split(","));
      panel.classList.add("explorer-panel", `explorer-${key}`);
      this.shown.set(key, panel);
      this.app.append(panel);
    }
    this.trouble = element("p", { class: "explorer-trouble", role: "alert" });
    this.app.prepend(this.trouble);
    if (this.inWindow) {
      this.onward = element("a", {}, "Open this in the explorer");
      this.app.append(element("p", { class: "explorer-onward" }, this.onward));
    }
    this.place.append(this.app);
    this.controls();
  }

  panel(title, ...children) {
    return element("section", { "aria-label": title }, element(this.inWindow ? "h3" : "h2", { class: "explorer-title" }, title), ...children);
  }

  button(words, act, attributes = {}) {
    return element("button", { type: "button", click: act, ...attributes }, words);
  }

  buildText() {
    const id = `${this.name}-text`;
    this.box = element("textarea", { id, rows: 2, maxlength: LONGEST, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": `${id}-about`,
      input: () => this.type(this.box.value) });
    this.count = element("span", {});
    this.left = element("span", { class: "explorer-left", role: "status" });
    this.reader = element("div", { class: "explorer-strip", "aria-hidden": "true", click: (event) => this.choose(event.target.dataset.position) });
    this.slider = element("input", { type: "range", id: `${id}-position`, min: 1, input: () => this.choose(this.slider.value) });
    this.where = element("span", { class: "explorer-value", "aria-hidden": "true" }); // the slider says it itself
    return this.panel("Your text",
      element("label", { for: id, class: "explorer-label" }, "Type anything"), this.box,
      element("p", { id: `${id}-about`, class: "explorer-about" }, this.count, " ", this.left),
      this.reader,
      element("div", { class: "explorer-line" }, element("label", { for: `${id}-position` }, "Position"), this.slider, this.where),
      element("p", { class: "explorer-about" }, "The framed character is the chosen position. Click another one, or move the slider."));
  }

  buildSwitches(only = [...Object.keys(SWITCHES), "heads"]) {
    this.boxes = new Map();
    const line = (key, words, change) => {
      const box = element("input", { type: "checkbox", change: () => change(box.checked) });
      this.boxes.set(key, box);
      return element("label", {}, box, element("span", {}, words));
    };
    const list = element("fieldset", { class: "explorer-list" }, element("legend", {}, "On or off"));
    for (const [key, words] of Object.entries(SWITCHES)) {
      if (only.includes(key)) list.append(line(key, words, (on) => this.change(() => (this.state.off[key] = !on))));
    }
    if (only.includes("heads")) {
      const grid = element("div", { class: "explorer-heads" });
      for (let l = 0; l < this.sizes.n_l; l++) {
        const row = element("div", { role: "group", "aria-label": `Layer ${l + 1}` }, element("span", {}, `layer ${l + 1}`));
        for (let h = 0; h < this.sizes.n_h; h++) {
          row.append(line(`${l}.${h}`, `head ${h + 1}`, (on) => this.change(() => {
            this.state.off.heads = this.state.off.heads.filter(([a, b]) => a !== l || b !== h);
            if (!on) this.state.off.heads.push([l, h]);
          })));
        }
        grid.append(row);
      }
      const fold = element("details", {}, element("summary", {}, "Single heads"), grid);
      fold.open = only.length === 1;
      list.append(fold);
    }
    this.losses = element("div", { class: "explorer-losses", role: "status" });
    const excerpt = this.about.excerpt.slice(0, -1).map((id) => this.characters[id]).join("");
    return this.panel("What each part is worth", list,
      this.button("All on", () => this.change(() => (this.state.off = noneOff()))),
      this.losses,
      element("details", {}, element("summary", {}, "Measured on which text?"),
        element("p", {}, `On the first ${excerpt.length} characters of the test split, which the model was not trained on. It reads them from nothing, so the first predictions have little to go by, and the loss is higher than over the whole split. So short a text says which parts matter much. It does not settle small differences.`),
        element("pre", { class: "explorer-excerpt", tabindex: 0 }, excerpt)));
  }

  buildNext() {
    const id = `${this.name}-temperature`;
    this.after = element("p", { class: "explorer-after" });
    this.bars = element("tbody", {});
    this.heat = element("input", { type: "range", id, min: 0, max: 2, step: 0.1, input: () => this.change(() => (this.state.temperature = Number(this.heat.value))) });
    this.heatNow = element("span", { class: "explorer-value", "aria-hidden": "true" });
    this.beside = element("p", { class: "explorer-about" });
    return this.panel("What comes next", this.after,
      element("table", { class: "explorer-bars" },
        element("caption", { class: "explorer-spoken" }, "The most likely next characters"),
        element("thead", { class: "explorer-spoken" }, element("tr", {}, ...["Character", "Bar", "Probability"].map((words) => element("th", { scope: "col" }, words)))), this.bars),
      this.beside,
      element("div", { class: "explorer-line" }, element("label", { for: id }, "Temperature"), this.heat, this.heatNow));
  }

  buildWrite() {
    const id = `${this.name}-seed`;
    this.play = this.button("Write on", () => (this.writing ? this.pause() : this.write()));
    this.once = this.button("One character", () => {
      this.pause();
      this.step();
    });
    this.erase = this.button("Erase", () => {
      this.change(() => this.rewind());
      this.play.focus(); // there is nothing more to erase
    });
    this.seed = element("input", { type: "number", id, min: 0, max: LARGEST_SEED, step: 1, change: () => this.reseed() });
    this.wrote = element("p", { class: "explorer-wrote" });
    this.progress = element("p", { class: "explorer-about", role: "status" });
    return this.panel("Let it write",
      element("div", { class: "explorer-line" }, this.play, this.once, this.erase, element("label", { for: id }, "Seed"), this.seed),
      element("div", { class: "explorer-page", tabindex: 0, role: "group", "aria-label": "The text and what was written" }, this.wrote),
      element("p", { class: "explorer-about" }, "What is shaded, the model wrote. The same text, seed and temperature give the same writing again."),
      this.progress);
  }

  buildMaps() {
    const { n_l, n_h } = this.sizes;
    this.grid = element("div", { class: "explorer-grid", role: "radiogroup", "aria-label": "Head; the arrow keys move", keydown: (event) => this.arrows(event) });
    this.small = [];
    for (let l = 0; l < n_l; l++) {
      this.grid.append(element("span", { class: "explorer-layer", "aria-hidden": "true" }, `layer ${l + 1}`));
      for (let h = 0; h < n_h; h++) {
        const canvas = element("canvas", { "aria-hidden": "true" });
        const button = element("button", { type: "button", role: "radio", click: () => this.change(() => Object.assign(this.state, { layer: l, head: h })) }, canvas);
        this.small.push({ canvas, button });
        this.grid.append(button);
      }
    }
    this.large = element("canvas", { class: "explorer-large", role: "img", "aria-label": "The chosen map",
      pointermove: (event) => this.point(event), pointerleave: (event) => this.leave(event), click: (event) => this.point(event, true) });
    this.cell = element("p", { class: "explorer-cell" });
    return this.panel("Where the heads read",
      element("p", { class: "explorer-about" }, "A row is a position that reads, a column one that is read. The stronger the colour, the larger the weight (the colour goes with its square root, so that small weights show). Hatched cells are masked. The framed row is that of the chosen position."),
      element("div", { class: "explorer-maps-both" }, this.grid, element("div", {}, this.headName = element("p", { class: "explorer-after" }), this.large, this.cell)));
  }

  buildRow() {
    this.rowName = element("p", { class: "explorer-after" });
    this.rowBars = element("div", { class: "explorer-strip explorer-weighted", "aria-hidden": "true", click: (event) => this.choose(event.target.closest("[data-position]")?.dataset.position) });
    this.rowTable = element("tbody", {});
    return this.panel("One row, character by character", this.rowName, this.rowBars,
      element("details", { toggle: () => this.drawRow() }, element("summary", {}, "The row as a table"),
        element("div", { class: "explorer-scroll", tabindex: 0, role: "group", "aria-label": "Weights of the row" },
          element("table", {}, element("thead", {}, element("tr", {}, ...["position", "character", "weight"].map((words) => element("th", { scope: "col" }, words)))), this.rowTable))));
  }

  buildSteps() {
    this.walk = element("div", {});
    this.walkFold = element("details", { toggle: () => this.drawSteps() },
      element("summary", {}, "Follow one position through the model"), this.walk);
    return this.panel("Step by step", this.walkFold);
  }

  /** Bring every control to the state. */
  controls() {
    const { state } = this;
    if (this.box && this.box.value !== state.text) this.box.value = state.text;
    if (this.boxes) {
      for (const [key, box] of this.boxes) {
        const [l, h] = key.split(".").map(Number);
        box.checked = key in SWITCHES ? !state.off[key] : !isOff(state.off, l, h);
      }
    }
    if (this.heat) {
      this.heat.value = state.temperature;
      this.heatNow.textContent = state.temperature === 0 ? "0: always the likeliest" : state.temperature.toFixed(1);
      this.heat.setAttribute("aria-valuetext", this.heatNow.textContent);
    }
    if (this.seed) this.seed.value = state.seed;
    this.small?.forEach(({ button }, index) => {
      const chosen = index === state.layer * this.sizes.n_h + state.head;
      button.setAttribute("aria-checked", chosen);
      button.tabIndex = chosen ? 0 : -1;
    });
    this.trouble.textContent = this.problems.join(" ");
    if (this.onward) this.onward.href = new URL(`../book/explorer.html#${this.address()}`, this.base).href;
  }

  /** Write the state into the address. Not at every stroke: Safari allows 100 changes in 30 seconds. */
  note() {
    if (this.inWindow) return;
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      const address = this.address();
      history.replaceState(null, "", `${location.pathname}${location.search}${address && `#${address}`}`);
    }, 400);
  }

  // ---- what the reader does ----

  change(act) {
    act();
    this.problems = [];
    this.controls();
    this.note();
    this.update();
  }

  type(text) {
    this.change(() => {
      this.rewind();
      this.state.text = text;
    });
  }

  choose(position) {
    if (!position) return;
    this.change(() => (this.state.position = Number(position) === this.whole().length ? null : Number(position)));
  }

  arrows(event) {
    const { n_l, n_h } = this.sizes;
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [];
    if (down === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return; // Alt and an arrow lead back and forth in the history
    event.preventDefault();
    this.change(() => Object.assign(this.state, { layer: (this.state.layer + down + n_l) % n_l, head: (this.state.head + right + n_h) % n_h }));
    this.small[this.state.layer * n_h + this.state.head].button.focus();
  }

  point(event, choose = false) {
    if (!this.result) return;
    this.pointed = this.cellAt(event.offsetX, event.offsetY);
    this.readCell();
    if (choose) this.choose(this.from + this.pointed.t + 1);
  }

  /** A finger leaves when it lifts: what it tapped stays in words. */
  leave(event) {
    if (event.pointerType !== "mouse") return;
    this.pointed = null;
    this.readCell();
  }

  reseed() {
    const seed = Number(this.seed.value);
    if (this.seed.value === "" || !Number.isInteger(seed) || seed < 0 || seed > LARGEST_SEED) {
      this.problems = [`A seed is a whole number from 0 to ${LARGEST_SEED}. It stays ${this.state.seed}.`];
      this.controls();
      return;
    }
    this.change(() => {
      this.state.seed = seed;
      this.rewind();
    });
  }

  rewind() {
    this.pause();
    Object.assign(this.state, { written: "", position: null });
    this.random = this.pointed = null;
    if (this.progress) this.progress.textContent = "";
  }

  // ---- writing ----

  /** Draw one character; the same seed and text give the same writing. */
  async step(turn = null) {
    if (this.state.position !== null) this.note();
    this.state.position = null;
    const before = this.whole();
    await this.update();
    // Meanwhile the reader may have paused, erased or typed.
    if (!this.result || this.whole() !== before || this.writing !== turn) return false;
    this.random ??= new Random(this.state.seed);
    const probabilities = softmax(this.logits(this.T - 1), this.state.temperature);
    let chance = this.random.uniform();
    let drawn = probabilities.findIndex((p) => (chance -= p) < 0);
    if (drawn < 0) drawn = probabilities.lastIndexOf(Math.max(...probabilities)); // rounding left nothing
    this.state.written += this.characters[drawn];
    await this.update();
    return this.whole().length < LONGEST;
  }

  async write() {
    if (!this.whole()) return;
    const before = this.state.written.length;
    const turn = (this.writing = Symbol("one stretch of writing"));
    this.play.textContent = "Pause";
    this.progress.textContent = "Writing …";
    while (this.writing === turn) {
      const more = await this.step(turn);
      if (!more) break;
      await new Promise((resolve) => setTimeout(resolve, 25)); // so that the eye can follow
    }
    if (this.writing === turn) this.pause();
    const count = this.state.written.length - before;
    if (count > 0 && !this.writing && this.whole().length < LONGEST) this.progress.textContent = `Paused after ${count} character${count > 1 ? "s" : ""}.`;
  }

  pause() {
    this.writing = null;
    if (this.play) this.play.textContent = this.state.written ? "Write further" : "Write on";
  }

  // ---- reading ----

  whole() {
    return readable(this.state.text, this.characters).kept + this.state.written;
  }

  /** Read the newest state; while the model is at work, later states wait, and only the last counts. */
  update() {
    this.again = true;
    this.app.dataset.state = "reading";
    this.working ??= (async () => {
      while (this.again) {
        this.again = false;
        try {
          await this.read();
        } catch (error) {
          this.result = null;
          this.app.classList.add("explorer-empty");
          this.trouble.textContent = `The model stopped: ${error.message}. Loading the page again helps.`;
          this.pause();
        }
      }
      this.working = null;
      this.app.dataset.state = "settled";
    })();
    return this.working;
  }

  async read() {
    const whole = this.whole();
    const off = structuredClone(this.state.off);
    const from = Math.max(0, whole.length - this.sizes.T_max);
    const text = whole.slice(from);
    const ids = [...text].map((character) => this.number.get(character));
    const [result, trainedLoss, loss] = await Promise.all([
      ids.length ? this.ask("read", { ids, off }) : null,
      this.losses ? this.ask("loss", { off: noneOff() }) : null,
      this.losses ? this.ask("loss", { off }) : null,
    ]);
    Object.assign(this, { result, text, from, off, T: text.length, trainedLoss, loss });
    this.t = Math.max(0, Math.min(this.T, (this.state.position ?? whole.length) - from) - 1);
    this.draw();
  }

  logits(t, trained = false) {
    const V = this.sizes.vocab_size;
    return (trained ? this.result.trained : this.result.logits).subarray(t * V, (t + 1) * V);
  }

  weights(layer, head) {
    const size = this.T * this.T;
    return this.result.maps.subarray((layer * this.sizes.n_h + head) * size, (layer * this.sizes.n_h + head + 1) * size);
  }

  // ---- drawing ----

  draw() {
    this.app.classList.toggle("explorer-empty", !this.result);
    if (this.shown.has("text")) this.drawText();
    if (this.losses) this.drawLosses();
    if (this.wrote) this.drawWriting();
    if (!this.result) return;
    if (this.shown.has("next")) this.drawNext();
    if (this.shown.has("maps")) this.drawMaps();
    if (this.shown.has("row")) this.drawRow();
    if (this.shown.has("steps")) this.drawSteps();
  }

  drawText() {
    const { T_max } = this.sizes;
    const { left } = readable(this.state.text, this.characters);
    const whole = this.whole();
    this.count.textContent = !whole ? "The model needs one character at least."
      : whole.length <= T_max ? `${whole.length} of at most ${T_max} characters.`
        : `${whole.length} characters. The model reads the last ${T_max}; what stands before them, grey here, it does not see.`;
    if (this.state.text.length >= LONGEST) this.count.textContent += " The box is full.";
    const names = [...left].slice(0, 12).map(([character, times]) => `${named(character)}${times > 1 ? ` (${times} times)` : ""}`);
    if (left.size > names.length) names.push(`and ${left.size - names.length} more`);
    const words = names.length ? `Left out: ${names.join(", ")}. The model knows only the ${this.characters.length} characters of its plays: letters, space, line break and ${[...this.characters].filter((c) => /[^\sA-Za-z]/.test(c)).join(" ")}` : "";
    if (this.left.textContent !== words) this.left.textContent = words;
    const hidden = Math.max(0, this.from - 60);
    this.reader.replaceChildren(hidden ? `… ` : "", ...this.cells(hidden));
    this.slider.disabled = !this.T;
    this.slider.min = this.from + 1;
    this.slider.max = this.from + this.T;
    this.slider.value = this.from + this.t + 1;
    const character = this.text[this.t] ?? "";
    const words_ = this.T ? `${this.from + this.t + 1}, ${spoken(character)}` : "";
    this.where.textContent = words_ && `${this.from + this.t + 1} (${glyph(character)})`;
    this.slider.setAttribute("aria-valuetext", words_);
  }

  /** The characters as cells; those outside the window, those written and the chosen one are marked. */
  cells(first) {
    const whole = this.whole();
    const typed = whole.length - this.state.written.length;
    return [...whole.slice(first)].map((character, i) => {
      const place = first + i;
      const cell = element("span", { "data-position": place < this.from ? null : place + 1 }, glyph(character));
      cell.classList.toggle("beyond", place < this.from);
      cell.classList.toggle("written", place >= typed);
      cell.classList.toggle("chosen", place === this.from + this.t);
      return character === "\n" ? [cell, document.createElement("br")] : [cell];
    }).flat();
  }

  drawLosses() {
    const uniform = Math.log(this.sizes.vocab_size);
    const line = (words, nats, kind) => {
      const bar = element("span", { class: `explorer-loss ${kind}` });
      bar.style.setProperty("--share", Math.min(1, nats / (1.5 * uniform)));
      return element("p", {}, element("span", {}, `${words}: `, element("strong", {}, fixed(nats)), " nats"), bar);
    };
    const changed = anyOff(this.off);
    const lines = [line("Loss as trained", this.trainedLoss, "trained")];
    if (changed) lines.push(line("Loss like this", this.loss, "now"));
    if (this.off.mask) lines.push(element("p", { class: "explorer-about" }, "Without the mask it reads ahead, even the character that it is to predict. It was never trained to make use of that."));
    lines.push(line("Every character equally likely", uniform, "uniform"));
    if (this.losses.textContent !== lines.map((one) => one.textContent).join("")) this.losses.replaceChildren(...lines);
  }

  drawNext() {
    const { temperature } = this.state;
    const { off } = this;
    const probabilities = softmax(this.logits(this.t), temperature);
    const trained = this.result.trained && softmax(this.logits(this.t, true), temperature);
    const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, 8);
    const came = this.t + 1 < this.T ? this.number.get(this.text[this.t + 1]) : null;
    if (came !== null && !order.includes(came)) order[order.length - 1] = came;
    this.after.replaceChildren("After ", element("code", {}, `${this.t > 11 ? "…" : ""}${[...this.text.slice(Math.max(0, this.t - 11), this.t + 1)].map(glyph).join("")}`),
      came === null ? "" : ` (then came ${glyph(this.text[this.t + 1])})`);
    this.bars.replaceChildren(...order.map((id) => {
      const character = this.characters[id];
      const bar = element("td", { "aria-hidden": "true" }, element("span", { class: "bar" }));
      bar.style.setProperty("--share", probabilities[id]);
      if (trained) {
        const mark = element("span", { class: "mark" });
        mark.style.setProperty("--share", trained[id]);
        bar.append(mark);
      }
      const row = element("tr", {}, element("th", { scope: "row" }, element("span", { "aria-hidden": "true" }, glyph(character)), element("span", { class: "explorer-spoken" }, spoken(character))), bar,
        element("td", {}, fixed(probabilities[id], 3), trained ? element("span", { class: "was" }, ` was ${fixed(trained[id], 3)}`) : ""));
      row.classList.toggle("came", id === came);
      return row;
    }));
    this.beside.textContent = anyOff(off) ? "The orange line stands where the model as trained puts it." : "";
  }

  drawWriting() {
    const whole = this.whole();
    const typed = whole.length - this.state.written.length;
    this.wrote.replaceChildren(whole.slice(0, typed), element("mark", {}, this.state.written));
    if (this.writing) this.wrote.parentElement.scrollTop = this.wrote.parentElement.scrollHeight;
    this.play.disabled = this.once.disabled = !whole || whole.length >= LONGEST;
    this.erase.disabled = !this.state.written;
    if (whole.length >= LONGEST) this.progress.textContent = `Here it stops: ${LONGEST} characters are the most that this page holds.`;
    if (!this.writing) this.play.textContent = this.state.written ? "Write further" : "Write on";
  }

  drawMaps() {
    const { n_h } = this.sizes;
    this.small.forEach(({ canvas, button }, index) => {
      const [l, h] = [Math.floor(index / n_h), index % n_h];
      const weights = this.weights(l, h);
      smallMap(canvas, weights, this.T);
      const silent = isOff(this.off, l, h);
      button.classList.toggle("silent", silent);
      let back = 0;
      for (let t = 0; t < this.T; t++) for (let i = 0; i < this.T; i++) back += (weights[t * this.T + i] * (t - i)) / this.T;
      button.setAttribute("aria-label", `Layer ${l + 1}, head ${h + 1}${silent ? ", switched off" : ""}: looks ${fixed(Math.abs(back), 1)} characters ${back < 0 ? "ahead" : "back"} on average`);
      button.title = `layer ${l + 1}, head ${h + 1}`;
    });
    this.drawLarge();
  }

  drawLarge() {
    if (!this.large || !this.result) return;
    const { layer, head } = this.state;
    const { off } = this;
    const { canvas } = this.small[layer * this.sizes.n_h + head];
    this.cellAt = largeMap(this.large, canvas, this.text, { row: this.t, masked: !off.mask });
    this.headName.textContent = `Layer ${layer + 1}, head ${head + 1}${isOff(off, layer, head) ? " (switched off: its average is not used)" : ""}`;
    this.large.setAttribute("aria-label", `Map of layer ${layer + 1}, head ${head + 1}: ${this.T} rows and columns${off.mask ? "" : ", nothing above the diagonal"}. ${this.rowInWords()}`);
    this.readCell();
  }

  /** A link to an equation, as the page's own links are. */
  equation(number) {
    const link = this.place.querySelector("template")?.content.querySelector(`a[href$="#equation-eq-${number}"]`);
    return link ? link.cloneNode(true) : `(${number})`;
  }

  /** What the chosen row reads most. */
  rowInWords() {
    const row = this.weights(this.state.layer, this.state.head).subarray(this.t * this.T, (this.t + 1) * this.T);
    const most = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 3).filter((i) => row[i] >= 0.005);
    const reads = most.map((i) => `${this.from + i + 1} (${spoken(this.text[i])}) with ${fixed(row[i])}`);
    return `Position ${this.from + this.t + 1} (${spoken(this.text[this.t])}) reads most of position ${reads.join(", ")}.`;
  }

  readCell() {
    const { t, i } = this.pointed ?? {};
    this.cell.textContent = !(t < this.T && i < this.T) ? "Point at a cell, or tap it, to read its weight. A click or a tap chooses its row."
      : `Position ${this.from + t + 1} (${glyph(this.text[t])}) reads position ${this.from + i + 1} (${glyph(this.text[i])}): ${i > t && !this.off.mask ? "masked, exactly 0" : fixed(this.weights(this.state.layer, this.state.head)[t * this.T + i], 3)}`;
  }

  drawRow() {
    if (!this.result) return;
    const { layer, head } = this.state;
    const row = this.weights(layer, head).subarray(this.t * this.T, (this.t + 1) * this.T);
    this.rowName.textContent = `Layer ${layer + 1}, head ${head + 1}. ${this.rowInWords()}`;
    const cells = this.cells(this.from);
    const largest = Math.max(...row); // the tallest bar
    for (const cell of cells) {
      if (!cell.dataset.position) continue;
      cell.style.setProperty("--share", row[cell.dataset.position - this.from - 1] / largest);
    }
    this.rowBars.replaceChildren(...cells);
    if (!this.shown.get("row").querySelector("details").open) return;
    this.rowTable.replaceChildren(...[...row].map((weight, i) => element("tr", {},
      element("td", {}, this.from + i + 1), element("td", {}, glyph(this.text[i])), element("td", {}, i > this.t && !this.off.mask ? "masked" : fixed(weight, 4)))));
  }

  async drawSteps() {
    if (!this.walkFold.open || !this.result) return;
    const { layer, head } = this.state;
    const { t, text, from, result, off } = this;
    const found = await this.ask("steps", { t, layer, head });
    if (this.result !== result || this.t !== t) return; // a newer state is on its way
    const open = [...this.walk.querySelectorAll("details")].map((fold) => fold.open);
    this.walk.replaceChildren(...steps(found, { t, text, from, layer, head, off, characters: this.characters, equation: (n) => this.equation(n), level: this.inWindow ? "h4" : "h3" }));
    this.walk.querySelectorAll("details").forEach((fold, i) => (fold.open = open[i] ?? false));
    for (const canvas of this.walk.querySelectorAll("canvas")) strip(canvas, canvas.numbers);
  }
}

/** The way of one position, as a list of stations with their numbers. */
function steps(found, { t, text, from, layer, head, off, characters, equation, level }) {
  const place = `position ${from + t + 1} (${glyph(text[t])})`;
  const vector = (words, numbers) => {
    const list = [...numbers];
    const canvas = element("canvas", { class: "explorer-vector", role: "img", "aria-label": `${words}: ${list.length} numbers from ${fixed(Math.min(...list))} to ${fixed(Math.max(...list))}, the first ${list.slice(0, 4).map((x) => fixed(x)).join(", ")}` });
    canvas.numbers = list;
    return element("div", { class: "explorer-numbers" }, element("p", {}, words), canvas,
      element("details", {}, element("summary", {}, `its ${list.length} numbers`, element("span", { class: "explorer-spoken" }, `: ${words}`)), element("p", { class: "explorer-figures" }, list.map((x) => fixed(x)).join("  "))));
  };
  const table = (head_, rows, words) => element("div", { class: "explorer-scroll", tabindex: 0, role: "group", "aria-label": words },
    element("table", {}, element("thead", {}, element("tr", {}, ...head_.map((one) => element("th", { scope: "col" }, one)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((one) => element("td", {}, one)))))));
  const station = (title, ...rest) => element("section", { class: "explorer-station" }, element(level, {}, ...title), ...rest);
  const say = (...words) => element("p", {}, ...words);
  const order = [...found.weights.keys()].sort((a, b) => found.weights[b] - found.weights[a]);
  const top = order.slice(0, 3).filter((i) => found.weights[i] >= 0.005);
  const where = `layer ${layer + 1}, head ${head + 1}`;
  return [
    station(["1. Embedding + position ", equation(8)],
      say(off.positions ? `The embedding of ${glyph(text[t])} enters alone: positions are switched off.` : `The vector of the character ${glyph(text[t])} and the vector of the place ${t + 1} in the window are added.`),
      vector(`embedding of ${glyph(text[t])}`, found.embedding), vector(`position ${t + 1}`, found.position), vector("their sum, which enters layer 1", found.input)),
    station([`2. Normalized, then projected: ${where} `, equation(11), " ", equation(1)],
      say(`The stream before layer ${layer + 1} has mean ${fixed(found.byLayer[layer].mean)} and standard deviation ${fixed(found.byLayer[layer].sd)}. Normalized, it is multiplied by this head’s part of W_Q, and the query comes out.`),
      vector(`stream before layer ${layer + 1}`, found.stream), vector("normalized", found.normed), vector(`query of ${place}`, found.query)),
    station(["3. Scores, mask, weights ", equation(3), " ", equation(6)],
      say(`The query meets every key. Each product is ${off.scaling ? "left as it is: the division is switched off" : `divided by √${found.query.length} = ${fixed(Math.sqrt(found.query.length))}`}; ${off.mask ? "the mask is switched off, so later positions are read too" : "scores of later positions become −∞"}; the softmax makes weights.`),
      table(["position", "character", "q · k", off.scaling ? "not divided" : "÷ √dₖ", "masked", "weight"],
        found.weights.length ? [...found.weights.keys()].map((i) => [from + i + 1, glyph(text[i]), fixed(found.products[i]), fixed(found.scaled[i]), fixed(found.masked[i]), i > t && !off.mask ? "0" : fixed(found.weights[i], 3)]) : [],
        `Scores and weights of ${place} in ${where}`)),
    station(["4. The average of the values ", equation(2)],
      say(isOff(off, layer, head) ? "This head is switched off: zeros stand in place of its average." : `The weights mix the values: ${top.map((i) => `${fixed(found.weights[i])} × value of ${from + i + 1} (${glyph(text[i])})`).join(" + ")}${top.length < found.weights.length ? " + …" : ""}`),
      ...top.map((i) => vector(`value of position ${from + i + 1} (${glyph(text[i])})`, found.values[i])), vector("average v̄", found.average)),
    station(["5. The residual stream, layer by layer ", equation(12)],
      say(off.residual ? "Residual connections are switched off: each sublayer's output replaces the stream." : "What attention and the feed-forward layer write is added to the stream. The table gives lengths of vectors, and the mean and standard deviation that each layer’s first normalization removes."),
      table(["layer", "stream before", "its mean", "its standard deviation", "attention writes", "stream between", "feed-forward writes", "stream after"],
        found.byLayer.map((one, i) => [i + 1, one.before, one.mean, one.sd, one.attention, one.middle, one.ffn, one.after].map((x, column) => (column ? fixed(x) : x))),
        `Lengths in the residual stream at ${place}`)),
    station(["6. What each layer would predict ", equation(14)],
      say("The last normalization and the output layer, applied to the stream before the first layer and after each. The model was trained for the last row alone."),
      table(["after", "likeliest", "second", "third"],
        found.lens.map((probabilities, i) => {
          const best = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, 3);
          return [i ? `layer ${i}` : "embedding", ...best.map((id) => `${glyph(characters[id])} ${fixed(probabilities[id])}`)];
        }),
        `Predictions after each layer at ${place}`)),
  ];
}
