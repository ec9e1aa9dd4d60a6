/** Puts the stand-ins in the place of the modules that programs for the other platform import. */
import { register } from "node:module";

register(new URL("./resolve.js", import.meta.url));
