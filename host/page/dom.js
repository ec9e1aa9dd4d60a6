// Elements are made here and nowhere else. Text is always text: nothing on this page is ever parsed as HTML.

/**
 * Makes an element. Of `properties`, functions become listeners (`onclick`), `class` and names with a hyphen become
 * attributes, everything else is set on the element. Children may be nodes, texts, or nothing.
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name.includes("-") || name === "role") made.setAttribute(name, String(value));
    else made[name] = value;
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== ""));
  return made;
}

/** The element of the page with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Puts other children in place of those that are there. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== undefined && child !== null));
}

const numbers = new Intl.NumberFormat();
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const hours = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const days = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });
const years = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** A number for people. */
export function number(value) {
  return numbers.format(value);
}

/** One thing, or several. */
export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** A time for people, of milliseconds since 1970: the nearer, the finer. */
export function time(milliseconds) {
  const then = new Date(milliseconds);
  const now = new Date();
  const format = then.toDateString() === now.toDateString() ? hours : then.getFullYear() === now.getFullYear() ? days : years;
  return element("time", { dateTime: then.toISOString(), title: whole.format(then) }, format.format(then));
}

/** A bar that says how much of something is taken. */
export function meter(value, most, label) {
  const bar = element("div", {});
  bar.style.width = `${Math.min(100, (value / most) * 100)}%`;
  const range = { "aria-valuemin": 0, "aria-valuemax": Math.max(most, value), "aria-valuenow": value };
  return element("div", { class: value > most * 0.9 ? "meter high" : "meter", role: "meter", "aria-label": label, ...range }, bar);
}
