/** Errors: one class for each case of `error` in `wit/types.wit`, and three of this package's own. */

/** What an error knows beside its message, as `error-info` in the WIT. */
export interface ErrorDetails {
  /** The thing it is about: an id, a label, an argument's name. */
  readonly subject?: string | undefined;
  /** Where a number is concerned: what it is now. */
  readonly current?: number | undefined;
  /** Where a number is concerned: what it may be at most, or should have been. */
  readonly limit?: number | undefined;
}

/** What every error of the store has in common. Nothing was written, but where a class says otherwise. */
export class TalktreeError extends Error {
  /** The case in the WIT, or `crashed`, `timed-out`, `closed`. */
  readonly kind: string;
  /** The thing it is about: an id, a label, an argument's name. */
  readonly subject: string | undefined;
  /** Where a number is concerned: what it is now. */
  readonly current: number | undefined;
  /** Where a number is concerned: what it may be at most, or should have been. */
  readonly limit: number | undefined;

  constructor(kind: string, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.kind = kind;
    this.subject = details.subject;
    this.current = details.current;
    this.limit = details.limit;
  }
}

/** The message is not JSON, not an object, or one of its members is missing, of the wrong type, empty or too long. */
export class InvalidMessageError extends TalktreeError {}
/** An argument is out of its range. */
export class InvalidArgumentError extends TalktreeError {}
/** The two ids are not on one path in that order, or the run cannot be covered by a summary. */
export class InvalidRangeError extends TalktreeError {}
/** No message of that id in this session to be the parent. */
export class UnknownParentError extends TalktreeError {}
/** No message of that id in this session. */
export class UnknownMessageError extends TalktreeError {}
/** No session of that id. */
export class UnknownSessionError extends TalktreeError {}
/** No context block of that label. */
export class UnknownBlockError extends TalktreeError {}
/** The present leaf is not the expected one: read again and decide. */
export class LeafMovedError extends TalktreeError {}
/** The block was written since that version. */
export class VersionMismatchError extends TalktreeError {}
/** What the plan covers has changed: prepare again. */
export class PlanOutdatedError extends TalktreeError {}
/** The summary is not smaller than what it would replace. */
export class NoProgressError extends TalktreeError {}
/** The cursor is not one of this call's, or what it stands on has gone: begin again without one. */
export class StaleCursorError extends TalktreeError {}
/** More than a limit allows; `limit` says which number. */
export class OverLimitError extends TalktreeError {}
/** The summarizer gave no usable answer; `cause` is what it threw. */
export class SummarizerFailedError extends TalktreeError {}
/** The component was not given what it needs, or a setting means nothing. */
export class NotConfiguredError extends TalktreeError {}
/** Another instance owns the store: try again. */
export class BusyError extends TalktreeError {}
/** No room on the disk. The store can still be read. */
export class StorageFullError extends TalktreeError {}
/** The directory or the file cannot be written. Reads work. */
export class ReadOnlyError extends TalktreeError {}
/** The file was written by a newer version, which has to be used. */
export class SchemaTooNewError extends TalktreeError {}
/** The file is none of ours; it was left alone. */
export class NotAStoreError extends TalktreeError {}
/** The file is damaged there. What can be read is still read. */
export class CorruptError extends TalktreeError {}
/** The component failed inside the call. Whether it was carried out is not known: repeat it with the same id. */
export class CrashedError extends TalktreeError {}
/** The call took longer than it may. Whether it was carried out is not known: repeat it with the same id. */
export class TimedOutError extends TalktreeError {}
/** The store was closed before the call began. */
export class ClosedError extends TalktreeError {}

type ErrorClass = new (kind: string, message: string, details?: ErrorDetails) => TalktreeError;

const CLASSES: Readonly<Record<string, ErrorClass>> = {
  "invalid-message": InvalidMessageError,
  "invalid-argument": InvalidArgumentError,
  "invalid-range": InvalidRangeError,
  "unknown-parent": UnknownParentError,
  "unknown-message": UnknownMessageError,
  "unknown-session": UnknownSessionError,
  "unknown-block": UnknownBlockError,
  "leaf-moved": LeafMovedError,
  "version-mismatch": VersionMismatchError,
  "plan-outdated": PlanOutdatedError,
  "no-progress": NoProgressError,
  "stale-cursor": StaleCursorError,
  "over-limit": OverLimitError,
  "summarizer-failed": SummarizerFailedError,
  "not-configured": NotConfiguredError,
  busy: BusyError,
  "storage-full": StorageFullError,
  "read-only": ReadOnlyError,
  "schema-too-new": SchemaTooNewError,
  "not-a-store": NotAStoreError,
  corrupt: CorruptError,
};

/** An error of the component, as the bindings throw it. */
export interface RawError {
  readonly tag: string;
  readonly val: {
    readonly message: string;
    readonly subject?: string;
    readonly current?: bigint;
    readonly limit?: bigint;
  };
}

/** The class for an error of the component. */
export function toError({ tag, val }: RawError): TalktreeError {
  const number = (value: bigint | undefined) => (value === undefined ? undefined : Number(value));
  const details = { subject: val.subject, current: number(val.current), limit: number(val.limit) };
  return new (CLASSES[tag] ?? TalktreeError)(tag, val.message, details);
}
