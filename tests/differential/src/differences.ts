/**
 * The differences between Talktree and the reference that are intended. docs/differences.md has the reason of each; a
 * test compares the two lists.
 */
export const INTENDED = [
  "unknown-parent",
  "unknown-message",
  "reserved-id",
  "empty-id",
  "rewritten-content",
  "reserved-metadata-on-update",
  "pointer-is-text",
  "media-type-of-the-first",
  "bytes-with-media",
  "token-estimate",
  "recent-with-summaries",
  "batches-with-summaries",
  "overlay-choice",
  "overlay-after-delete",
  "overlay-range",
  "compaction-by-plan",
  "no-progress",
  "search-words",
  "search-scripts",
  "search-zero-byte",
  "search-joins-parts",
  "no-event-for-nothing",
  "block-tokens",
  "block-again",
  "block-limit",
  "unknown-block",
  "host-writes",
  "entries-in-prompt",
  "entry-titles",
  "entry-keys",
  "empty-block",
  "reminder-of-removed",
  "tools-always",
  "session-by-first-write",
  "fork-keeps-ids",
  "no-usage-counters",
] as const;

export type Intended = (typeof INTENDED)[number];

/** How often each was met. */
export type Tally = Map<Intended, number>;
