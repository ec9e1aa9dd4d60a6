// One message as an element: its parts, its menu at a fork, and what can be done with it.

import { count, element, fill, number, time } from "./dom.js";
import { link, markdown, plain } from "./markdown.js";

/** Characters of a text that are shown before somebody asks for the rest. */
const SHOWN = 20_000;

/** Types of pictures that are shown. SVG is not among them, since it can hold more than a picture. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);

/** Texts of an answer's name in the menu at a fork. */
const NAME = 60;

/** The element of a message. `read` is what the server said of it, or nothing yet. */
export function messageElement(id, conversation, read, actions) {
  const node = conversation.nodes.get(id);
  const role = read?.message?.role ?? node?.role ?? "";
  const body = read ? content(id, read, conversation) : [element("p", { class: "hint" }, "Loading …")];
  const tokens = conversation.tokens.get(id);
  const facts = [
    element("h3", { class: "role", dir: "auto" }, role),
    node?.createdAt === undefined ? null : time(node.createdAt),
    tokens === undefined ? null : element("span", { class: "tokens" }, count(tokens, "token")),
  ];
  const label = role ? `${role}, ${summary(read) || id}` : id;
  const forked = conversation.siblings(id).length > 1 ? "forked" : "";
  return element(
    "article",
    { class: `message ${knownRole(role)} ${forked}`, tabIndex: 0, "aria-label": label },
    element("header", {}, facts, isPartial(read) ? element("span", { class: "problem" }, "broken off") : null, fork(id, conversation, actions)),
    element("div", { class: "body", dir: "auto" }, body),
    element("footer", {}, buttons(id, read, conversation, actions)),
  );
}

/** The element of a stretch that a summary stands for. */
export function foldElement({ compaction, open }, onToggle) {
  const label = open ? "Hide the originals" : `Show ${count(compaction.count, "original message")}`;
  return element(
    "article",
    { class: "message fold", tabIndex: 0, "aria-label": `Summary of ${count(compaction.count, "message")}` },
    element("header", {}, element("h3", { class: "role" }, `Summary of ${count(compaction.count, "message")}`), time(compaction.createdAt)),
    element("div", { class: "body", dir: "auto" }, markdown(compaction.summary.slice(0, SHOWN))),
    element("footer", {}, element("button", { type: "button", "aria-expanded": open, "data-name": "toggle", onclick: onToggle }, label)),
  );
}

/** What stands in the place of messages where there are none. */
export function emptyElement() {
  return element("article", { class: "message empty", tabIndex: 0 }, "Nothing has been said here yet.");
}

/** The element of an answer that is being made. `grow` on it shows more of it. */
export function answerElement(text, onStop) {
  const body = element("div", { class: "body", dir: "auto" });
  const made = element(
    "article",
    { class: "message assistant answering", tabIndex: 0, "aria-label": "The answer, while it is made", "aria-busy": "true" },
    element("header", {}, element("h3", { class: "role" }, "assistant"), element("span", {}, "is answering …")),
    body,
    element("footer", {}, element("button", { type: "button", "data-name": "stop", onclick: onStop }, "Stop")),
  );
  let shown = null;
  const grow = (longer) => {
    // However many pieces come, it is drawn once a frame.
    if (shown === null) requestAnimationFrame(draw);
    shown = longer;
  };
  const draw = () => {
    fill(body, markdown(shown.slice(-SHOWN)));
    shown = null;
  };
  grow(text);
  return Object.assign(made, { grow });
}

function knownRole(role) {
  return ["user", "assistant", "system", "tool"].includes(role) ? role : "";
}

/** An answer that was broken off, as the agent marks it. */
function isPartial(read) {
  return read?.message?.metadata?.partial === true;
}

/** The first words of a message. */
function summary(read) {
  const text = read?.message?.parts?.find?.((part) => typeof part?.text === "string")?.text ?? "";
  return text.slice(0, NAME).replace(/\s+/g, " ").trim();
}

/** The plain text of a message, for the editor. */
export function textOf(message) {
  const parts = Array.isArray(message?.parts) ? message.parts : [];
  return parts.filter((part) => part?.type === "text" && typeof part.text === "string").map((part) => part.text).join("\n\n");
}

/** Where a message is one of several answers: a menu of them, and the ways to the one before and the one behind. */
function fork(id, conversation, actions) {
  const siblings = conversation.siblings(id);
  if (siblings.length < 2) return null;
  const here = siblings.indexOf(id);
  const options = siblings.map((other, index) => {
    const { preview } = conversation.nodes.get(other) ?? {};
    const text = `${index + 1} of ${siblings.length}: ${plain(preview ?? other).slice(0, NAME)}`;
    return element("option", { value: other, selected: other === id }, text);
  });
  const step = (by, text, label, name) =>
    element("button", {
      type: "button",
      "aria-label": label,
      title: label,
      "data-name": name,
      disabled: siblings[here + by] === undefined,
      onclick: () => actions.branch(siblings[here + by], name),
    }, text);
  const onchange = ({ target }) => actions.branch(target.value, "branches");
  return element(
    "div",
    { class: "fork", role: "group", "aria-label": "Fork" },
    step(-1, "‹", "Answer before this one", "before"),
    element("select", { "aria-label": "Branch", "data-name": "branches", onchange }, options),
    step(1, "›", "Answer after this one", "after"),
  );
}

