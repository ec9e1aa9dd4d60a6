"""Makes `keys.json` and `tokens.json`: public keys of an issuer that does not exist, and tokens that a server with those
keys has to accept or to refuse.

Run as `python make.py`, with the package `cryptography` installed (48.0.0 was used). The private keys are thrown away, so
both files are always made together. Good tokens are for the tenants `ann:...` and expire with the year 2099.
"""

import base64
import hashlib
import hmac
import json
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

ISSUER = "https://issuer.example"
AUDIENCE = "talktree"
END_OF_2099 = 4102444799
HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}


def encoded(value):
    """Base64url without padding, of bytes or of the JSON of anything else."""
    if not isinstance(value, bytes):
        value = json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def number(value, length=None):
    """A whole number, big-endian, in base64url."""
    return encoded(value.to_bytes(length or (value.bit_length() + 7) // 8, "big"))


RSA = rsa.generate_private_key(65537, 2048)
WEAK_RSA = rsa.generate_private_key(65537, 1024)
P256 = ec.generate_private_key(ec.SECP256R1())
P384 = ec.generate_private_key(ec.SECP384R1())
SECP256K1 = ec.generate_private_key(ec.SECP256K1())
ED25519 = ed25519.Ed25519PrivateKey.generate()
OTHER_RSA = rsa.generate_private_key(65537, 2048)
OTHER_ED25519 = ed25519.Ed25519PrivateKey.generate()


def jwk_of_rsa(key):
    """The public key as a JSON Web Key."""
    public = key.public_key().public_numbers()
    return {"kty": "RSA", "n": number(public.n), "e": number(public.e)}


def jwk_of_curve(key, name, length):
    """The public key as a JSON Web Key."""
    point = key.public_key().public_numbers()
    return {"kty": "EC", "crv": name, "x": number(point.x, length), "y": number(point.y, length)}


def raw(key):
    """The bytes of an Ed25519 public key."""
    return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def pem(key):
    """The public key as a file would hold it."""
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


KEYS = {
    "keys": [
        {**jwk_of_rsa(RSA), "kid": "rsa", "use": "sig"},
        {**jwk_of_rsa(RSA), "kid": "rs256-only", "alg": "RS256"},
        {**jwk_of_rsa(RSA), "kid": "for-encryption", "use": "enc"},
        {**jwk_of_rsa(WEAK_RSA), "kid": "weak"},
        {**jwk_of_curve(P256, "P-256", 32), "kid": "p256"},
        {**jwk_of_curve(P384, "P-384", 48), "kid": "p384"},
        {**jwk_of_curve(SECP256K1, "secp256k1", 32), "kid": "k1"},
        {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encoded(raw(ED25519))},
        {"kty": "oct", "kid": "shared", "k": encoded(b"a secret that everybody knows ..")},
    ]
}


def rsa_signature(key, algorithm, salt=None):
    """Signs as RS... or PS... says."""

    def sign(message):
        kind = HASHES[algorithm[2:]]
        if algorithm.startswith("RS"):
            return key.sign(message, padding.PKCS1v15(), kind)
        length = kind.digest_size if salt is None else salt
        return key.sign(message, padding.PSS(padding.MGF1(kind), length), kind)

    return sign


def curve_signature(key, bits, length):
    """Signs as ES... says: the two numbers one behind the other."""

    def sign(message):
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(HASHES[bits])))
        return r.to_bytes(length, "big") + s.to_bytes(length, "big")

    return sign


def secret_signature(secret):
    """Signs as HS256 says."""
    return lambda message: hmac.new(secret, message, hashlib.sha256).digest()


CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "exp": END_OF_2099, "sub": "ann", "prefixes": ["ann:"]}


def token(header, sign, claims=None, without=()):
    """A token with these claims more, and without those."""
    claims = {**CLAIMS, **(claims or {})}
    claims = {name: value for name, value in claims.items() if name not in without}
    return raw_token(encoded(header), encoded(claims), sign)


