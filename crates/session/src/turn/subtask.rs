//! A subtask of a prompt: a step in which no model speaks here, because one speaks in a child session.
//!
//! Subtasks run one after another, in the order they were written, before the model is asked about
//! the prompt. Each runs once: the fact that opens its step takes it off the list, so that neither
//! the next step nor a restart finds it again.

use super::deciding::Deciding;
use super::next::StepExit;
use super::state::OpenStep;
use super::{Effect, Ready, State, StepKind, Waiting, admit, files};
use crate::fact::{Fact, Outcome, Posted, TurnEnd};
use crate::id::PartId;
use crate::json::Map;
use crate::talk::FinishReason;
use crate::title::is_default_title;
use crate::types::delivery::Delivery;
use crate::types::message::{UserMessage, UserRole};
use crate::types::part::{Created, Part, PartBody, SubtaskPart, TextPart};
use crate::types::step::Follow;
use serde_json::Value;

/// What stands on the call of a subtask that was stopped.
const CANCELLED: &str = "Cancelled";

/// What the model is asked after the subtask of a command.
const GO_ON: &str = "Say in short what the task above found, then go on with what the user asked for.";

/// The subtask whose turn it is.
pub(super) fn pending(state: &State) -> Option<PartId> {
    let turn = state.machine.turn.as_ref()?;
    let taken = state.next_prompts();
    let joins = |waiting: &&Waiting| taken.contains(&waiting.message);
    let waiting = state.machine.waiting.iter().filter(joins).flat_map(|waiting| &waiting.subtasks);
    turn.subtasks.iter().chain(waiting).next().cloned()
}

impl Deciding<'_> {
    /// Opens the step of a subtask. The prompts whose turn it is are promoted with it.
    pub(super) fn start_subtask(&mut self, part: PartId, subtask: SubtaskPart, ready: Ready) {
        let state = self.now();
        let (Some(info), Some(turn)) = (state.info.as_deref(), state.machine.turn.as_ref()) else { return };
        let takes = state.next_prompts();
        let Some(user) = takes.last().or(turn.user.as_ref()).cloned() else { return };
        if turn.step.is_some() || !self.is_awaited(&user) {
            return;
        }
        if pending(&state).as_ref() != Some(&part) {
            // Somebody took it away meanwhile. The prompt still wants its answer.
            return self.effect(Effect::Prepare { user });
        }
        let first_of_turn = turn.user.as_ref() != Some(&user);
        let message = self.stamp.message_id();
        let created = admit::next_message_time(self.stamp);
        self.fact(Fact::StepStarted {
            message: message.clone(),
            user: user.clone(),
            created,
            takes,
            ready: Box::new(ready),
        });
        self.start_call_of_server(message, "task", input_of(subtask));
        if first_of_turn && info.parent_id.is_none() && is_default_title(&info.title) {
            self.effect(Effect::MakeTitle { user });
        }
    }
}

/// A stopped subtask reads as cancelled, whatever its call says of itself.
pub(super) fn worded(step: &OpenStep, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Interrupted { .. } if matches!(step.ready.kind, StepKind::Subtask { .. }) => {
            Outcome::Interrupted { error: CANCELLED.to_owned(), raw: None }
        }
        outcome => outcome,
    }
}

impl Deciding<'_> {
    /// The child has ended, well or not: the model is told either way.
    pub(super) fn subtask_ended(&mut self, step: &OpenStep, follow: Option<&Follow>) {
        self.write_down_files(step, files::Ended::CutShort);
        self.end_subtask_step(step);
        let blocked = step.blocked;
        if let Some(follow) = follow.filter(|_| !blocked) {
            self.say_behind_subtask(follow);
        }
        self.go_on_or_idle(step, StepExit { goes_on: !blocked, blocked, end: TurnEnd::Done });
    }

    /// Ends a subtask that was stopped.
    pub(super) fn stop_subtask(&mut self, step: &OpenStep) {
        self.interrupt_calls(step, CANCELLED);
        self.write_down_files(step, files::Ended::CutShort);
        self.end_subtask_step(step);
    }
}

impl Deciding<'_> {
    fn end_subtask_step(&mut self, step: &OpenStep) {
        self.fact(Fact::StepEnded {
            message: step.message.clone(),
            completed: self.stamp.now(),
            error: None,
            finish: Some(FinishReason::ToolCalls),
            structured: None,
        });
    }
}

impl Deciding<'_> {
    /// Asks the model to go on, in the person's place. It waits like any prompt: nothing is lost if the
    /// process dies before it is taken up.
    fn say_behind_subtask(&mut self, follow: &Follow) {
        let state = self.now();
        let Some(session_id) = state.info.as_deref().map(|info| info.id.clone()) else { return };
        let user = UserMessage {
            id: self.stamp.message_id(),
            session_id: session_id.clone(),
            role: UserRole::User,
            time: Created { created: admit::next_message_time(self.stamp) },
            format: None,
            summary: None,
            agent: follow.agent.clone(),
            model: follow.model.clone(),
            system: None,
            tools: None,
        };
        let message_id = user.id.clone();
        let text = TextPart { text: GO_ON.to_owned(), synthetic: Some(true), ..TextPart::default() };
        let id = self.stamp.part_id();
        let body = PartBody::Text(text);
        let part = Part { id, session_id, message_id, body };
        let posted = Box::new(Posted { info: user, parts: vec![part], touched: None, failures: Vec::new() });
        let delivery = Delivery::Steer;
        self.fact(Fact::PromptAdmitted { posted, begins: false, delivery, held: false, digest: None });
    }
}

fn input_of(subtask: SubtaskPart) -> Map {
    let SubtaskPart { prompt, description, agent, command, model: _ } = subtask;
    let mut input = Map::from_iter([
        ("prompt".to_owned(), Value::String(prompt)),
        ("description".to_owned(), Value::String(description)),
        ("subagent_type".to_owned(), Value::String(agent)),
    ]);
    input.extend(command.map(|command| ("command".to_owned(), Value::String(command))));
    input
}
