//! Everything that can be written to a store, once each.

use talktree_engine::{
    AppendOptions, BlockDefinition, BlockWrite, ConfigScope, ConfigurationChange, DeleteMode, Error, Parent, Place,
    Setting, Source, Store, Summary,
};

use crate::reads::Reader;
use crate::seed::message;

/// Writes in a session of the seeded store and elsewhere. `last` decides what comes at the end.
pub(crate) fn everything<P: Place>(store: &mut Store<P>, last: u8, judge: impl FnMut(&str, &Error)) {
    let mut writer = Reader { store, judge };
    writer.change_messages("");
    writer.change_messages("s");
    writer.change_compactions("");
    writer.change_memory("");
    writer.call("set-title", |store| store.set_title("", Some("another"), false));
    writer.call("fork-session", |store| store.fork_session("", None, "copy"));
    let change = ConfigurationChange { protect_head: Setting::Value(2), ..ConfigurationChange::default() };
    writer.call("configure", |store| store.configure(&ConfigScope::Session("".to_owned()), &change));
    let lines = r#"{"type":"message","session":"s","seq":900,"message":{"id":"l","role":"user","parts":[]}}"#;
    writer.call("import-lines", |store| store.import_lines(None, lines));
    match last % 4 {
        0 => drop(writer.call("clear-messages", |store| store.clear_messages(""))),
        1 => drop(writer.call("delete-session", |store| store.delete_session(""))),
        2 => drop(writer.call("vacuum", Store::vacuum)),
        _ => drop(writer.call("snapshot", |store| store.snapshot(None, None))),
    }
    writer.call("close", Store::close);
}

impl<P: Place, J: FnMut(&str, &Error)> Reader<'_, P, J> {
    fn change_messages(&mut self, session: &str) {
        let new = message("new", "user", "deploy again");
        self.call("append-message", |store| store.append_message(session, &new, &AppendOptions::default()));
        for parent in [Parent::Root, Parent::Id("m7".to_owned()), Parent::Id("m39".to_owned())] {
            let chain = [message("chain-1", "user", "one"), message("chain-2", "assistant", "two")];
            let options = AppendOptions { parent, ..AppendOptions::default() };
            self.call("append-messages", |store| store.append_messages(session, &chain, &options));
        }
        for id in ["m8", "m39", "large", "s1"] {
            let other = message(id, "user", "other text");
            self.call("update-message", |store| store.update_message(session, &other, Source::Client));
        }
        let odd = message("odd", "user", "upserted");
        self.call("upsert-message", |store| store.upsert_message(session, &odd, &Parent::Latest, Source::Client));
        for (ids, mode) in [(["m10", "picture"], DeleteMode::Splice), (["m15", "s4"], DeleteMode::Subtree)] {
            let ids = ids.map(str::to_owned);
            self.call("delete-messages", |store| store.delete_messages(session, &ids, mode, true));
            self.call("delete-messages", |store| store.delete_messages(session, &ids, mode, false));
        }
        self.call("set-leaf", |store| store.set_leaf(session, Some("m12")));
    }

    fn change_compactions(&mut self, session: &str) {
        self.call("add-compaction", |store| store.add_compaction(session, "by hand", "m1", "m2"));
        self.call("remove-compaction", |store| store.remove_compaction(session, "summary-2"));
        let text = || Summary { text: "in short".to_owned(), ..Summary::default() };
        self.call("compact", |store| store.compact(session, None, |_| Ok(text())));
    }

    fn change_memory(&mut self, session: &str) {
        self.call("define-block", |store| store.define_block(session, "new", &BlockDefinition::default()));
        let write = BlockWrite { content: "written".to_owned(), ..BlockWrite::default() };
        self.call("write-block", |store| store.write_block(session, "notes", &write));
        self.call("restore-block", |store| store.restore_block(session, "notes", 1));
        self.call("system-prompt", |store| store.system_prompt(session));
        self.call("refresh-system-prompt", |store| store.refresh_system_prompt(session));
        let load = r#"{"label":"skills","key":"key0"}"#;
        self.call("call-tool", |store| store.call_tool(session, "load_context", load));
        self.call("remove-block", |store| store.remove_block(session, "rules"));
    }
}
