/** From pages with cursors to async iterables. */

/** A page and where the next one begins. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: string | undefined;
}

/** The pages that are not empty, fetched as they are asked for. */
export async function* pages<T>(
  fetch: (cursor: string | undefined) => Promise<Page<T>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly T[], void, undefined> {
  let cursor: string | undefined;
  do {
    signal?.throwIfAborted();
    const page = await fetch(cursor);
    if (page.items.length > 0) yield page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Their items, one by one. */
export async function* items<T>(
  source: AsyncIterable<readonly T[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  for await (const page of source) {
    for (const item of page) {
      signal?.throwIfAborted();
      yield item;
    }
  }
}

/** All items, each as the function makes it. */
export async function collect<T, U>(source: AsyncIterable<T>, make: (item: T) => U): Promise<U[]> {
  const all: U[] = [];
  for await (const item of source) all.push(make(item));
  return all;
}
