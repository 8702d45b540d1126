//! What is asked of a state. Nothing here changes one.

use super::{CallPhase, Machine, OpenCall, OpenStep, OpenText, OpenTurn, REPEATED_CALLS, State, fingerprint};
use crate::id::{MessageId, PartId};
use crate::json::Map;
use crate::talk::FinishReason;
use crate::turn::phase::{Pause, Phase};
use crate::types::delivery::Delivery;
use crate::types::message::UserMessage;
use crate::types::part::{Part, PartBody};
use crate::types::session::Session;
use crate::types::status::Status;

impl State {
    /// The machine column: empty when nothing is open and nobody waits.
    #[must_use]
    pub fn machine_text(&self) -> String {
        if self.is_at_rest() {
            return String::new();
        }
        serde_json::to_string(&self.machine).expect("BUG: machine state is always JSON")
    }

    /// The session record; none before it is created and after it is removed.
    #[must_use]
    pub fn info(&self) -> Option<&Session> {
        self.info.as_deref()
    }

    #[must_use]
    pub fn into_info(self) -> Option<Box<Session>> {
        self.info
    }

    /// Prompts that are durable and wait for their turn, in order.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &MessageId> {
        self.machine.waiting.iter().map(|waiting| &waiting.message)
    }

    /// Those that stand in line: they came while a turn ran, or a stop or a restart left them behind. A prompt that
    /// finds its session idle is taken up at once and never does.
    pub(crate) fn line(&self) -> Vec<&MessageId> {
        let stands_in_line = |waiting: &&super::Waiting| waiting.queued || waiting.left;
        self.machine.waiting.iter().filter(stands_in_line).map(|waiting| &waiting.message).collect()
    }

    /// How a waiting prompt joins the conversation.
    pub(crate) fn delivery_of(&self, message: &MessageId) -> Option<Delivery> {
        let waiting = self.machine.waiting.iter().find(|waiting| waiting.message == *message);
        waiting.map(|waiting| waiting.delivery)
    }

    /// The prompts that join the turn that runs, in order.
    pub(in crate::turn) fn steering(&self) -> impl DoubleEndedIterator<Item = &MessageId> {
        let steers = self.machine.waiting.iter().filter(|waiting| waiting.delivery == Delivery::Steer);
        steers.map(|waiting| &waiting.message)
    }

    /// The first prompt that waits for a turn of its own.
    pub(in crate::turn) fn first_queued(&self) -> Option<&MessageId> {
        let mut queued = self.machine.waiting.iter().filter(|waiting| waiting.delivery == Delivery::Queue);
        queued.next().map(|waiting| &waiting.message)
    }

    /// The prompts that the next step takes up, in order, and answers by the last: all that steer; if there are none
    /// and the turn has answered nobody yet, the first that waits for a turn of its own.
    pub(in crate::turn) fn next_prompts(&self) -> Vec<MessageId> {
        let steering: Vec<MessageId> = self.steering().cloned().collect();
        let has_answered = self.machine.turn.as_ref().is_some_and(|turn| turn.user.is_some());
        if !steering.is_empty() || has_answered {
            return steering;
        }
        self.first_queued().cloned().into_iter().collect()
    }

    #[must_use]
    pub fn open_turn(&self) -> Option<&OpenTurn> {
        self.machine.turn.as_ref()
    }

    /// Somebody pressed stop, and calls are still ending.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.open_step().is_some_and(|step| step.phase == Phase::Stopping)
    }

    /// What the session is doing, as clients are told.
    #[must_use]
    pub fn status(&self) -> Status {
        self.machine.status()
    }

    /// The prompt that is being answered or waits, or the request for a compaction.
    pub(crate) fn asked(&self, user: &MessageId) -> Option<&UserMessage> {
        let waiting = self.machine.waiting.iter().filter_map(|waiting| waiting.info.as_deref());
        let turn = self.machine.turn.as_ref();
        let request = turn.and_then(|turn| turn.step.as_ref()).and_then(|step| step.request.as_deref());
        let mut known = waiting.chain(turn.and_then(|turn| turn.asked.as_deref())).chain(request);
        known.find(|known| known.id == *user)
    }

    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.machine.turn.is_none() && !self.machine.is_copying
    }

    /// A copy that is not all there yet.
    #[must_use]
    pub fn is_copying(&self) -> bool {
        self.machine.is_copying
    }

    /// Idle, and nobody waits.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.is_idle() && self.machine.waiting.is_empty()
    }

    #[must_use]
    pub fn open_step(&self) -> Option<&OpenStep> {
        self.machine.turn.as_ref()?.step.as_ref()
    }

    /// Whether a step of the open turn has changed something on disk.
    #[must_use]
    pub fn turn_has_changed_files(&self) -> bool {
        let in_step = self.open_step().is_some_and(|step| step.files.is_some());
        in_step || self.machine.turn.as_ref().is_some_and(|turn| turn.has_changed)
    }

    /// The open step of a model, if it is this one and this attempt.
    pub(in crate::turn) fn step_at(&self, message: &MessageId, attempt: u32) -> Option<&OpenStep> {
        let is_it = |step: &&OpenStep| step.message == *message && step.attempt == attempt;
        self.open_step().filter(is_it).filter(|step| step.ready.kind.is_spoken())
    }

    /// The call of the open step that this part shows, unless it ended.
    pub(in crate::turn) fn open_call(&self, part: &PartId) -> Option<&OpenCall> {
        let step = self.open_step()?;
        step.calls.iter().find(|call| call.part == *part && call.phase != CallPhase::Ended)
    }
}

