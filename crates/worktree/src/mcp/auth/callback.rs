//! The OAuth callback: one page on this machine that the browser is redirected to after a login.
//!
//! Answers until the code of the right login has come, and nothing else is served. Requests are read
//! with a bound, a few at a time; whoever sends another state than ours is turned away.

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

/// The person has to find their password.
const WAIT_MAX: Duration = Duration::from_secs(5 * 60);
/// One request, from the first byte to the last.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// Browsers open more connections than they use.
const CONNECTIONS_MAX: usize = 8;
/// After an accept that failed: out of files, most likely, and they come back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why no code came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    #[error("the callback address is taken or cannot be listened on: {0}")]
    Listen(String),
    #[error("the browser did not complete the login in time")]
    Timeout,
    /// The person, or the authorization server, said no.
    #[error("the login was refused: {0}")]
    Refused(String),
}

/// Listens for a browser.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    path: String,
    state: String,
}

impl Listener {
    /// Listens where the redirect address says, if that is this machine.
    pub async fn open(redirect: &str, state: &str) -> Result<Self, CallbackError> {
        let listen = |cause: &dyn std::fmt::Display| CallbackError::Listen(cause.to_string());
        let url = Url::parse(redirect).map_err(|cause| listen(&cause))?;
        let port = port_of(redirect)?;
        // The loopback address whatever the name is: the way from outside to it is the user's.
        let socket = TcpListener::bind(("127.0.0.1", port)).await.map_err(|cause| listen(&cause))?;
        Ok(Self { socket, path: url.path().to_owned(), state: state.to_owned() })
    }

    /// Waits for the code.
    pub async fn code(self) -> Result<String, CallbackError> {
        let coming = async {
            let mut open = FuturesUnordered::new();
            loop {
                tokio::select! {
                    accepted = self.socket.accept(), if open.len() < CONNECTIONS_MAX => {
                        match accepted {
                            Ok((stream, _)) => open.push(self.serve(stream)),
                            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                        }
                    }
                    Some(answer) = open.next() => {
                        if let Some(answer) = answer {
                            return answer;
                        }
                    }
                }
            }
        };
        timeout(WAIT_MAX, coming).await.unwrap_or(Err(CallbackError::Timeout))
    }

    /// One request and its answer: what it brings; none if it is not the one.
    async fn serve(&self, mut stream: TcpStream) -> Option<Result<String, CallbackError>> {
        let target = timeout(REQUEST_TIMEOUT, read(&mut stream)).await.ok()?.ok()?;
        let answer = self.judge(&target);
        let (status, words) = match &answer {
            Some(Ok(_)) => ("200 OK", "You are logged in. You can close this page."),
            Some(Err(_)) => ("200 OK", "The login was refused. You can close this page."),
            None => ("400 Bad Request", "This is not the login that is waited for."),
        };
        let _ = timeout(REQUEST_TIMEOUT, reply(&mut stream, status, words)).await;
        answer
    }

    /// What a request brings; none if it is not the one.
    fn judge(&self, target: &str) -> Option<Result<String, CallbackError>> {
        let url = Url::parse("http://127.0.0.1").ok()?.join(target).ok()?;
        let get = |wanted: &str| {
            url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        if url.path() != self.path || get("state").as_deref() != Some(&self.state) {
            return None;
        }
        if let Some(error) = get("error") {
            let why = get("error_description").unwrap_or(error);
            return Some(Err(CallbackError::Refused(crate::bound::prefix(&why, 200).to_owned())));
        }
        get("code").map(Ok)
    }
}

/// Where a browser that is sent to this address is listened for.
pub fn port_of(redirect: &str) -> Result<u16, CallbackError> {
    let url = Url::parse(redirect).map_err(|cause| CallbackError::Listen(cause.to_string()))?;
    Ok(url.port_or_known_default().unwrap_or(80))
}

/// The target of a GET.
async fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 2048];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await?;
        if count == 0 || bytes.len() + count > REQUEST_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(&buffer[..count]);
    }
    let text = String::from_utf8_lossy(&bytes);
    let target = text.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    target.map(str::to_owned).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

async fn reply(stream: &mut TcpStream, status: &str, words: &str) -> io::Result<()> {
    let page = format!("<!doctype html><title>Sturdy</title><p>{words}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::{CallbackError, Listener};
    use std::io::ErrorKind;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    #[tokio::test(start_paused = true)]
    async fn a_login_that_the_browser_never_completes_times_out() {
        let listener = Listener::open("http://127.0.0.1:0/back", "state").await.unwrap();
        let address = listener.socket.local_addr().unwrap();

        assert_eq!(listener.code().await, Err(CallbackError::Timeout));

        assert!(std::net::TcpStream::connect(address).is_err(), "the port is free again");
    }

    #[tokio::test]
    async fn a_connection_that_says_nothing_holds_nobody_up() {
        let listener = Listener::open("http://127.0.0.1:0/back", "state").await.unwrap();
        let address = listener.socket.local_addr().unwrap();
        let visit = async |target: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).await.unwrap();
            page
        };

        let visits = async {
            let silent = TcpStream::connect(address).await.unwrap();
            let guessed = visit("/back?code=1&state=guessed").await;
            // Was: a request was read when the one before it had been answered or given up.
            let heard = silent.try_read(&mut [0]).unwrap_err().kind();
            (guessed, heard, visit("/back?code=1&state=state").await)
        };
        let (code, (guessed, heard, right)) = tokio::join!(listener.code(), visits);

        assert_eq!((code, heard), (Ok("1".to_owned()), ErrorKind::WouldBlock));
        assert!(guessed.starts_with("HTTP/1.1 400 ") && right.starts_with("HTTP/1.1 200 "));
    }
}
