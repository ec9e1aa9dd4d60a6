/**
 * What goes into the store and comes out of it.
 *
 * Lengths are in UTF-8 bytes, times are `Date`, and what is absent is `null` on reading. All numbers are below 2^53.
 */

/** What every message has. A `UIMessage` of the AI SDK is one. */
export interface MessageLike {
  /** Unique in its session, 1 to 1,024 bytes. */
  id: string;
  /** Who says it. */
  role: string;
  /** What it says. */
  parts: readonly unknown[];
}

/**
 * A message to be written: an object, or its JSON as text. Text is stored byte for byte, white space outside strings
 * aside; an object is what `JSON.stringify` makes of it, which cannot spell every number.
 */
export type MessageInput = MessageLike | string;

/** A payload of a message that was read by reference. */
export interface MediaReference {
  /** Position among the payloads of the message, from 0. */
  readonly index: number;
  /** JSON pointer (RFC 6901) to the member that was left blank. */
  readonly pointer: string;
  /** BLAKE3 of the raw bytes, as 64 hexadecimal digits. */
  readonly hash: string;
  /** Its media type as the message gives it, or empty. */
  readonly mediaType: string;
  /** Length of the raw bytes. */
  readonly bytes: number;
}

/** Where inline media goes on reading: into the JSON, or beside it. */
export type MediaMode = "inline" | "reference";

/** On whose word a message is written. `client`: reserved metadata keys are left out. */
export type Source = "server" | "client";

/** How long to wait for a call. */
export interface CallOptions {
  /**
   * Ends the wait. A call that has not begun is not made; of one that has, a write may still be carried out, and
   * repeating it with the same id is safe.
   */
  readonly signal?: AbortSignal | undefined;
}

/** How a message is appended. */
export interface AppendOptions extends CallOptions {
  /** What it hangs under: the message of this id, `null` for a new root, by default the present leaf. */
  readonly parentId?: string | null | undefined;
  /** On whose word; `server` by default. */
  readonly source?: Source | undefined;
  /** The present leaf that the writer has seen, `null` for an empty session. Another one is a `LeafMovedError`. */
  readonly expectedLeaf?: string | null | undefined;
}

/** What an append did. */
export interface AppendResult {
  /** False: a message of that id was there, and nothing was written. */
  readonly inserted: boolean;
  /** True: a message of that id was there, with another text. */
  readonly conflict: boolean;
  /** The JSON text as stored, where it differs from what was sent. */
  readonly stored: string | null;
  /** The path is above its threshold, and a compaction can be prepared. */
  readonly compactionDue: boolean;
}

/** What appending a chain did. */
export interface ChainResult {
  /** One for each message, in order; `conflict` also where it has another parent than the chain says. */
  readonly items: readonly { readonly id: string; readonly inserted: boolean; readonly conflict: boolean }[];
  /** As in `AppendResult`. */
  readonly compactionDue: boolean;
}

/** What an upsert did. */
export interface UpsertResult {
  /** True: it was appended; false: it was there and now has this text. */
  readonly inserted: boolean;
  /** The JSON text as stored, where it differs from what was sent. */
  readonly stored: string | null;
}

/** Where a message from elsewhere goes. */
export interface ImportOptions extends CallOptions {
  /** Its parent; `null` for a root. */
  readonly parentId: string | null;
  /** When it was written. */
  readonly createdAt: Date | number;
}

/** How messages are deleted. */
export interface DeleteOptions extends CallOptions {
  /** `splice` (the default): children move to the nearest ancestor that stays. `subtree`: everything below goes too. */
  readonly mode?: "splice" | "subtree" | undefined;
  /** Answers the same and changes nothing. */
  readonly dryRun?: boolean | undefined;
}

/** What a delete did, or would do. */
export interface DeleteResult {
  /** How many messages. */
  readonly deleted: number;
  /** Ids of the compactions that covered some of them. */
  readonly summaries: readonly string[];
}

/** Which path, and how it is shown. */
export interface HistoryOptions extends CallOptions {
  /** Its leaf; by default the present one. The id of a summary stands for its place. */
  readonly leafId?: string | undefined;
  /** The exact reverse. */
  readonly newestFirst?: boolean | undefined;
  /** False: the raw path, as if nothing had been compacted. */
  readonly overlays?: boolean | undefined;
  /** Where inline media goes. */
  readonly media?: MediaMode | undefined;
}

/** How large the pages of a read are. */
export interface BatchOptions extends HistoryOptions {
  /** Messages per batch: 50 by default. */
  readonly batchSize?: number | undefined;
  /** Bytes per batch: 4 MiB by default. A message above that stands alone. */
  readonly maxBatchBytes?: number | undefined;
}

