//! The configuration of a store and of its sessions.

use rusqlite::{OptionalExtension, params};

use crate::append::now;
use crate::error::{Error, Kind, Result};
use crate::place::Place;
use crate::session::validate_id;
use crate::store::{Store, Tx};
use crate::types::{AutoCompact, ConfigScope, Configuration, ConfigurationChange, Setting};

/// The session number that stands for the store.
const STORE: i64 = 0;

/// Reserved keys that a store or session may have.
const MAX_KEYS: usize = 100;

/// Bytes of a reserved key.
const MAX_KEY_BYTES: usize = 256;

/// The largest token factor.
const MAX_FACTOR: f64 = 100.0;

impl<P: Place> Store<P> {
    /// Changes the configuration of the store or of one session, and answers what is in force there.
    pub fn configure(&mut self, scope: &ConfigScope, change: &ConfigurationChange) -> Result<Configuration> {
        if let ConfigScope::Session(id) = scope {
            validate_id(id)?;
        }
        validate(change)?;
        if *change == ConfigurationChange::default() {
            return self.read(|tx| {
                let session = match scope {
                    ConfigScope::Store => None,
                    ConfigScope::Session(id) => tx.session(id)?.map(|session| session.key),
                };
                tx.configuration(session)
            });
        }
        self.write(|tx| {
            let session = match scope {
                ConfigScope::Store => STORE,
                ConfigScope::Session(id) => tx.ensure_session(id, now())?.key,
            };
            tx.change_configuration(session, change)?;
            tx.memo.threshold = None;
            tx.configuration((session != STORE).then_some(session))
        })
    }
}

