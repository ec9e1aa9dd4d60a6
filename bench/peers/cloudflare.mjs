// Cloudflare's Sessions in workerd: an object in a process of its own, called over HTTP. The time of a request that does
// nothing is taken off, so what is told is what the object takes; it cannot read a clock itself.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { join, resolve } from "node:path";
import { createServer } from "node:net";
import { build } from "esbuild";
import workerd from "workerd";
import { run } from "./drive.mjs";

const bundle = async (file) =>
  build({
    entryPoints: [join(import.meta.dirname, "cloudflare_object.mjs")],
    outfile: file,
    bundle: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "error",
  });

const configuration = (disk, port) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "disk", disk = (path = ${JSON.stringify(disk)}, writable = true)),
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.mjs")],
      compatibilityDate = "2026-10-01",
      durableObjectNamespaces = [(className = "Conversation", uniqueKey = "peer", enableSql = true)],
      durableObjectStorage = (localDisk = "disk"),
      bindings = [(name = "conversations", durableObjectNamespace = "Conversation")],
    )),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

class Cloudflare {
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  static async open(directory) {
    const cloudflare = new Cloudflare();
    const disk = resolve(directory, "disk");
    const program = resolve(`${directory}-workerd`);
    mkdirSync(disk, { recursive: true });
    mkdirSync(program, { recursive: true });
    await bundle(join(program, "worker.mjs"));
    cloudflare.port = await freePort();
    writeFileSync(join(program, "config.capnp"), configuration(disk, cloudflare.port));
    const child = spawn(workerd.default ?? workerd, ["serve", join(program, "config.capnp")], {
      stdio: ["ignore", "inherit", "pipe"],
    });
    // What it says about an object that was made to leave is expected.
    child.stderr.on("data", (said) => String(said).includes("leave") || process.stderr.write(said));
    cloudflare.child = child;
    cloudflare.process = child.pid;
    // Also where nobody reads the answers any more.
    process.once("exit", () => child.kill());
    for (let attempt = 0; ; attempt++) {
      try {
        await cloudflare.#call("nothing");
        break;
      } catch (error) {
        if (attempt === 100) throw error;
        await new Promise((done) => setTimeout(done, 100));
      }
    }
    return cloudflare;
  }

  #call(what, options) {
    return new Promise((done, failed) => {
      const call = httpRequest({ port: this.port, host: "127.0.0.1", method: "POST", agent: this.#agent }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (piece) => (text += piece));
        answer.on("error", failed);
        answer.on("end", () => {
          if (answer.statusCode === 200) done(JSON.parse(text));
          else failed(new Error(`${answer.statusCode} ${text}`));
        });
      });
      call.on("error", failed);
      call.end(JSON.stringify({ what, options }));
    });
  }

  async #timed(what, options) {
    const start = performance.now();
    const count = await this.#call(what, options);
    return { ms: performance.now() - start, count };
  }

  /** What a request takes by itself. */
  async #request() {
    const times = [];
    for (let i = 0; i < 21; i++) times.push((await this.#timed("nothing")).ms);
    return times.sort((a, b) => a - b)[10];
  }

  async #net(what, options) {
    const request = await this.#request();
    const { ms, count } = await this.#timed(what, options);
    return { ms: Math.max(0, ms - request), count };
  }

  async fill(messages) {
    for (let at = 0; at < messages.length; at += 500) {
      await this.#call("give", messages.slice(at, at + 500));
      await this.#call("fill");
    }
  }

  async append(messages) {
    await this.#call("give", messages);
    return this.#net("append");
  }

  async fork(parent, message) {
    await this.#call("give", [message]);
    const { ms: append_ms } = await this.#net("fork", parent);
    const { ms: read_ms, count } = await this.#net("history", message.id);
    return { append_ms, read_ms, count };
  }

  read(what, command) {
    return this.#net(what, { recent: command.bytes, search: command.query, hits: command.query }[what]);
  }

  async reopen(then, command, message) {
    const request = await this.#request();
    await this.#call("leave").catch(() => {});
    // The message has to get there, too: it is so small that it does not matter.
    const { ms, count } =
      then === "append" ? await this.#timed("appendGiven", message) : await this.#timed(then, command.bytes);
    return { ms: Math.max(0, ms - request), count };
  }

  close() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    return new Promise((done) => {
      this.child.once("exit", done);
      this.child.kill("SIGTERM");
    });
  }
}

await run(Cloudflare.open);