/** The newest part of a path. */
export interface RecentHistory<M> {
  /** In path order. */
  readonly messages: readonly M[];
  /** Older ones were left out. */
  readonly truncated: boolean;
  /** Bytes of the whole path, as it would be read. */
  readonly totalContentBytes: number;
}

/** One message of a path, without its content. */
export interface RowStats {
  readonly id: string;
  readonly role: string;
  readonly parentId: string | null;
  readonly seq: number;
  readonly createdAt: Date;
  readonly bytes: number;
  readonly tokenEstimate: number;
}

/** One message of the tree. */
export interface TreeNode {
  readonly id: string;
  readonly parentId: string | null;
  readonly role: string;
  readonly seq: number;
  /** How many messages answer it. */
  readonly children: number;
  /** The first 120 characters of its text. */
  readonly preview: string;
}

/** A piece of a payload. */
export interface MediaRange {
  readonly data: Uint8Array;
  readonly mediaType: string;
  /** Length of the whole payload. */
  readonly bytes: number;
  /** BLAKE3 of the whole payload, as 64 hexadecimal digits. */
  readonly hash: string;
}

/** When a path above its threshold is compacted: beside the appends, or never by itself. */
export type AutoCompact = "host" | "inline" | "off";

/** The configuration in force. */
export interface Configuration {
  /** Tokens of the path as read from which a compaction is due; `null`: never. */
  readonly compactAfter: number | null;
  /** Estimated tokens of the tail that is kept: 20,000 by default. */
  readonly keepRecentTokens: number;
  /** Messages at the root that are kept: 3 by default. */
  readonly protectHead: number;
  /** Messages at the leaf that are kept at least: 2 by default. */
  readonly minTail: number;
  /** Size of the largest prompt for a summary in tokens: 100,000 by default. */
  readonly maxPromptTokens: number;
  /** Real tokens per estimated one: 1 by default. */
  readonly tokenFactor: number;
  /** When. This package treats `inline` as `host`: it compacts beside the appends. */
  readonly autoCompact: AutoCompact;
  /** Keys of the top-level `metadata` that clients cannot write. */
  readonly reservedMetadataKeys: readonly string[];
}

/** What to change of a configuration: absent stays as it is, `null` goes back to what the store or the product gives. */
export type ConfigurationChange = { readonly [K in keyof Configuration]?: Configuration[K] | null | undefined };

