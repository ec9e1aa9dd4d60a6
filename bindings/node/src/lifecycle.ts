/**
 * What `agents/sessions` needs of `agents/lifecycle`, for a process instead of a Durable Object: an object is given a
 * store, and the capabilities that are installed on it share the store.
 *
 * There are no alarms, no jobs, no routing and no handlers of requests: those belong to that platform.
 */
import { NotConfiguredError } from "./errors.js";
import { Talktree, type OpenOptions } from "./talktree.js";

/** What a capability gets. */
export interface LifecycleServices {
  /** The store of the object. It is there once `ready` has been awaited. */
  readonly store: Talktree;
  /** Starts the object, if that has not been done. */
  ready(): Promise<void>;
}

/** Something durable that is installed on an object. */
export abstract class LifecycleCapability {
  /** Names it among the capabilities of an object. */
  readonly capabilityId: string;
  #services: LifecycleServices | undefined;

  constructor(id: string) {
    this.capabilityId = id;
  }

  /** What the object gives it. @throws before `use` */
  protected get lifecycle(): LifecycleServices {
    if (this.#services === undefined) {
      throw new NotConfiguredError(
        "not-configured",
        `install "${this.capabilityId}" with Lifecycle.use() before it is used`,
      );
    }
    return this.#services;
  }

  /** Called by `Lifecycle.use`. */
  install(services: LifecycleServices): void {
    this.#services = services;
  }

  /** Called once, before the object does anything. */
  onStart?(): void | Promise<void>;

  /** Lets go of what it holds. */
  dispose?(): void | Promise<void>;
}

/** What is looked at of the object: its members may be protected. */
interface Host {
  readonly ctx?: { readonly storage?: { readonly directory?: unknown } };
  onStart?(): void | Promise<void>;
}

/** Where the store of an object is. */
export interface LifecycleOptions extends OpenOptions {
  /** A store that is open already; it stays open when the object is disposed of. */
  readonly store?: Talktree;
  /** The directory of the store; by default `host.ctx.storage.directory`. */
  readonly directory?: string;
}

/** Puts capabilities together with the object that they are installed on, which is any object. */
export class Lifecycle {
  readonly #host: Host;
  readonly #options: LifecycleOptions;
  readonly #capabilities: LifecycleCapability[] = [];
  #store: Talktree | undefined;
  #starting: Promise<void> | undefined;
  #started = false;

  constructor(host: object, options: LifecycleOptions = {}) {
    this.#host = host;
    this.#options = options;
  }

  /** The lifecycle of an object. */
  static install(host: object, options: LifecycleOptions = {}): Lifecycle {
    return new Lifecycle(host, options);
  }

  /** Installs a capability. */
  use(capability: LifecycleCapability): this {
    if (this.#starting !== undefined) throw new Error("capabilities are installed before the object starts");
    const lifecycle = this;
    capability.install({
      get store() {
        return lifecycle.store;
      },
      ready: () => (this.#inStart ? Promise.resolve() : this.start()),
    });
    this.#capabilities.push(capability);
    return this;
  }

  /** The store of the object. @throws before `start` */
  get store(): Talktree {
    if (this.#store === undefined) throw new NotConfiguredError("not-configured", "await lifecycle.start() first");
    return this.#store;
  }

  /** Opens the store, then calls `onStart` of the capabilities in order and of the object. A failed start can be repeated. */
  start(): Promise<void> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  isStarted(): boolean {
    return this.#started;
  }

  /** Disposes of the capabilities in reverse, and closes the store unless it was given. */
  async dispose(): Promise<void> {
    for (const capability of this.#capabilities.toReversed()) await capability.dispose?.();
    if (this.#options.store === undefined) await this.#store?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** What runs inside `start` must not wait for its end. */
  #inStart = false;

  async #start(): Promise<void> {
    this.#store ??= this.#options.store ?? (await Talktree.open(this.#directory(), this.#options));
    this.#inStart = true;
    try {
      for (const capability of this.#capabilities) await capability.onStart?.();
      await this.#host.onStart?.();
    } finally {
      this.#inStart = false;
    }
    this.#started = true;
  }

  #directory(): string {
    const directory = this.#options.directory ?? this.#host.ctx?.storage?.directory;
    if (typeof directory === "string" && directory !== "") return directory;
    const why = "no directory for the store: give Lifecycle one, or an object whose ctx.storage.directory says it";
    throw new NotConfiguredError("not-configured", why, { subject: "directory" });
  }
}
