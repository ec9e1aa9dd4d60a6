/** `ContextBlocks`: a system prompt made of labelled blocks, and the tools that the model edits them with. */
import { estimateTokens } from "../tokens.js";
import { toolsFor } from "./tools.js";
import type {
  ContextBlock,
  ContextConfig,
  ContextProvider,
  ContextTool,
  SearchProvider,
  WritableContextProvider,
} from "./types.js";

const RULE = "═".repeat(46);

interface Entry {
  readonly config: ContextConfig;
  readonly provider: ContextProvider | undefined;
  content: string;
}

const isSearchable = (provider: ContextProvider | undefined): provider is SearchProvider =>
  provider !== undefined && "search" in provider;

const isWritable = (provider: ContextProvider | undefined): provider is WritableContextProvider =>
  provider !== undefined && "set" in provider && !isSearchable(provider);

/** Blocks in the order of their declaration. */
export class ContextBlocks {
  readonly #entries: Entry[] = [];
  readonly #promptStore: WritableContextProvider | undefined;
  readonly #defaultProvider: ((label: string) => ContextProvider) | undefined;
  #loading: Promise<void> | undefined;
  #prompt: string | undefined;

  constructor(
    configs: readonly ContextConfig[],
    promptStore?: WritableContextProvider,
    defaultProvider?: (label: string) => ContextProvider,
  ) {
    this.#promptStore = promptStore;
    this.#defaultProvider = defaultProvider;
    for (const config of configs) this.#declare(config);
  }

  /** Asks all providers, once. */
  load(): Promise<void> {
    this.#loading ??= this.#read();
    return this.#loading;
  }

  async addBlock(config: ContextConfig): Promise<ContextBlock> {
    await this.load();
    const entry = this.#declare(config);
    await read(entry);
    return show(entry);
  }

  /** The frozen prompt stays as it is. */
  removeBlock(label: string): boolean {
    const at = this.#entries.findIndex(({ config }) => config.label === label);
    if (at >= 0) this.#entries.splice(at, 1);
    return at >= 0;
  }

  getBlock(label: string): ContextBlock | null {
    const entry = this.#find(label);
    return this.#loading === undefined || entry === undefined ? null : show(entry);
  }

  getBlocks(): ContextBlock[] {
    return this.#loading === undefined ? [] : this.#entries.map(show);
  }

  async setBlock(label: string, content: string): Promise<ContextBlock> {
    await this.load();
    const entry = this.#find(label);
    if (isSearchable(entry?.provider))
      throw new Error(`Block "${label}" holds entries by key: use its provider, or set_context with a title`);
    if (entry === undefined || !isWritable(entry.provider)) throw new Error(`Block "${label}" is readonly`);
    const { maxTokens } = entry.config;
    const tokens = estimateTokens(content);
    if (maxTokens !== undefined && tokens > maxTokens) {
      throw new Error(`Block "${label}" exceeds maxTokens: ${tokens} > ${maxTokens}`);
    }
    await entry.provider.set(content);
    entry.content = content;
    return show(entry);
  }

  async appendToBlock(label: string, content: string): Promise<ContextBlock> {
    await this.load();
    const entry = this.#find(label);
    if (entry === undefined) throw new Error(`Block "${label}" not found`);
    const separator = entry.content === "" || content.startsWith("\n") ? "" : "\n";
    return this.setBlock(label, `${entry.content}${separator}${content}`);
  }

  /** Writes an entry of a searchable block. */
  async setEntry(label: string, key: string, content: string): Promise<void> {
    await this.load();
    const entry = this.#find(label);
    if (!isSearchable(entry?.provider) || entry.provider.set === undefined)
      throw new Error(`Block "${label}" is readonly`);
    await entry.provider.set(key, content);
    await read(entry);
  }

  async searchBlock(label: string, query: string): Promise<string | null> {
    await this.load();
    const entry = this.#find(label);
    if (!isSearchable(entry?.provider)) throw new Error(`Block "${label}" cannot be searched`);
    return entry.provider.search(query);
  }

