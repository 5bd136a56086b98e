// The model on a thread of its own, so that the page stays responsive while it computes.
import { Model, Reading, TRAINED } from "./model.js";

let model, reading, trained;
const losses = new Map();

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** Read a text: by the new characters alone where what was read before still holds. */
function read(earlier, ids, off) {
  const kept = earlier && same(earlier.off, { ...TRAINED, ...off }) && !earlier.off.mask
    && earlier.T <= ids.length && earlier.ids.subarray(0, earlier.T).every((id, t) => id === ids[t]);
  const now = kept ? earlier : new Reading(model, off);
  return now.extend(ids.slice(now.T));
}

const answers = {
  /** Fetch the weights and say what the model is. */
  async load({ url }) {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`the weights could not be fetched: ${response.status} ${response.statusText}`);
    model = new Model(await response.arrayBuffer());
    return model.about;
  },

  /** Read a text; logits of the model as it is, too, while something is switched off. */
  read({ ids, off }) {
    reading = read(reading, ids, off);
    const changed = !same(reading.off, TRAINED);
    if (changed) trained = read(trained, ids, TRAINED);
    return { T: reading.T, maps: reading.maps(), logits: reading.logits.slice(0, reading.T * model.vocab_size),
      trained: changed ? trained.logits.slice(0, trained.T * model.vocab_size) : null };
  },

  /** The loss on the excerpt from the test split. */
  loss({ off }) {
    const key = JSON.stringify(off);
    const ids = model.about.excerpt;
    if (!losses.has(key)) losses.set(key, new Reading(model, off).extend(ids.slice(0, -1)).loss(ids.slice(1)));
    return losses.get(key);
  },

  steps: ({ t, layer, head }) => reading.steps(t, layer, head),
};

onmessage = async ({ data: { id, ask, ...rest } }) => {
  try {
    postMessage({ id, answer: await answers[ask](rest) });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
};
