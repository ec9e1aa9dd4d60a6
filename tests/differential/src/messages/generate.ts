/** Makes a sequence of calls from random numbers alone, without asking either side. */
import { createHash } from "node:crypto";

import type { Message, Part } from "../json.ts";
import type { Random } from "../random.ts";
import type { Call, Source } from "./calls.ts";
import { SessionModel } from "./model.ts";

const SESSIONS = ["", "", "", "other"];
const WORDS = [
  "deploy",
  "friday",
  "port",
  "garden",
  "river",
  "stone",
  "paper",
  "lamp",
  "copper",
  "violet",
  "harbor",
  "maple",
];
const CHINESE = ["我们昨天讨论了部署窗口", "决定周五", "重跑gen后", "端口冲突"];
const QUERIES = [
  "deploy",
  "deployed",
  "friday port",
  "garden river stone",
  '"garden river"',
  "部署",
  "gen",
  "*",
  "NOT",
  "la\u0000mp",
  "Harbor",
  "",
];
const BYTES = [Buffer.alloc(300, 1), Buffer.alloc(60, 2), Buffer.from("abcd")];
const DATE = Date.UTC(2026, 0, 1);

const WEIGHTS: Readonly<Record<Call["op"], number>> = {
  append: 34,
  upsert: 4,
  update: 6,
  import: 4,
  delete: 4,
  clear: 0.3,
  addCompaction: 4,
  compact: 3,
  history: 12,
  batches: 3,
  recent: 5,
  stats: 5,
  leaf: 5,
  message: 4,
  branches: 5,
  compactions: 2,
  search: 5,
  reopen: 1,
};

export function generate(random: Random, count: number): Call[] {
  const sessions = new Map<string, SessionModel>();
  const calls: Call[] = [];
  let made = 0;
  while (calls.length < count) {
    const session = random.pick(SESSIONS);
    const model = sessions.get(session) ?? new SessionModel();
    sessions.set(session, model);
    const call = new Maker(random, session, model, () => `m${(made += 1)}`).make(random.weighted(WEIGHTS));
    if (call === undefined) continue;
    calls.push(call);
    if (isTaken(call, model)) model.apply(call, null);
  }
  return calls;
}

/** Whether both sides do what the call says. */
function isTaken(call: Call, model: SessionModel): boolean {
  if (call.op === "addCompaction") return model.range(call.first, call.last).length > 0;
  if (!("message" in call)) return true;
  const { id } = call.message;
  const isParentKnown = !("parentId" in call) || typeof call.parentId !== "string" || model.nodes.has(call.parentId);
  return isParentKnown && id !== "" && !id.startsWith("compaction_");
}

class Maker {
  readonly #random: Random;
  readonly #session: string;
  readonly #model: SessionModel;
  readonly #newId: () => string;

  constructor(random: Random, session: string, model: SessionModel, newId: () => string) {
    this.#random = random;
    this.#session = session;
    this.#model = model;
    this.#newId = newId;
  }

