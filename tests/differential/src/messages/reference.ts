/** `agents/sessions` as it is published, on a stand-in for its storage. */
import type { DatabaseSync } from "node:sqlite";

import { Lifecycle } from "agents/lifecycle";
import {
  COMPACTION_PREFIX,
  createCompactFunction,
  Sessions,
  type Session,
  type SessionChangeEvent,
} from "agents/sessions";

import { copy, type Json, type JsonObject, type Message } from "../json.ts";
import { newDatabase, ObjectState } from "../workers.ts";
import type { Call } from "./calls.ts";
import { RESERVED } from "./model.ts";

/** The object that has the sessions. */
class Host {
  readonly ctx: ObjectState;
  readonly env = {};
  readonly sessions = new Sessions({ reservedMetadataKeys: [RESERVED] });

  constructor(ctx: ObjectState) {
    this.ctx = ctx;
    // It is a DurableObject in all that is looked at here.
    Lifecycle.install(this as never).use(this.sessions);
  }
}

export class Reference {
  readonly #database: DatabaseSync = newDatabase();
  readonly #state = new ObjectState(this.#database);
  #sessions!: Sessions;
  #events: JsonObject[] = [];

  constructor() {
    this.#open();
  }

  /** Carries a call out. What it throws is an answer, too. */
  async run(call: Call): Promise<Json> {
    if (call.op === "reopen") {
      this.#open();
      return null;
    }
    return this.#run(call, this.#sessions.session(call.session));
  }

  /** What its listeners were told since the last time. */
  takeEvents(): JsonObject[] {
    return this.#events.splice(0);
  }

  // To take back what one side has done and the other has refused

  async removeMessage(session: string, id: string): Promise<void> {
    await this.#sessions.session(session).deleteMessages([id]);
    this.#events = [];
  }

  /** There is no call for it. */
  removeCompaction(session: string, summary: string): void {
    this.#database
      .prepare("DELETE FROM cf_agents_session_compactions WHERE session_id = ? AND summary = ?")
      .run(session, summary);
  }

  async setMessage(session: string, message: Message): Promise<void> {
    await this.#sessions.session(session).updateMessage(message as never);
    this.#events = [];
  }

  close(): void {
    this.#database.close();
  }

  #open(): void {
    const { sessions } = new Host(this.#state);
    sessions.subscribe((event: SessionChangeEvent) => {
      this.#events.push(copy(event) as unknown as JsonObject);
    });
    this.#sessions = sessions;
  }

  async #run(call: Exclude<Call, { op: "reopen" }>, session: Session): Promise<Json> {
    switch (call.op) {
      case "append":
      case "upsert": {
        const options = { parentId: call.parentId, source: call.source };
        const write = call.op === "append" ? session.appendMessage : session.upsertMessage;
        const { inserted, message } = await write.call(session, copy(call.message) as never, options as never);
        return { inserted, message: copy(message) as unknown as Json };
      }
      case "update":
        return copy(
          await session.updateMessage(copy(call.message) as never, { source: call.source } as never),
        ) as unknown as Json;
      case "import":
        await session.importMessage(
          copy(call.message) as never,
          { parentId: call.parentId, createdAt: call.createdAt } as never,
        );
        return null;
      case "delete":
        await session.deleteMessages(call.ids);
        return null;
      case "clear":
        await session.clearMessages();
        return null;
      case "addCompaction": {
        const made = await session.addCompaction(call.summary, call.first, call.last);
        return { summary: made.summary, first: made.fromMessageId, last: made.toMessageId };
      }
      case "compact": {
        session.onCompaction(createCompactFunction({ summarize: async () => call.summary, keepRecentTokens: 1 }));
        const made = await session.compact(call.leafId);
        return made && { summary: made.summary, first: made.fromMessageId, last: made.toMessageId };
      }
      case "history":
        return (await session.getHistory(reading(call))).map(item);
      case "batches": {
        const pages: Json[] = [];
        for await (const page of session.historyBatches({
          batchSize: call.batchSize,
          maxBatchBytes: call.maxBatchBytes,
        }))
          pages.push(page.map(item));
        return pages;
      }
      case "recent": {
        const { messages, truncated, totalContentBytes } = await session.getRecentHistory(call.maxBytes, leafOf(call));
        return { messages: messages.map(item), truncated, bytes: totalContentBytes };
      }
      case "stats":
        return copy(await session.getHistoryRowStats(call.leafId)) as unknown as Json;
      case "leaf":
        return copy(await session.getLatestLeaf()) as unknown as Json;
      case "message":
        return copy(await session.getMessage(call.id)) as unknown as Json;
      case "branches":
        return (await session.getBranches(call.id)).map(item);
      case "compactions":
        return (await session.getCompactions()).map(({ summary }) => summary);
      case "search":
        return (await session.search(call.query, { limit: call.limit })).map(({ id, role, content }) => ({
          id,
          role,
          content,
        }));
    }
  }
}

const leafOf = ({ leafId }: { leafId?: string }) => (leafId === undefined ? {} : { leafId });

const reading = (call: { leafId?: string; newestFirst: boolean }) => ({
  ...leafOf(call),
  newestFirst: call.newestFirst,
});

/** A message as it is, a summary as its text. */
function item(message: { id: string; parts: readonly object[] }): Json {
  if (!message.id.startsWith(COMPACTION_PREFIX)) return copy(message) as unknown as Json;
  const [part] = message.parts as { text: string }[];
  return { summary: part!.text };
}
