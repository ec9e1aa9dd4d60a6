// The page: which tenant and session are shown, and what happens in them.

import { Connection, Unauthorized } from "./connection.js";
import { Conversation } from "./conversation.js";
import { byId, count, element, fill, meter, number } from "./dom.js";
import { offerImport } from "./import.js";
import { VirtualList } from "./list.js";
import { Memory } from "./memory.js";
import { answerElement, emptyElement, foldElement, messageElement } from "./message.js";
import { Sessions, exportButton } from "./sessions.js";
import { Talk, newId } from "./talk.js";
import { Tree } from "./tree.js";

const state = {
  token: sessionStorage.getItem("talktree-token") ?? "",
  connection: null,
  sessions: null,
  conversation: null,
  list: null,
  tree: null,
  memory: null,
  talk: null,
  /** The id and the text of an answer that is being made. */
  answering: null,
  view: "conversation",
  opened: new Set(),
};

/** The views of a session. */
const VIEWS = ["conversation", "tree", "memory"];

/** What the address says: `#TENANT/SESSION/MESSAGE`, each encoded. */
function place() {
  const [tenant, session, message] = location.hash.slice(1).split("/").map(decoded);
  return { tenant: tenant || undefined, session, message };
}

/** An address that somebody mistyped is taken as it stands. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function address(...names) {
  return `#${names.filter((name) => name !== undefined).map(encodeURIComponent).join("/")}`;
}

function say(text) {
  fill(byId("status"), text);
}

/** Shows a problem with something that was asked for, in a sentence. */
function problem(error) {
  if (error instanceof Unauthorized) return;
  say(error.message);
}

async function start() {
  let { tenant } = place();
  try {
    const { tenants } = await listTenants();
    fill(byId("tenants"), tenants.map((name) => element("option", { value: name })));
    tenant ??= tenants[0];
  } catch (error) {
    if (error instanceof Unauthorized) {
      askForToken();
      return;
    }
    problem(error);
  }
  if (tenant) await openTenant(tenant);
  else say("There is no tenant yet: type a name to begin with.");
}

/** Before a tenant is chosen there is no connection about one. */
async function listTenants() {
  const headers = { "content-type": "application/json" };
  if (state.token) headers.authorization = `Bearer ${state.token}`;
  const body = '{"jsonrpc":"2.0","id":1,"method":"listTenants","params":{"limit":1000}}';
  const response = await fetch("rpc", { method: "POST", headers, body });
  if (response.status === 401) throw new Unauthorized();
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}

function askForToken(why = "Everybody who has no token is kept out. Paste the one that was made for you.") {
  const dialog = byId("token-dialog");
  fill(byId("token-why"), why);
  dialog.onclose = () => {
    state.token = byId("token").value.trim();
    byId("token").value = "";
    sessionStorage.setItem("talktree-token", state.token);
    start().catch(problem);
  };
  if (!dialog.open) dialog.showModal();
}

function onStatus(status) {
  if (status === "unauthorized") askForToken("This token is not accepted, or not any more.");
  else say(status === "lost" ? "The connection is lost; trying again …" : "");
  document.body.classList.toggle("lost", status === "lost");
}

async function openTenant(tenant) {
  state.connection?.close();
  byId("tenant").value = tenant;
  document.title = `${tenant} – Talktree`;
  const connection = new Connection(tenant, state.token, onStatus);
  state.connection = connection;
  state.sessions = new Sessions(connection, {
    address: (session, message) => address(tenant, session, message),
    // An address that stands there already changes nothing by itself.
    again: (session, message) => openSession(session, message).catch(problem),
  });
  await connection.follow(onEvent);
  const sessions = await state.sessions.load();
  const asked = place();
  const session = asked.tenant === tenant && asked.session !== undefined ? asked.session : sessions[0]?.id;
  if (session === undefined) closeSession();
  else await openSession(session, asked.tenant === tenant ? asked.message : undefined);
}

function closeSession() {
  state.list?.close();
  state.conversation = null;
  byId("session-head").hidden = true;
  byId("composer").hidden = true;
  byId("export").replaceChildren();
  fill(byId("messages"), element("p", { class: "nothing" }, "This tenant has no sessions yet. Begin one with “New”, or import transcripts."));
}

