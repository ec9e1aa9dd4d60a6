// Makes a component of a JavaScript file: node componentize.mjs SOURCE WIT-DIRECTORY WORLD OUT
import { writeFile } from "node:fs/promises";
import { componentize } from "@bytecodealliance/componentize-js";

const [sourcePath, witPath, worldName, out] = process.argv.slice(2);
const { component } = await componentize({ sourcePath, witPath, worldName });
await writeFile(out, component);
