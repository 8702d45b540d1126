//! `question`: asks the user.

use crate::tool::{Call, Done, Tool, ToolFailure, World, spec, text};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use sturdy_session::talk::ToolSpec;
use sturdy_session::types::ask::Question;

#[derive(Debug)]
pub struct QuestionTool(ToolSpec);

#[derive(Deserialize)]
struct Input {
    questions: Vec<Question>,
}

impl QuestionTool {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let option = json!({
            "type": "object",
            "properties": {
                "label": text("The answer, in one to five words"),
                "description": text("What choosing it means"),
            },
            "required": ["label", "description"],
        });
        let question = json!({
            "type": "object",
            "properties": {
                "question": text("The whole question"),
                "header": text("A very short name for it, at most 30 characters"),
                "options": { "type": "array", "items": option, "description": "The answers to choose from" },
                "multiple": { "type": "boolean", "description": "More than one answer may be chosen" },
            },
            "required": ["question", "header", "options"],
        });
        let properties = json!({ "questions": { "type": "array", "items": question, "description": "The questions to ask" } });
        Self(spec("question", include_str!("question.md"), properties, &["questions"]))
    }
}

impl Tool for QuestionTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let Input { mut questions } = call.decode()?;
            // Whether a person may write an answer of their own is not the model's to say.
            questions.iter_mut().for_each(|question| question.custom = None);
            if questions.is_empty() {
                return Err(ToolFailure::failed("There is no question to ask."));
            }
            let answers = (world.handles.question)(questions.clone()).await?;
            let said = |(at, question): (usize, &Question)| {
                let chosen = answers.get(at).filter(|list| !list.is_empty());
                let words = chosen.map_or_else(|| "no answer".to_owned(), |list| list.join(", "));
                format!("\"{}\"=\"{words}\"", question.question)
            };
            let pairs: Vec<String> = questions.iter().enumerate().map(said).collect();
            let output =
                format!("The user answered: {}. Go on with these answers in mind.", pairs.join(", "));
            let count = questions.len();
            let title = format!("Asked {count} question{}", if count == 1 { "" } else { "s" });
            Ok(Done::new(title, output, json!({ "answers": answers })))
        })
    }
}
