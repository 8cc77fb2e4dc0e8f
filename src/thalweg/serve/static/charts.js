// Lines over time, drawn by uPlot, with marks for events, and a table of the same numbers for whoever prefers one.

import { NONE, clock, el, fill, setText } from "./core.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const HEIGHT = 210;

/** Colours of series by place. */
export const colour = (place) => css(`--series-${place % 8}`);

function drawMarks(plot, marks) {
  const { ctx, bbox } = plot;
  ctx.save();
  const ratio = devicePixelRatio;
  for (const mark of marks) {
    const x = plot.valToPos(mark.at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = css(mark.kind === "drift" ? "--drift" : "--promotion");
    ctx.lineWidth = ratio;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    if (mark.kind === "drift") {
      ctx.moveTo(x - 4.5 * ratio, bbox.top);
      ctx.lineTo(x + 4.5 * ratio, bbox.top);
      ctx.lineTo(x, bbox.top + 7 * ratio);
    } else {
      ctx.arc(x, bbox.top + 4 * ratio, 4 * ratio, 0, 2 * Math.PI);
    }
    ctx.fill();
  }
  ctx.restore();
}

/** A chart inside a figure that has .plot, .legend and, if wanted, details.table. */
export class Chart {
  /** series: a list of { label, colour (a place or a name), dash, width, value (a number as text) }.
   *  axis: { text: a number as text, range: [low, high] with null for what the numbers say }. */
  constructor(figure, { axis, marks = false }) {
    this.figure = figure;
    this.place = figure.querySelector(".plot");
    this.legend = figure.querySelector(".legend");
    this.details = figure.querySelector("details");
    this.axis = axis;
    this.wantsMarks = marks;
    this.marks = [];
    this.series = [];
    this.data = [[]];
    this.hidden = new Set();
    this.details?.addEventListener("toggle", () => this.writeTable());
    new ResizeObserver(() => this.resize()).observe(this.place);
  }

  resize() {
    const width = Math.floor(this.place.clientWidth);
    if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  /** Show numbers: times, series, and a list of numbers for each of them. */
  show(at, series, columns, marks = []) {
    const same = series.length === this.series.length && series.every((s, k) => s.label === this.series[k].label);
    [this.series, this.data, this.marks] = [series, [at, ...columns], this.wantsMarks ? marks : []];
    const enough = columns.some((column) => column.filter((v) => v !== null).length > 1);
    this.figure.classList.toggle("empty", !enough);
    this.place.setAttribute("aria-label", this.inWords());
    if (!enough) return;
    if (!this.plot || !same) this.make();
    else this.plot.setData(this.data);
    this.now();
    if (this.details?.open) this.writeTable();
  }

  make() {
    this.plot?.destroy();
    const ink = css("--muted");
    const font = "12px system-ui, sans-serif";
    const { text, range } = this.axis;
    this.plot = new uPlot(
      {
        width: Math.max(200, Math.floor(this.place.clientWidth)),
        height: HEIGHT,
        legend: { show: false },
        padding: [10, 22, 0, 0],
        cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
        scales: { x: { time: true }, y: { range: (_plot, low, high) => limits(range, low, high) } },
        axes: [
          {
            stroke: ink,
            font,
            ticks: { show: false },
            grid: { show: false },
            size: 26,
            space: 70,
            values: (_plot, splits, _axis, _space, step) => splits.map((at) => clock(at, step < 60)),
          },
          {
            stroke: ink,
            font,
            ticks: { show: false },
            grid: { stroke: css("--grid"), width: 1 },
            size: 52,
            space: 34,
            values: (_plot, splits) => splits.map(text),
          },
        ],
        series: [
          {},
          ...this.series.map((s, k) => ({
            label: s.label,
            stroke: this.ink(s, k),
            width: s.width ?? 1.75,
            dash: s.dash,
            points: { show: false },
            show: !this.hidden.has(s.label),
            fill: s.fill ? css(s.fill) : undefined,
          })),
        ],
        hooks: { draw: [(plot) => drawMarks(plot, this.marks)], setCursor: [() => this.now()] },
      },
      this.data,
      this.place,
    );
    if (this.legend) this.writeLegend();
  }

  ink(s, k) {
    return typeof s.colour === "string" ? css(s.colour) : colour(s.colour ?? k);
  }

  writeLegend() {
    this.values = this.series.map(() => el("b", {}));
    fill(
      this.legend,
      this.series.map((s, k) =>
        el(
          "button",
          {
            type: "button",
            "aria-pressed": String(!this.hidden.has(s.label)),
            class: s.dash ? "dashed" : "",
            vars: { "--swatch": this.ink(s, k) },
            title: `Show or hide ${s.label}`,
            on: { click: (event) => this.toggle(s.label, k, event.currentTarget) },
          },
          el("i", {}),
          el("span", {}, s.label),
          this.values[k],
        ),
      ),
    );
  }

  toggle(label, k, button) {
    const hide = !this.hidden.has(label);
    if (hide) this.hidden.add(label);
    else this.hidden.delete(label);
    button.setAttribute("aria-pressed", String(!hide));
    this.plot.setSeries(k + 1, { show: !hide });
  }

  /** Write the numbers under the cursor, or the latest, into the legend. */
  now() {
    if (!this.values || this.values.length !== this.series.length || !this.legend) return;
    const at = this.plot?.cursor.idx ?? null;
    this.series.forEach((s, k) => {
      const column = this.data[k + 1];
      const value = at !== null ? column[at] : last(column);
      setText(this.values[k], value === null || value === undefined ? NONE : (s.value ?? this.axis.text)(value));
    });
  }

  inWords() {
    const said = this.series
      .map((s, k) => {
        const there = this.data[k + 1].filter((v) => v !== null);
        if (!there.length) return null;
        const text = s.value ?? this.axis.text;
        return `${s.label} ${text(there.at(-1))}, between ${text(Math.min(...there))} and ${text(Math.max(...there))}`;
      })
      .filter(Boolean);
    const drifts = this.marks.filter((mark) => mark.kind === "drift").length;
    return `${said.join("; ") || "no numbers yet"}${this.wantsMarks ? `; drifts: ${drifts}` : ""}`;
  }

  writeTable() {
    if (!this.details?.open) return;
    const [at, ...columns] = this.data;
    const rows = at
      .map((_, r) => r)
      .filter((r) => columns.some((c) => c[r] !== null))
      .reverse()
      .slice(0, 60);
    const head = el(
      "tr",
      {},
      el("th", { scope: "col" }, "Time"),
      this.series.map((s) => el("th", { scope: "col" }, s.label)),
    );
    const body = rows.map((r) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, clock(at[r])),
        columns.map((c, k) => el("td", {}, c[r] === null ? NONE : (this.series[k].value ?? this.axis.text)(c[r]))),
      ),
    );
    fill(this.details.querySelector(".scroll"), el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
  }

  /** Draw again in the colours of the present scheme. */
  repaint() {
    if (this.plot) this.make();
  }
}

function last(column) {
  for (let k = column.length - 1; k >= 0; k--) if (column[k] !== null && column[k] !== undefined) return column[k];
  return null;
}

function limits([least, most], low, high) {
  if (low === null || low === undefined) return [least ?? 0, most ?? 1];
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  const from = least !== null && least !== undefined ? Math.max(least, low - room) : low - room;
  const to = most !== null && most !== undefined ? Math.min(most, high + room) : high + room;
  return [from, to > from ? to : from + 1];
}

/** Put gaps into series of numbers where no step was kept for a while. */
export function withGaps(at, columns, width) {
  const [times, found] = [[], columns.map(() => [])];
  at.forEach((t, r) => {
    if (r && t - at[r - 1] > 6.5 * width) {
      times.push(at[r - 1] + width);
      found.forEach((column) => column.push(null));
    }
    times.push(t);
    columns.forEach((column, k) => found[k].push(column?.[r] ?? null));
  });
  return [times, found];
}
