/**
 * The component itself, with the types that jco makes from its WIT: numbers of 64 bits are `bigint`, times are
 * milliseconds, errors are thrown as objects `{ tag, val }`. Every call blocks the thread that makes
 * it. For everything else there is `talktree`.
 */
export { createInstance, type Context, type Instance, type InstanceOptions, type Store } from "./instance.js";
