//! A session over any stream and sink of frames: a WebSocket, usually.
//!
//! The future returned by [`drive`] is the connection. It reads while it writes, so that two
//! peers with full buffers do not wait for each other; it stops reading when too much runs or
//! waits; it pings a silent peer and leaves one that stays silent.

use std::{
    future::{Future, poll_fn},
    ops::Deref,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Sink, SinkExt, Stream, StreamExt};
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::{Connection, Ended, ErrorValue, Thrown};

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming<T = String> {
    Text(T),
    /// Not part of the protocol: ends the session.
    Binary,
    /// A ping or pong: nothing but a sign of life.
    Alive,
    Closed {
        code: u16,
        reason: String,
    },
}

/// What goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    Text(String),
    Ping,
    Close { code: u16, reason: String },
}

/// A good size for the read buffer of a WebSocket. tungstenite fills the whole of it with zeros before
/// every read, so its default of 128 KiB costs more than the messages do.
pub const READ_BUFFER_BYTES: usize = 16 * 1024;

/// Close code of a peer that was silent for too long.
const CLOSE_GOING_AWAY: u16 = 1001;
/// How long a peer may take to answer our close.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// Messages taken in before answers are flushed: many at once cost fewer system calls, too many
/// would let one peer keep the task.
const READS_PER_TURN: usize = 128;

/// Carries a session over a socket until it ends. Dropping the future ends it too.
pub async fn drive<T, S, E>(connection: Connection, socket: S) -> Ended
where
    T: Deref<Target = str>,
    S: Stream<Item = Result<Incoming<T>, E>> + Sink<Outgoing> + Unpin,
{
    let limits = connection.shared().limits().clone();
    let now = Instant::now();
    let mut driver = Driver {
        connection,
        socket,
        held: None,
        heard_at: now,
        pinged_at: now,
        timer: Box::pin(sleep_until(now + limits.ping_every)),
        ping_every: limits.ping_every,
        silence_max: limits.silence_max,
        unflushed: false,
    };
    poll_fn(|cx| driver.poll(cx)).await;
    driver.hang_up().await
}

struct Driver<T, S> {
    connection: Connection,
    socket: S,
    /// A message that came while we wanted none.
    held: Option<T>,
    heard_at: Instant,
    pinged_at: Instant,
    timer: Pin<Box<Sleep>>,
    ping_every: Duration,
    silence_max: Duration,
    unflushed: bool,
}

impl<T, S, E> Driver<T, S>
where
    T: Deref<Target = str>,
    S: Stream<Item = Result<Incoming<T>, E>> + Sink<Outgoing> + Unpin,
{
    /// Ready when the session has ended and said what it could.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let read = self.read(cx);
            if self.write(cx) {
                return Poll::Ready(());
            }
            if self.keep_time(cx) {
                continue;
            }
            if !read {
                return Poll::Pending;
            }
        }
    }

    /// Takes in what is there. True when there may be more.
    fn read(&mut self, cx: &mut Context<'_>) -> bool {
        let mut now = None;
        for _ in 0..READS_PER_TURN {
            if self.held.is_some() {
                if !self.connection.wants_input() {
                    return false;
                }
                if let Some(text) = self.held.take() {
                    self.connection.receive(&text);
                }
            }
            if self.connection.has_ended() {
                return false;
            }
            match self.socket.poll_next_unpin(cx) {
                Poll::Pending => return false,
                Poll::Ready(frame) => {
                    // One look at the clock for all that has come by now.
                    self.heard_at = *now.get_or_insert_with(Instant::now);
                    match frame {
                        Some(Ok(Incoming::Text(text))) => self.held = Some(text),
                        Some(Ok(Incoming::Alive)) => {}
                        Some(Ok(Incoming::Binary)) => {
                            let text = "a binary frame is not part of this protocol";
                            self.connection.handle().abort(ErrorValue::named("SyntaxError", text));
                        }
                        Some(Ok(Incoming::Closed { code, reason })) => self.lost(code, &reason),
                        Some(Err(_)) | None => self.lost(1006, ""),
                    }
                }
            }
        }
        true
    }

    fn lost(&mut self, code: u16, reason: &str) {
        let text = format!("Peer closed WebSocket: {code} {reason}");
        self.connection.handle().lost(ErrorValue::new(text));
    }

    /// Sends what there is. True when the session has ended and everything was said.
    fn write(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            match self.socket.poll_ready_unpin(cx) {
                Poll::Pending => {
                    // The peer does not read; methods go on all the same.
                    self.connection.poll_work(cx);
                    // Once it has ended, hanging up says the rest, and waits only so long.
                    return self.connection.has_ended();
                }
                Poll::Ready(Err(_)) => {
                    self.lost(1006, "");
                    return true;
                }
                Poll::Ready(Ok(())) => {}
            }
            match self.connection.poll_message(cx) {
                Poll::Ready(Some(text)) => {
                    if self.socket.start_send_unpin(Outgoing::Text(text)).is_err() {
                        self.lost(1006, "");
                        return true;
                    }
                    self.unflushed = true;
                }
                Poll::Ready(None) => return true,
                Poll::Pending => break,
            }
        }
        if self.unflushed && self.socket.poll_flush_unpin(cx).is_ready() {
            self.unflushed = false;
        }
        false
    }

    /// Pings, or gives a silent peer up. True when something changed.
    fn keep_time(&mut self, cx: &mut Context<'_>) -> bool {
        if self.timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        let now = Instant::now();
        if now >= self.heard_at + self.silence_max {
            let silent: Thrown = ErrorValue::new("the peer was silent for too long").code("silent").into();
            self.connection.shared().lost(silent, CLOSE_GOING_AWAY);
        } else if now >= self.heard_at.max(self.pinged_at) + self.ping_every {
            self.pinged_at = now;
            if let Poll::Ready(Ok(())) = self.socket.poll_ready_unpin(cx) {
                let _ = self.socket.start_send_unpin(Outgoing::Ping);
                self.unflushed = true;
            }
        }
        let next_ping = self.heard_at.max(self.pinged_at) + self.ping_every;
        self.timer
            .as_mut()
            .reset(next_ping.min(self.heard_at + self.silence_max).max(now + Duration::from_millis(1)));
        true
    }

    /// Closes, and waits a little for the peer to do the same: a line torn down with unread
    /// data in it loses the words that were sent last.
    async fn hang_up(mut self) -> Ended {
        let ended = self.connection.handle().ended().unwrap_or_else(|| Ended {
            reason: ErrorValue::new("the session is over").into(),
            close_code: CLOSE_GOING_AWAY,
            close_reason: String::new(),
        });
        let close = Outgoing::Close { code: ended.close_code, reason: ended.close_reason.clone() };
        let goodbye = async {
            while let Some(text) = self.connection.message().await {
                if self.socket.send(Outgoing::Text(text)).await.is_err() {
                    break;
                }
            }
            // Refused when the peer closed first; reading on still completes its closing.
            let _ = self.socket.send(close).await;
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        let _ = timeout(CLOSE_GRACE, goodbye).await;
        ended
    }
}
