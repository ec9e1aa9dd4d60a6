/**
 * Makes the same random calls on Talktree and on the published `agents/sessions`, and compares every answer.
 *
 *   node --import ./src/workers.ts src/main.ts --program talktree [--seconds 10] [--seed 1] [--sequences N] [--family messages]
 *     [--mistake NAME] [--json]
 *
 * A difference is one of those in docs/differences.md, or the run fails: it prints the seed, the calls, as few as show
 * it, and the command that repeats it. Exit codes: 0 no other difference, 1 one was found, 2 wrong arguments.
 */
import { parseArgs } from "node:util";

import { drive, FAMILIES, type Plan } from "./drive.ts";

function wrong(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}

function planOf(): { plan: Plan; json: boolean } {
  const { values } = parseArgs({
    options: {
      program: { type: "string" },
      seconds: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
      sequences: { type: "string" },
      family: { type: "string" },
      mistake: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const number = (name: "seconds" | "seed" | "sequences") => {
    const value = Number(values[name]);
    return Number.isFinite(value) && value >= 0 ? value : wrong(`--${name} takes a number, not ${values[name]}`);
  };
  const { program, family, mistake } = values;
  if (program === undefined) wrong("--program is missing: where the program talktree is");
  if (family !== undefined && !FAMILIES.includes(family)) wrong(`--family is one of ${FAMILIES.join(", ")}`);
  const isCounted = values.sequences !== undefined;
  const plan = {
    program,
    family,
    mistake,
    seed: number("seed"),
    sequences: isCounted ? number("sequences") : Infinity,
    seconds: isCounted ? Infinity : number("seconds"),
  };
  return { plan, json: values.json };
}

/** JSON, payloads cut. */
const shown = (value: unknown) =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === "string" && member.length > 200 ? `${member.slice(0, 60)}...` : member,
  );

const { plan, json } = planOf();
const { sequences, calls, differences, failure } = await drive(plan);
const counts = [...differences].toSorted(([a], [b]) => (a < b ? -1 : 1));
if (json) {
  const report = {
    seed: plan.seed,
    sequences,
    calls,
    differences: Object.fromEntries(counts),
    failure: failure ?? null,
  };
  console.log(JSON.stringify(report, null, 2));
} else {
  console.log(`${sequences} sequences, ${calls} calls on both sides, seeds from ${plan.seed}`);
  for (const [name, count] of counts) console.log(`  intended, ${name}: ${count}`);
  if (failure !== undefined) {
    console.log(
      `\nA difference that is not intended, in ${failure.family}, seed ${failure.seed}. As few calls as show it:\n`,
    );
    for (const call of failure.sequence) console.log(`  ${shown(call)}`);
    console.log(`\n  Talktree:  ${shown(failure.talktree)}\n  reference: ${shown(failure.reference)}\n`);
    const again = `cargo xtask differential --seed ${failure.seed} --sequences 1 --family ${failure.family}`;
    console.log(`Again, whole with --json: ${again}`);
  }
}
process.exitCode = failure === undefined ? 0 : 1;
