/** Carries calls out on one instance, and makes a new one after a failure. */
import type { RawError } from "../errors.js";
import { createInstance, type Instance, type InstanceOptions } from "./instance.js";
import type { Request, Response } from "./protocol.js";

/** Runs calls one after the other. */
export class Runner {
  readonly #options: InstanceOptions;
  #instance: Instance | undefined;

  constructor(options: InstanceOptions) {
    this.#options = options;
  }

  run(request: Request): Response {
    try {
      this.#instance ??= createInstance(this.#options);
      const functions = this.#instance[request.interface] as unknown as Record<
        string,
        (...given: readonly unknown[]) => unknown
      >;
      const call = functions[request.name];
      if (call === undefined) throw new TypeError(`the component has no function ${request.interface}.${request.name}`);
      return { outcome: "done", value: call(...request.arguments) };
    } catch (error) {
      const payload = payloadOf(error);
      if (payload !== undefined) return { outcome: "refused", error: payload };
      // What was lent to a failed instance is in no known state: it is never called again.
      const said = this.#instance?.lastWords().trim();
      this.discard();
      const why = error instanceof Error ? error.message : String(error);
      return { outcome: "crashed", why: said === undefined || said === "" ? why : `${why}: ${said}` };
    }
  }

  discard(): void {
    this.#instance?.discard();
    this.#instance = undefined;
  }
}

/** What the component answered as its error, which the bindings throw as it is; nothing, if it came to no answer. */
function payloadOf(error: unknown): RawError | undefined {
  if (error instanceof Error || typeof error !== "object" || error === null) return undefined;
  return "tag" in error && "val" in error ? (error as RawError) : undefined;
}
