/**
 * The rest of WASI that the component imports: clocks, randomness, its settings, and an error stream for its last words.
 * There is no network, no standard input or output, and no environment but what it is given.
 */
import { randomBytes } from "node:crypto";

/** How much of what a component says on its error stream is kept. */
const LONGEST_LAST_WORDS = 8192;

const NANOSECONDS_PER_MILLISECOND = 1_000_000n;

/** Something to wait for: here, always a span of time. */
export class Pollable {
  readonly #until: bigint;

  constructor(nanoseconds: bigint) {
    this.#until = process.hrtime.bigint() + nanoseconds;
  }

  ready(): boolean {
    return process.hrtime.bigint() >= this.#until;
  }

  /** Blocks the thread, which is the store's own unless it was opened in the main one. */
  block(): void {
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    for (let left = this.#until - process.hrtime.bigint(); left > 0n; left = this.#until - process.hrtime.bigint()) {
      Atomics.wait(nothing, 0, 0, Number(left / NANOSECONDS_PER_MILLISECOND) + 1);
    }
  }
}

/** An input that has ended. */
export class InputStream {}

/** An output whose beginning is kept, and the rest dropped. */
export class OutputStream {
  readonly #keep: (text: string) => void;

  constructor(keep: (text: string) => void) {
    this.#keep = keep;
  }

  checkWrite(): bigint {
    return 65_536n;
  }

  write(bytes: Uint8Array): void {
    this.#keep(new TextDecoder().decode(bytes));
  }

  blockingFlush(): void {}

  subscribe(): Pollable {
    return new Pollable(0n);
  }
}

/** An error of a stream: none is ever made. */
export class StreamError {}

/** A terminal: there is none. */
export class Terminal {}

/** The component ended its own process, which is never part of a call. */
export class Exit extends Error {
  override readonly name = "Exit";
}

/** What a component gets of the system. */
export interface System {
  /** Imports by interface, versions left out. */
  readonly imports: Readonly<Record<string, object>>;
  /** What it said on its error stream since it was asked last: the message of a panic. */
  lastWords(): string;
}

/** Clocks, randomness and these environment variables. */
export function system(environment: Readonly<Record<string, string>>): System {
  let words = "";
  const stderr = new OutputStream((text) => {
    if (words.length < LONGEST_LAST_WORDS) words += text;
  });
  const nowhere = new OutputStream(() => {});
  return {
    imports: {
      "wasi:cli/environment": { getEnvironment: () => Object.entries(environment) },
      "wasi:cli/exit": {
        exit: () => {
          throw new Exit("the component ended itself");
        },
      },
      "wasi:cli/stderr": { getStderr: () => stderr },
      "wasi:cli/stdin": { getStdin: () => new InputStream() },
      "wasi:cli/stdout": { getStdout: () => nowhere },
      "wasi:cli/terminal-input": { TerminalInput: Terminal },
      "wasi:cli/terminal-output": { TerminalOutput: Terminal },
      "wasi:cli/terminal-stderr": { getTerminalStderr: () => undefined },
      "wasi:cli/terminal-stdin": { getTerminalStdin: () => undefined },
      "wasi:cli/terminal-stdout": { getTerminalStdout: () => undefined },
      "wasi:clocks/monotonic-clock": {
        now: () => process.hrtime.bigint(),
        subscribeDuration: (nanoseconds: bigint) => new Pollable(nanoseconds),
      },
      "wasi:clocks/wall-clock": {
        now: () => {
          const ms = Date.now();
          return { seconds: BigInt(Math.floor(ms / 1000)), nanoseconds: (ms % 1000) * 1_000_000 };
        },
      },
      "wasi:io/error": { Error: StreamError },
      "wasi:io/poll": { Pollable },
      "wasi:io/streams": { InputStream, OutputStream },
      "wasi:random/insecure-seed": { insecureSeed: () => [randomNumber(), randomNumber()] },
      "wasi:random/random": {
        getRandomBytes: (length: bigint) => randomBytes(Number(length)),
        getRandomU64: randomNumber,
      },
    },
    lastWords: () => {
      const said = words;
      words = "";
      return said;
    },
  };
}

function randomNumber(): bigint {
  return randomBytes(8).readBigUInt64LE();
}
