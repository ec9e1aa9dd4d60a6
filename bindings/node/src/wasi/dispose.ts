/** What the bindings call when the component drops a resource: the same symbol that they look for. */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for("dispose") as typeof Symbol.dispose);
