/**
 * `wasi:filesystem` for one directory, over `node:fs`.
 *
 * The component keeps a few plain files in one directory, and that is all that there is here: no subdirectories, no
 * links, no paths. A name with a separator, `.` and `..` are refused before the operating system sees them, and a
 * symbolic link or a device under a plain name is never opened.
 *
 * Written for the store instead of using the general shim of jco, for three reasons. Durability: the shim answers a
 * sync of a directory without doing it, so a new file could vanish at a loss of power. Speed: the shim sends every read
 * and write to another thread and waits for it. Size: the package has no dependencies at run time.
 */
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  opendirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
  type BigIntStats,
  type Dir,
} from "node:fs";
import { join } from "node:path";

import type {
  DescriptorFlags,
  DescriptorStat,
  DescriptorType,
  DirectoryEntry,
  ErrorCode,
  MetadataHashValue,
  OpenFlags,
} from "#bindings/wasi-filesystem-types";

import { dispose } from "./dispose.js";

/** A read gives at most this much: the component asks again for the rest. */
const LONGEST_READ = 1 << 20;

const NANOSECONDS = 1_000_000_000n;

/** Errors of the operating system that have a name of their own in WASI. Everything else is `io`. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  EACCES: "access",
  EAGAIN: "would-block",
  EBADF: "bad-descriptor",
  EBUSY: "busy",
  EDQUOT: "quota",
  EEXIST: "exist",
  EFBIG: "file-too-large",
  EINTR: "interrupted",
  EINVAL: "invalid",
  EISDIR: "is-directory",
  ELOOP: "loop",
  EMFILE: "insufficient-memory",
  ENAMETOOLONG: "name-too-long",
  ENFILE: "insufficient-memory",
  ENODEV: "no-device",
  ENOENT: "no-entry",
  ENOMEM: "insufficient-memory",
  ENOSPC: "insufficient-space",
  ENOTDIR: "not-directory",
  ENOTSUP: "unsupported",
  ENXIO: "no-such-device",
  EPERM: "not-permitted",
  EROFS: "read-only",
};

/** What the bindings take as the error of a call: they want the case of the enum itself to be thrown. */
function refusal(code: ErrorCode): ErrorCode {
  return code;
}

function attempt<T>(operation: () => T): T {
  try {
    return operation();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // What is no answer of the operating system is a mistake in the program, and ends the call.
    throw code === undefined || typeof error === "string" ? error : refusal(CODES[code] ?? "io");
  }
}

function requirePlainName(name: string): void {
  if (name === "" || name === "." || name === ".." || /[/\\:\0]/.test(name)) throw refusal("not-permitted");
}

function typeOf(
  entry: BigIntStats | { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean },
): DescriptorType {
  if (entry.isFile()) return "regular-file";
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "symbolic-link";
  return "unknown";
}

function describe(stats: BigIntStats): DescriptorStat {
  const time = (ns: bigint) => ({ seconds: ns / NANOSECONDS, nanoseconds: Number(ns % NANOSECONDS) });
  return {
    type: typeOf(stats),
    linkCount: stats.nlink,
    size: stats.size,
    dataAccessTimestamp: time(stats.atimeNs),
    dataModificationTimestamp: time(stats.mtimeNs),
    statusChangeTimestamp: time(stats.ctimeNs),
  };
}

function identify(stats: BigIntStats): MetadataHashValue {
  return { lower: BigInt.asUintN(64, stats.ino), upper: BigInt.asUintN(64, stats.dev) };
}

