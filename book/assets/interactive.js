// What a page offers beyond its static figures. Each part is a module that is fetched only on a page
// that has the part, or only when the reader asks for it. When that fails, the page keeps its static
// figure and says why.
(() => {
  // Scripts are served from beside this one, wherever the site lives.
  const here = new URL(".", document.currentScript.src);

  function note(place, words) {
    const line = document.createElement("p");
    line.className = "interactive-note";
    line.setAttribute("role", "status");
    line.textContent = words;
    place.append(line);
  }

  async function mount(place, script) {
    if (location.protocol === "file:") {
      note(place, "This page was opened from a file, and a browser lets no file load scripts or data. Opened from a server (make serve), this part is interactive.");
      return false;
    }
    try {
      const module = await import(new URL(script, here));
      await module.mount(place, here);
      return true;
    } catch (error) {
      note(place, `The interactive part could not be loaded (${error.message}). What is shown here is the static figure; loading the page again may help.`);
      return false;
    }
  }

  // A window inside a section loads nothing before the reader asks for it.
  function offer(place) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "explorer-begin";
    button.textContent = `Run the trained model here (loads ${place.dataset.megabytes} MB)`;
    button.addEventListener("click", async () => {
      button.disabled = true;
      for (const line of place.querySelectorAll(".interactive-note")) line.remove();
      if (!(await mount(place, "explorer/explorer.js"))) {
        button.disabled = false;
        return;
      }
      // The keyboard goes on where the button was, unless the reader is elsewhere by now.
      if ([button, document.body].includes(document.activeElement)) place.querySelector(".explorer-app").focus({ preventScroll: true });
      button.remove();
    });
    place.append(button);
    place.classList.add("offered");
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll(".scaling-demo")) mount(place, "scaling/demo.js");
    for (const place of document.querySelectorAll(".class-clock")) mount(place, "class-clock.js");
    for (const place of document.querySelectorAll(".hub-link")) mount(place, "hub-link.js");
    for (const place of document.querySelectorAll(".explorer")) {
      if ("window" in place.dataset) offer(place);
      else mount(place, "explorer/explorer.js");
    }
  });
})();
