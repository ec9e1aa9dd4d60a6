// The sessions of a tenant: the list, the search over all of them, import and export.

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
  #open;
  #sessions = [];
  #cursor = null;
  #present = null;
  #searched = 0;
  #timer;

  /** `open(session, messageId)` shows one. */
  constructor(connection, open) {
    this.#connection = connection;
    this.#open = open;
    byId("search").onsubmit = (event) => {
      event.preventDefault();
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
    this.#present = session;
    for (const link of byId("session-list").querySelectorAll("a")) {
      if (link.dataset.session === session) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
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
      const onclick = (event) => {
        event.preventDefault();
        this.#open(session.id);
      };
      const name = element("span", { class: "name", dir: "auto" }, session.title || session.id || "(the session without a name)");
      const facts = element("span", { class: "hint" }, count(session.messages, "message"), ", ", time(session.lastActivityAt));
      const link = element("a", { href: "#", onclick }, name, facts);
      link.dataset.session = session.id;
      return element("li", {}, link);
    });
    if (this.#cursor) {
      items.push(element("li", {}, element("button", { type: "button", onclick: () => this.#more() }, "More sessions")));
    }
    if (items.length === 0) items.push(element("li", { class: "hint" }, "No sessions yet. Import a transcript, or append a message."));
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
    try {
      const { results, cursor } = await this.#connection.call("search", { query, limit: RESULTS });
      const more = cursor ? `The ${RESULTS} best.` : count(results.length, "message");
      shown = [element("p", { class: "hint", role: "status" }, more), element("ul", {}, results.map((result) => this.#result(result)))];
    } catch (error) {
      shown = [element("p", { class: "problem", role: "alert" }, error.message)];
    }
    // A slower answer to what was typed before does not replace this one.
    if (mine !== this.#searched) return;
    fill(found, shown);
    found.hidden = false;
    byId("session-list").hidden = true;
  }

  #result({ sessionId, id, role, snippet }) {
    const session = this.#sessions.find((other) => other.id === sessionId);
    const onclick = (event) => {
      event.preventDefault();
      this.#open(sessionId, id);
    };
    const name = element("span", { class: "hint", dir: "auto" }, `${role} in ${session?.title || sessionId || "the session without a name"}`);
    return element("li", {}, element("a", { href: "#", onclick }, element("span", { class: "snippet", dir: "auto" }, marked(snippet)), name));
  }
}

/** A snippet, whose hits the server has put into brackets. */
function marked(snippet) {
  return snippet.split(/\[([^[\]]*)\]/u).map((text, index) => (index % 2 === 1 ? element("mark", {}, text) : text));
}

/** Takes transcripts in, from the button and from what is dropped on the page. */
export function offerImport(connectionOf, onDone) {
  const input = byId("files");
  input.onchange = () => importAll([...input.files]).finally(() => (input.value = ""));
  document.ondragover = (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  };
  document.ondragleave = (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
  };
  document.ondrop = (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    importAll([...event.dataTransfer.files]);
  };

  async function importAll(files) {
    const progress = byId("import-progress");
    const report = byId("import-report");
    fill(report);
    progress.hidden = false;
    progress.max = files.length;
    progress.value = 0;
    for (const file of files) {
      report.append(element("p", { dir: "auto" }, await importOne(file)));
      progress.value += 1;
    }
    progress.hidden = true;
    onDone();
  }

  async function importOne(file) {
    try {
      if (/\.zip$/i.test(file.name)) throw new Error("archives are taken by the command line: talktree import");
      const data = await file.text();
      const { sessions, failed } = await connectionOf().post("importData", { data });
      const imported = sessions.reduce((sum, session) => sum + session.imported, 0);
      const skipped = sessions.reduce((sum, session) => sum + session.skipped, 0);
      const wrong = [...failed, ...sessions.flatMap((session) => session.failed)];
      const first = wrong[0] ? `; ${count(wrong.length, "failure")}, the first at ${wrong[0].where}: ${wrong[0].why}` : "";
      return `${file.name}: ${count(imported, "message")} in ${count(sessions.length, "session")}, ${skipped} there already${first}`;
    } catch (error) {
      return `${file.name}: ${error.message}`;
    }
  }
}

/** A link that saves a session, with all its branches. */
export function exportButton(connection, session, name) {
  const button = element("button", { type: "button" }, "Export");
  button.onclick = async () => {
    button.disabled = true;
    const parts = [];
    try {
      let cursor;
      do {
        const page = await connection.call("exportLines", { session, cursor });
        parts.push(page.jsonl);
        cursor = page.cursor ?? undefined;
      } while (cursor);
      const address = URL.createObjectURL(new Blob(parts, { type: "application/jsonl" }));
      element("a", { href: address, download: `${name.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80) || "session"}.jsonl` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } finally {
      button.disabled = false;
    }
  };
  return button;
}
