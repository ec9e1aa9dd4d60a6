//! One request over `wasi:http`, waited for.

use std::io::{Read as _, Write};

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{ErrorCode, Fields, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme};

/// More than any answer: a server that sends more has gone wrong.
const MAX_ANSWER: u64 = 8 << 20;

const SECOND: u64 = 1_000_000_000;

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    secure: bool,
    authority: String,
    path: String,
}

impl Place {
    /// The place of an absolute `http` or `https` URL.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let secure = match scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        (!authority.is_empty()).then(|| Self { secure, authority: authority.to_owned(), path: path.to_owned() })
    }
}

/// Posts JSON and answers status and body.
pub(crate) fn post(place: &Place, key: Option<&str>, json: &[u8]) -> Result<(u16, Vec<u8>), String> {
    let headers = Fields::new();
    let set = |name: &str, value: String| {
        headers.append(name, value.as_bytes()).map_err(|error| format!("the header {name} is refused: {error}"))
    };
    set("content-type", "application/json".to_owned())?;
    set("content-length", json.len().to_string())?;
    if let Some(key) = key {
        set("authorization", format!("Bearer {key}"))?;
    }
    let request = OutgoingRequest::new(headers);
    let scheme = if place.secure { Scheme::Https } else { Scheme::Http };
    request
        .set_method(&Method::Post)
        .and_then(|()| request.set_scheme(Some(&scheme)))
        .and_then(|()| request.set_authority(Some(&place.authority)))
        .and_then(|()| request.set_path_with_query(Some(&place.path)))
        .map_err(|()| format!("the host refuses a request to {}", place.authority))?;
    let body = request.body().map_err(|()| "the host gives the request no body".to_owned())?;
    let options = RequestOptions::new();
    // A host that knows no time limits has its own. Models take minutes until they say the first word.
    for _refused in [
        options.set_connect_timeout(Some(30 * SECOND)),
        options.set_first_byte_timeout(Some(600 * SECOND)),
        options.set_between_bytes_timeout(Some(120 * SECOND)),
    ] {}
    let answer = handle(request, Some(options)).map_err(|error| said(&error))?;
    // What the server answers decides, not whether it took the whole body: a host lets go of the body as soon as it has
    // as many bytes as were announced, and a server may refuse a request that it has not read to the end.
    let sent = send(body, json);
    answer.subscribe().block();
    let response =
        answer.get().and_then(Result::ok).ok_or_else(|| "the host has no answer".to_owned())?.map_err(|error| {
            match sent {
                Ok(()) => said(&error),
                Err(sending) => format!("{}; {sending}", said(&error)),
            }
        })?;
    let body = response.consume().map_err(|()| "the answer has no body".to_owned())?;
    let mut bytes = Vec::new();
    let stream = body.stream().map_err(|()| "the answer's body cannot be read".to_owned())?;
    stream.take(MAX_ANSWER).read_to_end(&mut bytes).map_err(|error| format!("the answer broke off: {error}"))?;
    Ok((response.status(), bytes))
}

fn send(body: OutgoingBody, bytes: &[u8]) -> Result<(), String> {
    let mut stream = body.write().map_err(|()| "the request's body cannot be written".to_owned())?;
    stream
        .write_all(bytes)
        .and_then(|()| Write::flush(&mut stream))
        .map_err(|error| format!("the request broke off: {error}"))?;
    drop(stream);
    OutgoingBody::finish(body, None).map_err(|error| said(&error))
}

fn said(error: &ErrorCode) -> String {
    format!("no answer from the server: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let place = |secure, authority: &str, path: &str| {
            Some(Place { secure, authority: authority.to_owned(), path: path.to_owned() })
        };
        assert_eq!(Place::parse("http://localhost:8080/v1/x"), place(false, "localhost:8080", "/v1/x"));
        assert_eq!(Place::parse("https://models.example"), place(true, "models.example", "/"));
        for none in ["", "localhost:8080/v1", "ftp://a/b", "http:///v1"] {
            assert_eq!(Place::parse(none), None, "{none}");
        }
    }
}