  /** The prompt: the stored one, else the one that was made before, else a new one. */
  async freezeSystemPrompt(): Promise<string> {
    const stored = await this.#promptStore?.get();
    if (typeof stored === "string") return stored;
    if (this.#prompt !== undefined) return this.#prompt;
    await this.load();
    return this.#freeze();
  }

  /** Asks all providers again and makes the prompt anew. */
  async refreshSystemPrompt(): Promise<string> {
    this.#loading = this.#read();
    await this.#loading;
    return this.#freeze();
  }

  /** What has changed of the blocks that say `remind`, since the prompt was frozen; `null`: nothing. */
  async reminder(): Promise<string | null> {
    const prompt = (await this.#promptStore?.get()) ?? this.#prompt;
    if (prompt === undefined) return null;
    await this.load();
    const changed: string[] = [];
    for (const entry of this.#entries.filter(({ config }) => config.whenChanged === "remind")) {
      entry.content = (await entry.provider?.get()) ?? "";
      const section = render(entry);
      if (section !== null && !hasSection(prompt, section)) changed.push(section);
    }
    if (changed.length === 0) return null;
    return `These blocks have changed. What follows takes the place of what the system prompt says of them.\n\n${changed.join("\n\n")}`;
  }

  /** The tools that the blocks need, for the AI SDK. */
  async tools(): Promise<Record<string, ContextTool>> {
    await this.load();
    const keyed = this.#entries.filter(({ provider }) => isSearchable(provider));
    return toolsFor(this, {
      writable: this.#entries.filter(({ provider }) => isWritable(provider)).map(({ config }) => config.label),
      keyed: keyed
        .filter(({ provider }) => isSearchable(provider) && provider.set !== undefined)
        .map(({ config }) => config.label),
      searchable: keyed.map(({ config }) => config.label),
    });
  }

  async #freeze(): Promise<string> {
    this.#prompt = this.#entries.flatMap((entry) => render(entry) ?? []).join("\n\n");
    await this.#promptStore?.set(this.#prompt);
    return this.#prompt;
  }

  async #read(): Promise<void> {
    for (const entry of this.#entries) await read(entry);
  }

  #declare(config: ContextConfig): Entry {
    if (this.#find(config.label) !== undefined) throw new Error(`Block "${config.label}" already exists`);
    const entry = { config, provider: config.provider ?? this.#defaultProvider?.(config.label), content: "" };
    this.#entries.push(entry);
    return entry;
  }

  #find(label: string): Entry | undefined {
    return this.#entries.find(({ config }) => config.label === label);
  }
}

async function read(entry: Entry): Promise<void> {
  await entry.provider?.init?.(entry.config.label);
  entry.content = (await entry.provider?.get()) ?? "";
}

function show({ config, provider, content }: Entry): ContextBlock {
  const { label, description, maxTokens } = config;
  return {
    label,
    ...(description === undefined ? {} : { description }),
    content,
    tokens: estimateTokens(content),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    writable: isWritable(provider),
    isSearchable: isSearchable(provider),
  };
}

/** A block's part of the prompt; `null`: it has none. */
function render({ config, provider, content }: Entry): string | null {
  const { label, description, maxTokens, whenChanged } = config;
  const kind = isSearchable(provider) ? "searchable" : isWritable(provider) ? "writable" : "readonly";
  if (kind === "readonly" && content === "" && whenChanged !== "remind") return null;
  const about = description === undefined ? "" : ` (${description})`;
  const tokens = estimateTokens(content);
  const usage =
    maxTokens === undefined ? "" : ` [${Math.round((tokens / maxTokens) * 100)}% — ${tokens}/${maxTokens} tokens]`;
  return `${RULE}\n${label.toUpperCase()}${about}${usage} [${kind}]\n${RULE}\n${content}`;
}

/** Whether the prompt has just this section: up to its end, or to the next one. */
function hasSection(prompt: string, section: string): boolean {
  for (let at = prompt.indexOf(section); at >= 0; at = prompt.indexOf(section, at + 1)) {
    const begins = at === 0 || prompt.slice(0, at).endsWith("\n\n");
    const rest = prompt.slice(at + section.length);
    if (begins && (rest === "" || rest.startsWith(`\n\n${RULE}\n`))) return true;
  }
  return false;
}
