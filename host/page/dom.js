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
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** A number for people. */
export function number(value) {
  return numbers.format(value);
}

/** One thing, or several. */
export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** A time for people, of milliseconds since 1970. */
export function time(milliseconds) {
  return element("time", { dateTime: new Date(milliseconds).toISOString() }, dates.format(milliseconds));
}
