// The parts of the live page that are no lines over time: tables, bars and small pictures of one moment.

import { NONE, bytes, clock, count, duration, el, exact, fill, fixed, number, percent } from "./core.js";
import { bar, cell, facts, rowHead, table } from "./tables.js";

const name = (label) => (label === null ? NONE : String(label));

const ALARMS = {
  drift: "Drift",
  accuracy: "Accuracy",
  no_labels: "No labels",
  budget: "Budget",
  schema: "Form of records",
  disk: "Disk",
};

export function alarms(place, on) {
  const said = JSON.stringify(on.map((a) => [a.name, a.since, a.text]));
  if (place.dataset.said === said) return;
  place.dataset.said = said;
  fill(
    place,
    on.map((alarm) =>
      el(
        "li",
        { class: `alarm ${alarm.name}` },
        el("strong", {}, ALARMS[alarm.name] ?? alarm.name),
        el("span", {}, alarm.text),
        el("time", {}, `since ${clock(alarm.since)}`),
      ),
    ),
  );
}

export function tiles(place, s) {
  const { metrics: m, labels: l, speed: v } = s;
  const ahead = m.accuracy !== null && m.no_change !== null ? 100 * (m.accuracy - m.no_change) : null;
  const all = [
    [
      "Accuracy",
      percent(m.accuracy),
      ahead === null
        ? `last ${count(m.window)} labels`
        : `${ahead >= 0 ? "+" : "−"}${Math.abs(ahead).toFixed(1)} points to no-change`,
      ahead !== null && ahead < 0,
    ],
    ["Kappa", fixed(m.kappa), `${exact(s.overall.labels)} labels in all`],
    ["Estimated", percent(s.estimated.accuracy), `${count(s.estimated.records)} answers wait for labels`],
    [
      "Labels wanted",
      count(l.wanted_open),
      l.oldest_wanted === null ? "none is open" : `oldest ${duration(l.oldest_wanted)}`,
    ],
    ["Records", `${number(v.records_per_second)}/s`, `${number(v.requests_per_second)} requests/s`],
    [
      "Latency p99",
      v.latency.p99 === null ? NONE : `${number(v.latency.p99)} ms`,
      `p50 ${number(v.latency.p50)} · p90 ${number(v.latency.p90)}`,
    ],
    ["Drifts", exact(s.drifts), s.events.length ? `last ${clock(s.events.at(-1).at, false)}` : "none so far"],
    ["Lag", `${count(s.lag.rows)} rows`, s.lag.seconds < 1 ? "up to date" : `version ${duration(s.lag.seconds)} old`],
  ];
  if (place.childElementCount !== all.length)
    fill(
      place,
      all.map(() =>
        el("div", { class: "tile" }, el("dt", {}), el("dd", { class: "value" }), el("dd", { class: "more" })),
      ),
    );
  all.forEach(([term, value, more, bad], k) => {
    const tile = place.children[k];
    [term, value, more].forEach((text, i) => {
      if (tile.children[i].textContent !== text) tile.children[i].textContent = text;
    });
    tile.classList.toggle("bad", Boolean(bad));
  });
}

export function confusion(place, s) {
  const names = s.model.classes.map(name);
  const counts = s.confusion;
  if (!counts.length) return fill(place, el("p", { class: "muted" }, "No label has come yet."));
  const shown = names.slice(0, 20);
  const rows = shown.map((label, r) => {
    const total = counts[r]?.reduce((a, b) => a + b, 0) || 0;
    return el(
      "tr",
      {},
      rowHead(label),
      shown.map((_, c) => {
        const n = counts[r]?.[c] ?? 0;
        const share = total ? n / total : 0;
        return cell(exact(n), {
          class: `heat ${r === c ? "right" : "wrong"} ${share > 0.55 ? "deep" : ""}`,
          vars: { "--share": share.toFixed(3) },
          title: `${label} answered as ${shown[c]}: ${n} (${percent(share)})`,
        });
      }),
      cell(percent(s.metrics.recall[r], 0)),
      cell(percent(s.metrics.precision[r], 0)),
    );
  });
  return fill(
    place,
    table("Confusion matrix: rows are labels, columns answers", ["", ...shown, "Recall", "Precision"], rows, "matrix"),
    names.length > shown.length
      ? el("p", { class: "muted" }, `The first ${shown.length} of ${names.length} classes.`)
      : [],
  );
}

