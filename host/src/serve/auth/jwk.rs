//! Public keys of an issuer, as a JSON Web Key Set tells them.
//!
//! Which algorithms a key is for is decided by the key, never by the token alone: so no token can have a public key taken
//! for a secret, or bring no signature at all.

use std::ops::RangeInclusive;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;

/// How long the modulus of an RSA key is: 2048 to 8192 bits. Shorter ones are too weak to be believed.
const RSA_BYTES: RangeInclusive<usize> = 256..=1024;

/// The keys of an issuer.
pub(super) struct Keys(Vec<Key>);

/// One key that signatures can be checked with.
struct Key {
    id: Option<String>,
    /// The one algorithm that it is for; none: every one that suits it.
    algorithm: Option<String>,
    material: Material,
}

enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Jwk {
    /// None: it is for something else, or of a kind that is not taken, such as a shared secret.
    fn key(self) -> Result<Option<Key>, String> {
        if self.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return Ok(None);
        }
        let bytes = |name: &str, value: &Option<String>| {
            let text = value.as_deref().ok_or_else(|| format!("a key has no {name:?}"))?;
            BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|error| format!("{name:?} of a key is not base64url: {error}"))
        };
        let point = |length: usize| {
            let (x, y) = (bytes("x", &self.x)?, bytes("y", &self.y)?);
            if x.len() != length || y.len() != length {
                return Err(format!("the coordinates of a key have to be {length} bytes long"));
            }
            // Uncompressed.
            Ok([&[4], &x[..], &y[..]].concat())
        };
        let material = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => {
                let (modulus, exponent) = (bytes("n", &self.n)?, bytes("e", &self.e)?);
                if !RSA_BYTES.contains(&modulus.len()) {
                    return Ok(None);
                }
                Material::Rsa { modulus, exponent }
            }
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x", &self.x)?),
            _ => return Ok(None),
        };
        Ok(Some(Key { id: self.kid, algorithm: self.alg, material }))
    }
}

impl Keys {
    /// Reads a set. One without a single key that can be used is refused.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let set: Set = serde_json::from_str(text).map_err(|error| format!("it is no JSON Web Key Set: {error}"))?;
        let keys: Vec<_> = set.keys.into_iter().filter_map(|key| key.key().transpose()).collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(
                "there is no public key in it (RSA of 2048 bits or more, P-256, P-384 or Ed25519) to check signatures with".to_owned()
            );
        }
        Ok(Self(keys))
    }

    /// Whether a signature is that of one of the keys. Where the token names a key only that one is tried.
    pub(super) fn verify(&self, algorithm: &str, id: Option<&str>, message: &[u8], signature: &[u8]) -> bool {
        let named = |key: &&Key| id.is_none_or(|id| key.id.as_deref() == Some(id));
        self.0.iter().filter(named).any(|key| key.verify(algorithm, message, signature))
    }
}

impl Key {
    fn verify(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        if self.algorithm.as_deref().is_some_and(|only| only != algorithm) {
            return false;
        }
        match &self.material {
            Material::Rsa { modulus, exponent } => rsa(algorithm).is_some_and(|parameters| {
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(parameters, message, signature).is_ok()
            }),
            Material::P256(point) => {
                algorithm == "ES256" && verified(&signature::ECDSA_P256_SHA256_FIXED, point, message, signature)
            }
            Material::P384(point) => {
                algorithm == "ES384" && verified(&signature::ECDSA_P384_SHA384_FIXED, point, message, signature)
            }
            Material::Ed25519(key) => {
                matches!(algorithm, "EdDSA" | "Ed25519") && verified(&signature::ED25519, key, message, signature)
            }
        }
    }
}

fn rsa(algorithm: &str) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
        "PS384" => &signature::RSA_PSS_2048_8192_SHA384,
        "PS512" => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn verified(algorithm: &'static dyn VerificationAlgorithm, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
}
