// The cells of a page as something to run: editors, buttons, and the order in which things run.
//
// A page has cells that it does not show, which import, load, and draw its figures. Before a cell
// runs, every cell above it that has not run yet does. The hidden cells that belong to it, between
// it and its neighbours, run with it every time, so that figures and numbers follow a change.

import { Output, formatted, rendered } from "./output.js";
import { Failure, findServer, loadLibraries, startKernel, unlessCancelled } from "./server.js";

// The kernel may have been started anywhere; the lab looks for the course in its folder.
const GO_HOME = "import os as _os, pathlib as _pathlib, minigpt as _minigpt\n_os.chdir(_pathlib.Path(_minigpt.__file__).resolve().parents[2])";
const KEYS = "Shift+Enter runs a cell. In an editor Tab indents; to leave it with the keyboard, press Escape, then Tab.";

let connecting = false;
let session = null;

function button(words, action, label = words) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  if (label !== words) made.setAttribute("aria-label", label);
  made.addEventListener("click", () => {
    // Not `disabled`: the keyboard would lose its place.
    if (made.getAttribute("aria-disabled") !== "true") action();
  });
  return made;
}

// Binder's own messages, folded.
function logTo(place) {
  place.querySelector(".live-log")?.remove();
  let lines = null;
  return (message) => {
    if (!lines) {
      const fold = document.createElement("details");
      fold.className = "live-log";
      fold.innerHTML = "<summary>Messages from Binder</summary><pre tabindex=\"0\"></pre>";
      place.append(fold);
      lines = fold.querySelector("pre");
    }
    lines.textContent += message.endsWith("\n") ? message : `${message}\n`;
  };
}

export async function start({ bar, memory, vendor }) {
  if (session) {
    bar.place.querySelector("button")?.focus();
    return;
  }
  if (connecting) return;
  connecting = true;
  const data = JSON.parse(document.getElementById("live-code").textContent);
  const cancel = new AbortController();
  const again = () => start({ bar, memory, vendor });
  const say = (words) => bar.say(words);
  const log = logTo(bar.place);
  bar.offer(button("Cancel", () => cancel.abort(new Failure("Cancelled. The page and its outputs are as they were."))));
  try {
    const server = await findServer(data, memory, { say, log, signal: cancel.signal });
    say("Loading the editors…");
    await unlessCancelled(loadLibraries(vendor), cancel.signal);
    say("Starting a kernel. This usually takes a few seconds.");
    const starting = startKernel(server);
    // A kernel that comes after the reader has cancelled is put away.
    starting.then((late) => cancel.signal.aborted && late.shutdown(), () => {});
    session = await unlessCancelled(starting, cancel.signal);
  } catch (error) {
    say(error instanceof Failure ? error.message : `Live Code could not be started: ${error.message}`);
    const other = memory.server?.local && !cancel.signal.aborted;
    bar.offer(
      button("Try again", again),
      ...(other ? [button("Forget this server and use Binder", () => { memory.server = null; again(); })] : []),
    );
    return;
  } finally {
    connecting = false;
  }
  liven(data, bar);
}

