// Runs the compiled tests under Node's own runner, with the stand-ins in the place of the modules of the other platform.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(fileURLToPath(import.meta.url)), "dist");
const wanted = process.argv.slice(2);
const files = readdirSync(dist).filter(
  (name) => name.endsWith(".test.js") && (wanted.length === 0 || wanted.some((word) => name.includes(word))),
);
if (files.length === 0) {
  console.error("no tests: run `npm test`, which compiles them");
  process.exit(2);
}
const hook = new URL("./dist/stand-ins/register.js", import.meta.url).href;
const paths = files.map((name) => join(dist, name));
const { status } = spawnSync(process.execPath, ["--import", hook, "--test", ...paths], { stdio: "inherit" });
process.exit(status ?? 1);
