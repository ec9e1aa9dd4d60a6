/**
 * Looks whether a program that locks its stores has this one. Node itself has no locks of files: what can be done is to
 * look, where the operating system shows the locks of others, which is Linux.
 */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import { BusyError } from "./errors.js";

/** The file that the program `talktree` and the Python package lock: exclusively, or together with others who take turns. */
const LOCK_FILE = "lock";

/** Refuses a store that another program has for itself, or, where it is wanted `alone`, that others have at all. */
export async function requireUnlocked(directory: string, alone: boolean): Promise<void> {
  const locks = await readFile("/proc/locks", "utf8").catch(() => "");
  const file = locks === "" ? undefined : await stat(join(directory, LOCK_FILE)).catch(() => undefined);
  if (file === undefined) return;
  // "1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF": the last part of the third-last word is the file's number.
  const held = locks.split("\n").some((line) => {
    const [, kind, , mode, , place] = line.trim().split(/\s+/);
    return kind === "FLOCK" && place?.split(":")[2] === String(file.ino) && (alone || mode === "WRITE");
  });
  if (!held) return;
  const why = `another program has the store in ${directory} for itself: end it, or let it answer your calls`;
  throw new BusyError("busy", why, { subject: directory });
}
