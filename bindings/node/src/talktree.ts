/** A store: one directory with all of its sessions. */
import { mkdir, realpath, stat } from "node:fs/promises";
import { EventEmitter, once } from "node:events";

import { Channel } from "./component/channel.js";
import { compile } from "./component/instance.js";
import type { Arguments, Interfaces, Name, Result } from "./component/protocol.js";
import { compact, Compactor } from "./compactor.js";
import {
  fromChange,
  fromConfiguration,
  fromSearchPage,
  fromSessionEntry,
  fromStats,
  toBytes,
  toConfigurationChange,
  toSearchOptions,
} from "./convert.js";
import { ClosedError, NotConfiguredError } from "./errors.js";
import { requireUnlocked } from "./lock.js";
import { requireWellFormed } from "./message.js";
import { items, pages } from "./pages.js";
import { Session } from "./session.js";
import type {
  CallOptions,
  Change,
  ChangeOptions,
  ChangePage,
  Compaction,
  Configuration,
  ConfigurationChange,
  LinesReport,
  MessageLike,
  SearchOptions,
  SearchPage,
  SessionInfo,
  StoreStats,
  Summarizer,
} from "./types.js";

/** How often `follow` looks for changes that other processes made, in ms. */
const POLL_EVERY = 1000;

/** How a store is opened. */
export interface OpenOptions {
  /**
   * What an acknowledged write survives: the loss of power (`full`, the default), or the death of the process (`normal`;
   * after a loss of power the last writes may be missing, and the store is sound).
   */
  readonly durability?: "full" | "normal" | undefined;
  /**
   * Who else may have the directory. `shared` (the default): other processes and handles may use it too, and calls take
   * turns by marks in the directory. `exclusive`: you promise that nobody else has it, which saves some file operations
   * a call; breaking that promise damages the store.
   */
  readonly access?: "shared" | "exclusive" | undefined;
  /** Whether every write is refused with a `ReadOnlyError`. */
  readonly readOnly?: boolean | undefined;
  /** Whether the directory is made where it is missing: true by default. */
  readonly create?: boolean | undefined;
  /** How long to wait for another process's turn to end, in ms: 10,000 by default. Then a `BusyError`. */
  readonly busyTimeout?: number | undefined;
  /** How long a call may take, in ms; by default there is no limit. Then a `TimedOutError`. */
  readonly callTimeout?: number | undefined;
  /** Keys of the top-level `metadata` that no client can write in any session, beside those that are configured. */
  readonly reservedMetadataKeys?: readonly string[] | undefined;
  /** The model that writes summaries. With one, sessions with `compactAfter` are compacted beside the appends. */
  readonly summarizer?: Summarizer | undefined;
  /** Is told when a compaction beside the appends failed; by default that is a warning of the process. */
  readonly onCompactionError?: ((error: unknown, sessionId: string) => void) | undefined;
  /**
   * Where the component runs: in a thread of its own (`own`, the default), or in the one that calls. `caller` blocks the
   * event loop for the length of each call and is meant for short scripts.
   */
  readonly thread?: "own" | "caller" | undefined;
}

/** Where `follow` begins, and how often it looks. */
export interface FollowOptions extends Omit<ChangeOptions, "cursor" | "limit"> {
  /** `now` (the default), `oldest` for all that is kept, or the cursor of the last change that was seen. */
  readonly from?: "now" | "oldest" | { readonly cursor: string } | undefined;
  /** How often to look for changes that other processes made, in ms: 1,000 by default. Own ones are seen at once. */
  readonly pollEvery?: number | undefined;
}

/** Changes were missed (the cursor was of no use): read what is needed anew. */
export interface Reset {
  readonly kind: "reset";
  /** Where to go on. */
  readonly cursor: string;
}

/**
 * A store. It is one directory, which the component sees as its whole world; keep what belongs to different people in
 * different ones.
 */
export class Talktree {
  /** The directory, as an absolute path without links. */
  readonly directory: string;
  readonly #channel: Channel;
  readonly #compactor: Compactor | undefined;
  readonly #summarizer: Summarizer | undefined;
  readonly #writes = new EventEmitter().setMaxListeners(0);
  readonly #closing = new AbortController();

