//! The page for people: a window into any store, in a browser.
//!
//! Its files are part of the program, and nothing is fetched from elsewhere. They hold no data, so they are for everybody who
//! reaches the server; what the page then asks for goes the way of every client, with a token where one is needed. The
//! content security policy keeps the browser from running or loading anything that is not one of these files, whatever a
//! message may contain.

use axum::{
    Router,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use sha2::{Digest as _, Sha256};

/// What the page may do: its own scripts and styles, this server, pictures that came with messages. No frames, no forms to
/// elsewhere, no base.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// One file of the page: its address, its type, its content.
macro_rules! file {
    ($name:literal, $type:expr) => {
        (concat!("/", $name), $type, include_bytes!(concat!("../../page/", $name)).as_slice())
    };
}

const FILES: &[(&str, &str, &[u8])] = &[
    ("/", HTML, include_bytes!("../../page/index.html")),
    file!("icon.svg", PICTURE),
    file!("style.css", STYLE),
    file!("main.js", SCRIPT),
    file!("archive.js", SCRIPT),
    file!("chat.js", SCRIPT),
    file!("connection.js", SCRIPT),
    file!("conversation.js", SCRIPT),
    file!("dom.js", SCRIPT),
    file!("import.js", SCRIPT),
    file!("list.js", SCRIPT),
    file!("markdown.js", SCRIPT),
    file!("memory.js", SCRIPT),
    file!("message.js", SCRIPT),
    file!("sessions.js", SCRIPT),
    file!("talk.js", SCRIPT),
    file!("transcripts.js", SCRIPT),
    file!("tree.js", SCRIPT),
];

/// The addresses of the page.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().fold(Router::new(), |router, &(address, kind, content)| {
        let tag = tag(content);
        router.route(address, get(move |headers: HeaderMap| async move { answer(&headers, kind, content, tag) }))
    })
}

/// What changes with the content: a newer program has a newer page at once.
fn tag(content: &[u8]) -> HeaderValue {
    let digest: String = Sha256::digest(content).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::try_from(format!("\"{digest}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

fn answer(asked: &HeaderMap, kind: &'static str, content: &'static [u8], tag: HeaderValue) -> Response {
    let known = asked.get(header::IF_NONE_MATCH) == Some(&tag);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, tag),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    if known { (StatusCode::NOT_MODIFIED, headers).into_response() } else { (headers, content).into_response() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    #[test]
    fn every_file_of_the_page_is_served() {
        let mut names: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/page"))
            .unwrap()
            .map(|entry| format!("/{}", entry.unwrap().file_name().into_string().unwrap()))
            .map(|name| if name == "/index.html" { "/".to_owned() } else { name })
            .collect();
        names.sort();
        let mut served: Vec<_> = FILES.iter().map(|(address, ..)| (*address).to_owned()).collect();
        served.sort();
        assert_eq!(served, names);
    }

    #[test]
    fn the_page_asks_nobody_else_for_anything() {
        for (address, _, content) in FILES {
            let text = std::str::from_utf8(content).unwrap();
            for line in text.lines().filter(|line| !line.contains("www.w3.org/2000/svg") && !line.contains("https?:")) {
                assert!(!line.contains("http://") && !line.contains("https://"), "{address}: {line}");
            }
            for wrong in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!text.contains(wrong), "{address}: {wrong}");
            }
        }
    }
}
