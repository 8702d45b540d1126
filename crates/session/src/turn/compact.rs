//! The conversation is too long: it is summarised, and goes on behind the summary.
//!
//! A request is a user message with a compaction part. It comes before any waiting prompt; the step that
//! serves it is a summary and talks to nobody. Nothing is deleted: without the request or its summary
//! the conversation is whole again.
//!
//! A summary that does not make room would be made again and again. So automatic ones in a row, without
//! a step between them that fits, are counted, and the count is durable.

use super::deciding::Deciding;
use super::input::NewSummary;
use super::state::OpenStep;
use super::{Effect, State, admit, next};
use crate::fact::{Fact, Posted, TurnEnd};
use crate::id::MessageId;
use crate::prompt::tail::follow_up;
use crate::talk::FinishReason;
use crate::types::compaction::{Compaction, FollowUp, Words};
use crate::types::delivery::Delivery;
use crate::types::failure::Failure;
use crate::types::message::{ModelRef, UserMessage, UserRole};
use crate::types::part::{CompactionPart, Created, Part, PartBody};
use crate::types::tool::ToolState;

/// Automatic compactions in a row that did not make room.
const FUTILE_MAX: u32 = 3;

const FUTILE: &str = "The conversation was summarised 3 times in a row and still does not fit the model. Shorten the \
     prompt or its attachments, choose a model with a larger window, or go on in a new session.";
const TOO_LONG: &str = "The conversation is too long to be summarised by this model. Choose a model with a larger window \
     and summarise it with that, or go on in a new session.";
const SILENT: &str =
    "The model wrote no summary. The conversation is unchanged; try again, perhaps with another model.";

impl Deciding<'_> {
    /// A person asks. While one is on its way already, that one serves.
    pub(super) fn want_summary(&mut self, wish: NewSummary) {
        let state = self.now();
        if state.machine.turn.as_ref().is_some_and(|turn| {
            turn.compact.is_some() || turn.step.as_ref().is_some_and(|step| step.ready.kind.is_compaction())
        }) {
            return;
        }
        let NewSummary { agent, model, auto } = wish;
        let posted = self.summary_request(agent, model, CompactionPart { auto, ..manual() });
        let message = posted.info.id.clone();
        let begins = state.is_idle();
        self.fact(Fact::CompactionWanted { posted, auto: false, begins });
        if begins {
            self.prepare_summary(message, false);
        }
    }

    /// The step used up the window, or the provider said so (`overflow`). Gives the request.
    pub(super) fn want_automatic_summary(&mut self, step: &OpenStep, overflow: bool) -> MessageId {
        let ready = &step.ready;
        let model = ModelRef {
            provider_id: ready.provider_id.clone(),
            model_id: ready.model_id.clone(),
            variant: ready.variant.clone(),
        };
        let part = CompactionPart { auto: true, overflow: Some(overflow), tail_start_id: None };
        let posted = self.summary_request(ready.agent.clone(), model, part);
        let message = posted.info.id.clone();
        self.fact(Fact::CompactionWanted { posted, auto: true, begins: false });
        message
    }
}

/// Why there is no further automatic compaction, when there is none.
pub(super) fn futile(state: &State) -> Option<Failure> {
    let made = state.machine.turn.as_ref().map_or(0, |turn| turn.compactions);
    (made >= FUTILE_MAX).then(|| Failure::ContextOverflow { message: FUTILE.to_owned(), response_body: None })
}

