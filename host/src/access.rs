//! Which tenants somebody may use.
//!
//! A [`Tenants`] is what a token stands for: names of tenants, and beginnings of names. A beginning ends with `:`, so that
//! `user1:` never lets anybody into `user10:…`; nothing is guessed from a name that merely looks alike.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Result};

/// What the beginning of a name has to end with.
pub const SEPARATOR: char = ':';

/// A set of tenants, by their names and by the beginnings of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tenants {
    all: bool,
    names: BTreeSet<String>,
    prefixes: Vec<String>,
}

impl Tenants {
    /// Every tenant.
    pub fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// No tenant.
    pub fn none() -> Self {
        Self::default()
    }

    /// One tenant.
    pub fn only(name: impl Into<String>) -> Self {
        Self { names: BTreeSet::from([name.into()]), ..Self::default() }
    }

    /// The same and one tenant more.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.names.insert(name.into());
        self
    }

    /// The same and all tenants more whose names begin so. Errors: `invalid-argument` where that is nothing but the `:` or
    /// does not end with one.
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Result<Self> {
        let prefix = prefix.into();
        if !prefix.ends_with(SEPARATOR) || prefix.len() == SEPARATOR.len_utf8() {
            let sentence =
                format!("the beginning of tenants' names has to end with {SEPARATOR:?}, as \"user:\" does: {prefix:?}");
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).with_subject(prefix));
        }
        self.prefixes.push(prefix);
        Ok(self)
    }

    /// Whether it is every tenant there can be.
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// Whether a tenant of this name is among them.
    pub fn covers(&self, name: &str) -> bool {
        self.all || self.names.contains(name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    #[test]
    fn names_that_look_alike_are_not_the_same() {
        let one = Tenants::only("user1");
        assert!(one.covers("user1"));
        for other in ["user10", "user", "user1:", "user1:a", "USER1", " user1", "user1 ", "user1\0", "usér1", ""] {
            assert!(!one.covers(other), "{other}");
        }
    }

    #[test]
    fn a_beginning_stops_at_its_separator() {
        let of_user = Tenants::none().with_prefix("user1:").unwrap();
        for inside in ["user1:", "user1:chat", "user1:a:b"] {
            assert!(of_user.covers(inside), "{inside}");
        }
        for outside in ["user1", "user10:chat", "user", "auser1:chat", "user1;chat", "user1\u{ff1a}chat"] {
            assert!(!of_user.covers(outside), "{outside}");
        }
        let nested = Tenants::none().with_prefix("a:b:").unwrap();
        assert!(nested.covers("a:b:c") && !nested.covers("a:bc") && !nested.covers("a:b"));
    }

    #[test]
    fn a_beginning_without_separator_is_refused() {
        for prefix in ["", ":", "user", "user1", "user: "] {
            assert_eq!(Tenants::none().with_prefix(prefix).unwrap_err().kind(), ErrorKind::InvalidArgument, "{prefix}");
        }
    }

    #[test]
    fn nobody_is_somebody_by_default() {
        assert!(!Tenants::none().covers("") && !Tenants::default().covers("a") && !Tenants::none().is_all());
        assert!(Tenants::all().covers("anything"));
    }
}
