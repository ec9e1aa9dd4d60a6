/** Many sessions: `SessionManager` of `agents` 0.22.0, the last one that has it, and Talktree's sessions of one tenant. */
import type { DatabaseSync } from "node:sqlite";

import { SessionManager } from "agents-before/experimental/memory/session";

import type { Intended, Tally } from "../differences.ts";
import type { Failure, Family } from "../family.ts";
import { same, type Json, type JsonObject, type Message } from "../json.ts";
import { Refusal, type Program } from "../program.ts";
import type { Random } from "../random.ts";
import { newDatabase, tagged } from "../workers.ts";

/** Sessions go by a key: it is the id here, and stands for the id there. */
type Call =
  | { op: "create"; key: string; name: string; first?: Message }
  | { op: "append"; key: string; message: Message; parent?: string }
  | { op: "appendAll"; key: string; messages: Message[] }
  | { op: "update"; key: string; message: Message }
  | { op: "rename"; key: string; name: string }
  | { op: "fork"; key: string; at: string; newKey: string; name: string }
  | { op: "remove" | "clear" | "history" | "count" | "info" | "usage"; key: string }
  | { op: "removeMessage"; key: string; id: string }
  | { op: "search"; query: string }
  | { op: "list" };

type Outcome = { value: Json } | { error: string };

const WORDS = ["deploy", "friday", "port", "garden", "river", "stone", "paper"];

/** Wrong on purpose. */
const MISTAKE = "fork-nothing";

export const manager: Family<Call> = { name: "manager", generate, run };

function generate(random: Random, count: number): Call[] {
  const sessions = new Map<string, string[]>();
  const calls: Call[] = [];
  let made = 0;
  const message = (): Message => {
    const text = Array.from({ length: 1 + random.below(6) }, () => random.pick(WORDS)).join(" ");
    return { id: `m${(made += 1)}`, role: random.pick(["user", "assistant"]), parts: [{ type: "text", text }] };
  };
  while (calls.length < count) {
    const any = random.weighted({
      create: 4,
      append: 20,
      appendAll: 3,
      update: 3,
      rename: 2,
      fork: 4,
      remove: 1,
      clear: 0.5,
      history: 12,
      count: 4,
      info: 3,
      usage: 2,
      removeMessage: 3,
      search: 4,
      list: 4,
    });
    const op = sessions.size === 0 ? "create" : any;
    const key = sessions.size === 0 ? "" : random.pick([...sessions.keys()]);
    const ids = sessions.get(key) ?? [];
    switch (op) {
      case "create": {
        const newKey = `s${(made += 1)}`;
        const first = random.chance(0.9) ? message() : undefined;
        if (first !== undefined) sessions.set(newKey, [first.id]);
        calls.push({ op, key: newKey, name: `about ${random.pick(WORDS)} ${made}`, ...(first && { first }) });
        break;
      }
      case "append": {
        const one = message();
        const parent = ids.length > 0 && random.chance(0.2) ? random.pick(ids) : undefined;
        ids.push(one.id);
        calls.push({ op, key, message: one, ...(parent && { parent }) });
        break;
      }
      case "appendAll": {
        const list = [message(), message(), message()];
        ids.push(...list.map(({ id }) => id));
        calls.push({ op, key, messages: list });
        break;
      }
      case "update":
        if (ids.length > 0) calls.push({ op, key, message: { ...message(), id: random.pick(ids), role: "user" } });
        break;
      case "rename":
        calls.push({ op, key, name: `renamed ${(made += 1)}` });
        break;
      case "fork": {
        if (ids.length === 0) break;
        const newKey = `s${(made += 1)}`;
        const at = random.pick(ids);
        sessions.set(newKey, [at]);
        calls.push({ op, key, at, newKey, name: `fork ${made}` });
        break;
      }
      case "removeMessage": {
        const id = ids.at(-1);
        if (id === undefined || ids.length < 2) break;
        ids.pop();
        calls.push({ op, key, id });
        break;
      }
      case "remove":
        sessions.delete(key);
        calls.push({ op, key });
        break;
      case "clear":
        ids.length = 0;
        calls.push({ op, key });
        break;
      case "search":
        calls.push({ op, query: `${random.pick(WORDS)} ${random.chance(0.5) ? random.pick(WORDS) : ""}` });
        break;
      case "list":
        calls.push({ op });
        break;
      default:
        calls.push({ op, key });
    }
  }
  return calls;
}

