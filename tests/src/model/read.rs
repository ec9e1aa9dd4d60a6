//! Reading the model.

use talktree_engine::{
    BranchPoint, HistoryView, Kind, MediaMode, Message, Node, ReadOptions, RecentHistory, RecentOptions, RowStats,
};

use super::units::cuts;
use super::{Answer, Model, Number, Record, Session, valid_session};

/// Where a read of a path, of branches or of the tree goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// A read of a path.
    History(Walk),
    /// A read of row stats.
    RowStats(Walk),
    /// A read of branches: the session, the point and the last seq given.
    Branches(String, Option<Number>, u32),
    /// A read of the tree: the session and the last seq given.
    Nodes(String, u32),
}

/// The path as it was at the first page, and how far the read is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    session: String,
    path: Vec<Number>,
    newest_first: bool,
    overlays: bool,
    media: MediaMode,
    given: usize,
}

/// A page, with the model's cursor.
pub type RowCursor<T> = (Vec<T>, Option<Cursor>);

impl Model {
    /// A message by its id.
    pub fn get_message(&self, session: &str, id: &str, media: MediaMode) -> Answer<Option<Message>> {
        let Some(session) = self.session(session)? else { return Ok(None) };
        Ok(session.find(id).map(|record| session.as_read(record, media)))
    }

    /// The present leaf.
    pub fn get_latest_leaf(&self, session: &str, media: MediaMode) -> Answer<Option<Message>> {
        let Some(session) = self.session(session)? else { return Ok(None) };
        Ok(session.present_leaf().map(|record| session.as_read(record, media)))
    }

    /// The bytes of a payload of a message.
    pub fn get_media(&self, session: &str, id: &str, index: u32, offset: u64, length: Option<u64>) -> Answer<Vec<u8>> {
        let found = self.session(session)?.and_then(|session| session.find(id)).ok_or(Kind::UnknownMessage)?;
        let payload = found.text.payloads().get(index as usize).copied().ok_or(Kind::InvalidArgument)?;
        let bytes = payload.bytes();
        let rest = bytes.get(offset as usize..).ok_or(Kind::InvalidArgument)?;
        let length = length.unwrap_or(u64::MAX).min(rest.len() as u64);
        Ok(rest[..length as usize].to_vec())
    }

    /// A page of a path.
    pub fn read_history(
        &self,
        session: &str,
        options: &ReadOptions,
        cursor: Option<&Cursor>,
    ) -> Answer<RowCursor<Message>> {
        let limit = page_size(options.batch_size, 50)?;
        let budget = options.max_batch_bytes.unwrap_or(4 * 1024 * 1024);
        let cursor = match cursor {
            None => None,
            Some(Cursor::History(walk)) => Some(walk),
            Some(_) => return self.foreign(session),
        };
        let Some(mut walk) = self.walk(session, &options.view, cursor)? else { return Ok((Vec::new(), None)) };
        let Some(found) = self.session(session)? else { return Ok((Vec::new(), None)) };
        let mut messages: Vec<Message> = Vec::new();
        let mut bytes = 0;
        for number in walk.path.iter().skip(walk.given).take(limit) {
            let Some(record) = found.record(*number) else { return Err(Kind::StaleCursor) };
            let message = found.as_read(record, walk.media);
            bytes += message.bytes;
            if !messages.is_empty() && bytes > budget {
                break;
            }
            messages.push(message);
        }
        walk.given += messages.len();
        let more = walk.given < walk.path.len();
        Ok((messages, more.then_some(Cursor::History(walk))))
    }

    /// A whole path.
    pub fn get_history(&self, session: &str, view: &HistoryView) -> Answer<Vec<Message>> {
        let Some(found) = self.session(session)? else { return self.no_path(view.leaf_id.as_deref()) };
        let mut path = found.path(view.leaf_id.as_deref())?;
        if view.newest_first {
            path.reverse();
        }
        Ok(path.into_iter().map(|record| found.as_read(record, view.media)).collect())
    }

    /// The newest part of a path.
    pub fn get_recent_history(&self, session: &str, options: &RecentOptions) -> Answer<RecentHistory> {
        let nothing = RecentHistory { messages: Vec::new(), truncated: false, total_content_bytes: 0 };
        let Some(found) = self.session(session)? else {
            return self.no_path::<Message>(options.leaf_id.as_deref()).map(|_| nothing);
        };
        let path = found.path(options.leaf_id.as_deref())?;
        let read = |record: &&Record| found.as_read(record, options.media);
        let bytes = |records: &[&Record]| records.iter().map(|record| read(record).bytes).sum::<u64>();
        let cuts = cuts(&path);
        let fits = |&&kept: &&usize| bytes(&path[path.len() - kept..]) <= options.max_bytes;
        let Some(&kept) = cuts.iter().rfind(fits).or(cuts.first()) else { return Ok(nothing) };
        Ok(RecentHistory {
            messages: path[path.len() - kept..].iter().map(read).collect(),
            truncated: kept < path.len(),
            total_content_bytes: bytes(&path),
        })
    }

    /// A page of the row stats of a path.
    pub fn get_history_row_stats(
        &self,
        session: &str,
        leaf_id: Option<&str>,
        cursor: Option<&Cursor>,
        limit: Option<u32>,
    ) -> Answer<RowCursor<RowStats>> {
        let limit = page_size(limit, 100)?;
        let view = HistoryView { leaf_id: leaf_id.map(str::to_owned), overlays: false, ..HistoryView::default() };
        let cursor = match cursor {
            None => None,
            Some(Cursor::RowStats(walk)) => Some(walk),
            Some(_) => return self.foreign(session),
        };
        let Some(mut walk) = self.walk(session, &view, cursor)? else { return Ok((Vec::new(), None)) };
        let Some(found) = self.session(session)? else { return Ok((Vec::new(), None)) };
        let mut rows = Vec::new();
        for number in walk.path.iter().skip(walk.given).take(limit) {
            let Some(record) = found.record(*number) else { return Err(Kind::StaleCursor) };
            rows.push(RowStats {
                id: record.text.id.clone(),
                role: record.text.role.clone(),
                parent_id: found.id_of(record.parent),
                seq: record.seq,
                created_at: record.created_at,
                bytes: record.json.len() as u64,
                token_estimate: record.token_estimate,
            });
        }
        walk.given += rows.len();
        let more = walk.given < walk.path.len();
        Ok((rows, more.then_some(Cursor::RowStats(walk))))
    }

