//! A whole session in one HTTP request and its response.
//!
//! The body of the request is everything the client says, one message per line, the body of
//! the response everything the server says. There is no way back: a server that would need
//! an answer from the client fails that call at once.
//!
//! `server` and `client` do no IO; `crate::transport::http` posts a client's batch.

mod client;
mod server;

pub use client::Batch;
#[cfg(feature = "tokio")]
pub use server::serve;
pub use server::{Refused, serve_until};

/// What to answer a batch with. Nobody may require it.
pub const CONTENT_TYPE: &str = "text/plain; charset=utf-8";

/// Messages of a body. One newline at its end is forgiven, which the npm package does not do.
fn lines(body: &str) -> impl Iterator<Item = &str> {
    let body = body.strip_suffix('\n').unwrap_or(body);
    let body = body.strip_suffix('\r').unwrap_or(body);
    // An empty body is no message, not one empty message.
    (!body.is_empty()).then(|| body.split('\n')).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn an_empty_body_holds_no_message_and_a_last_newline_adds_none() {
        assert_eq!(lines("").count(), 0);
        assert_eq!(lines("\n").count(), 0);
        assert_eq!(lines("a\nb").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(lines("a\nb\n").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(lines("a\r\nb\r\n").collect::<Vec<_>>(), ["a\r", "b"]);
        assert_eq!(lines("a\n\nb").collect::<Vec<_>>(), ["a", "", "b"]);
    }
}
