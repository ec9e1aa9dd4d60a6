/** Memory blocks, the frozen prompt and the tools of the model: `agents/context` and Talktree's context blocks. */
import type { DatabaseSync } from "node:sqlite";

import { AgentContextProvider, AgentSearchProvider, ContextBlocks, type ContextConfig } from "agents/context";

import type { Intended, Tally } from "../differences.ts";
import type { Failure, Family } from "../family.ts";
import { same, type Json } from "../json.ts";
import { Refusal, type Program } from "../program.ts";
import type { Random } from "../random.ts";
import { newDatabase, tagged } from "../workers.ts";

type Call =
  | { op: "set" | "append"; label: string; content: string }
  | { op: "get" | "remove" | "again"; label: string }
  | { op: "setContext"; label: string; content: string; action: "replace" | "append"; title?: string }
  | { op: "searchContext"; label: string; query: string }
  | { op: "prompt" | "refresh" | "reminder" | "tools" | "reopen" };

type Outcome = { value: Json } | { error: string };

interface Block {
  label: string;
  kind: "writable" | "read-only" | "searchable";
  description?: string;
  maxTokens?: number;
  whenChanged?: "remind";
  content?: string;
}

const BLOCKS: readonly Block[] = [
  { label: "soul", kind: "read-only", content: "You are helpful." },
  { label: "memory", kind: "writable", description: "facts", maxTokens: 60 },
  { label: "notes", kind: "writable", whenChanged: "remind" },
  { label: "library", kind: "searchable", description: "what was read" },
  { label: "empty", kind: "read-only" },
];

const LABELS = [...BLOCKS.map(({ label }) => label), "memory", "memory", "notes", "library", "unknown"];
const WORDS = ["tea", "cake", "garden", "friday", "port", "river"];

/** Wrong on purpose. */
const MISTAKE = "always-refresh";

export const context: Family<Call> = { name: "context", generate, run };

function generate(random: Random, count: number): Call[] {
  const words = (number: number) => Array.from({ length: number }, () => random.pick(WORDS)).join(" ");
  // Mostly far below the limit or far above it, where both sides agree.
  const length = () => random.weighted({ few: 18, many: 1, near: 1 });
  const content = () => words({ few: 1 + random.below(8), many: 200, near: 40 + random.below(25) }[length()]);
  return Array.from({ length: count }, (): Call => {
    const label = random.pick(LABELS);
    const op = random.weighted({
      set: 8,
      append: 8,
      get: 8,
      remove: 0.3,
      again: 2,
      setContext: 10,
      searchContext: 5,
      prompt: 8,
      refresh: 3,
      reminder: 5,
      tools: 2,
      reopen: 2,
    });
    switch (op) {
      case "set":
      case "append":
        // Entries go in by the tool on both sides.
        return { op, label: label === "library" ? "notes" : label, content: content() };
      case "setContext": {
        const title = random.chance(0.5) ? `About ${random.pick(WORDS)}` : undefined;
        const action = random.pick(["replace", "append"] as const);
        return {
          op,
          label,
          content: content(),
          action: label === "library" ? "replace" : action,
          ...(title && { title }),
        };
      }
      case "searchContext":
        return { op, label, query: words(1 + random.below(2)) };
      case "get":
      case "remove":
      case "again":
        return { op, label };
      default:
        return { op };
    }
  });
}

async function run(
  calls: Call[],
  program: Program,
  tenant: string,
  tally: Tally,
  mistake?: string,
): Promise<Failure | undefined> {
  const removed = new Set<string>();
  const talktree = new Talktree(program, tenant, removed, mistake === MISTAKE);
  const reference = new Reference(removed);
  try {
    await talktree.declare();
    for (const [at, call] of calls.entries()) {
      const both = {
        talktree: await outcome(() => talktree.run(call)),
        reference: await outcome(() => reference.run(call)),
      };
      const intended = judge(call, both.talktree, both.reference, removed);
      if (intended === undefined) return { at, call, ...both };
      for (const one of intended) tally.set(one, (tally.get(one) ?? 0) + 1);
      if (call.op === "remove") removed.add(call.label);
      if (intended.includes("host-writes") && "label" in call) await talktree.restore(call.label);
      // The estimates are far enough apart for one side to take what the other refuses: begin again.
      if (intended.includes("block-limit") && "label" in call)
        for (const side of [talktree, reference]) await side.run({ op: "set", label: call.label, content: "" });
    }
    return undefined;
  } finally {
    reference.close();
    await program.call("deleteTenant", { tenant });
  }
}

/** An error of either side is one: their sentences differ. */
async function outcome(work: () => Promise<Json>): Promise<Outcome> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof Refusal && error.kind !== "params") return { error: "refused" };
    if (error instanceof Error && /^Block "/.test(error.message)) return { error: "refused" };
    throw error;
  }
}