  private constructor(directory: string, options: OpenOptions) {
    this.directory = directory;
    const { durability = "full", access = "shared", busyTimeout, reservedMetadataKeys = [], callTimeout } = options;
    for (const key of reservedMetadataKeys) {
      if (key.includes(","))
        throw new NotConfiguredError("not-configured", `reserved metadata keys cannot have a comma: ${key}`);
    }
    this.#channel = new Channel({
      directory,
      readOnly: options.readOnly ?? false,
      thread: options.thread ?? "own",
      timeout: callTimeout,
      environment: {
        TALKTREE_DURABILITY: durability,
        TALKTREE_LOCKING: access === "exclusive" ? "host" : "marks",
        // A compaction asks a model, which takes minutes: this package does it beside the calls.
        TALKTREE_INLINE_COMPACTION: "off",
        ...(busyTimeout === undefined ? {} : { TALKTREE_BUSY_TIMEOUT_MS: String(busyTimeout) }),
        ...(reservedMetadataKeys.length === 0
          ? {}
          : { TALKTREE_RESERVED_METADATA_KEYS: reservedMetadataKeys.join(",") }),
      },
    });
    this.#summarizer = options.summarizer;
    if (options.summarizer !== undefined) {
      const warn = (error: unknown, sessionId: string) => {
        process.emitWarning(
          `session ${JSON.stringify(sessionId)} could not be compacted: ${String(error)}`,
          "TalktreeWarning",
        );
      };
      this.#compactor = new Compactor(options.summarizer, options.onCompactionError ?? warn);
    }
  }

  /**
   * Opens the store in a directory. The store itself comes into being with the first write.
   *
   * Close it when it is done with, best by `await using talktree = await Talktree.open(...)`. A process that ends without
   * closing loses nothing that was acknowledged.
   */
  static async open(directory: string, options: OpenOptions = {}): Promise<Talktree> {
    // What the path means is settled now: neither a later change of the working directory nor of a link moves the store.
    const place = await settle(directory, options.create !== false && options.readOnly !== true);
    await requireUnlocked(place, options.access === "exclusive");
    await compile();
    return new Talktree(place, options);
  }

  /** A session. Nothing is read or written. `M` is the type that messages are parsed to, which is not checked. */
  session<M extends MessageLike = MessageLike>(id = ""): Session<M> {
    return new Session<M>(this, id);
  }

  /** The sessions, newest activity first. No message is read. */
  sessions(options: CallOptions = {}): AsyncGenerator<SessionInfo, void, undefined> {
    const { signal } = options;
    const source = pages(async (cursor) => {
      const page = await this.call("store", "listSessions", [cursor, undefined], { signal });
      return { items: page.sessions.map(fromSessionEntry), cursor: page.cursor };
    }, signal);
    return items(source, signal);
  }

  /** Finds messages of all sessions by their words, best first. Any text is a query. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchPage> {
    return fromSearchPage(await this.call("store", "search", [query, toSearchOptions(undefined, options)], options));
  }

  /** Changes the defaults of all sessions and answers what is in force; with nothing to change it only answers. */
  async configure(changes: ConfigurationChange = {}, options: CallOptions = {}): Promise<Configuration> {
    return fromConfiguration(
      await this.call("store", "configure", [{ tag: "store" }, toConfigurationChange(changes)], options),
    );
  }

  /** A page of what happened, in order and without gaps. */
  async changes(options: ChangeOptions = {}): Promise<ChangePage> {
    const { cursor, limit, sessionId, kinds = [] } = options;
    const given = {
      ...(cursor === undefined ? {} : { cursor }),
      ...(limit === undefined ? {} : { limit }),
      ...(sessionId === undefined ? {} : { session: sessionId }),
      kinds: [...kinds],
    };
    const page = await this.call("store", "changes", [given], options);
    return { changes: page.events.map(fromChange), cursor: page.cursor, reset: page.reset };
  }

  /** What happens, as it happens, also by other processes; it ends with the signal, by breaking off, or by `close`. */
  async *follow(options: FollowOptions = {}): AsyncGenerator<Change | Reset, void, undefined> {
    const { from = "now", pollEvery = POLL_EVERY, signal, ...filter } = options;
    const end = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    let cursor = from === "now" ? await this.#presentEnd(signal) : from === "oldest" ? undefined : from.cursor;
    while (!end.aborted) {
      // Listening begins before looking: a write between the two is not slept over.
      const woken = new AbortController();
      const write = once(this.#writes, "write", { signal: AbortSignal.any([end, woken.signal]) }).catch(() => {});
      try {
        const page = await this.changes({ ...filter, ...(cursor === undefined ? {} : { cursor }), signal });
        if (page.reset) yield { kind: "reset", cursor: page.cursor };
        for (const change of page.changes) {
          if (end.aborted) break;
          yield change;
        }
        const more = page.changes.length > 0 || page.reset;
        cursor = page.cursor;
        if (!more) await Promise.race([write, wait(pollEvery, woken.signal)]);
      } catch (error) {
        if (error instanceof ClosedError) return;
        throw error;
      } finally {
        woken.abort();
      }
    }
    signal?.throwIfAborted();
  }

  /**
   * Calls a function for each change from now on, one after the other, also those of other processes. Answers a function
   * that ends it. What the function throws is a warning of the process, and the next change is told all the same.
   */
  subscribe(
    listener: (change: Change | Reset) => void | Promise<void>,
    options: Omit<FollowOptions, "signal"> = {},
  ): () => void {
    const stop = new AbortController();
    const run = async () => {
      for await (const change of this.follow({ ...options, signal: stop.signal })) {
        try {
          await listener(change);
        } catch (error) {
          process.emitWarning(`a listener failed: ${String(error)}`, "TalktreeWarning");
        }
      }
    };
    run().catch((error: unknown) => {
      if (!stop.signal.aborted)
        process.emitWarning(`the changes can no longer be followed: ${String(error)}`, "TalktreeWarning");
    });
    return () => stop.abort();
  }

  /** The whole store, or one session, as lines of JSON, piece by piece, each of whole lines. */
  exportLines(
    options: CallOptions & { readonly sessionId?: string; readonly maxBytes?: number } = {},
  ): AsyncGenerator<string, void, undefined> {
    const { sessionId, maxBytes, signal } = options;
    const size = maxBytes === undefined ? undefined : toBytes(maxBytes, "maxBytes");
    const source = pages(async (cursor) => {
      const page = await this.call("store", "exportLines", [sessionId, cursor, size], { signal });
      return { items: page.lines === "" ? [] : [page.lines], cursor: page.cursor };
    }, signal);
    return items(source, signal);
  }

  /** Takes lines of an export: pieces one after the other in order, each all or none. */
  async importLines(
    lines: string,
    options: CallOptions & { readonly sessionId?: string } = {},
  ): Promise<readonly LinesReport[]> {
    const reports = await this.call("store", "importLines", [options.sessionId, lines], options);
    this.written();
    return reports.map((report) => ({ ...report, sessionId: report.sessionId ?? null }));
  }

  /** A consistent copy of the file, piece by piece, while the store is in use. */
  snapshot(options: CallOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const { signal } = options;
    const source = pages(async (cursor) => {
      const piece = await this.call("store", "snapshot", [cursor, undefined], { signal });
      return { items: [piece.data], cursor: piece.cursor };
    }, signal);
    return items(source, signal);
  }

  /** Rewrites the file without free pages. Needs up to twice its size in free room. */
  async vacuum(options: CallOptions = {}): Promise<{ readonly before: number; readonly after: number }> {
    const { before, after } = await this.call("store", "vacuum", [], options);
    return { before: Number(before), after: Number(after) };
  }

  /** What fills the store. */
  async stats(options: CallOptions = {}): Promise<StoreStats> {
    return fromStats(await this.call("store", "stats", [], options));
  }

  /** Looks for damage in the file: reads all of it. */
  check(options: CallOptions = {}): Promise<{ readonly sound: boolean; readonly problems: readonly string[] }> {
    return this.call("store", "check", [], options);
  }

  /** Closes the store, after what was asked before. Later calls are refused with a `ClosedError`. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#channel.close(), this.#compactor?.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal */
  async call<I extends keyof Interfaces, N extends Name<I>>(
    of: I,
    name: N,
    given: Arguments<I, N>,
    options: CallOptions,
  ): Promise<Result<I, N>> {
    requireWellFormed(given);
    return await this.#channel.call(of, name, given, options.signal);
  }

  /** @internal */
  written(): void {
    this.#writes.emit("write");
  }

  /** @internal */
  compactionDue(sessionId: string): void {
    this.#compactor?.due(this.session(sessionId));
  }

  /** @internal */
  async compact(
    session: Session<never> | Session,
    options: CallOptions & { readonly leafId?: string | undefined; readonly summarizer?: Summarizer | undefined },
  ): Promise<Compaction | null> {
    const { leafId, signal, summarizer = this.#summarizer } = options;
    if (summarizer === undefined) {
      const why = "there is no summarizer: open the store with one, or give one to `compact`";
      throw new NotConfiguredError("not-configured", why, { subject: "summarizer" });
    }
    await this.#compactor?.idle(session.id);
    const end = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    return compact(this.session(session.id), leafId, summarizer, end);
  }

  /** The cursor behind the newest change: that is what a cursor that is no good is answered with. */
  async #presentEnd(signal: AbortSignal | undefined): Promise<string> {
    return (await this.changes({ cursor: "now", limit: 1, signal })).cursor;
  }
}

/** The directory, without links, made where that is wanted. */
async function settle(directory: string, create: boolean): Promise<string> {
  try {
    if (create) await mkdir(directory, { recursive: true });
    const place = await realpath(directory);
    if ((await stat(place)).isDirectory()) return place;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new NotConfiguredError(
      "not-configured",
      `no store can be in ${directory}: ${why}`,
      { subject: directory },
      { cause },
    );
  }
  throw new NotConfiguredError("not-configured", `no store can be in ${directory}: it is no directory`, {
    subject: directory,
  });
}

/** Waits without keeping the process, and less long when it is told to. */
function wait(ms: number, woken: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms).unref();
    woken.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
