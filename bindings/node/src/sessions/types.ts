/** The types of `agents/sessions`, by their names there. */

/** A part of a message. Members that are not listed are kept. */
export interface SessionMessagePart {
  type: string;
  text?: string;
  reasoning?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: unknown;
  state?: string;
  result?: unknown;
  mediaType?: string;
  url?: string;
  filename?: string;
  [member: string]: unknown;
}

/** A message. A `UIMessage` of the AI SDK is one. */
export interface SessionMessage {
  id: string;
  role: string;
  parts: SessionMessagePart[];
  metadata?: unknown;
  createdAt?: Date;
}

/** What a write takes: `UIMessage` fits, whose parts are closed types. */
export interface SessionMessageInput {
  id: string;
  role: string;
  parts: readonly object[];
  metadata?: unknown;
  createdAt?: Date;
}

export interface SessionsOptions {
  /** Keys of the top-level `metadata` that `source: "client"` cannot write. They are stored with the sessions. */
  reservedMetadataKeys?: readonly string[];
}

export interface WriteOptions {
  source?: "server" | "client";
}

export interface AppendOptions extends WriteOptions {
  /** By default the present leaf; `null` for a root. */
  parentId?: string | null;
}

export interface AppendResult<M = SessionMessage> {
  inserted: boolean;
  /** As it is stored. */
  message: M;
}

export interface HistoryReadOptions {
  leafId?: string | null;
  signal?: AbortSignal;
  newestFirst?: boolean;
}

export interface HistoryBatchReadOptions extends HistoryReadOptions {
  batchSize?: number;
  maxBatchBytes?: number;
}

export interface RecentHistoryResult {
  messages: SessionMessage[];
  truncated: boolean;
  totalContentBytes: number;
}

export interface SessionRowStat {
  id: string;
  role: string;
  bytes: number;
  tokenEstimate: number;
}

export interface SearchResult {
  id: string;
  role: string;
  content: string;
  createdAt?: string;
  sessionId?: string;
}

export interface StoredCompaction {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
  createdAt: string;
}

export interface CompactResult {
  fromMessageId: string;
  toMessageId: string;
  summary: string;
}

/** Decides what is compacted, and summarizes it. `null`: nothing is. */
export type CompactionFunction = (messages: SessionMessage[]) => Promise<CompactResult | null> | CompactResult | null;

export interface CompactOptions {
  /** Asks a model. */
  summarize: (prompt: string) => Promise<string> | string;
  /** Tokens of the tail that is kept: 20,000 by default. */
  keepRecentTokens?: number;
}

export type SessionChangeEvent =
  | { type: "append"; sessionId: string; message: SessionMessage; parentId?: string | null; inserted: boolean }
  | { type: "update"; sessionId: string; message: SessionMessage }
  | { type: "delete"; sessionId: string; messageIds: string[] }
  | { type: "clear"; sessionId: string }
  | { type: "compact"; sessionId: string }
  | { type: "compaction"; sessionId: string; compaction: StoredCompaction }
  | { type: "import"; sessionId: string; message: SessionMessage; parentId: string | null };

export type SessionChangeListener = (event: SessionChangeEvent) => void | Promise<void>;

export interface SessionMirrorOptions<M extends { id: string } = SessionMessage> {
  /** The list that is kept in step; asked at every event. */
  get: () => M[];
  /** Puts another list in its place. */
  set: (messages: M[]) => void;
  /** From what is stored to what is in the list. */
  transform?: (message: SessionMessage) => M;
  /** Answers true where it has dealt with the event itself. */
  intercept?: (event: SessionChangeEvent) => boolean | void | Promise<boolean | void>;
  /** After a message was put into the list, with the one that it replaced. */
  onApplied?: (
    event: Extract<SessionChangeEvent, { type: "append" | "update" }>,
    message: M,
    previous: M | undefined,
  ) => void | Promise<void>;
}
