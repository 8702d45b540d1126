//! The model failed: again later, or not at all.

use super::deciding::Deciding;
use super::phase::Phase;
use super::step::Which;
use super::{Effect, StepKind, next};
use crate::fact::{Fact, RetryNote};
use crate::id::MessageId;
use crate::records;
use crate::retry::{RETRIES_OF_TURN_MAX, plan};
use crate::types::failure::Failure;
use crate::types::part::Part;

impl Deciding<'_> {
    /// The stream broke or never began. What was said is kept: it is closed with its text.
    pub(super) fn attempt_failed(&mut self, message: &MessageId, attempt: u32, failure: Failure) {
        let state = self.now();
        let Some(step) = state.step_at(message, attempt) else { return };
        if !step.phase.hears_the_model() {
            return;
        }
        self.close_texts(step, Which::All, None);
        if matches!(failure, Failure::ContextOverflow { .. }) && step.ready.kind.is_answer() {
            self.interrupt_calls(step, "Tool execution aborted");
            return self.overflowed(step, failure);
        }

        let has_budget = state.machine.turn.as_ref().is_some_and(|turn| turn.retries < RETRIES_OF_TURN_MAX);
        let plan = plan(&failure, attempt, self.stamp.now(), self.stamp.fraction()).filter(|_| has_budget);
        // A call that may have acted is not repeated by asking the model again from the start.
        let (Some(plan), false) = (plan, step.has_running_calls()) else {
            self.interrupt_calls(step, "Tool execution aborted");
            return match step.ready.kind {
                StepKind::Compact(_) => self.fail_summary(step, failure),
                _ => self.after_failure(step, failure, false),
            };
        };
        let attempt = plan.attempt;
        let at = plan.next;
        let note = if let Failure::Api(error) = failure {
            Some(Box::new(RetryNote { part: self.stamp.part_id(), error, time: self.stamp.now() }))
        } else {
            None
        };
        let message = step.message.clone();
        self.fact(Fact::StepDelayed {
            message: message.clone(),
            attempt,
            reason: plan.message,
            next: at,
            note,
        });
        self.effect(Effect::StartTimer { step: message, attempt, at });
    }

    /// The model is heard again: what it said in attempts that failed is not part of the answer. It is kept in the
    /// metadata of its part; until now it was all that there was to read.
    pub(super) fn set_aside(&mut self, message: &MessageId, attempt: u32, parts: Vec<Part>) {
        let state = self.now();
        let Some(step) = state.step_at(message, attempt).filter(|step| step.phase == Phase::Asking) else {
            return;
        };
        let is_closed = |part: &Part| !step.texts.iter().any(|open| open.part == part.id);
        let of_step = parts.into_iter().filter(|part| part.message_id == step.message && is_closed(part));
        for part in of_step.filter_map(records::set_aside) {
            self.fact(Fact::PartWritten { part: Box::new(part) });
        }
    }

    /// The wait is over.
    pub(super) fn attempt_again(&mut self, message: &MessageId, attempt: u32) {
        let state = self.now();
        let Some(step) = state.step_at(message, attempt) else { return };
        if !matches!(step.phase, Phase::Retrying(_)) {
            return;
        }
        self.fact(Fact::StepRetried { message: step.message.clone(), attempt });
        let steps = state.machine.turn.as_ref().map_or(0, |turn| turn.steps);
        let tools = next::tools_of(steps, step.ready.steps_max);
        let message = step.message.clone();
        let user = step.user.clone();
        self.effect(match &step.ready.kind {
            StepKind::Compact(compaction) => {
                Effect::Summarise { step: message, attempt, text: compaction.text.clone() }
            }
            _ => Effect::CallModel { step: message, user, attempt, tools },
        });
    }
}
