// What both pages need: elements, numbers as text, requests with the token in a header, and live events.

export const $ = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name === "on") for (const [kind, call] of Object.entries(value)) node.addEventListener(kind, call);
    else if (name === "vars") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// -- numbers as text ------------------------------------------------------------------------------------------------

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 7 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
export const NONE = "–";
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

export const count = (value) =>
  known(value) ? (Math.abs(value) < 1e5 ? whole.format(Math.round(value)) : compact.format(value)) : NONE;
export const exact = (value) => (known(value) ? whole.format(value) : NONE);
export const number = (value) => (known(value) ? (Math.abs(value) >= 1e6 ? compact : short).format(value) : NONE);
/** A number of a record: as it is, but for digits that nobody reads. */
export const value = (given) =>
  Math.abs(given) >= 1e12 || (given && Math.abs(given) < 1e-4) ? given.toExponential(4) : precise.format(given);
export const percent = (value, digits = 1) => (known(value) ? `${(100 * value).toFixed(digits)}\u00a0%` : NONE);
export const fixed = (value, digits = 3) => (known(value) ? value.toFixed(digits) : NONE);
export function millis(value) {
  if (!known(value)) return NONE;
  return value < 1000 ? `${short.format(value)} ms` : `${short.format(value / 1000)} s`;
}

export function bytes(value) {
  if (!known(value)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) [value, at] = [value / 1000, at + 1];
  return `${short.format(value)} ${units[at]}`;
}

export function duration(seconds) {
  if (!known(seconds)) return NONE;
  if (seconds < 1) return "now";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} days`;
}

export const clock = (at, seconds = true) =>
  new Date(1000 * at).toLocaleTimeString("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    ...(seconds ? { second: "2-digit" } : {}),
  });

// -- requests -------------------------------------------------------------------------------------------------------

const TOKEN = "thalweg-token";

export const getToken = () => sessionStorage.getItem(TOKEN);
export const setToken = (text) => (text ? sessionStorage.setItem(TOKEN, text) : sessionStorage.removeItem(TOKEN));

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export async function ask(path, body, options = {}) {
  const headers = { ...(body === undefined ? {} : { "content-type": "application/json" }) };
  if (getToken()) headers.authorization = `Bearer ${getToken()}`;
  const answer = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "omit",
    cache: "no-store",
    ...options,
  });
  if (options.raw && answer.ok) return answer;
  let found = {};
  try {
    found = await answer.json();
  } catch {
    found = {};
  }
  if (!answer.ok) throw new Refused(answer.status, found.error ?? `the service answered ${answer.status}`);
  return found;
}

/** Read server-sent events with fetch, which can send the token in a header; go on after the connection was lost.
 *  handlers: by name of the event. onState: told "live", "lost" or "token". */
export function listen(handlers, onState) {
  let wait = 1000;
  let stopped = false;
  let abort = null;
  async function once() {
    abort = new AbortController();
    const answer = await ask("v1/events", undefined, { raw: true, signal: abort.signal });
    onState("live");
    wait = 1000;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const name = /^event: (.*)$/m.exec(part);
        const data = /^data: (.*)$/m.exec(part);
        if (name && data && handlers[name[1]]) handlers[name[1]](JSON.parse(data[1]));
      }
    }
  }
  (async () => {
    while (!stopped) {
      try {
        await once();
      } catch (error) {
        if (error.status === 401 || error.status === 403) {
          onState("token");
          return;
        }
      }
      if (stopped) return;
      onState("lost");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(2 * wait, 15000);
    }
  })();
  return () => {
    stopped = true;
    abort?.abort();
  };
}

/** Ask for a token in the page's dialog; resolves when one was given. why: a sentence. */
export function askForToken(why) {
  const dialog = $("token-dialog");
  setText($("token-why"), why);
  return new Promise((resolve) => {
    $("token-form").onsubmit = (event) => {
      event.preventDefault();
      setToken($("token").value.trim());
      $("token").value = "";
      dialog.close();
      resolve();
    };
    if (!dialog.open) dialog.showModal();
  });
}

/** Who is it? Asks for a token until the service knows one with this role at least. */
export async function enter(role) {
  const ranks = ["predict", "label", "admin"];
  for (;;) {
    try {
      const me = await ask("v1/me");
      if (ranks.indexOf(me.role) >= ranks.indexOf(role)) return me;
      await askForToken(`This page needs a token with the role “${role}”; this one has the role “${me.role}”.`);
    } catch (error) {
      if (error.status === 401)
        await askForToken(getToken() ? "The service does not know this token." : "The service asks for a token.");
      else await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}
