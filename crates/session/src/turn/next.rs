//! The step is over: what now.
//!
//! Invariant I8: idle means done. No call is unanswered, and behind a normal end nobody waits.

use super::state::OpenStep;
use super::structured::{self, Verdict};
use super::{Decision, Effect, State, StepKind, Tools, admit, compact, files};
use crate::fact::{Fact, TurnEnd};
use crate::id::MessageId;
use crate::stamp::Stamp;
use crate::talk::FinishReason;
use crate::types::failure::Failure;
use crate::types::usage::Tokens;

/// A provider that never says why it stopped is asked again this often, then the turn ends.
const SILENT_STEPS_MAX: u32 = 3;

/// The model finished and every call has ended.
pub(super) fn after_finish(
    state: &State,
    step: &OpenStep,
    reason: FinishReason,
    tokens: &Tokens,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    if let StepKind::Compact(compaction) = &step.ready.kind {
        return compact::finished(state, step, compaction, reason, stamp, out);
    }
    let Some(turn) = state.machine.turn.as_ref() else { return };
    let verdict = structured::judge(turn, step, reason);
    let given = matches!(verdict, Verdict::Given);
    let may_go_on = !step.blocked && tools_of(turn.steps, step.ready.steps_max) == Tools::Offered;
    let goes_on = may_go_on
        && match &verdict {
            Verdict::Open => wants_another_step(step, reason),
            Verdict::Again => true,
            Verdict::Given | Verdict::GivenUp(_) => false,
        };
    let mut error = failure_of(state, step, reason).filter(|_| !given);
    let full = error.is_none() && !given && !step.blocked && step.ready.is_full(tokens);
    let compacts = full && !matches!(verdict, Verdict::GivenUp(_));
    if compacts && compact::wanted(state).is_none() {
        error = compact::futile(state);
    }
    if let Some(error) = &error {
        out.fact(Fact::SessionFailed { error: error.clone() });
    }
    let failed = error.is_some();
    // Not shown as a failure of the session: whoever asked for an object reads it off the message.
    let unmet = match verdict {
        Verdict::GivenUp(failure) => Some(failure),
        Verdict::Open | Verdict::Again if !goes_on && !compacts && !step.blocked => {
            step.ready.structured.map(|_| structured::given_up(turn.tries))
        }
        Verdict::Open | Verdict::Again | Verdict::Given => None,
    };
    let error = error.or(unmet);
    let has_error = error.is_some();
    let goes_on = goes_on && !has_error;
    out.fact(ended(step, error, stamp));
    let asks = compacts && !failed && compact::wanted(state).is_none();
    let request = asks.then(|| compact::automatic(state, step, false, stamp, out));
    let end = match (step.blocked, has_error, given) {
        (true, _, _) => TurnEnd::Refused,
        (_, true, _) => TurnEnd::Failed,
        (_, _, true) => TurnEnd::Given,
        (false, false, false) => TurnEnd::Done,
    };
    go_on_or_idle(state, step, Then { goes_on, blocked: step.blocked, end, request, newest: None }, out);
}

/// The step failed for good. `says_error`: the message says so in its `finish` too.
pub(super) fn after_failure(
    state: &State,
    step: &OpenStep,
    error: Failure,
    says_error: bool,
    stamp: &mut Stamp,
    out: &mut Decision,
) {
    files::write_down(state, step, files::Ended::CutShort, stamp, out);
    out.fact(Fact::SessionFailed { error: error.clone() });
    let mut ended = ended(step, Some(error), stamp);
    if let Fact::StepEnded { finish, .. } = &mut ended {
        *finish = says_error.then_some(FinishReason::Error);
    }
    out.fact(ended);
    go_on_or_idle(state, step, Then::of(TurnEnd::Failed), out);
}

/// What a step needs could not be had: no step was opened, so nothing has to be closed.
pub(super) fn not_prepared(
    state: &State,
    user: MessageId,
    failure: Failure,
    _stamp: &mut Stamp,
    out: &mut Decision,
) {
    if state.open_step().is_some() || !is_awaited(state, &user, out) {
        return;
    }
    if compact::wanted(state) == Some(&user) {
        // The prompts that wait are none the worse for it.
        out.fact(Fact::SessionFailed { error: failure });
        out.fact(Fact::SessionIdled { end: TurnEnd::Failed });
        return admit::resume_waiting(state, out);
    }
    // These prompts were looked at and cannot be answered as they are; leaving them in the
    // inbox would fail every later prompt too.
    let messages: Vec<_> = state.machine.waiting.iter().map(|waiting| waiting.message.clone()).collect();
    if !messages.is_empty() {
        out.fact(Fact::PromptFailed { messages });
    }
    out.fact(Fact::SessionFailed { error: failure });
    out.fact(Fact::SessionIdled { end: TurnEnd::Failed });
}

