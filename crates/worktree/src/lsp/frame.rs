//! Reads what a language server sends, up to where it stops making sense.
//!
//! Stands between the server's output and the library that speaks the protocol: the library makes room for
//! as much as a server announces and reads a line however long it is. Bytes pass unchanged while heads are
//! short, messages fit and hold a bearable number of values; before the first byte that does not fit the
//! reading ends with the reason. What was said until then is still heard.
//!
//! Nothing the server said is in the reason: it may be a piece of somebody's file.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// A head is one or two short lines.
const HEAD_BYTES_MAX: usize = 4 * 1024;
/// Far more than all the faults of a large project.
const MESSAGE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// A value of two bytes costs a hundred once it is read.
const VALUES_MAX: u64 = 1_000_000;

/// Why a server is not listened to any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("it does not speak the language server protocol")]
    Nonsense,
    #[error("the head of a message is longer than {} KiB", HEAD_BYTES_MAX / 1024)]
    LongHead,
    #[error("a message is larger than {} MiB", MESSAGE_BYTES_MAX / 1024 / 1024)]
    LongMessage,
    #[error("a message holds more than {VALUES_MAX} values")]
    ManyValues,
}

impl From<FrameError> for io::Error {
    fn from(cause: FrameError) -> Self {
        Self::new(io::ErrorKind::InvalidData, cause)
    }
}

/// A reader that checks.
#[derive(Debug)]
pub(super) struct Framed<R> {
    inner: R,
    place: Place,
}

/// Where in the stream we are.
#[derive(Debug)]
enum Place {
    Head {
        /// The line that is being read.
        line: Vec<u8>,
        /// All lines of this head so far.
        bytes: usize,
        announced: Option<u64>,
    },
    Body {
        left: u64,
        values: u64,
    },
    Broken(FrameError),
}

const HEAD: Place = Place::Head { line: Vec::new(), bytes: 0, announced: None };

impl<R> Framed<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, place: HEAD }
    }
}

impl Place {
    /// Takes the next bytes; how many of them are good. Fewer than all: broken.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut good = 0;
        while good < bytes.len() {
            match self.step(&bytes[good..]) {
                Ok(count) => good += count,
                Err(cause) => {
                    *self = Self::Broken(cause);
                    break;
                }
            }
        }
        good
    }

    /// Takes a line of a head, or what is there of a body. Never nothing.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, FrameError> {
        match self {
            Self::Head { line, bytes: seen, announced } => {
                let end = bytes.iter().position(|&byte| byte == b'\n');
                let count = end.map_or(bytes.len(), |end| end + 1);
                *seen += count;
                if *seen > HEAD_BYTES_MAX {
                    return Err(FrameError::LongHead);
                }
                line.extend_from_slice(&bytes[..count]);
                if end.is_none() {
                    return Ok(count);
                }
                match field(line)? {
                    Field::End => {
                        let left = announced.ok_or(FrameError::Nonsense)?;
                        *self = if left == 0 { HEAD } else { Self::Body { left, values: 0 } };
                    }
                    Field::Length(length) if length > MESSAGE_BYTES_MAX => {
                        return Err(FrameError::LongMessage);
                    }
                    Field::Length(length) => {
                        *announced = Some(length);
                        line.clear();
                    }
                    Field::Other => line.clear(),
                }
                Ok(count)
            }
            Self::Body { left, values } => {
                let count = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                // Every value but the first of all follows one of these; those inside texts are counted too.
                let begins = |byte: &&u8| matches!(byte, b',' | b'[' | b'{');
                *values += bytes[..count].iter().filter(begins).count() as u64;
                if *values > VALUES_MAX {
                    return Err(FrameError::ManyValues);
                }
                *left -= count as u64;
                if *left == 0 {
                    *self = HEAD;
                }
                Ok(count)
            }
            Self::Broken(cause) => Err(*cause),
        }
    }
}

/// A line of a head.
enum Field {
    Length(u64),
    Other,
    End,
}

