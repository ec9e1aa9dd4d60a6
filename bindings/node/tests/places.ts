/** Directories and stores that go away with the test. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { Talktree, type MessageLike, type OpenOptions } from "talktree";

const cleanups = new WeakMap<TestContext, (() => Promise<unknown>)[]>();

/** Does something when the test has ended, last things first: a store is closed before its directory goes. */
export function later(test: TestContext, cleanup: () => Promise<unknown>): void {
  let list = cleanups.get(test);
  if (list === undefined) {
    const all: (() => Promise<unknown>)[] = (list = []);
    cleanups.set(test, all);
    test.after(async () => {
      for (const one of all.toReversed()) await one();
    });
  }
  list.push(cleanup);
}

export async function directory(test: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "talktree-node-"));
  later(test, () => rm(path, { recursive: true, force: true }));
  return path;
}

/** A store in a new directory. Syncs of the disk are left out where a test is not about them. */
export async function store(test: TestContext, options: OpenOptions = {}): Promise<Talktree> {
  const talktree = await Talktree.open(await directory(test), { durability: "normal", ...options });
  later(test, () => talktree.close());
  return talktree;
}

export interface Text extends MessageLike {
  parts: { type: "text"; text: string }[];
}

export function text(id: string, content = id, role = "user"): Text {
  return { id, role, parts: [{ type: "text", text: content }] };
}

/** All that an async iterable gives. */
export async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of source) list.push(item);
  return list;
}

export async function ids(source: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  return (await all(source)).map(({ id }) => id);
}
