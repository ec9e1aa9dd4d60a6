/** Talktree: `talktree rpc` as a child process, asked call by call. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";

import type { Json, JsonObject } from "./json.ts";

/** An error that Talktree answered with. */
export class Refusal extends Error {
  /** One of the names in the WIT, or `params` for a request that is not understood. */
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

interface Answer {
  result?: JsonObject;
  error?: { message: string; data?: { kind: string } };
}

export class Program {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  #id = 0;

  constructor(program: string, root: string) {
    this.#child = spawn(program, ["rpc", "--root", root, "--durability", "normal"], {
      stdio: ["pipe", "pipe", "inherit"],
    }) as unknown as ChildProcessWithoutNullStreams;
    this.#child.on("error", (error) => this.#fail(new Error(`${program} does not start: ${error.message}`)));
    this.#child.on("close", (code) => this.#fail(new Error(`talktree ended with ${String(code)}`)));
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#waiting.shift()?.resolve(line));
  }

  async call(method: string, params: { [key: string]: unknown }): Promise<JsonObject> {
    const request = { jsonrpc: "2.0", id: (this.#id += 1), method, params };
    const line = await new Promise<string>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    });
    const { result, error } = JSON.parse(line) as Answer;
    if (error !== undefined) throw new Refusal(error.data?.kind ?? "params", `${method}: ${error.message}`);
    return result ?? {};
  }

  /** The items of all pages of a method. */
  async pages(method: string, params: { [key: string]: unknown }, items: string): Promise<Json[][]> {
    const pages: Json[][] = [];
    let cursor: Json | undefined;
    do {
      const page = await this.call(method, cursor === undefined ? params : { ...params, cursor });
      const list = page[items] as Json[];
      if (list.length > 0) pages.push(list);
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    return pages;
  }

  async end(): Promise<void> {
    this.#child.removeAllListeners("close");
    const closed = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.stdin.end();
    await closed;
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
