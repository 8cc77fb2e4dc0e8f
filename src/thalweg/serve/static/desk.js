// The desk: one question at a time, one key per class.

import {
  $,
  ask,
  count,
  duration,
  el,
  enter,
  fill,
  listen,
  number,
  percent,
  setText,
  value as asValue,
} from "./core.js";
import { facts } from "./tables.js";
import { picture } from "./picture.js";

const AHEAD = 3;
const FIELDS = 200;
const OTHER_KEYS = new Set(["s", "d", "n", "u"]);
const LETTERS = [..."abcefghijklmopqrtvwxyz"];
const WHY = {
  uncertain: "The model asks because it is unsure about this record.",
  random: "Drawn at random: this is how changes are noticed that the model does not see.",
  selective: "Drawn by chance; the less sure the model is, the likelier a record is drawn.",
  warmup: "The model has only just begun, and every label helps.",
  "": "All labels are wanted.",
};

let queue = [];
let classes = [];
let keys = new Map();
let latest = null;
let busy = false;
let asking = null;
let restored = null;
let touched = Date.now();
let lease = 120;
const done = new Set();
let stop = null;

const expert = () => $("expert").value.trim();

// -- questions ------------------------------------------------------------------------------------------------------

function refill() {
  asking ??= (async () => {
    try {
      const found = await ask("v1/desk/next", { expert: expert(), n: AHEAD, order: $("order").value });
      const now = queue[0]?.ticket;
      classes = found.classes;
      lease = found.desk.lease;
      const fresh = found.questions.filter((question) => !done.has(question.ticket));
      let first = fresh.filter((question) => question.ticket === now);
      if (!first.length && now !== undefined && now === restored) first = [queue[0]]; // asked before the undo
      queue = [...first, ...fresh.filter((question) => question.ticket !== now)];
      numbers(found.desk, found.expert);
      setText($("error"), "");
      show(queue[0]?.ticket !== now || !queue.length);
    } catch (error) {
      await failed(error);
    } finally {
      asking = null;
    }
  })();
  return asking;
}

function numbers(desk, name) {
  const mine = desk.experts[name];
  facts($("numbers"), [
    ["Open", count(Math.max(0, desk.open))],
    ["You answered", count(mine?.answered ?? 0)],
    ["Experts here", String(Object.values(desk.experts).filter((who) => who.lent > 0).length)],
    [
      "Agreement",
      desk.compared ? percent(desk.agreed / desk.compared, 0) : "–",
      desk.compared ? `of ${desk.compared}` : "",
    ],
  ]);
}

async function failed(error) {
  if (error.status === 401 || error.status === 403) {
    await begin();
    return;
  }
  setText(
    $("error"),
    error.status === 409
      ? `${error.message}.`
      : error.status
        ? `Refused: ${error.message}.`
        : "The service cannot be reached; trying again.",
  );
}

function show(changed = true) {
  const question = queue[0];
  $("ask").hidden = !question;
  $("idle").hidden = Boolean(question);
  if (!question || !changed) return;
  const best = percent(Math.max(...question.probabilities, 0), 0);
  const guess = question.guess === null ? "It has no guess yet." : `Its guess is ${question.guess}, at ${best}.`;
  setText(
    $("record-more"),
    `${question.id ?? `no. ${question.ticket}`} · came ${duration(Date.now() / 1000 - question.at)} ago`,
  );
  setText($("why"), `${WHY[question.why] ?? question.why} ${guess}`);
  fill($("record"), record(question));
  showClasses(question);
  setText($("announce"), `Question ${question.ticket}. ${$("why").textContent}`);
}

function record(question) {
  if (question.shape && Array.isArray(question.record))
    return [picture(question.record, question.shape), values(question)];
  const names = Object.keys(question.record);
  return [
    el(
      "dl",
      { class: "fields" },
      names.slice(0, FIELDS).map((name) => field(name, question.record[name], question.ranges[name])),
    ),
    names.length > FIELDS ? el("p", { class: "muted note" }, `The first ${FIELDS} of ${names.length} fields.`) : null,
  ];
}

