/** Ends without closing its store, while its last append is under way. */
import { Talktree } from "talktree";

const talktree = await Talktree.open(process.argv[2] ?? "");
talktree.subscribe(() => {});
await talktree.session().appendMessage({ id: "m1", role: "user", parts: [] });
void talktree.session().appendMessage({ id: "m2", role: "user", parts: [] });
