// Promises of `talktree mcp` and of `/mcp`, kept towards the official TypeScript client.
//
// Run as `node client.mjs PROGRAM`, beside a node_modules with the package @modelcontextprotocol/sdk. The client checks every
// structured result against the output schema of its tool by itself.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const PROGRAM = process.argv[2];

// What this language's JSON would spell otherwise: a big integer, 1.0 and 1e3, an escaped slash.
const ODD = String.raw`{"role":"user","id":"m1","parts":[{"type":"text","text":"\/ 部署 é"}],"n":[1.0,1e3,18446744073709551616]}`;

/** A client that is connected. */
async function connected(transport) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return client;
}

/** A client of `talktree mcp` with these options. */
function onStdio(...options) {
  return connected(new StdioClientTransport({ command: PROGRAM, args: ["mcp", ...options], env: process.env }));
}

/** A client of `talktree serve` with this token. */
function overHttp(address, token) {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  return connected(new StreamableHTTPClientTransport(new URL(address), { requestInit }));
}

/** The structured content of a tool that has to succeed. */
async function done(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result)}`);
  return result.structuredContent;
}

/** What a tool says that has to fail. */
async function wrong(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(result.isError, `${name}: ${JSON.stringify(result)}`);
  return result.content[0].text;
}

/** What a conversation is used for, where `place` says which one it is. */
async function converse(client, place) {
  const { tools } = await client.listTools();
  assert.ok(tools.length >= 15 && tools.every((tool) => tool.outputSchema && tool.annotations));
  assert.equal((await done(client, "append_message", { ...place, message: ODD })).inserted, true);
  assert.equal((await done(client, "append_message", { ...place, message: ODD })).inserted, false);
  await done(client, "append_message", { ...place, text: "an answer", role: "assistant" });
  await done(client, "append_message", { ...place, text: "a new root", parentId: "" });
  await done(client, "append_message", { ...place, text: "another answer", role: "assistant", parentId: "m1" });
  assert.equal((await done(client, "list_branches", { ...place, id: "" })).messages.length, 2);
  const branches = await done(client, "list_branches", { ...place, id: "m1" });
  assert.equal(branches.messages.length, 2);
  assert.equal((await done(client, "read_history", place)).messages[0], ODD);
  assert.match(await wrong(client, "append_message", { ...place, message: '{},"tenant":"other"' }), /JSON/);
  assert.deepEqual((await client.listPrompts()).prompts.map((prompt) => prompt.name), ["recall", "remember"]);
  const prompt = await client.getPrompt({ name: "recall", arguments: { about: "the port" } });
  assert.match(prompt.messages[0].content.text, /search_messages[^]*the port$/);
}

/** `talktree serve` with a token for each user, as long as `use` takes. */
async function serving(root, users, use) {
  const file = join(root, "tokens.json");
  const token = (user) => [PROGRAM, ["token", "--file", file, "--name", user, "--prefix", `${user}:`]];
  const tokens = users.map((user) => execFileSync(...token(user), { encoding: "utf8" }).trim());
  const options = ["serve", "--root", root, "--listen", "127.0.0.1:0", "--token-file", file];
  const server = spawn(PROGRAM, options, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  try {
    for await (const line of createInterface({ input: server.stdout })) {
      await use(line.split(" ").at(-1), tokens);
      break;
    }
  } finally {
    server.kill("SIGTERM");
    assert.equal(await ended, 0, "it ends in good order");
  }
}

const root = mkdtempSync(join(tmpdir(), "talktree-"));
try {
  const confined = await onStdio("--root", root, "--tenant", "a");
  await converse(confined, {});
  assert.match(await wrong(confined, "read_history", { tenant: "other" }), /no argument/);
  assert.match(confined.getInstructions(), /memory/);
  await confined.close();

  const reader = await onStdio("--root", root, "--read-only");
  const { resources } = await reader.listResources();
  const { contents } = await reader.readResource({ uri: resources[0].uri.replace("transcript", "messages") });
  assert.equal(contents[0].text.split("\n")[0], ODD);
  await assert.rejects(reader.callTool({ name: "append_message", arguments: { tenant: "a", text: "x" } }), /no tool/);
  await reader.close();

  await serving(root, ["ann", "bob"], async (address, [ann, bob]) => {
    const [hers, his] = [await overHttp(`${address}/mcp`, ann), await overHttp(`${address}/mcp`, bob)];
    await converse(hers, { tenant: "ann:x" });
    assert.match(await wrong(his, "read_history", { tenant: "ann:x" }), /^forbidden/);
    assert.deepEqual((await done(his, "list_tenants")).tenants, []);
    await assert.rejects(overHttp(`${address}/mcp?tenant=ann:x`, bob));
    await assert.rejects(overHttp(`${address}/mcp`, "tt_nobody"));
    await Promise.all([hers.close(), his.close()]);
  });
  console.log("the TypeScript client of MCP: stdio and HTTP");
} finally {
  rmSync(root, { recursive: true, force: true });
}
