// Memory blocks: what they hold, what they held before, and how to change them.

import { count, element, fill, time } from "./dom.js";

/** The view of a session's memory blocks. */
export class Memory {
  #connection;
  #session;
  #place;

  constructor(place, connection, session) {
    this.#place = place;
    this.#connection = connection;
    this.#session = session;
  }

  /** Reads the blocks and shows them. */
  async show() {
    const { blocks } = await this.#call("listBlocks");
    if (blocks.length === 0) {
      fill(this.#place, element("p", { class: "hint" }, "This session has no memory blocks. An agent defines them when it starts."));
      return;
    }
    fill(this.#place, blocks.map((block) => this.#block(block)));
  }

  #block(block) {
    const limit = block.maxTokens === null ? "" : ` of ${count(block.maxTokens, "token")}`;
    const facts = `${block.kind}, ${block.scope}, ${count(block.tokens, "token")}${limit}, version ${block.version}`;
    const problem = element("p", { class: "problem", role: "alert" });
    const history = element("details", {}, element("summary", {}, "Earlier versions"));
    history.addEventListener("toggle", () => history.open && this.#history(block, history, problem));
    const shown = block.kind === "searchable" || block.kind === "loadable" ? this.#entries(block) : this.#editor(block, problem);
    return element(
      "section",
      { class: "block", "aria-label": `Block ${block.label}` },
      element("h3", { dir: "auto" }, block.label),
      block.description ? element("p", { dir: "auto" }, block.description) : null,
      element("p", { class: "hint" }, facts),
      shown,
      problem,
      history,
    );
  }

  #entries(block) {
    const entries = Object.entries(block.entries ?? {});
    const keys = Array.isArray(block.entries) ? block.entries.map((entry) => entry.title ?? entry.key ?? String(entry)) : entries.map(([key]) => key);
    return element("ul", {}, keys.map((key) => element("li", { dir: "auto" }, key)));
  }

  #editor(block, problem) {
    const text = element("textarea", { value: block.content, rows: 5, dir: "auto", "aria-label": `Content of ${block.label}` });
    text.readOnly = block.kind === "read-only";
    const save = element("button", { type: "submit", disabled: text.readOnly }, "Save");
    const onsubmit = (event) => {
      event.preventDefault();
      const write = { label: block.label, content: text.value, version: block.version };
      this.#call("writeBlock", write).then(() => this.show(), (error) => fill(problem, error.message));
    };
    return element("form", { onsubmit }, text, element("div", { class: "row" }, save));
  }

  async #history(block, place, problem) {
    const { versions } = await this.#call("blockHistory", { label: block.label });
    const items = versions.map(({ version, content, createdAt }) => {
      const onclick = () =>
        this.#call("restoreBlock", { label: block.label, version }).then(() => this.show(), (error) => fill(problem, error.message));
      const back = version === block.version ? "the present one" : element("button", { type: "button", onclick }, `Restore version ${version}`);
      return element("li", { value: version }, time(createdAt), " ", back, element("pre", { dir: "auto", tabIndex: 0 }, content));
    });
    fill(place, place.firstElementChild, element("ol", {}, items));
  }

  #call(method, params = {}) {
    return this.#connection.call(method, { session: this.#session, ...params });
  }
}