impl Machine {
    pub(in crate::turn) fn status(&self) -> Status {
        let Some(turn) = &self.turn else { return Status::Idle };
        let Some(step) = &turn.step else { return Status::Busy };
        match &step.phase {
            Phase::Retrying(Pause { reason, next }) => {
                let attempt = step.attempt;
                let message = reason.clone();
                Status::Retry { attempt, message, action: None, next: *next }
            }
            Phase::Asking | Phase::Talking | Phase::Settling { .. } | Phase::Stopping => Status::Busy,
        }
    }
}

impl OpenTurn {
    /// Whether these many prompts are only the one that goes on behind a compaction.
    pub(in crate::turn) fn goes_on_with(&self, prompts: usize) -> bool {
        self.continues && prompts == 1
    }

    /// Whether this call would be the third of its kind in a row.
    pub(in crate::turn) fn repeats(&self, tool: &str, input: &Map) -> bool {
        let this = fingerprint::of_call(tool, input);
        self.recent_calls.len() + 1 >= REPEATED_CALLS && self.recent_calls.iter().all(|call| *call == this)
    }
}

impl OpenStep {
    /// The tree as the step leaves it, as far as it was heard.
    pub(crate) fn tree_after(&self) -> Option<String> {
        let after = self.files.as_ref().map(|files| files.after.clone());
        after.or_else(|| self.ready.tree.clone())
    }

    /// It ended without a word about why, or waits for calls it did not make: asking again may go on for ever.
    pub(in crate::turn) fn is_silent(&self, finish: FinishReason) -> bool {
        !finish.is_final() && self.calls.is_empty()
    }

    pub(in crate::turn) fn open_text(&self, block: &str) -> Option<&OpenText> {
        self.texts.iter().find(|text| text.block == block)
    }

    /// Whether it has any words, closed or still open.
    pub(in crate::turn) fn has_spoken(&self) -> bool {
        self.spoke || self.texts.iter().any(|text| text.body.as_deref().is_some_and(has_words))
    }

    pub(in crate::turn) fn has_running_calls(&self) -> bool {
        self.calls.iter().any(|call| call.phase != CallPhase::Ended)
    }
}

/// What an open text has said so far.
pub(in crate::turn) fn said_in(part: &Part) -> Option<&str> {
    match &part.body {
        PartBody::Text(text) => Some(&text.text),
        PartBody::Reasoning(reasoning) => Some(&reasoning.text),
        PartBody::Subtask(_)
        | PartBody::File(_)
        | PartBody::Tool(_)
        | PartBody::StepStart(_)
        | PartBody::StepFinish(_)
        | PartBody::Snapshot(_)
        | PartBody::Patch(_)
        | PartBody::Agent(_)
        | PartBody::Retry(_)
        | PartBody::Compaction(_) => None,
    }
}

fn has_words(part: &Part) -> bool {
    matches!(&part.body, PartBody::Text(text) if !text.text.trim().is_empty())
}
