// What a cell prints and draws, in the same markup that the page was built with.

const ESCAPES = /\x1b\[[0-9;?]*[A-Za-z]/g; // colours of a terminal, which fit one background only

function element(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// A carriage return goes back to the start of the line, as progress bars do.
function asTerminal(text) {
  return text
    .replace(ESCAPES, "")
    .replace(/\r\n/g, "\n")
    .replace(/^.*\r(?!$)/gm, "")
    .replace(/\r$/gm, "");
}

function textual(kind, text) {
  const node = element(`<div class="output ${kind} highlight-myst-ansi notranslate"><div class="highlight"><pre tabindex="0"></pre></div></div>`);
  node.querySelector("pre").textContent = text;
  return node;
}

function picture(source, alt) {
  const node = element('<div class="output image"><img></div>');
  node.firstChild.src = source;
  node.firstChild.alt = alt;
  return node;
}

// The richest form of a result that a page can show.
export function rendered(data, alt) {
  const text = (kind) => [data[kind]].flat().join("");
  if (data["text/html"] || data["image/svg+xml"]) {
    const node = element('<div class="output text_html"></div>');
    node.innerHTML = text(data["text/html"] ? "text/html" : "image/svg+xml");
    return node;
  }
  for (const kind of ["image/png", "image/jpeg"]) {
    if (data[kind]) return picture(`data:${kind};base64,${text(kind).trim()}`, alt);
  }
  return textual("text_plain", asTerminal(text("text/plain")));
}

// A value of the text, in the format that the page gave it.
export function formatted(text, format) {
  const form = /^(,?)\.(\d+)f$/.exec(format);
  if (!form) return text.replace(/^(['"])(.*)\1$/s, "$2");
  const digits = Number(form[2]);
  if (!form[1]) return Number(text).toFixed(digits);
  return Number(text).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// Collects the messages of one run. What was there before stays until the first of them comes.
export class Output {
  constructor(place, alt) {
    this.place = place;
    this.alt = alt;
    this.fresh = false;
    this.named = new Map(); // displays that may be drawn again
  }

  renew() {
    if (!this.fresh) this.place.replaceChildren();
    this.fresh = true;
    this.last = null;
  }

  append(node) {
    if (!this.fresh) this.renew();
    this.place.append(node);
    this.place.hidden = false;
    return node;
  }

  add({ header, content }) {
    const kind = header.msg_type;
    if (kind === "stream") {
      if (!this.fresh || this.last?.name !== content.name) {
        const node = this.append(textual(content.name === "stderr" ? "stderr stream" : "stream", ""));
        this.last = { name: content.name, node, text: "" };
      }
      this.last.text += content.text;
      this.last.node.querySelector("pre").textContent = asTerminal(this.last.text);
    } else if (kind === "display_data" || kind === "execute_result") {
      const node = this.append(rendered(content.data, this.alt));
      this.last = null;
      if (content.transient?.display_id) this.named.set(content.transient.display_id, node);
    } else if (kind === "update_display_data") {
      const node = rendered(content.data, this.alt);
      this.named.get(content.transient.display_id)?.replaceWith(node);
      this.named.set(content.transient.display_id, node);
    } else if (kind === "error") {
      const lines = content.traceback.length ? content.traceback : [`${content.ename}: ${content.evalue}`];
      this.append(textual("live-error", asTerminal(lines.join("\n"))));
      this.last = null;
    } else if (kind === "clear_output") {
      this.fresh = false;
      if (!content.wait) this.renew();
    }
  }

  // A run that printed nothing leaves nothing, and no old output that would not be its own.
  finish() {
    if (!this.fresh) this.renew();
    this.place.hidden = !this.place.childElementCount;
  }
}
