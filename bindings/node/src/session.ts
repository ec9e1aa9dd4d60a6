/** One conversation. */
import type { Arguments, Name } from "./component/protocol.js";
import {
  fromBlock,
  fromCompaction,
  fromConfiguration,
  fromSearchPage,
  fromSessionEntry,
  toBytes,
  toConfigurationChange,
  toExpectedLeaf,
  toMilliseconds,
  toParent,
  toSearchOptions,
  toView,
} from "./convert.js";
import { messageText, StoredMessage } from "./message.js";
import { items, pages } from "./pages.js";
import type { Talktree } from "./talktree.js";
import type {
  AppendOptions,
  AppendResult,
  BatchOptions,
  Block,
  BlockDefinition,
  BlockVersion,
  BlockWriteOptions,
  CallOptions,
  ChainResult,
  Compaction,
  CompactionPlan,
  Configuration,
  ConfigurationChange,
  DeleteOptions,
  DeleteResult,
  HistoryOptions,
  ImportOptions,
  LinesReport,
  MediaMode,
  MediaRange,
  MessageInput,
  MessageLike,
  RecentHistory,
  RowStats,
  SearchOptions,
  SearchPage,
  SessionInfo,
  Source,
  Summarizer,
  Summary,
  Tool,
  ToolAnswer,
  TreeNode,
  UpsertResult,
} from "./types.js";

/** How many bytes of a payload are fetched at once. */
const MEDIA_PIECE = 4 * 1024 * 1024;

/** Reads of a session that was never written answer as of an empty one and create nothing. */
export interface ReadMediaOptions extends CallOptions {
  /** Where inline media goes. */
  readonly media?: MediaMode | undefined;
}

/**
 * One conversation: a tree of messages, its summaries and its memory.
 *
 * A handle is cheap and holds nothing; two of the same id are the same session. `M` is the type that messages are
 * parsed to, which is not checked.
 */
export class Session<M extends MessageLike = MessageLike> {
  /** Its id, compared byte for byte; `""` is the default one. */
  readonly id: string;
  /** The store that it is in. */
  readonly store: Talktree;

  /** @internal */
  constructor(store: Talktree, id: string) {
    this.store = store;
    this.id = id;
  }

  // Writing

  /**
   * Appends a message. A stored id answers `inserted: false` whatever else is asked, so repeating is safe.
   *
   * @throws InvalidMessageError, UnknownParentError, LeafMovedError
   */
  async appendMessage(message: MessageInput, options: AppendOptions = {}): Promise<AppendResult> {
    const { message: stored = null, ...result } = await this.#write(
      "appendMessage",
      [this.id, messageText(message), this.#appendOptions(options)],
      options,
    );
    if (result.compactionDue) this.store.compactionDue(this.id);
    return { ...result, stored };
  }

  /**
   * Appends a chain of messages, each answering the one before, in one transaction: all or none. One that is stored
   * already becomes the parent of the next. At most 10,000 a call.
   */
  async appendMessages(messages: Iterable<MessageInput>, options: AppendOptions = {}): Promise<ChainResult> {
    const texts = Array.from(messages, messageText);
    const result = await this.#write("appendMessages", [this.id, texts, this.#appendOptions(options)], options);
    if (result.compactionDue) this.store.compactionDue(this.id);
    return result;
  }