async function openSession(session, message) {
  showSessions(false);
  state.sessions.mark(session);
  byId("notice").hidden = true;
  if (state.conversation?.session !== session) {
    const conversation = new Conversation(state.connection, session, (ids, isMeasured) => onChange(conversation, ids, isMeasured));
    state.conversation = conversation;
    state.opened.clear();
    state.answering = null;
    byId("messages").ariaBusy = "false";
    state.talk?.stop();
    state.list?.close();
    state.tree?.close();
    state.list = new VirtualList(byId("messages"), "Messages", { render: renderItem, guess: guessHeight });
    state.tree = new Tree(byId("tree"), conversation, { open: openMessage });
    state.memory = new Memory(byId("memory"), state.connection, session);
    const talk = new Talk(conversation, talking(conversation));
    state.talk = talk;
    byId("session-head").hidden = false;
    byId("composer").hidden = false;
    if (state.view === "memory") state.memory.show().catch(problem);
    await talk.begin(byId("tenant").value, state.token);
    await conversation.load();
    if (state.conversation !== conversation) return;
    fill(byId("export"), exportButton(conversation, problem));
  }
  if (message !== undefined) await openMessage(message);
}

/** What the page does while somebody talks in a conversation. */
function talking(conversation) {
  const isShown = () => conversation === state.conversation;
  const show = (answering) => {
    state.answering = answering;
    byId("messages").ariaBusy = String(answering !== null);
    onChange(conversation);
  };
  return {
    begun() {
      if (!isShown()) return;
      say("");
      fill(byId("heard"), "");
      show({ id: null, text: "" });
      state.list.scrollToEnd();
    },
    grown(text, id) {
      if (!isShown()) return;
      state.answering = { id, text };
      state.list.node("answering")?.grow(text);
    },
    ended() {
      if (!isShown()) return;
      show(null);
      fill(byId("heard"), "The answer is there.");
      state.list.scrollToEnd();
    },
    sent: () => state.list.scrollToEnd(),
    failed: problem,
  };
}

/** Brings a message into view, on another branch if it is there. `name` is what gets the focus in it. */
async function openMessage(id, name = true) {
  const { conversation } = state;
  if (!conversation.path.includes(id)) {
    if (!conversation.nodes.has(id)) {
      say("This message is not there any more.");
      return;
    }
    await conversation.show(conversation.leafBelow(id));
  }
  const fold = conversation.folds().find(({ from, to }) => conversation.path.slice(from, to + 1).includes(id));
  if (fold) {
    state.opened.add(fold.compaction.id);
    onChange(conversation);
  }
  showView("conversation");
  state.list.scrollTo(key("message", id), { focus: name });
}

function key(kind, id) {
  return `${kind} ${id}`;
}

/** What the list shows: messages, and summaries in place of the stretches that they stand for. */
function items(conversation) {
  const made = [];
  let at = 0;
  for (const { compaction, from, to } of conversation.folds()) {
    push(at, from);
    const open = state.opened.has(compaction.id);
    made.push({ key: key("fold", compaction.id), compaction, open, stamp: String(open) });
    if (open) push(from, to + 1, "folded");
    at = to + 1;
  }
  push(at, conversation.path.length);
  // Once it is stored, it is there already.
  if (state.answering && conversation.leaf !== state.answering.id) made.push({ key: "answering", answering: true });
  if (made.length === 0) made.push({ key: "empty", empty: true });
  return made;

  function push(from, to, kind = "") {
    for (let index = from; index < to; index += 1) {
      const id = conversation.path[index];
      made.push({ key: key("message", id), id, kind, stamp: `${kind} ${conversation.stamp(id)}` });
    }
  }
}

function renderItem(item) {
  const { conversation, talk } = state;
  if (item.empty) return emptyElement();
  if (item.answering) return answerElement(state.answering.text, () => talk.stop());
  if (item.id === undefined) {
    return foldElement(item, () => {
      if (!state.opened.delete(item.compaction.id)) state.opened.add(item.compaction.id);
      onChange(conversation);
    });
  }
  const made = messageElement(item.id, conversation, conversation.message(item.id), {
    branch: (id, name) => conversation.switchTo(conversation.leafBelow(id)).then(() => openMessage(id, name)).catch(problem),
    edit: (id, message) => talk.edit(id, message),
    answer: (id) => talk.answer(id),
    regenerate: talk.isAnswered ? (id) => talk.regenerate(id).catch(problem) : null,
  });
  if (item.kind) made.classList.add(item.kind);
  return made;
}

/** A guess at the height of an item in pixels, before it is measured. */
function guessHeight(item) {
  if (item.answering || item.empty) return 120;
  if (item.id === undefined) return 140;
  const tokens = state.conversation.tokens.get(item.id) ?? 40;
  return 96 + Math.min(2000, Math.ceil((tokens * 4) / 80) * 22);
}

/** Draws anew what is another: all that the conversation shows, or these messages; and its length, where that is another. */
function onChange(conversation, ids, isMeasured = false) {
  if (conversation !== state.conversation) return;
  if (ids) state.list.refresh(ids.map((id) => key("message", id)));
  else state.list.setItems(items(conversation));
  if (!ids || isMeasured) drawHead(conversation);
  if (!ids && state.view === "tree") state.tree.show();
}

