/** Messages on their way in and out. */
import type { Message as RawMessage } from "#bindings/talktree-sessions-types";

import { InvalidArgumentError, InvalidMessageError } from "./errors.js";
import type { MediaReference, MessageInput, MessageLike } from "./types.js";

/** A message as it is read. The text is what was stored; it is parsed only when `message` is asked for. */
export class StoredMessage<M extends MessageLike = MessageLike> {
  /** Its id; `compaction_...` where a summary stands for a run of messages. */
  readonly id: string;
  readonly role: string;
  /** The message that it answers; `null` for a root. */
  readonly parentId: string | null;
  /** Its number in the session; of a summary, that of the last message that it covers. */
  readonly seq: number;
  readonly createdAt: Date;
  /** Length of `json` in UTF-8 bytes. */
  readonly bytes: number;
  readonly tokenEstimate: number;
  /** The JSON text, byte for byte as it was given, white space outside strings aside. */
  readonly json: string;
  /** What reading by reference left out of `json`; empty otherwise. */
  readonly media: readonly MediaReference[];
  #message: M | undefined;

  /** @internal */
  constructor(raw: RawMessage) {
    this.id = raw.id;
    this.role = raw.role;
    this.parentId = raw.parentId ?? null;
    this.seq = raw.seq;
    this.createdAt = new Date(Number(raw.createdAt));
    this.bytes = Number(raw.bytes);
    this.tokenEstimate = raw.tokenEstimate;
    this.json = raw.json;
    this.media = raw.media.map((one) => ({ ...one, bytes: Number(one.bytes) }));
  }

  /**
   * The message as an object, parsed once. Numbers that JavaScript cannot hold are rounded in it, and duplicate keys are
   * one: `json` is exact.
   */
  get message(): M {
    this.#message ??= JSON.parse(this.json) as M;
    return this.#message;
  }

  /** What `JSON.stringify` shows: everything but the text, which `message` stands for. */
  toJSON(): Record<string, unknown> {
    const { json: _, ...rest } = this;
    return { ...rest, message: this.message };
  }
}

/** The JSON text of a message that is to be written. */
export function messageText(message: MessageInput): string {
  if (typeof message === "string") {
    if (!message.isWellFormed()) {
      throw new InvalidMessageError(
        "invalid-message",
        "the text has a lone surrogate, which is not UTF-8; write it as an escape (\\ud83d), as JSON.stringify does",
      );
    }
    return message;
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(message);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidMessageError("invalid-message", `the message cannot be written as JSON: ${why}`, {}, { cause });
  }
  if (text === undefined)
    throw new InvalidMessageError("invalid-message", "the message must be an object or its JSON as text");
  return text;
}

/**
 * Refuses strings that UTF-8 cannot carry: they would reach the component as other strings, and two different ids could
 * become one.
 */
export function requireWellFormed(given: unknown): void {
  if (typeof given === "string") {
    if (given.isWellFormed()) return;
    const shown = JSON.stringify(given.length > 64 ? `${given.slice(0, 64)}...` : given);
    throw new InvalidArgumentError("invalid-argument", `a lone surrogate cannot be part of an argument: ${shown}`);
  }
  if (typeof given !== "object" || given === null || given instanceof Uint8Array) return;
  for (const inner of Object.values(given)) requireWellFormed(inner);
}
