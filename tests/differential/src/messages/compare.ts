/** Says whether two answers are the same, and if not, which of the intended differences it is. */
import type { Intended } from "../differences.ts";
import { canonical, same, type Json, type JsonObject, type Message } from "../json.ts";
import type { Call } from "./calls.ts";
import { hasMedia, hasOpenCall, rewritten, stored, textOf, type Item, type SessionModel } from "./model.ts";

/** What a side did: an answer, or the kind of its error. */
export type Outcome = { value: Json; events: JsonObject[] } | { error: string };

/** How both sides come to be the same again, after one has done what the other has refused. */
export type Repair = "none" | "remove-message" | "remove-compaction" | "set-message";

export interface Verdict {
  /** What explains the difference; nothing where there is none. */
  intended: Intended[];
  repair: Repair;
}

/** A call with both outcomes, and the session as it was before. */
export interface Trial {
  call: Exclude<Call, { op: "reopen" }>;
  talktree: Outcome;
  reference: Outcome;
  before: SessionModel;
}

/** `undefined`: a difference that nobody has intended. */
export function judge(trial: Trial): Verdict | undefined {
  const { talktree, reference } = trial;
  if ("error" in talktree) return refused(trial, talktree.error);
  if ("error" in reference)
    return trial.call.op === "search" && trial.call.query.includes("\0") ? found("search-zero-byte") : undefined;
  const value = compareValues(trial, talktree.value, reference.value);
  if (value === undefined) return undefined;
  // A compaction that one side made, or another one, has other events.
  if (value.repair === "remove-compaction") return value;
  const events = compareEvents(trial, talktree.events, reference.events);
  if (events === undefined) return undefined;
  return { intended: [...value.intended, ...events], repair: value.repair };
}

const found = (intended: Intended, repair: Repair = "none"): Verdict => ({ intended: [intended], repair });

const nothing = (): Verdict => ({ intended: [], repair: "none" });

function refused({ call, reference, before }: Trial, kind: string): Verdict | undefined {
  const failed = "error" in reference;
  switch (call.op) {
    case "append":
    case "upsert":
    case "import": {
      if (kind === "unknown-parent" && typeof call.parentId === "string" && !before.nodes.has(call.parentId))
        return found("unknown-parent", "remove-message");
      if (kind !== "invalid-message") return undefined;
      if (call.message.id.startsWith("compaction_")) return found("reserved-id", "remove-message");
      return call.message.id === "" ? found("empty-id", "remove-message") : undefined;
    }
    case "history":
    case "recent":
    case "stats":
      return kind === "unknown-message" && isEmpty(reference) && !before.nodes.has(call.leafId ?? "")
        ? found("unknown-message")
        : undefined;
    case "branches":
      return kind === "unknown-message" && isEmpty(reference) && !before.nodes.has(call.id)
        ? found("unknown-message")
        : undefined;
    case "addCompaction": {
      const range = before.range(call.first, call.last);
      const refusable = range.length === 0 || range.some(({ message }) => hasOpenCall(message));
      return kind === "invalid-range" && refusable && !failed ? found("overlay-range", "remove-compaction") : undefined;
    }
    case "compact":
      if (kind === "unknown-message" && !before.nodes.has(call.leafId ?? "")) return found("unknown-message");
      return kind === "no-progress" && !failed ? found("no-progress", "remove-compaction") : undefined;
    default:
      return undefined;
  }
}

/** What a read of nothing answers with. */
function isEmpty(reference: Outcome): boolean {
  return (
    "value" in reference &&
    (same(reference.value, []) || same(reference.value, { messages: [], truncated: false, bytes: 0 }))
  );
}

