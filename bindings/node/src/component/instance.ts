/** One instance of the component over one directory, in the thread that made it. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

import { instantiate, type ImportObject, type Root } from "#bindings";
import type { Summary, SummaryRequest } from "#bindings/talktree-sessions-summarizer";

import { filesystem } from "../wasi/filesystem.js";
import { system } from "../wasi/system.js";

/** The functions of `talktree:sessions/store`, as the bindings have them. */
export type Store = Root["store"];
/** The functions of `talktree:sessions/context`, as the bindings have them. */
export type Context = Root["context"];

/** What an instance is made with. */
export interface InstanceOptions {
  /** The one directory that it sees. */
  readonly directory: string;
  /** Whether every change is refused. */
  readonly readOnly?: boolean;
  /** Environment variables, as `wit/world.wit` lists them. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The model behind `compact` of the component itself; without one it answers `unavailable`. */
  readonly summarize?: (request: SummaryRequest) => Summary;
}

/** An instance. */
export interface Instance {
  /** `talktree:sessions/store`. */
  readonly store: Store;
  /** `talktree:sessions/context`. */
  readonly context: Context;
  /** What it said on its error stream since it was asked last. */
  lastWords(): string;
  /** Closes the files that it still has open. It must not be called afterwards. */
  discard(): void;
}

const modules = new Map<string, WebAssembly.Module>();

/** The large one; the others are a few hundred bytes each. */
const MAIN_MODULE = "sessions.core.wasm";

const location = (name: string) => new URL(`../bindings/${name}`, import.meta.url);

/** The core modules of the component, compiled once a process. */
function coreModule(name: string): WebAssembly.Module {
  let module = modules.get(name);
  if (module === undefined) {
    module = new WebAssembly.Module(readFileSync(location(name)));
    modules.set(name, module);
  }
  return module;
}

/** Compiles the component, if that has not been done, without holding the event loop up. */
export async function compile(): Promise<void> {
  if (!modules.has(MAIN_MODULE))
    modules.set(MAIN_MODULE, await WebAssembly.compile(await readFile(location(MAIN_MODULE))));
}

/** The modules that are compiled, for another thread to begin with. */
export function compiled(): ReadonlyMap<string, WebAssembly.Module> {
  return modules;
}

/** Takes over what another thread has compiled. */
export function adopt(others: ReadonlyMap<string, WebAssembly.Module>): void {
  for (const [name, module] of others) modules.set(name, module);
}

/** Makes an instance. */
export function createInstance(options: InstanceOptions): Instance {
  const files = filesystem(options.directory, options.readOnly ?? false);
  const rest = system(options.environment ?? {});
  const summarize =
    options.summarize ??
    (() => {
      throw { tag: "unavailable", val: "this instance has no summarizer" };
    });
  // The bindings look imports up without versions, while their types carry the versions of the component.
  const imports = {
    ...files.imports,
    ...rest.imports,
    "talktree:sessions/summarizer": { summarize },
  } as unknown as ImportObject;
  const root = instantiate(coreModule, imports);
  return { store: root.store, context: root.context, lastWords: rest.lastWords, discard: files.close };
}