    /// A page of the answers to a message, or of the roots.
    pub fn get_branches(
        &self,
        session: &str,
        point: &BranchPoint,
        cursor: Option<&Cursor>,
        limit: Option<u32>,
    ) -> Answer<RowCursor<Message>> {
        let limit = page_size(limit, 100)?;
        let found = self.session(session)?;
        let parent = match point {
            BranchPoint::Root => None,
            BranchPoint::Id(id) => {
                let found = found.and_then(|session| session.find(id)).ok_or(Kind::UnknownMessage)?;
                Some(found.number)
            }
        };
        let after = match cursor {
            None => 0,
            Some(Cursor::Branches(of, at, after)) if (of.as_str(), *at) == (session, parent) => *after,
            Some(_) => return Err(Kind::StaleCursor),
        };
        let Some(found) = found else { return Ok((Vec::new(), None)) };
        let mut children = found.children(parent);
        children.retain(|child| child.seq > after);
        let more = children.len() > limit;
        children.truncate(limit);
        let last = children.last().map_or(0, |child| child.seq);
        let messages = children.into_iter().map(|child| found.as_read(child, MediaMode::Inline)).collect();
        Ok((messages, more.then(|| Cursor::Branches(session.to_owned(), parent, last))))
    }

    /// A page of the tree.
    pub fn list_messages(&self, session: &str, cursor: Option<&Cursor>, limit: Option<u32>) -> Answer<RowCursor<Node>> {
        let limit = page_size(limit, 100)?;
        let found = self.session(session)?;
        let after = match cursor {
            None => 0,
            Some(Cursor::Nodes(of, after)) if of == session => *after,
            Some(_) => return Err(Kind::StaleCursor),
        };
        let Some(found) = found else { return Ok((Vec::new(), None)) };
        let rest: Vec<&Record> = found.messages.iter().filter(|record| record.seq > after).collect();
        let nodes: Vec<Node> = rest
            .iter()
            .take(limit)
            .map(|record| Node {
                id: record.text.id.clone(),
                parent_id: found.id_of(record.parent),
                role: record.text.role.clone(),
                seq: record.seq,
                children: found.children(Some(record.number)).len() as u32,
                preview: record.preview(),
            })
            .collect();
        let last = nodes.last().map_or(0, |node| node.seq);
        Ok((nodes, (rest.len() > limit).then(|| Cursor::Nodes(session.to_owned(), last))))
    }

    /// A read of a path from its beginning, or where a cursor says. None: the path is empty.
    fn walk(&self, session: &str, view: &HistoryView, cursor: Option<&Walk>) -> Answer<Option<Walk>> {
        let found = self.session(session)?;
        let Some(walk) = cursor else {
            let Some(found) = found else {
                return self.no_path::<Walk>(view.leaf_id.as_deref()).map(|_| None);
            };
            let mut path: Vec<Number> =
                found.path(view.leaf_id.as_deref())?.into_iter().map(|record| record.number).collect();
            if view.newest_first {
                path.reverse();
            }
            return Ok((!path.is_empty()).then(|| Walk {
                session: session.to_owned(),
                path,
                newest_first: view.newest_first,
                overlays: view.overlays,
                media: view.media,
                given: 0,
            }));
        };
        let same = walk.session == session
            && (walk.newest_first, walk.overlays, walk.media) == (view.newest_first, view.overlays, view.media);
        let Some(found) = found.filter(|_| same) else { return Err(Kind::StaleCursor) };
        if walk.path.iter().any(|number| found.record(*number).is_none()) {
            return Err(Kind::StaleCursor);
        }
        let leaf = if walk.newest_first { walk.path.first() } else { walk.path.last() };
        if let Some(id) = &view.leaf_id
            && found.find(id).map(|record| record.number) != leaf.copied()
        {
            return Err(Kind::StaleCursor);
        }
        Ok(Some(walk.clone()))
    }

    /// A cursor of another call.
    fn foreign<T>(&self, session: &str) -> Answer<T> {
        valid_session(session)?;
        Err(Kind::StaleCursor)
    }

    /// The path in a session that was never written.
    fn no_path<T>(&self, leaf_id: Option<&str>) -> Answer<Vec<T>> {
        if leaf_id.is_some() { Err(Kind::UnknownMessage) } else { Ok(Vec::new()) }
    }
}

impl Session {
    /// From the root to a leaf.
    fn path(&self, leaf_id: Option<&str>) -> Answer<Vec<&Record>> {
        let mut at = match leaf_id {
            Some(id) => Some(self.find(id).ok_or(Kind::UnknownMessage)?),
            None => self.present_leaf(),
        };
        let mut path = Vec::new();
        while let Some(record) = at {
            path.push(record);
            at = record.parent.and_then(|parent| self.record(parent));
        }
        path.reverse();
        Ok(path)
    }
}

fn page_size(asked: Option<u32>, default: u32) -> Answer<usize> {
    match asked.unwrap_or(default) {
        size @ 1..=1000 => Ok(size as usize),
        _ => Err(Kind::InvalidArgument),
    }
}