export function shares(place, s) {
  const { predicted, labelled } = s.shares;
  if (!s.model.classes.length) return fill(place, el("p", { class: "muted" }, "No class is known yet."));
  const most = Math.max(...predicted, ...labelled, 1e-9);
  const rows = s.model.classes
    .map(name)
    .slice(0, 30)
    .map((label, c) => {
      const [p, l] = [predicted[c] ?? 0, labelled[c] ?? 0];
      return el(
        "tr",
        {},
        rowHead(label),
        cell([percent(p), bar(p / most, "answers")], { class: "barred" }),
        cell([percent(l), bar(l / most, "told")], { class: "barred" }),
        cell(`${p - l >= 0 ? "+" : "−"}${(100 * Math.abs(p - l)).toFixed(1)}`, {
          class: Math.abs(p - l) > 0.1 ? "far" : "",
        }),
      );
    });
  return fill(
    place,
    table("Share of each class among answers and among labels", ["Class", "Answers", "Labels", "Points apart"], rows),
  );
}

export function labels(place, budgetPlace, s) {
  const l = s.labels;
  facts(place, [
    ["Asked for", exact(l.asked)],
    ["Answered", exact(l.answered)],
    ["Open", exact(l.open), `${exact(l.wanted_open)} wanted`],
    ["Oldest wanted", l.oldest_wanted === null ? NONE : duration(l.oldest_wanted)],
    ["Last label", l.last_label ? `${duration(s.now - l.last_label)}${s.now - l.last_label < 1 ? "" : " ago"}` : NONE],
    ["Expired", exact(l.expired)],
  ]);
  if (l.budget === null)
    return fill(budgetPlace, el("p", { class: "muted" }, "There is no budget: all labels are wanted."));
  const used = l.budget ? l.budget_used / l.budget : 0;
  return fill(
    budgetPlace,
    el(
      "div",
      { class: "meter" },
      el("span", {}, "Budget"),
      el("span", {
        class: `bar tall ${used > 1.02 ? "full" : ""}`,
        "aria-hidden": "true",
        vars: { "--part": String(Math.min(1, used)) },
      }),
      el("span", {}, `${percent(l.budget_used)} of the records asked for, ${percent(l.budget, 0)} allowed`),
    ),
  );
}

export function experts(place, s) {
  const d = s.desk;
  const all = { ...Object.fromEntries(Object.keys(s.experts).map((who) => [who, null])), ...d.experts };
  const rows = Object.entries(all)
    .slice(0, 30)
    .map(([who, e]) =>
      el(
        "tr",
        {},
        rowHead(who),
        cell(exact(s.experts[who] ?? 0)),
        cell(e ? exact(e.lent) : "0"),
        cell(e ? `${e.skipped} / ${e.unknown}` : NONE),
        cell(e && e.compared ? `${percent(e.agreed / e.compared, 0)} of ${e.compared}` : NONE),
        cell(e?.seen ? (s.now - e.seen < 60 ? "now" : `${duration(s.now - e.seen)} ago`) : NONE),
      ),
    );
  const agreement = d.compared
    ? `${percent(d.agreed / d.compared, 0)} of ${d.compared} that two experts answered`
    : "none was answered by two experts yet";
  return fill(
    place,
    rows.length
      ? table("Experts", ["Expert", "Learned", "In hand", "Skipped / not known", "Agreement", "Here"], rows)
      : el("p", { class: "muted" }, "Nobody has labelled at the desk yet."),
    el("p", { class: "muted note" }, `Held back, to be undone: ${d.held}. Agreement: ${agreement}.`),
  );
}

