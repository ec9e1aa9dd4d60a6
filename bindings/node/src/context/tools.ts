/** The tools of `ContextBlocks`. What the model gets wrong is an answer that begins `Error: `. */
import type { ContextBlocks } from "./blocks.js";
import type { ContextTool } from "./types.js";

/** Labels by what can be done with them. */
export interface ToolLabels {
  /** Text that can be set. */
  readonly writable: readonly string[];
  /** Entries that can be set. */
  readonly keyed: readonly string[];
  /** Entries that can be searched. */
  readonly searchable: readonly string[];
}

/** `set_context` where something can be written, `search_context` where something can be searched. */
export async function toolsFor(blocks: ContextBlocks, labels: ToolLabels): Promise<Record<string, ContextTool>> {
  const { writable, keyed, searchable } = labels;
  const settable = [...writable, ...keyed];
  const tools: Record<string, ContextTool> = {};
  if (settable.length > 0) {
    const properties = {
      label: { type: "string", enum: settable, description: "Which block" },
      content: { type: "string", description: "What to write" },
      action: { type: "string", enum: ["replace", "append"], description: "replace (the default) or append" },
      ...(keyed.length === 0 ? {} : { metadata: METADATA }),
    };
    tools["set_context"] = {
      description: `Writes to a block of your memory. Blocks: ${settable.join(", ")}.`,
      inputSchema: await schema(properties, ["label", "content"]),
      execute: (input) => answer(() => setContext(blocks, labels, input)),
    };
  }
  if (searchable.length > 0) {
    const properties = {
      label: { type: "string", enum: searchable, description: "Which block" },
      query: { type: "string", description: "Words to look for" },
    };
    tools["search_context"] = {
      description: `Searches the entries of a block. Blocks: ${searchable.join(", ")}.`,
      inputSchema: await schema(properties, ["label", "query"]),
      execute: (input) => answer(() => searchContext(blocks, labels, input)),
    };
  }
  return tools;
}

const METADATA = {
  type: "object",
  description: "Of an entry: what it is about",
  properties: { title: { type: "string" }, description: { type: "string" } },
};

async function schema(properties: object, required: string[]): Promise<unknown> {
  const { jsonSchema } = await import("ai");
  return jsonSchema({ type: "object", properties, required, additionalProperties: false } as Parameters<
    typeof jsonSchema
  >[0]);
}

async function answer(execute: () => Promise<string>): Promise<string> {
  try {
    return await execute();
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function setContext(
  blocks: ContextBlocks,
  { writable, keyed }: ToolLabels,
  input: Record<string, unknown>,
): Promise<string> {
  const { label, content, action, metadata } = input;
  if (typeof label !== "string" || ![...writable, ...keyed].includes(label)) {
    throw new Error(`there is no block ${JSON.stringify(label)}; there are ${[...writable, ...keyed].join(", ")}`);
  }
  if (typeof content !== "string") throw new Error("content must be text");
  if (keyed.includes(label)) {
    const title = (metadata as { title?: unknown } | undefined)?.title;
    const key = keyFor(content, typeof title === "string" ? title : "");
    await blocks.setEntry(label, key, content);
    return `Indexed "${key}" in ${label}.`;
  }
  const { tokens, maxTokens } =
    action === "append" ? await blocks.appendToBlock(label, content) : await blocks.setBlock(label, content);
  const usage =
    maxTokens === undefined
      ? `${tokens} tokens`
      : `${Math.round((tokens / maxTokens) * 100)}% (${tokens}/${maxTokens} tokens)`;
  return `Written to ${label}. Usage: ${usage}`;
}

async function searchContext(
  blocks: ContextBlocks,
  { searchable }: ToolLabels,
  input: Record<string, unknown>,
): Promise<string> {
  const { label, query } = input;
  if (typeof label !== "string" || !searchable.includes(label)) {
    throw new Error(`${JSON.stringify(label)} cannot be searched; ${searchable.join(", ")} can`);
  }
  if (typeof query !== "string") throw new Error("query must be text");
  return (await blocks.searchBlock(label, query)) ?? "No results found.";
}

/** The title as a key; without one, the beginning of the content and a number that stands for all of it. */
function keyFor(content: string, title: string): string {
  if (title.trim() !== "") return slug(title) || `entry-${digest(title)}`;
  return `${slug(content) || "entry"}-${digest(content)}`;
}

const slug = (text: string) =>
  text
    .slice(0, 60)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");

/** FNV-1a over the code units, in base 36. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash.toString(36);
}
