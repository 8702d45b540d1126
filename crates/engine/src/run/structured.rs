//! Answers that must fit a schema: the tool they are given by, and the judgement of what was given.
//!
//! Counting tries and ending the turn is the machine's (`sturdy-session`); the library that checks is
//! behind `schema.rs`.

use crate::error::EngineError;
use crate::run::Sessions;
use crate::run::request;
use crate::schema;
use serde_json::Value;
use std::sync::Arc;
use sturdy_session::fact::Outcome;
use sturdy_session::id::SessionId;
use sturdy_session::json::Map;
use sturdy_session::prompt::reminders;
use sturdy_session::talk::{ToolSpec, Turn, UserItem};
use sturdy_session::turn::{RunTool, STRUCTURED_TOOL};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::format::OutputFormat;
use sturdy_session::types::message::UserMessage;

const DESCRIPTION: &str = "Gives the answer to the prompt as an object of the shape below. Call it once, when the object is \
     complete; the work ends with it.";

/// How often a wrong answer is handed back; none when words are wanted. A schema that cannot be used
/// fails the prompt before anybody is asked.
pub(crate) fn retries(user: &UserMessage) -> Result<Option<u32>, Failure> {
    let Some(OutputFormat::JsonSchema { schema, retry_count }) = &user.format else { return Ok(None) };
    schema::check(schema).map_err(|cause| Failure::unknown(format!("Invalid output format: {cause}")))?;
    Ok(Some(*retry_count))
}

/// The tool for the answer; none when words are wanted.
pub(crate) fn tool(user: &UserMessage) -> Option<ToolSpec> {
    let Some(OutputFormat::JsonSchema { schema, .. }) = &user.format else { return None };
    let mut parameters = schema.clone();
    parameters.shift_remove("$schema");
    Some(ToolSpec {
        name: STRUCTURED_TOOL.to_owned(),
        description: DESCRIPTION.to_owned(),
        parameters: Value::Object(parameters),
    })
}

/// Puts the tool among the others. A model that answered in words is told again what is wanted.
pub(crate) fn offer(tool: ToolSpec, offered: &mut Vec<ToolSpec>, messages: &mut Vec<Turn>) {
    offered.push(tool);
    offered.sort_by_key(|tool| tool.name.to_lowercase());
    if let Some(Turn::Assistant(_)) = messages.last() {
        let words = reminders::structured_output().to_owned();
        messages.push(Turn::User(vec![UserItem::Text(words)]));
    }
}

/// Looks at what the model gave.
pub(crate) async fn judge(sessions: &Arc<Sessions>, session: &SessionId, call: &RunTool) -> Outcome {
    let complaint = match misfits(sessions, session, call).await {
        Ok(misfits) if misfits.is_empty() => {
            return Outcome::Done {
                output: "Structured output captured successfully.".to_owned(),
                title: "Structured Output".to_owned(),
                metadata: Map::from_iter([("valid".to_owned(), Value::Bool(true))]),
                attachments: Vec::new(),
            };
        }
        Ok(misfits) => format!(
            "The object does not fit the schema. Correct it and call {STRUCTURED_TOOL} again:\n- {}",
            misfits.join("\n- ")
        ),
        Err(cause) => cause.to_string(),
    };
    let metadata = Map::from_iter([("valid".to_owned(), Value::Bool(false))]);
    Outcome::Failed { error: complaint, metadata: Some(metadata) }
}

async fn misfits(
    sessions: &Arc<Sessions>,
    session: &SessionId,
    call: &RunTool,
) -> Result<Vec<String>, EngineError> {
    let step = request::assistant_message(sessions, session, &call.step).await?;
    let user = request::user_message(sessions, session, &step.parent_id).await?;
    let Some(OutputFormat::JsonSchema { schema, .. }) = &user.format else {
        return Err(EngineError::Unknown("No object was asked for".to_owned()));
    };
    let value = Value::Object(call.input.clone());
    schema::misfits(schema, &value).map_err(|cause| EngineError::Unknown(cause.to_string()))
}
