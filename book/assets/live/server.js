// Where a kernel comes from: a server on this computer, or one that Binder starts.

const PATIENCE = 4000; // ms without any answer, after which the reader is told

// What is told to the reader; `over` says what else can be tried.
export class Failure extends Error {}

const PHASES = {
  waiting: "Binder has put the request in its queue.",
  fetching: "Binder is fetching the course's repository.",
  building: "Binder is building the environment. The first time this usually takes several minutes.",
  pushing: "Binder has built the environment and is storing it.",
  built: "Binder has the environment ready. Starting it usually takes less than a minute.",
  launching: "Binder is starting a server. This usually takes less than a minute.",
};

// Give up on waiting as soon as the reader cancels.
export function unlessCancelled(promise, signal) {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}

// Ask a server whether it is there and lets this page in.
async function check({ url, token }, signal) {
  const ask = (how) => fetch(`${url}api/status`, { ...how, signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]) });
  let answer;
  try {
    answer = await ask({ headers: { Authorization: `token ${token}` } });
  } catch {
    // A refusal cannot be read from another origin; that something answered can.
    const there = await ask({ mode: "no-cors" }).catch(() => null);
    signal.throwIfAborted();
    if (there) throw new Failure(`The server at ${url} does not let this page in. Its token may be a new one, or it may not allow pages from ${location.origin}. Open the address that it printed when it was started last.`);
    throw new Failure(`Nothing answers at ${url}. Is the Jupyter server there still running? Start it again, and open the address that it prints.`);
  }
  if (!answer.ok) throw new Failure(`The server at ${url} answers with an error (${answer.status}).`);
}

const OFFLINE = "Binder cannot be reached. You are probably offline, or a network in between blocks it. The page and its outputs stay as they are.";

function askBinder({ hub, repository, ref }, { say, log, signal }) {
  const address = `${hub}/build/gh/${repository}/${encodeURIComponent(ref)}`;
  say("Asking Binder for a kernel. The first start may take several minutes, later ones usually less than one.");
  if (!navigator.onLine) throw new Failure(OFFLINE);
  return new Promise((resolve, reject) => {
    const stream = new EventSource(address);
    let answered = false;
    const waiting = setTimeout(() => {
      say("Binder has not answered so far. You may be offline, or Binder is busy. Still waiting; Cancel stops it.");
    }, PATIENCE);
    const end = (finish, value) => {
      clearTimeout(waiting);
      stream.close();
      finish(value);
    };
    signal.addEventListener("abort", () => end(reject, signal.reason), { once: true });
    stream.onopen = () => {
      clearTimeout(waiting);
      answered = true;
    };
    stream.onmessage = (event) => {
      const { phase = "", message = "", url, token } = JSON.parse(event.data);
      if (message) log(message);
      if (phase === "ready") end(resolve, { url: url.replace(/\/*$/, "/"), token });
      else if (phase === "failed") end(reject, new Failure(`Binder could not start the environment (${message.trim()}). Its messages are below.`));
      else if (PHASES[phase]) say(PHASES[phase]);
    };
    stream.onerror = () => end(reject, new Failure(answered ? "The connection to Binder was lost. Try again." : OFFLINE));
  });
}

// Find a server, and say whether the reader could have another one.
export async function findServer(data, memory, { say, log, signal }) {
  const known = memory.server;
  if (known?.local) {
    say(`Connecting to the kernel on this computer, at ${known.url}. This usually takes a few seconds.`);
    await check(known, signal);
    return known;
  }
  if (data.placeholder) {
    throw new Failure("Live Code cannot start: this copy of the course does not say yet where its repository lives, and Binder needs to know. Whoever publishes it names the repository in _config.yml. A kernel on your own computer works without.");
  }
  if (known) {
    say("Connecting to the server that Binder started before.");
    try {
      await check(known, signal);
      return known;
    } catch {
      signal.throwIfAborted(); // Binder has put it away: a new one is asked for
    }
  }
  const found = await unlessCancelled(askBinder(data, { say, log, signal }), signal);
  memory.server = found;
  return found;
}

function load(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = resolve;
    script.onerror = () => {
      script.remove();
      reject(new Failure(`A part of this site could not be loaded, ${address.pathname}. You may be offline.`));
    };
    document.head.append(script);
  });
}

// The library and the editors, from this site, one after the other: the mode needs the editor.
export async function loadLibraries(vendor) {
  if (!window.thebeCore) await load(new URL("thebe-core/thebe-core.min.js", vendor));
  if (!window.CodeMirror) await load(new URL("codemirror.js", vendor));
  if (!window.CodeMirror.modes.python) await load(new URL("python.js", vendor));
  if (!document.querySelector("link[data-live]")) {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = new URL("codemirror.css", vendor);
    style.dataset.live = "";
    document.head.prepend(style); // before this site's own styles, which win
  }
}

// Each visit of a page has a kernel of its own.
export async function startKernel({ url, token }) {
  const { api } = window.thebeCore;
  const config = api.makeConfiguration({
    mathjaxUrl: "", // the page has set its formulas itself
    savedSessionOptions: { enabled: false },
    serverSettings: { baseUrl: url, token, appendToken: true },
  });
  const server = api.makeServer(config);
  server.connectToJupyterServer();
  try {
    await server.ready;
  } catch (message) {
    throw new Failure(`The server at ${url} does not let this page in (${message}).`);
  }
  const path = `live-code-${Date.now()}-${Math.floor(Math.random() * 1e6)}.ipynb`;
  const options = { kernelName: "python3", path };
  const session = await server.startNewSession(api.makeRenderMimeRegistry(config.mathjax), options);
  await session.kernel.info;
  // A page that is left behind leaves no kernel behind.
  addEventListener("pagehide", (event) => {
    if (event.persisted) return; // kept by the browser, kernel and all, for the way back
    fetch(`${url}api/sessions/${session.id}`, { method: "DELETE", keepalive: true, headers: { Authorization: `token ${token}` } });
  });
  return session;
}
