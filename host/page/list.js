// A list of which only the part in view has elements: ten thousand messages scroll like ten.
//
// Heights are guessed until an item has been shown, and then measured. Whatever changes, the item at the top of the view
// stays where it is, unless the reader was at the end, who then stays at the end.

import { element } from "./dom.js";

/** How many pixels above and below the view have elements, too. */
const MARGIN = 800;

/** Pixels above the first item, and below the last. */
const EDGE = 14;

/** How close to the end counts as being there, in pixels. */
const NEAR = 40;

/**
 * A list in a scrolling element. Items are told apart by `key`; `render` makes the element of one, and makes it anew when its
 * `stamp` is another. Inside an element, what has a `data-name` keeps the focus when it is made anew.
 */
export class VirtualList {
  #view;
  #canvas;
  #guess;
  #render;
  #items = [];
  #places = new Map();
  #tops = [EDGE];
  #shown = new Map();
  #stamps = new Map();
  #heights = new Map();
  #sizes;
  #listening = new AbortController();
  #scheduled = false;
  #following = true;

  constructor(view, label, { render, guess }) {
    this.#view = view;
    this.#render = render;
    this.#guess = guess;
    this.#canvas = element("div", { class: "canvas", role: "feed", "aria-label": label });
    view.replaceChildren(this.#canvas);
    const { signal } = this.#listening;
    view.addEventListener("scroll", () => this.#scrolled(), { passive: true, signal });
    view.addEventListener("keydown", (event) => this.#key(event), { signal });
    this.#sizes = new ResizeObserver((entries) => this.#measured(entries));
    this.#sizes.observe(view);
  }

  get #height() {
    return this.#tops[this.#items.length] + EDGE;
  }

  /** Another list takes its place. */
  close() {
    this.#listening.abort();
    this.#sizes.disconnect();
  }

  /** Shows other items. */
  setItems(items) {
    const anchor = this.#anchor();
    this.#items = items;
    this.#places = new Map(items.map((item, index) => [item.key, index]));
    for (const [key, node] of this.#shown) {
      const item = items[this.#places.get(key)];
      if (!item) {
        // The keyboard goes on from here when what had the focus is gone.
        if (node.contains(document.activeElement)) this.#view.focus({ preventScroll: true });
        this.#remove(key, node);
      } else if (item.stamp !== this.#stamps.get(key)) this.#remove(key, node, node.contains(document.activeElement));
      else node.setAttribute("aria-setsize", items.length);
    }
    this.#layOut();
    this.#restore(anchor);
    this.draw();
  }

  /** Makes the elements of these items anew. */
  refresh(keys) {
    for (const key of keys) {
      const node = this.#shown.get(key);
      if (node) this.#remove(key, node, node.contains(document.activeElement));
    }
    this.draw();
  }

  /** The element of an item, if it has one now. */
  node(key) {
    return this.#shown.get(key);
  }

  /** Brings an item into view. `focus` is true, or the name of what is to be focused in it. */
  scrollTo(key, { focus = false } = {}) {
    const index = this.#places.get(key);
    if (index === undefined) return false;
    this.#following = false;
    // What is above is measured as it comes into view, so the place is looked up until it stays.
    const settle = (left) => {
      this.#view.scrollTop = Math.max(0, this.#tops[index] - EDGE);
      this.draw();
      if (left > 0) requestAnimationFrame(() => settle(left - 1));
      else if (focus) this.#focus(key, focus);
    };
    settle(3);
    return true;
  }

  /** Brings the end into view, and stays there as items are added. */
  scrollToEnd() {
    this.#following = true;
    this.draw();
  }

  /** The elements in view are made, those that have left it are taken away. */
  draw() {
    this.#canvas.style.height = `${this.#height}px`;
    if (this.#following) this.#view.scrollTop = this.#view.scrollHeight;
    const first = this.#indexAt(this.#view.scrollTop - MARGIN);
    const last = this.#indexAt(this.#view.scrollTop + this.#view.clientHeight + MARGIN);
    const wanted = new Set();
    for (let index = first; index <= last && index < this.#items.length; index += 1) {
      wanted.add(this.#items[index].key);
      this.#place(index);
    }
    for (const [key, node] of this.#shown) {
      // What has the focus stays, or the keyboard would lose its place.
      if (!wanted.has(key) && !node.contains(document.activeElement)) this.#remove(key, node);
    }
  }

  #place(index) {
    const item = this.#items[index];
    let node = this.#shown.get(item.key);
    if (!node) {
      node = this.#render(item);
      node.dataset.key = item.key;
      node.setAttribute("aria-setsize", this.#items.length);
      this.#shown.set(item.key, node);
      this.#stamps.set(item.key, item.stamp);
      this.#insert(node, index);
      this.#sizes.observe(node);
    }
    node.setAttribute("aria-posinset", index + 1);
    node.style.transform = `translateY(${this.#tops[index]}px)`;
  }

  /** Elements stand in the order of items, for those who hear the page instead of seeing it. */
  #insert(node, index) {
    const next = [...this.#canvas.children].find((other) => this.#places.get(other.dataset.key) > index);
    this.#canvas.insertBefore(node, next ?? null);
  }

  #remove(key, node, hadFocus = false) {
    const { name } = document.activeElement.dataset;
    this.#sizes.unobserve(node);
    this.#shown.delete(key);
    node.remove();
    if (!hadFocus) return;
    // Unless the reader has gone elsewhere meanwhile.
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) this.#focus(key, name ?? true);
    });
  }

  #focus(key, name) {
    const node = this.#shown.get(key);
    const inside = typeof name === "string" ? node?.querySelector(`[data-name="${name}"]`) : null;
    (inside && !inside.disabled ? inside : node)?.focus({ preventScroll: true });
  }

  #layOut() {
    const tops = new Array(this.#items.length + 1);
    tops[0] = EDGE;
    this.#items.forEach((item, index) => {
      tops[index + 1] = tops[index] + (this.#heights.get(item.key) ?? this.#guess(item));
    });
    this.#tops = tops;
  }

