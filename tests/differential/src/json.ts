/** What both sides answer with. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface JsonObject {
  [key: string]: Json;
}

/** A message, as `agents/sessions` and Talktree take it. */
export interface Message {
  id: string;
  role: string;
  parts: Part[];
  metadata?: JsonObject;
  [key: string]: Json | Part[] | undefined;
}

export interface Part {
  type: string;
  [key: string]: Json;
}

/** Whether two values are the same JSON; the order of members does not count. */
export function same(left: unknown, right: unknown): boolean {
  return canonical(left) === canonical(right);
}

/** JSON text in which members stand in order of their names. */
export function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, member: unknown) =>
      typeof member === "object" && member !== null && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : member,
    ) ?? "undefined"
  );
}

/** The same value without anything shared, dates as text. */
export function copy<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}
