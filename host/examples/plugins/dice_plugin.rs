//! Another plugin, to show that they do not know of each other: one tool, and nothing that is kept.

use serde_json::Value;

use crate::runtime::{Answer, Tool, ToolProvider};

struct Dice {
    sides: u64,
}

/// Makes it of `{"sides": ...}`.
pub(crate) fn make(options: Value) -> Answer<'static, Box<dyn ToolProvider>> {
    Box::pin(async move {
        let sides = options["sides"].as_u64().ok_or("the option \"sides\" is missing")?;
        Ok(Box::new(Dice { sides }) as Box<dyn ToolProvider>)
    })
}

impl ToolProvider for Dice {
    fn tools(&self) -> Answer<'_, Vec<Tool>> {
        let schema = r#"{"type":"object","properties":{"times":{"type":"integer"}},"required":["times"]}"#;
        let tool = Tool {
            name: "roll".to_owned(),
            description: format!("Rolls a die with {} sides.", self.sides),
            input_schema: schema.to_owned(),
        };
        Box::pin(async move { Ok(vec![tool]) })
    }

    fn call<'a>(&'a self, _tool: &'a str, arguments: &'a str) -> Answer<'a, String> {
        Box::pin(async move {
            let arguments: Value = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
            let times = arguments["times"].as_u64().ok_or("\"times\" has to be a number")?;
            // Not by chance, so that this program always says the same.
            let rolled: Vec<_> = (0..times).map(|n| (n * 5 % self.sides + 1).to_string()).collect();
            Ok(rolled.join(", "))
        })
    }
}