impl Deciding<'_> {
    /// The provider did not take the request: it is too long.
    pub(super) fn overflowed(&mut self, step: &OpenStep, failure: Failure) {
        let state = self.now();
        let error = if step.ready.auto_compact { futile(&state) } else { Some(failure.clone()) };
        if let Some(error) = error {
            return self.after_failure(step, error, true);
        }
        self.fact(Fact::SessionFailed { error: failure });
        self.end_step(step, None);
        let asked = wanted(&state).cloned();
        let request = asked.unwrap_or_else(|| self.want_automatic_summary(step, true));
        self.continue_with_summary(request, true);
    }

    /// The summary is written: what stays is noted, and the conversation goes on.
    pub(super) fn finish_summary(&mut self, step: &OpenStep, compaction: &Compaction, reason: FinishReason) {
        let state = self.now();
        if reason == FinishReason::ContentFilter {
            return self.after_failure(step, next::filtered(), true);
        }
        if !step.has_spoken() {
            return self.after_failure(step, Failure::unknown(SILENT), true);
        }
        self.end_step(step, None);
        let Some(info) = state.info.as_deref() else { return };
        if let Some(tail) = &compaction.tail {
            let body = PartBody::Compaction(CompactionPart {
                auto: compaction.auto,
                overflow: compaction.overflow,
                tail_start_id: Some(tail.clone()),
            });
            let id = compaction.part.clone();
            let session_id = info.id.clone();
            let part = Part { id, session_id, message_id: step.user.clone(), body };
            self.fact(Fact::PartWritten { part: Box::new(part) });
        }
        let follow = compaction.follow.as_deref().filter(|_| compaction.auto || compaction.goes_on);
        if let Some(follow) = follow {
            self.say_behind_summary(follow);
        }
        self.fact(Fact::SessionCompacted);
        self.go_on_or_idle(step, next::StepExit::of(TurnEnd::Done));
    }

    /// The summary could not be made.
    pub(super) fn fail_summary(&mut self, step: &OpenStep, failure: Failure) {
        let (error, is_too_long) = match failure {
            Failure::ContextOverflow { response_body, .. } => {
                (Failure::ContextOverflow { message: TOO_LONG.to_owned(), response_body }, true)
            }
            other => (other, false),
        };
        self.after_failure(step, error, is_too_long);
    }
}

/// The compaction that is wanted and not begun.
pub(super) fn wanted(state: &State) -> Option<&MessageId> {
    state.machine.turn.as_ref()?.compact.as_ref().map(|compact| &compact.message)
}

impl Deciding<'_> {
    pub(super) fn prepare_summary(&mut self, request: MessageId, goes_on: bool) {
        let state = self.now();
        // Those that wait for a turn of their own stand behind the request, at the end of the conversation.
        let first_waiting = state.steering().next().cloned();
        self.effect(Effect::PrepareCompaction { request, first_waiting, goes_on });
    }

    /// Old outputs are marked, unless somebody changed messages since they were looked at.
    pub(super) fn pruned(&mut self, edits: u32, parts: Vec<Part>) {
        let state = self.now();
        if state.machine.edits != edits {
            return;
        }
        for part in parts {
            let PartBody::Tool(tool) = &part.body else { continue };
            let fresh = matches!(&tool.state, ToolState::Completed { time, .. } if time.compacted.is_none());
            if fresh {
                let id = part.id.clone();
                let at = self.stamp.now();
                self.fact(Fact::ToolCompacted { part: id, at, before: Some(Box::new(part)) });
            }
        }
    }
}

fn manual() -> CompactionPart {
    CompactionPart { auto: false, overflow: None, tail_start_id: None }
}

impl Deciding<'_> {
    /// Writes the message that asks for a compaction.
    fn summary_request(&mut self, agent: String, model: ModelRef, part: CompactionPart) -> Box<Posted> {
        let follow = FollowUp {
            agent,
            model,
            format: None,
            system: None,
            tools: None,
            words: Words::Again(vec![PartBody::Compaction(part)]),
        };
        self.write_in_place_of_person(&follow)
    }

    /// Says what goes on behind a compaction. It waits for its turn like any prompt.
    fn say_behind_summary(&mut self, follow: &FollowUp) {
        let posted = self.write_in_place_of_person(follow);
        let delivery = Delivery::Steer;
        self.fact(Fact::PromptAdmitted { posted, begins: false, delivery, held: false, digest: None });
    }

    fn write_in_place_of_person(&mut self, follow: &FollowUp) -> Box<Posted> {
        let state = self.now();
        let Some(info) = state.info.as_deref() else {
            unreachable!("BUG: a session that is gone decides nothing")
        };
        let id = self.stamp.message_id();
        let created = admit::next_message_time(self.stamp);
        let user = UserMessage {
            id: id.clone(),
            session_id: info.id.clone(),
            role: UserRole::User,
            time: Created { created },
            format: follow.format.clone(),
            summary: None,
            agent: follow.agent.clone(),
            model: follow.model.clone(),
            system: follow.system.clone(),
            tools: follow.tools.clone(),
        };
        let bodies = match &follow.words {
            Words::Again(parts) => parts.clone(),
            Words::GoOn { overflow, request } => {
                vec![PartBody::Text(follow_up(*overflow, request.as_deref(), self.stamp.now()))]
            }
        };
        let part = |body| Part {
            id: self.stamp.part_id(),
            session_id: info.id.clone(),
            message_id: id.clone(),
            body,
        };
        let parts = bodies.into_iter().map(part).collect();
        Box::new(Posted { info: user, parts, touched: None, failures: Vec::new() })
    }
}