impl Tx<'_> {
    /// Metadata keys that clients of a session may not write: the surroundings', the store's and the session's.
    pub(crate) fn reserved_keys(&self, session: Option<i64>) -> Result<Vec<String>> {
        let mut keys = self.options.reserved_metadata_keys.clone();
        for scope in [Some(STORE), session].into_iter().flatten() {
            keys.extend(self.own_keys(scope)?);
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    fn own_keys(&self, scope: i64) -> Result<Vec<String>> {
        let text: Option<String> = self.setting(scope, "reserved-metadata-keys")?;
        // A key cannot hold a NUL: what is configured is refused if it does.
        Ok(text.map(|text| text.split('\0').map(str::to_owned).collect()).unwrap_or_default())
    }

    /// What is set for a session, or for the store, and nothing of what is in force besides.
    pub(crate) fn own_configuration(&self, scope: i64) -> Result<ConfigurationChange> {
        let mode = match self.setting::<String>(scope, "auto-compact")?.as_deref() {
            None => Setting::Keep,
            Some("inline") => Setting::Value(AutoCompact::Inline),
            Some("off") => Setting::Value(AutoCompact::Off),
            Some(_) => Setting::Value(AutoCompact::Host),
        };
        let keys = self.own_keys(scope)?;
        Ok(ConfigurationChange {
            compact_after: self.own(scope, "compact-after")?,
            keep_recent_tokens: self.own(scope, "keep-recent-tokens")?,
            protect_head: self.own(scope, "protect-head")?,
            min_tail: self.own(scope, "min-tail")?,
            max_prompt_tokens: self.own(scope, "max-prompt-tokens")?,
            token_factor: self.own(scope, "token-factor")?,
            auto_compact: mode,
            reserved_metadata_keys: if keys.is_empty() { Setting::Keep } else { Setting::Value(keys) },
        })
    }

    fn own<T: rusqlite::types::FromSql>(&self, scope: i64, name: &str) -> Result<Setting<T>> {
        Ok(self.setting(scope, name)?.map_or(Setting::Keep, Setting::Value))
    }

    /// Sets what a change brings where nothing is set yet.
    pub(crate) fn complete_configuration(&mut self, scope: i64, mut change: ConfigurationChange) -> Result<()> {
        validate(&change)?;
        let own = self.own_configuration(scope)?;
        keep_if_set(&own.compact_after, &mut change.compact_after);
        keep_if_set(&own.keep_recent_tokens, &mut change.keep_recent_tokens);
        keep_if_set(&own.protect_head, &mut change.protect_head);
        keep_if_set(&own.min_tail, &mut change.min_tail);
        keep_if_set(&own.max_prompt_tokens, &mut change.max_prompt_tokens);
        keep_if_set(&own.token_factor, &mut change.token_factor);
        keep_if_set(&own.auto_compact, &mut change.auto_compact);
        keep_if_set(&own.reserved_metadata_keys, &mut change.reserved_metadata_keys);
        self.memo.threshold = None;
        self.change_configuration(scope, &change)
    }

    /// What is in force for a session, or for the store.
    pub(crate) fn configuration(&self, session: Option<i64>) -> Result<Configuration> {
        Ok(Configuration {
            compact_after: self.in_force(session, "compact-after")?,
            keep_recent_tokens: self.in_force(session, "keep-recent-tokens")?.unwrap_or(20_000),
            protect_head: self.in_force(session, "protect-head")?.unwrap_or(3),
            min_tail: self.in_force(session, "min-tail")?.unwrap_or(2),
            max_prompt_tokens: self.in_force(session, "max-prompt-tokens")?.unwrap_or(100_000),
            token_factor: self.in_force(session, "token-factor")?.unwrap_or(1.0),
            auto_compact: match self.in_force::<String>(session, "auto-compact")?.as_deref() {
                Some("inline") => AutoCompact::Inline,
                Some("off") => AutoCompact::Off,
                _ => AutoCompact::Host,
            },
            reserved_metadata_keys: self.reserved_keys(session)?,
        })
    }

    /// Tokens of a path from which on a compaction is due, if it is made automatically at all, and the token factor.
    pub(crate) fn compact_after(&self, session: i64) -> Result<Option<(u32, f64)>> {
        let Some(threshold) = self.in_force(Some(session), "compact-after")? else { return Ok(None) };
        let mode: Option<String> = self.in_force(Some(session), "auto-compact")?;
        let factor = self.in_force(Some(session), "token-factor")?.unwrap_or(1.0);
        Ok((mode.as_deref() != Some("off")).then_some((threshold, factor)))
    }

    fn in_force<T: rusqlite::types::FromSql>(&self, session: Option<i64>, name: &str) -> Result<Option<T>> {
        if let Some(session) = session
            && let Some(own) = self.setting(session, name)?
        {
            return Ok(Some(own));
        }
        self.setting(STORE, name)
    }

    fn setting<T: rusqlite::types::FromSql>(&self, scope: i64, name: &str) -> Result<Option<T>> {
        Ok(self
            .statement("SELECT value FROM config WHERE session = ?1 AND name = ?2")?
            .query_row(params![scope, name], |row| row.get(0))
            .optional()?)
    }

    fn change_configuration(&self, scope: i64, change: &ConfigurationChange) -> Result<()> {
        self.set(scope, "compact-after", &change.compact_after)?;
        self.set(scope, "keep-recent-tokens", &change.keep_recent_tokens)?;
        self.set(scope, "protect-head", &change.protect_head)?;
        self.set(scope, "min-tail", &change.min_tail)?;
        self.set(scope, "max-prompt-tokens", &change.max_prompt_tokens)?;
        self.set(scope, "token-factor", &change.token_factor)?;
        let mode = |mode| match mode {
            AutoCompact::Host => "host",
            AutoCompact::Inline => "inline",
            AutoCompact::Off => "off",
        };
        self.set(scope, "auto-compact", &map(&change.auto_compact, |&value| mode(value)))?;
        let keys = match &change.reserved_metadata_keys {
            Setting::Value(keys) if keys.is_empty() => Setting::Reset,
            other => map(other, |keys| keys.join("\0")),
        };
        self.set(scope, "reserved-metadata-keys", &keys)
    }

    fn set<T: rusqlite::ToSql>(&self, scope: i64, name: &str, setting: &Setting<T>) -> Result<()> {
        match setting {
            Setting::Keep => {}
            Setting::Reset => {
                self.statement("DELETE FROM config WHERE session = ?1 AND name = ?2")?.execute(params![scope, name])?;
            }
            Setting::Value(value) => {
                self.statement("INSERT OR REPLACE INTO config(session, name, value) VALUES (?1, ?2, ?3)")?
                    .execute(params![scope, name, value])?;
            }
        }
        Ok(())
    }
}

/// Estimated tokens as real ones.
pub(crate) fn scaled(tokens: i64, config: &Configuration) -> u64 {
    scaled_by(tokens, config.token_factor)
}

/// Estimated tokens as real ones, by a factor.
pub(crate) fn scaled_by(tokens: i64, factor: f64) -> u64 {
    (tokens.max(0) as f64 * factor).ceil() as u64
}

fn keep_if_set<T>(own: &Setting<T>, change: &mut Setting<T>) {
    if !matches!(own, Setting::Keep) {
        *change = Setting::Keep;
    }
}

fn map<T, U>(setting: &Setting<T>, value: impl FnOnce(&T) -> U) -> Setting<U> {
    match setting {
        Setting::Keep => Setting::Keep,
        Setting::Reset => Setting::Reset,
        Setting::Value(inner) => Setting::Value(value(inner)),
    }
}

/// Refuses a change that is out of range.
fn validate(change: &ConfigurationChange) -> Result<()> {
    let refuse = |name: &str, sentence: String| Err(Error::new(Kind::InvalidArgument, sentence).subject(name));
    for (name, setting) in [("compact-after", &change.compact_after), ("max-prompt-tokens", &change.max_prompt_tokens)]
    {
        if *setting == Setting::Value(0) {
            return refuse(name, format!("{name} must be at least 1"));
        }
    }
    if let Setting::Value(factor) = change.token_factor
        && !(factor > 0.0 && factor <= MAX_FACTOR)
    {
        return refuse("token-factor", format!("the token factor must be above 0 and at most {MAX_FACTOR}"));
    }
    if let Setting::Value(keys) = &change.reserved_metadata_keys {
        if keys.len() > MAX_KEYS {
            return refuse("reserved-metadata-keys", format!("at most {MAX_KEYS} metadata keys can be reserved"));
        }
        if let Some(key) = keys.iter().find(|key| key.len() > MAX_KEY_BYTES || key.is_empty() || key.contains('\0')) {
            return refuse(
                "reserved-metadata-keys",
                format!("a reserved key has 1 to {MAX_KEY_BYTES} bytes and no NUL; this one does not: {key:?}"),
            );
        }
    }
    Ok(())
}
