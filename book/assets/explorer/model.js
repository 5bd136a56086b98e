// The mini-GPT of the course in plain JavaScript: equations 7 to 14, top to bottom.
//
// Weights come from a safetensors file of 16-bit floats. Letters as in the package: T positions,
// d width, n_h heads, d_k width of a head, n_l layers, V vocabulary. Matrices are flat Float32Arrays,
// row after row, and a weight has the shape (out, in), as torch keeps it.

/** Read a safetensors file: {tensors: {name: Float32Array}, about: {...}}. */
export function parseSafetensors(buffer) {
  const view = new DataView(buffer);
  const length = buffer.byteLength < 8 ? NaN : Number(view.getBigUint64(0, true));
  if (!(8 + length <= buffer.byteLength)) throw new Error("the file of weights is cut short");
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const tensors = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    if (entry.dtype !== "F16") throw new Error(`the weights ${name} are ${entry.dtype}, not F16`);
    const [start, stop] = entry.data_offsets;
    if (8 + length + stop > buffer.byteLength) throw new Error("the file of weights is cut short");
    tensors[name] = fromHalf(new Uint16Array(buffer.slice(8 + length + start, 8 + length + stop)));
  }
  return { tensors, about: JSON.parse(header.__metadata__.about) };
}

/** Widen 16-bit floats (IEEE 754: 1 sign, 5 exponent and 10 fraction bits). */
function fromHalf(bits) {
  return Float32Array.from(bits, (x) => {
    const exponent = (x >> 10) & 31;
    const fraction = x & 1023;
    const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
    return x >> 15 ? -size : size;
  });
}

/** Y = X W^T + b for rows `from` to `to`. Tiles of 4 × 4 read each number once for four products. */
function linear(X, W, b, Y, from, to, n, m) {
  const rows = from + ((to - from) & ~3);
  const columns = m & ~3;
  for (let t = from; t < rows; t += 4) {
    const x0 = t * n, x1 = x0 + n, x2 = x1 + n, x3 = x2 + n;
    for (let o = 0; o < columns; o += 4) {
      const w0 = o * n, w1 = w0 + n, w2 = w1 + n, w3 = w2 + n;
      let s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
      let s20 = 0, s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;
      for (let i = 0; i < n; i++) {
        const p = X[x0 + i], q = X[x1 + i], r = X[x2 + i], s = X[x3 + i];
        const e = W[w0 + i], f = W[w1 + i], g = W[w2 + i], h = W[w3 + i];
        s00 += p * e; s01 += p * f; s02 += p * g; s03 += p * h;
        s10 += q * e; s11 += q * f; s12 += q * g; s13 += q * h;
        s20 += r * e; s21 += r * f; s22 += r * g; s23 += r * h;
        s30 += s * e; s31 += s * f; s32 += s * g; s33 += s * h;
      }
      const y0 = t * m + o, y1 = y0 + m, y2 = y1 + m, y3 = y2 + m;
      Y[y0] = s00; Y[y0 + 1] = s01; Y[y0 + 2] = s02; Y[y0 + 3] = s03;
      Y[y1] = s10; Y[y1 + 1] = s11; Y[y1 + 2] = s12; Y[y1 + 3] = s13;
      Y[y2] = s20; Y[y2 + 1] = s21; Y[y2 + 2] = s22; Y[y2 + 3] = s23;
      Y[y3] = s30; Y[y3 + 1] = s31; Y[y3 + 2] = s32; Y[y3 + 3] = s33;
    }
  }
  for (let t = from; t < to; t++) {
    for (let o = t < rows ? columns : 0; o < m; o++) {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += X[t * n + i] * W[o * n + i];
      Y[t * m + o] = sum;
    }
    if (b) for (let o = 0; o < m; o++) Y[t * m + o] += b[o];
  }
}

/** Equation 11, row by row. */
function layerNorm(X, gain, bias, Y, from, to, d) {
  for (let t = from; t < to; t++) {
    const { mean, sd } = spread(X, t * d, d);
    for (let i = 0; i < d; i++) Y[t * d + i] = ((X[t * d + i] - mean) / sd) * gain[i] + bias[i];
  }
}

/** Mean and standard deviation of d numbers, with the small constant of torch's LayerNorm. */
function spread(X, start, d) {
  let mean = 0, square = 0;
  for (let i = start; i < start + d; i++) mean += X[i] / d;
  for (let i = start; i < start + d; i++) square += (X[i] - mean) ** 2 / d;
  return { mean, sd: Math.sqrt(square + 1e-5) };
}

/** x times the normal distribution function; erf by Abramowitz and Stegun, 7.1.26, good to 1.5e-7. */
function gelu(x) {
  const z = Math.abs(x) * Math.SQRT1_2;
  const t = 1 / (1 + 0.3275911 * z);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = 1 - series * Math.exp(-z * z);
  return 0.5 * x * (1 + (x < 0 ? -erf : erf));
}

