// What is known of the features: how far they drift, and how much they matter.

import { NONE, el, fill, number } from "./core.js";
import { bar, cell, rowHead, table } from "./tables.js";

export function features(place, s) {
  const found = s.features.slice(0, 10);
  if (!found.length) return fill(place, el("p", { class: "muted" }, "No record has come yet."));
  const most = Math.max(...found.map((f) => f.drift ?? 0), 1e-9);
  const matters = Math.max(...s.features.map((f) => f.importance ?? 0), 1e-9);
  const rows = found.map((f) =>
    el(
      "tr",
      {},
      rowHead(f.name),
      cell([number(f.drift), bar((f.drift ?? 0) / most, "drifts")], { class: "barred" }),
      cell(f.importance === null ? NONE : [number(f.importance), bar(f.importance / matters, "matters")], {
        class: "barred",
      }),
      cell(f.low === null ? NONE : `${number(f.low)} to ${number(f.high)}`),
    ),
  );
  return fill(
    place,
    table("Features, the most drifting first", ["Feature", "Drift", "Importance", "Usual range"], rows),
  );
}

const SVG = "http://www.w3.org/2000/svg";
function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** Features as points: what drifts, and matters, is at the top right. */
export function matter(place, s) {
  const found = s.features.filter((f) => f.importance !== null && f.drift !== null);
  if (!found.length)
    return fill(
      place,
      el(
        "p",
        { class: "muted" },
        s.features.length
          ? "This learner does not say which features are important to it."
          : "No record has come yet.",
      ),
    );
  const [width, height, left, low] = [420, 240, 46, 34];
  const mostX = Math.max(...found.map((f) => f.importance), 1e-9) * 1.08;
  const mostY = Math.max(...found.map((f) => f.drift), 1e-9) * 1.12;
  const x = (v) => left + (v / mostX) * (width - left - 16);
  const y = (v) => height - low - (v / mostY) * (height - low - 14);
  const picture = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Drift against importance of ${found.length} features; the table beside it has the numbers.`,
      class: "points",
    },
    svg("rect", {
      x: x(mostX / 2),
      y: y(mostY),
      width: x(mostX) - x(mostX / 2),
      height: y(mostY / 2) - y(mostY),
      class: "zone",
    }),
    svg("text", { x: x(mostX) - 6, y: y(mostY / 2) - 7, class: "hint", "text-anchor": "end" }, "drifts and matters"),
    svg("path", { d: `M${left} ${y(mostY)}V${height - low}H${x(mostX)}`, class: "axis" }),
    svg("text", { x: (left + x(mostX)) / 2, y: height - 8, "text-anchor": "middle" }, "importance →"),
    svg(
      "text",
      { x: 0, y: 0, transform: `translate(14 ${(height - low) / 2}) rotate(-90)`, "text-anchor": "middle" },
      "drift →",
    ),
  );
  const weight = (f) => (f.drift / mostY) * 1.2 + f.importance / mostX;
  const told = new Set([...found].sort((a, b) => weight(b) - weight(a)).slice(0, 7));
  const taken = [];
  for (const f of found) {
    const [px, py] = [x(f.importance), y(f.drift)];
    picture.append(
      svg(
        "circle",
        { cx: px, cy: py, r: 5, class: "point" },
        svg("title", {}, `${f.name}: drift ${number(f.drift)}, importance ${number(f.importance)}`),
      ),
    );
    if (told.has(f) && !taken.some(([a, b]) => Math.abs(a - px) < 60 && Math.abs(b - py) < 12)) {
      taken.push([px, py]);
      const end = px > width - 120;
      picture.append(
        svg(
          "text",
          { x: px + (end ? -9 : 9), y: py + 4, class: "name", "text-anchor": end ? "end" : "start" },
          f.name.slice(0, 18),
        ),
      );
    }
  }
  return fill(place, picture);
}