def raw_token(header, claims, sign):
    """A token of two parts as they are."""
    return f"{header}.{claims}.{encoded(sign(f'{header}.{claims}'.encode()))}"


sign_ed = ED25519.sign
ED = {"alg": "EdDSA", "kid": "ed"}

good = {}
for algorithm in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"):
    good[algorithm] = token({"alg": algorithm, "kid": "rsa", "typ": "JWT"}, rsa_signature(RSA, algorithm))
good["ES256"] = token({"alg": "ES256", "kid": "p256"}, curve_signature(P256, "256", 32))
good["ES384"] = token({"alg": "ES384", "kid": "p384"}, curve_signature(P384, "384", 48))
good["EdDSA"] = token(ED, sign_ed)
good["without a kid"] = token({"alg": "EdDSA"}, sign_ed)
good["an access token"] = token({**ED, "typ": "at+jwt"}, sign_ed)
good["several audiences"] = token(ED, sign_ed, {"aud": ["other", AUDIENCE]})
good["valid for long"] = token(ED, sign_ed, {"nbf": 1_500_000_000, "iat": 1_500_000_000})
good["a key for one algorithm"] = token({"alg": "RS256", "kid": "rs256-only"}, rsa_signature(RSA, "RS256"))

bad = {
    "expired": token(ED, sign_ed, {"exp": 1_700_000_000}),
    "expired long ago": token(ED, sign_ed, {"exp": 0}),
    "an end before all times": token(ED, sign_ed, {"exp": -1}),
    "an end in words": token(ED, sign_ed, {"exp": "4102444799"}),
    "an end beyond all times": token(ED, sign_ed, {"exp": 1e300}),
    "without an end": token(ED, sign_ed, without=["exp"]),
    "not yet valid": token(ED, sign_ed, {"nbf": END_OF_2099 - 1}),
    "another issuer": token(ED, sign_ed, {"iss": "https://issuer.example.evil.example"}),
    "an issuer that looks alike": token(ED, sign_ed, {"iss": f"{ISSUER}/"}),
    "several issuers": token(ED, sign_ed, {"iss": [ISSUER]}),
    "without an issuer": token(ED, sign_ed, without=["iss"]),
    "another audience": token(ED, sign_ed, {"aud": "talktree2"}),
    "other audiences": token(ED, sign_ed, {"aud": ["talk", "tree"]}),
    "without an audience": token(ED, sign_ed, without=["aud"]),
    "a user with a colon": token(ED, sign_ed, {"sub": "ann:x"}),
    "a prefix without a colon": token(ED, sign_ed, {"prefixes": ["ann"]}),
    "a prefix that is all": token(ED, sign_ed, {"prefixes": [":"]}),
    "an extension": token({**ED, "crit": ["exp"]}, sign_ed),
    "an unencoded payload": token({**ED, "b64": False, "crit": ["b64"]}, sign_ed),
    "a token for something else": token({**ED, "typ": "logout+jwt"}, sign_ed),
    "another key of the same kind": token(ED, OTHER_ED25519.sign),
    "another RSA key": token({"alg": "RS256", "kid": "rsa"}, rsa_signature(OTHER_RSA, "RS256")),
    "its own key in the header": token(
        {"alg": "RS256", "jwk": jwk_of_rsa(OTHER_RSA)}, rsa_signature(OTHER_RSA, "RS256")
    ),
    "its own key elsewhere": token(
        {"alg": "RS256", "jku": "https://evil.example/keys", "x5u": "https://evil.example/x", "kid": "rsa"},
        rsa_signature(OTHER_RSA, "RS256"),
    ),
    "a kid that is a path": token({**ED, "kid": "../../../../dev/null"}, sign_ed),
    "a kid that is a query": token({**ED, "kid": "ed' OR '1'='1"}, sign_ed),
    "a kid of another key": token({**ED, "kid": "p256"}, sign_ed),
    "a kid that is no text": token({**ED, "kid": 1}, sign_ed),
    "a weak key": token({"alg": "RS256", "kid": "weak"}, rsa_signature(WEAK_RSA, "RS256")),
    "a key for encryption": token({"alg": "RS256", "kid": "for-encryption"}, rsa_signature(RSA, "RS256")),
    "a key for another algorithm": token({"alg": "RS512", "kid": "rs256-only"}, rsa_signature(RSA, "RS512")),
    "another curve": token({"alg": "ES256", "kid": "k1"}, curve_signature(SECP256K1, "256", 32)),
    "ES256K": token({"alg": "ES256K", "kid": "k1"}, curve_signature(SECP256K1, "256", 32)),
    "ES256 with the longer hash": token({"alg": "ES256", "kid": "p256"}, curve_signature(P256, "384", 32)),
    "ES256 in DER": token({"alg": "ES256", "kid": "p256"}, lambda message: P256.sign(message, ec.ECDSA(HASHES["256"]))),
    "ES256 of zeros": token({"alg": "ES256", "kid": "p256"}, lambda message: bytes(64)),
    "ES384 of zeros": token({"alg": "ES384", "kid": "p384"}, lambda message: bytes(96)),
    "EdDSA of zeros": token(ED, lambda message: bytes(64)),
    "RS256 of zeros": token({"alg": "RS256", "kid": "rsa"}, lambda message: bytes(256)),
    "PS256 called RS256": token({"alg": "RS256", "kid": "rsa"}, rsa_signature(RSA, "PS256")),
    "RS256 called PS256": token({"alg": "PS256", "kid": "rsa"}, rsa_signature(RSA, "RS256")),
    "RS256 called RS512": token({"alg": "RS512", "kid": "rsa"}, rsa_signature(RSA, "RS256")),
    "PS256 without salt": token({"alg": "PS256", "kid": "rsa"}, rsa_signature(RSA, "PS256", salt=0)),
    "the public RSA key as a secret": token({"alg": "HS256", "kid": "rsa"}, secret_signature(pem(RSA))),
    "the public Ed25519 key as a secret": token({"alg": "HS256", "kid": "ed"}, secret_signature(raw(ED25519))),
    "the public Ed25519 key as a secret, without a kid": token({"alg": "HS256"}, secret_signature(raw(ED25519))),
    "a shared secret": token({"alg": "HS256", "kid": "shared"}, secret_signature(b"a secret that everybody knows ..")),
    "an empty secret": token({"alg": "HS256"}, secret_signature(b"")),
    "five parts": f"{good['EdDSA']}.{encoded(b'x')}.{encoded(b'y')}",
    "claims twice": raw_token(
        encoded(ED), encoded(json.dumps(CLAIMS)[:-1].encode() + b',"prefixes":["bob:"]}'), sign_ed
    ),
    "an algorithm twice": raw_token(encoded(b'{"alg":"none","alg":"EdDSA","kid":"ed"}'), encoded(CLAIMS), sign_ed),
    "claims that are a list": raw_token(encoded(ED), encoded([CLAIMS]), sign_ed),
    "claims that are no text": raw_token(encoded(ED), encoded(b"\xff\xfe"), sign_ed),
    "with padding": good["EdDSA"] + "==",
}
for spelling in ("none", "None", "NONE", "nOnE", "", "null"):
    bad[f"unsigned, as {spelling!r}"] = token({"alg": spelling}, lambda message: b"")
    bad[f"unsigned with a signature, as {spelling!r}"] = token({"alg": spelling, "kid": "ed"}, sign_ed)
bad["without an algorithm"] = token({"kid": "ed"}, sign_ed)
bad["no algorithm at all"] = token({"alg": None, "kid": "ed"}, sign_ed)

HERE = Path(__file__).parent
HERE.joinpath("keys.json").write_text(json.dumps(KEYS, indent=1) + "\n")
TOKENS = {"issuer": ISSUER, "audience": AUDIENCE, "good": good, "bad": bad}
HERE.joinpath("tokens.json").write_text(json.dumps(TOKENS, indent=1) + "\n")