function judge(call: Call, talktree: Outcome, reference: Outcome, removed: Set<string>): Intended[] | undefined {
  if (same(talktree, reference)) return [];
  if (call.op === "again") {
    const isThere = BLOCKS.some(({ label }) => label === call.label) && !removed.has(call.label);
    return isThere && "value" in talktree && "error" in reference ? ["block-again"] : undefined;
  }
  if (call.op === "get" && "error" in talktree && same(reference, { value: null })) return ["unknown-block"];
  const text = (one: Outcome) => ("value" in one && typeof one.value === "string" ? one.value : undefined);
  const isRefused = (one: Outcome) => "error" in one || text(one) === "refused";
  const isReadOnly = "label" in call && BLOCKS.some(({ label, kind }) => label === call.label && kind === "read-only");
  if ((call.op === "set" || call.op === "append") && isReadOnly)
    return "value" in talktree ? ["host-writes"] : undefined;
  if (call.op === "set" || call.op === "append" || call.op === "setContext")
    return call.label === "memory" && isRefused(talktree) !== isRefused(reference) ? ["block-limit"] : undefined;
  if (call.op === "tools") {
    const names = (one: Outcome) => ("value" in one ? (one.value as string[]) : []);
    return same(
      names(talktree).filter((name) => name !== "session_search"),
      names(reference),
    )
      ? ["tools-always"]
      : undefined;
  }
  const [own, their] = [text(talktree), text(reference)];
  if (call.op === "searchContext" && "value" in talktree && "value" in reference) {
    // Where no title is given, the key is the beginning of the content and a number made from it, of other lengths.
    const begin = (key: string) => (key.startsWith("about-") ? key : key.replace(/-[0-9a-z]+$/, "").slice(0, 20));
    const [found, there] = [(talktree.value as string[]).map(begin), (reference.value as string[]).map(begin)];
    if (same(found, there)) return ["entry-keys"];
    const more = found.filter((key) => !there.includes(key));
    const byTitle = more.every((key) =>
      call.query.split(" ").some((word) => key.startsWith("about-") && key.includes(word)),
    );
    return there.every((key) => found.includes(key)) && byTitle ? ["entry-titles"] : undefined;
  }
  const isOfRemoved =
    call.op === "reminder" && own?.includes("NOTES has been removed.") === true && removed.has("notes");
  if (isOfRemoved && same(reference, { value: null })) return ["reminder-of-removed"];
  if (own === undefined || their === undefined) return undefined;
  // What differs in a prompt, taken out bit by bit.
  const intended: Intended[] = [];
  let [left, right] = [own, their];
  for (const [name, change] of PROMPT) {
    const [before, after] = [left, right];
    left = change(left);
    right = change(right);
    if (before !== left || after !== right) intended.push(name);
    if (left === right) return intended;
  }
  return undefined;
}

const PROMPT: readonly (readonly [Intended, (text: string) => string])[] = [
  ["block-tokens", (text) => text.replaceAll(/ \[\d+% — \d+\/60 tokens\]/g, " [tokens]")],
  [
    "entries-in-prompt",
    (text) =>
      text.replaceAll(/^(\d+) (entries indexed\.|entries|entry)$/gm, "$1 entries").replaceAll("\n0 entries", "\n"),
  ],
  // Nothing, or a line with nothing.
  ["empty-block", (text) => text.replaceAll(/═\n+(?=═|$)/g, "═\n\n")],
];

class Talktree {
  readonly #program: Program;
  readonly #tenant: string;
  readonly #removed: ReadonlySet<string>;
  readonly #isWrong: boolean;

  constructor(program: Program, tenant: string, removed: ReadonlySet<string>, isWrong: boolean) {
    this.#program = program;
    this.#tenant = tenant;
    this.#removed = removed;
    this.#isWrong = isWrong;
  }

