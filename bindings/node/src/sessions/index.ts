/**
 * `agents/sessions`, over this package: programs that use it keep their lines. What differs on purpose is listed in the
 * README.
 *
 * @module
 */
import { LifecycleCapability } from "../lifecycle.js";
import type { Session as Inner } from "../session.js";
import { Session, type SessionHost } from "./session.js";
import type { SessionChangeEvent, SessionChangeListener, SessionsOptions } from "./types.js";

export { COMPACTION_PREFIX, createCompactFunction, isCompactionMessage } from "./compact-function.js";
export { Session } from "./session.js";
export type * from "./types.js";

/** The conversations of one object. */
export class Sessions extends LifecycleCapability {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #listeners = new Set<SessionChangeListener>();
  readonly #host: SessionHost;

  constructor(options: SessionsOptions = {}) {
    super("sessions");
    this.#options = options;
    this.#host = {
      open: (sessionId) => this.#open(sessionId),
      isObserved: () => this.#listeners.size > 0,
      dispatch: (event) => this.#dispatch(event),
      subscribe: (listener) => this.subscribe(listener),
    };
  }

  /** Called when the object starts. */
  override async onStart(): Promise<void> {
    const { reservedMetadataKeys } = this.#options;
    if (reservedMetadataKeys !== undefined) await this.lifecycle.store.configure({ reservedMetadataKeys });
  }

  /** The handle of a session; the same id is the same handle. */
  session(sessionId = ""): Session {
    let session = this.#sessions.get(sessionId);
    if (session === undefined) {
      session = new Session(this.#host, sessionId);
      this.#sessions.set(sessionId, session);
    }
    return session;
  }

  /**
   * Calls a function after each write through these handles, one listener after the other. What it throws is a warning of
   * the process: the write has happened. Answers how to end it.
   */
  subscribe(listener: SessionChangeListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  async #open(sessionId: string): Promise<Inner> {
    const { lifecycle } = this;
    await lifecycle.ready();
    return lifecycle.store.session(sessionId);
  }

  async #dispatch(event: SessionChangeEvent): Promise<void> {
    for (const listener of [...this.#listeners]) {
      try {
        await listener(event);
      } catch (error) {
        process.emitWarning(`a listener failed at "${event.type}": ${String(error)}`, "TalktreeWarning");
      }
    }
  }
}
