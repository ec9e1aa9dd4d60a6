// Transcripts of other programs, from the button and from what is dropped on the page: how far they have come, what became of
// them, and a way to stop.

import { byId, count, element, fill, number } from "./dom.js";
import { piecesOf, transcriptsOf } from "./transcripts.js";

/** Problems that are listed for a file; the others are counted. */
const LISTED = 5;

/**
 * Takes transcripts in. `place` has `tenant()` and `connection()` of the moment, and is told by `changed()` that there is more
 * to list and by `open(session)` which one somebody wants to see.
 */
export function offerImport(place) {
  const input = byId("files");
  const waiting = [];
  let stop = null;
  input.onchange = () => {
    take([...input.files]);
    input.value = "";
  };
  byId("import-stop").onclick = () => {
    waiting.length = 0;
    stop?.abort();
  };
  byId("import-close").onclick = () => {
    byId("import-dialog").close();
  };
  offerDrop(take);

  /** Files that are given while others are under way come behind them. */
  function take(files) {
    const connection = place.connection();
    if (!connection || files.length === 0) return;
    waiting.push(...files.map((file) => ({ file, connection })));
    if (!stop) run().finally(() => (stop = null));
  }

  async function run() {
    stop = new AbortController();
    fill(byId("import-report"));
    byId("import-title").textContent = `Import into ${place.tenant()}`;
    byId("import-stop").hidden = false;
    if (!byId("import-dialog").open) byId("import-dialog").show();
    byId("import-dialog").focus();
    while (waiting.length > 0) {
      const { file, connection } = waiting.shift();
      const line = element("li", { class: "taken" });
      byId("import-report").append(line);
      await takeOne(file, connection, line, stop.signal);
      place.changed();
    }
    byId("import-stop").hidden = true;
  }

  async function takeOne(file, connection, line, signal) {
    const progress = element("progress", { max: 1, value: 0, "aria-label": `Progress of ${file.name}` });
    const facts = element("p", { class: "hint", role: "status" }, "is read …");
    fill(line, element("p", { class: "name", dir: "auto" }, file.name), progress, facts);
    const total = new Total();
    let failure = null;
    try {
      const transcripts = await transcriptsOf(file);
      const size = transcripts.reduce((sum, transcript) => sum + transcript.size, 0);
      let before = 0;
      for (const transcript of transcripts) {
        await takeTranscript(transcript, connection, total, signal, (bytes) => {
          progress.value = Math.min(1, (before + bytes) / Math.max(1, size));
          fill(facts, `${Math.floor(progress.value * 100)} %, ${total}`);
        });
        before += transcript.size;
      }
    } catch (error) {
      // A part of a file has no name there.
      failure = signal.aborted ? "stopped; what was taken stays" : error.message.replace(/^"" /, "it ");
    }
    progress.remove();
    fill(facts, failure && total.isEmpty ? "" : String(total));
    if (failure) line.append(element("p", { class: "problem", role: "alert" }, failure));
    line.append(...total.problems());
    const [first] = total.sessions;
    if (first !== undefined) {
      const open = () => {
        byId("import-dialog").close();
        place.open(first);
      };
      line.append(element("button", { type: "button", onclick: open }, total.sessions.size > 1 ? "Open the first" : "Open"));
    }
  }

  async function takeTranscript(transcript, connection, total, signal, onProgress) {
    const name = transcript.name.replace(/\.[^.]*$/, "");
    let taken = 0;
    for await (const { text, bytes, unnamed } of piecesOf(await transcript.stream())) {
      signal.throwIfAborted();
      const params = unnamed ? { data: text, session: name } : { data: text };
      let answer;
      try {
        answer = await connection.post("importData", params, signal);
      } catch (error) {
        // An export has files with other things in it, too.
        if (taken === 0 && transcript.inArchive && /looks like none of the formats/.test(error.message)) {
          total.others += 1;
          return;
        }
        throw error;
      }
      taken += 1;
      total.add(answer);
      onProgress(bytes);
    }
    if (taken === 0) throw new Error("there is nothing in this file");
  }
}

/** What became of a file. */
class Total {
  sessions = new Set();
  others = 0;
  #imported = 0;
  #skipped = 0;
  #failed = 0;
  #problems = [];

  add({ sessions, failed }) {
    for (const session of sessions) {
      this.sessions.add(session.id);
      this.#imported += session.imported;
      this.#skipped += session.skipped;
    }
    const wrong = [...failed, ...sessions.flatMap((session) => session.failed)];
    this.#failed += wrong.length;
    this.#problems.push(...wrong.slice(0, LISTED - this.#problems.length));
  }

  get isEmpty() {
    return this.sessions.size === 0;
  }

  problems() {
    if (this.#failed === 0) return [];
    const items = this.#problems.map(({ where, why }) => element("li", { dir: "auto" }, `${where}: ${why}`));
    return [element("p", { class: "problem" }, `${count(this.#failed, "part")} could not be taken:`), element("ul", {}, items)];
  }

  toString() {
    const facts = [`${count(this.#imported, "message")} in ${count(this.sessions.size, "session")}`];
    if (this.#skipped > 0) facts.push(`${number(this.#skipped)} were there already`);
    if (this.others > 0) facts.push(`${count(this.others, "other file")} left out`);
    return facts.join(", ");
  }
}

/** What is dropped anywhere on the page. While something is held over it, the page says what will happen. */
function offerDrop(take) {
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.ondragover = (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  };
  document.ondragleave = (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
  };
  document.ondrop = (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    take([...event.dataTransfer.files]);
  };
}