async function run(
  calls: Call[],
  program: Program,
  tenant: string,
  tally: Tally,
  mistake?: string,
): Promise<Failure | undefined> {
  const talktree = new Talktree(program, tenant, mistake === MISTAKE);
  const reference = new Reference();
  try {
    for (const [at, call] of calls.entries()) {
      const both = {
        talktree: await outcome(() => talktree.run(call)),
        reference: await outcome(() => reference.run(call)),
      };
      const intended = judge(call, both.talktree, both.reference);
      if (intended === undefined) return { at, call, ...both };
      for (const one of intended) tally.set(one, (tally.get(one) ?? 0) + 1);
      if (call.op === "create" && call.first === undefined) await reference.run({ op: "remove", key: call.key });
    }
    return undefined;
  } finally {
    reference.close();
    await program.call("deleteTenant", { tenant }).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }
}

async function outcome(work: () => Promise<Json>): Promise<Outcome> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof Refusal) return { error: error.kind };
    if (error instanceof UnknownKey) return { error: "unknown-session" };
    throw error;
  }
}

function judge(call: Call, talktree: Outcome, reference: Outcome): Intended[] | undefined {
  if (call.op === "create" && call.first === undefined)
    return "error" in talktree && talktree.error === "unknown-session" ? ["session-by-first-write"] : undefined;
  if (same(talktree, reference))
    return call.op === "fork" ? ["fork-keeps-ids"] : call.op === "usage" ? ["no-usage-counters"] : [];
  return undefined;
}

class UnknownKey extends Error {}

class Talktree {
  readonly #program: Program;
  readonly #tenant: string;
  readonly #isWrong: boolean;

  constructor(program: Program, tenant: string, isWrong: boolean) {
    this.#program = program;
    this.#tenant = tenant;
    this.#isWrong = isWrong;
  }

