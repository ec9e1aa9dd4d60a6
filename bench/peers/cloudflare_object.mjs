// A Durable Object with Cloudflare's Sessions, as their documentation has it, and the calls that are measured.
import { DurableObject } from "cloudflare:workers";
import { Lifecycle } from "agents/lifecycle";
import { Sessions } from "agents/sessions";

export class Conversation extends DurableObject {
  sessions = new Sessions();
  lifecycle = Lifecycle.install(this).use(this.sessions);
  session = this.sessions.session();
  #given = [];

  async fetch(request) {
    const { what, options } = await request.json();
    return Response.json((await this[what](options)) ?? null);
  }

  nothing() {}

  /** Messages to append are there, as objects, before the clock runs. */
  give(messages) {
    this.#given = messages;
  }

  async fill() {
    for (const message of this.#given) await this.session.appendMessage(message);
    return this.#given.length;
  }

  /** What an append has written is on the disk before the next one: an object answers no sooner. */
  async append() {
    for (const message of this.#given) {
      await this.session.appendMessage(message);
      await this.ctx.storage.sync();
    }
    return this.#given.length;
  }

  async appendGiven(message) {
    await this.session.appendMessage(message);
    return 1;
  }

  async fork(parentId) {
    await this.session.appendMessage(this.#given[0], { parentId });
  }

  async history(leafId) {
    let count = 0;
    for await (const _ of this.session.history(leafId ? { leafId } : {})) count++;
    return count;
  }

  async first() {
    for await (const _ of this.session.history()) return 1;
    return 0;
  }

  async recent(bytes) {
    return (await this.session.getRecentHistory(bytes)).messages.length;
  }

  async search(query) {
    return (await this.session.search(query, { limit: 20 })).length;
  }

  async hits(query) {
    return (await this.session.search(query, { limit: 1_000_000 })).length;
  }

  /** The object goes; the next request finds it on the disk. */
  leave() {
    this.ctx.abort("leave");
  }
}

export default {
  fetch: (request, env) => env.conversations.get(env.conversations.idFromName("peer")).fetch(request),
};
