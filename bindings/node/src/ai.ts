/**
 * For the AI SDK: chats as `UIMessage[]`, and the memory of a session as tools of a model.
 *
 * It needs the package `ai` (5 or later), which `talktree` itself does not.
 *
 * @module
 */
import { dynamicTool, jsonSchema, type ToolSet, type UIMessage } from "ai";

import { collect } from "./pages.js";
import type { Session } from "./session.js";
import type { CallOptions, MessageLike, Source } from "./types.js";

/** Which part of a conversation is loaded. */
export interface LoadOptions extends CallOptions {
  /** Its leaf; by default the present one. */
  readonly leafId?: string | undefined;
  /** The newest messages that fit into so many bytes; by default all. */
  readonly maxBytes?: number | undefined;
}

/** How a conversation is saved. */
export interface SaveOptions extends CallOptions {
  /**
   * What the first of the messages answers, where only the end of a conversation is given; by default it is a root, as
   * in a chat that is sent whole.
   */
  readonly parentId?: string | null | undefined;
  /** On whose word; `client` keeps reserved metadata out. `server` by default. */
  readonly source?: Source | undefined;
}

/** What saving did, by id. */
export interface Saved {
  /** Messages that are new. */
  readonly inserted: readonly string[];
  /** Messages that were there with another content, and have this one now. */
  readonly updated: readonly string[];
}

/** A conversation as the AI SDK wants it. Summaries are in it as messages of the assistant. */
export async function loadUIMessages<UI_MESSAGE extends UIMessage = UIMessage>(
  session: Session<never> | Session,
  options: LoadOptions = {},
): Promise<UI_MESSAGE[]> {
  const { maxBytes, leafId, signal } = options;
  const chat = session as Session<MessageLike>;
  const place = { ...(leafId === undefined ? {} : { leafId }), ...(signal === undefined ? {} : { signal }) };
  if (maxBytes === undefined) return collect(chat.history(place), ({ message }) => message as unknown as UI_MESSAGE);
  const { messages } = await chat.getRecentHistory(maxBytes, place);
  return messages.map(({ message }) => message as unknown as UI_MESSAGE);
}

/**
 * Saves a conversation as the AI SDK has it, for example in `onFinish` of `toUIMessageStreamResponse`: what is new is
 * appended, what has changed is updated, and what the client left out stays. A regenerated answer becomes another branch,
 * which is the present one. Summaries that came from `loadUIMessages` are not stored a second time.
 */
export async function saveUIMessages(
  session: Session<never> | Session,
  messages: readonly UIMessage[],
  options: SaveOptions = {},
): Promise<Saved> {
  const { source = "server", signal } = options;
  const chat = session as Session<MessageLike>;
  const inserted: string[] = [];
  const updated: string[] = [];
  let parentId = options.parentId ?? null;
  for (const chain of split(messages)) {
    if (chain.after !== undefined) parentId = chain.after;
    if (chain.messages.length === 0) continue;
    const { items } = await chat.appendMessages(chain.messages, { parentId, source, signal });
    for (const [at, item] of items.entries()) {
      const message = chain.messages[at];
      if (item.inserted) inserted.push(item.id);
      else if (item.conflict && message !== undefined && (await replace(chat, message, source, signal)))
        updated.push(item.id);
    }
    parentId = chain.messages.at(-1)?.id ?? parentId;
  }
  return { inserted, updated };
}

/** The tools that the memory of a session needs, for `generateText` and `streamText`. */
export async function sessionTools(session: Session<never> | Session, options: CallOptions = {}): Promise<ToolSet> {
  const chat = session as Session<MessageLike>;
  const tools = (await chat.tools(options)).map(({ name, description, inputSchema }) => {
    const execute = async (input: unknown, { abortSignal }: { abortSignal?: AbortSignal }) =>
      (await chat.callTool(name, input, { signal: abortSignal })).content;
    return [name, dynamicTool({ description, inputSchema: jsonSchema(inputSchema), execute })] as const;
  });
  return Object.fromEntries(tools);
}

/** Whether the stored message has another content, and now this one. */
async function replace(
  session: Session,
  message: UIMessage,
  source: Source,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const before = await session.getMessage(message.id, { signal });
  const after = await session.updateMessage(message, { source, ...(signal === undefined ? {} : { signal }) });
  return after !== null && after !== before?.json;
}

interface Chain {
  /** The last message that the summary before it covers; absent for the first chain. */
  readonly after: string | undefined;
  readonly messages: UIMessage[];
}

/** The messages between the summaries. */
function split(messages: readonly UIMessage[]): Chain[] {
  const chains: Chain[] = [{ after: undefined, messages: [] }];
  for (const message of messages) {
    const { compaction } = (message.metadata ?? {}) as { compaction?: { id?: string; lastId?: string } };
    if (compaction?.lastId !== undefined && message.id === `compaction_${compaction.id}`) {
      chains.push({ after: compaction.lastId, messages: [] });
    } else {
      chains.at(-1)?.messages.push(message);
    }
  }
  return chains;
}
