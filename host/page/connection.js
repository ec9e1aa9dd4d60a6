// The connection to the server: JSON-RPC over one WebSocket, which is opened again by itself.

/** How long to wait before each next try, in milliseconds. */
const PAUSES = [250, 1000, 3000, 10000];

/** What a method answered that is no result. */
export class CallError extends Error {
  constructor(error) {
    super(error.message);
    this.code = error.code;
    this.kind = error.data?.kind;
  }
}

/** The token has to be asked for, or for another one. */
export class Unauthorized extends Error {}

/** All calls of this page, about one tenant. */
export class Connection {
  #tenant;
  #token;
  #onStatus;
  #socket = null;
  #opening = null;
  #tries = 0;
  #closed = false;
  #nextId = 1;
  #waiting = new Map();
  #subscription = null;

  /** `onStatus` is told `open`, `lost` or `unauthorized`. */
  constructor(tenant, token, onStatus) {
    this.#tenant = tenant;
    this.#token = token;
    this.#onStatus = onStatus;
  }

  /** Carries a method out. Calls that were under way when the connection was lost fail; reads are asked again. */
  async call(method, params = {}) {
    for (let attempt = 0; ; attempt += 1) {
      const socket = await this.#open();
      try {
        return await this.#send(socket, method, params);
      } catch (error) {
        if (!(error instanceof Lost) || attempt > 1 || !isRead(method)) throw error;
      }
    }
  }

  /** Has `listener` told each event from now on: `{event}`, or `{reset: true}` when some were missed. */
  async follow(listener) {
    this.#subscription = { listener, cursor: null, number: null };
    await this.#subscribe(await this.#open());
  }

  /** Sends one request with a large body by POST; `signal` breaks it off. */
  async post(method, params, signal) {
    const response = await fetch("rpc", {
      signal,
      method: "POST",
      headers: { "content-type": "application/json", ...this.#authorization() },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { tenant: this.#tenant, ...params } }),
    });
    if (response.status === 401) throw new Unauthorized();
    const answer = await response.json();
    if (answer.error) throw new CallError(answer.error);
    return answer.result;
  }

  /** Ends it. */
  close() {
    this.#closed = true;
    this.#socket?.close(1000);
    this.#lost();
  }

  #authorization() {
    return this.#token ? { authorization: `Bearer ${this.#token}` } : {};
  }

  #open() {
    if (this.#closed) return Promise.reject(new Lost());
    if (this.#socket?.readyState === WebSocket.OPEN) return Promise.resolve(this.#socket);
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #connect() {
    for (;;) {
      // A WebSocket does not say why it was refused; a request does.
      const response = await fetch("rpc", {
        method: "POST",
        headers: { "content-type": "application/json", ...this.#authorization() },
        body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      }).catch(() => null);
      if (response?.status === 401) {
        this.#onStatus("unauthorized");
        throw new Unauthorized();
      }
      const socket = response?.ok ? await this.#dial() : null;
      if (socket) return socket;
      if (this.#closed) throw new Lost();
      this.#onStatus("lost");
      await new Promise((done) => setTimeout(done, PAUSES[Math.min(this.#tries, PAUSES.length - 1)]));
      this.#tries += 1;
    }
  }

  #dial() {
    const address = new URL("rpc", document.baseURI);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    address.search = new URLSearchParams({ tenant: this.#tenant });
    const protocols = this.#token ? ["talktree", `bearer.${this.#token}`] : ["talktree"];
    return new Promise((done) => {
      const socket = new WebSocket(address, protocols);
      socket.onopen = () => {
        this.#socket = socket;
        this.#tries = 0;
        this.#onStatus("open");
        if (this.#subscription) this.#subscribe(socket).catch(() => socket.close());
        done(socket);
      };
      socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
      socket.onclose = () => {
        if (this.#socket === socket) {
          this.#socket = null;
          this.#lost();
          if (!this.#closed) {
            this.#onStatus("lost");
            // Events go on to be told without anybody asking for something.
            if (this.#subscription) this.#open().catch(() => undefined);
          }
        }
        done(null);
      };
    });
  }

  #send(socket, method, params) {
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  async #subscribe(socket) {
    const subscription = this.#subscription;
    const cursor = subscription.cursor ?? undefined;
    const answer = await this.#send(socket, "subscribe", cursor === undefined ? {} : { cursor });
    subscription.number = answer.subscription;
    subscription.cursor ??= answer.cursor;
  }

  #receive(message) {
    if (message.method === "event") {
      this.#tell(message.params);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error) waiting?.reject(new CallError(message.error));
    else waiting?.resolve(message.result);
  }

  #tell({ event, reset, cursor, error }) {
    const subscription = this.#subscription;
    if (!subscription) return;
    if (error) {
      this.#socket?.close();
      return;
    }
    subscription.cursor = event?.cursor ?? cursor ?? subscription.cursor;
    subscription.listener(reset ? { reset: true } : { event });
  }

  #lost() {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Lost());
  }
}

class Lost extends Error {
  constructor() {
    super("The connection was lost. What you did last may have been stored: look before you do it again.");
  }
}

function isRead(method) {
  return /^(get|list|read|search|session|block|tools|ping|stats)/.test(method);
}