  make(op: Call["op"]): Call | undefined {
    const random = this.#random;
    const session = this.#session;
    switch (op) {
      case "append":
      case "upsert": {
        const known = op === "upsert" ? 0.5 : 0.06;
        const message = random.chance(0.01) ? this.#unacceptable() : this.#message(known);
        return { op, session, message, ...this.#parent(), ...this.#source() };
      }
      case "update":
        return { op, session, message: this.#message(0.9), ...this.#source() };
      case "import": {
        const parentId = random.chance(0.1) ? "unknown" : (this.#known() ?? null);
        return { op, session, message: this.#message(0.1), parentId, createdAt: DATE + random.below(1e9) };
      }
      case "delete": {
        const ids = Array.from({ length: 1 + random.below(3) }, () => this.#id(0.9));
        return { op, session, ids };
      }
      case "clear":
        return { op, session };
      case "addCompaction":
        return this.#compaction();
      case "compact":
        // Now and then a summary that is no shorter than what it stands for.
        return {
          op,
          session,
          summary: this.#summary() + (random.chance(0.15) ? this.#words(400) : ""),
          ...this.#leaf(0.3),
        };
      case "history":
        return { op, session, newestFirst: random.chance(0.3), ...this.#leaf(0.5) };
      case "batches":
        return { op, session, batchSize: 1 + random.below(6), maxBatchBytes: 50 + random.below(2_000) };
      case "recent":
        return { op, session, maxBytes: random.below(3_000), ...this.#leaf(0.3) };
      case "stats":
        return { op, session, ...this.#leaf(0.3) };
      case "message":
      case "branches":
        return { op, session, id: this.#id(0.9) };
      case "search":
        return { op, session, query: random.pick(QUERIES), limit: random.pick([1, 5, 200]) };
      case "leaf":
      case "compactions":
        return { op, session };
      case "reopen":
        return { op };
    }
  }

  #compaction(): Call | undefined {
    const random = this.#random;
    const summary = this.#summary();
    const [first, last] = [this.#known(), this.#known()];
    if (first === undefined || last === undefined) return undefined;
    // Mostly one that can be made, now and then any two messages.
    const path = this.#model.path(last);
    const from = random.chance(0.1) ? first : random.pick(path).id;
    return { op: "addCompaction", session: this.#session, summary, first: from, last };
  }

  #summary(): string {
    return `${this.#newId()} sum`;
  }

  #known(): string | undefined {
    const ids = [...this.#model.nodes.keys()];
    return ids.length === 0 ? undefined : this.#random.pick(ids);
  }

  #id(known: number): string {
    return (this.#random.chance(known) ? this.#known() : undefined) ?? "unknown";
  }

  #leaf(probability: number): { leafId?: string } {
    return this.#random.chance(probability) ? { leafId: this.#id(0.93) } : {};
  }

  #parent(): { parentId?: string | null } {
    if (this.#random.chance(0.8)) return {};
    if (this.#random.chance(0.1)) return { parentId: null };
    return { parentId: this.#id(0.93) };
  }

  #source(): { source?: Source } {
    return this.#random.chance(0.3) ? { source: "client" } : {};
  }

  /** A message that one side or both do not take. */
  #unacceptable(): Message {
    const message = this.#message(0);
    return this.#random.chance(0.5) ? { ...message, id: `compaction_${message.id}` } : { ...message, id: "" };
  }

  #message(known: number): Message {
    const random = this.#random;
    const id = (random.chance(known) ? this.#known() : undefined) ?? this.#newId();
    const role = random.pick(["user", "assistant", "assistant", "system"]);
    const parts = Array.from({ length: 1 + random.below(3) }, () => this.#part());
    const metadata = random.chance(0.2)
      ? { channel: random.pick(WORDS), ...(random.chance(0.5) ? { n: 1.5 } : {}) }
      : undefined;
    return { id, role, parts, ...(metadata === undefined ? {} : { metadata }) };
  }

  #part(): Part {
    const random = this.#random;
    switch (random.weighted({ text: 12, chinese: 1, tool: 2, reasoning: 1, file: 1, pointer: 0.2, data: 0.5 })) {
      case "text":
        return { type: "text", text: this.#words(1 + random.below(20)) };
      case "chinese":
        return { type: "text", text: `${this.#words(2)} ${random.pick(CHINESE)} ${this.#words(1)}` };
      case "tool": {
        const call = { type: "tool-lookup", toolCallId: this.#newId(), input: { query: this.#words(2) } };
        if (random.chance(0.15)) return { ...call, state: "input-available" };
        return { ...call, state: "output-available", output: { rows: [1, 2.5, this.#words(3)] } };
      }
      case "reasoning": {
        const openai = { itemId: this.#newId(), ...(random.chance(0.5) ? { other: true } : {}) };
        const text = random.chance(0.3) ? " " : this.#words(4);
        return { type: "reasoning", text, ...(random.chance(0.6) ? { providerMetadata: { openai } } : {}) };
      }
      case "file": {
        const mediaType = random.pick(["image/png", "image/jpeg"]);
        const url = `data:${mediaType};base64,${random.pick(BYTES).toString("base64")}`;
        return { type: "file", mediaType, url };
      }
      case "pointer": {
        const hash = createHash("sha256").update(random.pick(BYTES)).digest("hex");
        return { type: "file", mediaType: "image/png", url: `attachment:sha256:${hash}` };
      }
      case "data":
        return { type: "data-weather", data: { town: this.#words(1), nested: [null, true, { deep: "x" }] } };
    }
  }

  #words(count: number): string {
    return Array.from({ length: count }, () => this.#random.pick(WORDS)).join(" ");
  }
}
