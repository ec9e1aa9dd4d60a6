/** Lines that are written for `agents/sessions`, run over the stand-ins. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { Agent, type AgentContext } from "agents";
import { AgentContextProvider, ContextBlocks } from "agents/context";
import { Lifecycle } from "agents/lifecycle";
import {
  COMPACTION_PREFIX,
  createCompactFunction,
  isCompactionMessage,
  Sessions,
  type Session,
  type SessionChangeEvent,
  type SessionMessage,
} from "agents/sessions";
import type { UIMessage } from "ai";
import { DurableObject } from "cloudflare:workers";

import { NotConfiguredError, UnknownParentError } from "talktree";

import { all, directory, later } from "./places.js";

class Conversation extends DurableObject {
  readonly sessions = new Sessions({ reservedMetadataKeys: ["channel"] });
  readonly lifecycle = Lifecycle.install(this).use(this.sessions);
  readonly session = this.sessions.session();
  messages: UIMessage[] = [];
  started = 0;

  onStart(): void {
    this.started += 1;
  }
}

async function conversation(t: TestContext, path?: string): Promise<Conversation> {
  const storage = { directory: path ?? (await directory(t)) };
  const object = new Conversation({ id: { name: "test" }, storage }, {});
  later(t, () => object.lifecycle.dispose());
  return object;
}

const say = (id: string, text = id, role: "user" | "assistant" = "user") => ({
  id,
  role,
  parts: [{ type: "text" as const, text }],
});

const idsOf = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

async function collected(session: Session, options = {}): Promise<string[]> {
  return idsOf(await all(session.history(options)));
}

test("a capability is installed, and starts by itself before the first call", async (t) => {
  const object = await conversation(t);
  assert.equal(object.lifecycle.isStarted(), false);
  await object.session.appendMessage(say("q1"));
  assert.equal(object.lifecycle.isStarted(), true);
  await object.lifecycle.start();
  assert.equal(object.started, 1);
  assert.equal(object.sessions.session("x"), object.sessions.session("x"));
  await assert.rejects(new Sessions().session().getHistory(), NotConfiguredError);
});

class ConversationAgent extends Agent<{ greeting: string }> {
  readonly sessions = new Sessions();
  readonly session = this.sessions.session();
  readonly context = new ContextBlocks([{ label: "memory", provider: new AgentContextProvider(this, "memory") }]);

  constructor(ctx: AgentContext, env: { greeting: string }) {
    super(ctx, env);
    this.lifecycle.use(this.sessions);
  }

  async onRequest(text: string): Promise<string> {
    await this.session.appendMessage({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
    await this.context.appendToBlock("memory", text);
    return `${this.env.greeting} ${(await this.session.getHistory()).length}`;
  }
}

test("an agent keeps its conversation and its memory in one store", async (t) => {
  const ctx = { id: { name: "test" }, storage: { directory: await directory(t) } };
  const agent = new ConversationAgent(ctx, { greeting: "message" });
  assert.equal(await agent.onRequest("I like tea"), "message 1");
  assert.equal(await agent.onRequest("and cake"), "message 2");
  await agent.lifecycle.dispose();
  const again = new ConversationAgent(ctx, { greeting: "message" });
  later(t, () => again.lifecycle.dispose());
  assert.equal(await again.onRequest("still"), "message 3");
  assert.match(await again.context.freezeSystemPrompt(), /I like tea\nand cake\nstill/);
});

test("messages are appended to the leaf, to a message or as a root, and an id counts once", async (t) => {
  const { session } = await conversation(t);
  const result = await session.appendMessage({
    id: crypto.randomUUID(),
    role: "user",
    parts: [{ type: "text", text: "Hello" }],
  });
  assert.equal(result.inserted, true);
  await session.clearMessages();
  const question = say("q1");
  await session.appendMessage(question);
  await session.appendMessage(say("a1", "one", "assistant"));
  const alternative = say("a2", "two", "assistant");
  await session.appendMessage(alternative, { parentId: question.id });
  await session.appendMessage(say("root"), { parentId: null });
  assert.deepEqual(await collected(session, { leafId: alternative.id }), ["q1", "a2"]);
  assert.deepEqual(idsOf(await session.getHistory({ leafId: "a1", newestFirst: true })), ["a1", "q1"]);
  assert.deepEqual(idsOf(await session.getBranches(question.id)), ["a1", "a2"]);
  assert.equal((await session.getLatestLeaf())?.id, "root");
  const again = await session.appendMessage(say("q1", "something else"));
  assert.deepEqual(again, { inserted: false, message: question });
  await assert.rejects(session.appendMessage(say("x"), { parentId: "unknown" }), UnknownParentError);
});

test("what is not there reads as nothing", async (t) => {
  const { session } = await conversation(t);
  assert.deepEqual(await session.getRecentHistory(1000), { messages: [], truncated: false, totalContentBytes: 0 });
  await session.appendMessage(say("q1"));
  assert.equal(await session.getMessage("unknown"), null);
  assert.equal(await session.updateMessage(say("unknown")), null);
  for (const leafId of ["unknown"]) {
    assert.deepEqual(await session.getHistory({ leafId }), []);
    assert.deepEqual(await collected(session, { leafId }), []);
    assert.deepEqual(await session.getHistoryRowStats(leafId), []);
    assert.deepEqual(await session.getBranches(leafId), []);
  }
  assert.deepEqual(await session.search("x", { limit: 0 }), []);
});

test("updates, upserts and deletes", async (t) => {
  const { session } = await conversation(t);
  for (const id of ["m1", "m2", "m3"]) await session.appendMessage(say(id));
  assert.deepEqual(await session.updateMessage(say("m2", "changed")), say("m2", "changed"));
  assert.equal((await session.upsertMessage(say("m2", "again"))).inserted, false);
  assert.equal((await session.upsertMessage(say("m4"), { parentId: "m3" })).inserted, true);
  await session.deleteMessages(["m2", "unknown"]);
  assert.deepEqual(await collected(session), ["m1", "m3", "m4"]);
  const forged = { ...say("m5"), metadata: { channel: "admin", kept: true } };
  const { message } = await session.appendMessage(forged, { source: "client" });
  assert.deepEqual(message.metadata, { kept: true });
});

test("batches, the recent window, sizes and search", async (t) => {
  const { session } = await conversation(t);
  for (let at = 0; at < 60; at += 1) await session.appendMessage(say(`m${at}`, `deployment ${at} failed 部署窗口`));
  const batches = await all(session.historyBatches({ batchSize: 25, maxBatchBytes: 2 * 1024 * 1024 }));
  assert.deepEqual(
    batches.map(({ length }) => length),
    [25, 25, 10],
  );
  assert.deepEqual((await all(session.historyBatches({ batchSize: 0.5 }))).length, 60);
  const recent = await session.getRecentHistory(400, 4);
  assert.ok(recent.truncated && recent.messages.at(-1)?.id === "m59");
  const stats = await session.getHistoryRowStats();
  assert.deepEqual(Object.keys(stats[0] ?? {}).toSorted(), ["bytes", "id", "role", "tokenEstimate"]);
  assert.equal(
    stats.reduce((sum, { bytes }) => sum + bytes, 0),
    recent.totalContentBytes,
  );
  assert.equal((await session.search("deployment failed")).length, 20);
  const [found] = await session.search("部署", { limit: 1 });
  assert.deepEqual(Object.keys(found ?? {}).toSorted(), ["content", "id", "role"]);
  const reason = new Error("enough");
  await assert.rejects(session.getHistory({ signal: AbortSignal.abort(reason) }), reason);
});

test("a conversation is replayed elsewhere with its times", async (t) => {
  const source = (await conversation(t)).session;
  const destination = (await conversation(t)).session;
  const createdAt = new Date("2024-02-03T04:05:06.789Z");
  await source.appendMessage({ ...say("m1"), createdAt });
  await source.appendMessage(say("m2"));
  let parentId: string | null = null;
  for await (const message of source.history()) {
    await destination.importMessage(message, { parentId, createdAt: message.createdAt?.getTime() ?? Date.now() });
    parentId = message.id;
  }
  assert.deepEqual(await destination.getHistory(), await source.getHistory());
  assert.deepEqual((await destination.getMessage("m1"))?.createdAt, createdAt);
});

test("listeners are told of every write in order, one after the other, and may fail", async (t) => {
  const object = await conversation(t);
  const { sessions, session } = object;
  const seen: string[] = [];
  let busy = false;
  const listener = async (event: SessionChangeEvent) => {
    assert.equal(busy, false);
    busy = true;
    await new Promise((resolve) => setImmediate(resolve));
    busy = false;
    switch (event.type) {
      case "append":
        seen.push(`append ${event.message.id} ${event.inserted} ${"parentId" in event ? event.parentId : "-"}`);
        break;
      case "update":
      case "import":
        seen.push(`${event.type} ${event.message.id}`);
        break;
      case "delete":
        seen.push(`delete ${event.messageIds.join()}`);
        break;
      case "compaction":
        seen.push(`compaction ${event.compaction.fromMessageId}`);
        break;
      default:
        seen.push(event.type);
    }
    throw new Error("a listener may fail");
  };
  sessions.subscribe(listener);
  const unsubscribe = sessions.subscribe(listener);
  await session.appendMessage(say("m1"));
  await session.appendMessage(say("m1"));
  await session.appendMessage(say("m2"), { parentId: "m1" });
  await session.updateMessage(say("m2"));
  await session.updateMessage(say("m2", "changed"));
  await session.updateMessage(say("unknown"));
  await session.importMessage(say("m3"), { parentId: "m2", createdAt: 5 });
  await session.importMessage(say("m3"), { parentId: "m2", createdAt: 5 });
  const compaction = await session.addCompaction("In short", "m1", "m2");
  assert.deepEqual(await session.getCompactions(), [compaction]);
  await session.deleteMessages(["m3", "gone"]);
  await session.clearMessages();
  unsubscribe();
  await session.appendMessage(say("m4"));
  assert.deepEqual(seen, [
    "append m1 true -",
    "append m1 false -",
    "append m2 true m1",
    "update m2",
    "import m3",
    "compaction m1",
    "delete m3,gone",
    "clear",
  ]);
});

test("a mirror keeps a list in step, and leaves the rest to the program", async (t) => {
  const object = await conversation(t);
  const { sessions, session } = object;
  const applied: string[] = [];
  const stop = sessions.session("").mirror<UIMessage>({
    get: () => object.messages,
    set: (messages) => {
      object.messages = messages;
    },
    transform: (message) => ({ ...message, metadata: "cached" }) as unknown as UIMessage,
    intercept: async (event) => {
      if (event.type !== "compact") return false;
      object.messages = [];
      return true;
    },
    onApplied: (event, message, previous) => {
      applied.push(`${event.type} ${message.id} ${previous?.id ?? "-"}`);
    },
  });
  await session.appendMessage(say("m1"));
  await session.appendMessage(say("m2"));
  await session.appendMessage(say("m1"));
  await sessions.session("other").appendMessage(say("elsewhere"));
  await session.updateMessage(say("m1", "changed"));
  assert.deepEqual(object.messages, [
    { ...say("m1", "changed"), metadata: "cached" },
    { ...say("m2"), metadata: "cached" },
  ]);
  object.messages = [...object.messages];
  await session.deleteMessages(["m1"]);
  assert.deepEqual(idsOf(object.messages), ["m2"]);
  assert.deepEqual(applied, ["append m1 -", "append m2 -", "update m1 m1"]);
  await session.clearMessages();
  assert.deepEqual(object.messages, []);
  stop();
  await session.appendMessage(say("m3"));
  assert.deepEqual(object.messages, []);
});

test("a path above its threshold is compacted within the append", async (t) => {
  const object = await conversation(t);
  const { sessions, session } = object;
  const prompts: string[] = [];
  const events: string[] = [];
  const summarize = async (prompt: string) => {
    prompts.push(prompt);
    return "They talked about ports.";
  };
  session.onCompaction(createCompactFunction({ summarize, keepRecentTokens: 200 })).compactAfter(1000);
  sessions.subscribe((event) => {
    events.push(event.type);
  });
  for (let at = 0; !events.includes("compact"); at += 1) {
    assert.ok(at < 50);
    await session.appendMessage(say(`m${at}`, `port ${at} `.repeat(50)));
  }
  assert.equal(events.at(-1), "compact");
  assert.equal(events.at(-2), "append");
  assert.match(prompts[0] ?? "", /Open Items/);
  const history = await session.getHistory();
  const summary = history.find(isCompactionMessage);
  assert.equal(summary?.id.startsWith(COMPACTION_PREFIX), true);
  assert.equal((summary?.parts[0] as { text: string }).text, "They talked about ports.");
  assert.equal((await session.getMessage("m4"))?.id, "m4");
  // What a client sends back is not stored beside what it summarizes.
  for (const write of [
    session.appendMessage(summary as SessionMessage),
    session.upsertMessage(summary as SessionMessage),
  ]) {
    assert.deepEqual(await write, { inserted: false, message: summary });
  }
  assert.equal(await session.updateMessage(summary as SessionMessage), null);
});

test("compaction by hand: with a function of one's own, of a branch, and without any", async (t) => {
  const { session } = await conversation(t);
  await assert.rejects(session.compact(), /onCompaction/);
  for (let at = 0; at < 8; at += 1) await session.appendMessage(say(`m${at}`));
  const asked: string[][] = [];
  session.onCompaction(async (messages) => {
    asked.push(idsOf(messages));
    return { fromMessageId: "m2", toMessageId: asked.length === 1 ? "m4" : "m5", summary: `summary ${asked.length}` };
  });
  assert.deepEqual(await session.compact("m6"), { fromMessageId: "m2", toMessageId: "m4", summary: "summary 1" });
  assert.deepEqual(asked[0]?.at(-1), "m6");
  const [first] = await session.getCompactions();
  assert.deepEqual(await collected(session), ["m0", "m1", `compaction_${first?.id}`, "m5", "m6", "m7"]);
  assert.equal((await session.compact())?.fromMessageId, "m2", "the second begins where the first did");
  assert.equal((await session.getHistory()).filter(isCompactionMessage).length, 1);
  session.onCompaction(async () => ({ fromMessageId: "m0", toMessageId: "not there", summary: "x" }));
  assert.equal(await session.compact(), null);
  session.onCompaction(() => null);
  assert.equal(await session.compact(), null);
  session.onCompaction(async () => {
    throw new Error("no model today");
  });
  assert.equal(await session.compact(), null);
});

test("the compact function by itself keeps head and tail, never parts a call from its result, and takes summaries up", async () => {
  const prompts: string[] = [];
  const compact = createCompactFunction({
    summarize: (prompt) => {
      prompts.push(prompt);
      return prompts.length === 3 ? "  " : "short";
    },
    keepRecentTokens: 30,
  });
  const plain = (count: number): SessionMessage[] =>
    Array.from({ length: count }, (_, at) => say(`m${at}`, `words ${at}`));
  assert.equal(await compact(plain(5)), null);
  assert.deepEqual(await compact(plain(10)), { fromMessageId: "m3", toMessageId: "m6", summary: "short" });
  const call = { type: "tool-read", toolCallId: "c1", input: { path: "a" } };
  const tools: SessionMessage[] = plain(10);
  tools[2] = { id: "m2", role: "assistant", parts: [call] };
  tools[3] = { id: "m3", role: "assistant", parts: [{ ...call, output: { lines: [1, 2] } }] };
  assert.equal((await compact(tools))?.fromMessageId, "m4");
  const summary: SessionMessage = { id: "compaction_1", role: "assistant", parts: [{ type: "text", text: "EARLIER" }] };
  assert.equal(await compact([...plain(10), summary, ...plain(3)]), null, "a blank summary is none");
  assert.match(prompts[2] ?? "", /EARLIER/);
  assert.match(prompts[1] ?? "", /words 4/);
});

test("what was written is there after a restart, settings of reserved keys included", async (t) => {
  const path = await directory(t);
  const first = await conversation(t, path);
  await first.session.appendMessage(say("m1"));
  await first.lifecycle.dispose();
  const second = await conversation(t, path);
  assert.deepEqual(await collected(second.session), ["m1"]);
});
