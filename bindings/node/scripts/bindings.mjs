// Makes dist/bindings from the component: JavaScript that loads it, its core modules, and TypeScript types of its WIT.
//
//   node scripts/bindings.mjs ../../target/talktree/sessions.wasm [OUTPUT]
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { transpile } from "@bytecodealliance/jco-transpile";

const [component, output = join(dirname(fileURLToPath(import.meta.url)), "..", "dist", "bindings")] =
  process.argv.slice(2);
if (component === undefined) {
  console.error(
    "usage: node scripts/bindings.mjs COMPONENT [OUTPUT]\n\nCOMPONENT is sessions.wasm, made by `cargo xtask guest`.",
  );
  process.exit(2);
}
const { files } = await transpile(component, {
  name: "sessions",
  outDir: output,
  // The core module is compiled once for all stores of a process, and each store is an instance of its own.
  instantiation: "sync",
  // Every import is given by src/wasi: nothing of a shim is needed at run time.
  wasiShim: false,
  nodejsCompat: false,
  base64Cutoff: 0,
  minify: true,
});
// Two things cost more than all the rest of what jco generates, and are taken out:
// - Each failing call of a function that Node 20 does not have takes 60 ms in a function as long as this one, since the
//   text of its error is made from the source; there are thirty. Nothing here suspends, so none of them is ever used.
// - What is logged for jco's own debugging is put together for each call, dozens of times, and then dropped.
const loader = Object.keys(files).find((name) => basename(name) === "sessions.js");
const source = new TextDecoder()
  .decode(files[loader])
  .replaceAll("WebAssembly.promising(", "promising(")
  .replaceAll("_debugLog(", "0&&_debugLog(");
files[loader] = new TextEncoder().encode(`const promising = (given) => given;\n${source}`);

await rm(output, { recursive: true, force: true });
let bytes = 0;
for (const [name, content] of Object.entries(files)) {
  const path = resolve(name);
  if (relative(resolve(output), path).startsWith(".."))
    throw new Error(`jco wants to write outside of ${output}: ${name}`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  bytes += content.length;
}
console.log(`${basename(component)}: ${Object.keys(files).length} files, ${bytes} bytes in ${output}`);