/** Everything that the component may do with a file or directory; each of the two does its part. */
export class Descriptor {
  getFlags(): DescriptorFlags {
    throw refusal("unsupported");
  }
  read(_length: bigint, _offset: bigint): [Uint8Array, boolean] {
    throw refusal("is-directory");
  }
  write(_bytes: Uint8Array, _offset: bigint): bigint {
    throw refusal("is-directory");
  }
  setSize(_size: bigint): void {
    throw refusal("is-directory");
  }
  syncData(): void {
    this.sync();
  }
  sync(): void {
    throw refusal("unsupported");
  }
  stat(): DescriptorStat {
    throw refusal("unsupported");
  }
  metadataHash(): MetadataHashValue {
    throw refusal("unsupported");
  }
  statAt(_flags: object, _name: string): DescriptorStat {
    throw refusal("not-directory");
  }
  metadataHashAt(_flags: object, _name: string): MetadataHashValue {
    throw refusal("not-directory");
  }
  openAt(_flags: object, _name: string, _how: OpenFlags, _access: DescriptorFlags): Descriptor {
    throw refusal("not-directory");
  }
  renameAt(_from: string, _directory: Descriptor, _to: string): void {
    throw refusal("not-directory");
  }
  unlinkFileAt(_name: string): void {
    throw refusal("not-directory");
  }
  readDirectory(): DirectoryEntryStream {
    throw refusal("not-directory");
  }
  /** Streams are what the component's runtime library links against; the store itself never asks for one. */
  readViaStream(_offset: bigint): never {
    throw refusal("unsupported");
  }
  writeViaStream(_offset: bigint): never {
    throw refusal("unsupported");
  }
  appendViaStream(): never {
    throw refusal("unsupported");
  }
}

/** The handles that are open, so that they can be closed when an instance is discarded without having its say. */
class Handles {
  readonly #open = new Set<{ close(): void }>();

  add(handle: { close(): void }): void {
    this.#open.add(handle);
  }

  remove(handle: { close(): void }): void {
    this.#open.delete(handle);
  }

