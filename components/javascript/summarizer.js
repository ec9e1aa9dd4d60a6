// @ts-check
/**
 * A summarizer in JavaScript: a chat-completions server is asked with `fetch`.
 *
 * Environment of the component: `SUMMARIZER_URL` (up to and without `/chat/completions`), `SUMMARIZER_MODEL`, and
 * `SUMMARIZER_KEY` where the server wants one. Built with componentize-js and plugged into `sessions.wasm`; see
 * docs/composition.md.
 */
import { getEnvironment } from "wasi:cli/environment@0.2.4";

/**
 * @typedef {{ prompt: string, maxTokens: number, purpose: "compaction" | "title" }} SummaryRequest
 * @typedef {{ text: string, truncated: boolean, inputTokens?: number, outputTokens?: number }} Summary
 * @typedef {{ tag: "unavailable" | "rate-limited" | "too-long" | "other", val: string }} SummarizeError
 */

/**
 * What goes over the boundary as the error of a result.
 */
class Failure extends Error {
  /**
   * @param {SummarizeError["tag"]} tag
   * @param {string} message
   */
  constructor(tag, message) {
    super(message);
    /** @type {SummarizeError} */
    this.payload = { tag, val: message };
  }
}

/**
 * @param {Response} response
 * @returns {Promise<Failure>}
 */
async function failure(response) {
  const said = (await response.text()).slice(0, 300);
  const message = `the server answered ${response.status}: ${said}`;
  if (response.status === 429) {
    return new Failure("rate-limited", message);
  }
  if (response.status === 413 || said.includes("context_length")) {
    return new Failure("too-long", message);
  }
  return new Failure(response.status >= 500 ? "unavailable" : "other", message);
}

/**
 * @param {SummaryRequest} request
 * @returns {Promise<Summary>}
 */
async function summarize(request) {
  const environment = new Map(getEnvironment());
  const url = environment.get("SUMMARIZER_URL");
  if (!url) {
    throw new Failure("unavailable", "SUMMARIZER_URL names no server");
  }
  /** @type {Record<string, string>} */
  const headers = { "content-type": "application/json" };
  const key = environment.get("SUMMARIZER_KEY");
  if (key) {
    headers.authorization = `Bearer ${key}`;
  }
  const body = JSON.stringify({
    model: environment.get("SUMMARIZER_MODEL") ?? "default",
    max_completion_tokens: request.maxTokens,
    messages: [{ role: "user", content: request.prompt }],
  });
  let response;
  try {
    response = await fetch(`${url}/chat/completions`, { method: "POST", headers, body });
  } catch (error) {
    throw new Failure("unavailable", `no answer from the server: ${error}`);
  }
  if (!response.ok) {
    throw await failure(response);
  }
  const answer = await response.json();
  const choice = answer.choices?.[0];
  if (typeof choice?.message?.content !== "string") {
    throw new Failure("other", "there is no text in the server's answer");
  }
  return {
    text: choice.message.content,
    truncated: choice.finish_reason === "length",
    inputTokens: answer.usage?.prompt_tokens,
    outputTokens: answer.usage?.completion_tokens,
  };
}

export const summarizer = { summarize };
