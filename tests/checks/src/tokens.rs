//! Tokens of `talktree serve`: what nobody signed, or what was changed since, stands for nobody.

use std::path::PathBuf;
use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::Tenants;
use crate::bytes::Choices;
use crate::scratch;

#[path = "../../../host/src/serve/auth/jwk.rs"]
mod jwk;
#[path = "../../../host/src/serve/auth/jwt.rs"]
mod jwt;
#[path = "../../../host/src/serve/auth/reload.rs"]
mod reload;
#[path = "../../../host/src/serve/auth/tokens.rs"]
mod token_file;

use jwk::Keys;
use jwt::{JwtOptions, Verifier};
use token_file::TokenFile;

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "talktree";

/// Somebody who was recognised, as the host's sources make them.
#[derive(Debug, Clone)]
struct Identity {
    tenants: Tenants,
    expires: Option<SystemTime>,
}

impl Identity {
    fn new(_name: String, tenants: Tenants, expires: Option<SystemTime>, _metrics: bool) -> Self {
        Self { tenants, expires }
    }
}

/// Takes the bytes as a token, as what a token claims, as changes of a good one, as a file of tokens or as a set of keys.
///
/// - A text that no known key has signed is nobody's token; so is a good one with any change to what is signed.
/// - Of what is signed only that counts which is issued by the issuer, for this audience, and has not expired; it opens no
///   tenant but those that it names.
/// - A file of tokens, or of keys, is read or refused; nobody is recognised by a token that is not in it.
pub fn tokens(data: &[u8]) {
    let mut choices = Choices::new(data);
    let what = choices.byte() % 5;
    ISSUED.with(|issued| match what {
        0 => {
            let text = choices.text();
            assert!(issued.verifier.identity(&text).is_err() || text == issued.good, "{text:?} is taken for a token");
        }
        1 => issued.claims(choices.take(usize::MAX)),
        2 => issued.changed(choices),
        3 => issued.file(choices),
        _ => {
            if let Ok(keys) = Keys::parse(&choices.text()) {
                for algorithm in ["none", "HS256", "RS256", "ES256", "EdDSA", ""] {
                    assert!(
                        !keys.verify(algorithm, None, b"message", b""),
                        "no signature at all is taken by {algorithm}"
                    );
                    assert!(!keys.verify(algorithm, Some("k"), b"message", &[0; 64]), "zeros are a signature");
                }
            }
        }
    });
}

struct Issued {
    key: Ed25519KeyPair,
    verifier: Verifier,
    /// A token that is good.
    good: String,
    directory: TempDir,
}

thread_local! {
    static ISSUED: Issued = Issued::new();
}

impl Issued {
    fn new() -> Self {
        let directory = scratch::directory();
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let x = BASE64.encode(key.public_key());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x}]});
        let file = directory.path().join("keys.json");
        std::fs::write(&file, keys.to_string()).unwrap();
        let options = JwtOptions {
            issuer: ISSUER.to_owned(),
            audience: AUDIENCE.to_owned(),
            keys: file,
            user_claim: Some("sub".to_owned()),
        };
        let verifier = Verifier::open(&options).unwrap();
        let claims = json!({"iss": ISSUER, "aud": AUDIENCE, "exp": 40_000_000_000_u64, "sub": "ann", "tenants": ["t"]});
        let good = signed(&key, claims.to_string().as_bytes());
        let identity = verifier.identity(&good).unwrap();
        assert!(identity.tenants.covers("t") && identity.tenants.covers("ann:1") && !identity.tenants.covers("u"));
        Self { key, verifier, good, directory }
    }

    /// Claims of anybody's choice, which the issuer has signed.
    fn claims(&self, claims: &[u8]) {
        let Ok(identity) = self.verifier.identity(&signed(&self.key, claims)) else { return };
        let claims: Value = serde_json::from_slice(claims).expect("claims that are no JSON are taken");
        let audience = &claims["aud"];
        let audiences = audience.as_array().map_or_else(|| vec![audience.clone()], Clone::clone);
        assert!(claims["iss"] == ISSUER && audiences.contains(&json!(AUDIENCE)), "{claims}");
        assert!(identity.expires.is_some_and(|expires| expires > SystemTime::now()), "{claims}");
        assert!(!identity.tenants.is_all(), "a JSON Web Token opens all tenants: {claims}");
        let strings = |name: &str| -> Vec<String> {
            let all = claims[name].as_array().into_iter().flatten();
            all.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let user = claims["sub"].as_str().map(|user| format!("{user}:"));
        for name in ["t", "u", "ann:1", "bob:1", "", ":", "a:b:c"] {
            let by_prefix = strings("prefixes").into_iter().chain(user.clone()).any(|prefix| name.starts_with(&prefix));
            let named = strings("tenants").iter().any(|tenant| tenant == name);
            assert_eq!(identity.tenants.covers(name), named || by_prefix, "{name:?} by {claims}");
        }
    }

    /// A good token with something changed.
    fn changed(&self, mut choices: Choices<'_>) {
        let mut token = self.good.clone().into_bytes();
        while !choices.is_empty() {
            let at = choices.below(token.len().max(1));
            match choices.byte() % 3 {
                0 if !token.is_empty() => drop(token.remove(at)),
                1 => token.insert(at, choices.byte()),
                _ => {
                    if let Some(byte) = token.get_mut(at) {
                        *byte = choices.byte();
                    }
                }
            }
        }
        let token = String::from_utf8_lossy(&token).into_owned();
        assert!(self.verifier.identity(&token).is_err() || token == self.good, "{token} is taken for {}", self.good);
    }

    fn file(&self, mut choices: Choices<'_>) {
        let length = usize::from(choices.byte() % 80);
        let token = String::from_utf8_lossy(choices.take(length)).into_owned();
        let file: PathBuf = self.directory.path().join("tokens.json");
        std::fs::write(&file, choices.take(usize::MAX)).unwrap();
        let Ok(tokens) = TokenFile::open(&file) else { return };
        if tokens.identity(&token).is_some() {
            use sha2::Digest as _;
            let hash = sha2::Sha256::digest(token.as_bytes());
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            let file = std::fs::read_to_string(&file).unwrap().to_ascii_lowercase();
            assert!(file.contains(&hash) || file.contains("\\u"), "a token is taken whose hash is not in the file");
        }
    }
}

fn signed(key: &Ed25519KeyPair, claims: &[u8]) -> String {
    let header = BASE64.encode(r#"{"alg":"EdDSA","kid":"k"}"#);
    let message = format!("{header}.{}", BASE64.encode(claims));
    let signature = BASE64.encode(key.sign(message.as_bytes()));
    format!("{message}.{signature}")
}