  closeAll(): void {
    for (const handle of [...this.#open]) handle.close();
  }
}

class RegularFile extends Descriptor {
  readonly #handles: Handles;
  readonly #writable: boolean;
  #fd: number | undefined;

  constructor(fd: number, writable: boolean, handles: Handles) {
    super();
    this.#fd = fd;
    this.#writable = writable;
    this.#handles = handles;
    handles.add(this);
  }

  get #open(): number {
    if (this.#fd === undefined) throw refusal("bad-descriptor");
    return this.#fd;
  }

  close(): void {
    if (this.#fd === undefined) return;
    const fd = this.#fd;
    this.#fd = undefined;
    this.#handles.remove(this);
    closeSync(fd);
  }

  [dispose](): void {
    this.close();
  }

  override getFlags(): DescriptorFlags {
    return { read: true, write: this.#writable };
  }

  override read(length: bigint, offset: bigint): [Uint8Array, boolean] {
    const wanted = Number(length < BigInt(LONGEST_READ) ? length : LONGEST_READ);
    // Not zeroed first: only what was read is handed on.
    const bytes = Buffer.allocUnsafe(wanted);
    const count = attempt(() => readSync(this.#open, bytes, 0, wanted, Number(offset)));
    return [bytes.subarray(0, count), count === 0 && wanted > 0];
  }

  override write(bytes: Uint8Array, offset: bigint): bigint {
    if (!this.#writable) throw refusal("bad-descriptor");
    return BigInt(attempt(() => writeSync(this.#open, bytes, 0, bytes.length, Number(offset))));
  }

  override setSize(size: bigint): void {
    if (!this.#writable) throw refusal("bad-descriptor");
    attempt(() => ftruncateSync(this.#open, Number(size)));
  }

  override syncData(): void {
    attempt(() => fdatasyncSync(this.#open));
  }

  override sync(): void {
    attempt(() => fsyncSync(this.#open));
  }

  override stat(): DescriptorStat {
    return describe(attempt(() => fstatSync(this.#open, { bigint: true })));
  }

  override metadataHash(): MetadataHashValue {
    return identify(attempt(() => fstatSync(this.#open, { bigint: true })));
  }
}

class Directory extends Descriptor {
  readonly #path: string;
  readonly #handles: Handles;
  readonly #readOnly: boolean;

  constructor(path: string, readOnly: boolean, handles: Handles) {
    super();
    this.#path = path;
    this.#readOnly = readOnly;
    this.#handles = handles;
  }

  #at(name: string): string {
    requirePlainName(name);
    return join(this.#path, name);
  }

  #requireChangeable(): void {
    if (this.#readOnly) throw refusal("read-only");
  }

  override getFlags(): DescriptorFlags {
    return { read: true, mutateDirectory: !this.#readOnly };
  }

  override openAt(_flags: object, name: string, how: OpenFlags, access: DescriptorFlags): Descriptor {
    const path = this.#at(name);
    const writable = access.write === true;
    if (writable || how.create === true || how.truncate === true) this.#requireChangeable();
    if (how.directory === true) throw refusal("not-directory");
    // A pipe under the name of a file must not hold the process up; where links can be told apart only by looking first,
    // that is done.
    let mode = (writable ? constants.O_RDWR : constants.O_RDONLY) | (constants.O_NONBLOCK ?? 0);
    if (constants.O_NOFOLLOW === undefined) {
      if (attempt(() => lstatSync(path, { throwIfNoEntry: false }))?.isSymbolicLink() === true) throw refusal("loop");
    } else {
      mode |= constants.O_NOFOLLOW;
    }
    if (how.create === true) mode |= constants.O_CREAT;
    if (how.exclusive === true) mode |= constants.O_EXCL;
    if (how.truncate === true) mode |= constants.O_TRUNC;
    const fd = attempt(() => openSync(path, mode));
    const stats = fstatSync(fd);
    if (!stats.isFile()) {
      closeSync(fd);
      throw refusal(stats.isDirectory() ? "is-directory" : "not-permitted");
    }
    return new RegularFile(fd, writable, this.#handles);
  }

  override sync(): void {
    // Windows has no handle of a directory to sync; NTFS writes its own log.
    if (process.platform === "win32") throw refusal("unsupported");
    const fd = attempt(() => openSync(this.#path, constants.O_RDONLY | constants.O_DIRECTORY));
    try {
      attempt(() => fsyncSync(fd));
    } finally {
      closeSync(fd);
    }
  }

  override stat(): DescriptorStat {
    return describe(attempt(() => statSync(this.#path, { bigint: true })));
  }

  override metadataHash(): MetadataHashValue {
    return identify(attempt(() => statSync(this.#path, { bigint: true })));
  }

  override statAt(_flags: object, name: string): DescriptorStat {
    const path = this.#at(name);
    const stats = attempt(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
    if (stats === undefined) throw refusal("no-entry");
    return describe(stats);
  }

  override metadataHashAt(_flags: object, name: string): MetadataHashValue {
    const path = this.#at(name);
    return identify(attempt(() => lstatSync(path, { bigint: true })));
  }

  override renameAt(from: string, directory: Descriptor, to: string): void {
    if (!(directory instanceof Directory)) throw refusal("not-directory");
    this.#requireChangeable();
    const [source, target] = [this.#at(from), directory.#at(to)];
    attempt(() => renameSync(source, target));
  }

  override unlinkFileAt(name: string): void {
    this.#requireChangeable();
    const path = this.#at(name);
    attempt(() => unlinkSync(path));
  }

  override readDirectory(): DirectoryEntryStream {
    return new DirectoryEntryStream(
      attempt(() => opendirSync(this.#path)),
      this.#handles,
    );
  }
}

/** The entries of the directory, one after the other. */
export class DirectoryEntryStream {
  readonly #directory: Dir;
  readonly #handles: Handles;
  #closed = false;

  constructor(directory: Dir, handles: Handles) {
    this.#directory = directory;
    this.#handles = handles;
    handles.add(this);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#handles.remove(this);
    this.#directory.closeSync();
  }

  [dispose](): void {
    this.close();
  }

  readDirectoryEntry(): DirectoryEntry | undefined {
    const entry = attempt(() => this.#directory.readSync());
    return entry === null ? undefined : { name: entry.name, type: typeOf(entry) };
  }
}

/** What a component gets of the file system, and the way to take all of it back. */
export interface Filesystem {
  /** Imports by interface, versions left out. */
  readonly imports: Readonly<Record<string, object>>;
  /** Closes what is still open. */
  close(): void;
}

/**
 * One directory, as `/data`. It must exist; where its path leads is settled now.
 *
 * @param directory the directory
 * @param readOnly whether every change is refused, whatever the operating system would allow
 */
export function filesystem(directory: string, readOnly: boolean): Filesystem {
  const handles = new Handles();
  const root = new Directory(realpathSync(directory), readOnly, handles);
  return {
    imports: {
      "wasi:filesystem/preopens": { getDirectories: () => [[root, "/data"]] },
      "wasi:filesystem/types": { Descriptor, DirectoryEntryStream },
    },
    close: () => handles.closeAll(),
  };
}
