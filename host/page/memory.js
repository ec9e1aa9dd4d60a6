// Memory blocks: what they hold, what they held before, and how to change them.

import { count, element, fill, meter, number, time } from "./dom.js";

/** The view of a session's memory blocks. */
export class Memory {
  #connection;
  #session;
  #place;
  /** Labels of blocks whose text is another one here than in the store. */
  #written = new Set();
  #notice = element("p", { class: "hint", role: "status" });

  constructor(place, connection, session) {
    this.#place = place;
    this.#connection = connection;
    this.#session = session;
  }

  /** Reads the blocks and shows them; but nothing that somebody is writing here is written over. */
  async show() {
    if (this.#written.size > 0) {
      fill(this.#notice, "Memory was changed elsewhere. It is shown once what you write is saved or discarded.");
      return;
    }
    fill(this.#notice);
    const { blocks } = await this.#call("listBlocks");
    if (blocks.length === 0) {
      fill(this.#place, element("p", { class: "hint" }, "This session has no memory blocks. An agent defines them when it starts."));
      return;
    }
    fill(this.#place, this.#notice, blocks.map((block) => this.#block(block)));
  }

  #block(block) {
    const limited = block.maxTokens !== null;
    const size = limited ? `${number(block.tokens)} of ${count(block.maxTokens, "token")}` : count(block.tokens, "token");
    const scope = block.scope === "store" ? "of all sessions" : "of this session";
    const facts = `${block.kind}, ${scope}, ${size}, version ${block.version}`;
    const bar = limited ? meter(block.tokens, block.maxTokens, `Tokens of ${block.label}`) : null;
    const problem = element("p", { class: "problem", role: "alert" });
    const history = element("details", {}, element("summary", {}, "Earlier versions"));
    history.addEventListener("toggle", () => history.open && this.#history(block, history, problem));
    const shown = block.kind === "searchable" || block.kind === "loadable" ? this.#entries(block) : this.#editor(block, problem);
    return element(
      "section",
      { class: "block", "aria-label": `Block ${block.label}` },
      element("h3", { dir: "auto" }, block.label),
      block.description ? element("p", { dir: "auto" }, block.description) : null,
      element("p", { class: "hint row" }, bar, facts),
      shown,
      problem,
      history,
    );
  }

  #entries(block) {
    if (block.entries.length === 0) return element("p", { class: "hint" }, "There are no entries yet.");
    const items = block.entries.map(({ key, title, tokens, loaded }) => {
      const facts = `${count(tokens, "token")}${loaded ? ", in the prompt" : ""}`;
      return element("li", {}, element("span", { dir: "auto" }, title ?? key), " ", element("span", { class: "hint" }, facts));
    });
    return element("ul", {}, items);
  }

  #editor(block, problem) {
    const text = element("textarea", { value: block.content, rows: 5, dir: "auto", "aria-label": `Content of ${block.label}` });
    text.readOnly = block.kind === "read-only";
    const save = element("button", { type: "submit", disabled: true }, "Save");
    const discard = element("button", { type: "button", hidden: true, onclick: () => this.#done(block, problem) }, "Discard");
    text.oninput = () => {
      const isAnother = text.value !== block.content;
      if (isAnother) this.#written.add(block.label);
      else this.#written.delete(block.label);
      save.disabled = !isAnother;
      discard.hidden = !isAnother;
    };
    const onsubmit = (event) => {
      event.preventDefault();
      const write = { label: block.label, content: text.value, version: block.version };
      this.#call("writeBlock", write).then(() => this.#done(block, problem), (error) => fill(problem, error.message));
    };
    return element("form", { onsubmit }, text, element("div", { class: "row" }, save, discard));
  }

  /** What was written is saved, or not wanted any more. */
  #done(block, problem) {
    this.#written.delete(block.label);
    this.show().catch((error) => fill(problem, error.message));
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
