// The page: which tenant and session are shown, and what happens in them.

import { Chat } from "./chat.js";
import { Connection, Unauthorized } from "./connection.js";
import { Conversation } from "./conversation.js";
import { byId, count, element, fill, number } from "./dom.js";
import { VirtualList } from "./list.js";
import { Memory } from "./memory.js";
import { answerElement, emptyElement, foldElement, messageElement, textOf } from "./message.js";
import { Sessions, exportButton, offerImport } from "./sessions.js";
import { Tree } from "./tree.js";

const state = {
  token: sessionStorage.getItem("talktree-token") ?? "",
  connection: null,
  sessions: null,
  conversation: null,
  list: null,
  tree: null,
  memory: null,
  /** Talks with a model, where the server has one. */
  chat: null,
  /** The text of an answer that is being made. */
  answering: null,
  view: "conversation",
  opened: new Set(),
  /** The parent of the next message: undefined for the leaf. */
  parent: undefined,
};

/** What the address says: `#TENANT/SESSION/MESSAGE`, each encoded. */
function place() {
  const [tenant, session, message] = location.hash.slice(1).split("/").map(decodeURIComponent);
  return { tenant: tenant || undefined, session, message };
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
  console.warn(error);
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
  else say("There is no tenant yet: type a name to begin one.");
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
}

async function openTenant(tenant) {
  state.connection?.close();
  byId("tenant").value = tenant;
  document.title = `${tenant} – Talktree`;
  const connection = new Connection(tenant, state.token, onStatus);
  state.connection = connection;
  state.sessions = new Sessions(connection, (session, message) => {
    location.hash = address(tenant, session, message);
  });
  await connection.follow(onEvent);
  const sessions = await state.sessions.load();
  const asked = place();
  const session = asked.tenant === tenant && asked.session !== undefined ? asked.session : sessions[0]?.id;
  if (session === undefined) closeSession();
  else await openSession(session, asked.tenant === tenant ? asked.message : undefined);
}

function closeSession() {
  state.conversation = null;
  byId("session-head").hidden = true;
  byId("composer").hidden = true;
  fill(byId("messages"), element("p", { class: "hint" }, "This tenant has no sessions yet. Import a transcript to begin."));
}

async function openSession(session, message) {
  document.body.classList.remove("sessions-shown");
  byId("show-sessions").setAttribute("aria-expanded", "false");
  state.sessions.mark(session);
  byId("notice").hidden = true;
  if (state.conversation?.session !== session) {
    const conversation = new Conversation(state.connection, session, (ids) => onChange(conversation, ids));
    state.conversation = conversation;
    state.opened.clear();
    setParent(undefined);
    state.list = new VirtualList(byId("messages"), "Messages", { render: renderItem, guess: guessHeight });
    state.tree = new Tree(byId("tree"), conversation, { open: openMessage });
    state.memory = new Memory(byId("memory"), state.connection, session);
    state.answering = null;
    const chat = new Chat(byId("tenant").value, session, state.token);
    state.chat = (await chat.isThere()) ? chat : null;
    byId("session-head").hidden = false;
    byId("composer").hidden = false;
    if (state.view === "memory") state.memory.show().catch(problem);
    await conversation.load();
    if (state.conversation !== conversation) return;
    fill(byId("export"), exportButton(state.connection, session, conversation.info?.title || session));
  }
  if (message !== undefined) await openMessage(message);
}

/** Brings a message into view, on another branch if it is there. */
async function openMessage(id) {
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
  state.list.scrollTo(key("message", id), { focus: true });
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
    made.push({ key: key("fold", compaction.id), compaction, open });
    if (open) push(from, to + 1);
    at = to + 1;
  }
  push(at, conversation.path.length);
  if (state.answering !== null) made.push({ key: "answering", answering: true });
  if (made.length === 0) made.push({ key: "empty", empty: true });
  return made;

  function push(from, to) {
    for (let index = from; index < to; index += 1) {
      const id = conversation.path[index];
      made.push({ key: key("message", id), id });
    }
  }
}

function renderItem(item) {
  const { conversation } = state;
  if (item.empty) return emptyElement();
  if (item.answering) return answerElement(state.answering, () => state.chat.stop());
  if (item.id === undefined) {
    return foldElement(item, () => {
      if (!state.opened.delete(item.compaction.id)) state.opened.add(item.compaction.id);
      onChange(conversation);
      state.list.refresh([item.key]);
    });
  }
  return messageElement(item.id, conversation, conversation.message(item.id), {
    branch: (id) => conversation.switchTo(conversation.leafBelow(id)).then(() => openMessage(id)).catch(problem),
    edit: (id, message) => edit(id, message),
    answer: (id) => answer(id),
    regenerate: state.chat ? (id) => regenerate(id).catch(problem) : null,
  });
}

/** A guess at the height of an item in pixels, before it is measured. */
function guessHeight(item) {
  if (item.answering || item.empty) return 120;
  if (item.id === undefined) return 140;
  const tokens = state.conversation.tokens.get(item.id) ?? 40;
  return 96 + Math.min(2000, Math.ceil((tokens * 4) / 80) * 22);
}

