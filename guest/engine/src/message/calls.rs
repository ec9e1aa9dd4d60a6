//! The tool calls and results of a message, and how a column of the database holds them.

/// What a part does for the tool call of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// Asks for a result.
    Call,
    /// Is the result of the nearest open call of that id before it.
    Result,
    /// A part that holds both a call's input and its result (`tool-*` and `dynamic-tool` parts with output): the result
    /// of a call of that id that is open earlier on the path, and where there is none a call with its own result. Only
    /// who reads the path can tell.
    Answered,
}

/// A tool call or a result in a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    /// The id that joins a call and its result: any text, empty where the part has none; ids may repeat.
    pub id: String,
    /// Which of the two.
    pub kind: CallKind,
}

/// The calls as one line of text each, in their order; none if there are none.
///
/// A line is a letter for the kind and the id, with backslash, line break and NUL escaped: text for any column.
pub fn encode(calls: &[Call]) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(calls.iter().map(|call| call.id.len() + 2).sum());
    for (index, call) in calls.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push(match call.kind {
            CallKind::Call => 'c',
            CallKind::Result => 'r',
            CallKind::Answered => 'a',
        });
        for char in call.id.chars() {
            match char {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\0' => out.push_str("\\0"),
                char => out.push(char),
            }
        }
    }
    Some(out)
}

/// The calls that [`encode`] wrote. What it cannot have written gives no calls at all.
pub fn decode(text: &str) -> Vec<Call> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split('\n').map(decode_line).collect::<Option<_>>().unwrap_or_default()
}

fn decode_line(line: &str) -> Option<Call> {
    let mut chars = line.chars();
    let kind = match chars.next()? {
        'c' => CallKind::Call,
        'r' => CallKind::Result,
        'a' => CallKind::Answered,
        _ => return None,
    };
    let mut id = String::with_capacity(chars.as_str().len());
    while let Some(char) = chars.next() {
        id.push(match char {
            '\\' => match chars.next()? {
                '\\' => '\\',
                'n' => '\n',
                '0' => '\0',
                _ => return None,
            },
            char => char,
        });
    }
    Some(Call { id, kind })
}