/** Turn scores into weights that sum to 1; a score of -Infinity gets exactly 0. */
export function softmax(scores, temperature = 1) {
  const weights = Float64Array.from(scores);
  const largest = Math.max(...weights);
  let total = 0;
  for (let i = 0; i < weights.length; i++) {
    weights[i] = temperature === 0 ? +(weights[i] === largest) : Math.exp((weights[i] - largest) / temperature);
    total += weights[i];
  }
  return weights.map((weight) => weight / total);
}

export class Model {
  constructor(buffer) {
    const { tensors, about } = parseSafetensors(buffer);
    this.about = about; // config, characters, excerpt
    Object.assign(this, about.config); // vocab_size, d, n_h, n_l, T_max
    this.d_k = this.d / this.n_h;
    this.weights = tensors;
  }

  layer(number) {
    return (name) => this.weights[`blocks.${number}.${name}`];
  }
}

/** Which parts of the model are switched off; nothing is, by default. */
export const TRAINED = { mask: false, scaling: false, positions: false, residual: false, heads: [] };

/**
 * A text as the model reads it, with every number on the way.
 *
 * Rows that were computed stay: under the causal mask a position never changes when a character is
 * appended, so `extend` computes the new rows alone. That is the key-value cache.
 */
export class Reading {
  /** `off.heads` lists heads as [layer, head], from 0. */
  constructor(model, off = TRAINED) {
    const { d, n_h, n_l, T_max, vocab_size } = model;
    this.model = model;
    this.off = { ...TRAINED, ...off };
    this.silent = new Set(this.off.heads.map(([layer, head]) => layer * n_h + head));
    this.T = 0;
    this.ids = new Int32Array(T_max);
    const rows = (width) => new Float32Array(T_max * width);
    this.streams = Array.from({ length: n_l + 1 }, () => rows(d)); // before each layer, after the last
    this.layers = Array.from({ length: n_l }, () => ({
      norm_1: rows(d), Q: rows(d), K: rows(d), V: rows(d),
      A: Array.from({ length: n_h }, () => new Float32Array(T_max * T_max)),
      V_bar: rows(d), attention: rows(d), middle: rows(d),
      norm_2: rows(d), hidden: rows(4 * d), ffn: rows(d),
    }));
    this.norm_f = rows(d);
    this.logits = rows(vocab_size);
  }

  /** Read more characters, given by their numbers. */
  extend(ids) {
    const { d, n_l, T_max, vocab_size, weights } = this.model;
    if (this.T + ids.length > T_max) throw new RangeError(`the model reads at most ${T_max} characters at once`);
    if (this.off.mask && this.T) throw new Error("without the mask every row changes: begin a new reading");
    const from = this.T, to = from + ids.length;
    this.ids.set(ids, from);
    this.T = to;
    const [tokens, positions, first] = [weights["tok_emb.weight"], weights["pos_emb.weight"], this.streams[0]];
    for (let t = from; t < to; t++) {
      if (!(this.ids[t] < vocab_size)) throw new RangeError(`there is no character number ${this.ids[t]}`);
      for (let i = 0; i < d; i++) {
        first[t * d + i] = tokens[this.ids[t] * d + i] + (this.off.positions ? 0 : positions[t * d + i]); // (8)
      }
    }
    for (let l = 0; l < n_l; l++) this.block(l, from, to);
    layerNorm(this.streams[n_l], weights["norm_f.weight"], weights["norm_f.bias"], this.norm_f, from, to, d);
    linear(this.norm_f, weights["W_o.weight"], weights["W_o.bias"], this.logits, from, to, d, vocab_size); // (14)
    return this;
  }

  /** One pre-norm block, equation 12. */
  block(l, from, to) {
    const { d, n_h } = this.model;
    const [W, at] = [this.model.layer(l), this.layers[l]];
    const [H, next] = [this.streams[l], this.streams[l + 1]];
    const stream = this.off.residual ? 0 : 1;
    layerNorm(H, W("norm_1.weight"), W("norm_1.bias"), at.norm_1, from, to, d);
    for (const name of ["Q", "K", "V"]) linear(at.norm_1, W(`attn.W_${name}.weight`), null, at[name], from, to, d, d);
    for (let head = 0; head < n_h; head++) this.attend(l, head, from, to);
    linear(at.V_bar, W("attn.W_proj.weight"), W("attn.W_proj.bias"), at.attention, from, to, d, d); // (7)
    for (let i = from * d; i < to * d; i++) at.middle[i] = stream * H[i] + at.attention[i];
    layerNorm(at.middle, W("norm_2.weight"), W("norm_2.bias"), at.norm_2, from, to, d);
    linear(at.norm_2, W("ffn.W_1.weight"), W("ffn.W_1.bias"), at.hidden, from, to, d, 4 * d); // (10)
    for (let i = from * 4 * d; i < to * 4 * d; i++) at.hidden[i] = gelu(at.hidden[i]);
    linear(at.hidden, W("ffn.W_2.weight"), W("ffn.W_2.bias"), at.ffn, from, to, 4 * d, d);
    for (let i = from * d; i < to * d; i++) next[i] = stream * at.middle[i] + at.ffn[i];
  }

