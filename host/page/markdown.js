// Markdown as elements. Only what conversations use of it, and only elements made one by one: there is no way from a
// message to HTML. Images are shown as links, since a page that loads them would tell their server that it was read.

import { element } from "./dom.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$/;
const RULE = /^ {0,3}([-*_])([ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** How deep quotes and lists may be inside one another; what is deeper is shown as text. */
const MAX_DEPTH = 12;

/** A text in one line, without the marks, where there is room for no more. */
export function plain(text) {
  return text.replace(/[*`#|~]+|\|?-{3,}/g, "").replace(/\s+/g, " ").trim();
}

/** Elements for a text. */
export function markdown(text) {
  return blocks(text.replace(/\r\n?/g, "\n").split("\n"), 0);
}

function blocks(lines, depth) {
  if (depth > MAX_DEPTH) return [element("p", {}, lines.join("\n"))];
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const taken = fence(lines, at) ?? heading(line) ?? rule(line) ?? quote(lines, at, depth) ?? list(lines, at, depth) ??
      table(lines, at) ?? paragraph(lines, at);
    made.push(taken.node);
    at += taken.lines;
  }
  return made;
}

function fence(lines, at) {
  const opened = FENCE.exec(lines[at]);
  if (!opened) return null;
  const [, marks, language] = opened;
  const body = [];
  let next = at + 1;
  while (next < lines.length) {
    const closing = lines[next].trim();
    if (closing.length >= marks.length && closing === marks[0].repeat(closing.length)) break;
    body.push(lines[next]);
    next += 1;
  }
  const code = element("code", {}, body.join("\n"));
  const label = language ? `Code, ${language}` : "Code";
  const node = element("pre", { tabIndex: 0, role: "region", "aria-label": label }, code);
  return { node, lines: next - at + 1 };
}

function heading(line) {
  const found = HEADING.exec(line);
  // The page itself has the first three levels.
  return found && { node: element(`h${Math.min(found[1].length + 3, 6)}`, {}, inline(found[2])), lines: 1 };
}

function rule(line) {
  return RULE.test(line) ? { node: element("hr"), lines: 1 } : null;
}

function quote(lines, at, depth) {
  if (!QUOTE.test(lines[at])) return null;
  let next = at;
  while (next < lines.length && QUOTE.test(lines[next])) next += 1;
  const inner = lines.slice(at, next).map((line) => line.replace(QUOTE, ""));
  return { node: element("blockquote", {}, blocks(inner, depth + 1)), lines: next - at };
}

function list(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first) return null;
  const ordered = /\d/.test(first[2]);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const opened = ITEM.exec(lines[next]);
    if (!opened || /\d/.test(opened[2]) !== ordered || RULE.test(lines[next])) break;
    const indent = opened[0].length;
    const body = [lines[next].slice(indent)];
    next += 1;
    while (next < lines.length) {
      const line = lines[next];
      const inside = line.startsWith(" ".repeat(Math.min(indent, 2)));
      if (line.trim() === "") {
        const after = lines[next + 1] ?? "";
        if (!after.startsWith("  ") && !ITEM.test(after)) break;
        body.push("");
      } else if (inside) body.push(line.replace(new RegExp(`^ {1,${indent}}`), ""));
      else break;
      next += 1;
    }
    items.push(element("li", {}, loose(blocks(body, depth + 1))));
  }
  const start = ordered ? { start: Number.parseInt(first[2], 10) } : {};
  return { node: element(ordered ? "ol" : "ul", start, items), lines: next - at };
}

/** An item of one paragraph is shown without the paragraph. */
function loose(nodes) {
  return nodes[0]?.tagName === "P" ? [...nodes[0].childNodes, ...nodes.slice(1)] : nodes;
}

function table(lines, at) {
  if (!lines[at].includes("|") || !TABLE_RULE.test(lines[at + 1] ?? "") || !lines[at + 1].includes("-")) return null;
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const head = cells(lines[at]);
  let next = at + 2;
  const rows = [];
  while (next < lines.length && lines[next].includes("|")) {
    rows.push(element("tr", {}, cells(lines[next]).slice(0, head.length).map((cell) => element("td", {}, inline(cell)))));
    next += 1;
  }
  const header = element("thead", {}, element("tr", {}, head.map((cell) => element("th", {}, inline(cell)))));
  const node = element("table", {}, header, element("tbody", {}, rows));
  return { node: element("div", { class: "table", tabIndex: 0, role: "region", "aria-label": "Table" }, node), lines: next - at };
}

function paragraph(lines, at) {
  let next = at + 1;
  const ends = (line) =>
    line.trim() === "" || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || ITEM.test(line) || RULE.test(line);
  while (next < lines.length && !ends(lines[next])) next += 1;
  const text = lines.slice(at, next).map((line) => line.replace(/^ {1,3}/, "")).join("\n");
  return { node: element("p", {}, inline(text)), lines: next - at };
}

/** What stands inside a line: each alternative is one group of names. */
const INLINE = new RegExp(
  [
    /\\(?<escaped>[!-/:-@[-`{-~])/,
    /(?<!`)(?<ticks>`{1,3})(?!`)(?<code>[^]{1,2000}?)(?<!`)\k<ticks>(?!`)/,
    /!?\[(?<label>[^[\]]{0,500})\]\((?<target>[^\s()<>]{1,2000})(?:\s+"[^"]{0,500}")?\)/,
    /\*\*(?=\S)(?<strong>[^*]{1,2000}?)\*\*/,
    /(?<!\*)\*(?=[^\s*])(?<emphasis>[^*]{1,2000}?)\*/,
    /~~(?=\S)(?<struck>[^~]{1,2000}?)~~/,
    /(?<address>\bhttps?:\/\/[^\s<>"'`]{1,2000}[^\s<>"'`.,:;!?)\]])/,
  ].map((part) => part.source).join("|"),
  "gu",
);

function inline(text, depth = 0) {
  if (depth > 4) return [text];
  const made = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    made.push(text.slice(end, found.index), one(found, depth));
    end = found.index + found[0].length;
  }
  made.push(text.slice(end));
  return made.filter((part) => part !== "");
}

function one({ 0: whole, groups }, depth) {
  if (groups.escaped !== undefined) return groups.escaped;
  if (groups.code !== undefined) return element("code", {}, groups.code.trim() || groups.code);
  if (groups.strong !== undefined) return element("strong", {}, inline(groups.strong, depth + 1));
  if (groups.emphasis !== undefined) return element("em", {}, inline(groups.emphasis, depth + 1));
  if (groups.struck !== undefined) return element("s", {}, inline(groups.struck, depth + 1));
  return link(groups.target ?? groups.address, groups.label || groups.address || groups.target) ?? whole;
}

/** A link, where it leads to a place on the web; nothing for any other kind of address. */
export function link(target, label) {
  let address;
  try {
    address = new URL(target);
  } catch {
    return null;
  }
  if (!["http:", "https:", "mailto:"].includes(address.protocol)) return null;
  return element("a", { href: address.href, rel: "noopener noreferrer nofollow", target: "_blank" }, label);
}
