/**
 * `agents/context`, over this package: programs that use it keep their lines. What differs on purpose is listed in the
 * README.
 *
 * @module
 */
export { ContextBlocks } from "./blocks.js";
export { AgentContextProvider, AgentSearchProvider, type ContextHost } from "./providers.js";
export type * from "./types.js";
