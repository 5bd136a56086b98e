// Live Code: what stands ready on every page. A kernel on this computer may be named in the address,
// as in page.html#live=http://127.0.0.1:8888&token=...; it is read, remembered for the other pages
// of this visit, and taken out of the address again. Nothing else happens, and nothing is fetched,
// before the reader presses the theme's button.
(() => {
  const here = new URL("live/", document.currentScript.src);
  const vendor = new URL("../vendor/", here);
  const key = `live:${new URL("../..", here).pathname}`; // one site, one memory
  const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

  const memory = {
    get server() {
      try {
        return JSON.parse(sessionStorage.getItem(key));
      } catch {
        return null;
      }
    },
    set server(server) {
      try {
        if (server) sessionStorage.setItem(key, JSON.stringify(server));
        else sessionStorage.removeItem(key);
      } catch {
        /* a browser that keeps nothing: the next page asks anew */
      }
    },
  };

  // The one place that says where things stand. It appears when there is something to say.
  const bar = {
    get place() {
      let place = document.querySelector(".live-bar");
      if (!place) {
        place = document.createElement("div");
        place.className = "live-bar";
        place.setAttribute("role", "group");
        place.setAttribute("aria-label", "Live code");
        place.innerHTML = '<p class="live-status" role="status"></p><div class="live-buttons"></div>';
        document.querySelector("article h1").after(place);
      }
      return place;
    },
    say(words) {
      this.place.querySelector(".live-status").textContent = words;
    },
    offer(...buttons) {
      this.place.querySelector(".live-buttons").replaceChildren(...buttons);
    },
  };

  function readAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (!wanted.has("live")) return;
    // The token must not stay where it is seen, kept in the history, or copied along.
    history.replaceState(history.state, "", location.pathname + location.search);
    let server;
    try {
      server = new URL(wanted.get("live"));
    } catch {
      bar.say("The address of this page names a server for Live Code that is no address. It was ignored.");
      return;
    }
    if (!["http:", "https:"].includes(server.protocol) || !LOOPBACK.includes(server.hostname)) {
      bar.say(`The address of this page names a server for Live Code on another computer, ${server.host || server.href}. Only one on your own computer is accepted, so it was refused.`);
      return;
    }
    const folder = server.pathname.replace(/\/*$/, "/");
    memory.server = { url: server.origin + folder, token: wanted.get("token") ?? "", local: true };
  }

  async function start() {
    if (location.protocol === "file:") {
      bar.say("This page was opened from a file, and a browser lets no file load scripts. Opened from a server (make serve), its code can run.");
      return;
    }
    bar.say("Loading Live Code…");
    try {
      const page = await import(new URL("page.js", here));
      await page.start({ bar, memory, vendor });
    } catch (error) {
      bar.say(`Live Code could not be loaded from this site (${error.message}). You may be offline. The page and its outputs stay as they are; press the button to try again.`);
    }
  }

  addEventListener("hashchange", readAddress);
  document.addEventListener("DOMContentLoaded", () => {
    readAddress();
    window.initThebeSBT = start; // in place of the theme's own, which its script has set by now
  });
})();
