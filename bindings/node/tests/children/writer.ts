/** Appends messages until it is killed, and says of each on its standard output when it was acknowledged. */
import { writeSync } from "node:fs";

import { Talktree } from "talktree";

const [directory = "", prefix = ""] = process.argv.slice(2);
const talktree = await Talktree.open(directory);
const session = talktree.session();
for (let at = 0; ; at += 1) {
  const id = `${prefix}${at}`;
  const { inserted } = await session.appendMessage({
    id,
    role: "user",
    parts: [{ type: "text", text: "words ".repeat(50) }],
  });
  if (inserted) writeSync(1, `${id}\n`);
}
