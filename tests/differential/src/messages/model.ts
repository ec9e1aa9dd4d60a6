/**
 * What is known of a session without asking anybody: the tree as it should be, and the two rules by which summaries
 * stand in for messages. It makes calls that mean something, and says whether a difference is one that is intended.
 */
import type { Json, Message, Part } from "../json.ts";
import type { Call, Source } from "./calls.ts";

/** A message, or a summary in place of several. */
export type Item = Message | { summary: string };

export interface Node {
  readonly id: string;
  readonly parent: Node | null;
  readonly number: number;
  message: Message;
  /** A deleted message keeps its place, for what is below it. */
  deleted: boolean;
  /** Whether the reference has rewritten it in storing it. */
  imported: boolean;
}

export interface Overlay {
  readonly summary: string;
  readonly first: string;
  readonly last: string;
  readonly covered: readonly Node[];
  readonly number: number;
  /** Where it stands in Talktree, at first its last message; none where it is gone. The reference keeps it all the same. */
  place: Node | undefined;
}

export class SessionModel {
  readonly nodes = new Map<string, Node>();
  overlays: Overlay[] = [];
  #made = 0;

  /** The message that was appended last, of those that are there. */
  leaf(): Node | undefined {
    let leaf: Node | undefined;
    for (const node of this.nodes.values()) if (leaf === undefined || node.number > leaf.number) leaf = node;
    return leaf;
  }

  /** From the root to a message; to the present leaf where none is named. Places of deleted messages are in it. */
  places(leafId?: string): Node[] {
    const places: Node[] = [];
    let at: Node | null = (leafId === undefined ? this.leaf() : this.nodes.get(leafId)) ?? null;
    for (; at !== null; at = at.parent) places.unshift(at);
    return places;
  }

  path(leafId?: string): Node[] {
    return this.places(leafId).filter(({ deleted }) => !deleted);
  }

  /** Whether a path may be summarized from one message to another. */
  range(first: string, last: string): Node[] {
    const path = this.path(last);
    const from = path.findIndex(({ id }) => id === first);
    return this.nodes.has(last) && from >= 0 ? path.slice(from) : [];
  }

  /** Talktree: on every path through the place of the last message; the most messages win, then the newest. */
  view(leafId?: string): Item[] {
    const places = new Set(this.places(leafId));
    const applying = this.overlays
      .filter(({ place }) => place !== undefined && places.has(place))
      .map((overlay) => ({ ...overlay, alive: overlay.covered.filter(({ deleted }) => !deleted) }))
      .filter(({ alive }) => alive.length > 0)
      .toSorted((a, b) => b.alive.length - a.alive.length || b.number - a.number);
    const shown = new Map<Node, Overlay>();
    for (const overlay of applying) {
      if (overlay.alive.some((node) => shown.has(node))) continue;
      for (const node of overlay.alive) shown.set(node, overlay);
    }
    const items: Item[] = [];
    let before: Overlay | undefined;
    for (const node of this.path(leafId)) {
      const overlay = shown.get(node);
      if (overlay === undefined) items.push(node.message);
      else if (overlay !== before) items.push({ summary: overlay.summary });
      before = overlay;
    }
    return items;
  }

  /** The reference: from the left, the newest of those that begin here and whose end is on the path. */
  referenceView(leafId?: string): Item[] {
    const path = this.path(leafId);
    const items: Item[] = [];
    for (let at = 0; at < path.length; at += 1) {
      const node = path[at]!;
      const end = (overlay: Overlay) => path.findIndex(({ id }) => id === overlay.last);
      const overlay = this.overlays.filter((one) => one.first === node.id && end(one) >= at).at(-1);
      items.push(overlay === undefined ? node.message : { summary: overlay.summary });
      if (overlay !== undefined) at = end(overlay);
    }
    return items;
  }

  /** Takes a call that Talktree has carried out. What it answered matters for a compaction only. */
  apply(call: Call, answer: Json): void {
    switch (call.op) {
      case "append":
      case "upsert":
      case "import":
        if (!this.nodes.has(call.message.id)) this.#insert(stored(call), call.parentId, call.op === "import");
        else if (call.op === "upsert") this.#replace(stored(call, this.nodes.get(call.message.id)?.message));
        break;
      case "update":
        this.#replace(stored(call, this.nodes.get(call.message.id)?.message));
        break;
      case "delete":
        for (const id of call.ids) {
          const node = this.nodes.get(id);
          if (node !== undefined) node.deleted = true;
          this.nodes.delete(id);
        }
        for (const overlay of this.overlays) this.#settle(overlay);
        break;
      case "clear":
        this.nodes.clear();
        this.overlays = [];
        break;
      case "addCompaction":
        this.#cover(call.summary, call.first, call.last);
        break;
      case "compact":
        if (answer !== null) {
          const { first, last } = answer as { first: string; last: string };
          this.#cover(call.summary, first, last);
        }
        break;
      default:
    }
  }

