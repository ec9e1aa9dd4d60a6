/** The base class of that platform's agents: an object with a lifecycle from the start. */
import { Lifecycle } from "talktree/lifecycle";

import { DurableObject, type DurableObjectState } from "./cloudflare-workers.js";

export type AgentContext = DurableObjectState;

export class Agent<Env = unknown> extends DurableObject<Env> {
  readonly lifecycle = Lifecycle.install(this);
}
