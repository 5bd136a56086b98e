// Chance that can be had again: the same seed gives the same numbers in every browser.
//
// The generator is xoshiro128** (Blackman and Vigna, 2021, "Scrambled linear pseudorandom number
// generators"). As they advise, a simpler generator fills its state from the seed: splitmix32, the
// 32-bit form of SplitMix (Steele, Lea and Flood, 2014) with the finalizer of MurmurHash3. Normal
// numbers come in pairs, by the method of Box and Muller (1958).

function* splitmix32(seed) {
  for (let state = seed >>> 0; ; ) {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    yield (z ^ (z >>> 16)) >>> 0;
  }
}

const rotate = (x, by) => (x << by) | (x >>> (32 - by));

export const LARGEST_SEED = 2 ** 32 - 1;

export class Random {
  #spare = null; // the second normal number of a pair

  // The seed is a whole number from 0 to LARGEST_SEED.
  constructor(seed) {
    const words = splitmix32(seed);
    this.state = Uint32Array.from({ length: 4 }, () => words.next().value);
  }

  // A whole number from 0 to 2 ** 32 - 1, each equally likely.
  integer() {
    const s = this.state;
    const result = Math.imul(rotate(Math.imul(s[1], 5), 7), 9) >>> 0;
    const shifted = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 11);
    return result;
  }

  // A number in [0, 1), a multiple of 2 ** -32.
  uniform() {
    return this.integer() / 2 ** 32;
  }

  // A number from the normal distribution with mean 0 and variance 1.
  normal() {
    if (this.#spare !== null) {
      const spare = this.#spare;
      this.#spare = null;
      return spare;
    }
    // 1 - uniform() is never 0, whose logarithm would not be finite.
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.#spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
}
