// The sessions of a tenant: the list, the search over all of them, export.

import { byId, count, element, fill, time } from "./dom.js";

/** Sessions asked for at once. */
const PAGE = 200;

/** Results of a search shown at once. */
const RESULTS = 30;

/** How long a search waits for the next key, in milliseconds. */
const PATIENCE = 200;

/** The list of sessions, with search. */
export class Sessions {
  #connection;
  #places;
  #sessions = [];
  #cursor = null;
  #present = null;
  #searched = 0;
  #timer;

  /** `places` has the `address(session, messageId)` of one, and shows it anew by `again(session, messageId)`. */
  constructor(connection, places) {
    this.#connection = connection;
    this.#places = places;
    byId("search").onsubmit = (event) => {
      event.preventDefault();
      this.#search();
    };
    byId("query").onkeydown = (event) => {
      if (event.key !== "Escape" || byId("query").value === "") return;
      event.stopPropagation();
      byId("query").value = "";
      this.#search();
    };
    byId("query").oninput = () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#search(), PATIENCE);
    };
  }

  /** Reads the newest sessions and shows them. */
  async load() {
    const page = await this.#connection.call("listSessions", { limit: PAGE });
    this.#sessions = page.sessions;
    this.#cursor = page.cursor;
    this.#draw();
    return this.#sessions;
  }

  /** Marks the one that is shown. */
  mark(session) {
    const isAnother = session !== this.#present;
    this.#present = session;
    for (const link of byId("session-list").querySelectorAll("a")) {
      if (link.dataset.session === session) {
        link.setAttribute("aria-current", "page");
        if (isAnother) link.scrollIntoView({ block: "nearest" });
      } else link.removeAttribute("aria-current");
    }
  }

  async #more() {
    const page = await this.#connection.call("listSessions", { limit: PAGE, cursor: this.#cursor });
    this.#sessions.push(...page.sessions);
    this.#cursor = page.cursor;
    this.#draw();
  }

  #draw() {
    const items = this.#sessions.map((session) => {
      const name = element("span", { class: "name", dir: "auto" }, session.title || session.id || "The session without a name");
      const facts = element("span", { class: "hint" }, count(session.messages, "message"), " · ", time(session.lastActivityAt));
      const link = this.#link(session.id, undefined, name, facts);
      link.dataset.session = session.id;
      return element("li", {}, link);
    });
    if (this.#cursor) {
      items.push(element("li", {}, element("button", { type: "button", onclick: () => this.#more() }, "More sessions")));
    }
    if (items.length === 0) items.push(element("li", { class: "hint" }, "No sessions yet."));
    fill(byId("session-list"), items);
    this.mark(this.#present);
  }

  async #search() {
    const query = byId("query").value.trim();
    this.#searched += 1;
    const mine = this.#searched;
    const found = byId("found");
    if (query === "") {
      found.hidden = true;
      byId("session-list").hidden = false;
      return;
    }
    let shown;
    found.setAttribute("aria-busy", "true");
    try {
      const { results, cursor } = await this.#connection.call("search", { query, limit: RESULTS });
      const more = cursor ? `The ${RESULTS} best` : results.length === 0 ? "Nothing was found" : count(results.length, "message");
      shown = [element("p", { class: "hint", role: "status" }, more), element("ul", {}, results.map((result) => this.#result(result)))];
    } catch (error) {
      shown = [element("p", { class: "problem", role: "alert" }, error.message)];
    }
    // A slower answer to what was typed before does not replace this one.
    if (mine !== this.#searched) return;
    fill(found, shown);
    found.removeAttribute("aria-busy");
    found.hidden = false;
    byId("session-list").hidden = true;
  }

  #result({ sessionId, id, role, snippet }) {
    const session = this.#sessions.find((other) => other.id === sessionId);
    const name = element("span", { class: "hint", dir: "auto" }, `${role} in ${session?.title || sessionId || "the session without a name"}`);
    return element("li", {}, this.#link(sessionId, id, element("span", { class: "snippet", dir: "auto" }, marked(snippet)), name));
  }

  #link(session, message, ...children) {
    const address = this.#places.address(session, message);
    const onclick = (event) => {
      if (location.hash !== address || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#places.again(session, message);
    };
    return element("a", { href: address, onclick }, children);
  }
}

/** A snippet, whose hits the server has put into brackets. */
function marked(snippet) {
  return snippet.split(/\[([^[\]]*)\]/u).map((text, index) => (index % 2 === 1 ? element("mark", {}, text) : text));
}

/** A button that saves a session, with all its branches. */
export function exportButton(conversation, onProblem) {
  const button = element("button", { type: "button" }, "Export");
  button.onclick = async () => {
    button.disabled = true;
    try {
      const name = (conversation.info?.title || conversation.session).replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80);
      const address = URL.createObjectURL(new Blob(await conversation.lines(), { type: "application/jsonl" }));
      element("a", { href: address, download: `${name || "session"}.jsonl` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      onProblem(error);
    } finally {
      button.disabled = false;
    }
  };
  return button;
}