/// Whether a step for this prompt is what the turn waits for. If a newer prompt came while it was
/// being prepared, that one is prepared instead: they are answered together.
pub(super) fn is_awaited(state: &State, user: &MessageId, out: &mut Decision) -> bool {
    let Some(turn) = state.machine.turn.as_ref() else { return false };
    if let Some(request) = compact::wanted(state) {
        if request != user {
            let goes_on = state.machine.waiting.is_empty() && turn.user.as_ref() == Some(user);
            compact::prepare(state, request.clone(), goes_on, out);
        }
        return request == user;
    }
    match state.machine.waiting.last() {
        Some(newest) if newest.message == *user => true,
        Some(newest) => {
            out.effect(Effect::Prepare { user: newest.message.clone() });
            false
        }
        None => turn.user.as_ref() == Some(user),
    }
}

/// What comes behind a step.
pub(super) struct Then {
    /// The same prompt needs another step.
    pub(super) goes_on: bool,
    /// A person refused something: the turn is over; whoever waits keeps waiting.
    pub(super) blocked: bool,
    /// How the turn ends, if nothing comes.
    pub(super) end: TurnEnd,
    /// A compaction that was just asked for.
    pub(super) request: Option<MessageId>,
    /// A prompt that was just admitted.
    pub(super) newest: Option<MessageId>,
}

impl Then {
    pub(super) fn of(end: TurnEnd) -> Self {
        Self { goes_on: false, blocked: false, end, request: None, newest: None }
    }
}

pub(super) fn go_on_or_idle(state: &State, step: &OpenStep, then: Then, out: &mut Decision) {
    let Then { goes_on, blocked, end, request, newest } = then;
    let request = request.or_else(|| compact::wanted(state).cloned());
    let newest = newest.or_else(|| state.machine.waiting.last().map(|waiting| waiting.message.clone()));
    let user = match newest {
        Some(newest) if !blocked => Some(newest),
        _ => goes_on.then(|| step.user.clone()),
    };
    if let Some(message) = request.as_ref().or(user.as_ref()) {
        out.fact(Fact::TurnContinued { message: message.clone() });
    }
    match (request, user) {
        (Some(request), _) => compact::prepare(state, request, goes_on, out),
        (None, Some(user)) => out.effect(Effect::Prepare { user }),
        (None, None) => {
            out.fact(Fact::SessionIdled { end });
            if step.ready.prune {
                out.effect(Effect::Prune { edits: state.machine.edits });
            }
        }
    }
}

/// After the agent's last step no tool is offered, and nothing follows.
pub(super) fn tools_of(steps: u32, steps_max: Option<u32>) -> Tools {
    if steps_max.is_some_and(|most| steps >= most) { Tools::Withheld } else { Tools::Offered }
}

fn wants_another_step(step: &OpenStep, reason: FinishReason) -> bool {
    let answered_calls = step.calls.iter().any(|call| !call.by_provider);
    answered_calls || !reason.is_final()
}

fn failure_of(state: &State, step: &OpenStep, reason: FinishReason) -> Option<Failure> {
    if reason == FinishReason::ContentFilter {
        return Some(filtered());
    }
    let silent = step.is_silent(reason);
    let silent_steps = state.machine.turn.as_ref().map_or(0, |turn| turn.silent_steps);
    if silent && silent_steps + 1 >= SILENT_STEPS_MAX {
        let message = format!("The provider ended {SILENT_STEPS_MAX} answers in a row without saying why");
        return Some(Failure::unknown(message));
    }
    None
}

pub(super) fn filtered() -> Failure {
    let message = "The response was blocked by the provider's content filter".to_owned();
    Failure::ContentFilter { message }
}

pub(super) fn ended(step: &OpenStep, error: Option<Failure>, stamp: &Stamp) -> Fact {
    Fact::StepEnded {
        message: step.message.clone(),
        completed: stamp.now(),
        error,
        finish: None,
        structured: step.structured.clone(),
    }
}
