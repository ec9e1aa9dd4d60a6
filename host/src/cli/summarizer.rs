//! `--summarizer SPEC`: who writes summaries.

use std::str::FromStr;

/// The summarizer that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Summarizer {
    /// Built in, without a model.
    Extractive,
    /// A command that `sh -c` runs: prompt on stdin, summary on stdout.
    Command(String),
    /// A server that speaks OpenAI's chat completions.
    OpenAi {
        /// Where it is.
        base_url: String,
        /// The model's name.
        model: String,
    },
    /// Anthropic's API, with this model.
    Anthropic(String),
    /// Nobody.
    None,
}

impl FromStr for Summarizer {
    type Err = String;

    fn from_str(spec: &str) -> Result<Self, String> {
        match spec.split_once(':') {
            None if spec == "extractive" => Ok(Self::Extractive),
            None if spec == "none" => Ok(Self::None),
            Some(("command", command)) if !command.trim().is_empty() => Ok(Self::Command(command.to_owned())),
            Some(("anthropic", model)) if !model.is_empty() => Ok(Self::Anthropic(model.to_owned())),
            Some(("openai", rest)) => match rest.split_once('#') {
                Some((url, model)) if is_http(url) && !model.is_empty() => {
                    Ok(Self::OpenAi { base_url: url.to_owned(), model: model.to_owned() })
                }
                _ => Err("openai needs an address and a model: openai:http://localhost:11434/v1#MODEL".to_owned()),
            },
            _ => Err("one of: extractive, command:CMD, openai:BASE_URL#MODEL, anthropic:MODEL, none".to_owned()),
        }
    }
}

fn is_http(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_understood() {
        assert_eq!("extractive".parse(), Ok(Summarizer::Extractive));
        assert_eq!("none".parse(), Ok(Summarizer::None));
        assert_eq!("command:cat | head -c 9".parse(), Ok(Summarizer::Command("cat | head -c 9".into())));
        assert_eq!("anthropic:a-model".parse(), Ok(Summarizer::Anthropic("a-model".into())));
        let local = Summarizer::OpenAi { base_url: "http://localhost:1/v1".into(), model: "m:7b".into() };
        assert_eq!("openai:http://localhost:1/v1#m:7b".parse(), Ok(local));
    }

    #[test]
    fn anything_else_is_refused() {
        for spec in [
            "",
            "x",
            "command:",
            "command: ",
            "openai:m",
            "openai:ftp://x#m",
            "openai:http://x",
            "openai:http://#m",
            "anthropic:",
            "none:1",
        ] {
            assert!(spec.parse::<Summarizer>().is_err(), "{spec}");
        }
    }
}