export function shadows(place, s, admin, promote) {
  const line = s.promotion ? Math.log(1 / s.promotion.alpha) : null;
  const shown = s.shadows.map((one) => one.name);
  const champion = el(
    "tr",
    { class: "champion" },
    rowHead([el("b", {}, s.model.name), el("small", {}, " champion")]),
    cell(percent(s.metrics.accuracy)),
    cell(fixed(s.metrics.kappa)),
    cell(NONE),
    cell(NONE),
    cell(bytes(s.memory.champion)),
    cell(""),
  );
  const rows = s.shadows.map((one) => {
    const part = line ? Math.max(0, (one.evidence ?? 0) / line) : null;
    const button = el(
      "button",
      { type: "button", class: "small", "aria-label": `Promote ${one.name}`, on: { click: () => promote(one) } },
      "Promote",
    );
    return el(
      "tr",
      {},
      rowHead(one.name),
      cell(percent(one.accuracy), { class: one.accuracy > s.metrics.accuracy ? "better" : "" }),
      cell(fixed(one.kappa)),
      cell(`${count(one.wins)} : ${count(one.losses)}`),
      cell(
        one.evidence === null
          ? NONE
          : [
              fixed(one.evidence, 1),
              line ? ` of ${line.toFixed(1)}` : "",
              part === null ? null : bar(part, "evidence"),
            ].filter((x) => x !== null),
        { class: "barred" },
      ),
      cell(bytes(one.bytes)),
      cell(admin ? button : ""),
    );
  });
  const said = JSON.stringify([admin, shown, s.model.name, s.shadows, s.metrics.accuracy]);
  if (place.dataset.said === said || place.contains(document.activeElement)) return;
  place.dataset.said = said;
  fill(
    place,
    table(
      "Champion and shadows",
      ["Learner", "Accuracy", "Kappa", "Right alone", "Evidence", "Memory", ""],
      [champion, ...rows],
    ),
    el(
      "p",
      { class: "muted note" },
      s.shadows.length
        ? "Right alone: labels that the shadow alone got right, and those that the champion alone did." +
            (s.promotion
              ? ` One takes over when its evidence over ${count(s.promotion.labels)} labels reaches the line.`
              : " Only a person promotes.")
        : "No shadow learns beside the champion; --shadow adds one.",
    ),
  );
}

export function members(place, more, s) {
  const m = s.members;
  if (!m || !m.count) {
    more.textContent = "";
    return fill(place, el("p", { class: "muted" }, "The champion is no ensemble that replaces its members."));
  }
  const born = new Array(m.count).fill(0);
  const times = new Array(m.count).fill(0);
  for (const [at, who] of m.replacements) if (who < m.count) [born[who], times[who]] = [at, times[who] + 1];
  more.textContent = `${m.count}, ${m.replacements.length} replacements`;
  const learned = Math.max(1, m.learned);
  return fill(
    place,
    el(
      "ol",
      { class: "members" },
      born.slice(0, 60).map((at, k) => {
        const age = Math.max(0, m.learned - at);
        return el(
          "li",
          { title: `Member ${k}: ${exact(age)} rows old, replaced ${times[k]} times` },
          el("span", { class: "who" }, `${k}`),
          bar(age / learned, times[k] ? "young" : "old"),
          el("span", { class: "age" }, `${count(age)} rows${times[k] ? `, ${times[k]}×` : ""}`),
        );
      }),
    ),
    el("p", { class: "muted note" }, "The bar is a member's age in rows learned; ×: how often it was replaced."),
  );
}

export function memory(place, s) {
  const { process, champion, shadows: others, tickets } = s.memory;
  const rest = Math.max(0, process - champion - others - tickets);
  const parts = [
    ["Champion", champion, "m0"],
    ["Shadows", others, "m1"],
    ["Open records", tickets, "m2"],
    ["Program", rest, "m3"],
  ];
  const total = Math.max(1, champion + others + tickets + rest);
  const disk = [
    ["Journal", s.disk.journal],
    ["Snapshots", s.disk.snapshots],
  ];
  fill(
    place,
    el(
      "div",
      { class: "stack", "aria-hidden": "true" },
      parts.map(([, size, kind]) => el("span", { class: kind, vars: { "--part": String(size / total) } })),
    ),
    table(
      "Memory and disk by part",
      ["Part", "Size"],
      [
        ...parts.map(([part, size, kind]) =>
          el("tr", {}, rowHead([el("i", { class: `dot ${kind}` }), part]), cell(bytes(size))),
        ),
        el("tr", { class: "sum" }, rowHead("Memory of the process"), cell(bytes(process))),
        ...disk.map(([part, size]) => el("tr", {}, rowHead(`${part} on disk`), cell(bytes(size)))),
        s.disk.ceiling ? el("tr", {}, rowHead("Ceiling of the disk"), cell(bytes(s.disk.ceiling))) : null,
      ].filter(Boolean),
      "narrow",
    ),
  );
}

const EVENTS = { drift: "Drift", promotion: "Promotion", rollback: "Rollback" };

export function events(place, s) {
  const said = `${s.events.length}/${s.events.at(-1)?.position}`;
  if (place.dataset.said === said) return;
  place.dataset.said = said;
  fill(
    place,
    s.events.length
      ? [...s.events]
          .reverse()
          .slice(0, 20)
          .map((event) =>
            el(
              "li",
              { class: event.kind },
              el("time", {}, clock(event.at)),
              el("b", {}, EVENTS[event.kind] ?? event.kind),
              el("span", {}, event.text),
            ),
          )
      : [el("li", { class: "muted" }, "Nothing has happened yet.")],
  );
}
