// What is shown, as plain values: from the address, to the address, and what may be typed.

/** Characters of text and writing together, so that a page left alone stops. */
export const LONGEST = 2000;

export const SWITCHES = {
  mask: "Causal mask",
  scaling: "Division by √dₖ",
  positions: "Positions",
  residual: "Residual connections",
};

/** The state before anything was chosen; `position` counts from 1, null is the last character. */
export function start() {
  return { text: "To be, or not to be", written: "", position: null, layer: 0, head: 0, off: noneOff(), temperature: 1, seed: 1 };
}

export const noneOff = () => ({ mask: false, scaling: false, positions: false, residual: false, heads: [] });

export const anyOff = (off) => off.heads.length > 0 || Object.keys(SWITCHES).some((name) => off[name]);

/** Write a state as the part of an address after the #. What is as at the start is left out. */
export function toAddress(state) {
  const first = start();
  const off = [...Object.keys(SWITCHES).filter((name) => state.off[name]), ...state.off.heads.map(([l, h]) => `${l + 1}.${h + 1}`)];
  const parts = {
    text: state.text === first.text ? null : state.text,
    layer: state.layer ? state.layer + 1 : null,
    head: state.head ? state.head + 1 : null,
    position: state.position,
    off: off.join(",") || null,
    temperature: state.temperature === first.temperature ? null : state.temperature,
    seed: state.seed === first.seed ? null : state.seed,
  };
  return Object.entries(parts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

/** Read an address: the state, and a line for everything in it that the model does not have. */
export function fromAddress(address, { n_l, n_h, largestSeed }) {
  const state = start();
  const problems = [];
  const given = new URLSearchParams(address.replace(/^#/, ""));
  if (given.has("text")) {
    const characters = [...given.get("text")]; // whole ones: half a sign cannot go into an address again
    state.text = characters.slice(0, LONGEST).join("");
    if (characters.length > LONGEST) problems.push(`The text in the address has ${characters.length} characters. The first ${LONGEST} are here.`);
  }
  const number = (name, low, high, whole = true) => {
    const value = Number(given.get(name));
    if (given.get(name)?.trim() && value >= low && value <= high && (!whole || Number.isInteger(value))) return value;
    if (given.has(name)) {
      problems.push(`The address asks for ${name} ${given.get(name)}; it has to be ${whole ? "a whole number " : ""}from ${low} to ${high}.`);
    }
    return null;
  };
  state.layer = (number("layer", 1, n_l) ?? 1) - 1;
  state.head = (number("head", 1, n_h) ?? 1) - 1;
  state.position = number("position", 1, 1e6);
  state.temperature = Math.round(10 * (number("temperature", 0, 2, false) ?? state.temperature)) / 10; // as fine as its slider
  state.seed = number("seed", 0, largestSeed) ?? state.seed;
  for (const name of (given.get("off") ?? "").split(",").filter(Boolean)) {
    const [, layer, head] = /^(\d+)\.(\d+)$/.exec(name) ?? [];
    if (Object.hasOwn(SWITCHES, name)) state.off[name] = true;
    else if (layer >= 1 && layer <= n_l && head >= 1 && head <= n_h) {
      if (!isOff(state.off, layer - 1, head - 1)) state.off.heads.push([layer - 1, head - 1]);
    } else problems.push(`The address switches off ${name}, which the model does not have.`);
  }
  return { state, problems };
}

export const isOff = (off, layer, head) => off.heads.some(([l, h]) => l === layer && h === head);

// What telephones and word processors put in place of a character that the model knows.
const SAME = { "’": "'", "‘": "'", "–": "-", "\t": " ", "\r\n": "\n", "\r": "\n" };

// A sign with its marks, or one that is joined of several, as many emoji are.
const SIGN = /\r\n|.(?:\p{M}|\p{Emoji_Modifier}|\u200d.)*/gsu;

/** Keep the characters that the model knows; count those that it does not. */
export function readable(text, characters) {
  const known = new Set(characters);
  const left = new Map();
  let kept = "";
  for (const [character] of text.normalize("NFC").matchAll(SIGN)) {
    const same = SAME[character] ?? character.replace(/^\p{Zs}$/u, " ");
    if (known.has(same)) kept += same;
    else left.set(same, (left.get(same) ?? 0) + 1);
  }
  return { kept, left };
}

/** A character that can be seen. */
export const glyph = (character) => ({ " ": "␣", "\n": "↵" })[character] ?? character;

/** A character that can be heard. */
export const spoken = (character) =>
  ({ " ": "space", "\n": "line break", ",": "comma", ".": "full stop", ":": "colon", ";": "semicolon", "'": "apostrophe", "-": "hyphen", "!": "exclamation mark", "?": "question mark" })[character]
  ?? (/[A-Z]/.test(character) ? `capital ${character}` : character);

/** A character in quotes, or by its number where nothing would be seen. */
export const named = (character) =>
  /^[\p{C}\p{Z}\p{M}]+$/u.test(character) ? [...character].map((c) => `U+${c.codePointAt().toString(16).toUpperCase().padStart(4, "0")}`).join(" ") : `“${character}”`;