  #insert(message: Message, parentId: string | null | undefined, imported: boolean): void {
    const parent = parentId === undefined ? this.leaf() : parentId === null ? undefined : this.nodes.get(parentId);
    const number = (this.#made += 1);
    const node = { id: message.id, parent: parent ?? null, number, message, deleted: false, imported };
    this.nodes.set(message.id, node);
  }

  #replace(message: Message): void {
    const node = this.nodes.get(message.id);
    if (node === undefined) return;
    node.message = message;
    node.imported = false;
  }

  #cover(summary: string, first: string, last: string): void {
    const covered = this.range(first, last);
    this.overlays.push({ summary, first, last, covered, number: (this.#made += 1), place: covered.at(-1) });
  }

  /**
   * After messages were deleted. The place stays while something is below it; else it moves up to the last message that
   * is covered. Where another branch begins there, which never had the summary, the summary goes.
   */
  #settle(overlay: Overlay): void {
    const last = overlay.covered.findLast(({ deleted }) => !deleted);
    if (last === undefined) overlay.place = undefined;
    if (overlay.place === undefined || !overlay.place.deleted || this.#isAbove(overlay.place)) return;
    overlay.place = this.#isAbove(last!) ? undefined : last;
  }

  /** Whether a message is somewhere below. */
  #isAbove(place: Node): boolean {
    return [...this.nodes.values()].some((node) => {
      for (let at = node.parent; at !== null; at = at.parent) if (at === place) return true;
      return false;
    });
  }
}

/** The key of `metadata` that both sides are told to keep from clients. */
export const RESERVED = "channel";

/** What Talktree stores: a client neither sets the reserved key nor removes it. */
export function stored(call: { message: Message; source?: Source }, before?: Message): Message {
  const { metadata, ...rest } = call.message as Message;
  if (call.source !== "client" || metadata === undefined) {
    const kept = call.source === "client" ? before?.metadata?.[RESERVED] : undefined;
    return kept === undefined ? call.message : { ...rest, metadata: { [RESERVED]: kept } };
  }
  const { [RESERVED]: _, ...open } = metadata;
  const kept = before?.metadata?.[RESERVED];
  const merged = kept === undefined ? open : { ...open, [RESERVED]: kept };
  return Object.keys(merged).length === 0 ? rest : { ...rest, metadata: merged };
}

/** A call of a tool without a result. */
export function isOpen(part: Part): boolean {
  const isTool = part.type.startsWith("tool-") || part.type === "dynamic-tool";
  return isTool && part.output === undefined && part.errorText === undefined;
}

export const hasOpenCall = ({ parts }: Message) => parts.some(isOpen);

/** What the reference stores of a message: it removes what belongs to one provider, and blank reasoning. */
export function rewritten(message: Message): Message {
  const parts = message.parts.map(withoutProvider).filter((part) => {
    const text = part.text;
    if (part.type !== "reasoning" || (typeof text === "string" && text.trim() !== "")) return true;
    return Object.keys((part.providerMetadata as object | undefined) ?? {}).length > 0;
  });
  return { ...message, parts };
}

function withoutProvider(part: Part): Part {
  const kept = { ...part };
  for (const key of ["providerMetadata", "callProviderMetadata"]) {
    const metadata = kept[key] as { [key: string]: Json } | undefined;
    if (metadata === undefined || metadata.openai === undefined) continue;
    const { itemId: _, reasoningEncryptedContent: __, ...openai } = metadata.openai as { [key: string]: Json };
    const { openai: ___, ...others } = metadata;
    const left = Object.keys(openai).length > 0 ? { ...metadata, openai } : others;
    if (Object.keys(left).length > 0) kept[key] = left;
    else delete kept[key];
  }
  return kept;
}

/** Whether a message brings bytes, or what the reference takes for a pointer to bytes. */
export const hasMedia = ({ parts }: Message) => parts.some(({ url }) => typeof url === "string");

export const textOf = ({ parts }: Message) =>
  parts.filter(({ type, text }) => type === "text" && typeof text === "string").map(({ text }) => text as string);
