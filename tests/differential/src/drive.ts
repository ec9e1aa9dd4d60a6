/** The driver: sequence after sequence, until a difference is found that is not intended, or time is up. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { context } from "./context/family.ts";
import type { Tally } from "./differences.ts";
import type { Failure, Family } from "./family.ts";
import { manager } from "./manager/family.ts";
import { messages } from "./messages/family.ts";
import { Program } from "./program.ts";
import { Random } from "./random.ts";
import { shorten } from "./shorten.ts";

const ALL = [messages, manager, context] as unknown as Family<never>[];

export const FAMILIES: readonly string[] = ALL.map(({ name }) => name);

/** Calls in a sequence. */
const LENGTH = 120;

export interface Plan {
  /** The program `talktree`. */
  program: string;
  /** The seed of the first sequence; the next ones have the numbers that follow. */
  seed: number;
  /** How many of each family at most. */
  sequences: number;
  /** No sequence is begun after that. */
  seconds: number;
  /** One family instead of all. */
  family?: string | undefined;
  /** A mapping that is wrong on purpose. */
  mistake?: string | undefined;
}

export interface Report {
  sequences: number;
  calls: number;
  differences: Tally;
  failure: (Failure & { family: string; seed: number; sequence: unknown[] }) | undefined;
}

export async function drive(plan: Plan): Promise<Report> {
  const root = await mkdtemp(join(tmpdir(), "talktree-differential-"));
  const program = new Program(plan.program, root);
  try {
    return await run(plan, program);
  } finally {
    await program.end();
    await rm(root, { recursive: true });
  }
}

async function run(plan: Plan, program: Program): Promise<Report> {
  const report: Report = { sequences: 0, calls: 0, differences: new Map(), failure: undefined };
  const families = ALL.filter(({ name }) => plan.family === undefined || name === plan.family);
  const end = performance.now() + plan.seconds * 1_000;
  let tenants = 0;
  for (let at = 0; at < plan.sequences && performance.now() < end; at += 1) {
    const seed = plan.seed + at;
    for (const family of families) {
      // What is run again to make it shorter is not counted.
      const trial = (calls: never[], tally: Tally) =>
        family.run(calls, program, `t${(tenants += 1)}`, tally, plan.mistake);
      const sequence = family.generate(new Random(seed), LENGTH);
      report.sequences += 1;
      report.calls += sequence.length;
      const found = await trial(sequence, report.differences);
      if (found === undefined) continue;
      const short = await shorten(sequence.slice(0, found.at + 1), (part) => trial(part, new Map()));
      report.failure = { ...short.failure, family: family.name, seed, sequence: short.sequence };
      return report;
    }
  }
  return report;
}
