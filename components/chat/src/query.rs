//! Whose conversation a request is about.

use crate::problem::Problem;

/// The session of `?user=U&conversation=C`: `U:C`.
///
/// A colon in U would let one user name another's conversation.
pub(crate) fn session(path_and_query: &str) -> Result<String, Problem> {
    let query = path_and_query.split_once('?').map_or("", |(_, query)| query);
    let value = |name: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .filter(|value| !value.is_empty())
            .ok_or_else(|| Problem::bad_request(format!("the query has no {name}")))
    };
    let user = value("user")?;
    if user.contains(':') {
        return Err(Problem::bad_request("a user's name cannot have a colon".to_owned()));
    }
    Ok(format!("{user}:{}", value("conversation")?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn user_and_conversation_make_the_session() {
        assert_eq!(session("/api/chat?user=easy&conversation=test1").unwrap(), "easy:test1");
        assert_eq!(session("/api/chat?conversation=a%3Ab+c&user=%C3%A4").unwrap(), "ä:a:b c");
    }

    #[test]
    fn a_user_cannot_be_named_so_that_another_s_conversation_is_read() {
        assert_eq!(session("/api/chat?user=a:b&conversation=c").unwrap_err().status, 400);
        assert_eq!(session("/api/chat?user=a%3Ab&conversation=c").unwrap_err().status, 400);
    }

    #[test]
    fn both_have_to_be_there() {
        for query in ["", "?", "?user=a", "?conversation=b", "?user=&conversation=b", "?user=a&conversation="] {
            assert_eq!(session(&format!("/api/chat{query}")).unwrap_err().status, 400, "{query}");
        }
    }
}