function values({ record: rows, shape }) {
  if (shape.length !== 2) return null;
  return el(
    "details",
    {},
    el("summary", {}, "As a table"),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values of the picture" },
      el(
        "table",
        {},
        el(
          "tbody",
          {},
          rows.map((row) =>
            el(
              "tr",
              {},
              row.map((value) => el("td", {}, value === null ? "–" : asValue(value))),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A field with its usual range: the middle half of the track. */
function field(name, value, range) {
  const text = value === null ? "missing" : typeof value === "number" ? asValue(value) : String(value);
  if (typeof value !== "number" || !range || range[0] === null || range[1] === null)
    return el("div", { class: "field" }, el("dt", {}, name), el("dd", {}, text));
  const [low, high] = range;
  const wide = high - low || Math.abs(high) || 1;
  const at = Math.max(0.03, Math.min(0.97, 0.25 + (0.5 * (value - low)) / wide));
  const side = value < low ? "below" : value > high ? "above" : "";
  return el(
    "div",
    { class: side ? "field out" : "field" },
    el("dt", {}, name),
    el("dd", {}, text),
    el(
      "dd",
      { class: "usual" },
      el("span", { class: "track", "aria-hidden": "true", vars: { "--at": String(at) } }),
      side ? el("b", {}, `${side} the usual `) : "usually ",
      `${number(low)} to ${number(high)}`,
    ),
  );
}

function keysOf(labels) {
  const single = labels.length > 0 && labels.every((label) => /^[0-9]$/.test(String(label)));
  return labels.map((label, k) => (single ? String(label) : k < 9 ? String(k + 1) : (LETTERS[k - 9] ?? null)));
}

function showClasses(question) {
  const known = new Map(question.classes.map((label, k) => [label, question.probabilities[k]]));
  const names = keysOf(classes);
  keys = new Map(names.map((key, k) => [key, classes[k]]).filter(([key]) => key !== null));
  $("classes").classList.toggle("many", classes.length > 6);
  fill(
    $("classes"),
    classes.map((label, k) => {
      const p = known.get(label) ?? 0;
      return el(
        "button",
        {
          type: "button",
          class: label === question.guess ? "guess" : "",
          "aria-keyshortcuts": names[k],
          on: { click: () => answer(label) },
        },
        names[k] === null ? el("span", {}) : el("kbd", {}, names[k]),
        el("span", { class: "label" }, String(label)),
        el("span", { class: "p" }, percent(p, 0)),
        el("span", { class: "bar", "aria-hidden": "true", vars: { "--part": String(p) } }),
      );
    }),
  );
  if (!classes.length)
    fill($("classes"), el("p", { class: "muted" }, "No class is known yet: name the first with n."));
}

// -- answers --------------------------------------------------------------------------------------------------------

/** Do something with the question in front; on goes the next at once. */
async function withQuestion(path, body, after) {
  const question = queue[0];
  if (!question || busy) return false;
  busy = true;
  try {
    const found = await ask(path, { expert: expert(), ticket: question.ticket, ...body });
    after?.(question, found);
  } catch (error) {
    if (error.status !== 409) {
      busy = false;
      await failed(error);
      return false;
    }
    setText($("error"), `${error.message}.`);
  }
  busy = false;
  done.add(question.ticket);
  if (done.size > 500) done.delete(done.values().next().value);
  queue.shift();
  show();
  const more = refill();
  if (!queue.length) await more;
  return true;
}

const answer = (label, more = {}) =>
  withQuestion("v1/desk/answer", { label, ...more }, (question, found) => {
    latest = { question, label, until: found.undo_until };
    setText($("error"), "");
    tick();
  });

const turnDown = (why) => withQuestion("v1/desk/pass", { why });

async function undo() {
  if (!latest || busy) return;
  busy = true;
  try {
    const { question } = await ask("v1/desk/undo", { expert: expert(), ticket: latest.question.ticket });
    restored = question.ticket;
    done.delete(question.ticket);
    queue.unshift(question);
    latest = null;
    show();
  } catch (error) {
    await failed(error);
    latest = null;
  }
  busy = false;
  tick();
}

function tick() {
  const left = latest ? latest.until - Date.now() / 1000 : 0;
  if (left <= 0) latest = null;
  $("undo-bar").hidden = !latest;
  if (latest) setText($("undo-text"), `Labelled ${latest.label}. It will be learned in ${Math.ceil(left)} s.`);
  if (queue.length && Date.now() - touched > 1000 * lease) {
    queue = [];
    setText($("idle-text"), "You were away, and your questions went to others. Press any key to go on.");
    show();
  }
}

function newClass() {
  if (!queue.length) return;
  setText($("new-error"), "");
  setText(
    $("new-note"),
    classes.length
      ? `Known so far: ${classes.slice(0, 30).join(", ")}.`
      : "A name that is a whole number becomes a number.",
  );
  $("new-name").value = "";
  $("new-dialog").showModal();
}

$("new-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = $("new-name").value.trim();
  if (!text) return;
  const numbers = classes.length ? classes.every((label) => typeof label === "number") : /^-?\d{1,15}$/.test(text);
  if (numbers && !Number.isFinite(Number(text))) {
    setText($("new-error"), "The classes are numbers, so a new one must be a number, too.");
    return;
  }
  if (await answer(numbers ? Number(text) : text, { new: true })) $("new-dialog").close();
  else setText($("new-error"), $("error").textContent);
});

// -- keys -----------------------------------------------------------------------------------------------------------

addEventListener("keydown", (event) => {
  touched = Date.now();
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (!queue.length && event.key !== "u") refill();
  const key = event.key.toLowerCase();
  if (keys.has(key) && !OTHER_KEYS.has(key) && queue.length) answer(keys.get(key));
  else if (key === "s") turnDown("skip");
  else if (key === "d") turnDown("unknown");
  else if (key === "n") newClass();
  else if (key === "u") undo();
  else return;
  event.preventDefault();
});
addEventListener("pointerdown", () => {
  const away = Date.now() - touched > 1000 * lease;
  touched = Date.now();
  if (away) refill();
});
$("skip").addEventListener("click", () => turnDown("skip"));
$("unknown").addEventListener("click", () => turnDown("unknown"));
$("new").addEventListener("click", newClass);
$("new-no").addEventListener("click", () => $("new-dialog").close());
$("undo").addEventListener("click", undo);
$("order").addEventListener("change", async () => {
  await ask("v1/desk/leave", { expert: expert() }).catch(() => {});
  queue = [];
  refill();
});

// -- start ----------------------------------------------------------------------------------------------------------

const NAME = "thalweg-expert";

async function begin() {
  stop?.();
  const me = await enter("label");
  let name = sessionStorage.getItem(NAME);
  if (!name) {
    name = me.name || `expert ${crypto.getRandomValues(new Uint16Array(1))[0].toString(16)}`;
    sessionStorage.setItem(NAME, name);
  }
  $("expert").value = name;
  const waiting = () => queue.length < AHEAD && !document.hidden && Date.now() - touched < 1000 * lease && refill();
  stop = listen({ wanted: waiting, state: () => queue.length || waiting() }, (what) => {
    setText($("live"), { live: "Connected", lost: "Reconnecting…", token: "Token needed" }[what]);
    $("live").className = `pill ${what}`;
    if (what === "token") begin();
    if (what === "live") refill();
  });
}

$("expert").addEventListener("change", async () => {
  const before = sessionStorage.getItem(NAME);
  await ask("v1/desk/leave", { expert: before }).catch(() => {});
  if (!expert()) $("expert").value = before;
  sessionStorage.setItem(NAME, expert());
  [queue, latest] = [[], null];
  refill();
});
addEventListener("pagehide", () => {
  ask("v1/desk/leave", { expert: expert() }, { keepalive: true }).catch(() => {});
});
setInterval(tick, 1000);
begin();
