/** The same calls on Talktree, over JSON-RPC. */
import type { Json, JsonObject, Message } from "../json.ts";
import { Refusal, type Program } from "../program.ts";
import type { Call } from "./calls.ts";
import { RESERVED } from "./model.ts";

/** A mapping that is wrong on purpose, to show that the driver notices. */
export type Mistake = "delete-below" | "keep-order" | "ignore-parent" | "hide-summaries" | "stem-nothing";

export const MISTAKES: readonly Mistake[] = [
  "delete-below",
  "keep-order",
  "ignore-parent",
  "hide-summaries",
  "stem-nothing",
];

export class Talktree {
  readonly #program: Program;
  readonly #tenant: string;
  readonly #mistake: Mistake | undefined;
  #cursor: Json = null;

  constructor(program: Program, tenant: string, mistake?: Mistake) {
    this.#program = program;
    this.#tenant = tenant;
    this.#mistake = mistake;
  }

  async start(): Promise<void> {
    // The reference compacts when it is told to, and keeps as little as it may: so does this.
    const settings = { session: null, reservedMetadataKeys: [RESERVED], keepRecentTokens: 1, autoCompact: "off" };
    await this.#call("configure", settings);
  }

  async run(call: Call): Promise<Json> {
    if (call.op === "reopen") {
      await this.#call("close", {});
      return null;
    }
    return this.#run(call, call.session);
  }

  async takeEvents(): Promise<JsonObject[]> {
    const params = this.#cursor === null ? {} : { cursor: this.#cursor };
    const { events, cursor } = await this.#call("changes", params);
    this.#cursor = cursor ?? null;
    return events as JsonObject[];
  }

  /** Takes a compaction back. */
  async removeCompaction(session: string, summary: string): Promise<void> {
    const { compactions } = await this.#call("getCompactions", { session });
    const one = (compactions as { id: string; summary: string }[]).find((made) => made.summary === summary);
    if (one !== undefined) await this.#call("removeCompaction", { session, id: one.id });
    await this.takeEvents();
  }

  async setMessage(session: string, message: Message): Promise<void> {
    await this.#call("updateMessage", { session, message });
    await this.takeEvents();
  }

  async remove(): Promise<void> {
    try {
      await this.#call("deleteTenant", {});
    } catch (error) {
      // A sequence of reads leaves nothing.
      if (!(error instanceof Refusal) || error.kind !== "unknown-tenant") throw error;
    }
  }

  async #run(call: Exclude<Call, { op: "reopen" }>, session: string): Promise<Json> {
    switch (call.op) {
      case "append":
      case "upsert": {
        const { message, source } = call;
        const parent = this.#mistake === "ignore-parent" ? {} : { parentId: call.parentId };
        const given = call.parentId === null ? { parentId: null } : parent;
        const method = call.op === "append" ? "appendMessage" : "upsertMessage";
        const result = await this.#call(method, { session, message, source, ...given });
        return { inserted: result.inserted as boolean, message: result.message ?? (message as unknown as Json) };
      }
      case "update":
        return (
          (await this.#call("updateMessage", { session, message: call.message, source: call.source })).message ?? null
        );
      case "import":
        await this.#call("importMessage", {
          session,
          message: call.message,
          parentId: call.parentId,
          createdAt: call.createdAt,
        });
        return null;
      case "delete": {
        const mode = this.#mistake === "delete-below" ? "subtree" : "splice";
        await this.#call("deleteMessages", { session, ids: call.ids, mode });
        return null;
      }
      case "clear":
        await this.#call("clearMessages", { session });
        return null;
      case "addCompaction": {
        const { summary, first, last } = call;
        const { compaction } = await this.#call("addCompaction", { session, summary, firstId: first, lastId: last });
        return made(compaction);
      }
      case "compact":
        return this.#compact(session, call.summary, call.leafId);
      case "history":
        return this.#history(call, session);
      case "batches": {
        const { batchSize, maxBatchBytes } = call;
        const pages = await this.#pages("readHistory", { session, batchSize, maxBatchBytes }, "messages");
        return pages.map((page) => page.map(item));
      }
      case "recent": {
        const { maxBytes, leafId } = call;
        const result = await this.#call("getRecentHistory", { session, maxBytes, leafId });
        const messages = (result.messages as Json[]).map(item);
        return { messages, truncated: result.truncated!, bytes: result.totalContentBytes! };
      }
      case "stats": {
        const rows = (await this.#pages("getHistoryRowStats", { session, leafId: call.leafId }, "rows")).flat();
        return (rows as JsonObject[]).map(
          ({ id, role, bytes, tokenEstimate }) => ({ id, role, bytes, tokenEstimate }) as Json,
        );
      }
      case "leaf":
        return (await this.#call("getLatestLeaf", { session })).message ?? null;
      case "message":
        return (await this.#call("getMessage", { session, id: call.id })).message ?? null;
      case "branches":
        return (await this.#pages("getBranches", { session, id: call.id }, "messages")).flat().map(item);
      case "compactions": {
        const { compactions } = await this.#call("getCompactions", { session });
        return (compactions as { summary: string }[]).map(({ summary }) => summary);
      }
      case "search": {
        const query = this.#mistake === "stem-nothing" ? `${call.query}x` : call.query;
        const { results } = await this.#call("search", { session, query, limit: call.limit });
        return (results as JsonObject[]).map(({ id, role, content }) => ({ id, role, content }) as Json);
      }
    }
  }

  async #history({ leafId, newestFirst }: { leafId?: string; newestFirst: boolean }, session: string): Promise<Json> {
    const overlays = this.#mistake !== "hide-summaries";
    const params = { session, leafId, overlays, newestFirst: newestFirst && this.#mistake !== "keep-order" };
    return (await this.#pages("readHistory", params, "messages")).flat().map(item);
  }

  async #compact(session: string, summary: string, leafId: string | undefined): Promise<Json> {
    const { plan } = await this.#call("prepareCompaction", { session, leafId });
    if (plan === null) return null;
    const { token } = plan as { token: string };
    return made((await this.#call("commitCompaction", { session, token, summary })).compaction);
  }

  #call(method: string, params: { [key: string]: unknown }): Promise<JsonObject> {
    return this.#program.call(method, { tenant: this.#tenant, ...params });
  }

  #pages(method: string, params: { [key: string]: unknown }, items: string): Promise<Json[][]> {
    return this.#program.pages(method, { tenant: this.#tenant, ...params }, items);
  }
}

function made(compaction: Json | undefined): Json {
  const { summary, firstId, lastId } = compaction as { summary: string; firstId: string; lastId: string };
  return { summary, first: firstId, last: lastId };
}

/** A message as it is, a summary as its text. */
function item(message: Json): Json {
  const { id, parts } = message as unknown as Message;
  return id.startsWith("compaction_") ? { summary: parts[0]!.text as string } : message;
}
