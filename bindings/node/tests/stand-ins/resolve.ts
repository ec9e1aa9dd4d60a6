/** Which module stands in for which. */
import type { ResolveHook } from "node:module";

const STAND_INS: Readonly<Record<string, string>> = {
  agents: new URL("./agents.js", import.meta.url).href,
  "agents/context": "talktree/context",
  "agents/lifecycle": "talktree/lifecycle",
  "agents/sessions": "talktree/sessions",
  "cloudflare:workers": new URL("./cloudflare-workers.js", import.meta.url).href,
};

export const resolve: ResolveHook = (specifier, context, next) => next(STAND_INS[specifier] ?? specifier, context);
