// Small parts of tables.

import { el, fill } from "./core.js";

export const cell = (text, attributes = {}) => el("td", attributes, text);
const head = (text, attributes = {}) => el("th", { scope: "col", ...attributes }, text);
export const rowHead = (text) => el("th", { scope: "row" }, text);
export const bar = (share, kind = "") =>
  el("span", {
    class: `bar ${kind}`,
    "aria-hidden": "true",
    vars: { "--part": String(Math.max(0, Math.min(1, share || 0))) },
  });

export function table(caption, titles, rows, kind = "") {
  return el(
    "table",
    { class: kind },
    el("caption", { class: "unseen" }, caption),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        titles.map((title) => head(title)),
      ),
    ),
    el("tbody", {}, rows),
  );
}

export const facts = (place, pairs) =>
  fill(
    place,
    pairs.map(([term, text, more]) =>
      el("div", {}, el("dt", {}, term), el("dd", {}, text, more ? el("small", {}, ` ${more}`) : null)),
    ),
  );
