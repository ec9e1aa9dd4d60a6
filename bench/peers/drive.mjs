// What the drivers in Node share: commands on stdin, a line of figures for each on stdout (see README.md).
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** Carries out the commands on the store in the directory that the command line names. */
export async function run(open) {
  const [directory, file] = process.argv.slice(2);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const message = (number) => JSON.parse(lines[number]);
  const messages = (command) => lines.slice(command.from, command.from + command.count).map((line) => JSON.parse(line));
  const peer = await open(directory);
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    let answer = {};
    if (command.do === "fill") await peer.fill(messages(command));
    else if (command.do === "append") answer = await peer.append(messages(command), command.max_ms);
    else if (command.do === "fork") answer = await peer.fork(message(command.under).id, message(command.message));
    else if (command.do === "reopen") {
      const given = command.from === undefined ? undefined : message(command.from);
      answer = await peer.reopen(command.then, command, given);
    } else if (command.do === "close") await peer.close();
    else if (command.do === "peak") answer = { mib: peak(peer.process ?? process.pid) };
    else answer = await peer.read(command.do, command);
    console.log(JSON.stringify(answer));
  }
  await peer.close();
}

/** The most memory that a process has had, in MiB. */
function peak(pid) {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

/** What a person reads of a message, to look for words by hand. */
export const textOf = (parts) =>
  parts
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join(" ")
    .toLowerCase();
