/** `Session` of `agents/sessions`, over a session of this package. */
import { UnknownMessageError } from "../errors.js";
import type { StoredMessage } from "../message.js";
import { collect } from "../pages.js";
import type { Session as Inner } from "../session.js";
import type { Compaction, HistoryOptions } from "../types.js";
import { COMPACTION_PREFIX, isCompactionMessage, optionsOf } from "./compact-function.js";
import type {
  AppendOptions,
  AppendResult,
  CompactionFunction,
  CompactResult,
  HistoryBatchReadOptions,
  HistoryReadOptions,
  RecentHistoryResult,
  SearchResult,
  SessionChangeEvent,
  SessionChangeListener,
  SessionMessage,
  SessionMessageInput,
  SessionMirrorOptions,
  SessionRowStat,
  StoredCompaction,
  WriteOptions,
} from "./types.js";

/** Of a compaction function that plans for itself, nothing is known: the store keeps as little as it can. */
const LEAST_TAIL = 1;

/** What a session needs of `Sessions`. */
export interface SessionHost {
  /** The session in the store, once that is ready. */
  open(sessionId: string): Promise<Inner>;
  /** Whether anybody listens. */
  isObserved(): boolean;
  /** Tells everybody, one after the other. */
  dispatch(event: SessionChangeEvent): Promise<void>;
  subscribe(listener: SessionChangeListener): () => void;
}

/** One conversation. Handles come from `Sessions.session()`. */
export class Session {
  readonly sessionId: string;
  readonly #host: SessionHost;
  #compaction: CompactionFunction | undefined;
  #threshold: number | undefined;
  #configured: Promise<unknown> | undefined;

  /** @internal */
  constructor(host: SessionHost, sessionId: string) {
    this.#host = host;
    this.sessionId = sessionId;
  }

  // Settings

  /** What compacts; the last one counts. */
  onCompaction(compaction: CompactionFunction): this {
    this.#compaction = compaction;
    this.#configured = undefined;
    return this;
  }

  /** Compacts within an append when the path has more tokens than this. */
  compactAfter(tokens: number): this {
    this.#threshold = tokens;
    this.#configured = undefined;
    return this;
  }

