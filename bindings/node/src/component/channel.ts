/**
 * How calls reach the component.
 *
 * Each store has a thread of its own, so that a sync of the disk, a search that makes its index or the wait for another
 * process never holds up the event loop. Calls of one store are carried out in the order they were made, one at a time.
 */
import { Worker } from "node:worker_threads";

import { ClosedError, CrashedError, ReadOnlyError, TimedOutError, toError, type TalktreeError } from "../errors.js";
import { compiled, type InstanceOptions } from "./instance.js";
import type { Arguments, Interfaces, Name, Request, Response, Result, Start } from "./protocol.js";
import { Runner } from "./runner.js";

/** What a channel is made with. */
export interface ChannelOptions extends Pick<InstanceOptions, "directory" | "readOnly" | "environment"> {
  /** Where the component runs: in a thread of its own, or in the one that calls. */
  readonly thread: "own" | "caller";
  /** How long a call may take, in ms. */
  readonly timeout?: number | undefined;
}

interface Call {
  readonly request: Request;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Takes the listener off the caller's signal. */
  readonly forget: () => void;
}

/** The way to the component of one store. */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #waiting: Call[] = [];
  #underWay: Call | undefined;
  #worker: Worker | undefined;
  #runner: Runner | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Calls a function of the component. Once a call has begun, aborting ends the wait for it and not the call itself. */
  call<I extends keyof Interfaces, N extends Name<I>>(
    of: I,
    name: N,
    given: Arguments<I, N>,
    signal?: AbortSignal,
  ): Promise<Result<I, N>> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      if (this.#closed) {
        reject(closed());
        return;
      }
      const abort = () => {
        const at = this.#waiting.indexOf(call);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal?.reason as Error);
      };
      const call: Call = {
        request: { interface: of, name, arguments: given as readonly unknown[] },
        resolve: resolve as (value: unknown) => void,
        reject,
        forget: () => signal?.removeEventListener("abort", abort),
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.push(call);
      this.#next();
    });
  }

  /** Ends the thread, after what was asked before. Later calls are refused. */
  async close(): Promise<void> {
    if (this.#closed) return;
    const last = this.#worker !== undefined || this.#runner !== undefined ? this.call("store", "close", []) : undefined;
    this.#closed = true;
    try {
      await last;
    } catch (error) {
      // Where nothing can be written there is nothing to write back.
      if (!(error instanceof ReadOnlyError)) throw error;
    } finally {
      const worker = this.#worker;
      this.#worker = undefined;
      this.#runner?.discard();
      this.#runner = undefined;
      await worker?.terminate();
    }
  }

  #next(): void {
    if (this.#underWay !== undefined) return;
    const call = this.#waiting.shift();
    if (call === undefined) return;
    this.#underWay = call;
    if (this.#options.thread === "caller") {
      this.#runner ??= new Runner(this.#options);
      this.#settle(this.#runner.run(call.request));
      return;
    }
    const worker = (this.#worker ??= this.#start());
    // While a call is under way the process stays; a store that only waits does not keep it.
    worker.ref();
    const { timeout } = this.#options;
    if (timeout !== undefined) {
      const why = `the call took longer than ${timeout} ms; it may have been carried out: repeat it with the same id`;
      this.#timer = setTimeout(
        () => this.#abandon(worker, new TimedOutError("timed-out", why, { limit: timeout })),
        timeout,
      );
    }
    worker.postMessage(call.request);
  }

  #start(): Worker {
    const { directory, readOnly = false, environment = {} } = this.#options;
    const start: Start = { directory, readOnly, environment, modules: compiled() };
    // Nothing of the process reaches the thread: not its environment, not its arguments, not its standard input.
    const worker = new Worker(new URL("./worker.js", import.meta.url), {
      workerData: start,
      env: {},
      argv: [],
      execArgv: [],
    });
    worker.on("message", (response: Response) => {
      if (worker === this.#worker) this.#settle(response);
    });
    const died = (why: string) => this.#abandon(worker, new CrashedError("crashed", why));
    worker.on("error", (error) => died(`the thread of the store failed: ${String(error)}`));
    worker.on("exit", (code) => died(`the thread of the store ended with ${code}`));
    worker.unref();
    return worker;
  }

  /** Gives a thread up: the next call gets a new one, which finds everything that was acknowledged. */
  #abandon(worker: Worker, error: TalktreeError): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    void worker.terminate();
    this.#finish((call) => call.reject(error));
  }

  #settle(response: Response): void {
    this.#finish((call) => {
      if (response.outcome === "done") call.resolve(response.value);
      else if (response.outcome === "refused") call.reject(toError(response.error));
      else {
        const why = `the component failed, and a new one takes its place: ${response.why}`;
        call.reject(new CrashedError("crashed", why));
      }
    });
  }

  #finish(settle: (call: Call) => void): void {
    clearTimeout(this.#timer);
    this.#worker?.unref();
    const call = this.#underWay;
    this.#underWay = undefined;
    if (call !== undefined) {
      call.forget();
      settle(call);
    }
    this.#next();
  }
}

function closed(): ClosedError {
  return new ClosedError("closed", "the store was closed; open it again");
}