/// As strict as the library that reads it after us, so that its complaints, which quote, are never heard.
fn field(line: &[u8]) -> Result<Field, FrameError> {
    let line = str::from_utf8(line).ok().and_then(|line| line.strip_suffix("\r\n"));
    let line = line.ok_or(FrameError::Nonsense)?;
    if line.is_empty() {
        return Ok(Field::End);
    }
    let (name, value) = line.split_once(": ").ok_or(FrameError::Nonsense)?;
    if !name.eq_ignore_ascii_case("content-length") {
        return Ok(Field::Other);
    }
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse() {
        Ok(length) => Ok(Field::Length(length)),
        // Too many digits for a number are a number all the same.
        Err(_) if is_number => Err(FrameError::LongMessage),
        Err(_) => Err(FrameError::Nonsense),
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Framed<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Place::Broken(cause) = self.place {
            return Poll::Ready(Err(cause.into()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let fresh = &buffer.filled()[before..];
        let all = fresh.len();
        let good = self.place.take(fresh);
        buffer.set_filled(before + good);
        match self.place {
            // What is good is heard first; the reason comes with the next reading.
            Place::Broken(cause) if good == 0 && all > 0 => Poll::Ready(Err(cause.into())),
            _ => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameError, Framed, HEAD_BYTES_MAX, MESSAGE_BYTES_MAX, VALUES_MAX};
    use tokio::io::{AsyncRead, AsyncReadExt as _};

    /// What passes, and why the reading ended, if it did not end by itself.
    async fn read(from: impl AsyncRead + Unpin, piece: usize) -> (Vec<u8>, Option<FrameError>) {
        let mut framed = Framed::new(from);
        let mut passed = Vec::new();
        let mut buffer = vec![0; piece];
        loop {
            match framed.read(&mut buffer).await {
                Ok(0) => return (passed, None),
                Ok(count) => passed.extend_from_slice(&buffer[..count]),
                Err(cause) => {
                    let again = framed.read(&mut buffer).await.unwrap_err();
                    assert_eq!(again.to_string(), cause.to_string(), "broken stays broken");
                    return (passed, cause.into_inner().and_then(|why| why.downcast().ok()).map(|why| *why));
                }
            }
        }
    }

    fn message(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[tokio::test]
    async fn good_messages_pass_unchanged_however_they_are_cut() {
        let second = "Content-Type: x\r\ncontent-length: 2\r\n\r\n{}";
        let text = format!("{}{second}{}{}", message("{\"a\":[1,2]}"), message(""), message("\r\n\r\n"));
        for piece in 1..text.len() + 1 {
            assert_eq!(read(text.as_bytes(), piece).await, (text.clone().into_bytes(), None));
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_ends_the_reading_after_what_does() {
        let good = message("{}");
        let long = format!("Content-Length: {}\r\n", MESSAGE_BYTES_MAX + 1);
        let lines = "a: b\r\n".repeat(HEAD_BYTES_MAX);
        let line = "x".repeat(HEAD_BYTES_MAX + 1);
        for (bad, wanted) in [
            (long.as_str(), FrameError::LongMessage),
            ("Content-Length: 99999999999999999999999999\r\n", FrameError::LongMessage),
            ("Content-Length: -1\r\n", FrameError::Nonsense),
            ("Content-Length: \r\n", FrameError::Nonsense),
            ("Content-Type: x\r\n\r\n", FrameError::Nonsense),
            ("\r\n", FrameError::Nonsense),
            ("\n", FrameError::Nonsense),
            ("hello\r\n", FrameError::Nonsense),
            (&line, FrameError::LongHead),
            (&lines, FrameError::LongHead),
        ] {
            let text = format!("{good}{bad}");
            for piece in [1, 7, 8192] {
                let (passed, why) = read(text.as_bytes(), piece).await;
                assert_eq!(why, Some(wanted), "{}", &bad[..bad.len().min(40)]);
                assert!(passed.starts_with(good.as_bytes()) && text.as_bytes().starts_with(&passed));
                assert!(passed.len() <= good.len() + HEAD_BYTES_MAX);
            }
        }
    }

    #[tokio::test]
    async fn an_endless_line_is_read_no_further_than_a_head_may_be() {
        let (passed, why) = read(tokio::io::repeat(b'x'), 512).await;

        assert_eq!((passed.len() <= HEAD_BYTES_MAX, why), (true, Some(FrameError::LongHead)));
    }

    #[tokio::test]
    async fn a_message_of_nothing_but_small_values_is_too_much_before_it_is_too_long() {
        let body = format!("[{}0]", "0,".repeat(VALUES_MAX as usize));

        let (_, why) = read(message(&body).as_bytes(), 8192).await;

        assert_eq!(why, Some(FrameError::ManyValues));
    }
}
