/**
 * What `agents` needs of Cloudflare's runtime, in plain Node: the module `cloudflare:workers`, and an object's state with
 * its SQL, over `node:sqlite`. Node has to be given it with `--import`, so that it is there before `agents` is.
 */
import { registerHooks } from "node:module";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

const WORKERS = `
export class DurableObject { constructor(ctx, env) { this.ctx = ctx; this.env = env; } }
export class WorkerEntrypoint extends DurableObject {}
export class RpcTarget {}
export const env = {};
export const exports = {};
`;

registerHooks({
  resolve: (name, context, next) =>
    name.startsWith("cloudflare:") ? { url: name, shortCircuit: true } : next(name, context),
  load: (url, context, next) =>
    url.startsWith("cloudflare:") ? { format: "module", source: WORKERS, shortCircuit: true } : next(url, context),
});

type Value = null | string | number | bigint | boolean | ArrayBuffer;
type Row = Record<string, unknown>;

/** The state of one object: its name and its storage. */
export class ObjectState {
  readonly id = { name: "differential", toString: () => "differential" };
  readonly storage: ObjectStorage;

  constructor(database: DatabaseSync) {
    this.storage = new ObjectStorage(database);
  }

  waitUntil(work: Promise<unknown>): void {
    void work;
  }

  blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }
}

class ObjectStorage {
  readonly sql: { exec(query: string, ...values: Value[]): Iterable<Row> & { toArray(): Row[]; one(): Row } };
  readonly #database: DatabaseSync;
  readonly #entries = new Map<string, unknown>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.sql = { exec: (query, ...values) => this.#exec(query, values) };
  }

  transactionSync<T>(work: () => T): T {
    this.#database.exec("SAVEPOINT object");
    try {
      const result = work();
      this.#database.exec("RELEASE object");
      return result;
    } catch (error) {
      this.#database.exec("ROLLBACK TO object; RELEASE object");
      throw error;
    }
  }

  async get(key: string | string[]): Promise<unknown> {
    return Array.isArray(key) ? new Map(key.map((one) => [one, this.#entries.get(one)])) : this.#entries.get(key);
  }

  async put(key: string, value: unknown): Promise<void> {
    this.#entries.set(key, value);
  }

  async delete(key: string): Promise<boolean> {
    return this.#entries.delete(key);
  }

  async list(): Promise<Map<string, unknown>> {
    return new Map(this.#entries);
  }

  async getAlarm(): Promise<null> {
    return null;
  }

  async setAlarm(): Promise<void> {}

  async deleteAlarm(): Promise<void> {}

  async sync(): Promise<void> {}

  #exec(query: string, values: Value[]) {
    const given = values.map((value): SQLInputValue => {
      if (typeof value === "boolean") return value ? 1 : 0;
      return value instanceof ArrayBuffer ? new Uint8Array(value) : value;
    });
    const statement = this.#database.prepare(query);
    let rows: Row[] = [];
    let rowsWritten = 0;
    if (statement.columns().length > 0) rows = (statement.all(...given) as Row[]).map(withBuffers);
    // The rows that an index takes are not counted here; nothing but the number 0 is looked at.
    else rowsWritten = Number(statement.run(...given).changes);
    return Object.assign(rows, {
      toArray: () => rows,
      one: () => {
        const [row] = rows;
        if (row === undefined || rows.length > 1) throw new Error("expected exactly one row");
        return row;
      },
      columnNames: Object.keys(rows[0] ?? {}),
      rowsRead: rows.length,
      rowsWritten,
    });
  }
}

/** Bytes are an `ArrayBuffer` there. */
function withBuffers(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength) : value,
    ]),
  );
}

/** A new database in memory. */
export function newDatabase(): DatabaseSync {
  return new DatabaseSync(":memory:", { readBigInts: false });
}

/** SQL as a tag of a template, as an agent has it. */
export function tagged(database: DatabaseSync) {
  const { sql } = new ObjectState(database).storage;
  return (strings: TemplateStringsArray, ...values: Value[]): Row[] => sql.exec(strings.join("?"), ...values).toArray();
}
