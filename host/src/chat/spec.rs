//! A model as a text names it.

use std::{env, str::FromStr, sync::Arc};

use super::{AnthropicModel, Model, OpenAiModel, Scripted};

/// Which model: `scripted`, `openai:BASE_URL#MODEL` or `anthropic:MODEL`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spec {
    /// [`Scripted`], which needs no key.
    Scripted,
    /// [`OpenAiModel`]: any server that speaks OpenAI's chat completions.
    OpenAi {
        /// Where the server is, up to and with its version: `http://localhost:11434/v1`.
        base_url: String,
        /// The model's name.
        model: String,
    },
    /// [`AnthropicModel`], with this model.
    Anthropic(String),
}

impl Spec {
    /// The model that is meant. Keys come from the environment: `OPENAI_API_KEY`, which local servers need not; or
    /// `ANTHROPIC_API_KEY`, with another address in `ANTHROPIC_BASE_URL`.
    ///
    /// # Errors
    ///
    /// A sentence, if a key is missing or cannot be one.
    pub fn build(self) -> Result<Arc<dyn Model>, String> {
        let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Ok(match self {
            Self::Scripted => Arc::new(Scripted),
            Self::OpenAi { base_url, model } => {
                Arc::new(OpenAiModel::new(&base_url, model, given("OPENAI_API_KEY").as_deref())?)
            }
            Self::Anthropic(model) => {
                let key = given("ANTHROPIC_API_KEY")
                    .ok_or("anthropic needs a key in the environment variable ANTHROPIC_API_KEY")?;
                Arc::new(AnthropicModel::new(model, &key, given("ANTHROPIC_BASE_URL").as_deref())?)
            }
        })
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(spec: &str) -> Result<Self, String> {
        match spec.split_once(':') {
            None if spec == "scripted" => Ok(Self::Scripted),
            Some(("anthropic", model)) if !model.is_empty() => Ok(Self::Anthropic(model.to_owned())),
            Some(("openai", rest)) => match rest.split_once('#') {
                Some((url, model))
                    if !model.is_empty() && (url.starts_with("http://") || url.starts_with("https://")) =>
                {
                    Ok(Self::OpenAi { base_url: url.to_owned(), model: model.to_owned() })
                }
                _ => Err("openai needs an address and a model: openai:http://localhost:11434/v1#MODEL".to_owned()),
            },
            _ => Err("one of: scripted, openai:BASE_URL#MODEL, anthropic:MODEL".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_understood_and_anything_else_refused() {
        assert_eq!("scripted".parse(), Ok(Spec::Scripted));
        assert_eq!("anthropic:a-model".parse(), Ok(Spec::Anthropic("a-model".into())));
        let local = Spec::OpenAi { base_url: "http://localhost:1/v1".into(), model: "m:7b".into() };
        assert_eq!("openai:http://localhost:1/v1#m:7b".parse(), Ok(local));
        for wrong in
            ["", "x", "scripted:1", "anthropic:", "openai:m", "openai:ftp://x#m", "openai:http://x", "openai:http://x#"]
        {
            assert!(wrong.parse::<Spec>().is_err(), "{wrong}");
        }
    }
}
