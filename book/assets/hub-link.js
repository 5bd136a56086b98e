// The link by which a JupyterHub opens the lab: the hub's address, as somebody types or pastes it,
// before the path that book/extensions/links.py has made.

// "hub.example.edu", or an address copied from a running hub, becomes the address of the hub.
export function hubAddress(typed) {
  const text = typed.trim();
  let url;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
  } catch {
    return null;
  }
  const local = ["localhost", "127.0.0.1"].includes(url.hostname);
  const named = local || /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(url.hostname);
  if (!named || !(url.protocol === "https:" || (local && url.protocol === "http:"))) return null;
  if (url.username || url.password) return null;
  return url.origin + url.pathname.replace(/\/(hub|user)(\/.*)?$/, "").replace(/\/+$/, "");
}

const FORM = `
  <form novalidate>
    <label for="hub-address">Address of your hub</label>
    <input id="hub-address" inputmode="url" autocomplete="off" autocapitalize="off" spellcheck="false"
      placeholder="https://hub.example.edu" aria-describedby="hub-answer">
    <button>Make the link</button>
  </form>
  <div class="hub-answer" id="hub-answer" role="status"></div>`;

export function mount(place) {
  place.innerHTML = FORM;
  const input = place.querySelector("input");
  const answer = place.querySelector(".hub-answer");

  function linkFor(hub) {
    const link = document.createElement("a");
    link.href = hub + place.dataset.path;
    link.textContent = link.href;
    const copy = document.createElement("button");
    copy.type = "button";
    copy.textContent = "Copy";
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(link.href);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(link);
        copy.textContent = "Selected: copy it with the keyboard";
      }
    });
    return [link, copy];
  }

  place.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const hub = hubAddress(input.value);
    input.setAttribute("aria-invalid", String(hub === null));
    if (hub === null) {
      answer.textContent = "That is not the address of a hub. It looks like https://hub.example.edu, and it has to begin with https, or people's passwords would travel in the open.";
      input.focus();
    } else {
      answer.replaceChildren(...linkFor(hub));
    }
  });
}
