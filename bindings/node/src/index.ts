/**
 * Durable conversation storage for LLM agents.
 *
 * ```ts
 * import { Talktree } from "talktree";
 *
 * await using talktree = await Talktree.open("data");
 * const session = talktree.session("easy");
 * await session.appendMessage({ id: "q1", role: "user", parts: [{ type: "text", text: "Which port?" }] });
 * for await (const message of session.history()) console.log(message.id, message.json);
 * ```
 *
 * @module
 */
export * from "./errors.js";
export { StoredMessage } from "./message.js";
export { Session, type ReadMediaOptions } from "./session.js";
export { Talktree, type FollowOptions, type OpenOptions, type Reset } from "./talktree.js";
export type * from "./types.js";
