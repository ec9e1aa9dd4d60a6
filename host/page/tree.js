// The tree of a conversation as a picture: one row a step from the root, one lane a branch. Only the rows in view are
// drawn, so that a conversation of any length is as smooth as a short one.

import { count, element, fill } from "./dom.js";
import { plain } from "./markdown.js";

const LANE = 20;
const LEFT = 24;
/** Heights of a row, from far to near. From that of texts on, what is said stands beside a row. */
const HEIGHTS = [4, 9, 16, 24];
const WITH_TEXT = 16;
const ROOM_FOR_TEXT = 260;

/** Rows that Page Up and Page Down go past. */
const ROWS_OF_PAGE = 20;

/**
 * Where everything is in the picture. A first answer goes straight on; what follows one another so is a run, and has a lane.
 * Runs are laid from the deepest fork up, so a lane is free for all that ends above what is in it.
 */
export function layOut(roots, childrenOf) {
  const rows = [];
  const places = new Map();
  /** The highest row that is taken, by lane. */
  const tops = [];
  const stack = [...roots].reverse().map((id) => ({ id, parent: null, row: 0 }));
  while (stack.length > 0) {
    const { id, parent, row } = stack.pop();
    const run = [];
    for (let at = id; at !== undefined; at = childrenOf(at)[0]) run.push(at);
    let lane = parent === null ? 0 : places.get(parent).lane + 1;
    while (tops[lane] !== undefined && row + run.length > tops[lane]) lane += 1;
    tops[lane] = row;
    run.forEach((at, index) => {
      places.set(at, { row: row + index, lane, parent: index === 0 ? parent : run[index - 1] });
      (rows[row + index] ??= []).push(at);
      const others = childrenOf(at).slice(1).reverse();
      stack.push(...others.map((other) => ({ id: other, parent: at, row: row + index + 1 })));
    });
  }
  return { rows, places, lanes: tops.length };
}

/** The picture, in an element of its own. */
export class Tree {
  #conversation;
  #actions;
  #view;
  #canvas;
  #space;
  #said;
  #layout = { rows: [], places: new Map(), lanes: 0 };
  #onPath = new Set();
  #folded = new Set();
  #selected = null;
  #zoom = 3;
  #sizes = new ResizeObserver(() => this.#draw());
  #listening = new AbortController();

