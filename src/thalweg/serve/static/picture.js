// Records that are tensors, as pictures.

import { el } from "./core.js";

const flat = (value) => (Array.isArray(value) ? value.flatMap(flat) : [value]);

/** The slices of a tensor as rows of pixels; three values side by side in the last mode are a colour. */
function slices(record, shape) {
  if (shape.length === 1) return [[record]];
  if (shape.length === 2) return [record];
  if (shape.length === 3 && (shape[2] === 3 || shape[2] === 4)) return [record];
  return shape.length === 3 ? record : record.flatMap((part) => slices(part, shape.slice(1)));
}

export function picture(record, shape) {
  const values = flat(record).filter((v) => v !== null);
  const low = Math.min(0, ...values);
  const high = Math.max(...values, low + 1e-9);
  const parts = slices(record, shape).slice(0, 16);
  const [height, width] = [parts[0].length, parts[0][0].length];
  const across = Math.ceil(Math.sqrt(parts.length));
  const down = Math.ceil(parts.length / across);
  const canvas = el("canvas", {
    class: "picture",
    role: "img",
    width: across * (width + 1) - 1,
    height: down * (height + 1) - 1,
    "aria-label": `Picture of ${shape.join(" by ")} values between ${low} and ${high}`,
  });
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const grey = (v) => (v === null ? 128 : Math.round((255 * (v - low)) / (high - low)));
  parts.forEach((part, k) => {
    const [left, top] = [(k % across) * (width + 1), Math.floor(k / across) * (height + 1)];
    part.forEach((row, r) =>
      row.forEach((pixel, c) => {
        const at = 4 * ((top + r) * canvas.width + left + c);
        const colours = Array.isArray(pixel) ? pixel.slice(0, 3).map(grey) : [grey(pixel), grey(pixel), grey(pixel)];
        image.data.set([...colours, 255], at);
      }),
    );
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