function compareValues(trial: Trial, ours: Json, theirs: Json): Verdict | undefined {
  if (same(ours, theirs)) return nothing();
  const { call, before } = trial;
  switch (call.op) {
    case "append":
    case "upsert":
    case "update":
      return compareWritten(trial, ours, theirs);
    case "leaf":
    case "message":
      return asVerdict(compareMessages([ours], [theirs]));
    case "branches":
      return asVerdict(compareMessages(ours as Json[], theirs as Json[]));
    case "history": {
      const reversed = <T>(items: T[]) => (call.newestFirst ? items.toReversed() : items);
      return compareViews(
        before,
        ours as Json[],
        theirs as Json[],
        reversed(before.view(call.leafId)),
        reversed(before.referenceView(call.leafId)),
      );
    }
    case "batches":
      return compareBatches(before, ours as Json[][], theirs as Json[][]);
    case "recent":
      return compareRecent(trial, ours as JsonObject, theirs as JsonObject);
    case "stats":
      return compareStats(before, call.leafId, ours as JsonObject[], theirs as JsonObject[]);
    case "compactions":
      return compareCompactions(before, ours as string[], theirs as string[]);
    case "compact":
      return before.overlays.length > 0 || before.path(call.leafId).some(({ message }) => hasOpenCall(message))
        ? found("compaction-by-plan", "remove-compaction")
        : undefined;
    case "search":
      return compareSearch(trial, ours as JsonObject[], theirs as JsonObject[]);
    default:
      return undefined;
  }
}

const asVerdict = (intended: Intended[] | undefined): Verdict | undefined => intended && { intended, repair: "none" };

/** Messages one by one: as they were written here, as they were rewritten there. */
function compareMessages(ours: Json[], theirs: Json[]): Intended[] | undefined {
  if (ours.length !== theirs.length) return undefined;
  const intended: Intended[] = [];
  for (const [at, one] of ours.entries()) {
    const other = theirs[at]!;
    if (same(one, other)) continue;
    const explained = one !== null && other !== null ? compareMessage(one as never, other as never) : undefined;
    if (explained === undefined) return undefined;
    intended.push(...explained);
  }
  return intended;
}

function compareMessage(ours: Message, theirs: Message): Intended[] | undefined {
  if ("summary" in ours || "summary" in theirs) return undefined;
  const asWritten = compareMedia(ours, theirs);
  if (asWritten !== undefined) return asWritten;
  const asRewritten = compareMedia(rewritten(ours), theirs);
  return asRewritten && ["rewritten-content", ...asRewritten];
}

/** The same parts, but for what the reference makes of bytes. */
function compareMedia(ours: Message, theirs: Message): Intended[] | undefined {
  if (ours.parts.length !== theirs.parts.length) return undefined;
  const intended: Intended[] = [];
  const parts = ours.parts.map((part, at) => {
    const url = theirs.parts[at]!.url;
    if (typeof part.url !== "string" || typeof url !== "string" || part.url === url) return part;
    const isPointer = part.url.startsWith("attachment:");
    // The bytes have to be the same.
    if (!isPointer && part.url.split(",")[1] !== url.split(",")[1]) return part;
    intended.push(isPointer ? "pointer-is-text" : "media-type-of-the-first");
    return { ...part, url };
  });
  return same({ ...ours, parts }, theirs) ? intended : undefined;
}

function compareWritten({ call, before }: Trial, ours: Json, theirs: Json): Verdict | undefined {
  const [one, other] =
    call.op === "update" ? [ours, theirs] : [(ours as JsonObject).message!, (theirs as JsonObject).message!];
  if (call.op !== "update" && (ours as JsonObject).inserted !== (theirs as JsonObject).inserted) return undefined;
  const intended = compareMessages([one], [other]);
  if (intended !== undefined) return { intended, repair: "none" };
  if ((call.op !== "upsert" && call.op !== "update") || call.source !== "client") return undefined;
  const kept = stored(call, before.nodes.get(call.message.id)?.message);
  const lost = stored(call);
  const rest = compareMessages([lost as never], [other]);
  return same(one, kept) && !same(kept, lost) && rest !== undefined
    ? { intended: ["reserved-metadata-on-update", ...rest], repair: "set-message" }
    : undefined;
}