  /** The scores of one row before the softmax: products, divided, masked (equations 3 and 6). */
  scores(l, head, t) {
    const { d, d_k } = this.model;
    const { Q, K } = this.layers[l];
    const divisor = this.off.scaling ? 1 : Math.sqrt(d_k);
    const products = Float64Array.from({ length: this.T }, (_, i) => {
      let sum = 0;
      for (let j = head * d_k; j < (head + 1) * d_k; j++) sum += Q[t * d + j] * K[i * d + j];
      return sum;
    });
    const scaled = products.map((product) => product / divisor);
    const masked = scaled.map((score, i) => (i <= t || this.off.mask ? score : -Infinity));
    return { products, scaled, masked };
  }

  /** One head of one layer, equation 4, row by row. */
  attend(l, head, from, to) {
    const { d, d_k, T_max, n_h } = this.model;
    const { Q, K, V, V_bar, A } = this.layers[l];
    const [weights, first] = [A[head], head * d_k];
    const scale = this.off.scaling ? 1 : 1 / Math.sqrt(d_k);
    const silent = this.silent.has(l * n_h + head);
    for (let t = from; t < to; t++) {
      const readable = this.off.mask ? this.T : t + 1; // what lies beyond keeps its weight of 0
      const row = t * T_max;
      let largest = -Infinity, total = 0;
      for (let i = 0; i < readable; i++) {
        let score = 0;
        for (let j = first; j < first + d_k; j++) score += Q[t * d + j] * K[i * d + j];
        weights[row + i] = score * scale;
        if (score * scale > largest) largest = score * scale;
      }
      for (let i = 0; i < readable; i++) total += weights[row + i] = Math.exp(weights[row + i] - largest);
      for (let i = 0; i < readable; i++) weights[row + i] /= total;
      const out = t * d + first;
      V_bar.fill(0, out, out + d_k);
      if (silent) continue;
      for (let i = 0; i < readable; i++) {
        const alpha = weights[row + i];
        for (let j = 0; j < d_k; j++) V_bar[out + j] += alpha * V[i * d + first + j];
      }
    }
  }

  /** The logits after position t, (V). */
  after(t) {
    const V = this.model.vocab_size;
    return this.logits.slice(t * V, (t + 1) * V);
  }

  /** The weights of every head, (n_l · n_h · T · T), without the unused room. */
  maps() {
    const { T_max, n_h } = this.model;
    const T = this.T;
    const all = new Float32Array(this.layers.length * n_h * T * T);
    this.layers.forEach(({ A }, l) =>
      A.forEach((weights, head) => {
        for (let t = 0; t < T; t++) {
          all.set(weights.subarray(t * T_max, t * T_max + T), ((l * n_h + head) * T + t) * T);
        }
      }),
    );
    return all;
  }

  /** Mean of -log p of the characters that came, equation 15; `targets[t]` follows position t. */
  loss(targets) {
    let sum = 0;
    for (let t = 0; t < this.T; t++) sum -= Math.log(softmax(this.after(t))[targets[t]]);
    return sum / this.T;
  }

  /** What the output layer would predict from the stream after each layer, (n_l + 1) rows of V. */
  lens(t) {
    const { d, vocab_size, weights } = this.model;
    return this.streams.map((H) => {
      const row = H.slice(t * d, (t + 1) * d);
      const [normed, logits] = [new Float32Array(d), new Float32Array(vocab_size)];
      layerNorm(row, weights["norm_f.weight"], weights["norm_f.bias"], normed, 0, 1, d);
      linear(normed, weights["W_o.weight"], weights["W_o.bias"], logits, 0, 1, d, vocab_size);
      return softmax(logits);
    });
  }

  /** Every number on the way of position t through one head, and its stream layer by layer. */
  steps(t, l, head) {
    const { d, d_k, T_max, weights } = this.model;
    const at = this.layers[l];
    const row = (X) => X.slice(t * d, (t + 1) * d);
    const part = (X, i = t) => X.slice(i * d + head * d_k, i * d + (head + 1) * d_k);
    const token = this.ids[t];
    const norm = (X) => Math.sqrt(row(X).reduce((sum, x) => sum + x * x, 0));
    return {
      embedding: weights["tok_emb.weight"].slice(token * d, (token + 1) * d),
      position: this.off.positions ? new Float32Array(d) : weights["pos_emb.weight"].slice(t * d, (t + 1) * d),
      input: row(this.streams[0]),
      stream: row(this.streams[l]),
      normed: row(at.norm_1),
      query: part(at.Q),
      keys: Array.from({ length: this.T }, (_, i) => part(at.K, i)),
      values: Array.from({ length: this.T }, (_, i) => part(at.V, i)),
      ...this.scores(l, head, t),
      weights: at.A[head].slice(t * T_max, t * T_max + this.T),
      average: part(at.V_bar),
      byLayer: this.layers.map((layer, number) => ({
        before: norm(this.streams[number]),
        ...spread(this.streams[number], t * d, d),
        attention: norm(layer.attention),
        middle: norm(layer.middle),
        ffn: norm(layer.ffn),
        after: norm(this.streams[number + 1]),
      })),
      lens: this.lens(t),
    };
  }
}