  async run(call: Call): Promise<Json> {
    switch (call.op) {
      case "create":
        if (call.first !== undefined) await this.#call("appendMessage", { session: call.key, message: call.first });
        await this.#call("setTitle", { session: call.key, title: call.name });
        return null;
      case "append":
        await this.#call("appendMessage", { session: call.key, message: call.message, parentId: call.parent });
        return null;
      case "appendAll":
        await this.#call("appendMessages", { session: call.key, messages: call.messages, parentId: null });
        return null;
      case "update":
        await this.#call("updateMessage", { session: call.key, message: call.message });
        return null;
      case "rename":
        await this.#call("setTitle", { session: call.key, title: call.name });
        return null;
      case "fork": {
        const session = this.#isWrong ? "nothing" : call.key;
        await this.#call("forkSession", { session, leafId: call.at, newSession: call.newKey });
        await this.#call("setTitle", { session: call.newKey, title: call.name });
        return null;
      }
      case "remove":
        await this.#call("deleteSession", { session: call.key });
        return null;
      case "clear":
        await this.#call("clearMessages", { session: call.key });
        return null;
      case "removeMessage":
        await this.#call("deleteMessages", { session: call.key, ids: [call.id] });
        return null;
      case "history":
        return (await this.#call("getHistory", { session: call.key })).messages!;
      case "count":
        return (await this.#pages("getHistoryRowStats", { session: call.key }, "rows")).length;
      case "info":
        return (await this.#call("sessionInfo", { session: call.key })).title!;
      case "usage":
        return null;
      case "search": {
        const results = (await this.#pages("search", { query: call.query, limit: 1_000 }, "results")) as JsonObject[];
        return results
          .map(({ sessionId, id, role, content }) => ({ key: sessionId, id, role, content }) as Json)
          .toSorted(byText);
      }
      case "list":
        return (await this.#pages("listSessions", {}, "sessions")).map((one) => (one as JsonObject).title!).toSorted();
    }
  }

  #call(method: string, params: { [key: string]: unknown }): Promise<JsonObject> {
    return this.#program.call(method, { tenant: this.#tenant, ...params });
  }

  async #pages(method: string, params: { [key: string]: unknown }, items: string): Promise<Json[]> {
    return (await this.#program.pages(method, { tenant: this.#tenant, ...params }, items)).flat();
  }
}

class Reference {
  readonly #database: DatabaseSync = newDatabase();
  readonly #manager = SessionManager.create({ sql: tagged(this.#database) } as never);
  readonly #sessions = new Map<string, string>();
  /** Messages of forks have new ids there: the id here for the id there, and the other way round. */
  readonly #here = new Map<string, string>();
  readonly #there = new Map<string, string>();

  async run(call: Call): Promise<Json> {
    switch (call.op) {
      case "create":
        this.#sessions.set(call.key, this.#manager.create(call.name).id);
        if (call.first !== undefined) await this.#manager.append(this.#id(call.key), call.first as never);
        return null;
      case "append": {
        const parent = call.parent === undefined ? undefined : this.#messageId(call.key, call.parent);
        await this.#manager.append(this.#id(call.key), call.message as never, parent);
        return null;
      }
      case "appendAll":
        await this.#manager.appendAll(this.#id(call.key), call.messages as never);
        return null;
      case "update": {
        const id = this.#messageId(call.key, call.message.id);
        const session = this.#manager.getSession(this.#id(call.key));
        if ((await session.getMessage(id)) !== null)
          await this.#manager.upsert(this.#id(call.key), { ...call.message, id } as never);
        return null;
      }
      case "rename":
        this.#manager.rename(this.#id(call.key), call.name);
        return null;
      case "fork": {
        const at = this.#messageId(call.key, call.at);
        const { id } = await this.#manager.fork(this.#id(call.key), at, call.name);
        this.#sessions.set(call.newKey, id);
        const before = (await this.#manager.getHistory(this.#id(call.key), at)) as unknown as Message[];
        const after = (await this.#manager.getHistory(id)) as unknown as Message[];
        for (const [place, one] of after.entries()) {
          const own = this.#here.get(before[place]!.id) ?? before[place]!.id;
          this.#here.set(one.id, own);
          this.#there.set(`${call.newKey} ${own}`, one.id);
        }
        return null;
      }
      case "remove":
        await this.#manager.delete(this.#id(call.key));
        this.#sessions.delete(call.key);
        return null;
      case "clear":
        await this.#manager.clearMessages(this.#id(call.key));
        return null;
      case "removeMessage":
        await this.#manager.deleteMessages(this.#id(call.key), [this.#messageId(call.key, call.id)]);
        return null;
      case "history": {
        const messages = (await this.#manager.getHistory(this.#id(call.key))) as unknown as Message[];
        return messages.map((one) => ({ ...one, id: this.#here.get(one.id) ?? one.id }) as unknown as Json);
      }
      case "count":
        return this.#manager.getMessageCount(this.#id(call.key));
      case "info":
        return this.#manager.get(this.#id(call.key))?.name ?? null;
      case "usage":
        this.#manager.addUsage(this.#id(call.key), 1, 2, 0.5);
        return null;
      case "search":
        return this.#search(call.query);
      case "list":
        return this.#manager
          .list()
          .map(({ name }) => name)
          .toSorted();
    }
  }

  close(): void {
    this.#database.close();
  }

  /** It does not say which session a message is in. */
  async #search(query: string): Promise<Json> {
    const found = this.#manager.search(query, { limit: 10_000 });
    const rows = found.map(({ id, role, content }) => {
      const row = this.#database.prepare("SELECT session_id FROM assistant_messages WHERE id = ?").get(id);
      const key = [...this.#sessions].find(([, one]) => one === row?.session_id)?.[0];
      return { key: key ?? null, id: this.#here.get(id) ?? id, role, content } as Json;
    });
    return rows.toSorted(byText);
  }

  #id(key: string): string {
    const id = this.#sessions.get(key);
    if (id === undefined) throw new UnknownKey(key);
    return id;
  }

  #messageId(key: string, id: string): string {
    return this.#there.get(`${key} ${id}`) ?? id;
  }
}

const byText = (left: Json, right: Json) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1);
