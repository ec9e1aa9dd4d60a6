// What is tried in other runtimes for JavaScript, with nothing but what all of them have:
//
//   bun tests/runtimes.mjs; deno run --allow-all tests/runtimes.mjs
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { InvalidMessageError, Talktree, UnknownParentError } from "talktree";

const directory = await mkdtemp(join(tmpdir(), "talktree-runtime-"));
const json = String.raw`{"id":"exact","role":"user","parts":[{"n":18446744073709551616,"s":"\ud83d 部署"}]}`;

for (const thread of ["own", "caller"]) {
  const talktree = await Talktree.open(join(directory, thread), { thread });
  const session = talktree.session("chat");
  await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      session.appendMessage({ id: `m${at}`, role: "user", parts: [{ type: "text", text: `讨论了部署窗口 ${at}` }] }),
    ),
  );
  await session.appendMessage(json);
  assert.equal((await session.getMessage("exact"))?.json, json);
  const ids = [];
  for await (const { id } of session.history()) ids.push(id);
  assert.deepEqual(ids, [...Array.from({ length: 20 }, (_, at) => `m${at}`), "exact"]);
  assert.equal((await session.search("部署", { limit: 100 })).results.length, 20);
  await assert.rejects(
    session.appendMessage({ id: "x", role: "user", parts: [] }, { parentId: "gone" }),
    UnknownParentError,
  );
  await assert.rejects(session.appendMessage("{"), InvalidMessageError);
  await session.configure({ keepRecentTokens: 1 });
  assert.ok(await session.compact({ summarizer: async () => "They talked about ports." }));
  const seen = new Promise((resolve) => talktree.subscribe((change) => resolve(change.ids)));
  await session.appendMessage({ id: "last", role: "user", parts: [] });
  assert.deepEqual(await seen, ["last"]);
  await talktree.close();
  const again = await Talktree.open(join(directory, thread), { readOnly: true });
  assert.equal((await again.session("chat").getLatestLeaf())?.id, "last");
  await again.close();
}
await rm(directory, { recursive: true });
console.log("all of it works");