/** Title, and how much of the window the path takes up. */
function drawHead(conversation) {
  const { info, configuration, path, tokens, session } = conversation;
  const title = info?.title || session || "The session without a name";
  fill(byId("title"), title);
  document.title = `${title} – Talktree`;
  const folded = new Set(conversation.folds().flatMap(({ from, to }) => path.slice(from, to + 1)));
  const sum = (ids) => ids.reduce((all, id) => all + (tokens.get(id) ?? 0), 0);
  const all = sum(path);
  const read = sum(path.filter((id) => !folded.has(id)));
  const limit = configuration?.compactAfter ?? configuration?.maxPromptTokens ?? 0;
  const facts = [count(path.length, "message")];
  if (folded.size > 0) facts.push(`${number(folded.size)} in summaries`);
  facts.push(limit > 0 ? `about ${number(read)} of ${count(limit, "token")} in use` : `about ${count(read, "token")} in use`);
  if (read < all) facts.push(`${number(all)} with all originals`);
  const bar = limit > 0 ? meter(read, limit, "Tokens in use of the window") : null;
  fill(byId("window"), bar, element("span", { class: "hint" }, facts.join(", ")));
}

async function onEvent({ event, reset }) {
  const { conversation, sessions } = state;
  if (reset) {
    await openTenant(byId("tenant").value);
    return;
  }
  if (["session", "append", "import", "clear"].includes(event.type)) refreshSessions();
  if (event.type === "context" && state.view === "memory") state.memory?.show().catch(problem);
  if (!conversation || event.sessionId !== conversation.session || !sessions) return;
  const elsewhere = await conversation.takeIn(event).catch(problem);
  if (!elsewhere) return;
  const onclick = () => openMessage(elsewhere).then(hideNotice, problem);
  fill(
    byId("notice"),
    "There is a new message on another branch. ",
    element("button", { type: "button", onclick }, "Show it"),
    " ",
    element("button", { type: "button", onclick: hideNotice }, "Stay here"),
  );
  byId("notice").hidden = false;
}

function hideNotice() {
  byId("notice").hidden = true;
}

let refreshing;

/** Many events at once make one reading of the list. */
function refreshSessions() {
  clearTimeout(refreshing);
  refreshing = setTimeout(() => state.sessions?.load().catch(problem), 300);
}

/** The views of a session, as tabs. */
function showView(view) {
  state.view = view;
  for (const name of VIEWS) {
    byId(name).hidden = name !== view;
    byId(`tab-${name}`).setAttribute("aria-selected", String(name === view));
    byId(`tab-${name}`).tabIndex = name === view ? 0 : -1;
  }
  if (view === "tree") state.tree?.show();
  else if (view === "memory") state.memory?.show().catch(problem);
  else state.list?.draw();
}

function showSessions(shown) {
  document.body.classList.toggle("sessions-shown", shown);
  byId("show-sessions").setAttribute("aria-expanded", String(shown));
}

function listen() {
  byId("composer").onsubmit = (event) => {
    event.preventDefault();
    state.talk?.send().catch(problem);
  };
  // Where a finger writes, the key begins a line, and the button sends.
  const isTyped = matchMedia("(pointer: fine)").matches;
  byId("composer-hint").hidden = !isTyped;
  byId("text").onkeydown = (event) => {
    if (event.key === "Escape") state.talk?.cancel();
    if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
    if (!isTyped && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    byId("composer").requestSubmit();
  };
  byId("cancel-edit").onclick = () => state.talk?.cancel();
  byId("tenant").onchange = () => {
    location.hash = address(byId("tenant").value);
  };
  byId("new-session").onclick = () => {
    if (state.connection) location.hash = address(byId("tenant").value, newId());
  };
  byId("show-sessions").onclick = () => showSessions(!document.body.classList.contains("sessions-shown"));
  document.onkeydown = (event) => {
    if (event.key !== "Escape") return;
    if (byId("import-dialog").contains(event.target)) byId("import-dialog").close();
    else if (byId("sessions").contains(event.target)) {
      showSessions(false);
      byId("show-sessions").focus();
    }
  };
  for (const name of VIEWS) byId(`tab-${name}`).onclick = () => showView(name);
  byId("views").onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.target.role !== "tab") return;
    showView(VIEWS[(VIEWS.indexOf(state.view) + by + VIEWS.length) % VIEWS.length]);
    byId(`tab-${state.view}`).focus();
  };
  window.onhashchange = () => {
    const { tenant, session, message } = place();
    if (tenant !== byId("tenant").value || !state.connection) openTenant(tenant).catch(problem);
    else if (session !== undefined) openSession(session, message).catch(problem);
  };
  offerImport({
    tenant: () => byId("tenant").value,
    connection: () => state.connection,
    changed: () => refreshSessions(),
    open: (session) => {
      location.hash = address(byId("tenant").value, session);
    },
  });
}

listen();
start().catch(problem);
