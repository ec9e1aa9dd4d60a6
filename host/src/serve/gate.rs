//! What is looked at before anybody is recognised: `Host` and `Origin`.
//!
//! A page of another site can make a browser send requests to this machine, by a name of its own that leads here (DNS
//! rebinding) or straight to the address. The first is told by the `Host`, which has to be a name or an address of this
//! server; the second by the `Origin`, which a browser always sends: it has to be this server's own or one that is allowed.

use std::net::{IpAddr, SocketAddr};

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header,
        uri::{Authority, PathAndQuery},
    },
    response::{IntoResponse as _, Response},
};

use super::refusal::Refusal;

/// Headers that a page may send.
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name",
);
/// Headers of answers that a page may read.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate");

/// Which hosts and origins are let in.
#[derive(Debug)]
pub(super) struct Gate {
    listening: IpAddr,
    /// In lower case, with or without a port.
    hosts: Vec<String>,
    /// In lower case.
    origins: Vec<String>,
}

impl Gate {
    /// Errors: a sentence, for an origin that is none.
    pub(super) fn new(listening: SocketAddr, hosts: &[String], origins: &[String]) -> Result<Self, String> {
        let origins: Vec<_> = origins.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        if let Some(wrong) = origins.iter().find(|origin| authority_of(origin).is_none()) {
            return Err(format!("{wrong:?} is no origin, as \"https://app.example\" is one"));
        }
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Ok(Self { listening: listening.ip(), hosts, origins })
    }

    /// Lets a request in, and gives its origin where pages of that may read the answer.
    pub(super) fn check(&self, request: &Request<Body>) -> Result<Option<HeaderValue>, Refusal> {
        let host = self.host(request)?;
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(None) };
        let text = origin.to_str().ok().map(str::to_ascii_lowercase).filter(|_| origins.next().is_none());
        match text {
            Some(text) if self.origins.contains(&text) => Ok(Some(origin.clone())),
            Some(text) if authority_of(&text).is_some_and(|authority| authority == host) => Ok(None),
            _ => Err(Refusal::forbidden("pages of this origin are not let in (see --allow-origin)")),
        }
    }

    /// The host that a request is for, in lower case.
    fn host(&self, request: &Request<Body>) -> Result<String, Refusal> {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let (first, second) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
        let named = request.uri().authority().map(Authority::as_str);
        let host = match (named, first, second) {
            (_, _, Some(_)) => None,
            // An address in full counts more than the header, which then has to agree.
            (Some(named), Some(first), None) if !named.eq_ignore_ascii_case(first) => None,
            (named, first, None) => named.or(first),
        };
        let host =
            host.map(str::to_ascii_lowercase).ok_or_else(|| Refusal::bad("one header \"Host\" has to be there"))?;
        if self.is_ours(&host) {
            return Ok(host);
        }
        Err(Refusal::forbidden("this server is not called so (see --allow-host)"))
    }

    fn is_ours(&self, host: &str) -> bool {
        // Nobody logs in to a server of ours.
        let Some(authority) = host.parse::<Authority>().ok().filter(|_| !host.contains('@')) else { return false };
        let name = authority.host();
        let port = host.strip_prefix(name).map(|rest| rest.strip_prefix(':').unwrap_or(rest));
        if port.is_none_or(|port| !port.is_empty() && port.parse::<u16>().is_err()) {
            return false;
        }
        if self.hosts.iter().any(|allowed| allowed == host || allowed == name) {
            return true;
        }
        let everywhere = self.listening.is_unspecified();
        let here = everywhere || self.listening.is_loopback();
        match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            // A name can lead anywhere, an address only there.
            Ok(address) => everywhere || address == self.listening || (here && address.is_loopback()),
            Err(_) => here && name == "localhost",
        }
    }
}

