//! A person's own command: a step without a model.
//!
//! It stands in the conversation as a message of the person and one with a `bash` call, so that the
//! model sees both the next time it is asked. Prompts that come in while it runs wait for its end.
//! Stopping it keeps what it printed: that is a result, not an error.

use super::state::OpenStep;
use super::{Decision, Effect, NewShell, Ready, Refusal, State, StepKind, admit, compact, next, tools};
use crate::fact::{Fact, Outcome, Posted, TurnEnd};
use crate::json::Map;
use crate::stamp::Stamp;
use crate::types::message::{UserMessage, UserRole};
use crate::types::part::{Created, Part, PartBody, TextPart};
use crate::types::tool::ToolState;
use serde_json::Value;

/// What the model reads in the person's place.
const TOLD: &str = "The user ran this command in a shell.";

/// What is added to the output of a command that was stopped.
pub const STOPPED: &str = "\n\n<metadata>\nThe user stopped the command.\n</metadata>";

const OUTPUT: &str = "output";

/// Agent and model of the session stay what they are: nobody was asked anything.
pub(super) fn run(state: &State, new: NewShell, stamp: &mut Stamp, out: &mut Decision) {
    let Some(info) = state.info.as_deref() else { return out.refuse(Refusal::Gone) };
    if !state.is_idle() {
        return out.refuse(Refusal::Busy);
    }
    let NewShell { message, agent, model, path, command } = new;
    let created = admit::next_message_time(stamp);
    let user = UserMessage {
        id: message.unwrap_or_else(|| stamp.message_id()),
        session_id: info.id.clone(),
        role: UserRole::User,
        time: Created { created },
        format: None,
        summary: None,
        agent: agent.clone(),
        model: model.clone(),
        system: None,
        tools: None,
    };
    let told = TextPart { text: TOLD.to_owned(), synthetic: Some(true), ..TextPart::default() };
    let told = Part {
        id: stamp.part_id(),
        session_id: info.id.clone(),
        message_id: user.id.clone(),
        body: PartBody::Text(told),
    };
    let ready = Ready {
        kind: StepKind::Shell,
        agent,
        provider_id: model.provider_id,
        model_id: model.model_id,
        variant: model.variant,
        path,
        ..Ready::default()
    };
    let message = stamp.message_id();
    let created = admit::next_message_time(stamp);
    let input = Map::from_iter([("command".to_owned(), Value::String(command))]);
    let posted = Box::new(Posted { info: user, parts: vec![told], touched: None, failures: Vec::new() });

    out.fact(Fact::ShellStarted { posted, message: message.clone(), created, ready: Box::new(ready) });
    tools::start_by_server(message, "bash", input, stamp, out);
}

/// The command has ended. Whoever came meanwhile is answered; whoever an earlier turn left behind
/// goes on waiting, for a command asks for nothing.
pub(super) fn over(state: &State, step: &OpenStep, stamp: &Stamp, out: &mut Decision) {
    out.fact(next::ended(step, None, stamp));
    let has_news = state.machine.waiting.iter().any(|waiting| !waiting.left);
    let newest = state.machine.waiting.last().filter(|_| has_news);
    match (compact::wanted(state), newest) {
        (Some(request), _) => {
            out.fact(Fact::TurnContinued { message: request.clone() });
            compact::prepare(state, request.clone(), false, out);
        }
        (None, Some(newest)) => {
            out.fact(Fact::TurnContinued { message: newest.message.clone() });
            out.effect(Effect::Prepare { user: newest.message.clone() });
        }
        (None, None) => out.fact(Fact::SessionIdled { end: TurnEnd::Shell }),
    }
}

/// Ends a command that was stopped; what it had printed is its output.
pub(super) fn stopped(step: &OpenStep, stamp: &Stamp, out: &mut Decision) {
    for call in step.calls.iter().filter(|call| call.body.is_some()) {
        let mut output = call.body.as_deref().map(printed).unwrap_or_default().to_owned();
        output.push_str(STOPPED);
        let metadata = Map::from_iter([(OUTPUT.to_owned(), Value::String(output.clone()))]);
        let outcome = Outcome::Done { output, title: String::new(), metadata, attachments: Vec::new() };
        out.fact(Fact::ToolEnded { part: call.part.clone(), outcome, end: stamp.now() });
    }
    out.fact(next::ended(step, None, stamp));
}

/// What a running command has shown so far.
fn printed(part: &Part) -> &str {
    let PartBody::Tool(tool) = &part.body else { return "" };
    let ToolState::Running { metadata: Some(reported), .. } = &tool.state else { return "" };
    reported.get(OUTPUT).and_then(Value::as_str).unwrap_or_default()
}
