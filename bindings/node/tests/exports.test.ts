/** What a program can import. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import * as talktree from "talktree";

test("every case of the WIT's error variant has a class", async () => {
  const types = await readFile(
    new URL(import.meta.resolve("talktree")).pathname.replace(
      /index\.js$/,
      "bindings/interfaces/talktree-sessions-types.d.ts",
    ),
    "utf8",
  );
  const cases = [...types.matchAll(/export interface Error([A-Z]\w+) \{\s+tag: '([a-z-]+)'/g)].map(([, name]) => name);
  assert.ok(cases.length > 20);
  for (const name of cases.filter((one) => one !== "Other")) assert.ok(`${name}Error` in talktree, `${name}Error`);
});

test("the package needs no other package at run time", async () => {
  const description = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as Record<
    string,
    unknown
  >;
  assert.equal(description["dependencies"], undefined);
});
