//! Abort and restart: one function ends whatever is open.
//!
//! A restart settles and starts nothing. Waiting prompts keep their place and go on with the next
//! prompt or an explicit `Resume`: spending money unasked is worse than waiting.

use super::step::{Which, close_texts};
use super::{Decision, Effect, State, asks, next, tools};
use crate::fact::Fact;
use crate::stamp::Stamp;
use crate::types::failure::Failure;
use crate::types::status::Status;

/// The person pressed stop. Also answered when nothing runs, so that a screen that thinks
/// otherwise is put right.
pub(super) fn abort(state: &State, stamp: &mut Stamp, out: &mut Decision) {
    settle(state, Failure::aborted(), stamp, out);
    out.effect(Effect::StopAll);
    next::idle(out);
}

/// The process died and is back.
pub(super) fn restarted(state: &State, stamp: &mut Stamp, out: &mut Decision) {
    if state.is_idle() && state.machine.status == Status::Idle {
        return;
    }
    let message = "The server stopped while this was being written".to_owned();
    settle(state, Failure::Aborted { message }, stamp, out);
    next::idle(out);
}

/// Ends everything that is open; what was said and reported is kept.
pub(super) fn settle(state: &State, error: Failure, stamp: &mut Stamp, out: &mut Decision) {
    let Some(step) = state.open_step() else { return };
    close_texts(step, Which::All, None, stamp, out);
    asks::withdraw_all(step, out);
    tools::interrupt_all(step, "Tool execution aborted", stamp, out);
    out.fact(Fact::SessionFailed { error: error.clone() });
    out.fact(next::ended(step, Some(error), stamp));
}
