/** What is acknowledged is on the disk, and stays there whatever happens to the process. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { BusyError, CrashedError, ReadOnlyError, Talktree, TalktreeError, TimedOutError } from "talktree";

import { directory, ids, later, store, text } from "./places.js";

interface Writer {
  /** The ids that were acknowledged so far. */
  acknowledged(): string[];
  /** Ends it at once, and waits until it has gone. */
  kill(): Promise<void>;
}

function writer(path: string, prefix: string): Writer {
  const program = fileURLToPath(new URL("./children/writer.js", import.meta.url));
  const child = spawn(process.execPath, [program, path, prefix], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return {
    // A line that was not written to its end does not count.
    acknowledged: () => output.split("\n").slice(0, -1),
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !condition();) {
    assert.ok(Date.now() < deadline, "it takes too long");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a process that is killed while it writes loses nothing acknowledged", async (t) => {
  const path = await directory(t);
  for (const round of ["a", "b", "c"]) {
    const one = writer(path, round);
    await until(() => one.acknowledged().length >= 5);
    await one.kill();
    const talktree = await Talktree.open(path);
    const stored = new Set(await ids(talktree.session().history()));
    for (const id of one.acknowledged()) assert.ok(stored.has(id), `${id} was acknowledged`);
    assert.equal((await talktree.check()).sound, true);
    await talktree.close();
  }
});

test("a store that is not closed keeps no process, and what was asked is done before it ends", async (t) => {
  const path = await directory(t);
  const program = fileURLToPath(new URL("./children/leaver.js", import.meta.url));
  const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "inherit", "inherit"], timeout: 60_000 });
  const [code] = (await once(child, "exit")) as [number | null];
  assert.equal(code, 0);
  const talktree = await Talktree.open(path);
  later(t, () => talktree.close());
  assert.deepEqual(await ids(talktree.session().history()), ["m1", "m2"]);
});

test("two processes on one directory take turns, and each sees what the other wrote", async (t) => {
  const path = await directory(t);
  const [one, two] = [writer(path, "one-"), writer(path, "two-")];
  await until(() => one.acknowledged().length >= 10 && two.acknowledged().length >= 10);
  await Promise.all([one.kill(), two.kill()]);
  const talktree = await Talktree.open(path);
  later(t, () => talktree.close());
  const stored = new Set(await ids(talktree.session().history()));
  for (const id of [...one.acknowledged(), ...two.acknowledged()]) assert.ok(stored.has(id), `${id} was acknowledged`);
  assert.equal((await talktree.check()).sound, true);
});

test("two handles in one process are as safe as two processes", async (t) => {
  const path = await directory(t);
  const handles = await Promise.all([
    Talktree.open(path, { durability: "normal" }),
    Talktree.open(path, { durability: "normal" }),
  ]);
  later(t, () => Promise.all(handles.map((handle) => handle.close())));
  const writes = handles.flatMap((handle, side) =>
    Array.from({ length: 20 }, (_, at) => handle.session().appendMessage(text(`${side}-${at}`))),
  );
  await Promise.all(writes);
  assert.equal((await ids(handles[0].session().history())).length, 40);
  assert.deepEqual(await ids(handles[0].session().history()), await ids(handles[1].session().history()));
});

test("a store whose owner is at work is busy, once the wait is over", async (t) => {
  const path = await directory(t);
  const talktree = await Talktree.open(path, { busyTimeout: 0 });
  later(t, () => talktree.close());
  // Another owner's mark, as the component writes it, with a time that is now.
  fs.writeFileSync(`${path}/owner.5`, "");
  await assert.rejects(talktree.session().appendMessage(text("m1")), BusyError);
});