function buttons(id, read, conversation, actions) {
  const { message } = read ?? {};
  if (!message) return [];
  const button = (name, label, onclick) => element("button", { type: "button", "data-name": name, onclick }, label);
  const isQuestion = message.role === "user";
  const isOpen = isQuestion && (conversation.nodes.get(id)?.children.length ?? 0) === 0;
  return [
    actions.regenerate && isOpen ? button("retry", "Retry", () => actions.regenerate(id)) : null,
    actions.regenerate && message.role === "assistant" ? button("regenerate", "Regenerate", () => actions.regenerate(id)) : null,
    isQuestion ? button("edit", "Edit as a new branch", () => actions.edit(id, message)) : null,
    button("answer", "Answer here", () => actions.answer(id)),
    details("JSON", () => [code(JSON.stringify(message, null, 2))]),
  ].filter(Boolean);
}

function content(id, read, conversation) {
  if (read.error) return [element("p", { class: "problem" }, read.error.message)];
  if (!read.message) return [element("p", { class: "hint" }, "This message is not there any more.")];
  const { parts } = read.message;
  if (!Array.isArray(parts)) return [code(JSON.stringify(read.message, null, 2))];
  return parts.map((part, index) => partElement(part, index, { id, media: read.media ?? [], conversation }));
}

function partElement(part, index, place) {
  const type = typeof part?.type === "string" ? part.type : "";
  if (type === "text" && typeof part.text === "string") return element("div", { class: "text" }, longText(part.text));
  if (type === "reasoning" && typeof part.text === "string") return details("Reasoning", () => longText(part.text));
  if (type.startsWith("tool-") || type === "dynamic-tool") return toolElement(part, type);
  if (type === "file" || type === "image") return fileElement(part, index, place);
  if (type === "source-url") return element("p", {}, "Source: ", link(part.url, part.title || part.url) ?? String(part.url));
  if (type === "step-start") return element("hr");
  return details(type || "Part", () => [code(JSON.stringify(part, null, 2))]);
}

function longText(text) {
  if (text.length <= SHOWN) return markdown(text);
  const more = element("button", { type: "button" }, `Show all ${number(text.length)} characters`);
  // As plain text: layout of that much is slow enough.
  more.addEventListener("click", () => more.parentElement.replaceChildren(element("pre", { class: "plain", tabIndex: 0 }, text)));
  return [...markdown(text.slice(0, SHOWN)), more];
}

function toolElement(part, type) {
  const name = type === "dynamic-tool" ? String(part.toolName ?? "tool") : type.slice("tool-".length);
  const state = typeof part.state === "string" ? `, ${part.state.replaceAll("-", " ")}` : "";
  const made = details(`Tool ${name}${state}`, () => {
    const shown = ["input", "output", "errorText"].filter((field) => part[field] !== undefined);
    return shown.flatMap((field) => [
      element("p", { class: "hint" }, { input: "Input", output: "Output", errorText: "Error" }[field]),
      code(typeof part[field] === "string" ? part[field] : JSON.stringify(part[field], null, 2)),
    ]);
  });
  made.className = "tool";
  return made;
}

function fileElement(part, index, { id, media, conversation }) {
  const type = String(part.mediaType ?? part.mimeType ?? "");
  const stored = media.find(({ pointer }) => pointer.startsWith(`/parts/${index}/`));
  const name = String(part.filename ?? (type || "file"));
  const picture = PICTURES.has(stored?.mediaType ?? type);
  if (stored) {
    const holder = element("p", {}, `${name}, ${count(stored.bytes, "byte")}`);
    const show = (address) => {
      const shown = picture
        ? element("img", { src: address, alt: name })
        : element("a", { href: address, download: name }, `Save ${name}`);
      holder.replaceChildren(shown);
    };
    const fetched = conversation.media(id, stored.index).then(show);
    fetched.catch((error) => holder.append(element("span", { class: "problem" }, ` ${error.message}`)));
    return holder;
  }
  const address = String(part.url ?? "");
  if (picture && address.startsWith("data:image/")) return element("p", {}, element("img", { src: address, alt: name }));
  return element("p", {}, link(address, name) ?? name);
}

function code(text) {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}\n… ${number(text.length - SHOWN)} characters more` : text;
  return element("pre", { tabIndex: 0 }, element("code", {}, shown));
}

/** What is folded is made when it is opened. */
function details(label, make) {
  const made = element("details", {}, element("summary", {}, label));
  made.addEventListener("toggle", () => {
    if (made.open && made.childElementCount === 1) made.append(...make());
  });
  return made;
}
