// Pictures on a canvas. Each caller gives the canvas its text alternative.

/** Make an element: `element("p", {class: "note"}, "words")`; properties of functions are listeners. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A number with so many decimals and a real minus sign. */
export const fixed = (x, digits = 2) => (x === -Infinity ? "−∞" : x.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−"));

const rgb = (canvas, name) => getComputedStyle(canvas).getPropertyValue(name).trim().split(/[ ,]+/).map(Number);

/** One map of T × T weights, a pixel each. The root brings small weights out. */
export function smallMap(canvas, weights, T) {
  if (canvas.width !== T) canvas.width = canvas.height = T;
  const context = canvas.getContext("2d");
  const image = context.createImageData(T, T);
  const [red, green, blue] = rgb(canvas, "--weight");
  for (let i = 0; i < T * T; i++) image.data.set([red, green, blue, 255 * Math.sqrt(weights[i])], 4 * i);
  context.putImageData(image, 0, 0);
  canvas.classList.toggle("coarse", T <= 64);
}

/** One map enlarged: hatched where nothing may be read, with letters where there is room. */
export function largeMap(canvas, small, text, { row, masked }) {
  const T = text.length;
  const side = canvas.clientWidth || 400;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.height = Math.round(side * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const margin = T <= 40 ? 16 : 4;
  const cell = (side - margin - 2) / T;
  const ink = getComputedStyle(canvas).color;
  if (masked) {
    context.save();
    context.beginPath();
    for (let t = 0; t < T - 1; t++) context.rect(margin + (t + 1) * cell, margin + t * cell, side, cell);
    context.clip();
    context.strokeStyle = ink;
    context.globalAlpha = 0.25;
    context.lineWidth = 1;
    context.beginPath();
    for (let x = -side; x < side; x += 6) {
      context.moveTo(x, 0);
      context.lineTo(x + side, side);
    }
    context.stroke();
    context.restore();
  }
  context.imageSmoothingEnabled = false;
  context.drawImage(small, margin, margin, cell * T, cell * T);
  context.strokeStyle = ink;
  context.globalAlpha = 0.4;
  context.strokeRect(margin, margin, cell * T, cell * T);
  context.globalAlpha = 1;
  context.lineWidth = 2;
  context.strokeRect(margin - 1, margin + row * cell, cell * T + 2, cell);
  if (margin > 4) {
    context.fillStyle = ink;
    context.font = `${Math.min(12, cell)}px ui-monospace, monospace`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    [...text].forEach((character, i) => {
      context.fillText(character, 7, margin + (i + 0.5) * cell);
      context.fillText(character, margin + (i + 0.5) * cell, 7);
    });
  }
  /** Which cell lies under a point of the canvas. */
  return (x, y) => {
    const at = (place) => Math.min(T - 1, Math.max(0, Math.floor((place - margin) / cell)));
    return { t: at(y), i: at(x) };
  };
}

/** Numbers as a row of bars up and down, negative ones in the other colour. */
export function strip(canvas, numbers) {
  const [width, height] = [numbers.length * 6, 48];
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const largest = Math.max(1e-9, ...numbers.map(Math.abs));
  numbers.forEach((x, i) => {
    context.fillStyle = `rgb(${rgb(canvas, x < 0 ? "--negative" : "--weight").join(" ")})`;
    const length = (Math.abs(x) / largest) * (height / 2);
    context.fillRect(i * 6, x < 0 ? height / 2 : height / 2 - length, 5, length);
  });
}
