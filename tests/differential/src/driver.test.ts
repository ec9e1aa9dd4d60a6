/**
 * That the driver can fail, and that its list of intended differences is the one that is documented.
 *
 * `TALKTREE` is the program, `DIFFERENCES` the document.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { INTENDED } from "./differences.ts";
import { drive, type Plan } from "./drive.ts";
import { MISTAKES } from "./messages/talktree.ts";
import { shorten } from "./shorten.ts";

/** Enough for every intended difference to come up. */
const SEQUENCES = 40;

function place(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
}

const plan = (more: Partial<Plan>): Plan => ({
  program: place("TALKTREE"),
  seed: 1,
  sequences: SEQUENCES,
  seconds: Infinity,
  ...more,
});

test("no difference but the intended ones, and each of these is met", async () => {
  const { failure, differences } = await drive(plan({}));
  assert.equal(failure, undefined, JSON.stringify(failure, null, 2));
  const unmet = INTENDED.filter((name) => !differences.has(name));
  assert.deepEqual(unmet, [], "a difference that never comes up hides nothing: it should not be on the list");
});

test("every intended difference is documented, and nothing else is", async () => {
  const document = await readFile(place("DIFFERENCES"), "utf8");
  const documented = [...document.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
  assert.deepEqual(documented.toSorted(), INTENDED.toSorted());
});

for (const [family, mistakes] of Object.entries({
  messages: MISTAKES,
  manager: ["fork-nothing"],
  context: ["always-refresh"],
})) {
  for (const mistake of mistakes) {
    test(`a mapping that is wrong is found: ${mistake}`, async () => {
      const { failure } = await drive(plan({ family, mistake }));
      assert.ok(failure, `${mistake} was not noticed`);
      assert.ok(failure.sequence.length <= 12, `${failure.sequence.length} calls are left of the sequence`);
    });
  }
}

test("a sequence is shortened to what it takes to fail", async () => {
  const failing = async (part: number[]) => {
    const at = part.indexOf(7);
    return part.includes(3) && at >= 0 ? { at, call: 7, talktree: null, reference: null } : undefined;
  };
  const { sequence } = await shorten([1, 2, 3, 4, 5, 6, 7], failing);
  assert.deepEqual(sequence, [3, 7]);
});
