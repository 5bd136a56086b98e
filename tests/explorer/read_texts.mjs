// Let the explorer's model read texts: cases as JSON on standard input, what it found on the output.
import fs from "node:fs";

import { Model, Reading } from "../../book/assets/explorer/model.js";

const { weights, cases } = JSON.parse(fs.readFileSync(0, "utf8"));
const file = fs.readFileSync(weights);
const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);

// Long rows of numbers as the bytes of their 32-bit floats.
const packed = (floats) => Buffer.from(Float32Array.from(floats).buffer).toString("base64");
const named = (_, value) => (value === -Infinity ? "-inf" : ArrayBuffer.isView(value) ? [...value] : value);

function run({ ids, off, pieces, targets, steps }) {
  const reading = new Reading(new Model(bytes), off);
  for (const piece of pieces ?? [ids]) reading.extend(piece);
  const found = { logits: packed(reading.logits.subarray(0, reading.T * reading.model.vocab_size)), maps: packed(reading.maps()) };
  if (targets) found.loss = reading.loss(targets);
  if (steps) found.steps = JSON.parse(JSON.stringify(reading.steps(...steps), named));
  return found;
}

const results = cases.map((one) => {
  try {
    return run(one);
  } catch (error) {
    return { error: error.message };
  }
});
process.stdout.write(JSON.stringify(results));
