// What is known of a session: its tree, the path that is shown, the stretches that summaries stand for.

/** A page of rows. */
const PAGE = 1000;

/** How many messages are kept once they have been read. */
const KEPT = 2000;

/** How many messages are asked for at once. */
const ASKED = 32;

/**
 * A session as the server tells it. Rows of the path come first, without content; the tree of all messages follows,
 * which is what the menus at forks need; contents are read as they come into view.
 */
export class Conversation {
  #connection;
  #onChange;
  #messages = new Map();
  #asked = new Set();
  #reading = new Map();
  #queue = [];
  #underWay = 0;
  /** The reading of the session, and of the events that came since, one behind the other. */
  #loaded = Promise.resolve();
  #events = Promise.resolve();

  constructor(connection, session, onChange) {
    this.#connection = connection;
    this.session = session;
    this.#onChange = onChange;
    /** All messages known, by id: `{id, parentId, role, seq, children: [id]}`. */
    this.nodes = new Map();
    this.roots = [];
    /** The path that is shown, from the root on. */
    this.path = [];
    /** Tokens of messages, by id, where known. */
    this.tokens = new Map();
    this.compactions = [];
    this.info = null;
    this.configuration = null;
  }

  /** Reads the path, then the tree. */
  load(leafId) {
    this.#loaded = this.#load(leafId);
    return this.#loaded;
  }

