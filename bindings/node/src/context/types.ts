/** The types of `agents/context`, by their names there. */

/** Gives a block its content. */
export interface ContextProvider {
  /** Is told the block's label before it is asked for the first time. */
  init?(label: string): void | Promise<void>;
  get(): Promise<string | null> | string | null;
}

/** Also takes one. */
export interface WritableContextProvider extends ContextProvider {
  set(content: string): Promise<void> | void;
}

/** Finds entries; with `set`, takes them. */
export interface SearchProvider extends ContextProvider {
  search(query: string): Promise<string | null> | string | null;
  set?(key: string, content: string): Promise<void> | void;
}

/** How a block is declared. */
export interface ContextConfig {
  label: string;
  description?: string;
  maxTokens?: number;
  provider?: ContextProvider | WritableContextProvider | SearchProvider;
  whenChanged?: "wait" | "remind";
}

/** A block, as it is now. */
export interface ContextBlock {
  label: string;
  description?: string;
  content: string;
  tokens: number;
  maxTokens?: number;
  writable: boolean;
  isSearchable: boolean;
}

/** A tool, in the shape that the AI SDK takes. */
export interface ContextTool {
  description: string;
  inputSchema: unknown;
  execute(input: Record<string, unknown>): Promise<string>;
}
