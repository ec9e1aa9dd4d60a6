/** `createCompactFunction`: keeps head and tail, summarizes what lies between. */
import { estimateTokens } from "../tokens.js";
import type { CompactionFunction, CompactOptions, SessionMessage, SessionMessagePart } from "./types.js";

/** How the ids of summaries begin. */
export const COMPACTION_PREFIX = "compaction_";

/** Whether a message stands for others that it summarizes. */
export function isCompactionMessage(message: { readonly id: string }): boolean {
  return message.id.startsWith(COMPACTION_PREFIX);
}

const HEAD = 3;
const MIN_TAIL = 2;
const KEEP_RECENT_TOKENS = 20_000;
/** The summary may be a fifth as long as what it replaces. */
const SUMMARY_SHARE = 0.2;
const SHORTEST_SUMMARY = 100;
/** Of a tool's input and output, so much is shown to the model, in characters. */
const LONGEST_VALUE = 500;

const OPTIONS = Symbol("talktree.compact-options");

/**
 * A function for `Session.onCompaction`.
 *
 * Given to a session, it has the store plan the run: all earlier summaries are taken up, and a call is never parted from
 * its result. Called by itself with messages it works on them alone.
 */
export function createCompactFunction(options: CompactOptions): CompactionFunction {
  const { summarize, keepRecentTokens = KEEP_RECENT_TOKENS } = options;
  const compact: CompactionFunction = async (messages) => {
    const run = middle(messages, keepRecentTokens);
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) return null;
    const summary = await summarize(promptFor(run, messages.filter(isCompactionMessage)));
    return summary.trim() === "" ? null : { fromMessageId: first.id, toMessageId: last.id, summary };
  };
  return Object.assign(compact, { [OPTIONS]: { summarize, keepRecentTokens } });
}

/** What a function was made with, if it is one of `createCompactFunction`. */
export function optionsOf(compact: CompactionFunction): Required<CompactOptions> | undefined {
  return (compact as { [OPTIONS]?: Required<CompactOptions> })[OPTIONS];
}

/** The messages between head and tail, without summaries. */
function middle(messages: readonly SessionMessage[], keepRecentTokens: number): SessionMessage[] {
  if (messages.length <= HEAD + MIN_TAIL) return [];
  let start = HEAD;
  while (start < messages.length && answers(messages[start], messages.slice(0, start))) start += 1;
  let cut = messages.length;
  for (let kept = 0; cut > start; cut -= 1) {
    kept += estimate(messages[cut - 1]);
    if (kept > keepRecentTokens && cut < messages.length) break;
  }
  cut = Math.min(cut, messages.length - MIN_TAIL);
  while (cut > start && answers(messages[cut], messages.slice(start, cut))) cut -= 1;
  return messages.slice(start, cut).filter((message) => !isCompactionMessage(message));
}

const isTool = (part: SessionMessagePart) => part.type.startsWith("tool-") || part.type === "dynamic-tool";

function callIds(message: SessionMessage | undefined): string[] {
  return (message?.parts ?? [])
    .filter(isTool)
    .flatMap(({ toolCallId }) => (toolCallId === undefined ? [] : [toolCallId]));
}

/** Whether a message has a tool call in common with one before it. */
function answers(message: SessionMessage | undefined, before: readonly SessionMessage[]): boolean {
  const ids = callIds(message);
  return ids.length > 0 && before.some((earlier) => callIds(earlier).some((id) => ids.includes(id)));
}

const estimate = (message: SessionMessage | undefined) => estimateTokens(JSON.stringify(message?.parts ?? []));

function textOf(message: SessionMessage): string {
  return message.parts.flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : [])).join("\n");
}

function shorten(value: unknown): string {
  const text = Array.from(JSON.stringify(value) ?? "");
  return text.length <= LONGEST_VALUE ? text.join("") : `${text.slice(0, LONGEST_VALUE).join("")} (cut)`;
}

function show(message: SessionMessage): string {
  const tools = message.parts.filter(isTool).map((part) => {
    const name = part.toolName ?? part.type.replace(/^tool-/, "");
    const input = part.input === undefined ? "" : `\nInput: ${shorten(part.input)}`;
    const output = part.output ?? part.result;
    return `[Tool: ${name}]${input}${output === undefined ? "" : `\nOutput: ${shorten(output)}`}`;
  });
  return [`[${message.role}]`, textOf(message), ...tools].filter((line) => line !== "").join("\n");
}

function promptFor(run: readonly SessionMessage[], summaries: readonly SessionMessage[]): string {
  const tokens = run.reduce((sum, message) => sum + estimate(message), 0);
  const length = Math.max(SHORTEST_SUMMARY, Math.floor(tokens * SUMMARY_SHARE));
  const earlier =
    summaries.length === 0
      ? "Summarize the following part of a conversation.\n\n"
      : `Bring this summary of a conversation up to date with the messages that follow it. Keep what still matters.\n\nEarlier summary:\n\n${summaries.map(textOf).join("\n\n")}\n\n`;
  return `${earlier}Messages:\n\n${run.map(show).join("\n\n---\n\n")}\n\nUse the headings "## Topic", "## Key Points", "## Current State" and "## Open Items". Write about ${length} tokens, invent nothing, and answer with the summary alone.`;
}