  async declare(): Promise<void> {
    for (const block of BLOCKS) if (!this.#removed.has(block.label)) await this.#call("defineBlock", { ...block });
  }

  /** Writes what a read-only block is declared with. */
  async restore(label: string): Promise<void> {
    const content = BLOCKS.find((block) => block.label === label)?.content ?? "";
    await this.#call("writeBlock", { label, content });
  }

  async run(call: Call): Promise<Json> {
    switch (call.op) {
      case "set":
      case "append": {
        const { label, content } = call;
        await this.#call("writeBlock", { label, content, action: call.op === "set" ? "replace" : "append" });
        return null;
      }
      case "get": {
        const { block } = await this.#call("getBlock", { label: call.label });
        const { content, kind } = block as { content: string; kind: string };
        return kind === "searchable" ? "searchable" : content;
      }
      case "remove":
        return (await this.#call("removeBlock", { label: call.label })).removed!;
      case "again": {
        const block = BLOCKS.find(({ label }) => label === call.label && !this.#removed.has(label));
        if (block !== undefined) await this.#call("defineBlock", { ...block });
        return null;
      }
      case "setContext": {
        const { label, content, action, title } = call;
        return this.#tool("set_context", label === "library" ? { label, content, title } : { label, content, action });
      }
      case "searchContext":
        return this.#tool("search_context", { label: call.label, query: call.query });
      case "prompt":
        return (await this.#call(this.#isWrong ? "refreshSystemPrompt" : "systemPrompt", {})).prompt!;
      case "refresh":
        return (await this.#call("refreshSystemPrompt", {})).prompt!;
      case "reminder":
        return sections((await this.#call("reminder", {})).text as string | null);
      case "tools":
        return ((await this.#call("tools", {})).tools as { name: string }[]).map(({ name }) => name).toSorted();
      case "reopen":
        await this.#call("close", {});
        await this.declare();
        return null;
    }
  }

  async #tool(name: string, given: { [key: string]: unknown }): Promise<Json> {
    const { content, isError } = await this.#call("callTool", { name, arguments: given });
    return isError === true ? "refused" : answerOf(name, content as string);
  }

  #call(method: string, params: { [key: string]: unknown }) {
    return this.#program.call(method, { tenant: this.#tenant, ...params });
  }
}

class Reference {
  readonly #database: DatabaseSync = newDatabase();
  readonly #removed: ReadonlySet<string>;
  #blocks!: ContextBlocks;

  constructor(removed: ReadonlySet<string>) {
    this.#removed = removed;
    this.#open();
  }

  async run(call: Call): Promise<Json> {
    const blocks = this.#blocks;
    switch (call.op) {
      case "set":
        await blocks.setBlock(call.label, call.content);
        return null;
      case "append":
        await blocks.appendToBlock(call.label, call.content);
        return null;
      case "get": {
        await blocks.tools();
        const block = blocks.getBlock(call.label);
        return block?.isSearchable === true ? "searchable" : (block?.content ?? null);
      }
      case "remove":
        return blocks.removeBlock(call.label);
      case "again": {
        const block = BLOCKS.find(({ label }) => label === call.label && !this.#removed.has(label));
        if (block !== undefined) await blocks.addBlock(this.#config(block));
        return null;
      }
      case "setContext": {
        const { label, content, action, title } = call;
        return this.#tool("set_context", { label, content, action, ...(title && { metadata: { title } }) });
      }
      case "searchContext":
        return this.#tool("search_context", { label: call.label, query: call.query });
      case "prompt":
        return blocks.freezeSystemPrompt();
      case "refresh":
        return blocks.refreshSystemPrompt();
      case "reminder":
        return sections(await blocks.reminder());
      case "tools":
        return Object.keys(await blocks.tools()).toSorted();
      case "reopen":
        this.#open();
        return null;
    }
  }

  close(): void {
    this.#database.close();
  }

  async #tool(name: string, given: { [key: string]: unknown }): Promise<Json> {
    const tool = (await this.#blocks.tools())[name];
    const answer = (await tool?.execute?.(given as never, {} as never)) as unknown as string | undefined;
    return answer === undefined || answer.startsWith("Error: ") ? "refused" : answerOf(name, answer);
  }

  #open(): void {
    const declared = BLOCKS.filter(({ label }) => !this.#removed.has(label)).map((block) => this.#config(block));
    const host = { sql: tagged(this.#database) } as never;
    this.#blocks = new ContextBlocks(declared, new AgentContextProvider(host, "_system_prompt"));
  }

  #config({ label, kind, content, description, maxTokens, whenChanged }: Block): ContextConfig {
    const host = { sql: tagged(this.#database) } as never;
    const provider = {
      "read-only": () => ({ get: async () => content ?? "" }),
      writable: () => new AgentContextProvider(host, label),
      searchable: () => new AgentSearchProvider(host),
    }[kind]();
    return {
      label,
      provider,
      ...(description && { description }),
      ...(maxTokens && { maxTokens }),
      ...(whenChanged && { whenChanged }),
    };
  }
}

/** The sections of a reminder, without the words before them. */
function sections(text: string | null): Json {
  return text === null ? null : text.slice(text.indexOf("═"));
}

/** What can be compared of a tool's answer: that it was done, or the entries that were found. */
function answerOf(name: string, answer: string): Json {
  if (name === "set_context") return "done";
  return [...answer.matchAll(/^\[(.+?)\]/gm)].map(([, key]) => key!).toSorted();
}
