/** A kind of sequence: which calls it has, how they are made, and how they are run on both sides. */
import type { Tally } from "./differences.ts";
import type { Program } from "./program.ts";
import type { Random } from "./random.ts";

export interface Failure {
  /** The place of the call in its sequence. */
  at: number;
  call: unknown;
  talktree: unknown;
  reference: unknown;
}

export interface Family<Call> {
  readonly name: string;
  generate(random: Random, count: number): Call[];
  run(calls: Call[], program: Program, tenant: string, tally: Tally, mistake?: string): Promise<Failure | undefined>;
}
