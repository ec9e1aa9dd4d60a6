/** Providers that keep their content in the store. */
import { UnknownBlockError } from "../errors.js";
import type { Session } from "../session.js";
import { Talktree } from "../talktree.js";
import type { SearchProvider, WritableContextProvider } from "./types.js";

/** Whatever has a store: a store, or an object with a `Lifecycle`. */
export type ContextHost = Talktree | { readonly lifecycle: { readonly store: Talktree; start(): Promise<void> } };

/** The block's place in the store: shared by all sessions of the object. */
class StoredBlock {
  readonly #host: ContextHost;
  readonly #kind: "writable" | "searchable";
  #label: string | undefined;
  #session: Promise<Session> | undefined;

  constructor(host: ContextHost, kind: "writable" | "searchable", label: string | undefined) {
    this.#host = host;
    this.#kind = kind;
    this.#label = label;
  }

  init(label: string): void {
    this.#label ??= label;
  }

  get label(): string {
    if (this.#label === undefined) throw new Error("the provider has no label: give it one, or put it into a block");
    return this.#label;
  }

  /** Any session of the object: the block belongs to all of them. */
  session(): Promise<Session> {
    this.#session ??= this.#open();
    return this.#session;
  }

  /** Declares the block before its first write: reads create nothing. */
  async declared(): Promise<Session> {
    const session = await this.session();
    await session.defineBlock(this.label, { kind: this.#kind, scope: "store" });
    return session;
  }

  async #open(): Promise<Session> {
    const { store } = this.#host instanceof Talktree ? { store: this.#host } : await started(this.#host.lifecycle);
    return store.session();
  }
}

async function started(lifecycle: {
  readonly store: Talktree;
  start(): Promise<void>;
}): Promise<{ readonly store: Talktree }> {
  await lifecycle.start();
  return lifecycle;
}

/** A block of text that lasts. */
export class AgentContextProvider implements WritableContextProvider {
  readonly #block: StoredBlock;

  constructor(host: ContextHost, label?: string) {
    this.#block = new StoredBlock(host, "writable", label);
  }

  init(label: string): void {
    this.#block.init(label);
  }

  async get(): Promise<string | null> {
    const session = await this.#block.session();
    try {
      const { content, version } = await session.getBlock(this.#block.label);
      return version === 0 ? null : content;
    } catch (error) {
      if (error instanceof UnknownBlockError) return null;
      throw error;
    }
  }

  async set(content: string): Promise<void> {
    const session = await this.#block.declared();
    const { version } = await session.writeBlock(this.#block.label, content);
    // A block that was never written is none; one that was written empty is: so an empty prompt lasts, too.
    if (version === 0) {
      await session.writeBlock(this.#block.label, " ");
      await session.writeBlock(this.#block.label, content);
    }
  }
}

/** Entries that last and are found by their words. */
export class AgentSearchProvider implements SearchProvider {
  readonly #block: StoredBlock;

  constructor(host: ContextHost, label?: string) {
    this.#block = new StoredBlock(host, "searchable", label);
  }

  init(label: string): void {
    this.#block.init(label);
  }

  async get(): Promise<string | null> {
    const session = await this.#block.session();
    try {
      const { entries } = await session.getBlock(this.#block.label);
      return entries.length === 0 ? null : `${entries.length} entries indexed.`;
    } catch (error) {
      if (error instanceof UnknownBlockError) return null;
      throw error;
    }
  }

  async search(query: string): Promise<string | null> {
    const session = await this.#block.session();
    const { content, isError } = await session.callTool("search_context", { label: this.#block.label, query });
    return isError || content.startsWith("No results") ? null : content;
  }

  async set(key: string, content: string): Promise<void> {
    const session = await this.#block.declared();
    await session.writeBlock(this.#block.label, content, { key });
  }
}
