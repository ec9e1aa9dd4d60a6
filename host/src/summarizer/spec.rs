//! A summarizer as a text names it.

use std::str::FromStr;
use std::sync::Arc;

use super::{Anthropic, Command, Extractive, OpenAi, Summarizer};

/// Which summarizer: `extractive`, `command:CMD`, `openai:BASE_URL#MODEL`, `anthropic:MODEL` or `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spec {
    /// [`Extractive`].
    Extractive,
    /// [`Command`], with this command.
    Command(String),
    /// [`OpenAi`].
    OpenAi {
        /// Where the server is, up to and with its version: `https://api.openai.com/v1`.
        base_url: String,
        /// The model's name.
        model: String,
    },
    /// [`Anthropic`], with this model.
    Anthropic(String),
    /// Nobody.
    None,
}

impl Spec {
    /// The summarizer that is meant; none for [`Spec::None`]. Keys come from the environment.
    ///
    /// # Errors
    ///
    /// A sentence, if the key of a service that needs one is missing or cannot be one.
    pub fn build(self) -> Result<Option<Arc<dyn Summarizer>>, String> {
        Ok(Some(match self {
            Spec::Extractive => Arc::new(Extractive),
            Spec::Command(command) => Arc::new(Command::new(command)),
            Spec::OpenAi { base_url, model } => Arc::new(OpenAi::from_env(&base_url, model)?),
            Spec::Anthropic(model) => Arc::new(Anthropic::from_env(model)?),
            Spec::None => return Ok(None),
        }))
    }
}

impl FromStr for Spec {
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
        assert_eq!("extractive".parse(), Ok(Spec::Extractive));
        assert_eq!("none".parse(), Ok(Spec::None));
        assert_eq!("command:cat | head -c 9".parse(), Ok(Spec::Command("cat | head -c 9".into())));
        assert_eq!("anthropic:a-model".parse(), Ok(Spec::Anthropic("a-model".into())));
        let local = Spec::OpenAi { base_url: "http://localhost:1/v1".into(), model: "m:7b".into() };
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
            assert!(spec.parse::<Spec>().is_err(), "{spec}");
        }
    }
}
