/** Calls on messages: what one sequence consists of. They hold everything, so that a sequence can be shortened. */
import type { Message } from "../json.ts";

export type Source = "server" | "client";

export type Call =
  | { op: "append" | "upsert"; session: string; message: Message; parentId?: string | null; source?: Source }
  | { op: "update"; session: string; message: Message; source?: Source }
  | { op: "import"; session: string; message: Message; parentId: string | null; createdAt: number }
  | { op: "delete"; session: string; ids: string[] }
  | { op: "clear"; session: string }
  | { op: "addCompaction"; session: string; summary: string; first: string; last: string }
  | { op: "compact"; session: string; leafId?: string; summary: string }
  | { op: "history"; session: string; leafId?: string; newestFirst: boolean }
  | { op: "batches"; session: string; batchSize: number; maxBatchBytes: number }
  | { op: "recent"; session: string; maxBytes: number; leafId?: string }
  | { op: "stats"; session: string; leafId?: string }
  | { op: "leaf"; session: string }
  | { op: "message"; session: string; id: string }
  | { op: "branches"; session: string; id: string }
  | { op: "compactions"; session: string }
  | { op: "search"; session: string; query: string; limit: number }
  | { op: "reopen" };

/** The calls that change something. Each answers with its events, too. */
export const WRITES: ReadonlySet<Call["op"]> = new Set([
  "append",
  "upsert",
  "update",
  "import",
  "delete",
  "clear",
  "addCompaction",
  "compact",
]);