/// Host and port of an origin, in lower case; none: it is no origin.
fn authority_of(origin: &str) -> Option<String> {
    let uri: Uri = origin.parse().ok()?;
    let web = matches!(uri.scheme_str(), Some("http" | "https"));
    let bare = uri.path_and_query().map(PathAndQuery::as_str).is_none_or(|path| path == "/") && !origin.ends_with('/');
    uri.authority().filter(|authority| web && bare && !authority.as_str().contains('@')).map(ToString::to_string)
}

/// Whether a browser asks what a page of another origin may send.
pub(super) fn is_preflight(request: &Request<Body>) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to that.
pub(super) fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE")),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Headers of every answer that does not say otherwise. It is no page: whatever a message holds, a browser that is led here
/// shows and runs nothing of it, frames it nowhere, keeps nothing, and gives nothing of it to a page that did not ask by CORS.
pub(super) async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Headers for pages of an allowed origin.
pub(super) fn allow(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn gate(listening: &str) -> Gate {
        let origins = ["https://App.example".to_owned(), "http://localhost:3000".to_owned()];
        Gate::new(listening.parse().unwrap(), &["Talk.example".to_owned(), "other.example:81".to_owned()], &origins)
            .unwrap()
    }

    fn request(headers: &[(&str, &str)]) -> Request<Body> {
        let mut request = Request::builder().uri("/rpc");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    fn enters(gate: &Gate, host: &str) -> bool {
        gate.check(&request(&[("host", host)])).is_ok()
    }

    #[test]
    fn only_names_and_addresses_of_this_server_are_hosts() {
        let here = gate("127.0.0.1:80");
        for host in
            ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8787", "[::1]:80", "talk.example", "Talk.Example:9"]
        {
            assert!(enters(&here, host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "a@localhost",
            "",
            "localhost:x",
        ] {
            assert!(!enters(&here, host), "{host}");
        }
        assert!(enters(&here, "other.example:81") && !enters(&here, "other.example"));
        let everywhere = gate("0.0.0.0:80");
        assert!(enters(&everywhere, "10.0.0.1:80") && enters(&everywhere, "localhost"));
        assert!(!enters(&everywhere, "evil.example"));
        let outside = gate("10.0.0.1:80");
        assert!(enters(&outside, "10.0.0.1") && !enters(&outside, "10.0.0.2") && !enters(&outside, "localhost"));
    }

    #[test]
    fn a_request_has_one_host() {
        let here = gate("127.0.0.1:80");
        for headers in [&[][..], &[("host", "localhost"), ("host", "localhost")]] {
            assert!(here.check(&request(headers)).is_err(), "{headers:?}");
        }
        let mut full = request(&[("host", "localhost")]);
        *full.uri_mut() = "http://evil.example/rpc".parse().unwrap();
        assert!(here.check(&full).is_err());
        *full.uri_mut() = "http://localhost/rpc".parse().unwrap();
        assert!(here.check(&full).is_ok());
    }

    #[test]
    fn pages_of_other_origins_are_not_let_in() {
        let here = gate("127.0.0.1:80");
        let origin = |origin| here.check(&request(&[("host", "localhost:80"), ("origin", origin)]));
        assert_eq!(origin("http://localhost:80").unwrap(), None, "its own origin");
        assert!(origin("https://app.example").unwrap().is_some());
        assert!(origin("http://localhost:3000").unwrap().is_some());
        for wrong in [
            "null",
            "http://localhost:3001",
            "http://localhost",
            "https://app.example.evil.example",
            "https://app.example:444",
            "http://app.example",
            "https://xapp.example",
            "http://evil.example",
            "file://",
            "",
            "http://localhost:80/",
            "http://a@localhost:80",
        ] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
        let two = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert!(here.check(&request(&two)).is_err());
    }

    #[test]
    fn what_is_no_origin_cannot_be_allowed() {
        for wrong in ["*", "app.example", "https://app.example/", "https://app.example/x", "ftp://app.example"] {
            assert!(Gate::new("127.0.0.1:1".parse().unwrap(), &[], &[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