function onChange(conversation, ids) {
  if (conversation !== state.conversation) return;
  if (ids) {
    state.list.refresh(ids.map((id) => key("message", id)));
    return;
  }
  state.list.setItems(items(conversation));
  state.list.refresh();
  drawHead(conversation);
  if (state.view === "tree") state.tree.show();
}

/** Title, and how much of the window the path takes up. */
function drawHead(conversation) {
  const { info, configuration, path, tokens, session } = conversation;
  fill(byId("title"), info?.title || session || "The session without a name");
  const folded = new Set(conversation.folds().flatMap(({ from, to }) => path.slice(from, to + 1)));
  const sum = (ids) => ids.reduce((all, id) => all + (tokens.get(id) ?? 0), 0);
  const all = sum(path);
  const read = sum(path.filter((id) => !folded.has(id)));
  const limit = configuration?.compactAfter ?? configuration?.maxPromptTokens ?? 0;
  const meter = limit > 0 ? element("meter", { min: 0, max: Math.max(limit, read), high: limit * 0.9, value: read, "aria-label": "Tokens that are read" }) : null;
  const text = `${count(path.length, "message")}, about ${count(read, "token")} read of ${number(all)}`;
  fill(byId("window"), element("span", { class: "hint" }, text), meter, limit > 0 ? element("span", { class: "hint" }, `window ${number(limit)}`) : null);
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
  const told = await conversation.takeIn(event).catch(problem);
  if (!told?.elsewhere) return;
  const show = element("button", { type: "button", onclick: () => openMessage(told.elsewhere).then(hideNotice, problem) }, "Show it");
  fill(byId("notice"), "There is a new message on another branch. ", show);
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

function edit(id, message) {
  setParent(state.conversation.nodes.get(id)?.parentId ?? null, "Edited message, as a new branch");
  byId("text").value = textOf(message);
  byId("text").focus();
}

function answer(id) {
  setParent(id, "Another answer to that message");
  byId("text").focus();
}

function setParent(parent, label = "New message") {
  state.parent = parent;
  fill(byId("composer-label"), label);
  byId("cancel-edit").hidden = parent === undefined;
}

async function send(event) {
  event.preventDefault();
  const text = byId("text").value.trim();
  const { conversation } = state;
  if (text === "" || !conversation) return;
  const id = crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const message = { id, role: "user", parts: [{ type: "text", text }] };
  const parent = state.parent === undefined ? (conversation.leaf ?? undefined) : state.parent;
  if (state.chat) {
    byId("text").value = "";
    setParent(undefined);
    await answered(conversation, (onText) => state.chat.send(message, parent, onText));
    return;
  }
  try {
    await conversation.append(message, parent);
  } catch (error) {
    problem(error);
    return;
  }
  byId("text").value = "";
  setParent(undefined);
  await conversation.show(id);
  state.list.scrollToEnd();
}

/** Another answer of the model, as a new branch. */
async function regenerate(id) {
  const { conversation } = state;
  const question = conversation.nodes.get(id)?.parentId;
  if (question) await conversation.show(question);
  await answered(conversation, (onText) => state.chat.again(id, onText));
}

/** Shows an answer while it is made, and then the path that it is the end of. */
async function answered(conversation, ask) {
  state.answering = "";
  onChange(conversation);
  state.list.scrollToEnd();
  try {
    await ask((text) => {
      state.answering = text;
      state.list.refresh(["answering"]);
    });
  } catch (error) {
    problem(error);
  } finally {
    state.answering = null;
    if (conversation === state.conversation) {
      await conversation.show();
      state.list.scrollToEnd();
    }
  }
}

/** The views of a session, as tabs. */
function showView(view) {
  state.view = view;
  for (const name of ["conversation", "tree", "memory"]) {
    byId(name).hidden = name !== view;
    byId(`tab-${name}`).setAttribute("aria-selected", String(name === view));
    byId(`tab-${name}`).tabIndex = name === view ? 0 : -1;
  }
  if (view === "tree") state.tree?.show();
  else if (view === "memory") state.memory?.show().catch(problem);
  else state.list?.draw();
}

function listen() {
  byId("composer").onsubmit = (event) => send(event).catch(problem);
  byId("text").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("composer").requestSubmit();
    if (event.key === "Escape") setParent(undefined);
  };
  byId("cancel-edit").onclick = () => setParent(undefined);
  byId("tenant").onchange = () => {
    location.hash = address(byId("tenant").value);
  };
  byId("show-sessions").onclick = () => {
    const shown = document.body.classList.toggle("sessions-shown");
    byId("show-sessions").setAttribute("aria-expanded", String(shown));
  };
  const names = ["conversation", "tree", "memory"];
  for (const name of names) byId(`tab-${name}`).onclick = () => showView(name);
  byId("views").onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.target.role !== "tab") return;
    showView(names[(names.indexOf(state.view) + by + names.length) % names.length]);
    byId(`tab-${state.view}`).focus();
  };
  window.onhashchange = () => {
    const { tenant, session, message } = place();
    if (tenant !== byId("tenant").value || !state.connection) openTenant(tenant).catch(problem);
    else if (session !== undefined) openSession(session, message).catch(problem);
  };
  offerImport(() => state.connection, () => refreshSessions());
}

listen();
start().catch(problem);
