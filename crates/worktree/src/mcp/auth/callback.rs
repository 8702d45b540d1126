//! Where a browser comes back to after a login: one page on this machine.
//!
//! Answers until the code of the right login has come, and nothing else is served. Requests are read
//! with a bound, one after the other; whoever sends another state than ours is turned away.

use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

/// The person has to find their password.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// One request, from the first byte to the last.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_BYTES_MAX: usize = 16 * 1024;

/// Why no code came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    #[error("the address for the browser's return is taken or cannot be listened on: {0}")]
    Listen(String),
    #[error("nobody came back from the browser in time")]
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
        let port = url.port_or_known_default().unwrap_or(80);
        // The loopback address whatever the name is: the way from outside to it is the user's.
        let socket = TcpListener::bind(("127.0.0.1", port)).await.map_err(|cause| listen(&cause))?;
        Ok(Self { socket, path: url.path().to_owned(), state: state.to_owned() })
    }

    /// Waits for the code.
    pub async fn code(self) -> Result<String, CallbackError> {
        let coming = async {
            loop {
                let Ok((mut stream, _)) = self.socket.accept().await else { continue };
                let Ok(Ok(target)) = timeout(REQUEST_TIMEOUT, read(&mut stream)).await else { continue };
                let answer = self.judge(&target);
                let (status, words) = match &answer {
                    Some(Ok(_)) => ("200 OK", "You are logged in. You can close this page."),
                    Some(Err(_)) => ("200 OK", "The login was refused. You can close this page."),
                    None => ("400 Bad Request", "This is not the login that is waited for."),
                };
                let _ = timeout(REQUEST_TIMEOUT, reply(&mut stream, status, words)).await;
                if let Some(answer) = answer {
                    return answer;
                }
            }
        };
        timeout(PATIENCE, coming).await.unwrap_or(Err(CallbackError::Timeout))
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
