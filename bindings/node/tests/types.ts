/** What the types promise. It is compiled with the tests and never run; where it says that a line is wrong, the line has to be wrong. */
import type { UIMessage } from "ai";
import {
  BusyError,
  Talktree,
  TalktreeError,
  type AppendResult,
  type MessageInput,
  type Session,
  type StoredMessage,
  type Summarizer,
} from "talktree";
import type { createInstance } from "talktree/component";
import type { SessionMessage, Sessions } from "agents/sessions";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Assert<T extends true> = T;

export type Promises = [
  Assert<Equal<ReturnType<Session["appendMessage"]>, Promise<AppendResult>>>,
  Assert<Equal<StoredMessage["createdAt"], Date>>,
  Assert<Equal<StoredMessage["parentId"], string | null>>,
  Assert<Equal<StoredMessage<UIMessage>["message"], UIMessage>>,
  Assert<UIMessage extends MessageInput ? true : false>,
  Assert<BusyError extends TalktreeError ? true : false>,
  Assert<ReturnType<Session["history"]> extends AsyncIterable<StoredMessage> ? true : false>,
  Assert<Talktree extends AsyncDisposable ? true : false>,
  Assert<Equal<Parameters<Parameters<Sessions["subscribe"]>[0]>[0]["sessionId"], string>>,
  Assert<UIMessage extends Parameters<ReturnType<Sessions["session"]>["appendMessage"]>[0] ? true : false>,
  Assert<Equal<SessionMessage["createdAt"], Date | undefined>>,
  Assert<ReturnType<typeof createInstance>["store"]["stats"] extends () => { messages: bigint } ? true : false>,
];

export async function lines(talktree: Talktree): Promise<void> {
  const session = talktree.session<UIMessage>("chat");
  for await (const { message } of session.history()) message.parts satisfies UIMessage["parts"];
  const summarizer: Summarizer = ({ prompt, maxTokens, signal }) => `${prompt}${maxTokens}${signal.aborted}`;
  await session.compact({ summarizer });
  // @ts-expect-error an id is missing
  await session.appendMessage({ role: "user", parts: [] });
  // @ts-expect-error there is no such source
  await session.appendMessage("{}", { source: "nobody" });
  // @ts-expect-error a message that was read cannot be changed in place
  (await session.getHistory())[0].id = "other";
  // @ts-expect-error both are needed
  await session.importMessage("{}", { parentId: null });
  // @ts-expect-error there is no constructor: stores are opened
  new Talktree("data", {});
}
