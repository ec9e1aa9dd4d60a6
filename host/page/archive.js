// Zip archives, in which other programs hand out conversations: what is in one, and its bytes as a stream. Only the table at
// the end is read at once; an entry is unpacked as it is read, so an archive may be larger than the memory.

const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;

/** The longest end of an archive: its record, and the longest remark. */
const LONGEST_END = 22 + 0xffff;

/** How many entries an archive may have, and how long their table may be. */
const MOST_ENTRIES = 100_000;
const LONGEST_TABLE = 64 << 20;

/** Whether a file begins as an archive does. */
export async function isArchive(file) {
  const start = await viewOf(file, 0, Math.min(4, file.size));
  return start.byteLength === 4 && [LOCAL, END].includes(start.getUint32(0, true));
}

/** The entries of an archive: `{name, packed, size, stream()}`, sizes in bytes. */
export async function entriesOf(file) {
  const { at, length, count } = await tableOf(file);
  if (count > MOST_ENTRIES || length > LONGEST_TABLE) throw new Error(`the archive has more than ${MOST_ENTRIES} entries`);
  const table = await viewOf(file, at, length);
  const entries = [];
  for (let place = 0; place + 46 <= length && entries.length < count; ) {
    if (table.getUint32(place, true) !== ENTRY) throw new Error("the archive is damaged: its table does not hold what it says");
    const nameLength = table.getUint16(place + 28, true);
    const extraLength = table.getUint16(place + 30, true);
    const remarkLength = table.getUint16(place + 32, true);
    const name = new TextDecoder().decode(bytesOf(table, place + 46, nameLength));
    const sizes = sizesOf(table, place, nameLength, extraLength);
    const method = table.getUint16(place + 10, true);
    const encrypted = (table.getUint16(place + 8, true) & 1) === 1;
    entries.push({ name, ...sizes, stream: () => streamOf(file, { name, method, encrypted, ...sizes }) });
    place += 46 + nameLength + extraLength + remarkLength;
  }
  return entries;
}

/** Where the table is, by the record at the end of the file. */
async function tableOf(file) {
  const from = Math.max(0, file.size - LONGEST_END);
  const end = await viewOf(file, from, file.size - from);
  let place = end.byteLength - 22;
  while (place >= 0 && end.getUint32(place, true) !== END) place -= 1;
  if (place < 0) throw new Error("the archive is damaged: its end is missing");
  const found = { at: end.getUint32(place + 16, true), length: end.getUint32(place + 12, true), count: end.getUint16(place + 10, true) };
  const isLarge = found.at === 0xffffffff || found.length === 0xffffffff || found.count === 0xffff;
  if (!isLarge || place < 20 || end.getUint32(place - 20, true) !== LOCATOR_64) return found;
  const record = await viewOf(file, Number(end.getBigUint64(place - 12, true)), 56);
  if (record.getUint32(0, true) !== END_64) throw new Error("the archive is damaged: its end is not where it says");
  return { at: large(record, 48), length: large(record, 40), count: large(record, 32) };
}

/** Sizes and place of an entry; those that do not fit 32 bits stand in a field behind the name. */
function sizesOf(table, place, nameLength, extraLength) {
  const sizes = { size: table.getUint32(place + 24, true), packed: table.getUint32(place + 20, true), at: table.getUint32(place + 42, true) };
  const end = place + 46 + nameLength + extraLength;
  for (let field = place + 46 + nameLength; field + 4 <= end; field += 4 + table.getUint16(field + 2, true)) {
    if (table.getUint16(field, true) !== 1) continue;
    let next = field + 4;
    for (const name of ["size", "packed", "at"]) {
      if (sizes[name] !== 0xffffffff) continue;
      sizes[name] = large(table, next);
      next += 8;
    }
  }
  return sizes;
}

async function streamOf(file, { name, method, encrypted, at, packed }) {
  if (encrypted) throw new Error(`${name} is encrypted`);
  if (method !== 0 && method !== 8) throw new Error(`${name} is packed in a way that is not known here`);
  const head = await viewOf(file, at, 30);
  if (head.getUint32(0, true) !== LOCAL) throw new Error(`the archive is damaged at ${name}`);
  const from = at + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const stream = file.slice(from, from + packed).stream();
  return method === 0 ? stream : stream.pipeThrough(new DecompressionStream("deflate-raw"));
}

async function viewOf(file, at, length) {
  const bytes = await file.slice(at, at + length).arrayBuffer();
  if (bytes.byteLength < length) throw new Error("the archive is cut off");
  return new DataView(bytes);
}

function bytesOf(view, at, length) {
  return new Uint8Array(view.buffer, view.byteOffset + at, length);
}

function large(view, at) {
  return Number(view.getBigUint64(at, true));
}
