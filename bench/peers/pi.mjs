// The session files of Pi: JSON Lines, appended without a sync; the whole file is in memory while it is open.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { run, textOf } from "./drive.mjs";

class Pi {
  // Its entries have ids of their own.
  #entries = new Map();

  constructor(directory) {
    this.directory = directory;
    mkdirSync(directory, { recursive: true });
    this.#open();
  }

  #open() {
    const [file] = readdirSync(this.directory);
    this.session = file
      ? SessionManager.open(join(this.directory, file), this.directory)
      : SessionManager.create(this.directory, this.directory);
  }

  #append({ id, role, parts, metadata }) {
    const entry = this.session.appendMessage({ id, role, content: parts, timestamp: Date.now(), ...metadata });
    this.#entries.set(id, entry);
  }

  fill(messages) {
    for (const message of messages) this.#append(message);
  }

  append(messages, most) {
    const start = performance.now();
    let count = 0;
    while (count < messages.length && performance.now() - start < most) this.#append(messages[count++]);
    return { ms: performance.now() - start, count };
  }

  fork(parent, message) {
    const old = this.#entries.get(parent) ?? this.session.getEntries().find((one) => one.message?.id === parent)?.id;
    let start = performance.now();
    this.session.branch(old);
    this.#append(message);
    const append_ms = performance.now() - start;
    start = performance.now();
    const count = this.#read("history");
    return { append_ms, read_ms: performance.now() - start, count };
  }

  read(what, command) {
    const start = performance.now();
    const count = this.#read(what, command);
    return { ms: performance.now() - start, count };
  }

  #read(what, command) {
    const { messages } = this.session.buildSessionContext();
    if (what === "history") return messages.length;
    if (what === "first") return Math.min(1, messages.length);
    // There is no search: by hand over everything.
    if (what !== "recent") return messages.filter((one) => textOf(one.content).includes(command.query)).length;
    let left = command.bytes;
    let count = 0;
    for (const message of messages.toReversed()) {
      left -= Buffer.byteLength(JSON.stringify(message));
      if (left < 0) break;
      count++;
    }
    return count;
  }

  reopen(then, command, message) {
    const start = performance.now();
    this.#open();
    let count = 1;
    if (then === "append") this.#append(message);
    else count = this.#read(then, command);
    return { ms: performance.now() - start, count };
  }

  close() {}
}

await run((directory) => new Pi(directory));