// From here on there is a kernel.
function liven(data, bar) {
  const { kernel } = session;
  const places = [...document.querySelectorAll("article .cell")];
  let shown = 0;
  const cells = data.cells.map((cell) => (cell.shown ? show(cell, places[shown], ++shown) : { source: () => cell.source }));
  const visible = cells.filter((cell) => cell.place);
  const done = new Set();
  let prepared = false; // the kernel stands in the course's folder
  let running = Promise.resolve();
  let asked = 0; // how many requests to run are still open
  let round = 0; // goes up when everything that was asked for is dropped
  let died = null; // ends what runs when its kernel is gone
  let restarting = false;
  let reborn = false; // the kernel died, and the new one has run nothing: it gets a new connection

  const runAll = button("Run all", () => ask(cells.map((_, i) => i), "All cells of the page have run."));
  const restart = button("Restart", restartKernel, "Restart the kernel");
  const cancel = button("Cancel", interrupt, "Cancel what is running");
  cancel.setAttribute("aria-disabled", "true");
  bar.offer(runAll, restart, cancel);
  const keys = document.createElement("p");
  keys.id = "live-keys";
  keys.textContent = KEYS;
  bar.place.after(keys);
  bar.say("Ready. Nothing has run yet: the outputs are those of the page.");

  kernel.statusChanged.connect((_, status) => {
    if (status === "autorestarting") {
      reborn = true;
      lost("The kernel died, often because memory ran out. A new one has been started and knows nothing yet: run the cells again.");
    }
    if (status === "dead") lost("The kernel died and could not be started again. Restart tries once more; if that fails, load the page again.");
  });
  kernel.connectionStatusChanged.connect((_, status) => {
    if (restarting || (reborn && status !== "disconnected")) return;
    if (status === "connecting") bar.say("The connection to the server is interrupted. Trying to have it back…");
    if (status === "connected") bar.say("The connection to the server is back.");
    if (status === "disconnected") lost("The connection to the server is lost. Load the page again to start anew; what you wrote in the editors would be lost then.");
  });

  function lost(words) {
    forget();
    died?.();
    bar.say(words);
  }

  // Drop what was asked for, and what the kernel knew.
  function forget() {
    round += 1;
    done.clear();
    prepared = false;
    for (const cell of visible) cell.place.removeAttribute("data-live");
  }

  function show(cell, place, number) {
    const input = place.querySelector(".cell_input");
    const highlighted = [...input.children];
    const original = cell.source.replace(/\n+$/, "");
    for (const part of highlighted) part.hidden = true;
    const tools = document.createElement("div");
    tools.className = "live-tools";
    const index = data.cells.indexOf(cell);
    const run = () => ask(planFor(index), `Cell ${number} has run.`, place);
    const editor = window.CodeMirror(input, {
      value: original,
      mode: "python",
      indentUnit: 4,
      viewportMargin: Infinity,
      lineWrapping: matchMedia("(max-width: 600px)").matches,
      screenReaderLabel: `Code of cell ${number}`,
    });
    let leaving = false;
    editor.setOption("extraKeys", {
      "Shift-Enter": run,
      Tab: () => editor.execCommand(editor.somethingSelected() ? "indentMore" : "insertSoftTab"),
      "Shift-Tab": "indentLess",
    });
    editor.on("keydown", (_, event) => {
      if (event.key === "Tab") event.codemirrorIgnore = leaving;
      else if (event.key !== "Shift") leaving = event.key === "Escape";
    });
    editor.on("blur", () => { leaving = false; });
    editor.getInputField().setAttribute("aria-describedby", "live-keys");
    // An editor inside a closed fold cannot measure itself.
    input.closest("details")?.addEventListener("toggle", () => editor.refresh());
    const status = document.createElement("span");
    status.className = "live-mark";
    tools.append(
      button("Run", run, `Run cell ${number}`),
      button("Reset", () => editor.setValue(original), `Reset cell ${number} to the text of the page`),
      status,
    );
    input.append(tools);
    let output = place.querySelector(".cell_output");
    if (!output) {
      output = document.createElement("div");
      output.className = "cell_output docutils container";
      output.hidden = true;
      place.append(output);
    }
    return { place, output, number, status, source: () => editor.getValue() };
  }

  // The cells that have to run when the reader asks for one.
  function planFor(index) {
    const plan = [];
    let first = index;
    while (first > 0 && !cells[first - 1].place) first -= 1;
    for (let i = 0; i < first; i += 1) if (!done.has(i)) plan.push(i);
    for (let i = first; i <= index; i += 1) plan.push(i);
    for (let i = index + 1; i < cells.length && !cells[i].place; i += 1) plan.push(i);
    return plan;
  }

  // One request after the other; each is dropped when one before it in its own plan fails.
  function ask(plan, words, place) {
    const mine = round;
    asked += 1;
    cancel.setAttribute("aria-disabled", "false");
    const fold = place?.querySelector("details:has(.cell_output)");
    if (fold) fold.open = true;
    running = running.then(async () => {
      const told = mine === round ? await follow(plan, mine, words) : null;
      asked -= 1;
      if (!asked) cancel.setAttribute("aria-disabled", "true");
      if (told && mine === round) bar.say(told);
    });
  }

  async function follow(plan, mine, words) {
    reborn = false;
    if (!prepared) {
      bar.say("Loading what the page needs before its first cell. This usually takes some seconds.");
      const failed = await execute(GO_HOME, () => {});
      if (mine !== round) return null;
      if (failed) return `This kernel's Python cannot load the course's package (${failed}). Start the server from the course's own environment.`;
      prepared = true;
    }
    for (const index of plan) {
      const failed = await runCell(index, mine);
      if (mine !== round) return null;
      if (failed) {
        if (cells[index].place) return `Cell ${cells[index].number} of ${visible.length} stopped with an error, which stands below it. Nothing after it was run.`;
        return "A hidden cell of the page stopped with an error, which is shown where it belongs. Nothing after it was run.";
      }
      done.add(index);
    }
    return words;
  }

  async function runCell(index, mine) {
    const cell = cells[index];
    if (!cell.place) return runHidden(index);
    bar.say(`Running cell ${cell.number} of ${visible.length}…`);
    cell.place.dataset.live = "running";
    cell.status.textContent = "running";
    cell.place.querySelector(".live-hidden-error")?.remove();
    const output = new Output(cell.output, `What cell ${cell.number} drew when you ran it`);
    const failed = await execute(cell.source(), (message) => {
      if (!glued(message)) output.add(message);
    });
    if (mine !== round) {
      delete cell.place.dataset.live;
      cell.status.textContent = "stopped";
      return failed;
    }
    output.finish();
    cell.place.dataset.live = failed ? "failed" : "done";
    cell.status.textContent = failed ? "error" : "run by you";
    return failed;
  }

  // Hidden cells show nothing but what they glue into the text, unless they fail.
  async function runHidden(index) {
    const note = document.createElement("div");
    note.className = "live-hidden-error";
    const head = document.createElement("p");
    head.textContent = "Code of the page that is not shown failed. It prepares the cells after it, or draws figures from the ones before:";
    const lines = document.createElement("div");
    const output = new Output(lines, "");
    const failed = await execute(cells[index].source(), (message) => {
      if (!glued(message) && message.header.msg_type === "error") output.add(message);
    });
    const near = cells.slice(0, index).findLast((cell) => cell.place) ?? visible[0];
    near.place.querySelector(".live-hidden-error")?.remove();
    if (failed && lines.childElementCount) {
      note.append(head, lines);
      near.place.append(note);
    }
    return failed;
  }

  // Run code; the result is null, or what went wrong.
  async function execute(code, onMessage) {
    const ended = new Promise((resolve) => { died = () => resolve({ content: { status: "aborted" } }); });
    const future = kernel.requestExecute({ code, allow_stdin: false, stop_on_error: true });
    future.onIOPub = onMessage;
    const answer = await Promise.race([future.done.catch(() => ({ content: { status: "aborted" } })), ended]);
    if (answer.content.status === "ok") return null;
    return answer.content.ename ? `${answer.content.ename}: ${answer.content.evalue}` : answer.content.status;
  }

  // What a cell hands to the text of the page: a figure, a table, a number.
  function glued({ content, metadata, header }) {
    const scrap = header.msg_type === "display_data" && content.metadata?.scrapbook;
    if (!scrap) return false;
    const prefix = scrap.mime_prefix.length;
    const found = Object.fromEntries(Object.entries(content.data).map(([kind, value]) => [kind.slice(prefix), value]));
    for (const place of document.querySelectorAll("[data-glue]")) {
      if (place.dataset.glue === scrap.name) renew(place, found, scrap.name);
    }
    return prefix > 0;
  }

  function renew(place, found, name) {
    if (place.localName === "span") {
      const words = place.firstElementChild ?? place;
      const text = formatted(found["text/plain"], place.dataset.format);
      if (words.textContent === text) return;
      words.textContent = text;
    } else {
      const output = new Output(place, `The figure ${name}, drawn again by your run`);
      output.append(rendered(found, output.alt));
    }
    place.dataset.live = "renewed";
  }

  function interrupt() {
    round += 1;
    bar.say("Cancelled. What had run before is still there.");
    kernel.interrupt().catch((error) => bar.say(`The kernel could not be interrupted (${error.message}). Restart stops it.`));
  }

  async function restartKernel() {
    forget();
    bar.say("Restarting the kernel…");
    died?.();
    restarting = true;
    try {
      await kernel.restart();
      bar.say("The kernel was restarted and knows nothing of the earlier runs. The outputs are those from before.");
    } catch (error) {
      bar.say(`The kernel could not be restarted (${error.message}). Load the page again to start anew.`);
    } finally {
      restarting = false;
    }
  }
}
