// Transcripts in files and archives, cut into pieces that are sent one after the other: so a large export shows how far it
// has come, can be broken off, and never is in memory as a whole. What cannot be cut without loss is one piece.

import { entriesOf, isArchive } from "./archive.js";

/** Characters of a piece, about. */
const PIECE = 1 << 20;

/** Characters at the start that tell what can be cut. */
const HEAD = 1 << 16;

/** Characters of what cannot be cut: a request takes no more. */
const LARGEST = 120 << 20;

/** What of a file may hold conversations, in an archive. */
const ENDING = /\.jsonl?$/i;

/**
 * The transcripts of a file: `{name, size, stream()}`, where `size` is in bytes of the text. Of an archive, the entries whose
 * names end as those of transcripts do.
 */
export async function transcriptsOf(file) {
  if (!(await isArchive(file))) return [{ name: file.name, size: file.size, inArchive: false, stream: async () => file.stream() }];
  const entries = (await entriesOf(file)).filter(({ name, size }) => ENDING.test(name) && size > 2);
  if (entries.length === 0) throw new Error("there is no .json or .jsonl file in this archive");
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, size, stream }) => ({ name: name.split("/").pop(), size, inArchive: true, stream }));
}

/** The pieces of a transcript, each a whole text of its format: `{text, bytes, unnamed}`. */
export async function* piecesOf(stream) {
  const bytes = { read: 0 };
  let cutter = null;
  let head = "";
  for await (const text of texts(stream, bytes)) {
    if (cutter) {
      yield* told(cutter.take(text), cutter, bytes);
      continue;
    }
    head += text;
    if (head.length < HEAD) continue;
    cutter = cutterFor(head);
    yield* told(cutter.take(head), cutter, bytes);
  }
  if (!cutter) {
    cutter = cutterFor(head);
    yield* told(cutter.take(head), cutter, bytes);
  }
  yield* told(cutter.end(), cutter, bytes);
}

function* told(pieces, { unnamed }, bytes) {
  for (const text of pieces) if (text.trim() !== "") yield { text, bytes: bytes.read, unnamed };
}

async function* texts(stream, bytes) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes.read += value.length;
    yield decoder.decode(value, { stream: true });
  }
  yield decoder.decode();
}

function cutterFor(head) {
  if (/^\s*\[/.test(head) && /"(?:mapping|chat_messages)"/.test(head)) return new Elements();
  if (/^\s*\{"type":"talktree"/.test(head)) return new Lines();
  // Messages alone, without a session around them, are given the name of their file.
  return new Whole(/^\s*(?:\[|\{\s*"(?:id|role|parts|content|messages)")/.test(head));
}

/** What is one piece. */
class Whole {
  #parts = [];
  #length = 0;

  constructor(unnamed) {
    this.unnamed = unnamed;
  }

  take(text) {
    this.#length += text.length;
    if (this.#length > LARGEST) throw new Error("it is too large to be sent at once; the command line takes it: talktree import");
    this.#parts.push(text);
    return [];
  }

  end() {
    return [this.#parts.join("")];
  }
}

/** Lines that each stand alone. */
class Lines {
  unnamed = false;
  #rest = "";

  take(text) {
    this.#rest += text;
    const end = this.#rest.lastIndexOf("\n") + 1;
    if (end < PIECE) return [];
    const piece = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end);
    return [piece];
  }

  end() {
    return [this.#rest];
  }
}

/** The elements of a list: conversations, of which each is whole by itself. */
class Elements {
  unnamed = false;
  #pieces = [];
  #parts = [];
  #length = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  take(text) {
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (code === 0x5c) this.#escaped = true;
        else if (code === 0x22) this.#inString = false;
      } else if (code === 0x22) this.#inString = true;
      else if (code === 0x5b || code === 0x7b) this.#depth += 1;
      else if (code === 0x5d || code === 0x7d) {
        this.#depth -= 1;
        if (this.#depth !== 1 || this.#length + at - from < PIECE) continue;
        this.#parts.push(text.slice(from, at + 1));
        this.#cut("]");
        from = at + 1;
      }
    }
    this.#parts.push(text.slice(from));
    this.#length += text.length - from;
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  end() {
    this.#cut("");
    return this.#pieces;
  }

  /** The list goes on in the next piece, behind its comma. */
  #cut(end) {
    const text = this.#parts.join("").replace(/^\s*,/, "[");
    this.#parts = [];
    this.#length = 0;
    if (text.trim() !== "]") this.#pieces.push(text + end);
  }
}
