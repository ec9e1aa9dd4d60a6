//! All that a store answers, as text: two stores with equal texts cannot be told apart by reading them.

use std::fmt::Write as _;

use talktree_engine::{
    BranchPoint, ConfigScope, ConfigurationChange, HistoryView, MediaMode, Message, Node, Place, RecentOptions, Store,
};

/// Everything that can be read of these sessions, but for ids of the store's own life (cursors, events).
pub(crate) fn everything<P: Place>(store: &mut Store<P>, sessions: &[&str]) -> String {
    let mut text = String::new();
    let in_force = store.configure(&ConfigScope::Store, &ConfigurationChange::default()).unwrap();
    writeln!(text, "{in_force:?}").unwrap();
    for session in sessions {
        of_session(store, session, &mut text);
    }
    text
}

fn of_session<P: Place>(store: &mut Store<P>, session: &str, text: &mut String) {
    writeln!(text, "session {session:?}").unwrap();
    let scope = ConfigScope::Session(session.to_owned());
    writeln!(text, "{:?}", store.configure(&scope, &ConfigurationChange::default()).unwrap()).unwrap();
    let leaf = store.get_latest_leaf(session, MediaMode::Inline).unwrap();
    writeln!(text, "leaf {:?}", leaf.map(|message| message.id)).unwrap();
    for compaction in store.get_compactions(session).unwrap() {
        writeln!(text, "{compaction:?}").unwrap();
    }
    for block in store.list_blocks(session).unwrap() {
        writeln!(text, "{block:?}").unwrap();
        for version in store.block_history(session, &block.label).unwrap() {
            writeln!(text, "  {version:?}").unwrap();
        }
    }
    if let Some(reminder) = store.reminder(session).unwrap() {
        writeln!(text, "reminder {reminder:?}").unwrap();
    }
    let roots = store.get_branches(session, &BranchPoint::Root, None, Some(1000)).unwrap();
    writeln!(text, "roots {:?}", ids(&roots.items)).unwrap();
    for node in nodes(store, session) {
        writeln!(text, "{node:?}").unwrap();
        let message = store.get_message(session, &node.id, MediaMode::Inline).unwrap().unwrap();
        line(text, &message);
        let message = store.get_message(session, &node.id, MediaMode::Reference).unwrap().unwrap();
        line(text, &message);
        for media in &message.media {
            let range = store.get_media(session, &node.id, media.index, 0, None).unwrap();
            writeln!(text, "  {} {} {:016x}", range.media_type, range.bytes, digest(&range.data)).unwrap();
        }
        let answers = store.get_branches(session, &BranchPoint::Id(node.id.clone()), None, Some(1000)).unwrap();
        writeln!(text, "  answers {:?}", ids(&answers.items)).unwrap();
        let view = HistoryView { leaf_id: Some(node.id.clone()), ..HistoryView::default() };
        let shown = store.get_history(session, &view).unwrap();
        writeln!(text, "  path {:?}", ids(&shown)).unwrap();
        for message in shown.iter().filter(|message| message.id.starts_with("compaction_")) {
            line(text, message);
        }
        let raw = store.get_history(session, &HistoryView { overlays: false, ..view }).unwrap();
        writeln!(text, "  raw path {:?}", ids(&raw)).unwrap();
        for max_bytes in [0, 700] {
            let options = RecentOptions {
                max_bytes,
                leaf_id: Some(node.id.clone()),
                overlays: max_bytes > 0,
                media: MediaMode::Inline,
            };
            let recent = store.get_recent_history(session, &options).unwrap();
            let ids = ids(&recent.messages);
            writeln!(text, "  recent {ids:?} {} {}", recent.truncated, recent.total_content_bytes).unwrap();
        }
    }
}

fn nodes<P: Place>(store: &mut Store<P>, session: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.list_messages(session, cursor.as_deref(), Some(1000)).unwrap();
        nodes.extend(page.items);
        cursor = page.cursor;
        if cursor.is_none() {
            return nodes;
        }
    }
}

fn line(text: &mut String, message: &Message) {
    let Message { id, role, parent_id, seq, created_at, bytes, token_estimate, json, media } = message;
    let json = if json.len() <= 500 { json.clone() } else { format!("{:016x}", digest(json.as_bytes())) };
    writeln!(
        text,
        "  {id:?} {role:?} {parent_id:?} {seq} {created_at} {bytes} {token_estimate} {} {json}",
        media.len()
    )
    .unwrap();
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
