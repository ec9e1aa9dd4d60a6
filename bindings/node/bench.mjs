// Measures the package against the native program, in one run and in turns.
//
//   node bench.mjs --program ../../target/release/talktree [--messages 500] [--rounds 5] [--json]
//
// The program is asked over `talktree rpc`, one request after the other, as an agent in another language would ask it:
// its figures have a pipe and JSON-RPC in them. Both keep the same messages with the same durability. A figure is the
// median of the rounds, a ratio the median of the ratios within the rounds; below 1, the package is faster.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { Talktree } from "talktree";

const { values: options } = parseArgs({
  options: {
    program: { type: "string", default: "../../target/release/talktree" },
    messages: { type: "string", default: "500" },
    rounds: { type: "string", default: "5" },
    json: { type: "boolean", default: false },
  },
});
const messages = Number(options.messages);
const rounds = Number(options.rounds);

/** A message of about 1.4 KB; every fifth an answer of a tool. */
function message(id) {
  const words = `message ${id} is about the deployment window, 部署窗口, and port 8443. `;
  const parts = [{ type: "text", text: words.repeat(id % 5 === 0 ? 45 : 10) }];
  return { id: `m${id}`, role: id % 2 === 0 ? "user" : "assistant", parts };
}

/** Asks the program. */
class Native {
  #child;
  #waiting = [];
  #id = 0;

  constructor(root, durability) {
    this.#child = spawn(options.program, ["rpc", "--root", root, "--durability", durability], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.on("error", (error) => {
      console.error(`${options.program} does not start (${error.message}); name it with --program`);
      process.exit(1);
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#waiting.shift()(line));
  }

  async call(method, params) {
    const request = { jsonrpc: "2.0", id: (this.#id += 1), method, params: { tenant: "bench", ...params } };
    const line = await new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    });
    const { result, error } = JSON.parse(line);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  close() {
    this.#child.stdin.end();
    return new Promise((resolve) => this.#child.once("close", resolve));
  }
}

/** The program and the package, with the same operations. */
const subjects = {
  program: {
    async open(root, durability) {
      const native = new Native(root, durability);
      await native.call("getLatestLeaf", {});
      return native;
    },
    append: (native, one) => native.call("appendMessage", { message: one }),
    async history(native) {
      let count = 0;
      let cursor;
      do {
        const page = await native.call("readHistory", cursor === undefined ? {} : { cursor });
        count += page.messages.length;
        cursor = page.cursor ?? undefined;
      } while (cursor !== undefined);
      return count;
    },
    recent: async (native) => (await native.call("getRecentHistory", { maxBytes: 65_536 })).messages.length,
    close: (native) => native.close(),
  },
  ...Object.fromEntries(
    ["shared", "exclusive"].map((access) => [
      `package, ${access}`,
      {
        async open(root, durability) {
          const talktree = await Talktree.open(join(root, "bench"), { durability, access });
          await talktree.session().getLatestLeaf();
          return talktree;
        },
        append: (talktree, one) => talktree.session().appendMessage(one),
        async history(talktree) {
          let count = 0;
          for await (const { message: parsed } of talktree.session().history()) count += parsed.parts.length;
          return count;
        },
        async recent(talktree) {
          const { messages: list } = await talktree.session().getRecentHistory(65_536);
          return list.filter(({ message: parsed }) => parsed.parts.length === 1).length;
        },
        close: (talktree) => talktree.close(),
      },
    ]),
  ),
};

/** How long something takes, in ms. */
async function timed(work) {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** One round of one subject: row to ms. */
async function round(subject) {
  const row = {};
  for (const durability of ["full", "normal"]) {
    const root = await mkdtemp(join(tmpdir(), "talktree-bench-"));
    let store = await subject.open(root, durability);
    await subject.append(store, message(0));
    const ms = await timed(async () => {
      for (let at = 1; at < messages; at += 1) await subject.append(store, message(at));
    });
    row[`append, ${durability}`] = ms / (messages - 1);
    if (durability === "normal") {
      for (const time of ["first", "second"]) {
        row[`history, ${time} time`] = await timed(async () => {
          if ((await subject.history(store)) !== messages) throw new Error("messages are missing");
        });
      }
      row["newest 64 KiB"] = await timed(() => subject.recent(store));
      await subject.close(store);
      row["open and first read"] = await timed(async () => (store = await subject.open(root, durability)));
    }
    await subject.close(store);
    await rm(root, { recursive: true });
  }
  return row;
}

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

const runs = [];
for (let at = 0; at < rounds; at += 1) {
  const run = {};
  for (const [name, subject] of Object.entries(subjects)) run[name] = await round(subject);
  runs.push(run);
}
const table = Object.keys(runs[0].program).map((row) => {
  const cells = Object.keys(subjects).map((name) => ({
    name,
    ms: median(runs.map((run) => run[name][row])),
    ratio: median(runs.map((run) => run[name][row] / run.program[row])),
  }));
  return { row, cells };
});
if (options.json) {
  console.log(JSON.stringify({ node: process.version, messages, rounds, table }, null, 2));
} else {
  console.log(`Node ${process.version}, ${messages} messages, ${rounds} rounds; ms, and the ratio to the program\n`);
  for (const { row, cells } of table) {
    const shown = cells.map(
      ({ name, ms, ratio }) => `${name} ${ms.toFixed(2)}${name === "program" ? "" : ` (${ratio.toFixed(2)})`}`,
    );
    console.log(`${row.padEnd(22)} ${shown.join("   ")}`);
  }
}