/** Histories: each has to be what its own rule for summaries makes of the same path. */
function compareViews(
  before: SessionModel,
  ours: Json[],
  theirs: Json[],
  own: Item[],
  their: Item[],
): Verdict | undefined {
  const messages = compareMessages(ours, theirs);
  if (messages !== undefined) return { intended: messages, repair: "none" };
  if (before.overlays.length === 0 || !same(ours, own)) return undefined;
  const there = compareMessages(their as unknown as Json[], theirs);
  if (there === undefined) return undefined;
  const afterDelete = before.overlays.some(({ covered }) => covered.some(({ deleted }) => deleted));
  return { intended: [afterDelete ? "overlay-after-delete" : "overlay-choice", ...there], repair: "none" };
}

function compareBatches(before: SessionModel, ours: Json[][], theirs: Json[][]): Verdict | undefined {
  const whole = compareViews(before, ours.flat(), theirs.flat(), before.view(), before.referenceView());
  if (whole === undefined) return undefined;
  const sizes = (pages: Json[][]) => pages.map(({ length }) => length);
  if (same(sizes(ours), sizes(theirs))) return whole;
  if (before.overlays.length > 0) return { ...whole, intended: [...whole.intended, "batches-with-summaries"] };
  const path = before.path();
  return weighsElsewhere(path.map(({ message }) => message))
    ? { ...whole, intended: [...whole.intended, "bytes-with-media"] }
    : undefined;
}

/** Whether the reference counts other bytes than those of the text that went in. */
const weighsElsewhere = (messages: Message[]) => messages.some((one) => hasMedia(one) || !same(rewritten(one), one));

const bytesOf = (message: Message) => Buffer.byteLength(JSON.stringify(message));

function compareRecent(trial: Trial, ours: JsonObject, theirs: JsonObject): Verdict | undefined {
  const { call, before } = trial;
  if (call.op !== "recent") return undefined;
  const messages = compareMessages(ours.messages as Json[], theirs.messages as Json[]);
  if (messages !== undefined && ours.truncated === theirs.truncated && ours.bytes === theirs.bytes)
    return { intended: messages, repair: "none" };
  const view = before.view(call.leafId);
  const list = ours.messages as Json[];
  const newest = list.length === 0 ? [] : view.slice(-list.length);
  // It has to be the end of the history as it is read.
  if (!same(list, newest) || ours.truncated !== list.length < view.length) return undefined;
  if (before.overlays.length > 0) return found("recent-with-summaries");
  const path = before.path(call.leafId).map(({ message }) => message);
  if (!weighsElsewhere(path)) return undefined;
  const total = path.reduce((sum, message) => sum + bytesOf(message), 0);
  const fits = newest.reduce((sum: number, one) => sum + bytesOf(one as unknown as Message), 0);
  const next = view.at(-list.length - 1) as Message | undefined;
  const isLongest = next === undefined || fits + bytesOf(next) > call.maxBytes;
  return ours.bytes === total && isLongest && (fits <= call.maxBytes || list.length === 1)
    ? found("bytes-with-media")
    : undefined;
}

function compareStats(
  before: SessionModel,
  leafId: string | undefined,
  ours: JsonObject[],
  theirs: JsonObject[],
): Verdict | undefined {
  const path = before.path(leafId);
  if (ours.length !== theirs.length || ours.length !== path.length) return undefined;
  const intended: Intended[] = [];
  for (const [at, own] of ours.entries()) {
    const their = theirs[at]!;
    const { message } = path[at]!;
    if (own.id !== their.id || own.role !== their.role || own.bytes !== bytesOf(message)) return undefined;
    if (own.bytes !== their.bytes) {
      if (!weighsElsewhere([message])) return undefined;
      intended.push("bytes-with-media");
    }
    if (own.tokenEstimate !== their.tokenEstimate) intended.push("token-estimate");
  }
  return { intended, repair: "none" };
}

/** Talktree drops a summary when nothing of what it covers is left. */
function compareCompactions(before: SessionModel, ours: string[], theirs: string[]): Verdict | undefined {
  const left = before.overlays.filter(({ place }) => place !== undefined);
  const all = before.overlays.map(({ summary }) => summary);
  const asExpected =
    same(
      ours,
      left.map(({ summary }) => summary),
    ) && same(theirs, all);
  return asExpected ? found("overlay-after-delete") : undefined;
}