  /** Keeps a list of messages in step with this session. It does not load what is there already. Answers how to end it. */
  mirror<M extends { id: string } = SessionMessage>(options: SessionMirrorOptions<M>): () => void {
    const { get, set, intercept, onApplied } = options;
    const transform = options.transform ?? ((message) => message as unknown as M);
    return this.#host.subscribe(async (event) => {
      if (event.sessionId !== this.sessionId || (await intercept?.(event)) === true) return;
      if (event.type === "clear") set([]);
      if (event.type === "delete") set(get().filter(({ id }) => !event.messageIds.includes(id)));
      if (event.type !== "append" && event.type !== "update") return;
      if (event.type === "append" && !event.inserted) return;
      const list = get();
      const at = list.findIndex(({ id }) => id === event.message.id);
      if (at < 0 && event.type === "update") return;
      const message = transform(event.message);
      const previous = at < 0 ? undefined : list[at];
      if (at < 0) list.push(message);
      else list[at] = message;
      await onApplied?.(event, message, previous);
    });
  }

  // Reading

  async *history(options: HistoryReadOptions = {}): AsyncGenerator<SessionMessage, void, undefined> {
    for await (const batch of this.historyBatches(options)) yield* batch;
  }

  async *historyBatches(options: HistoryBatchReadOptions = {}): AsyncGenerator<SessionMessage[], void, undefined> {
    const { batchSize, maxBatchBytes } = options;
    const inner = await this.#open();
    const batches = inner.historyBatches({
      ...view(options),
      ...(batchSize === undefined ? {} : { batchSize: Math.max(1, Math.floor(batchSize)) }),
      ...(maxBatchBytes === undefined ? {} : { maxBatchBytes: Math.max(1, Math.floor(maxBatchBytes)) }),
    });
    try {
      for await (const batch of batches) yield batch.map(({ json }) => parse(json));
    } catch (error) {
      if (!isUnknownLeaf(error, options.leafId)) throw error;
    }
  }

  async getHistory(options: HistoryReadOptions = {}): Promise<SessionMessage[]> {
    const messages: SessionMessage[] = [];
    for await (const batch of this.historyBatches(options)) messages.push(...batch);
    return messages;
  }

  async getRecentHistory(
    maxBytes: number,
    options: { leafId?: string | null } | number = {},
  ): Promise<RecentHistoryResult> {
    const leafId = typeof options === "object" ? options.leafId : undefined;
    const inner = await this.#open();
    const empty = { messages: [], truncated: false, totalContentBytes: 0 };
    const recent = await orUnknown(inner.getRecentHistory(maxBytes, view({ leafId: leafId ?? null })), leafId, empty);
    return { ...recent, messages: recent.messages.map(({ json }: { json: string }) => parse(json)) };
  }

  async getHistoryRowStats(leafId?: string | null): Promise<SessionRowStat[]> {
    const inner = await this.#open();
    const rows = collect(inner.historyRowStats(leafId ? { leafId } : {}), ({ id, role, bytes, tokenEstimate }) => ({
      id,
      role,
      bytes,
      tokenEstimate,
    }));
    return orUnknown(rows, leafId, []);
  }

  async getMessage(id: string): Promise<SessionMessage | null> {
    return parsed(await (await this.#open()).getMessage(id));
  }

  async getLatestLeaf(): Promise<SessionMessage | null> {
    return parsed(await (await this.#open()).getLatestLeaf());
  }

  async getBranches(messageId: string): Promise<SessionMessage[]> {
    const inner = await this.#open();
    return orUnknown(
      collect(inner.branches(messageId), ({ json }) => parse(json)),
      messageId,
      [],
    );
  }

  async search(query: string, options: { limit?: number } = {}): Promise<SearchResult[]> {
    const { limit = 20 } = options;
    if (limit < 1) return [];
    const { results } = await (await this.#open()).search(query, { limit });
    return results.map(({ id, role, content }) => ({ id, role, content }));
  }

  // Writing

  async appendMessage(message: SessionMessageInput, options: AppendOptions = {}): Promise<AppendResult> {
    const { parentId, source } = options;
    const inner = await this.#openConfigured();
    // A summary that is sent back is no message: it would stand beside the messages that it summarizes.
    if (isCompactionMessage(message)) return { inserted: false, message: message as SessionMessage };
    const result = await inner.appendMessage(message, { parentId: parentId === "" ? null : parentId, source });
    const stored = result.stored === null ? (message as SessionMessage) : parse(result.stored);
    const event = { type: "append", sessionId: this.sessionId, message: stored, inserted: result.inserted } as const;
    await this.#host.dispatch(parentId === undefined ? event : { ...event, parentId });
    if (result.inserted && result.compactionDue) await this.#compactByItself(inner);
    return { inserted: result.inserted, message: stored };
  }

  async updateMessage(message: SessionMessageInput, options: WriteOptions = {}): Promise<SessionMessage | null> {
    const inner = await this.#open();
    if (isCompactionMessage(message)) return null;
    // Nobody is told of an update that changes nothing.
    const before = this.#host.isObserved() ? await inner.getMessage(message.id) : null;
    const json = await inner.updateMessage(message, options);
    if (json === null) return null;
    const stored = parse(json);
    if (before?.json !== json)
      await this.#host.dispatch({ type: "update", sessionId: this.sessionId, message: stored });
    return stored;
  }

  async upsertMessage(message: SessionMessageInput, options: AppendOptions = {}): Promise<AppendResult> {
    if (!isCompactionMessage(message)) {
      const { parentId: _, ...writing } = options;
      const updated = await this.updateMessage(message, writing);
      if (updated !== null) return { inserted: false, message: updated };
    }
    return this.appendMessage(message, options);
  }

  async importMessage(
    message: SessionMessageInput,
    options: { parentId: string | null; createdAt: number },
  ): Promise<void> {
    const inner = await this.#open();
    if (!(await inner.importMessage(message, { ...options, parentId: options.parentId || null }))) return;
    const stored = parse(JSON.stringify(message));
    await this.#host.dispatch({
      type: "import",
      sessionId: this.sessionId,
      message: stored,
      parentId: options.parentId,
    });
  }

  async deleteMessages(messageIds: string[]): Promise<void> {
    await (await this.#open()).deleteMessages(messageIds);
    await this.#host.dispatch({ type: "delete", sessionId: this.sessionId, messageIds });
  }

  async clearMessages(): Promise<void> {
    await (await this.#open()).clearMessages();
    await this.#host.dispatch({ type: "clear", sessionId: this.sessionId });
  }

  // Compaction

  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    const compaction = record(await (await this.#open()).addCompaction(summary, fromMessageId, toMessageId));
    await this.#host.dispatch({ type: "compaction", sessionId: this.sessionId, compaction });
    return compaction;
  }

  async getCompactions(): Promise<StoredCompaction[]> {
    return (await (await this.#open()).getCompactions()).map(record);
  }

  /** Compacts now; a function that fails changes nothing and is a warning of the process. */
  async compact(leafId?: string | null): Promise<CompactResult | null> {
    if (this.#compaction === undefined)
      throw new Error("No compaction function registered. Call onCompaction() first.");
    return this.#compact(await this.#openConfigured(), this.#compaction, leafId ?? undefined);
  }

  async #compactByItself(inner: Inner): Promise<void> {
    if (this.#compaction === undefined) return;
    try {
      await this.#compact(inner, this.#compaction, undefined);
    } catch (error) {
      this.#warn(error);
    }
  }

  async #compact(
    inner: Inner,
    compaction: CompactionFunction,
    leafId: string | undefined,
  ): Promise<CompactResult | null> {
    const own = optionsOf(compaction);
    let result: CompactResult | null;
    try {
      if (own !== undefined) {
        const summarizer = ({ prompt }: { prompt: string }) => own.summarize(prompt);
        const made = await inner.compact({ leafId, summarizer });
        result = made && { fromMessageId: made.firstId, toMessageId: made.lastId, summary: made.summary };
      } else {
        const messages = await this.getHistory({ leafId: leafId ?? null });
        result = covering(messages, await compaction(messages));
      }
    } catch (error) {
      this.#warn(error);
      return null;
    }
    if (result === null) return null;
    if (own === undefined) await inner.addCompaction(result.summary, result.fromMessageId, result.toMessageId);
    await this.#host.dispatch({ type: "compact", sessionId: this.sessionId });
    return result;
  }

  #warn(error: unknown): void {
    const session = JSON.stringify(this.sessionId);
    process.emitWarning(`session ${session} could not be compacted: ${String(error)}`, "TalktreeWarning");
  }

  #open(): Promise<Inner> {
    return this.#host.open(this.sessionId);
  }

  /** The session in the store, with the settings of this handle: what only reads does not need them. */
  async #openConfigured(): Promise<Inner> {
    const inner = await this.#open();
    if (this.#compaction === undefined && this.#threshold === undefined) return inner;
    const changes = {
      compactAfter: this.#compaction === undefined ? null : (this.#threshold ?? null),
      keepRecentTokens: (this.#compaction && optionsOf(this.#compaction)?.keepRecentTokens) ?? LEAST_TAIL,
    };
    this.#configured ??= inner.configure(changes).catch((error: unknown) => {
      this.#configured = undefined;
      throw error;
    });
    await this.#configured;
    return inner;
  }
}

/** `createdAt` is a `Date`, as the type says, where the text is what a `Date` is written as. */
function parse(json: string): SessionMessage {
  const message = JSON.parse(json) as Omit<SessionMessage, "createdAt"> & { createdAt?: unknown };
  if (typeof message.createdAt === "string") {
    const date = new Date(message.createdAt);
    if (!Number.isNaN(date.getTime()) && date.toISOString() === message.createdAt) message.createdAt = date;
  }
  return message as SessionMessage;
}

const parsed = (message: StoredMessage | null) => (message === null ? null : parse(message.json));

const record = (one: Compaction): StoredCompaction => ({
  id: one.id,
  summary: one.summary,
  fromMessageId: one.firstId,
  toMessageId: one.lastId,
  createdAt: one.createdAt.toISOString(),
});

const view = ({ leafId, signal, newestFirst }: HistoryReadOptions): HistoryOptions => ({
  ...(leafId ? { leafId } : {}),
  ...(signal === undefined ? {} : { signal }),
  ...(newestFirst === undefined ? {} : { newestFirst }),
});

const isUnknownLeaf = (error: unknown, leafId: string | null | undefined) =>
  error instanceof UnknownMessageError && Boolean(leafId);

/** Reads from an id that is not there answer as of something empty. */
async function orUnknown<T>(read: Promise<T>, id: string | null | undefined, empty: T): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (isUnknownLeaf(error, id)) return empty;
    throw error;
  }
}

/** What a function wants covered, with the summaries that it takes the place of; `null` where its end is not on the path. */
function covering(messages: readonly SessionMessage[], result: CompactResult | null): CompactResult | null {
  if (result === null || !messages.some(({ id }) => id === result.toMessageId)) return null;
  const place = (id: string, end: "firstId" | "lastId") => {
    const summary = id.startsWith(COMPACTION_PREFIX) ? messages.find((message) => message.id === id) : undefined;
    return placeOf(summary)?.[end] ?? id;
  };
  const earliest = messages.find(isCompactionMessage);
  return {
    summary: result.summary,
    fromMessageId: placeOf(earliest)?.firstId ?? place(result.fromMessageId, "firstId"),
    toMessageId: place(result.toMessageId, "lastId"),
  };
}

function placeOf(summary: SessionMessage | undefined): { firstId: string; lastId: string } | undefined {
  return (summary?.metadata as { compaction?: { firstId: string; lastId: string } } | undefined)?.compaction;
}
