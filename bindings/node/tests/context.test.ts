/** Lines that are written for `agents/context`, run over this package. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { AgentContextProvider, AgentSearchProvider, ContextBlocks, type ContextProvider } from "agents/context";
import { Lifecycle } from "agents/lifecycle";
import { DurableObject } from "cloudflare:workers";

import { directory, later, store } from "./places.js";

class Agent extends DurableObject {
  readonly lifecycle = Lifecycle.install(this);
}

async function agent(t: TestContext, path?: string): Promise<Agent> {
  const object = new Agent({ id: { name: "test" }, storage: { directory: path ?? (await directory(t)) } }, {});
  later(t, () => object.lifecycle.dispose());
  return object;
}

/** A provider whose content the test changes. */
function changing(content: string): ContextProvider & { content: string } {
  return {
    content,
    get() {
      return this.content;
    },
  };
}

const rule = "═".repeat(46);

test("the prompt shows the blocks, and is frozen until it is refreshed, restarts included", async (t) => {
  const path = await directory(t);
  const make = (object: Agent) =>
    new ContextBlocks(
      [
        { label: "soul", provider: { get: async () => "You are helpful." } },
        { label: "empty", provider: { get: () => null } },
        { label: "memory", description: "Facts learned", maxTokens: 1100 },
      ],
      new AgentContextProvider(object, "_system_prompt"),
      (label) => new AgentContextProvider(object, label),
    );
  const object = await agent(t, path);
  const context = make(object);
  const system = await context.freezeSystemPrompt();
  assert.equal(
    system,
    `${rule}\nSOUL [readonly]\n${rule}\nYou are helpful.\n\n${rule}\nMEMORY (Facts learned) [0% — 0/1100 tokens] [writable]\n${rule}\n`,
  );
  await context.setBlock("memory", "likes tea");
  await context.appendToBlock("memory", "and cake");
  assert.equal(context.getBlock("memory")?.content, "likes tea\nand cake");
  assert.equal(await context.freezeSystemPrompt(), system);
  await object.lifecycle.dispose();
  const again = make(await agent(t, path));
  assert.equal(await again.freezeSystemPrompt(), system, "stored");
  assert.match(await again.refreshSystemPrompt(), /likes tea\nand cake/);
});

test("an empty prompt is stored, too", async (t) => {
  const talktree = await store(t);
  const blocks: { label: string; provider: ContextProvider }[] = [];
  assert.equal(await new ContextBlocks(blocks, new AgentContextProvider(talktree, "_prompt")).freezeSystemPrompt(), "");
  blocks.push({ label: "soul", provider: { get: () => "later" } });
  assert.equal(await new ContextBlocks(blocks, new AgentContextProvider(talktree, "_prompt")).freezeSystemPrompt(), "");
});

test("what cannot be written is refused, and nothing is cut", async (t) => {
  const talktree = await store(t);
  const context = new ContextBlocks([
    { label: "soul", provider: { get: () => "fixed" } },
    { label: "memory", maxTokens: 3, provider: new AgentContextProvider(talktree) },
  ]);
  assert.equal(context.getBlock("memory"), null, "nothing is loaded");
  await context.load();
  await assert.rejects(context.setBlock("soul", "x"), /readonly/);
  await assert.rejects(context.setBlock("unknown", "x"), /readonly/);
  await assert.rejects(context.appendToBlock("unknown", "x"), /not found/);
  await assert.rejects(context.setBlock("memory", "far too long for three tokens"), /exceeds maxTokens: 8 > 3/);
  await assert.rejects(context.addBlock({ label: "soul" }), /already exists/);
  assert.equal(context.getBlock("memory")?.content, "");
  assert.equal(context.removeBlock("memory"), true);
  assert.deepEqual(
    context.getBlocks().map(({ label }) => label),
    ["soul"],
  );
});

test("a block that reminds is told of until the prompt is refreshed", async () => {
  const today = changing("Monday");
  const other = changing("a");
  const context = new ContextBlocks([
    { label: "environment", provider: today, whenChanged: "remind" },
    { label: "environment two", provider: other, whenChanged: "remind" },
  ]);
  assert.equal(await context.reminder(), null);
  await context.freezeSystemPrompt();
  assert.equal(await context.reminder(), null);
  for (const content of ["Tuesday", "Mon", "Monday night", "Monday ", ""]) {
    today.content = content;
    const reminder = (await context.reminder()) ?? "";
    assert.ok(reminder.endsWith(`ENVIRONMENT [readonly]\n${rule}\n${content}`), JSON.stringify(content));
    assert.equal(await context.reminder(), reminder);
  }
  await context.refreshSystemPrompt();
  assert.equal(await context.reminder(), null);
});

test("the tools are those that the blocks need, and answer instead of failing", async (t) => {
  const talktree = await store(t);
  const readOnly = new ContextBlocks([{ label: "soul", provider: { get: () => "x" } }]);
  assert.deepEqual(await readOnly.tools(), {});
  const context = new ContextBlocks([
    { label: "memory", maxTokens: 100, provider: new AgentContextProvider(talktree) },
    { label: "knowledge", provider: new AgentSearchProvider(talktree) },
  ]);
  const tools = await context.tools();
  assert.deepEqual(Object.keys(tools), ["set_context", "search_context"]);
  const set = (input: Record<string, unknown>) => tools["set_context"]?.execute(input);
  const search = (input: Record<string, unknown>) => tools["search_context"]?.execute(input);
  assert.equal(await set({ label: "memory", content: "likes tea" }), "Written to memory. Usage: 3% (3/100 tokens)");
  assert.match((await set({ label: "memory", content: "x".repeat(1000) })) ?? "", /^Error: .*exceeds maxTokens/);
  assert.match((await set({ label: "nothing", content: "x" })) ?? "", /^Error: .*memory, knowledge/);
  assert.equal(await search({ label: "knowledge", query: "deploy" }), "No results found.");
  assert.equal(
    await set({ label: "knowledge", content: "Deployed on Fridays, 部署窗口", metadata: { title: "Deploy rules" } }),
    'Indexed "deploy-rules" in knowledge.',
  );
  assert.match(
    (await set({ label: "knowledge", content: "No title here" })) ?? "",
    /^Indexed "no-title-here-[a-z0-9]+" in knowledge\.$/,
  );
  assert.match((await search({ label: "knowledge", query: "deploy" })) ?? "", /Fridays/);
  assert.match((await search({ label: "knowledge", query: "部署" })) ?? "", /Fridays/);
  assert.match((await search({ label: "memory", query: "tea" })) ?? "", /^Error: /);
  assert.match(await context.refreshSystemPrompt(), /KNOWLEDGE \[searchable\]\n═+\n2 entries indexed\./);
});

test("providers are told their label before they are asked", async () => {
  const told: string[] = [];
  const provider = {
    init(label: string) {
      told.push(`init ${label}`);
    },
    get() {
      told.push("get");
      return "x";
    },
  };
  const context = new ContextBlocks([{ label: "one", provider }]);
  await context.load();
  await context.load();
  assert.deepEqual(told, ["init one", "get"]);
});
