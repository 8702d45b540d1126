//! Answering a batch.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use super::lines;
use crate::{Connection, ErrorValue, Options, Stub, session::Mode};

/// Why a body was not looked at, and the status to say so with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the batch is larger than allowed")]
    TooLarge,
    #[error("the batch has more messages than allowed")]
    TooMany,
    #[error("the batch is not UTF-8 text")]
    NotText,
}

impl Refused {
    pub fn status(self) -> u16 {
        match self {
            Refused::TooLarge | Refused::TooMany => 413,
            Refused::NotText => 415,
        }
    }
}

/// Runs a batch and returns the body of the response, to be sent with status 200 whatever is
/// in it. What is unanswered when `deadline` ends is rejected.
pub async fn serve_until(
    root: Stub,
    body: &[u8],
    mut options: Options,
    deadline: impl Future<Output = ()>,
) -> Result<Vec<u8>, Refused> {
    let text = admit(body, &options)?;
    options.mode = Mode::BatchServer;
    let mut connection = Connection::new(Some(root), options);
    let mut deadline = pin!(deadline);
    let mut messages = lines(text);
    let mut fed = false;

    poll_fn(|cx| {
        loop {
            while !fed && connection.wants_input() {
                match messages.next() {
                    Some(message) => connection.receive(message),
                    None => {
                        connection.shared().no_more_input();
                        fed = true;
                    }
                }
            }
            connection.poll_work(cx);
            if connection.handle().ended().is_some() || (fed && connection.is_answered()) {
                return Poll::Ready(());
            }
            if deadline.as_mut().poll(cx).is_ready() {
                let text = "batch_deadline: the server did not answer in time";
                connection.shared().give_up(ErrorValue::new(text).code("batch_deadline").into());
                return Poll::Ready(());
            }
            if fed || !connection.wants_input() {
                return Poll::Pending;
            }
        }
    })
    .await;
    Ok(connection.drain().join("\n").into_bytes())
}

fn admit<'b>(body: &'b [u8], options: &Options) -> Result<&'b str, Refused> {
    if body.len() > options.limits.batch_bytes_max {
        return Err(Refused::TooLarge);
    }
    let text = std::str::from_utf8(body).map_err(|_| Refused::NotText)?;
    if lines(text).count() > options.limits.batch_messages_max {
        return Err(Refused::TooMany);
    }
    Ok(text)
}

/// [`serve_until`] with the deadline of the limits.
#[cfg(feature = "tokio")]
pub async fn serve(root: Stub, body: &[u8], options: Options) -> Result<Vec<u8>, Refused> {
    let deadline = tokio::time::sleep(options.limits.batch_deadline);
    serve_until(root, body, options, deadline).await
}
