/** From the bindings' types to this package's, and back. */
import type * as raw from "#bindings/talktree-sessions-types";
import type { Block as RawBlock } from "#bindings/talktree-sessions-context";

import { InvalidArgumentError } from "./errors.js";
import type {
  Block,
  Change,
  Compaction,
  Configuration,
  ConfigurationChange,
  HistoryOptions,
  SearchOptions,
  SearchPage,
  SessionInfo,
  StoreStats,
} from "./types.js";

/** Ids under which something hangs: undefined, null or an id. */
export type Place = string | null | undefined;

export const toParent = (id: Place): raw.Parent =>
  id === undefined ? { tag: "latest" } : id === null ? { tag: "root" } : { tag: "id", val: id };

export const toExpectedLeaf = (id: Place): raw.ExpectedLeaf =>
  id === undefined ? { tag: "any" } : id === null ? { tag: "empty" } : { tag: "id", val: id };

export function toMilliseconds(time: Date | number, name: string): bigint {
  const ms = typeof time === "number" ? time : time.getTime();
  if (!Number.isFinite(ms))
    throw new InvalidArgumentError("invalid-argument", `${name} is no valid time`, { subject: name });
  return BigInt(Math.round(ms));
}

/** A whole number that is not negative; the component says what is wrong with its size. */
export function toBytes(value: number, name: string): bigint {
  if (!Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError("invalid-argument", `${name} must be a number of bytes`, { subject: name });
  }
  return BigInt(Math.floor(value));
}

export const toView = ({ leafId, newestFirst, overlays, media }: HistoryOptions): raw.HistoryView => ({
  ...(leafId === undefined ? {} : { leafId }),
  newestFirst: newestFirst ?? false,
  overlays: overlays ?? true,
  media: media ?? "inline",
});

export const fromCompaction = (one: raw.Compaction): Compaction => ({
  id: one.id,
  summary: one.summary,
  firstId: one.firstId,
  lastId: one.lastId,
  count: one.count,
  createdAt: new Date(Number(one.createdAt)),
  replacedBy: one.replacedBy ?? null,
  inputTokens: one.inputTokens ?? null,
  outputTokens: one.outputTokens ?? null,
});

export const fromConfiguration = (one: raw.Configuration): Configuration => ({
  ...one,
  compactAfter: one.compactAfter ?? null,
});

export function toConfigurationChange(changes: ConfigurationChange): raw.ConfigurationChange {
  const setting = <K extends keyof Configuration>(name: K) => {
    const value = changes[name];
    if (value === undefined) return { tag: "keep" } as const;
    return value === null
      ? ({ tag: "reset" } as const)
      : ({ tag: "value", val: value as NonNullable<Configuration[K]> } as const);
  };
  const keys = setting("reservedMetadataKeys");
  return {
    compactAfter: setting("compactAfter"),
    keepRecentTokens: setting("keepRecentTokens"),
    protectHead: setting("protectHead"),
    minTail: setting("minTail"),
    maxPromptTokens: setting("maxPromptTokens"),
    tokenFactor: setting("tokenFactor"),
    autoCompact: setting("autoCompact"),
    reservedMetadataKeys: keys.tag === "value" ? { tag: "value", val: [...keys.val] } : keys,
  };
}

export function toSearchOptions(session: string | undefined, options: SearchOptions): raw.SearchOptions {
  const { limit, cursor, role, after, before, fields = [] } = options;
  return {
    ...(session === undefined ? {} : { session }),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
    ...(role === undefined ? {} : { role }),
    ...(after === undefined ? {} : { after: toMilliseconds(after, "after") }),
    ...(before === undefined ? {} : { before: toMilliseconds(before, "before") }),
    fields: Object.fromEntries(fields.map((field) => [field, true])),
  };
}

export const fromSearchPage = (page: raw.SearchPage): SearchPage => ({
  results: page.results,
  cursor: page.cursor ?? null,
});

export const fromSessionEntry = (one: raw.SessionEntry): SessionInfo => ({
  id: one.id,
  title: one.title ?? null,
  titleAutomatic: one.titleAutomatic,
  createdAt: new Date(Number(one.createdAt)),
  lastActivityAt: new Date(Number(one.lastActivityAt)),
  messages: one.messages,
  tokens: Number(one.tokens),
  leafId: one.leafId ?? null,
});

export const fromChange = (one: raw.Change): Change => ({
  cursor: one.cursor,
  kind: one.kind,
  sessionId: one.sessionId,
  ids: one.ids,
  parentId: one.parentId ?? null,
  json: one.message ?? null,
  compaction: one.compaction === undefined ? null : fromCompaction(one.compaction),
});

export const fromStats = (one: raw.StoreStats): StoreStats => ({
  messages: Number(one.messages),
  sessions: Number(one.sessions),
  bytes: {
    file: Number(one.bytes.file),
    messages: Number(one.bytes.messages),
    mediaBytes: Number(one.bytes.mediaBytes),
    index: Number(one.bytes.index),
    free: Number(one.bytes.free),
  },
  largest: one.largest.map((large) => ({ ...large, bytes: Number(large.bytes) })),
  schemaVersion: one.schemaVersion,
});

export const fromBlock = (one: RawBlock): Block => ({
  label: one.label,
  description: one.description ?? null,
  kind: one.kind,
  scope: one.scope,
  whenChanged: one.whenChanged,
  content: one.content,
  entries: one.entries.map((entry) => ({ ...entry, title: entry.title ?? null })),
  tokens: one.tokens,
  maxTokens: one.maxTokens ?? null,
  version: one.version,
});
