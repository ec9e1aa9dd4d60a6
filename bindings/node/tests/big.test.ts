/** Large messages and long sessions. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { ids, store, text } from "./places.js";

const hash = (value: string) => createHash("sha256").update(value).digest("hex");

test("a message of 64 MiB comes back byte for byte", async (t) => {
  const session = (await store(t, { access: "exclusive" })).session();
  const size = 64 * 1024 * 1024;
  const frame = JSON.stringify(text("big", ""));
  const words = "部署 words 🙂 ";
  const json = frame.replace('"text":""', () => `"text":"${words.repeat(size / Buffer.byteLength(words) + 1)}"`);
  assert.ok(Buffer.byteLength(json) > size);
  assert.equal((await session.appendMessage(json)).inserted, true);
  const stored = await session.getMessage("big");
  assert.equal(hash(stored?.json ?? ""), hash(json));
  for await (const { json: read } of session.history()) assert.equal(hash(read), hash(json));
});

test("a long session is read in order, in both directions", async (t) => {
  const session = (await store(t, { access: "exclusive" })).session();
  const written = Array.from({ length: 3000 }, (_, at) => `m${at}`);
  await session.appendMessages(written.map((id) => text(id)));
  assert.deepEqual(await ids(session.history()), written);
  assert.deepEqual(await ids(session.history({ newestFirst: true })), written.toReversed());
});
