/** What the thread of a store and the one that uses it say to each other. */
import type { RawError } from "../errors.js";
import type { Context, Store } from "./instance.js";

/** The functions of the component. */
export interface Interfaces {
  store: Store;
  context: Context;
}

/** The names of an interface's functions. */
export type Name<I extends keyof Interfaces> = keyof Interfaces[I] & string;
/** What a function takes. */
export type Arguments<I extends keyof Interfaces, N extends Name<I>> = Interfaces[I][N] extends (
  ...given: infer A
) => unknown
  ? A
  : never;
/** What it answers. */
export type Result<I extends keyof Interfaces, N extends Name<I>> = Interfaces[I][N] extends (
  ...given: never[]
) => infer R
  ? R
  : never;

/** What a thread is started with. */
export interface Start {
  readonly directory: string;
  readonly readOnly: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly modules: ReadonlyMap<string, WebAssembly.Module>;
}

/** One call. */
export interface Request {
  readonly interface: keyof Interfaces;
  readonly name: string;
  readonly arguments: readonly unknown[];
}

/** What became of it. */
export type Response =
  | { readonly outcome: "done"; readonly value: unknown }
  /** The component refused it. */
  | { readonly outcome: "refused"; readonly error: RawError }
  /** The component failed; its instance was discarded. */
  | { readonly outcome: "crashed"; readonly why: string };
