// The live page: reads the state once, then events, and shows both.

import { Chart, withGaps } from "./charts.js";
import { $, ask, count, duration, enter, exact, fixed, listen, millis, number, percent, setText } from "./core.js";
import { features, matter } from "./features.js";
import * as panels from "./panels.js";
import { facts } from "./tables.js";

const WIDTHS = { fine: 10, middle: 60, coarse: 600 };
const CLASSES = 16;
const share = { text: (v) => percent(v, 0), range: [null, 1] };
const amount = { text: number, range: [0, null] };
const charts = {
  quality: new Chart($("c-quality"), { axis: share, marks: true }),
  recall: new Chart($("c-recall"), { axis: share, marks: true }),
  estimated: new Chart($("c-estimated"), { axis: share, marks: true }),
  labels: new Chart($("c-labels"), { axis: amount }),
  shadows: new Chart($("c-shadows"), { axis: share, marks: true }),
  speed: new Chart($("c-speed"), { axis: amount }),
  latency: new Chart($("c-latency"), { axis: { text: millis, range: [0, null] } }),
};
const fine = (value) => percent(value, 1);

let ring = "fine";
let state = null;
let history = null;
let me = { role: "predict" };
let stop = null;

// -- numbers over time ----------------------------------------------------------------------------------------------

function column(name) {
  return history[name] ?? [];
}

function quotient(above, below) {
  const [a, b] = [column(above), column(below)];
  return a.map((v, r) => (b[r] ? v / b[r] : null));
}

function draw(chart, series) {
  const [at, columns] = withGaps(
    history.at,
    series.map((s) => s.data),
    WIDTHS[ring],
  );
  chart.show(at, series, columns, state.events);
}

function showHistory() {
  if (!history || !state || document.hidden) return;
  const per = (name) => column(name).map((v) => v / WIDTHS[ring]);
  const classes = state.model.classes.slice(0, CLASSES);
  draw(charts.quality, [
    { label: "accuracy", data: column("accuracy"), width: 2.5, colour: 0, value: fine },
    { label: "kappa", data: column("kappa"), colour: 3, value: (v) => fixed(v) },
    { label: "no-change rule", data: column("no_change"), colour: "--muted", dash: [6, 4], value: fine },
    { label: "majority rule", data: column("majority"), colour: "--muted", dash: [2, 3], width: 1.25, value: fine },
  ]);
  draw(
    charts.recall,
    classes.map((label, c) => ({ label: String(label), data: column(`recall_${c}`), value: fine, colour: c })),
  );
  draw(charts.estimated, [
    { label: "estimated", data: quotient("confidence", "records"), colour: "--muted", dash: [6, 4], value: fine },
    { label: "true, as labels come", data: quotient("known_right", "known"), colour: 0, width: 2.5, value: fine },
  ]);
  draw(charts.labels, [
    { label: "wanted", data: column("wanted_open"), colour: 1, width: 2.25, value: exact },
    { label: "all records that wait", data: column("open"), colour: "--muted", dash: [6, 4], value: exact },
  ]);
  draw(charts.shadows, [
    { label: `${state.model.name} (champion)`, data: column("accuracy"), colour: 0, width: 2.5, value: fine },
    ...state.shadows
      .slice(0, 4)
      .map((one, k) => ({ label: one.name, data: column(`shadow_${k}`), colour: k + 1, value: fine })),
  ]);
  $("c-shadows").hidden = !state.shadows.length;
  draw(charts.speed, [
    { label: "records/s", data: per("records"), colour: 0, width: 2 },
    { label: "requests/s", data: per("requests"), colour: 2 },
    { label: "labels/s", data: per("labels"), colour: 1 },
    { label: "errors/s", data: per("errors"), colour: "--drift", dash: [3, 3] },
  ]);
  draw(charts.latency, [
    { label: "p50", data: column("latency_p50"), colour: 0 },
    { label: "p99", data: column("latency_p99"), colour: 1 },
  ]);
}

