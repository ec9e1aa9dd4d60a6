//! JSON Web Tokens of one issuer, for one audience, signed with keys of a file.
//!
//! Claims: `iss`, `aud` and `exp` are required and checked, `nbf` where it is there. `tenants` (names) and `prefixes`
//! (beginnings of names, each with `:` at its end) say what the token is good for; where a claim is named for users, its
//! value `U` stands for the beginning `U:`, too. A token without any of those is good for nothing.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Identity, jwk::Keys, reload::Reloaded};
use crate::{
    access::{SEPARATOR, Tenants},
    error::Result,
};

/// The longest token, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// How far the clock of the issuer may be ahead.
const AHEAD: Duration = Duration::from_secs(30);

/// Whose JSON Web Tokens are accepted.
#[derive(Clone, Debug)]
pub struct JwtOptions {
    /// Who has to have issued them: `iss`.
    pub issuer: String,
    /// For whom they have to be: `aud`, or one of it.
    pub audience: String,
    /// File with the issuer's public keys, as a JSON Web Key Set. When it changes it is read again.
    pub keys: PathBuf,
    /// The claim with the name of a user, if there is one: `sub`, for instance.
    pub user_claim: Option<String>,
}

/// Checks tokens.
#[derive(Debug)]
pub(super) struct Verifier {
    options: JwtOptions,
    keys: Reloaded<Keys>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Extensions that have to be understood. None are.
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    exp: f64,
    nbf: Option<f64>,
    sub: Option<String>,
    #[serde(default)]
    tenants: Vec<String>,
    #[serde(default)]
    prefixes: Vec<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Some(Vec<String>),
}

/// Why a token is refused.
type Reason = &'static str;

impl Verifier {
    /// Errors: `not-configured` if the keys cannot be read.
    pub(super) fn open(options: &JwtOptions) -> Result<Self> {
        Ok(Self { options: options.clone(), keys: Reloaded::open(&options.keys, Keys::parse)? })
    }

    /// Another number whenever the keys have changed.
    pub(super) fn generation(&self) -> u64 {
        self.keys.generation()
    }

    /// Whose token that is.
    pub(super) fn identity(&self, token: &str) -> Result<Identity, Reason> {
        self.identity_at(token, SystemTime::now())
    }

    fn identity_at(&self, token: &str, now: SystemTime) -> Result<Identity, Reason> {
        if token.len() > MAX_BYTES {
            return Err("it is too long");
        }
        let (message, signature) = token.rsplit_once('.').ok_or("it is no JSON Web Token")?;
        let (header, claims) = message.split_once('.').ok_or("it is no JSON Web Token")?;
        let header: Header = decoded(header)?;
        if header.crit.is_some() {
            return Err("it needs an extension that is not known");
        }
        let kind = header.typ.as_deref().map(str::to_ascii_lowercase);
        if kind.is_some_and(|kind| !matches!(kind.as_str(), "jwt" | "at+jwt" | "application/at+jwt")) {
            return Err("it is a token for something else");
        }
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| "its signature is not base64url")?;
        if !self.keys.get().verify(&header.alg, header.kid.as_deref(), message.as_bytes(), &signature) {
            return Err("its signature is of none of the keys");
        }
        self.accepted(decoded(claims)?, now)
    }

    /// What the claims of a token with a good signature stand for.
    fn accepted(&self, mut claims: Claims, now: SystemTime) -> Result<Identity, Reason> {
        if claims.iss != self.options.issuer {
            return Err("it is of another issuer");
        }
        let for_us = match &claims.aud {
            Audience::One(audience) => *audience == self.options.audience,
            Audience::Some(audiences) => audiences.contains(&self.options.audience),
        };
        if !for_us {
            return Err("it is for another audience");
        }
        let expires = time(claims.exp)?;
        if expires <= now {
            return Err("it has expired");
        }
        if claims.nbf.map(time).transpose()?.is_some_and(|begins| begins > now + AHEAD) {
            return Err("it is not valid yet");
        }
        let mut tenants = Tenants::none();
        for name in std::mem::take(&mut claims.tenants) {
            tenants = tenants.with_name(name);
        }
        for prefix in std::mem::take(&mut claims.prefixes) {
            tenants = tenants.with_prefix(prefix).map_err(|_| "one of its prefixes does not end with a colon")?;
        }
        if let Some(claim) = &self.options.user_claim {
            tenants = match claims.text(claim) {
                None => tenants,
                Some(user) if user.is_empty() || user.contains(SEPARATOR) => {
                    return Err("the name of its user is empty or holds a colon");
                }
                Some(user) => {
                    tenants.with_prefix(format!("{user}{SEPARATOR}")).map_err(|_| "the name of its user is none")?
                }
            };
        }
        let name = format!("subject {}", claims.sub.as_deref().unwrap_or_default());
        Ok(Identity::new(name, tenants, Some(expires), false))
    }
}

