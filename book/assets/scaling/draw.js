// The numbers of the scaling demo: one seed gives twenty queries with ten keys each.
//
// Coordinates are drawn one after the other, for all vectors at once: of each query in turn, then
// of its ten keys. So a wider vector keeps the coordinates of the narrower one and gets new ones
// behind them, and a change of d_k changes nothing but the number of terms in each product.
import { Random } from "../random.js";

export const WIDTHS = [4, 16, 64, 256, 1024];
const QUERIES = 20;
const KEYS = 10;

function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

// The standard deviation about the mean, with n - 1 in the denominator, as in torch.
function spread(scores) {
  const mean = scores.reduce((a, b) => a + b) / scores.length;
  const squares = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0);
  return Math.sqrt(squares / (scores.length - 1));
}

function describe(scores) {
  const row = scores.slice(0, KEYS);
  const weights = softmax(row);
  const largest = Math.max(...weights);
  const position = weights.indexOf(largest);
  // alpha (1 - alpha), where the bracket is what the others have: exact for an alpha next to 1.
  const others = weights.reduce((sum, weight, i) => (i === position ? sum : sum + weight), 0);
  return { row, weights, largest, position, slope: largest * others, spread: spread(scores) };
}

// By d_k: the first row of scores, its weights and the spread of all scores, not divided and divided.
export function draw(seed) {
  const random = new Random(seed);
  const products = new Array(QUERIES * KEYS).fill(0);
  const results = new Map();
  for (let width = 1; width <= WIDTHS.at(-1); width++) {
    for (let query = 0; query < QUERIES; query++) {
      const coordinate = random.normal();
      for (let key = 0; key < KEYS; key++) {
        products[query * KEYS + key] += coordinate * random.normal();
      }
    }
    if (WIDTHS.includes(width)) {
      const scaled = products.map((product) => product / Math.sqrt(width));
      results.set(width, { plain: describe(products), scaled: describe(scaled) });
    }
  }
  return results;
}