  constructor(place, conversation, actions) {
    this.#conversation = conversation;
    this.#actions = actions;
    this.#canvas = element("canvas", {});
    this.#space = element("div", { class: "space" }, this.#canvas);
    this.#view = element(
      "div",
      { class: "tree-view", tabIndex: 0, role: "application", "aria-label": "Tree of messages. Arrow keys go to the parent, to an answer, and between answers; Enter shows the message; plus and minus draw it larger and smaller." },
      this.#space,
    );
    this.#said = element("p", { class: "tree-said", role: "status", dir: "auto" });
    const zoom = (by, label) => element("button", { type: "button", "aria-label": label, title: label, onclick: () => this.#zoomBy(by) }, by > 0 ? "+" : "−");
    const show = element("button", { type: "button", onclick: () => this.#open() }, "Show this message");
    const legend = ["user", "assistant", "other"].map((role) => element("span", { class: `legend ${role}` }, role));
    fill(place, element("div", { class: "row" }, zoom(-1, "Smaller"), zoom(1, "Larger"), show, legend), this.#said, this.#view);
    this.#view.onscroll = () => requestAnimationFrame(() => this.#draw());
    this.#view.onkeydown = (event) => this.#key(event);
    this.#view.onclick = (event) => this.#pick(event);
    this.#view.ondblclick = () => this.#open();
    this.#sizes.observe(this.#view);
    const { signal } = this.#listening;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw(), { signal });
  }

  /** Another tree takes its place. */
  close() {
    this.#sizes.disconnect();
    this.#listening.abort();
  }

  /** Draws what is known now. */
  show() {
    const { nodes, roots, path } = this.#conversation;
    this.#layout = layOut(roots, (id) => nodes.get(id)?.children ?? []);
    this.#onPath = new Set(path);
    this.#folded = new Set(this.#conversation.folds().flatMap(({ from, to }) => path.slice(from, to + 1)));
    if (!this.#layout.places.has(this.#selected)) this.#select(this.#conversation.leaf);
    this.#size();
    this.#reveal();
    this.#draw();
  }

  get #height() {
    return HEIGHTS[this.#zoom];
  }

  #zoomBy(by) {
    this.#zoom = Math.max(0, Math.min(HEIGHTS.length - 1, this.#zoom + by));
    this.#size();
    this.#reveal();
    this.#draw();
  }

  #size() {
    this.#space.style.height = `${this.#layout.rows.length * this.#height + 2 * LEFT}px`;
    const text = this.#height >= WITH_TEXT ? ROOM_FOR_TEXT : 0;
    this.#space.style.width = `${this.#layout.lanes * LANE + 2 * LEFT + text}px`;
  }

  #at(id) {
    const { row, lane } = this.#layout.places.get(id);
    return { x: LEFT + lane * LANE - this.#view.scrollLeft, y: LEFT + row * this.#height - this.#view.scrollTop };
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.#view;
    if (width === 0 || height === 0) return;
    const scale = window.devicePixelRatio || 1;
    this.#canvas.width = width * scale;
    this.#canvas.height = height * scale;
    this.#canvas.style.width = `${width}px`;
    this.#canvas.style.height = `${height}px`;
    const pen = this.#canvas.getContext("2d");
    pen.scale(scale, scale);
    const first = Math.max(0, Math.floor((this.#view.scrollTop - LEFT) / this.#height) - 1);
    const last = Math.min(this.#layout.rows.length - 1, Math.ceil((this.#view.scrollTop + height) / this.#height) + 1);
    const style = getComputedStyle(this.#view);
    const colour = (name) => style.getPropertyValue(name).trim();
    const rows = this.#layout.rows.slice(first, last + 1);
    const visible = rows.flat();
    for (const id of visible) if (this.#folded.has(id)) this.#band(pen, id, colour);
    for (const id of visible) this.#line(pen, id, colour);
    for (const id of visible) this.#dot(pen, id, colour);
    if (this.#height >= WITH_TEXT) this.#texts(pen, rows, colour, style.fontFamily, width);
  }

  /** Behind what a summary stands for. */
  #band(pen, id, colour) {
    const { x, y } = this.#at(id);
    pen.fillStyle = colour("--line");
    pen.fillRect(x - LANE / 2 + 1, y - this.#height / 2, LANE - 2, this.#height);
  }

  /** What is said in each row: on the path that is shown, or where one has selected. */
  #texts(pen, rows, colour, family, width) {
    const lanes = Math.max(...rows.flat().map((id) => this.#layout.places.get(id).lane), 0);
    const left = LEFT + (lanes + 1) * LANE - this.#view.scrollLeft;
    pen.font = `${Math.min(13, this.#height - 4)}px ${family}`;
    pen.textBaseline = "middle";
    for (const row of rows) {
      const id = row.includes(this.#selected) ? this.#selected : row.find((other) => this.#onPath.has(other)) ?? row[0];
      const { role, preview } = this.#conversation.nodes.get(id) ?? {};
      const { y } = this.#at(id);
      pen.fillStyle = colour(this.#onPath.has(id) || id === this.#selected ? "--text" : "--hint");
      const most = Math.max(0, Math.floor((width - left) / 5));
      pen.fillText(plain(preview ?? role ?? "").slice(0, most), left, y);
    }
  }

  #line(pen, id, colour) {
    const { parent } = this.#layout.places.get(id);
    if (parent === null) return;
    const from = this.#at(parent);
    const to = this.#at(id);
    const onPath = this.#onPath.has(id);
    pen.strokeStyle = colour(onPath ? "--accent" : "--edge");
    pen.lineWidth = onPath ? 2.5 : 1.2;
    pen.beginPath();
    pen.moveTo(from.x, from.y);
    if (from.x === to.x) pen.lineTo(to.x, to.y);
    else pen.bezierCurveTo(from.x, to.y, from.x, to.y, to.x, to.y);
    pen.stroke();
  }

  #dot(pen, id, colour) {
    const { x, y } = this.#at(id);
    const { role } = this.#conversation.nodes.get(id) ?? {};
    pen.fillStyle = colour(role === "user" ? "--user" : role === "assistant" ? "--assistant" : "--other");
    pen.beginPath();
    pen.arc(x, y, Math.min(5.5, this.#height / 2.6), 0, 2 * Math.PI);
    pen.fill();
    if (id !== this.#selected) return;
    pen.strokeStyle = colour("--text");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, 8.5, 0, 2 * Math.PI);
    pen.stroke();
  }

  #select(id) {
    this.#selected = id;
    const node = this.#conversation.nodes.get(id);
    if (!node) {
      fill(this.#said, "There are no messages yet.");
      return;
    }
    const others = this.#conversation.siblings(id);
    const place = others.length > 1 ? `, answer ${others.indexOf(id) + 1} of ${others.length}` : "";
    const below = node.children.length > 0 ? `, ${count(node.children.length, "answer")}` : ", a leaf";
    fill(this.#said, `${node.role}${place}${below}: ${plain(node.preview ?? id)}`);
  }

  #reveal() {
    const place = this.#layout.places.get(this.#selected);
    if (!place) return;
    const y = LEFT + place.row * this.#height;
    const x = LEFT + place.lane * LANE;
    const view = this.#view;
    if (y < view.scrollTop + LEFT || y > view.scrollTop + view.clientHeight - LEFT) view.scrollTop = y - view.clientHeight / 2;
    if (x < view.scrollLeft + LEFT || x > view.scrollLeft + view.clientWidth - LEFT) view.scrollLeft = x - view.clientWidth / 2;
  }

  #open() {
    if (this.#selected !== null) this.#actions.open(this.#selected);
  }

  #key(event) {
    const { nodes } = this.#conversation;
    const node = nodes.get(this.#selected);
    if (!node) return;
    const siblings = this.#conversation.siblings(node.id);
    const place = siblings.indexOf(node.id);
    const to = {
      ArrowUp: node.parentId,
      ArrowDown: this.#next(node.id),
      ArrowLeft: siblings[place - 1],
      ArrowRight: siblings[place + 1],
      PageUp: this.#up(node.id, ROWS_OF_PAGE),
      PageDown: this.#down(node.id, ROWS_OF_PAGE),
      Home: this.#conversation.roots[0],
      End: this.#conversation.leaf,
    }[event.key];
    if (event.key === "Enter") this.#open();
    else if (event.key === "+" || event.key === "-") this.#zoomBy(event.key === "+" ? 1 : -1);
    else if (/^(Arrow|Page|Home$|End$)/.test(event.key)) {
      if (to !== undefined && to !== null) this.#select(to);
      this.#reveal();
      this.#draw();
    } else return;
    event.preventDefault();
  }

  #up(id, rows) {
    let at = id;
    for (let row = 0; row < rows; row += 1) at = this.#conversation.nodes.get(at)?.parentId ?? at;
    return at;
  }

  #down(id, rows) {
    let at = id;
    for (let row = 0; row < rows; row += 1) at = this.#next(at) ?? at;
    return at;
  }

  /** The answer on the path that is shown, or else the first. */
  #next(id) {
    const children = this.#conversation.nodes.get(id)?.children ?? [];
    return children.find((other) => this.#onPath.has(other)) ?? children[0];
  }

  #pick(event) {
    const box = this.#view.getBoundingClientRect();
    const x = event.clientX - box.left + this.#view.scrollLeft;
    const y = event.clientY - box.top + this.#view.scrollTop;
    const near = Math.max(1, Math.ceil(10 / this.#height));
    const middle = Math.round((y - LEFT) / this.#height);
    let best = null;
    for (let row = middle - near; row <= middle + near; row += 1) {
      for (const id of this.#layout.rows[row] ?? []) {
        const { lane } = this.#layout.places.get(id);
        const distance = Math.hypot(LEFT + lane * LANE - x, LEFT + row * this.#height - y);
        if (distance < 12 && (best === null || distance < best.distance)) best = { id, distance };
      }
    }
    if (best === null) return;
    this.#select(best.id);
    this.#draw();
  }
}
