//! Who somebody is, and which tenants they may use.
//!
//! A client shows a bearer token: one of the token file, or a JSON Web Token of a known issuer. Where neither is configured,
//! everybody who can connect may do everything, which is why that is only for addresses of this machine.

mod jwk;
mod jwt;
mod reload;
mod tokens;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::http::{HeaderMap, header};

pub use jwt::JwtOptions;
pub use tokens::{NewToken, add_token};

use crate::{access::Tenants, error::Result, rpc::Caller};

/// A WebSocket of a browser cannot send an `Authorization` header: it offers this protocol, with the token behind it.
pub(super) const TOKEN_PROTOCOL: &str = "bearer.";

/// Somebody who was recognised.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) caller: Caller,
    /// Under which name the rate is counted; none: it is not.
    pub(super) name: Option<Arc<str>>,
    /// From then on it is nobody any more.
    expires: Option<SystemTime>,
    /// Whether the numbers of all tenants together may be read.
    pub(super) metrics: bool,
}

impl Identity {
    /// Everybody, where nobody has to show anything.
    fn anybody() -> Self {
        Self { caller: Caller::trusted(), name: None, expires: None, metrics: true }
    }

    fn new(name: String, tenants: Tenants, expires: Option<SystemTime>, metrics: bool) -> Self {
        let metrics = metrics || tenants.is_all();
        Self { caller: Caller::of(Arc::new(tenants)), name: Some(name.into()), expires, metrics }
    }

    /// The same somebody, for one tenant only.
    pub(super) fn with_caller(&self, caller: Caller) -> Self {
        Self { caller, ..self.clone() }
    }

    /// How long it is still somebody; none: for ever.
    pub(super) fn left(&self) -> Option<Duration> {
        self.expires.map(|expires| expires.duration_since(SystemTime::now()).unwrap_or_default())
    }
}

/// Who recognises clients.
#[derive(Debug, Default)]
pub(super) struct Authority {
    tokens: Option<tokens::TokenFile>,
    jwt: Option<jwt::Verifier>,
}

/// Why nobody was recognised. What exactly is wrong with a token is only logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// No token was shown.
    Nobody,
    /// The token is none that is accepted, or not any more.
    Refused,
}

impl Authority {
    /// Errors: `not-configured` for files that are missing or make no sense.
    pub(super) fn new(token_file: Option<&std::path::Path>, jwt: Option<&JwtOptions>) -> Result<Self> {
        Ok(Self {
            tokens: token_file.map(tokens::TokenFile::open).transpose()?,
            jwt: jwt.map(jwt::Verifier::open).transpose()?,
        })
    }

    /// Whether clients have to show anything.
    pub(super) fn is_needed(&self) -> bool {
        self.tokens.is_some() || self.jwt.is_some()
    }

    /// Recognises somebody by the headers of a request.
    pub(super) fn recognise(&self, headers: &HeaderMap) -> Result<Identity, Unknown> {
        if !self.is_needed() {
            return Ok(Identity::anybody());
        }
        let token = bearer(headers)?;
        if let Some(identity) = self.tokens.as_ref().and_then(|tokens| tokens.identity(token)) {
            return if identity.left().is_some_and(|left| left.is_zero()) {
                Err(Unknown::Refused)
            } else {
                Ok(identity)
            };
        }
        match self.jwt.as_ref().map(|jwt| jwt.identity(token)) {
            Some(Ok(identity)) => Ok(identity),
            Some(Err(reason)) => {
                tracing::debug!(reason, "a token was refused");
                Err(Unknown::Refused)
            }
            None => Err(Unknown::Refused),
        }
    }
}

/// The token that was shown. Two of them are none: who is to say which is meant?
fn bearer(headers: &HeaderMap) -> Result<&str, Unknown> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(first) = shown.next() {
        let (scheme, token) = first.to_str().ok().and_then(|text| text.split_once(' ')).ok_or(Unknown::Refused)?;
        let alone = shown.next().is_none() && scheme.eq_ignore_ascii_case("bearer");
        return if alone { Ok(token.trim()) } else { Err(Unknown::Refused) };
    }
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    offered
        .filter_map(|protocols| protocols.to_str().ok())
        .flat_map(|protocols| protocols.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix(TOKEN_PROTOCOL))
        .ok_or(Unknown::Nobody)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let pairs = all.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: axum::http::HeaderName = name;
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn a_token_is_taken_from_the_header_or_the_offered_protocols() {
        assert_eq!(bearer(&headers(&[("authorization", "Bearer abc")])), Ok("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "bearer  abc ")])), Ok("abc"));
        assert_eq!(bearer(&headers(&[("sec-websocket-protocol", "talktree, bearer.abc")])), Ok("abc"));
        assert_eq!(bearer(&headers(&[])), Err(Unknown::Nobody));
        assert_eq!(bearer(&headers(&[("sec-websocket-protocol", "talktree")])), Err(Unknown::Nobody));
    }

    #[test]
    fn what_is_no_single_bearer_token_is_refused() {
        for wrong in [
            &[("authorization", "Basic abc")][..],
            &[("authorization", "Bearer")],
            &[("authorization", "abc")],
            &[("authorization", "Bearer a"), ("authorization", "Bearer b")],
            &[("authorization", "Basic a"), ("sec-websocket-protocol", "bearer.b")],
        ] {
            assert_eq!(bearer(&headers(wrong)), Err(Unknown::Refused), "{wrong:?}");
        }
    }

    #[test]
    fn without_configuration_nobody_has_to_show_anything() {
        let authority = Authority::default();
        assert!(!authority.is_needed());
        assert!(authority.recognise(&headers(&[])).unwrap().caller.tenants().is_all());
    }
}
