//! Addresses of transcripts: `talktree://transcript/{tenant}/{session}` and `talktree://messages/{tenant}/{session}`.

/// What all addresses begin with.
const SCHEME: &str = "talktree://";

/// In which form a conversation is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In words.
    Transcript,
    /// The messages themselves, one a line.
    Messages,
}

impl Form {
    pub(super) const ALL: [Form; 2] = [Form::Transcript, Form::Messages];

    fn name(self) -> &'static str {
        match self {
            Form::Transcript => "transcript",
            Form::Messages => "messages",
        }
    }

    /// The addresses of this form, as a template of RFC 6570.
    pub(super) fn template(self) -> String {
        format!("{SCHEME}{}/{{tenant}}/{{session}}", self.name())
    }

    /// The address of a conversation.
    pub(super) fn of(self, tenant: &str, session: &str) -> String {
        format!("{SCHEME}{}/{}/{}", self.name(), escaped(tenant), escaped(session))
    }
}

/// Which conversation an address means, and in which form. None: it is none of ours.
pub(super) fn read(uri: &str) -> Option<(Form, String, String)> {
    let mut pieces = uri.strip_prefix(SCHEME)?.split('/');
    let name = pieces.next()?;
    let form = Form::ALL.into_iter().find(|form| form.name() == name)?;
    let (tenant, session) = (pieces.next()?, pieces.next().unwrap_or_default());
    if pieces.next().is_some() {
        return None;
    }
    Some((form, unescaped(tenant)?, unescaped(session)?))
}

fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

fn unescaped(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_back_to_their_conversations() {
        for (tenant, session) in [("easy:test1", ""), ("a/b", "c/../d"), ("部 %", "\0?#"), ("..", ".")] {
            for form in Form::ALL {
                let uri = form.of(tenant, session);
                assert_eq!(read(&uri), Some((form, tenant.into(), session.into())), "{uri}");
            }
        }
        let given = read("talktree://transcript/easy:test1");
        assert_eq!(given, Some((Form::Transcript, "easy:test1".into(), String::new())));
    }

    #[test]
    fn other_addresses_are_none_of_ours() {
        for uri in [
            "",
            "talktree://",
            "talktree://transcript",
            "talktree://other/a/b",
            "talktree://transcript/a/b/c",
            "talktree://transcript/%/b",
            "talktree://transcript/%ff/b",
            "file:///etc/passwd",
            "TALKTREE://transcript/a/b",
        ] {
            assert_eq!(read(uri), None, "{uri}");
        }
    }
}
