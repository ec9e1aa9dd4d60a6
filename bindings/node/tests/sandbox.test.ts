/** The component sees one directory, and nothing leads out of it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { filesystem, type Descriptor } from "#wasi/filesystem";
import { system } from "#wasi/system";
import { NotAStoreError, SchemaTooNewError, Talktree, TalktreeError } from "talktree";

import { directory, later, text } from "./places.js";

async function root(t: TestContext): Promise<{ path: string; inside: string; data: Descriptor }> {
  const path = await directory(t);
  const inside = join(path, "inside");
  mkdirSync(inside);
  writeFileSync(join(path, "secret"), "secret");
  const files = filesystem(inside, false);
  later(t, async () => files.close());
  const preopens = files.imports["wasi:filesystem/preopens"] as { getDirectories(): [Descriptor, string][] };
  const [[data, name] = []] = preopens.getDirectories();
  assert.equal(name, "/data");
  assert.ok(data !== undefined);
  return { path, inside, data };
}

const READ = { read: true };
const WRITE = { read: true, write: true };
const CREATE = { create: true };

test("no name leads out of the directory", async (t) => {
  const { path, data } = await root(t);
  for (const name of [
    "../secret",
    "..",
    ".",
    "",
    "/etc/passwd",
    "a/../../secret",
    "..\\secret",
    "C:secret",
    "a\0b",
    join(path, "secret"),
  ]) {
    const attempts = [
      () => data.openAt({}, name, {}, READ),
      () => data.openAt({}, name, CREATE, WRITE),
      () => data.statAt({}, name),
      () => data.metadataHashAt({}, name),
      () => data.unlinkFileAt(name),
      () => data.renameAt(name, data, "taken"),
    ];
    for (const attempt of attempts) assert.throws(attempt, (error) => error === "not-permitted", JSON.stringify(name));
  }
  assert.equal(readFileSync(join(path, "secret"), "utf8"), "secret");
});

test("no link is followed, to a file or a directory, whatever is asked", async (t) => {
  const { path, inside, data } = await root(t);
  symlinkSync("../secret", join(inside, "link"));
  symlinkSync(path, join(inside, "up"));
  symlinkSync("nowhere", join(inside, "broken"));
  for (const flags of [{}, { symlinkFollow: true }]) {
    assert.throws(
      () => data.openAt(flags, "link", {}, READ),
      (error) => error === "loop",
    );
    assert.throws(
      () => data.openAt(flags, "link", { create: true, truncate: true }, WRITE),
      (error) => error === "loop",
    );
    assert.throws(
      () => data.openAt(flags, "up", {}, READ),
      (error) => error === "loop",
    );
    assert.throws(
      () => data.openAt(flags, "broken", CREATE, WRITE),
      (error) => error === "loop",
    );
    assert.equal(data.statAt(flags, "link").type, "symbolic-link");
  }
  assert.equal(readFileSync(join(path, "secret"), "utf8"), "secret");
  assert.deepEqual(readdirSync(path).toSorted(), ["inside", "secret"]);
});

test(
  "what is no file is not opened, and a pipe does not hold the process up",
  { skip: process.platform === "win32" },
  async (t) => {
    const { inside, data } = await root(t);
    mkdirSync(join(inside, "directory"));
    execFileSync("mkfifo", [join(inside, "pipe")]);
    assert.throws(
      () => data.openAt({}, "directory", {}, READ),
      (error) => error === "is-directory",
    );
    assert.throws(
      () => data.openAt({}, "directory", {}, WRITE),
      (error) => error === "is-directory",
    );
    assert.throws(
      () => data.openAt({}, "pipe", {}, READ),
      (error) => error === "not-permitted",
    );
  },
);

test("a store under a link is refused, and what the link leads to is left alone", async (t) => {
  const path = await directory(t);
  const [elsewhere, inside] = [join(path, "elsewhere"), join(path, "inside")];
  mkdirSync(inside);
  writeFileSync(elsewhere, "");
  symlinkSync(elsewhere, join(inside, "talktree.db"));
  const talktree = await Talktree.open(inside);
  later(t, () => talktree.close());
  await assert.rejects(talktree.session().appendMessage(text("m1")), TalktreeError);
  assert.equal(readFileSync(elsewhere, "utf8"), "");
});

test("a file that is none of ours is left alone, byte for byte", async (t) => {
  const path = await directory(t);
  const database = join(path, "talktree.db");
  writeFileSync(database, "some notes of mine, which are no database\n".repeat(200));
  const before = readFileSync(database);
  const talktree = await Talktree.open(path);
  later(t, () => talktree.close());
  await assert.rejects(talktree.session().appendMessage(text("m1")), NotAStoreError);
  assert.deepEqual(readFileSync(database), before);
  assert.ok(SchemaTooNewError.prototype instanceof TalktreeError);
});

test("the component has no environment, no output and no network", async (t) => {
  const { imports } = system({ TALKTREE_DURABILITY: "full" });
  const environment = imports["wasi:cli/environment"] as { getEnvironment(): unknown };
  assert.deepEqual(environment.getEnvironment(), [["TALKTREE_DURABILITY", "full"]]);
  assert.ok(!Object.keys(imports).some((name) => /socket|http/.test(name)));
  assert.ok(!existsSync(join(await directory(t), "talktree.db")));
});