function addHistory(steps) {
  if (ring !== "fine" || !history) return;
  const names = Object.keys(steps).filter((name) => name !== "at");
  steps.at.forEach((at, k) => {
    let place = history.at.indexOf(at);
    if (place < 0) {
      place = history.at.push(at) - 1;
      for (const name of Object.keys(history)) if (name !== "at") history[name].push(null);
    }
    for (const name of names) {
      history[name] ??= new Array(history.at.length).fill(null);
      history[name][place] = steps[name][k];
    }
  });
  const extra = history.at.length - 360;
  if (extra > 0) for (const name of Object.keys(history)) history[name].splice(0, extra);
  showHistory();
}

async function readAll() {
  const found = await ask(`v1/state?ring=${ring}`);
  ({ history, ...state } = found);
  show();
  showHistory();
}

// -- this moment ----------------------------------------------------------------------------------------------------

function show() {
  if (document.hidden) return;
  const s = state;
  document.title = `${s.alarms.length ? `(${s.alarms.length}) ` : ""}${s.model.name} · thalweg`;
  setText($("model"), s.model.name);
  setText(
    $("model-more"),
    `${s.model.class} · ${count(s.model.features)} features · ${count(s.model.classes.length)} classes`,
  );
  setText(
    $("window"),
    `last ${exact(s.metrics.window)} labels; all ${exact(s.overall.labels)}: ${percent(s.overall.accuracy)}`,
  );
  $("desk-open").hidden = !s.labels.wanted_open;
  setText($("desk-open"), count(s.labels.wanted_open));
  panels.alarms($("alarms"), s.alarms);
  panels.tiles($("tiles"), s);
  panels.confusion($("confusion"), s);
  panels.shares($("shares"), s);
  features($("features"), s);
  matter($("matter"), s);
  panels.labels($("labels"), $("budget"), s);
  panels.experts($("experts"), s);
  panels.shadows($("shadows"), s, me.role === "admin", promote);
  panels.members($("members"), $("members-more"), s);
  panels.memory($("memory"), s);
  facts($("version"), [
    ["Version", exact(s.version)],
    ["Journal", exact(s.position), "entries"],
    ["Behind", exact(s.lag.entries), "entries"],
    ["Sync", s.disk.sync],
  ]);
  panels.events($("events"), s);
  setText(
    $("foot"),
    `Up for ${duration(s.now - s.started)} · snapshots at ${s.snapshots.map(exact).join(", ") || "none"}`,
  );
}

function live(what) {
  const texts = { live: "Connected", lost: "Reconnecting…", token: "Token needed" };
  setText($("live"), texts[what]);
  $("live").className = `pill ${what}`;
  if (what === "token") begin();
  if (what === "live") readAll().catch(() => {});
}

// -- promotion ------------------------------------------------------------------------------------------------------

function promote(one) {
  const dialog = $("promote-dialog");
  setText($("promote-title"), `Promote ${one.name}?`);
  setText(
    $("promote-text"),
    `It will answer in place of ${state.model.name}, which learns on as a shadow. ` +
      `Accuracy over the window: ${percent(one.accuracy)} against ${percent(state.metrics.accuracy)}.`,
  );
  setText($("promote-error"), "");
  $("promote-no").onclick = () => dialog.close();
  $("promote-form").onsubmit = async (event) => {
    event.preventDefault();
    try {
      await ask("v1/model/promote", { name: one.name, why: "promoted on the live page" });
      dialog.close();
      $("shadows").dataset.said = "";
      await readAll();
    } catch (error) {
      setText($("promote-error"), error.message);
    }
  };
  dialog.showModal();
}

// -- start ----------------------------------------------------------------------------------------------------------

async function begin() {
  stop?.();
  me = await enter("predict");
  stop = listen(
    {
      state: (found) => {
        state = found;
        show();
      },
      history: addHistory,
      drift: () => readAll().catch(() => {}),
      promotion: () => readAll().catch(() => {}),
      rollback: () => readAll().catch(() => {}),
    },
    live,
  );
}

$("rings").addEventListener("change", (event) => {
  ring = event.target.value;
  readAll().catch(() => {});
});
setInterval(() => ring !== "fine" && !document.hidden && readAll().catch(() => {}), 30000);
document.addEventListener("visibilitychange", () => !document.hidden && state && readAll().catch(() => {}));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
  Object.values(charts).forEach((chart) => chart.repaint()),
);
begin();
