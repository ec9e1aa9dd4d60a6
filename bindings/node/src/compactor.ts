/** Compaction beside the appends: prepare, ask the model, commit, without holding the store meanwhile. */
import { PlanOutdatedError, SummarizerFailedError } from "./errors.js";
import type { Session } from "./session.js";
import type { Compaction, Summarizer } from "./types.js";

/** How often a plan is made anew because the messages that it covers changed while the model worked. */
const OUTDATED_PLANS = 3;

/** Compacts the path to a leaf step by step, until nothing is left to cover. */
export async function compact(
  session: Session,
  leafId: string | undefined,
  summarizer: Summarizer,
  signal: AbortSignal,
): Promise<Compaction | null> {
  let made: Compaction | null = null;
  let outdated = 0;
  for (;;) {
    const plan = await session.prepareCompaction({ ...(leafId === undefined ? {} : { leafId }), signal });
    if (plan === null) return made;
    const { prompt, maxTokens, token } = plan;
    let summary;
    try {
      signal.throwIfAborted();
      summary = await aborted(
        Promise.resolve(summarizer({ prompt, maxTokens, purpose: "compaction", signal })),
        signal,
      );
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      await session.abandonCompaction(token);
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new SummarizerFailedError("summarizer-failed", `the summarizer failed: ${why}`, {}, { cause });
    }
    try {
      made = await session.commitCompaction(token, summary);
    } catch (error) {
      if (!(error instanceof PlanOutdatedError) || ++outdated >= OUTDATED_PLANS) throw error;
    }
  }
}

/** The promise, or the signal's reason if that comes first: a model need not listen to it. */
function aborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Runs what is due, one at a time per session. */
export class Compactor {
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #summarizer: Summarizer;
  readonly #failed: (error: unknown, sessionId: string) => void;

  constructor(summarizer: Summarizer, failed: (error: unknown, sessionId: string) => void) {
    this.#summarizer = summarizer;
    this.#failed = failed;
  }

  /** A compaction of this session is due. While one runs nothing is begun: the next append says so again. */
  due(session: Session): void {
    if (this.#stop.signal.aborted || this.#running.has(session.id)) return;
    const run = compact(session, undefined, this.#summarizer, this.#stop.signal)
      .then(
        () => {},
        (error: unknown) => {
          if (!this.#stop.signal.aborted) this.#failed(error, session.id);
        },
      )
      .finally(() => this.#running.delete(session.id));
    this.#running.set(session.id, run);
  }

  /** When the one that runs for this session has ended. */
  idle(sessionId: string): Promise<void> {
    return this.#running.get(sessionId) ?? Promise.resolve();
  }

  /** Ends what runs. What was committed stays. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the store is being closed"));
    await Promise.all(this.#running.values());
  }
}
