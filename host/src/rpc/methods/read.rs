//! Methods that read messages.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

use super::super::{
    failure::Failure,
    json::{Object, push_json, push_list},
    params::Params,
};
use crate::{BranchPoint, HistoryView, MediaMode, MediaReference, Message, ReadOptions, RecentOptions, Session};

type Answer = Result<String, Failure>;

fn media(params: Params<'_>) -> Result<MediaMode, Failure> {
    let words = [("inline", MediaMode::Inline), ("reference", MediaMode::Reference)];
    Ok(params.choice("media", &words)?.unwrap_or(MediaMode::Inline))
}

fn view(params: Params<'_>) -> Result<HistoryView, Failure> {
    Ok(HistoryView {
        leaf_id: params.text("leafId")?,
        newest_first: params.flag("newestFirst")?.unwrap_or(false),
        overlays: params.flag("overlays")?.unwrap_or(true),
        media: media(params)?,
    })
}

/// Writes the messages as they are stored. Where media is given by reference, `media` tells for each message, in the
/// same order, what was left out of it.
fn messages<'o>(answer: &'o mut Object, messages: &[Message], media: MediaMode) -> &'o mut Object {
    answer.list("messages", messages, |message, out| push_json(out, &message.json));
    if media == MediaMode::Reference {
        answer.list("media", messages, |message, out| push_list(out, &message.media, push_reference));
    }
    answer
}

fn push_reference(media: &MediaReference, out: &mut String) {
    let mut reference = Object::new();
    reference
        .number("index", media.index)
        .text("pointer", &media.pointer)
        .text("hash", &media.hash)
        .text("mediaType", &media.media_type)
        .number("bytes", media.bytes);
    out.push_str(&reference.finish());
}

fn one_message(message: Option<&Message>, media: MediaMode) -> String {
    let mut answer = Object::new();
    answer.maybe_json("message", message.map(|message| message.json.as_str()));
    if media == MediaMode::Reference {
        answer.list("media", message.map_or(&[], |message| &message.media[..]), push_reference);
    }
    answer
        .maybe_text("parentId", message.and_then(|message| message.parent_id.as_deref()))
        .maybe_number("seq", message.map(|message| message.seq))
        .maybe_number("createdAt", message.map(|message| message.created_at))
        .maybe_number("tokenEstimate", message.map(|message| message.token_estimate))
        .finish()
}

pub(super) async fn get_message(session: &Session, params: Params<'_>) -> Answer {
    let media = media(params)?;
    let message = session.get_message(&params.required_text("id")?).media(media).await?;
    Ok(one_message(message.as_ref(), media))
}

pub(super) async fn get_latest_leaf(session: &Session, params: Params<'_>) -> Answer {
    let media = media(params)?;
    Ok(one_message(session.get_latest_leaf().media(media).await?.as_ref(), media))
}

pub(super) async fn get_media(session: &Session, params: Params<'_>) -> Answer {
    let mut range = session.get_media(&params.required_text("id")?, params.required_number("index")?);
    if let Some(offset) = params.number("offset")? {
        range = range.offset(offset);
    }
    let range = range.length(params.number::<u64>("length")?).await?;
    Ok(Object::new()
        .text("base64", &BASE64.encode(&range.data))
        .text("mediaType", &range.media_type)
        .number("bytes", range.bytes)
        .text("hash", &range.hash)
        .finish())
}

pub(super) async fn get_history(session: &Session, params: Params<'_>) -> Answer {
    let view = view(params)?;
    let media = view.media;
    let history = session.get_history().view(view).await?;
    Ok(messages(&mut Object::new(), &history, media).finish())
}

pub(super) async fn read_history(session: &Session, params: Params<'_>) -> Answer {
    let options = ReadOptions {
        view: view(params)?,
        batch_size: params.number("batchSize")?,
        max_batch_bytes: params.number("maxBatchBytes")?,
    };
    let media = options.view.media;
    let page = session.read_history().options(options).cursor(params.text("cursor")?).await?;
    Ok(messages(&mut Object::new(), &page.messages, media).maybe_text("cursor", page.cursor.as_deref()).finish())
}

pub(super) async fn get_recent_history(session: &Session, params: Params<'_>) -> Answer {
    let options = RecentOptions {
        max_bytes: params.required_number("maxBytes")?,
        leaf_id: params.text("leafId")?,
        overlays: params.flag("overlays")?.unwrap_or(true),
        media: media(params)?,
    };
    let media = options.media;
    let recent = session.get_recent_history(options.max_bytes).options(options).await?;
    Ok(messages(&mut Object::new(), &recent.messages, media)
        .flag("truncated", recent.truncated)
        .number("totalContentBytes", recent.total_content_bytes)
        .finish())
}

pub(super) async fn get_history_row_stats(session: &Session, params: Params<'_>) -> Answer {
    let mut pages =
        session.get_history_row_stats().cursor(params.text("cursor")?).limit(params.number::<u32>("limit")?);
    if let Some(leaf) = params.text("leafId")? {
        pages = pages.leaf(leaf);
    }
    let page = pages.await?;
    Ok(Object::new()
        .list("rows", &page.rows, |row, out| {
            let mut stats = Object::new();
            stats
                .text("id", &row.id)
                .text("role", &row.role)
                .maybe_text("parentId", row.parent_id.as_deref())
                .number("seq", row.seq)
                .number("createdAt", row.created_at)
                .number("bytes", row.bytes)
                .number("tokenEstimate", row.token_estimate);
            out.push_str(&stats.finish());
        })
        .maybe_text("cursor", page.cursor.as_deref())
        .finish())
}

pub(super) async fn get_branches(session: &Session, params: Params<'_>) -> Answer {
    let point = BranchPoint::from(params.required_nullable_text("id")?);
    let page = session.get_branches(point).cursor(params.text("cursor")?).limit(params.number::<u32>("limit")?).await?;
    Ok(messages(&mut Object::new(), &page.messages, MediaMode::Inline)
        .maybe_text("cursor", page.cursor.as_deref())
        .finish())
}

pub(super) async fn list_messages(session: &Session, params: Params<'_>) -> Answer {
    let page = session.list_messages().cursor(params.text("cursor")?).limit(params.number::<u32>("limit")?).await?;
    Ok(Object::new()
        .list("messages", &page.nodes, |node, out| {
            let mut message = Object::new();
            message
                .text("id", &node.id)
                .maybe_text("parentId", node.parent_id.as_deref())
                .text("role", &node.role)
                .number("seq", node.seq)
                .number("children", node.children)
                .text("preview", &node.preview);
            out.push_str(&message.finish());
        })
        .maybe_text("cursor", page.cursor.as_deref())
        .finish())
}
