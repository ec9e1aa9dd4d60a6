// Answers of a model, as they are made: the server's agent reads the history itself, so only the last message is sent.

import { Unauthorized } from "./connection.js";

/** Talks with the agent of the server. */
export class Chat {
  #query;
  #token;
  #stop = null;

  constructor(tenant, session, token) {
    this.#query = new URLSearchParams({ tenant, session });
    this.#token = token;
  }

  /** Whether the server has a model. */
  async isThere() {
    const response = await fetch("api/chat", { headers: this.#headers() });
    return response.status === 204;
  }

  /**
   * Has a message answered, below a parent where one is given. `onText` is told the whole text each time it grows, and the
   * id of the answer. Answers that id; null where it was broken off.
   */
  send(message, parentId, onText) {
    return this.#ask(parentId === undefined ? { message } : { message, parentId }, onText);
  }

  /** Has another answer made to the message that this one answers. */
  again(messageId, onText) {
    return this.#ask({ trigger: "regenerate-message", messageId }, onText);
  }

  /** Breaks the answer off. What there is of it is kept. */
  stop() {
    this.#stop?.abort();
  }

  #headers() {
    return this.#token ? { authorization: `Bearer ${this.#token}` } : {};
  }

  async #ask(body, onText) {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    try {
      const response = await fetch(`api/chat?${this.#query}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...this.#headers() },
        body: JSON.stringify(body),
        signal: stop.signal,
      });
      if (response.status === 401) throw new Unauthorized();
      if (!response.ok) throw new Error((await response.json()).error.message);
      return await read(response.body, onText);
    } catch (error) {
      if (!stop.signal.aborted) throw error;
      return null;
    } finally {
      if (this.#stop === stop) this.#stop = null;
    }
  }
}

/** Reads Server-Sent Events, and puts the texts in them together. Answers the id of the message that they are of. */
async function read(stream, onText) {
  let text = "";
  let rest = "";
  let id = null;
  for await (const piece of texts(stream)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const event = JSON.parse(line.slice("data: ".length));
      if (event.type === "error") throw new Error(event.errorText);
      if (event.type === "start") id = event.messageId;
      if (event.type === "text-start" && text !== "") text += "\n\n";
      if (event.type === "text-delta") text += event.delta;
      if (event.type === "tool-input-available") text += `\n\n*${event.toolName} …*\n\n`;
      onText(text, id);
    }
  }
  return id;
}

async function* texts(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
