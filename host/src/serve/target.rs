//! Which tenant a request is about, as its address says.
//!
//! `?tenant=T` names it. `?user=U&conversation=C` is the tenant `U:C`; a `:` in `U` is refused, since `a:b` with `c` and
//! `a` with `b:c` would be the same one.

use super::refusal::Refusal;
use crate::{access::SEPARATOR, tenant_name::MAX_NAME_BYTES};

/// What the query of a request says of where it belongs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) tenant: Option<String>,
    pub(super) session: Option<String>,
}

impl Target {
    /// Reads a query. What it does not know it leaves to others.
    pub(super) fn of_query(query: Option<&str>) -> Result<Self, Refusal> {
        let (mut tenant, mut session, mut user, mut conversation) = (None, None, None, None);
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let place = match &*name {
                "tenant" => &mut tenant,
                "session" => &mut session,
                "user" => &mut user,
                "conversation" => &mut conversation,
                _ => continue,
            };
            // What is not UTF-8 was replaced by this sign: different names would become the same.
            if value.contains(char::REPLACEMENT_CHARACTER) {
                return Err(Refusal::bad(format!("the value of {name:?} in the address is not UTF-8")));
            }
            if place.replace(value.into_owned()).is_some() {
                return Err(Refusal::bad(format!("{name:?} is in the address twice")));
            }
        }
        let of_user = match (user, conversation) {
            (Some(user), Some(conversation)) => Some(conversation_of(&user, &conversation)?),
            (None, None) => None,
            _ => return Err(Refusal::bad("\"user\" and \"conversation\" belong together")),
        };
        let tenant = one(tenant, of_user)?;
        tenant.as_deref().map(check).transpose()?;
        Ok(Self { tenant, session })
    }

    /// The same, where the session is said with each request: one that the address names would not be obeyed.
    pub(super) fn without_session(self) -> Result<Self, Refusal> {
        match self.session {
            Some(_) => Err(Refusal::bad("the session is named in params, not in the address")),
            None => Ok(self),
        }
    }

    /// The same, where the path of the address names the tenant.
    pub(super) fn in_path(self, name: String) -> Result<Self, Refusal> {
        check(&name)?;
        Ok(Self { tenant: one(Some(name), self.tenant)?, session: self.session })
    }
}

fn conversation_of(user: &str, conversation: &str) -> Result<String, Refusal> {
    if user.is_empty() || conversation.is_empty() {
        return Err(Refusal::bad("\"user\" and \"conversation\" must not be empty"));
    }
    if user.contains(SEPARATOR) {
        return Err(Refusal::bad(format!("\"user\" must not hold {SEPARATOR:?}: two users could meet in one tenant")));
    }
    Ok(format!("{user}{SEPARATOR}{conversation}"))
}

/// The one tenant that is meant.
fn one(named: Option<String>, of_user: Option<String>) -> Result<Option<String>, Refusal> {
    match (named, of_user) {
        (Some(named), Some(of_user)) if named != of_user => {
            Err(Refusal::bad("the address names two tenants: which is meant?"))
        }
        (named, of_user) => Ok(named.or(of_user)),
    }
}

fn check(tenant: &str) -> Result<(), Refusal> {
    if tenant.is_empty() || tenant.len() > MAX_NAME_BYTES {
        return Err(Refusal::bad(format!("the name of a tenant has 1 to {MAX_NAME_BYTES} bytes")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn tenant(query: &str) -> Option<Option<String>> {
        Target::of_query(Some(query)).ok().map(|target| target.tenant)
    }

    #[test]
    fn a_user_and_a_conversation_are_a_tenant() {
        assert_eq!(tenant("user=easy&conversation=test1"), Some(Some("easy:test1".into())));
        assert_eq!(tenant("conversation=b%3Ac&user=a&_pk=1"), Some(Some("a:b:c".into())));
        assert_eq!(tenant("user=J%C3%B6rg+x&conversation=%E9%83%A8"), Some(Some("Jörg x:部".into())));
        assert_eq!(tenant("tenant=a%3Ab"), Some(Some("a:b".into())));
        assert_eq!(tenant("tenant=a%3Ab&user=a&conversation=b"), Some(Some("a:b".into())));
        assert_eq!(tenant(""), Some(None));
        assert_eq!(Target::of_query(None).unwrap(), Target::default());
    }

    #[test]
    fn two_users_never_meet() {
        for query in [
            "user=a:b&conversation=c",
            "user=a%3Ab&conversation=c",
            "user=a&user=a%3Ab&conversation=c",
            "user=a",
            "conversation=c",
            "user=&conversation=c",
            "user=a&conversation=",
            "user=%FF&conversation=c",
            "user=a&conversation=%ED%A0%80",
            "tenant=x&user=a&conversation=b",
            "tenant=",
            "tenant=a&tenant=a",
        ] {
            assert_eq!(tenant(query), None, "{query}");
        }
        let long = format!("user=a&conversation={}", "x".repeat(MAX_NAME_BYTES));
        assert_eq!(tenant(&long), None);
    }

    #[test]
    fn a_path_and_a_query_have_to_agree() {
        let target = |query, name: &str| Target::of_query(Some(query)).unwrap().in_path(name.to_owned());
        assert_eq!(target("", "a:b").unwrap().tenant.as_deref(), Some("a:b"));
        assert_eq!(target("user=a&conversation=b", "a:b").unwrap().tenant.as_deref(), Some("a:b"));
        assert!(target("user=a&conversation=b", "a:c").is_err());
        assert!(target("", "").is_err());
    }
}
