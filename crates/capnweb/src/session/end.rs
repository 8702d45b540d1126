//! How a session ends: by us, by the peer, or because the connection was lost.
//!
//! Whatever the way, everything pending fails with one reason, callbacks for broken stubs
//! run in the order they were registered, everything exported is let go, and every later
//! call fails at once.

use std::sync::Arc;

use super::Shared;
use crate::{
    ErrorValue, Thrown, Value,
    codec::encode::Encoder,
    value::reference::{ends::OnBroken, turn},
};

/// Close code of the protocol.
pub(crate) const CLOSE_ABORTED: u16 = 3000;

/// Why a session is over, and what to tell the transport.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// What everything pending failed with.
    pub reason: Thrown,
    /// WebSocket close code to use.
    pub close_code: u16,
    /// WebSocket close reason: at most 123 bytes.
    pub close_reason: String,
}

impl Ended {
    fn because(reason: Thrown, close_code: u16) -> Ended {
        let close_reason = shorten(&reason.message());
        Ended { reason, close_code, close_reason }
    }
}

/// What happens to texts that were not sent yet.
enum Outbox {
    Append(String),
    Flush,
    Forget,
}

/// A close reason is at most 123 bytes, cut between characters.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 123;
    let cut = (0..=text.len().min(LONGEST)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text[..cut].to_owned()
}

impl Shared {
    /// We end it, and say why.
    pub(crate) fn abort(&self, reason: Thrown) {
        let reason = self.rewritten(&reason).unwrap_or(reason);
        let text = abort_text(&reason, self.limits().depth_max);
        self.finish(Ended::because(reason, CLOSE_ABORTED), Outbox::Append(text));
    }

    /// The peer ended it. No frame is sent any more.
    pub(super) fn aborted_by_peer(&self, value: Value) {
        self.finish(Ended::because(Thrown(value), CLOSE_ABORTED), Outbox::Forget);
    }

    /// We are done with it: what was said is still sent, then the line is closed.
    pub(crate) fn close(&self, reason: &str) {
        self.finish(Ended::because(ErrorValue::new(reason).into(), CLOSE_ABORTED), Outbox::Flush);
    }

    /// The line is gone, or is to be closed with another code.
    pub(crate) fn lost(&self, reason: Thrown, close_code: u16) {
        self.finish(Ended::because(reason, close_code), Outbox::Forget);
    }

    fn finish(&self, ended: Ended, outbox: Outbox) {
        let reason = ended.reason.clone();
        let (exports, imports, calls, pumps) = {
            let mut state = self.lock();
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(ended);
            match outbox {
                Outbox::Append(text) => state.post(text),
                Outbox::Flush => {}
                Outbox::Forget => {
                    state.outbox.clear();
                    state.outbox_bytes = 0;
                }
            }
            state.unanswered = 0;
            state.pipes = 0;
            state.wake();
            (
                std::mem::take(&mut state.exports),
                std::mem::take(&mut state.imports),
                std::mem::take(&mut state.fresh_calls),
                std::mem::take(&mut state.fresh_pumps),
            )
        };
        turn::gather(|| {
            let mut broken: Vec<(u64, OnBroken)> = Vec::new();
            let mut imports: Vec<_> = imports.into_iter().collect();
            imports.sort_by_key(|(id, _)| *id);
            for (_, import) in imports {
                broken.extend(import.on_broken);
                if let Some(held) = import.held.upgrade() {
                    held.settle(Err(reason.clone()));
                }
            }
            broken.sort_by_key(|(order, _)| *order);
            for (_, react) in broken {
                react(reason.clone());
            }
            drop((calls, pumps));
            drop(exports);
        });
    }

    /// Remembers what to do when the session ends; does it at once if it has.
    pub(super) fn on_broken(&self, id: i64, react: OnBroken) {
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            let reason = ended.reason.clone();
            drop(state);
            return react(reason);
        }
        state.registered += 1;
        let order = state.registered;
        // Not there: it has settled, and cannot break any more.
        let unneeded = match state.imports.get_mut(&id) {
            Some(import) => {
                import.on_broken.push((order, react));
                None
            }
            None => Some(react),
        };
        drop(state);
        drop(unneeded);
    }
}

fn abort_text(reason: &Thrown, depth_max: usize) -> String {
    let mut encoder =
        Encoder { out: "[\"abort\",".to_owned(), references: None, depth_max, allow_dropped: false };
    if encoder.value(&reason.0, 0).is_err() {
        return "[\"abort\",[\"error\",\"Error\",\"session aborted\"]]".to_owned();
    }
    encoder.out.push(']');
    encoder.out
}

impl Drop for super::Connection {
    fn drop(&mut self) {
        let shared = Arc::clone(self.shared());
        shared.close("the connection was dropped");
    }
}
