// What the explorer makes of addresses and of typed texts: cases as JSON in, what it found out.
import fs from "node:fs";

import { fromAddress, named, readable, toAddress } from "../../book/assets/explorer/state.js";

const { characters, addresses, texts } = JSON.parse(fs.readFileSync(0, "utf8"));
const sizes = { n_l: 4, n_h: 4, largestSeed: 2 ** 32 - 1 };
const found = {
  addresses: addresses.map((address) => {
    const { state, problems } = fromAddress(address, sizes);
    return { state, problems, again: toAddress(state) };
  }),
  texts: texts.map((text) => {
    const { kept, left } = readable(text, characters);
    return { kept, left: [...left].map(([character, times]) => [named(character), times]) };
  }),
};
process.stdout.write(JSON.stringify(found));
