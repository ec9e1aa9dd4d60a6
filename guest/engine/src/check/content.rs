//! What messages and payloads hold, all of it.

use super::MAX_PROBLEMS;
use crate::error::{Kind, Result};
use crate::key::Key;
use crate::message::Incoming;
use crate::store::Tx;
use crate::types::MediaMode;

impl Tx<'_> {
    /// Messages that cannot be read, or are others than their rows say.
    pub(super) fn wrong_messages(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut keys = self.statement("SELECT key FROM message ORDER BY key")?;
        let mut keys = keys.query([])?;
        while let Some(row) = keys.next()?
            && problems.len() < MAX_PROBLEMS
        {
            let key: Key = row.get(0)?;
            let problem = match self.load(key, MediaMode::Inline) {
                Ok((head, text)) => match Incoming::parse(&text) {
                    Ok(message) if (message.id(), message.role()) != (&head.id, &head.role) => {
                        "its id or role is another one than its row says".to_owned()
                    }
                    Ok(message) if message.text() != text || text.len() as u64 != head.bytes.unsigned_abs() => {
                        "its text is not as it was stored".to_owned()
                    }
                    Ok(_) => continue,
                    Err(error) => error.message,
                },
                Err(error) if error.kind == Kind::Corrupt => error.message,
                Err(error) => return Err(error),
            };
            problems.push(format!("chain {}, seq {}: {problem}", key.chain(), key.seq()));
        }
        Ok(())
    }

    /// Payloads whose bytes are others than those that they are named by.
    pub(super) fn wrong_payloads(&self, problems: &mut Vec<String>) -> Result<()> {
        let mut payloads = self.statement("SELECT key, hash FROM payload")?;
        let mut payloads = payloads.query([])?;
        while let Some(row) = payloads.next()?
            && problems.len() < MAX_PROBLEMS
        {
            let key: i64 = row.get(0)?;
            let hash: Vec<u8> = row.get(1)?;
            if !self.is_payload_whole(key, &hash)? {
                problems.push(format!("payload {key}: its bytes are not those that were stored"));
            }
        }
        Ok(())
    }
}
