/** The thread of one store: waits for calls, carries them out, answers. */
import { parentPort, workerData, type MessagePort } from "node:worker_threads";

import { adopt } from "./instance.js";
import type { Request, Response, Start } from "./protocol.js";
import { Runner } from "./runner.js";

const start = workerData as Start;
const port = parentPort as MessagePort;

adopt(start.modules);
const runner = new Runner(start);
port.on("message", (request: Request) => {
  const response = runner.run(request);
  port.postMessage(response, buffersOf(response));
});

/** Long runs of bytes are handed over instead of copied: they are the thread's own. */
function buffersOf(response: Response): ArrayBuffer[] {
  if (response.outcome !== "done" || typeof response.value !== "object" || response.value === null) return [];
  const data = (response.value as { data?: unknown }).data;
  return data instanceof Uint8Array && data.byteLength === data.buffer.byteLength ? [data.buffer as ArrayBuffer] : [];
}