impl Claims {
    fn text(&self, claim: &str) -> Option<&str> {
        if claim == "sub" { self.sub.as_deref() } else { self.others.get(claim)?.as_str() }
    }
}

fn decoded<T: DeserializeOwned>(part: &str) -> Result<T, Reason> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| "a part of it is not base64url")?;
    serde_json::from_slice(&bytes).map_err(|_| "a part of it is not the JSON that it should be")
}

/// Seconds since 1970 as a time.
fn time(seconds: f64) -> Result<SystemTime, Reason> {
    let since = Duration::try_from_secs_f64(seconds).map_err(|_| "one of its times is none")?;
    SystemTime::UNIX_EPOCH.checked_add(since).ok_or("one of its times is none")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
    };
    use serde_json::json;

    use super::*;

    /// An issuer with a key of each kind that can be made here.
    struct Issuer {
        ed: Ed25519KeyPair,
        ec: EcdsaKeyPair,
        directory: tempfile::TempDir,
    }

    fn encoded(bytes: impl AsRef<[u8]>) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    impl Issuer {
        fn new() -> Self {
            let random = SystemRandom::new();
            let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
            let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
            Self {
                ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
                ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap(),
                directory: tempfile::tempdir().unwrap(),
            }
        }

        fn verifier(&self) -> Verifier {
            let point = self.ec.public_key().as_ref();
            let keys = json!({"keys": [
                {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encoded(self.ed.public_key())},
                {"kty": "EC", "crv": "P-256", "kid": "ec", "alg": "ES256", "use": "sig",
                 "x": encoded(&point[1..33]), "y": encoded(&point[33..])},
                {"kty": "oct", "kid": "shared", "k": encoded("secret")},
            ]});
            let path = self.directory.path().join("keys.json");
            std::fs::write(&path, keys.to_string()).unwrap();
            Verifier::open(&JwtOptions {
                issuer: "https://issuer".into(),
                audience: "talktree".into(),
                keys: path,
                user_claim: Some("sub".into()),
            })
            .unwrap()
        }

        fn signed(&self, header: &Value, claims: &Value) -> String {
            let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
            let signature = match header["kid"].as_str() {
                Some("ec") => self.ec.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec(),
                _ => self.ed.sign(message.as_bytes()).as_ref().to_vec(),
            };
            format!("{message}.{}", encoded(signature))
        }
    }

    fn claims() -> Value {
        json!({
            "iss": "https://issuer", "aud": ["other", "talktree"], "exp": 2_000, "nbf": 1_000,
            "sub": "ann", "tenants": ["team:a"], "prefixes": ["lab:"],
        })
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn eddsa() -> Value {
        json!({"alg": "EdDSA", "kid": "ed", "typ": "JWT"})
    }

    #[test]
    fn a_good_token_stands_for_its_tenants() {
        let issuer = Issuer::new();
        let verifier = issuer.verifier();
        for header in [eddsa(), json!({"alg": "EdDSA"}), json!({"alg": "ES256", "kid": "ec"})] {
            let identity = verifier.identity_at(&issuer.signed(&header, &claims()), at(1_500)).unwrap();
            let tenants = identity.caller.tenants();
            for tenant in ["team:a", "lab:x", "ann:chat"] {
                assert!(tenants.covers(tenant), "{tenant}");
            }
            for tenant in ["team:ab", "team:", "ann", "anna:chat", "lab", "other:x"] {
                assert!(!tenants.covers(tenant), "{tenant}");
            }
            assert!(!identity.metrics);
        }
    }

    #[test]
    fn expired_and_early_tokens_are_refused() {
        let issuer = Issuer::new();
        let verifier = issuer.verifier();
        let token = issuer.signed(&eddsa(), &claims());
        let refused = |seconds| verifier.identity_at(&token, at(seconds)).err();
        assert_eq!(refused(1_999), None);
        assert_eq!(refused(2_000), Some("it has expired"));
        assert_eq!(refused(900), Some("it is not valid yet"));
        assert_eq!(refused(980), None, "clocks differ by seconds");
    }

    #[test]
    fn forged_tokens_are_refused() {
        let issuer = Issuer::new();
        let verifier = issuer.verifier();
        let good = issuer.signed(&eddsa(), &claims());
        let [header, body, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!() };
        let richer =
            encoded(json!({"iss": "https://issuer", "aud": "talktree", "exp": 9e9, "tenants": ["x"]}).to_string());
        let unsigned = encoded(r#"{"alg":"none"}"#);
        let public = issuer.ed.public_key().as_ref();
        // A public key taken for a shared secret.
        let shared = encoded(r#"{"alg":"HS256","kid":"ed"}"#);
        let mac = ring::hmac::sign(
            &ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public),
            format!("{shared}.{richer}").as_bytes(),
        );
        let secret = encoded(r#"{"alg":"HS256","kid":"shared"}"#);
        let with_secret = ring::hmac::sign(
            &ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"secret"),
            format!("{secret}.{richer}").as_bytes(),
        );
        for forged in [
            format!("{header}.{richer}.{signature}"),
            format!("{unsigned}.{richer}."),
            format!("{unsigned}.{richer}.{signature}"),
            format!("{shared}.{richer}.{}", encoded(mac)),
            format!("{secret}.{richer}.{}", encoded(with_secret)),
            format!("{header}.{body}."),
            format!("{header}.{body}"),
            format!("{header}.{body}.{signature}x"),
            format!("{header}.{body}.{signature}."),
            format!(".{header}.{body}.{signature}"),
            String::new(),
            "..".to_owned(),
            "x".repeat(MAX_BYTES + 1),
            Issuer::new().signed(&eddsa(), &claims()),
            // The right signature under the name of another key, or of none there is.
            issuer.signed(&json!({"alg": "EdDSA", "kid": "gone"}), &claims()),
            issuer.signed(&json!({"alg": "ES256", "kid": "ed"}), &claims()),
            issuer.signed(&json!({"alg": "ES384", "kid": "ec"}), &claims()),
            issuer.signed(&json!({"alg": "EdDSA", "kid": "ed", "crit": ["b64"], "b64": false}), &claims()),
            issuer.signed(&json!({"alg": "EdDSA", "kid": "ed", "typ": "logout+jwt"}), &claims()),
        ] {
            assert!(verifier.identity_at(&forged, at(1_500)).is_err(), "{forged}");
        }
        assert!(verifier.identity_at(&good, at(1_500)).is_ok());
    }

    #[test]
    fn claims_that_are_not_ours_are_refused() {
        let issuer = Issuer::new();
        let verifier = issuer.verifier();
        for (claim, value) in [
            ("iss", json!("https://issuer/")),
            ("iss", Value::Null),
            ("aud", json!("talktree2")),
            ("aud", json!([])),
            ("exp", Value::Null),
            ("exp", json!("3000")),
            ("exp", json!(-1)),
            ("exp", json!(1e300)),
            ("sub", json!("ann:chat")),
            ("sub", json!("")),
            ("tenants", json!("team:a")),
            ("prefixes", json!(["lab"])),
            ("prefixes", json!([":"])),
        ] {
            let mut claims = claims();
            claims[claim] = value.clone();
            let token = issuer.signed(&eddsa(), &claims);
            assert!(verifier.identity_at(&token, at(1_500)).is_err(), "{claim}: {value}");
        }
    }

    #[test]
    fn a_set_without_a_public_key_is_refused() {
        for keys in
            ["{}", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#, r#"{"keys":[{"kty":"RSA"}]}"#]
        {
            assert!(Keys::parse(keys).is_err(), "{keys}");
        }
    }
}
