/** Conversations: what is written is read, exactly; errors are classes; waits can be ended. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";

import {
  ClosedError,
  InvalidArgumentError,
  InvalidMessageError,
  InvalidRangeError,
  LeafMovedError,
  NotConfiguredError,
  OverLimitError,
  StaleCursorError,
  SummarizerFailedError,
  Talktree,
  TalktreeError,
  UnknownMessageError,
  UnknownParentError,
  UnknownSessionError,
} from "talktree";

import { all, directory, ids, later, store, text } from "./places.js";

test("a branch is kept, and any leaf can be read", async (t) => {
  const session = (await store(t)).session("chat");
  await session.appendMessage(text("q1"));
  await session.appendMessage(text("a1", "8080", "assistant"));
  await session.appendMessage(text("a2", "8443", "assistant"), { parentId: "q1" });
  await session.appendMessage(text("other"), { parentId: null });
  assert.deepEqual(await ids(session.history({ leafId: "a1" })), ["q1", "a1"]);
  assert.deepEqual(await ids(session.history({ leafId: "a2", newestFirst: true })), ["a2", "q1"]);
  assert.deepEqual(await ids(session.branches("q1")), ["a1", "a2"]);
  assert.deepEqual(await ids(session.branches(null)), ["q1", "other"]);
  assert.equal(await session.setLeaf("a1"), "a1");
  assert.equal((await session.getLatestLeaf())?.id, "a1");
  const nodes = await all(session.tree());
  assert.deepEqual(
    nodes.map(({ id, parentId, children }) => [id, parentId, children]),
    [
      ["q1", null, 2],
      ["a1", "q1", 0],
      ["a2", "q1", 0],
      ["other", null, 0],
    ],
  );
});

test("repeating an append is safe, and a different text under the same id is told", async (t) => {
  const session = (await store(t)).session();
  assert.deepEqual(await session.appendMessage(text("m1")), {
    inserted: true,
    conflict: false,
    stored: null,
    compactionDue: false,
  });
  assert.equal((await session.appendMessage(text("m1"))).conflict, false);
  const again = await session.appendMessage(text("m1", "something else"));
  assert.equal(again.inserted, false);
  assert.equal(again.conflict, true);
  assert.equal(again.stored, JSON.stringify(text("m1")));
});

test("a message comes back byte for byte, and parsed", async (t) => {
  const session = (await store(t)).session();
  const parts = String.raw`[{"n":18446744073709551616,"f":1.0,"e":1e3,"s":"\ud83d \u0000 \/ 部署 🙂","dup":1,"dup":2}]`;
  const json = String.raw`{"role":"user","id":"m1","parts":${parts},"z":-0,"a":[0.1,1E400]}`;
  assert.equal((await session.appendMessage(json)).stored, null);
  const stored = await session.getMessage("m1");
  assert.equal(stored?.json, json);
  assert.equal(stored.bytes, Buffer.byteLength(json));
  assert.equal((stored.message.parts[0] as { s: string }).s, "\ud83d \u0000 / 部署 🙂");
  for await (const { json: read } of session.history()) assert.equal(read, json);
  for (const { json: read } of (await session.getRecentHistory(1)).messages) assert.equal(read, json);
});

test("an object with a lone surrogate is stored as its escape, and text with one is refused", async (t) => {
  const session = (await store(t)).session();
  await session.appendMessage(text("m1", "\ud83d"));
  const stored = await session.getMessage("m1");
  assert.ok(stored !== null && stored.json.includes(String.raw`"\ud83d"`));
  assert.deepEqual(stored.message, text("m1", "\ud83d"));
  await assert.rejects(session.appendMessage('{"id":"m2","role":"user","parts":["\ud83d"]}'), InvalidMessageError);
});

test("times are dates, absent values null, numbers numbers", async (t) => {
  const talktree = await store(t);
  const session = talktree.session("s");
  const before = Date.now();
  await session.appendMessage(text("m1"));
  const leaf = await session.getLatestLeaf();
  assert.ok(leaf?.createdAt instanceof Date && leaf.createdAt.getTime() >= before - 1000);
  assert.equal(leaf.parentId, null);
  await session.importMessage(text("m2"), { parentId: "m1", createdAt: new Date("2020-01-02T03:04:05.678Z") });
  assert.equal((await session.getMessage("m2"))?.createdAt.toISOString(), "2020-01-02T03:04:05.678Z");
  const info = await session.info();
  assert.deepEqual([info.title, info.messages, info.leafId], [null, 2, "m2"]);
  const { bytes } = await talktree.stats();
  assert.equal(typeof bytes.file, "number");
  assert.deepEqual(JSON.parse(JSON.stringify(leaf)).message, text("m1"));
});

test("what a handle of an unknown session reads is empty, and creates nothing", async (t) => {
  const talktree = await store(t);
  const session = talktree.session("never written");
  assert.deepEqual(await all(session.history()), []);
  assert.equal(await session.getMessage("m1"), null);
  assert.equal(await session.getLatestLeaf(), null);
  assert.deepEqual(await all(talktree.sessions()), []);
  await assert.rejects(session.info(), UnknownSessionError);
});

test("each refusal is a class of its own with what the store knows", async (t) => {
  const session = (await store(t)).session();
  await session.appendMessages([text("m1"), text("m2"), text("m3")]);
  const refused = async (call: Promise<unknown>, kind: typeof TalktreeError, details: object) => {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof kind && error instanceof TalktreeError, String(error));
      assert.equal(error.name, kind.name);
      for (const [name, value] of Object.entries(details)) assert.equal(error[name as keyof typeof error], value);
      return true;
    });
  };
  await refused(session.appendMessage(text("x"), { parentId: "gone" }), UnknownParentError, { subject: "gone" });
  await refused(session.appendMessage(text("x"), { expectedLeaf: "m1" }), LeafMovedError, { kind: "leaf-moved" });
  await refused(session.appendMessage(text("x"), { expectedLeaf: null }), LeafMovedError, {});
  await refused(session.appendMessage("{"), InvalidMessageError, {});
  await refused(session.appendMessage({ id: "x", role: "user", parts: [1n] }), InvalidMessageError, {});
  await refused(session.getHistory({ leafId: "gone" }), UnknownMessageError, { subject: "gone" });
  await refused(session.addCompaction("Both", "m3", "m1"), InvalidRangeError, {});
  await refused(session.search("x", { cursor: "nonsense" }), StaleCursorError, {});
  await refused(session.search("x", { limit: 1001 }), InvalidArgumentError, {});
  await refused(session.compact(), NotConfiguredError, { subject: "summarizer" });
  await session.defineBlock("memory", { maxTokens: 2 });
  await refused(session.writeBlock("memory", "far more than two tokens of text"), OverLimitError, { limit: 2 });
  assert.deepEqual(await ids(session.history()), ["m1", "m2", "m3"], "nothing was written");
});

test("hostile ids are ids, each its own", async (t) => {
  const talktree = await store(t);
  const hostile = [
    "",
    "../../etc/passwd",
    "'; DROP TABLE messages; --",
    "a\0b",
    "\u202e",
    "é",
    "e\u0301",
    "🙂",
    "x".repeat(1024),
    "__proto__",
  ];
  for (const id of hostile) {
    const session = talktree.session(id);
    for (const message of hostile.filter((one) => one !== "")) await session.appendMessage(text(message, id));
  }
  for (const id of hostile) {
    assert.deepEqual(await ids(talktree.session(id).history()), hostile.slice(1));
    assert.equal((await talktree.session(id).info()).id, id);
  }
  await assert.rejects(talktree.session("x".repeat(1025)).appendMessage(text("m")), InvalidArgumentError);
});

test("ids that UTF-8 cannot carry are refused, and never become others", async (t) => {
  const talktree = await store(t);
  await talktree.session("\ufffd").appendMessage(text("m1"));
  await assert.rejects(talktree.session("\ud83d").getHistory(), InvalidArgumentError);
  await assert.rejects(talktree.session("\ufffd").getMessage("\udc00"), InvalidArgumentError);
  await assert.rejects(talktree.session().appendMessage(text("\ud83d")), InvalidMessageError);
  await assert.rejects(talktree.session().deleteMessages(["m1", "\ud83d"]), InvalidArgumentError);
});

test("batches keep to their limits, and break off early", async (t) => {
  const session = (await store(t)).session();
  await session.appendMessages(Array.from({ length: 120 }, (_, at) => text(`m${at}`)));
  const batches = await all(session.historyBatches({ batchSize: 50 }));
  assert.deepEqual(
    batches.map(({ length }) => length),
    [50, 50, 20],
  );
  for await (const batch of session.historyBatches({ maxBatchBytes: 200 })) {
    assert.ok(batch.length === 1 || batch.reduce((sum, { bytes }) => sum + bytes, 0) <= 200);
    break;
  }
  const { messages, truncated } = await session.getRecentHistory(500);
  assert.ok(truncated && messages.at(-1)?.id === "m119");
  assert.equal((await all(session.historyRowStats())).length, 120);
});

test("a signal ends the wait, and what has not begun is not done", async (t) => {
  const session = (await store(t)).session();
  await session.appendMessage(text("m1"));
  const reason = new Error("enough");
  const gone = AbortSignal.abort(reason);
  await assert.rejects(session.appendMessage(text("m2"), { signal: gone }), reason);
  const stop = new AbortController();
  const first = session.appendMessage(text("m3"));
  const queued = session.appendMessage(text("m4"), { signal: stop.signal });
  stop.abort(reason);
  await assert.rejects(queued, reason);
  await first;
  assert.deepEqual(await ids(session.history()), ["m1", "m3"]);
  const reading = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of session.history({ batchSize: 1, signal: reading.signal })) reading.abort(reason);
  }, reason);
});

test("calls that are not awaited are carried out in order", async (t) => {
  const session = (await store(t)).session();
  await Promise.all(Array.from({ length: 50 }, (_, at) => session.appendMessage(text(`m${at}`))));
  assert.deepEqual(
    await ids(session.history()),
    Array.from({ length: 50 }, (_, at) => `m${at}`),
  );
});

test("a closed store refuses, after it has done what was asked before", async (t) => {
  const path = await directory(t);
  const talktree = await Talktree.open(path);
  const written = talktree.session().appendMessage(text("m1"));
  const closed = talktree.close();
  await assert.rejects(talktree.session().appendMessage(text("m2")), ClosedError);
  await Promise.all([written, closed, talktree.close()]);
  const again = await Talktree.open(path);
  assert.deepEqual(await ids(again.session().history()), ["m1"]);
  await again[Symbol.asyncDispose]();
});

test("a place where no store can be is told when it is opened", async (t) => {
  const path = await directory(t);
  await writeFile(`${path}/file`, "");
  for (const [place, options] of [
    [`${path}/missing`, { create: false }],
    [`${path}/missing`, { readOnly: true }],
    [`${path}/file`, {}],
    [`${path}/file/below`, {}],
    ["", {}],
  ] as const) {
    await assert.rejects(
      Talktree.open(place, options),
      (error) => error instanceof NotConfiguredError && error.subject === place,
    );
  }
  const made = await Talktree.open(`${path}/a/b`);
  later(t, () => made.close());
  await made.session().appendMessage(text("m1"));
});

test("media is kept once, read inline or beside the message, and in pieces", async (t) => {
  const talktree = await store(t);
  const session = talktree.session();
  const bytes = Buffer.alloc(200_000, "an image ");
  const url = `data:image/png;base64,${bytes.toString("base64")}`;
  const image = (id: string) => ({ id, role: "user", parts: [{ type: "file", mediaType: "image/png", url }] });
  await session.appendMessages([image("m1"), image("m2")]);
  assert.deepEqual((await session.getMessage("m2"))?.message, image("m2"));
  const blank = await session.getMessage("m1", { media: "reference" });
  assert.equal(blank?.media[0]?.bytes, bytes.length);
  assert.ok(blank.bytes < 1000);
  assert.deepEqual(Buffer.concat(await all(session.media("m1", 0))), bytes);
  assert.deepEqual(
    Buffer.from((await session.getMedia("m1", 0, { offset: 10, length: 5 })).data),
    bytes.subarray(10, 15),
  );
  assert.equal((await talktree.stats()).bytes.mediaBytes, bytes.length);
});

test("deleting, forking, titles and configuration", async (t) => {
  const talktree = await store(t);
  const session = talktree.session("a");
  await session.appendMessages([text("m1"), text("m2"), text("m3")]);
  assert.deepEqual(await session.deleteMessages(["m2", "unknown"], { dryRun: true }), { deleted: 1, summaries: [] });
  await session.deleteMessages(["m2"]);
  const fork = await session.fork("b", { leafId: "m1" });
  assert.deepEqual(await ids(fork.history()), ["m1"]);
  await session.setTitle("Mine");
  assert.equal((await session.setTitle("Made up", { automatic: true })).title, "Mine");
  assert.deepEqual((await all(talktree.sessions())).map(({ id }) => id).toSorted(), ["a", "b"]);
  const { compactAfter, reservedMetadataKeys } = await session.configure({
    compactAfter: 5000,
    reservedMetadataKeys: ["channel"],
  });
  assert.deepEqual([compactAfter, reservedMetadataKeys], [5000, ["channel"]]);
  assert.equal((await session.configure({ compactAfter: null })).compactAfter, null);
  const forged = { ...text("m4"), metadata: { channel: "admin", kept: 1 } };
  await session.appendMessage(forged, { source: "client" });
  assert.deepEqual((await session.getMessage("m4"))?.message, { ...forged, metadata: { kept: 1 } });
  assert.equal(await session.updateMessage(text("unknown")), null);
  assert.equal(await session.clearMessages(), 3);
  await fork.delete();
  await assert.rejects(fork.info(), UnknownSessionError);
});

test("an export comes back as it was, and a snapshot is a store", async (t) => {
  const talktree = await store(t);
  await talktree.session("a").appendMessages([text("m1"), text("m2")]);
  const lines = (await all(talktree.exportLines())).join("");
  const other = await store(t);
  await other.importLines(lines);
  assert.equal((await all(other.exportLines())).join(""), lines);
  const copy = await directory(t);
  await writeFile(`${copy}/talktree.db`, Buffer.concat(await all(talktree.snapshot())));
  const restored = await Talktree.open(copy);
  later(t, () => restored.close());
  assert.deepEqual(await ids(restored.session("a").history()), ["m1", "m2"]);
  assert.deepEqual(await restored.check(), { sound: true, problems: [] });
  assert.ok((await restored.vacuum()).after > 0);
});

test("compaction runs beside the appends, and what is covered stays readable", async (t) => {
  const prompts: string[] = [];
  const summarizer = async ({ prompt }: { prompt: string }) => {
    prompts.push(prompt);
    return { text: "They talked about ports.", inputTokens: 10, outputTokens: 5 };
  };
  const session = (await store(t, { summarizer })).session();
  await session.configure({ compactAfter: 500, keepRecentTokens: 100 });
  for (let at = 0; at < 12; at += 1) await session.appendMessage(text(`m${at}`, `port ${at} `.repeat(60)));
  const made = (await session.compact()) ?? (await session.getCompactions()).at(-1);
  assert.ok(made?.createdAt instanceof Date);
  assert.ok(prompts.length > 0);
  const path = await all(session.history());
  const summary = path.find(({ id }) => id.startsWith("compaction_"));
  assert.match(summary?.json ?? "", /They talked about ports/);
  assert.equal((await all(session.history({ overlays: false }))).length, 12);
});

test("a summarizer that fails changes nothing and fails no append", async (t) => {
  const failed: unknown[] = [];
  const summarizer = () => {
    throw new Error("no model today");
  };
  const talktree = await store(t, { summarizer, onCompactionError: (error) => failed.push(error) });
  const session = talktree.session();
  await session.configure({ compactAfter: 200, keepRecentTokens: 50 });
  for (let at = 0; at < 10; at += 1) await session.appendMessage(text(`m${at}`, "words ".repeat(60)));
  await assert.rejects(
    session.compact(),
    (error) => error instanceof SummarizerFailedError && /no model today/.test(error.message),
  );
  assert.ok(failed.every((error) => error instanceof SummarizerFailedError) && failed.length > 0);
  assert.deepEqual(await session.getCompactions(), []);
  const stop = new AbortController();
  const never = session.compact({ summarizer: () => new Promise(() => {}), signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(never, /enough/);
});

test("words are found in every script, in one session or all", async (t) => {
  const talktree = await store(t);
  await talktree.session("a").appendMessage(text("m1", "我们昨天讨论了部署窗口，决定周五"));
  await talktree.session("b").appendMessage(text("m2", "deployed to the café; 部署 done", "assistant"));
  const found = async (query: string, options = {}) =>
    (await talktree.search(query, options)).results.map(({ id }) => id).toSorted();
  assert.deepEqual(await found("部署"), ["m1", "m2"]);
  assert.deepEqual(await found("窗口"), ["m1"]);
  assert.deepEqual(await found("deploy cafe"), ["m2"]);
  assert.deepEqual(await found("部署", { role: "user" }), ["m1"]);
  assert.deepEqual(await found("部署", { before: new Date(0) }), []);
  assert.deepEqual(await found('NOT ( " NEAR('), []);
  const { results } = await talktree.session("a").search("部署");
  assert.deepEqual([results.length, results[0]?.sessionId], [1, "a"]);
  assert.match(results[0]?.snippet ?? "", /\[部署\]/);
});

test("an agent's memory: blocks, a frozen prompt, tools", async (t) => {
  const session = (await store(t)).session("agent");
  await session.defineBlock("memory", { description: "Facts", maxTokens: 100, whenChanged: "remind" });
  const prompt = await session.systemPrompt();
  assert.match(prompt, /MEMORY \(Facts\)/);
  const names = (await session.tools()).map(({ name }) => name);
  assert.deepEqual(names.toSorted(), ["session_search", "set_context"]);
  const wrong = await session.callTool("set_context", { label: "nothing" });
  assert.ok(wrong.isError && wrong.content.startsWith("Error: "));
  const right = await session.callTool("set_context", { label: "memory", content: "likes tea" });
  assert.equal(right.isError, false);
  assert.equal(await session.systemPrompt(), prompt, "frozen");
  assert.match((await session.reminder()) ?? "", /likes tea/);
  assert.match(await session.refreshSystemPrompt(), /likes tea/);
  const { version } = await session.getBlock("memory");
  await session.writeBlock("memory", "likes coffee", { version });
  const [newest] = await session.blockHistory("memory");
  assert.ok(newest?.createdAt instanceof Date);
  assert.equal((await session.restoreBlock("memory", version)).content, "likes tea");
  assert.deepEqual(
    (await session.listBlocks()).map(({ label }) => label),
    ["memory"],
  );
  assert.equal(await session.removeBlock("memory"), true);
});

test("changes are followed as they happen, in order, and after a restart from a cursor", async (t) => {
  const path = await directory(t);
  const talktree = await Talktree.open(path, { durability: "normal" });
  later(t, () => talktree.close());
  const session = talktree.session("a");
  await session.appendMessage(text("before"));
  const seen: string[] = [];
  const stop = talktree.subscribe((change) => {
    if (change.kind === "reset") return;
    seen.push(`${change.kind} ${change.ids.join()}`);
    if (seen.length === 1) throw new Error("a listener may fail");
  });
  await session.appendMessage(text("m1"));
  await session.updateMessage(text("m1", "changed"));
  await session.deleteMessages(["m1"]);
  const other = await Talktree.open(path);
  await other.session("b").appendMessage(text("elsewhere"));
  const deadline = Date.now() + 10_000;
  while (seen.length < 4 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(seen, ["appended m1", "updated m1", "deleted m1", "appended elsewhere"]);
  stop();
  const oldest: string[] = [];
  for await (const change of other.follow({ from: "oldest", sessionId: "a" })) {
    if (change.kind !== "reset") oldest.push(change.ids.join());
    if (oldest.length === 3) break;
  }
  // What an append wrote and a later change removed is told by the change that removed it, and before it by its id.
  assert.equal(oldest[0], "before");
  const first = await other.changes({ limit: 1 });
  const second = await other.changes({ cursor: first.cursor, limit: 1 });
  assert.notEqual(first.changes[0]?.cursor, second.changes[0]?.cursor);
  const lost = await other.changes({ cursor: "from another life" });
  assert.ok(lost.reset && lost.changes.length === 0);
  await other.close();
});
