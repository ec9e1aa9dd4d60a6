//! Who somebody is, and which tenants they may use.
//!
//! A client shows a bearer token: one of the token file, or a JSON Web Token of a known issuer. Where neither is configured,
//! everybody who can connect may do everything, which is why that is only for addresses of this machine.

mod jwk;
mod jwt;
mod reload;
mod tokens;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::http::{HeaderMap, header};
use tokio::time::sleep;

pub use jwt::JwtOptions;
pub(crate) use tokens::check_token_file;
pub use tokens::{NewToken, add_token};

use reload::NOTICE;

use super::places::Place;
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
    /// By what they were recognised; none: nobody has to show anything.
    proof: Option<Proof>,
    /// What they have under way is counted as long as this is held.
    #[expect(dead_code, reason = "it is held, and dropped")]
    place: Option<Arc<Place>>,
}

/// What was shown, and what it stood for then.
#[derive(Clone)]
struct Proof {
    token: Arc<str>,
    tenants: Arc<Tenants>,
    /// Of the files that it was looked up in.
    generations: Generations,
}

impl fmt::Debug for Proof {
    /// Without the token, which is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proof").field("tenants", &self.tenants).finish_non_exhaustive()
    }
}

/// Numbers that change when the token file or the keys have changed.
type Generations = [u64; 2];

/// Why somebody is nobody any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The token has expired.
    Expired,
    /// The token is not accepted any more, or good for other tenants than it was.
    TakenBack,
}

impl Identity {
    /// Everybody, where nobody has to show anything.
    fn anybody() -> Self {
        Self { caller: Caller::trusted(), name: None, expires: None, metrics: true, proof: None, place: None }
    }

    fn new(name: String, tenants: Tenants, expires: Option<SystemTime>, metrics: bool) -> Self {
        let metrics = metrics || tenants.is_all();
        Self {
            caller: Caller::of(Arc::new(tenants)),
            name: Some(name.into()),
            expires,
            metrics,
            proof: None,
            place: None,
        }
    }

    /// The same somebody, for one tenant only.
    pub(super) fn with_caller(&self, caller: Caller) -> Self {
        Self { caller, ..self.clone() }
    }

    /// The same somebody, who holds a place.
    pub(super) fn with_place(self, place: Place) -> Self {
        Self { place: Some(Arc::new(place)), ..self }
    }

    /// How long it is still somebody; none: for ever.
    fn left(&self) -> Option<Duration> {
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
        let generations = self.generations();
        let identity = self.recognise_token(token)?;
        let tenants = Arc::clone(identity.caller.tenants());
        Ok(Identity { proof: Some(Proof { token: token.into(), tenants, generations }), ..identity })
    }

    /// Ready when somebody who was recognised would not be any more, or as somebody else: never, where nobody has to
    /// show anything. What has changed in the files is noticed some seconds later.
    pub(super) async fn over(&self, identity: &Identity) -> Over {
        let Some(proof) = &identity.proof else { return std::future::pending().await };
        let mut seen = proof.generations;
        loop {
            let left = identity.left();
            if left.is_some_and(|left| left.is_zero()) {
                return Over::Expired;
            }
            sleep(left.map_or(NOTICE, |left| left.min(NOTICE))).await;
            let now = self.generations();
            if now != seen {
                seen = now;
                let holds = self.recognise_token(&proof.token).is_ok_and(|now| now.caller.tenants() == &proof.tenants);
                if !holds {
                    return Over::TakenBack;
                }
            }
        }
    }

    fn generations(&self) -> Generations {
        let (tokens, keys) = (self.tokens.as_ref(), self.jwt.as_ref());
        [tokens.map_or(0, tokens::TokenFile::generation), keys.map_or(0, jwt::Verifier::generation)]
    }

    fn recognise_token(&self, token: &str) -> Result<Identity, Unknown> {
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
