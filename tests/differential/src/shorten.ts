/** Leaves calls out of a sequence for as long as it still fails. */
import type { Failure } from "./family.ts";

export async function shorten<Call>(
  sequence: Call[],
  run: (part: Call[]) => Promise<Failure | undefined>,
): Promise<{ sequence: Call[]; failure: Failure }> {
  let failure = await run(sequence);
  if (failure === undefined)
    throw new Error("the sequence fails once and not again: something depends on chance or time");
  for (let size = Math.ceil(sequence.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < sequence.length;) {
      const part = [...sequence.slice(0, at), ...sequence.slice(at + size)];
      const found = part.length > 0 ? await run(part) : undefined;
      if (found === undefined) {
        at += size;
      } else {
        sequence = part.slice(0, found.at + 1);
        failure = found;
      }
    }
  }
  return { sequence, failure };
}