  async #load(leafId) {
    const [info, configuration, { compactions }] = await Promise.all([
      // A session that was never written has nothing to tell of itself.
      this.#call("sessionInfo").catch(() => null),
      this.#call("configure"),
      this.#call("getCompactions"),
    ]);
    Object.assign(this, { info, configuration, compactions });
    await this.#readPath(leafId);
    await this.#loadTree();
  }

  /** Shows the path to this leaf, without a word from the server where the way to it is known. */
  async show(leafId) {
    const path = this.#wayTo(leafId);
    if (!path) {
      await this.#readPath(leafId);
      return;
    }
    this.path = path;
    this.#onChange();
    const unmeasured = path.filter((id) => !this.tokens.has(id));
    if (unmeasured.length > ASKED) await this.#readPath(leafId);
    else unmeasured.forEach((id) => this.message(id));
  }

  /** The ids from the root to a message; nothing where one between them is not known. */
  #wayTo(id) {
    const way = [];
    for (let at = id; at !== null; at = this.nodes.get(at).parentId) {
      if (!this.nodes.has(at)) return null;
      way.push(at);
    }
    return way.reverse();
  }

  async #readPath(leafId) {
    const rows = [];
    let cursor;
    do {
      const page = await this.#call("getHistoryRowStats", { leafId, cursor, limit: PAGE });
      rows.push(...page.rows);
      cursor = page.cursor ?? undefined;
    } while (cursor);
    for (const row of rows) {
      this.tokens.set(row.id, row.tokenEstimate);
      this.#know(row);
    }
    this.path = rows.map((row) => row.id);
    this.#onChange();
  }

  async #loadTree() {
    let cursor;
    do {
      const page = await this.#call("listMessages", { cursor, limit: PAGE });
      page.messages.forEach((row) => this.#know(row));
      cursor = page.cursor ?? undefined;
    } while (cursor);
    this.#onChange();
  }

  #know({ id, parentId, role, seq, createdAt, preview }) {
    const known = this.nodes.get(id);
    if (known) {
      known.preview ??= preview;
      known.createdAt ??= createdAt;
      return;
    }
    this.nodes.set(id, { id, parentId, role, seq, createdAt, preview, children: [] });
    // Pages of the tree come by seq, and a path from its root, so a child always finds its parent.
    const siblings = parentId === null ? this.roots : this.nodes.get(parentId)?.children;
    if (!siblings) return;
    const later = siblings.findIndex((other) => this.nodes.get(other).seq > seq);
    siblings.splice(later < 0 ? siblings.length : later, 0, id);
  }

  /** The answers to the same message, this one among them. */
  siblings(id) {
    const node = this.nodes.get(id);
    if (!node) return [id];
    const all = node.parentId === null ? this.roots : this.nodes.get(node.parentId)?.children;
    return all?.includes(id) ? all : [id];
  }

  /** How a message looks beside its content: what is drawn from it is drawn anew when this changes. */
  stamp(id) {
    const siblings = this.siblings(id);
    const { role, children } = this.nodes.get(id) ?? { children: [] };
    const isOpen = role === "user" && children.length === 0;
    return `${siblings.indexOf(id)} ${siblings.length} ${this.tokens.get(id)} ${this.#messages.has(id)} ${isOpen}`;
  }

  /** The newest leaf at or below a message. */
  leafBelow(id) {
    let at = id;
    for (;;) {
      const children = this.nodes.get(at)?.children ?? [];
      if (children.length === 0) return at;
      at = children[children.length - 1];
    }
  }

  /** The end of the path. */
  get leaf() {
    return this.path[this.path.length - 1] ?? null;
  }

  /** Goes on from another leaf, here and for whoever appends next. */
  async switchTo(leafId) {
    await this.#call("setLeaf", { id: leafId });
    await this.show(leafId);
  }

  /** Adds a message below another. */
  append(message, parentId) {
    return this.#call("appendMessage", { message, parentId, source: "client" });
  }

  /** The stretches of the path that are replaced on reading: `{compaction, from, to}`, places on the path. */
  folds() {
    const places = new Map(this.path.map((id, index) => [id, index]));
    const folds = this.compactions
      .map((compaction) => ({ compaction, from: places.get(compaction.firstId), to: places.get(compaction.lastId) }))
      .filter(({ from, to }) => from !== undefined && to !== undefined);
    // The newest summary of those that cover one another is the one that is read.
    const inForce = folds.filter((fold, index) =>
      folds.every((other, place) => place <= index || other.to < fold.from || other.from > fold.to));
    return inForce.sort((a, b) => a.from - b.from);
  }

  /** A message if it has been read: `{message, media, createdAt}`. Otherwise it is asked for, and the change is told. */
  message(id) {
    const kept = this.#messages.get(id);
    if (kept) {
      this.#messages.delete(id);
      this.#messages.set(id, kept);
      return kept;
    }
    if (!this.#asked.has(id)) {
      this.#asked.add(id);
      this.#queue.push(id);
      this.#ask();
    }
    return null;
  }

  #ask() {
    while (this.#underWay < ASKED && this.#queue.length > 0) {
      // What came into view last is wanted first.
      const id = this.#queue.pop();
      this.#underWay += 1;
      this.#read(id)
        .catch((error) => this.#keep(id, { error }))
        .finally(() => {
          this.#underWay -= 1;
          this.#ask();
        });
    }
  }

  /** Reads a message; who asks while it is read waits for the same answer. */
  #read(id) {
    const begun = this.#reading.get(id);
    if (begun) return begun;
    const reading = this.#call("getMessage", { id, media: "reference" }).then((answer) => {
      this.#keep(id, answer);
      return answer;
    });
    this.#reading.set(id, reading);
    return reading.finally(() => this.#reading.delete(id));
  }

  #keep(id, answer) {
    this.#asked.delete(id);
    this.#messages.set(id, answer);
    const isNew = answer.tokenEstimate !== undefined && this.tokens.get(id) !== answer.tokenEstimate;
    if (isNew) this.tokens.set(id, answer.tokenEstimate);
    if (this.#messages.size > KEPT) this.#messages.delete(this.#messages.keys().next().value);
    this.#onChange([id], isNew);
  }

  /** Bytes of a message's media, as an address that an element can show. */
  async media(id, index) {
    const parts = [];
    let offset = 0;
    let mediaType;
    for (;;) {
      const part = await this.#call("getMedia", { id, index, offset, length: 4 << 20 });
      const bytes = Uint8Array.from(atob(part.base64), (character) => character.charCodeAt(0));
      parts.push(bytes);
      offset += bytes.length;
      mediaType = part.mediaType;
      if (offset >= part.bytes || bytes.length === 0) break;
    }
    return URL.createObjectURL(new Blob(parts, { type: mediaType }));
  }

  /** The whole session as lines of JSON, with all branches, in parts. */
  async lines() {
    const parts = [];
    let cursor;
    do {
      const page = await this.#call("exportLines", { cursor });
      parts.push(page.jsonl);
      cursor = page.cursor ?? undefined;
    } while (cursor);
    return parts;
  }

  /** Takes in what happened, one event after the other. Answers the id of a message that came on another branch, if one did. */
  takeIn(event) {
    const taken = this.#events.then(() => this.#loaded.catch(() => null)).then(() => this.#takeIn(event));
    this.#events = taken.catch(() => null);
    return taken;
  }

  async #takeIn(event) {
    switch (event.type) {
      case "append":
      case "import":
        return this.#appended(event);
      case "update":
        for (const id of event.ids) {
          this.#messages.delete(id);
          this.#reading.delete(id);
        }
        this.#onChange(event.ids);
        return null;
      case "compact":
      case "compaction":
        this.compactions = (await this.#call("getCompactions")).compactions;
        this.#onChange();
        return null;
      case "session":
        this.info = await this.#call("sessionInfo").catch(() => null);
        this.#onChange();
        return null;
      case "delete":
      case "clear":
        await this.#again();
        return null;
      default:
        return null;
    }
  }

  /** Gets to know a message that was added, here or elsewhere, if it is not known. */
  async learn(id) {
    if (this.nodes.has(id)) return;
    const { message, parentId, seq, createdAt } = await this.#read(id);
    if (message) this.#know({ id, parentId, role: message.role, seq, createdAt });
  }

  async #appended({ ids }) {
    const added = ids.filter((id) => !this.nodes.has(id));
    if (added.length > ASKED) {
      await this.#again();
      return null;
    }
    // Parents stand before their answers.
    for (const id of added) await this.learn(id);
    const { leaf } = this;
    let elsewhere = null;
    for (const id of added) {
      const node = this.nodes.get(id);
      if (!node) continue;
      if (node.parentId === this.leaf) this.path.push(id);
      else if (!this.path.includes(id)) elsewhere = id;
    }
    if (added.length > 0) this.#onChange();
    return leaf === this.leaf ? elsewhere : null;
  }

  async #again() {
    const { leaf } = this;
    this.nodes.clear();
    this.roots.length = 0;
    this.#messages.clear();
    await this.#load(leaf ?? undefined).catch(() => this.#load());
  }

  #call(method, params = {}) {
    return this.#connection.call(method, { session: this.session, ...params });
  }
}
