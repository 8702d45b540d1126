//! A person's own command: a step without a model.
//!
//! It stands in the conversation as a message of the person and one with a `bash` call, so that the
//! model sees both the next time it is asked. Prompts that come in while it runs wait for its end.
//! Stopping it keeps what it printed: that is a result, not an error.

use super::deciding::Deciding;
use super::state::OpenStep;
use super::{NewShell, Ready, Refusal, StepKind, admit, compact};
use crate::fact::{Fact, Outcome, Posted, TurnEnd};
use crate::json::Map;
use crate::types::message::{UserMessage, UserRole};
use crate::types::part::{Created, Part, PartBody, TextPart};
use crate::types::tool::ToolState;
use serde_json::Value;

/// The text that the model reads as the prompt of a shell command.
const SHELL_NOTE: &str = "The user ran this command in a shell.";

/// What is added to the output of a command that was stopped.
pub const STOPPED: &str = "\n\n<metadata>\nThe user stopped the command.\n</metadata>";

const OUTPUT: &str = "output";

impl Deciding<'_> {
    /// Agent and model of the session stay what they are: nobody was asked anything.
    pub(super) fn run_shell(&mut self, new: NewShell) {
        let state = self.now();
        let Some(info) = state.info.as_deref() else { return self.refuse(Refusal::Gone) };
        if !state.is_idle() {
            return self.refuse(Refusal::Busy);
        }
        let NewShell { message, agent, model, path, command } = new;
        let created = admit::next_message_time(self.stamp);
        let user = UserMessage {
            id: message.unwrap_or_else(|| self.stamp.message_id()),
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
        let told = TextPart { text: SHELL_NOTE.to_owned(), synthetic: Some(true), ..TextPart::default() };
        let told = Part {
            id: self.stamp.part_id(),
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
        let message = self.stamp.message_id();
        let created = admit::next_message_time(self.stamp);
        let input = Map::from_iter([("command".to_owned(), Value::String(command))]);
        let posted = Box::new(Posted { info: user, parts: vec![told], touched: None, failures: Vec::new() });

        self.fact(Fact::ShellStarted { posted, message: message.clone(), created, ready: Box::new(ready) });
        self.start_call_of_server(message, "bash", input);
    }

    /// The command has ended. Whoever came meanwhile is answered; whoever an earlier turn left behind
    /// goes on waiting, for a command asks for nothing.
    pub(super) fn shell_ended(&mut self, step: &OpenStep) {
        let state = self.now();
        self.end_step(step, None);
        let has_news = state.machine.waiting.iter().any(|waiting| !waiting.left);
        let newest = state.next_prompts().pop().filter(|_| has_news);
        match (compact::wanted(&state), newest) {
            (Some(request), _) => self.continue_with_summary(request.clone(), false),
            (None, Some(newest)) => self.continue_with(newest),
            (None, None) => self.fact(Fact::SessionIdled { end: TurnEnd::Shell }),
        }
    }

    /// Ends a command that was stopped; what it had printed is its output.
    pub(super) fn stop_shell(&mut self, step: &OpenStep) {
        for call in step.calls.iter().filter(|call| call.body.is_some()) {
            let mut output = call.body.as_deref().map(printed).unwrap_or_default().to_owned();
            output.push_str(STOPPED);
            let metadata = Map::from_iter([(OUTPUT.to_owned(), Value::String(output.clone()))]);
            let outcome = Outcome::Done { output, title: String::new(), metadata, attachments: Vec::new() };
            self.fact(Fact::ToolEnded { part: call.part.clone(), outcome, end: self.stamp.now() });
        }
        self.end_step(step, None);
    }
}

/// What a running command has shown so far.
fn printed(part: &Part) -> &str {
    let PartBody::Tool(tool) = &part.body else { return "" };
    let ToolState::Running { metadata: Some(reported), .. } = &tool.state else { return "" };
    reported.get(OUTPUT).and_then(Value::as_str).unwrap_or_default()
}