function compareSearch(trial: Trial, ours: JsonObject[], theirs: JsonObject[]): Verdict | undefined {
  const { call, before } = trial;
  if (call.op !== "search") return undefined;
  const byId = (list: JsonObject[]) => list.map(({ id }) => id as string).toSorted();
  const intended: Intended[] = [];
  for (const own of ours) {
    const message = before.nodes.get(own.id as string)?.message;
    if (message === undefined || own.role !== message.role || own.content !== textOf(message).join("\n"))
      return undefined;
    const their = theirs.find(({ id }) => id === own.id);
    if (their !== undefined && their.content !== own.content) {
      if (their.content !== textOf(message).join(" ")) return undefined;
      intended.push("search-joins-parts");
    }
  }
  // A page that is full says only that there are as many.
  if (ours.length === call.limit) return theirs.length <= call.limit ? { intended, repair: "none" } : undefined;
  const [own, their] = [byId(ours), byId(theirs)];
  if (their.some((id) => !own.includes(id))) return undefined;
  const more = own.filter((id) => !their.includes(id));
  if (more.length === 0) return { intended, repair: "none" };
  const isPhrase = call.query.startsWith('"');
  const words = call.query
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  const hasAll = more.every((id) => {
    const text = textOf(before.nodes.get(id)!.message).join("\n").toLowerCase();
    return words.every((word) => text.includes(word.replace(/ed$/, "")));
  });
  if (isPhrase || words.length === 0 || !hasAll) return undefined;
  const isGlued = words.length === 1;
  return { intended: [...intended, isGlued ? "search-scripts" : "search-words"], repair: "none" };
}

/** An event as far as both sides tell it. */
interface Told {
  type: string;
  session: string;
  ids: string[];
}

/** The events of a call, in order. */
function compareEvents({ call, before }: Trial, ours: JsonObject[], theirs: JsonObject[]): Intended[] | undefined {
  const intended: Intended[] = [];
  const own = ours.map(
    ({ type, sessionId, ids }) => ({ type, session: sessionId, ids: (ids as string[]).toSorted() }) as Told,
  );
  const their = theirs.flatMap((event): Told[] => {
    const session = event.sessionId as string;
    const type = event.type as string;
    switch (type) {
      case "append":
        return event.inserted === false
          ? none("no-event-for-nothing")
          : [{ type, session, ids: [(event.message as JsonObject).id as string] }];
      case "update":
      case "import":
        return [{ type, session, ids: [(event.message as JsonObject).id as string] }];
      case "delete": {
        const ids = [...new Set(event.messageIds as string[])].filter((id) => before.nodes.has(id)).toSorted();
        return ids.length === 0 ? none("no-event-for-nothing") : [{ type, session, ids }];
      }
      case "clear":
        return before.nodes.size === 0 ? none("no-event-for-nothing") : [{ type, session, ids: [] }];
      default:
        return [{ type, session, ids: [] }];
    }
  });
  function none(one: Intended): [] {
    intended.push(one);
    return [];
  }
  const withoutIds = (list: Told[]) =>
    list.map((event) => (["clear", "compact", "compaction"].includes(event.type) ? { ...event, ids: [] } : event));
  if (same(withoutIds(own), withoutIds(their))) return intended;
  // What one side writes again with other content than before, the other may find the same.
  const keeps = call.op === "update" || call.op === "upsert" ? before.nodes.get(call.message.id)?.message : undefined;
  if (keeps !== undefined && "message" in call) {
    const after = stored(call, keeps);
    const isSameHere = canonical(after) === canonical(keeps);
    const isSameThere = same(rewritten(after), rewritten(keeps));
    if (isSameThere !== isSameHere || !same(after, stored(call)))
      return [...intended, isSameThere === isSameHere ? "reserved-metadata-on-update" : "rewritten-content"];
  }
  return undefined;
}
