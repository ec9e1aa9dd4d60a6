/** Runs sequences of calls on messages on both sides. */
import type { Tally } from "../differences.ts";
import type { Family, Failure } from "../family.ts";
import type { Json, JsonObject } from "../json.ts";
import { Refusal, type Program } from "../program.ts";
import { WRITES, type Call } from "./calls.ts";
import { judge, type Outcome, type Repair } from "./compare.ts";
import { generate } from "./generate.ts";
import { SessionModel } from "./model.ts";
import { Reference } from "./reference.ts";
import { Talktree, type Mistake } from "./talktree.ts";

export const messages: Family<Call> = { name: "messages", generate, run };

async function run(
  calls: Call[],
  program: Program,
  tenant: string,
  tally: Tally,
  mistake?: string,
): Promise<Failure | undefined> {
  const talktree = new Talktree(program, tenant, mistake as Mistake | undefined);
  const reference = new Reference();
  const sessions = new Map<string, SessionModel>();
  try {
    await talktree.start();
    for (const [at, call] of calls.entries()) {
      const both = { talktree: await here(talktree, call), reference: await there(reference, call) };
      if (call.op === "reopen") continue;
      const before = sessions.get(call.session) ?? new SessionModel();
      sessions.set(call.session, before);
      const verdict = judge({ call, ...both, before });
      if (verdict === undefined) return { at, call, ...both };
      for (const one of verdict.intended) tally.set(one, (tally.get(one) ?? 0) + 1);
      if ("value" in both.talktree && verdict.repair !== "remove-compaction") before.apply(call, both.talktree.value);
      await repair(verdict.repair, call, talktree, reference, before);
    }
    return undefined;
  } finally {
    reference.close();
    await talktree.remove();
  }
}

async function here(talktree: Talktree, call: Call): Promise<Outcome> {
  try {
    const value = await talktree.run(call);
    return { value, events: WRITES.has(call.op) ? await talktree.takeEvents() : [] };
  } catch (error) {
    if (error instanceof Refusal) return { error: error.kind };
    throw error;
  }
}

async function there(reference: Reference, call: Call): Promise<Outcome> {
  let value: Json;
  let events: JsonObject[];
  try {
    value = await reference.run(call);
  } catch (error) {
    return { error: error instanceof Error ? error.name : String(error) };
  } finally {
    events = reference.takeEvents();
  }
  return { value, events };
}

/** Takes back what one side has done and the other has not, so that what follows can be compared. */
async function repair(
  how: Repair,
  call: Call,
  talktree: Talktree,
  reference: Reference,
  model: SessionModel,
): Promise<void> {
  if (call.op === "reopen" || how === "none") return;
  if (how === "remove-message" && "message" in call) {
    if (!model.nodes.has(call.message.id)) await reference.removeMessage(call.session, call.message.id);
  } else if (how === "remove-compaction" && "summary" in call) {
    reference.removeCompaction(call.session, call.summary);
    await talktree.removeCompaction(call.session, call.summary);
  } else if (how === "set-message" && "message" in call) {
    const { message } = model.nodes.get(call.message.id)!;
    await reference.setMessage(call.session, message);
  }
}