/** A summary that stands for a run of messages on reading. */
export interface Compaction {
  /** On reading, its message has this id behind `compaction_`. */
  readonly id: string;
  readonly summary: string;
  /** The first message that it covers. */
  readonly firstId: string;
  /** The last message that it covers. */
  readonly lastId: string;
  /** How many it covers. */
  readonly count: number;
  readonly createdAt: Date;
  /** The compaction that stands in its place now. */
  readonly replacedBy: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

/** A compaction that was prepared. */
export interface CompactionPlan {
  /** For `commitCompaction`. */
  readonly token: string;
  /** What to ask the model. */
  readonly prompt: string;
  /** The answer should not be longer than this many tokens. */
  readonly maxTokens: number;
  readonly firstId: string;
  readonly lastId: string;
  readonly count: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** What a model answered. */
export interface Summary {
  readonly text: string;
  /** The model stopped because of the length: such a summary is refused. */
  readonly truncated?: boolean | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** A model that writes summaries. */
export type Summarizer = (request: {
  readonly prompt: string;
  readonly maxTokens: number;
  readonly purpose: "compaction" | "title";
  readonly signal: AbortSignal;
}) => Promise<Summary | string> | Summary | string;

/** How a search is done. */
export interface SearchOptions extends CallOptions {
  /** Results per page: 1 to 1,000, by default 20. */
  readonly limit?: number | undefined;
  /** Where to go on. */
  readonly cursor?: string | undefined;
  /** Only messages of this role. */
  readonly role?: string | undefined;
  /** Only messages written at this time or later. */
  readonly after?: Date | number | undefined;
  /** Only messages written at this time or earlier. */
  readonly before?: Date | number | undefined;
  /** What to look at: text by default. */
  readonly fields?: readonly ("text" | "tools" | "reasoning" | "summaries")[] | undefined;
}

/** One message that a search found. */
export interface SearchResult {
  readonly sessionId: string;
  readonly id: string;
  readonly role: string;
  readonly seq: number;
  /** Its text parts, joined by newlines, at most 64 KiB. */
  readonly content: string;
  readonly contentTruncated: boolean;
  /** A part of the text with the matches between `[` and `]`. */
  readonly snippet: string;
  /** Higher is better. */
  readonly score: number;
}

/** A page of search results, best first. */
export interface SearchPage {
  readonly results: readonly SearchResult[];
  /** Where the next page begins; `null` after the last. */
  readonly cursor: string | null;
}

/** A session, without its messages. */
export interface SessionInfo {
  readonly id: string;
  readonly title: string | null;
  /** The title was made up by a program. */
  readonly titleAutomatic: boolean;
  readonly createdAt: Date;
  readonly lastActivityAt: Date;
  readonly messages: number;
  readonly tokens: number;
  readonly leafId: string | null;
}

/** What happened. */
export type ChangeKind =
  | "appended"
  | "updated"
  | "deleted"
  | "cleared"
  | "compacted"
  | "compaction-changed"
  | "imported"
  | "context-changed"
  | "session-changed";

/** One change of the store. */
export interface Change {
  /** Where to go on after it. */
  readonly cursor: string;
  readonly kind: ChangeKind;
  readonly sessionId: string;
  /** The messages, compactions or labels that it is about. */
  readonly ids: readonly string[];
  /** The parent of an appended, updated or imported message. */
  readonly parentId: string | null;
  /** JSON text of that message as it is at reading; `null` if it has gone since. */
  readonly json: string | null;
  readonly compaction: Compaction | null;
}

/** Which changes are wanted. */
export interface ChangeOptions extends CallOptions {
  /** Go on after this one; by default from the oldest that is kept. */
  readonly cursor?: string | undefined;
  /** Changes per page: 1 to 1,000, by default 100. */
  readonly limit?: number | undefined;
  /** Only of this session. */
  readonly sessionId?: string | undefined;
  /** Only of these kinds. */
  readonly kinds?: readonly ChangeKind[] | undefined;
}

/** A page of changes, in order. */
export interface ChangePage {
  readonly changes: readonly Change[];
  /** Where to go on. */
  readonly cursor: string;
  /** The cursor was of no use, and changes were missed: read what is needed anew. */
  readonly reset: boolean;
}

/** What became of the lines of one session, or of those that belong to the store as a whole (`null`). */
export interface LinesReport {
  readonly sessionId: string | null;
  readonly imported: number;
  readonly skipped: number;
  readonly failed: readonly { readonly line: number; readonly why: string }[];
}

/** The store in numbers. */
export interface StoreStats {
  readonly messages: number;
  readonly sessions: number;
  readonly bytes: {
    readonly file: number;
    readonly messages: number;
    readonly mediaBytes: number;
    readonly index: number;
    readonly free: number;
  };
  readonly largest: readonly { readonly sessionId: string; readonly id: string; readonly bytes: number }[];
  readonly schemaVersion: number;
}

/** What a block is for. */
export type BlockKind = "read-only" | "writable" | "searchable" | "loadable";

/** What a block is declared to be. */
export interface BlockDefinition extends CallOptions {
  readonly description?: string | undefined;
  /** How many tokens its content may have at most. */
  readonly maxTokens?: number | undefined;
  /** `writable` by default. */
  readonly kind?: BlockKind | undefined;
  /** Who sees it: one session (the default), or all of the store. */
  readonly scope?: "session" | "store" | undefined;
  /** What happens when it changes while the prompt is frozen: nothing (the default), or `reminder` gives it. */
  readonly whenChanged?: "wait" | "remind" | undefined;
  /** What it holds when it is new. */
  readonly content?: string | undefined;
}

/** A block of memory. */
export interface Block {
  readonly label: string;
  readonly description: string | null;
  readonly kind: BlockKind;
  readonly scope: "session" | "store";
  readonly whenChanged: "wait" | "remind";
  readonly content: string;
  readonly entries: readonly {
    readonly key: string;
    readonly title: string | null;
    readonly tokens: number;
    readonly loaded: boolean;
  }[];
  readonly tokens: number;
  readonly maxTokens: number | null;
  /** 0 for a block that was never written, then one more with each write. */
  readonly version: number;
}

/** How a block is written. */
export interface BlockWriteOptions extends CallOptions {
  /** `replace` (the default), or `append` on a line of its own. */
  readonly action?: "replace" | "append" | undefined;
  /** Of a searchable or loadable block: which entry. */
  readonly key?: string | undefined;
  /** Of a searchable or loadable block: what the entry is about. */
  readonly title?: string | undefined;
  /** The version that the writer has seen; another one is a `VersionMismatchError`. */
  readonly version?: number | undefined;
}

/** What a block held at some version. */
export interface BlockVersion {
  readonly version: number;
  readonly content: string;
  readonly createdAt: Date;
}

/** A tool for the model. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** What a tool answers to the model. */
export interface ToolAnswer {
  readonly content: string;
  /** The model got something wrong: `content` begins with `Error: ` and says what is right. */
  readonly isError: boolean;
}
