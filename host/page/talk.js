// What is said from this page: new messages, answers below any message, edits as new branches, and answers of a model.

import { Chat } from "./chat.js";
import { byId, fill } from "./dom.js";
import { textOf } from "./message.js";

/** The box for messages of one session, and the model behind it where the server has one. */
export class Talk {
  #conversation;
  #chat = null;
  #parent;
  #turn = Promise.resolve();
  #on;

  /**
   * `on` is told what happens: `begun()` and `grown(text, id)` for an answer that is made, `ended()` when it is whole or broken off,
   * `sent()` for a message, and `failed(error)`.
   */
  constructor(conversation, on) {
    this.#conversation = conversation;
    this.#on = on;
    this.cancel();
  }

  /** Finds out whether somebody answers. */
  async begin(tenant, token) {
    const chat = new Chat(tenant, this.#conversation.session, token);
    if (await chat.isThere()) this.#chat = chat;
  }

  /** Whether a model answers. */
  get isAnswered() {
    return this.#chat !== null;
  }

  /** Begins a message in the place of another one. */
  edit(id, message) {
    this.#goTo(this.#conversation.nodes.get(id)?.parentId ?? null, "Edited message, as a new branch");
    byId("text").value = textOf(message);
  }

  /** Begins a message below any other. */
  answer(id) {
    this.#goTo(id, "Another answer to that message");
  }

  /** The next message goes to the end of what is shown. */
  cancel() {
    this.#goTo(undefined, "New message");
  }

  #goTo(parent, label) {
    this.#parent = parent;
    fill(byId("composer-label"), label);
    byId("cancel-edit").hidden = parent === undefined;
    if (parent !== undefined) byId("text").focus();
  }

  /** Sends what is in the box. */
  async send() {
    const text = byId("text").value.trim();
    if (text === "") return;
    const conversation = this.#conversation;
    const id = newId();
    const message = { id, role: "user", parts: [{ type: "text", text }] };
    // Null is a new root; the first message of all has nothing to be told.
    const parent = this.#parent === undefined ? (conversation.leaf ?? undefined) : this.#parent;
    byId("text").value = "";
    this.cancel();
    if (this.#chat) {
      await this.#answered(parent ?? null, () => this.#chat.send(message, parent, this.#on.grown));
      return;
    }
    try {
      await conversation.append(message, parent);
    } catch (error) {
      // What was typed is not lost, unless something else is there by now.
      byId("text").value ||= text;
      throw error;
    }
    await conversation.learn(id);
    await conversation.show(id);
    this.#on.sent();
  }

  /** Has an answer made anew, or a message answered that has no answer. */
  regenerate(id) {
    const { role, parentId } = this.#conversation.nodes.get(id);
    return this.#answered(role === "user" ? id : parentId, () => this.#chat.again(id, this.#on.grown));
  }

  /** Breaks the answer off. */
  stop() {
    this.#chat?.stop();
  }

  /** Shows the branch that is answered on, and the answer while it is made. What is stored then comes by the feed. */
  #answered(parent, ask) {
    // One answer at a time: the one before is broken off, and what it has to show is shown first.
    this.stop();
    const next = () => this.#answer(parent, ask);
    this.#turn = this.#turn.then(next, next);
    return this.#turn;
  }

  async #answer(parent, ask) {
    const conversation = this.#conversation;
    const before = conversation.leaf;
    if (parent !== before) await conversation.show(parent);
    this.#on.begun();
    try {
      const id = await ask();
      if (id !== null) {
        await conversation.learn(id);
        if (conversation.leaf !== id) await conversation.show(id);
      }
    } catch (error) {
      if (conversation.leaf === parent && parent !== before) await conversation.show(before);
      this.#on.failed(error);
    } finally {
      this.#on.ended();
    }
  }
}

/** An id that nobody else takes, also where the page was not fetched over TLS. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