  /**
   * Replaces role and content of a message; parent, seq and time stay. Answers its JSON text as stored, or `null` if there
   * is no such id.
   */
  async updateMessage(
    message: MessageInput,
    options: CallOptions & { readonly source?: Source } = {},
  ): Promise<string | null> {
    const { source = "server" } = options;
    return (await this.#write("updateMessage", [this.id, messageText(message), source], options)) ?? null;
  }

  /** Updates the message if it is there (the parent is ignored), else appends it. */
  async upsertMessage(message: MessageInput, options: Omit<AppendOptions, "expectedLeaf"> = {}): Promise<UpsertResult> {
    const { parentId, source = "server" } = options;
    const given = [this.id, messageText(message), toParent(parentId), source] as Arguments<"store", "upsertMessage">;
    const { inserted, message: stored = null } = await this.#write("upsertMessage", given, options);
    return { inserted, stored };
  }

  /** Stores a message from elsewhere verbatim. Answers whether it was inserted; a stored id is left as it is. */
  importMessage(message: MessageInput, options: ImportOptions): Promise<boolean> {
    const { parentId, createdAt } = options;
    const given: Arguments<"store", "importMessage"> = [
      this.id,
      messageText(message),
      parentId ?? undefined,
      toMilliseconds(createdAt, "createdAt"),
    ];
    return this.#write("importMessage", given, options);
  }

  /** Stores messages from elsewhere verbatim, in one transaction: all or none. At most 10,000 a call. */
  importMessages(
    list: Iterable<{
      readonly message: MessageInput;
      readonly parentId: string | null;
      readonly createdAt: Date | number;
    }>,
    options: CallOptions = {},
  ): Promise<boolean[]> {
    const given = Array.from(list, ({ message, parentId, createdAt }) => ({
      message: messageText(message),
      ...(parentId === null ? {} : { parentId }),
      createdAt: toMilliseconds(createdAt, "createdAt"),
    }));
    return this.#write("importMessages", [this.id, given], options);
  }

  /** Deletes messages; unknown ids are ignored. */
  deleteMessages(ids: Iterable<string>, options: DeleteOptions = {}): Promise<DeleteResult> {
    const { mode = "splice", dryRun = false } = options;
    return this.#write("deleteMessages", [this.id, [...ids], mode, dryRun], options);
  }

  /** Deletes all messages; configuration and blocks stay. Answers how many. */
  clearMessages(options: CallOptions = {}): Promise<number> {
    return this.#write("clearMessages", [this.id], options);
  }

  /** Chooses the present leaf until the next append or import; `null`: the message written last. Answers the present leaf. */
  async setLeaf(id: string | null, options: CallOptions = {}): Promise<string | null> {
    return (await this.#write("setLeaf", [this.id, id ?? undefined], options)) ?? null;
  }

  // Reading

  /** One message, or `null`. */
  async getMessage(id: string, options: ReadMediaOptions = {}): Promise<StoredMessage<M> | null> {
    const raw = await this.#read("getMessage", [this.id, id, options.media ?? "inline"], options);
    return raw === undefined ? null : new StoredMessage<M>(raw);
  }

  /** The present leaf, or `null` in an empty session. */
  async getLatestLeaf(options: ReadMediaOptions = {}): Promise<StoredMessage<M> | null> {
    const raw = await this.#read("getLatestLeaf", [this.id, options.media ?? "inline"], options);
    return raw === undefined ? null : new StoredMessage<M>(raw);
  }

  /** The path from root to leaf, one message after the other, in constant memory. */
  history(options: BatchOptions = {}): AsyncGenerator<StoredMessage<M>, void, undefined> {
    return items(this.historyBatches(options), options.signal);
  }

  /** The same in batches that are never empty. */
  historyBatches(options: BatchOptions = {}): AsyncGenerator<readonly StoredMessage<M>[], void, undefined> {
    const { batchSize, maxBatchBytes, signal } = options;
    const given = {
      view: toView(options),
      ...(batchSize === undefined ? {} : { batchSize }),
      ...(maxBatchBytes === undefined ? {} : { maxBatchBytes: toBytes(maxBatchBytes, "maxBatchBytes") }),
    };
    return pages(async (cursor) => {
      const page = await this.#read("readHistory", [this.id, given, cursor], { signal });
      return { items: page.messages.map((raw) => new StoredMessage<M>(raw)), cursor: page.cursor };
    }, signal);
  }

  /** The whole path at once: at most 64 MiB, above that an `OverLimitError`. */
  async getHistory(options: HistoryOptions = {}): Promise<StoredMessage<M>[]> {
    const list = await this.#read("getHistory", [this.id, toView(options)], options);
    return list.map((raw) => new StoredMessage<M>(raw));
  }

  /**
   * The newest messages that fit into so many bytes, in path order; the newest one is there in any case, a tool call with
   * its results.
   */
  async getRecentHistory(
    maxBytes: number,
    options: Omit<HistoryOptions, "newestFirst"> = {},
  ): Promise<RecentHistory<StoredMessage<M>>> {
    const { leafId, overlays = true, media = "inline" } = options;
    const given = {
      maxBytes: toBytes(maxBytes, "maxBytes"),
      ...(leafId === undefined ? {} : { leafId }),
      overlays,
      media,
    };
    const { messages, truncated, totalContentBytes } = await this.#read("getRecentHistory", [this.id, given], options);
    return {
      messages: messages.map((raw) => new StoredMessage<M>(raw)),
      truncated,
      totalContentBytes: Number(totalContentBytes),
    };
  }

  /** Sizes and token estimates along the raw path. No content is loaded. */
  historyRowStats(options: CallOptions & { readonly leafId?: string } = {}): AsyncGenerator<RowStats, void, undefined> {
    const { leafId, signal } = options;
    const source = pages(async (cursor) => {
      const page = await this.#read("getHistoryRowStats", [this.id, leafId, cursor, 1000], { signal });
      const rows = page.rows.map((row) => ({
        ...row,
        parentId: row.parentId ?? null,
        createdAt: new Date(Number(row.createdAt)),
        bytes: Number(row.bytes),
      }));
      return { items: rows, cursor: page.cursor };
    }, signal);
    return items(source, signal);
  }

  /** The answers to a message, or the roots (`null`), in the order of writing. */
  branches(id: string | null, options: CallOptions = {}): AsyncGenerator<StoredMessage<M>, void, undefined> {
    const { signal } = options;
    const point = id === null ? ({ tag: "root" } as const) : ({ tag: "id", val: id } as const);
    const source = pages(async (cursor) => {
      const page = await this.#read("getBranches", [this.id, point, cursor, undefined], { signal });
      return { items: page.messages.map((raw) => new StoredMessage<M>(raw)), cursor: page.cursor };
    }, signal);
    return items(source, signal);
  }

  /** Every message of the tree, in the order of writing, without its content. */
  tree(options: CallOptions = {}): AsyncGenerator<TreeNode, void, undefined> {
    const { signal } = options;
    const source = pages(async (cursor) => {
      const page = await this.#read("listMessages", [this.id, cursor, 1000], { signal });
      return { items: page.nodes.map((node) => ({ ...node, parentId: node.parentId ?? null })), cursor: page.cursor };
    }, signal);
    return items(source, signal);
  }

  /** Bytes of one payload of a message: at most 16 MiB a call, from `offset` on. */
  async getMedia(
    id: string,
    index: number,
    options: CallOptions & { readonly offset?: number; readonly length?: number } = {},
  ): Promise<MediaRange> {
    const { offset = 0, length } = options;
    const size = length === undefined ? undefined : toBytes(length, "length");
    const range = await this.#read("getMedia", [this.id, id, index, toBytes(offset, "offset"), size], options);
    return { ...range, bytes: Number(range.bytes) };
  }

  /** All bytes of one payload of a message, piece by piece. */
  async *media(id: string, index: number, options: CallOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const { signal } = options;
    for (let offset = 0; ;) {
      const piece = await this.getMedia(id, index, { offset, length: MEDIA_PIECE, signal });
      if (piece.data.length > 0) yield piece.data;
      offset += piece.data.length;
      if (offset >= piece.bytes || piece.data.length === 0) return;
    }
  }

  /** Finds messages of this session by their words, best first. Any text is a query. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchPage> {
    return fromSearchPage(await this.#read("search", [query, toSearchOptions(this.id, options)], options));
  }

  // The session as a whole

  /** Title, times, counts. @throws UnknownSessionError */
  async info(options: CallOptions = {}): Promise<SessionInfo> {
    return fromSessionEntry(await this.#read("sessionInfo", [this.id], options));
  }

  /** Gives the session a title, or takes it away. One that a user gave is not changed by an automatic one. */
  async setTitle(
    title: string | null,
    options: CallOptions & { readonly automatic?: boolean } = {},
  ): Promise<SessionInfo> {
    const { automatic = false } = options;
    return fromSessionEntry(await this.#write("setTitle", [this.id, title ?? undefined, automatic], options));
  }

  /** Deletes the session with all that belongs to it. Answers how many messages that were. */
  delete(options: CallOptions = {}): Promise<number> {
    return this.#write("deleteSession", [this.id], options);
  }

  /** Copies the path to a leaf into a new session, which must not exist, and answers its handle. */
  async fork(newId: string, options: CallOptions & { readonly leafId?: string } = {}): Promise<Session<M>> {
    await this.#write("forkSession", [this.id, options.leafId, newId], options);
    return this.store.session<M>(newId);
  }

  /** Changes the configuration of this session and answers what is in force; with nothing to change it only answers. */
  async configure(changes: ConfigurationChange = {}, options: CallOptions = {}): Promise<Configuration> {
    return fromConfiguration(
      await this.#write("configure", [{ tag: "session", val: this.id }, toConfigurationChange(changes)], options),
    );
  }

  /** The session as lines of JSON, piece by piece, each of whole lines. @throws UnknownSessionError */
  exportLines(options: CallOptions = {}): AsyncGenerator<string, void, undefined> {
    return this.store.exportLines({ ...options, sessionId: this.id });
  }

  /** Takes lines of an export of one session into this one. Pieces go in one after the other, each all or none. */
  importLines(lines: string, options: CallOptions = {}): Promise<readonly LinesReport[]> {
    return this.store.importLines(lines, { ...options, sessionId: this.id });
  }

  // Compaction

  /** What a compaction would cover, and the prompt for its summary; `null`: there is nothing to compact. */
  async prepareCompaction(options: CallOptions & { readonly leafId?: string } = {}): Promise<CompactionPlan | null> {
    return (await this.#read("prepareCompaction", [this.id, options.leafId], options)) ?? null;
  }

  /** Puts a summary in the place of what a plan covers. @throws PlanOutdatedError, NoProgressError */
  async commitCompaction(token: string, summary: Summary | string, options: CallOptions = {}): Promise<Compaction> {
    const {
      text,
      truncated = false,
      inputTokens,
      outputTokens,
    } = typeof summary === "string" ? { text: summary } : summary;
    const details = {
      truncated,
      ...(inputTokens === undefined ? {} : { inputTokens }),
      ...(outputTokens === undefined ? {} : { outputTokens }),
    };
    return fromCompaction(await this.#write("commitCompaction", [this.id, token, text, details], options));
  }

  /** Says that no summary came for a plan: automatic attempts wait until the path has grown. */
  abandonCompaction(token: string, options: CallOptions = {}): Promise<void> {
    return this.#write("abandonCompaction", [this.id, token], options);
  }

  /**
   * Compacts the path with the summarizer that the store was opened with, or with this one. Answers the last compaction
   * that was made, or `null`. Other calls go on meanwhile.
   *
   * @throws SummarizerFailedError, NoProgressError, PlanOutdatedError, UnknownMessageError
   */
  compact(
    options: CallOptions & { readonly leafId?: string | undefined; readonly summarizer?: Summarizer | undefined } = {},
  ): Promise<Compaction | null> {
    return this.store.compact(this, options);
  }

  /** Puts a summary of one's own in the place of a run of messages. @throws InvalidRangeError, InvalidArgumentError */
  async addCompaction(
    summary: string,
    firstId: string,
    lastId: string,
    options: CallOptions = {},
  ): Promise<Compaction> {
    return fromCompaction(await this.#write("addCompaction", [this.id, summary, firstId, lastId], options));
  }

  /** All compactions, oldest first, replaced ones too. */
  async getCompactions(options: CallOptions = {}): Promise<Compaction[]> {
    return (await this.#read("getCompactions", [this.id], options)).map(fromCompaction);
  }

  /** Removes a compaction: what it replaced shows again. Answers whether there was one. */
  removeCompaction(id: string, options: CallOptions = {}): Promise<boolean> {
    return this.#write("removeCompaction", [this.id, id], options);
  }

  // Memory

  /** Declares a block. Declaring it again changes nothing of what is in it, so an agent may do so at every start. */
  async defineBlock(label: string, definition: BlockDefinition = {}): Promise<Block> {
    const { description, maxTokens, kind = "writable", scope = "session", whenChanged = "wait", content } = definition;
    const given = {
      ...(description === undefined ? {} : { description }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      kind,
      scope,
      whenChanged,
      ...(content === undefined ? {} : { content }),
    };
    return fromBlock(await this.#context("defineBlock", [this.id, label, given], definition, true));
  }

  /** Removes a block with its versions. Answers whether there was one. */
  removeBlock(label: string, options: CallOptions = {}): Promise<boolean> {
    return this.#context("removeBlock", [this.id, label], options, true);
  }

  /** One block. @throws UnknownBlockError */
  async getBlock(label: string, options: CallOptions = {}): Promise<Block> {
    return fromBlock(await this.#context("getBlock", [this.id, label], options));
  }

  /** The blocks that this session sees, in the order of declaration. */
  async listBlocks(options: CallOptions = {}): Promise<Block[]> {
    return (await this.#context("listBlocks", [this.id], options)).map(fromBlock);
  }

  /** Writes a block. @throws UnknownBlockError, VersionMismatchError, OverLimitError, InvalidArgumentError */
  async writeBlock(label: string, content: string, options: BlockWriteOptions = {}): Promise<Block> {
    const { action = "replace", key, title, version } = options;
    const given = {
      content,
      action,
      ...(key === undefined ? {} : { key }),
      ...(title === undefined ? {} : { title }),
      ...(version === undefined ? {} : { version }),
    };
    return fromBlock(await this.#context("writeBlock", [this.id, label, given], options, true));
  }

  /** What a block held, newest version first: the last 20. */
  async blockHistory(label: string, options: CallOptions = {}): Promise<BlockVersion[]> {
    const list = await this.#context("blockHistory", [this.id, label], options);
    return list.map((one) => ({ ...one, createdAt: new Date(Number(one.createdAt)) }));
  }

  /** Makes what a block held at a version its newest version. */
  async restoreBlock(label: string, version: number, options: CallOptions = {}): Promise<Block> {
    return fromBlock(await this.#context("restoreBlock", [this.id, label, version], options, true));
  }

  /** The system prompt, made of the blocks: the same, byte for byte, until it is refreshed. */
  systemPrompt(options: CallOptions = {}): Promise<string> {
    return this.#context("systemPrompt", [this.id], options);
  }

  /** Makes the system prompt anew. */
  refreshSystemPrompt(options: CallOptions = {}): Promise<string> {
    return this.#context("refreshSystemPrompt", [this.id], options);
  }

  /** The blocks to be reminded of that have changed since the prompt was frozen, as text for the model. */
  async reminder(options: CallOptions = {}): Promise<string | null> {
    return (await this.#context("reminder", [this.id], options)) ?? null;
  }

  /** The tools that the blocks need, and the search of past messages. */
  async tools(options: CallOptions = {}): Promise<Tool[]> {
    const list = await this.#context("tools", [this.id], options);
    return list.map(({ inputSchema, ...tool }) => ({
      ...tool,
      inputSchema: JSON.parse(inputSchema) as Record<string, unknown>,
    }));
  }

  /** Carries out a tool call of a model. What a model may get wrong is an answer, never an error. */
  callTool(name: string, input: unknown, options: CallOptions = {}): Promise<ToolAnswer> {
    const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "{}");
    return this.#context("callTool", [this.id, name, text], options, true);
  }

  #appendOptions({ parentId, source = "server", expectedLeaf }: AppendOptions) {
    return { parent: toParent(parentId), source, expectedLeaf: toExpectedLeaf(expectedLeaf) };
  }

  #read<N extends Name<"store">>(name: N, given: Arguments<"store", N>, options: CallOptions) {
    return this.store.call("store", name, given, options);
  }

  async #write<N extends Name<"store">>(name: N, given: Arguments<"store", N>, options: CallOptions) {
    const result = await this.store.call("store", name, given, options);
    this.store.written();
    return result;
  }

  async #context<N extends Name<"context">>(
    name: N,
    given: Arguments<"context", N>,
    options: CallOptions,
    writes = false,
  ) {
    const result = await this.store.call("context", name, given, options);
    if (writes) this.store.written();
    return result;
  }
}