  #measured(entries) {
    const anchor = this.#anchor();
    let changed = false;
    for (const { target } of entries) {
      const { key } = target.dataset;
      if (target === this.#view || key === undefined) continue;
      const height = target.offsetHeight;
      if (height > 0 && this.#heights.get(key) !== height) {
        this.#heights.set(key, height);
        changed = true;
      }
    }
    if (changed) {
      this.#layOut();
      this.#restore(anchor);
    }
    this.draw();
  }

  #anchor() {
    const index = this.#indexAt(this.#view.scrollTop);
    const item = this.#items[index];
    return item && { key: item.key, offset: this.#view.scrollTop - this.#tops[index] };
  }

  #restore(anchor) {
    const index = anchor && this.#places.get(anchor.key);
    if (index === undefined || this.#following) return;
    this.#canvas.style.height = `${this.#height}px`;
    this.#view.scrollTop = this.#tops[index] + anchor.offset;
  }

  #indexAt(y) {
    let low = 0;
    let high = this.#items.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return Math.max(low, 0);
  }

  #scrolled() {
    // By what is known of heights, since an item may have grown and not been measured yet.
    const left = this.#height - this.#view.clientHeight - this.#view.scrollTop;
    this.#following = left < NEAR;
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.draw();
    });
  }

  /** The keys of the pattern "feed": Page Up and Page Down go from item to item, Home and End with Ctrl to the ends. */
  #key(event) {
    const node = event.target.closest?.("[data-key]");
    const here = node ? this.#places.get(node.dataset.key) : undefined;
    const last = this.#items.length - 1;
    const to =
      event.key === "PageDown" && here !== undefined ? Math.min(here + 1, last)
      : event.key === "PageUp" && here !== undefined ? Math.max(here - 1, 0)
      : event.key === "Home" && event.ctrlKey ? 0
      : event.key === "End" && event.ctrlKey ? last
      : undefined;
    if (to === undefined || !this.#items[to]) return;
    event.preventDefault();
    this.scrollTo(this.#items[to].key, { focus: true });
  }
}
