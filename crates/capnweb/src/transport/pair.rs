//! Two sessions joined in memory, for tests and for peers in one process.

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use crate::Connection;

/// Carries messages both ways until both ends have ended. Drive it beside the code that calls.
pub async fn join(mut left: Connection, mut right: Connection) {
    poll_fn(|cx| poll_join(&mut left, &mut right, cx)).await;
}

/// One step of [`join`]: carries what can be carried now. Ready when both ends have ended.
pub fn poll_join(left: &mut Connection, right: &mut Connection, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let a = carry(left, right, cx);
        let b = carry(right, left, cx);
        match (a, b) {
            (Carried::Over, Carried::Over) => return Poll::Ready(()),
            (Carried::Nothing | Carried::Over, Carried::Nothing | Carried::Over) => return Poll::Pending,
            _ => {}
        }
    }
}

enum Carried {
    Some,
    Nothing,
    Over,
}

fn carry(from: &mut Connection, to: &mut Connection, cx: &mut Context<'_>) -> Carried {
    let mut carried = Carried::Nothing;
    loop {
        match from.poll_message(cx) {
            Poll::Ready(Some(text)) => {
                to.receive(&text);
                carried = Carried::Some;
            }
            Poll::Ready(None) => {
                if let Some(ended) = from.handle().ended() {
                    to.handle().lost(ended.reason);
                }
                return match carried {
                    Carried::Some => Carried::Some,
                    Carried::Nothing | Carried::Over => Carried::Over,
                };
            }
            Poll::Pending => return carried,
        }
    }
}
