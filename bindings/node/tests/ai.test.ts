/** The AI SDK's own validators and conversions, on what comes out of the store. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { convertToModelMessages, generateText, stepCountIs, validateUIMessages, type UIMessage } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { loadUIMessages, saveUIMessages, sessionTools } from "talktree/ai";

import { ids, store } from "./places.js";

const user = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

const assistant = (id: string, text: string): UIMessage => ({
  id,
  role: "assistant",
  metadata: { model: "small" },
  parts: [
    { type: "step-start" },
    { type: "reasoning", text: "which tool?", providerMetadata: { test: { signature: "abc" } } },
    {
      type: "tool-weather",
      toolCallId: `call-${id}`,
      state: "output-available",
      input: { city: "Bern" },
      output: { celsius: 21.5 },
    },
    { type: "file", mediaType: "image/png", url: `data:image/png;base64,${Buffer.alloc(3000, id).toString("base64")}` },
    { type: "text", text, state: "done" },
  ],
});

test("a chat comes back equal, and is valid to the AI SDK", async (t) => {
  const session = (await store(t)).session("chat");
  const chat = [user("q1", "Weather?"), assistant("a1", "Warm"), user("q2", "And there?"), assistant("a2", "Cold")];
  assert.deepEqual(await saveUIMessages(session, chat), { inserted: ["q1", "a1", "q2", "a2"], updated: [] });
  const loaded = await loadUIMessages(session);
  assert.deepEqual(loaded, chat);
  assert.deepEqual(await validateUIMessages({ messages: loaded }), chat);
  const roles = (await convertToModelMessages(loaded)).map(({ role }) => role);
  assert.deepEqual(roles, ["user", "assistant", "tool", "user", "assistant", "tool"]);
});

test("saving again writes only what is new or has changed", async (t) => {
  const session = (await store(t)).session();
  const chat = [user("q1", "Weather?"), assistant("a1", "Warm")];
  await saveUIMessages(session, chat);
  assert.deepEqual(await saveUIMessages(session, chat), { inserted: [], updated: [] });
  const more = [chat[0] as UIMessage, assistant("a1", "Warm, no, hot"), user("q2", "Sure?")];
  assert.deepEqual(await saveUIMessages(session, more), { inserted: ["q2"], updated: ["a1"] });
  assert.deepEqual(await loadUIMessages(session), more);
});

test("a regenerated answer is another branch, and the first one stays", async (t) => {
  const session = (await store(t)).session();
  await saveUIMessages(session, [user("q1", "Weather?"), assistant("a1", "Warm")]);
  await saveUIMessages(session, [user("q1", "Weather?"), assistant("a2", "Cold")]);
  assert.deepEqual(
    (await loadUIMessages(session)).map(({ id }) => id),
    ["q1", "a2"],
  );
  assert.deepEqual(await ids(session.branches("q1")), ["a1", "a2"]);
  assert.deepEqual(
    (await loadUIMessages(session, { leafId: "a1" })).map(({ id }) => id),
    ["q1", "a1"],
  );
});

test("a summary is a valid message, and is not stored when it is sent back", async (t) => {
  const session = (await store(t)).session();
  const chat = Array.from({ length: 10 }, (_, at) => user(`m${at}`, `words ${at}`));
  await saveUIMessages(session, chat);
  await session.addCompaction("All of it in short", "m3", "m6");
  const loaded = await loadUIMessages(session);
  assert.equal(loaded.length, 7);
  await validateUIMessages({ messages: loaded });
  const { inserted } = await saveUIMessages(session, [...loaded, user("m10", "more")]);
  assert.deepEqual(inserted, ["m10"]);
  assert.equal((await ids(session.history({ overlays: false }))).length, 11);
  const recent = await loadUIMessages(session, { maxBytes: 200 });
  assert.equal(recent.at(-1)?.id, "m10");
});

test("a model edits its memory through the tools", async (t) => {
  const session = (await store(t)).session();
  await session.defineBlock("memory", { description: "Facts about the user" });
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  };
  let step = 0;
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      step += 1;
      const input = JSON.stringify({ label: step === 1 ? "nothing" : "memory", content: "likes tea" });
      return step <= 2
        ? {
            content: [{ type: "tool-call", toolCallId: `call-${step}`, toolName: "set_context", input }],
            finishReason: { unified: "tool-calls", raw: undefined },
            usage,
            warnings: [],
          }
        : {
            content: [{ type: "text", text: "Noted." }],
            finishReason: { unified: "stop", raw: undefined },
            usage,
            warnings: [],
          };
    },
  });
  const { text, steps } = await generateText({
    model,
    system: await session.systemPrompt(),
    prompt: "I like tea",
    tools: await sessionTools(session),
    stopWhen: stepCountIs(5),
  });
  assert.equal(text, "Noted.");
  assert.match(String(steps[0]?.toolResults[0]?.output), /^Error: /);
  assert.equal((await session.getBlock("memory")).content, "likes tea");
});