test("a store that a program has locked is busy", { skip: process.platform !== "linux" }, async (t) => {
  const path = await directory(t);
  const hold = async (how: "-x" | "-s") => {
    const child = spawn("flock", [how, `${path}/lock`, "sh", "-c", "echo held; exec sleep 60"], {
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    return () => process.kill(-(child.pid ?? 0), "SIGKILL");
  };
  let release = await hold("-x");
  await assert.rejects(
    Talktree.open(path),
    (error) => error instanceof BusyError && error.subject === fs.realpathSync(path),
  );
  release();
  release = await hold("-s");
  await assert.rejects(Talktree.open(path, { access: "exclusive" }), BusyError);
  const together = await Talktree.open(path);
  await together.session().appendMessage(text("m1"));
  await together.close();
  release();
});

/** Counts calls of `node:fs` in this thread, or has them fail. */
function watch(t: TestContext, name: "fdatasyncSync" | "fsyncSync", act: () => void): void {
  const original = fs[name];
  fs[name] = (fd) => {
    act();
    original(fd);
  };
  syncBuiltinESMExports();
  later(t, async () => {
    fs[name] = original;
    syncBuiltinESMExports();
  });
}

test("no append is acknowledged before the disk has it", async (t) => {
  const talktree = await store(t, { durability: "full", thread: "caller" });
  let syncs = 0;
  let directorySyncs = 0;
  watch(t, "fdatasyncSync", () => (syncs += 1));
  watch(t, "fsyncSync", () => (directorySyncs += 1));
  for (let at = 0; at < 5; at += 1) {
    syncs = 0;
    await talktree.session().appendMessage(text(`m${at}`));
    assert.ok(syncs >= 1, "the log is synced");
  }
  assert.ok(directorySyncs >= 1, "so are the directory's entries, since the file is new");
});

test("an append whose sync fails is refused, and the next one is not", async (t) => {
  const talktree = await store(t, { durability: "full", thread: "caller" });
  await talktree.session().appendMessage(text("m1"));
  let failing = true;
  watch(t, "fdatasyncSync", () => {
    if (failing) throw Object.assign(new Error("the disk is gone"), { code: "EIO" });
  });
  await assert.rejects(talktree.session().appendMessage(text("m2")), TalktreeError);
  failing = false;
  await talktree.session().appendMessage(text("m3"));
  const stored = await ids(talktree.session().history());
  assert.ok(stored.includes("m1") && stored.includes("m3"));
});

test("with less durability no append waits for the disk", async (t) => {
  const talktree = await store(t, { durability: "normal", thread: "caller" });
  await talktree.session().appendMessage(text("m0"));
  let syncs = 0;
  watch(t, "fdatasyncSync", () => (syncs += 1));
  for (let at = 1; at < 10; at += 1) await talktree.session().appendMessage(text(`m${at}`));
  assert.equal(syncs, 0);
});

test("after a failure of the component a new one finds everything", async (t) => {
  const talktree = await store(t, { thread: "caller" });
  await talktree.session().appendMessage(text("m1"));
  // Breaks a call through where the component asks for the time.
  t.mock.method(Date, "now", () => {
    throw new WebAssembly.RuntimeError("unreachable");
  });
  await assert.rejects(talktree.session().appendMessage(text("m2")), CrashedError);
  t.mock.restoreAll();
  await talktree.session().appendMessage(text("m3"));
  assert.deepEqual(await ids(talktree.session().history()), ["m1", "m3"]);
});

test("a call that takes too long is given up, and the next one is carried out", async (t) => {
  const talktree = await store(t, { callTimeout: 1, access: "exclusive" });
  const session = talktree.session();
  const many = Array.from({ length: 5000 }, (_, at) => text(`m${at}`, "words ".repeat(20)));
  await assert.rejects(session.appendMessages(many), (error) => error instanceof TimedOutError && error.limit === 1);
  const patient = await Talktree.open(talktree.directory, { access: "exclusive" });
  later(t, () => patient.close());
  const { items } = await patient.session().appendMessages(many);
  assert.equal(items.length, 5000);
  assert.equal((await patient.check()).sound, true);
});

test("a store that may only be read is read, and every write is refused", async (t) => {
  const path = await directory(t);
  const writing = await Talktree.open(path);
  await writing.session().appendMessage(text("m1"));
  await writing.close();
  const before = fs.readFileSync(`${path}/talktree.db`);
  const reading = await Talktree.open(path, { readOnly: true });
  later(t, () => reading.close());
  assert.deepEqual(await ids(reading.session().history()), ["m1"]);
  await assert.rejects(reading.session().appendMessage(text("m2")), ReadOnlyError);
  assert.deepEqual(fs.readFileSync(`${path}/talktree.db`), before);
});
