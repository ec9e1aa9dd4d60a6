//! Media: payloads of messages kept as raw bytes, once for equal bytes, counted per reference.
//!
//! What a message carries as base64 is cut out of its text before that is stored. Only base64 that would be written the
//! same again is taken, so the message comes back byte for byte; types and parameters stay with each reference.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{OptionalExtension, params};

use crate::chain::damaged;
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::message::{self, Inline};
use crate::place::Place;
use crate::store::{Store, Tx};
use crate::text::room_for;
use crate::types::{MediaRange, MediaReference};

/// Raw bytes of a slice: a multiple of three, so that slices become base64 one by one.
const SLICE_BYTES: usize = 192 * 1024;

/// Base64 characters of a slice.
const SLICE_CHARACTERS: usize = SLICE_BYTES / 3 * 4;

/// Raw bytes that one call gives.
const MAX_RANGE_BYTES: u64 = 16 * 1024 * 1024;

impl<P: Place> Store<P> {
    /// The raw bytes of one payload of a message, or a part of them.
    pub fn get_media(
        &mut self,
        session: &str,
        id: &str,
        index: u32,
        offset: u64,
        length: Option<u64>,
    ) -> Result<MediaRange> {
        self.read(|tx| {
            let found = tx.session(session)?;
            let key = tx.known_message(found.as_ref(), id)?;
            let reference = tx.references(key)?.into_iter().nth(index as usize).ok_or_else(|| {
                Error::new(Kind::InvalidArgument, format!("message {id} has no payload {index}")).subject("index")
            })?;
            if offset > reference.bytes {
                return Err(Error::new(Kind::InvalidArgument, "the offset is behind the end of the payload")
                    .subject("offset")
                    .numbers(offset, reference.bytes));
            }
            let length = length.unwrap_or(u64::MAX).min(MAX_RANGE_BYTES).min(reference.bytes - offset);
            let data = tx.payload_range(reference.payload, offset, length)?;
            let hash = hex(&reference.hash);
            Ok(MediaRange { data, media_type: reference.media_type, bytes: reference.bytes, hash })
        })
    }
}

/// A text without its payloads, and where they belong.
pub(crate) struct Lifted {
    pub(crate) text: String,
    pub(crate) payloads: Vec<Payload>,
    /// Bytes that are missing from the text.
    pub(crate) outside: usize,
}

/// A payload that a message brings.
pub(crate) struct Payload {
    /// Where it belongs in the text without payloads.
    at: usize,
    /// The string that holds it, in the whole text.
    inline: Inline,
    hash: blake3::Hash,
    bytes: u64,
}

/// A reference to a payload, as it is stored.
struct Reference {
    at: usize,
    payload: i64,
    prefix: String,
    media_type: String,
    pointer: String,
    hash: Vec<u8>,
    bytes: u64,
}

/// Cuts the payloads out of a text; none if there are none.
pub(crate) fn lift(text: &str) -> Option<Lifted> {
    let inline = message::inline_media(text);
    let mut lifted = Lifted { text: String::new(), payloads: Vec::new(), outside: 0 };
    let mut from = 0;
    for inline in inline {
        let Some((hash, bytes)) = text.get(base64_of(&inline)).and_then(identify) else { continue };
        lifted.text.push_str(text.get(from..inline.content.start)?);
        from = inline.content.end;
        lifted.outside += inline.content.len();
        lifted.payloads.push(Payload { at: lifted.text.len(), inline, hash, bytes });
    }
    if lifted.payloads.is_empty() {
        return None;
    }
    lifted.text.push_str(text.get(from..)?);
    Some(lifted)
}

fn base64_of(inline: &Inline) -> std::ops::Range<usize> {
    inline.content.start + inline.prefix..inline.content.end
}

/// The hash and length of what base64 says; none if it is not what would be written for those bytes.
fn identify(base64: &str) -> Option<(blake3::Hash, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = 0;
    decode(base64, |slice| {
        hasher.update(slice);
        bytes += slice.len() as u64;
        Some(())
    })?;
    Some((hasher.finalize(), bytes))
}

/// Decodes slice by slice, so that no payload is ever whole in memory. None: not canonical, or `take` says so.
fn decode(base64: &str, mut take: impl FnMut(&[u8]) -> Option<()>) -> Option<()> {
    let mut buffer = vec![0; SLICE_BYTES];
    let mut slices = base64.as_bytes().chunks(SLICE_CHARACTERS).peekable();
    while let Some(slice) = slices.next() {
        let length = STANDARD.decode_slice(slice, &mut buffer).ok()?;
        // Padding belongs at the very end.
        if slices.peek().is_some() && length != SLICE_BYTES {
            return None;
        }
        take(buffer.get(..length)?)?;
    }
    Some(())
}

impl Tx<'_> {
    /// Stores the payloads of a message: those that are there already are only counted.
    pub(crate) fn insert_media(&self, message: Key, whole: &str, payloads: &[Payload]) -> Result<()> {
        for payload in payloads {
            let known = self
                .statement("UPDATE payload SET refs = refs + 1 WHERE hash = ?1 RETURNING key")?
                .query_row([payload.hash.as_bytes()], |row| row.get::<_, i64>(0))
                .optional()?;
            let key = match known {
                Some(key) => key,
                None => self.insert_payload(whole, payload)?,
            };
            let prefix = whole.get(payload.inline.content.clone()).and_then(|text| text.get(..payload.inline.prefix));
            self.statement(
                "INSERT INTO media(message, at, payload, prefix, type, pointer) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                message,
                payload.at as i64,
                key,
                prefix.unwrap_or_default(),
                payload.inline.media_type,
                payload.inline.pointer
            ])?;
        }
        Ok(())
    }

    fn insert_payload(&self, whole: &str, payload: &Payload) -> Result<i64> {
        self.statement("INSERT INTO payload(hash, bytes, refs) VALUES (?1, ?2, 1)")?
            .execute(params![payload.hash.as_bytes(), payload.bytes as i64])?;
        let key = self.connection.last_insert_rowid();
        let mut insert = self.statement("INSERT INTO slice(payload, data) VALUES (?1, ?2)")?;
        let mut failed = None;
        decode(whole.get(base64_of(&payload.inline)).unwrap_or_default(), |slice| {
            insert.execute(params![key, slice]).map(drop).map_err(|error| failed = Some(error)).ok()
        });
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(key),
        }
    }

    /// Lets go of the payloads of messages, and removes those that nothing refers to any more.
    pub(crate) fn delete_media(&self, first: Key, last: Key) -> Result<()> {
        let mut used = self
            .statement("SELECT payload, count(*) FROM media WHERE message >= ?1 AND message <= ?2 GROUP BY payload")?;
        let used = used
            .query_map(params![first, last], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        if used.is_empty() {
            return Ok(());
        }
        self.statement("DELETE FROM media WHERE message >= ?1 AND message <= ?2")?.execute(params![first, last])?;
        for (payload, count) in used {
            let left: i64 = self
                .statement("UPDATE payload SET refs = refs - ?2 WHERE key = ?1 RETURNING refs")?
                .query_row(params![payload, count], |row| row.get(0))?;
            if left <= 0 {
                self.statement("DELETE FROM slice WHERE payload = ?1")?.execute([payload])?;
                self.statement("DELETE FROM payload WHERE key = ?1")?.execute([payload])?;
            }
        }
        Ok(())
    }

    fn references(&self, message: Key) -> Result<Vec<Reference>> {
        let mut statement = self.statement(
            "SELECT m.at, m.payload, m.prefix, m.type, m.pointer, p.hash, p.bytes FROM media m
             JOIN payload p ON p.key = m.payload WHERE m.message = ?1 ORDER BY m.at",
        )?;
        let rows = statement.query_map([message], |row| {
            Ok(Reference {
                at: row.get::<_, u32>(0)? as usize,
                payload: row.get(1)?,
                prefix: row.get(2)?,
                media_type: row.get(3)?,
                pointer: row.get(4)?,
                hash: row.get(5)?,
                bytes: row.get::<_, i64>(6)?.unsigned_abs(),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What a message read by reference has left out.
    pub(crate) fn media_references(&self, message: Key) -> Result<Vec<MediaReference>> {
        let references = self.references(message)?;
        Ok((0..)
            .zip(references)
            .map(|(index, reference)| MediaReference {
                index,
                pointer: reference.pointer,
                hash: hex(&reference.hash),
                media_type: reference.media_type,
                bytes: reference.bytes,
            })
            .collect())
    }

    /// The whole text of a message, of `bytes` bytes, from the text without payloads.
    pub(crate) fn with_media(&self, message: Key, text: &str, bytes: u64) -> Result<String> {
        let mut whole = String::with_capacity(room_for(bytes));
        let mut from = 0;
        for reference in self.references(message)? {
            let before = text.get(from..reference.at).ok_or_else(|| damaged("media stands in no text".to_owned()))?;
            whole.push_str(before);
            from = reference.at;
            whole.push_str(&reference.prefix);
            let mut slices = self.statement("SELECT data FROM slice WHERE payload = ?1 ORDER BY key")?;
            let mut slices = slices.query([reference.payload])?;
            while let Some(slice) = slices.next()? {
                STANDARD.encode_string(slice.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?, &mut whole);
            }
        }
        whole.push_str(text.get(from..).unwrap_or_default());
        if whole.len() as u64 != bytes {
            return Err(damaged(format!("a message with media has {} bytes instead of {bytes}", whole.len())));
        }
        Ok(whole)
    }

    /// Whether the bytes of a payload are those that it is named by.
    pub(crate) fn is_payload_whole(&self, payload: i64, hash: &[u8]) -> Result<bool> {
        let mut hasher = blake3::Hasher::new();
        let mut slices = self.statement("SELECT data FROM slice WHERE payload = ?1 ORDER BY key")?;
        let mut slices = slices.query([payload])?;
        while let Some(slice) = slices.next()? {
            hasher.update(slice.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
        }
        Ok(hasher.finalize().as_bytes() == hash)
    }

    fn payload_range(&self, payload: i64, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut data = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        let skip = offset / SLICE_BYTES as u64;
        let mut slices = self.statement("SELECT data FROM slice WHERE payload = ?1 ORDER BY key LIMIT -1 OFFSET ?2")?;
        let mut slices = slices.query(params![payload, skip as i64])?;
        let mut at = skip * SLICE_BYTES as u64;
        while let Some(slice) = slices.next()?
            && at < offset + length
        {
            let slice = slice.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            let from = offset.saturating_sub(at) as usize;
            let to = ((offset + length - at) as usize).min(slice.len());
            data.extend_from_slice(slice.get(from..to).unwrap_or_default());
            at += slice.len() as u64;
        }
        Ok(data)
    }

    /// Whether a text blanks a string where the stored message has a payload: then it is a copy that was read by
    /// reference, and writing it would lose the payload.
    pub(crate) fn blanks_media(&self, message: Key, text: &str) -> Result<Option<String>> {
        let mut statement = self.statement("SELECT pointer FROM media WHERE message = ?1")?;
        let mut pointers = statement.query([message])?;
        while let Some(row) = pointers.next()? {
            let pointer: String = row.get(0)?;
            if message::is_blank_at(text, &pointer) {
                return Ok(Some(pointer));
            }
        }
        Ok(None)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
