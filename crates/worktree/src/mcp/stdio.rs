//! A server that is a program of this machine: lines of JSON through its pipes.
//!
//! The program runs in a session of its own, with a clean environment (`process/environment.rs`),
//! and carries the mark by which whatever it leaves behind is found (`process/stray.rs`). When its
//! connection ends it is told so by the end of its input, then asked, then made to end: program,
//! group and strays.
//!
//! What it writes is bounded: a line that is too long is dropped as it comes, and if it was an answer,
//! whoever waits for it is told. A line that is not a message is ignored: some programs print a greeting.

use super::{MESSAGE_BYTES_MAX, content};
use crate::bound::{prefix, suffix};
use crate::process::{Inherited, stray};
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::future::Future;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// From the end of its input to "please", and from "please" to "now".
const GRACE: Duration = Duration::from_millis(500);
/// What a program that is gone has left in its pipe, at most.
const REST_READS_MAX: usize = 32;
/// As long as it takes to become another program.
const SECOND_LOOK: Duration = Duration::from_millis(20);
/// What of its complaints is logged of one life, and what is kept to say why it ended.
const LOGGED_BYTES_MAX: usize = 64 * 1024;
const TAIL_BYTES_MAX: usize = 2048;
/// Where in a line that is too long its id is looked for.
const ENDS_BYTES: usize = 512;

/// The program, and what it complains about.
#[derive(Debug)]
pub(super) struct Program {
    server: String,
    child: Box<dyn ChildWrapper>,
    complaints: Option<ChildStderr>,
    group: Option<rustix::process::Pid>,
    mark: stray::Mark,
    tail: String,
    logged_bytes: usize,
    is_gone: bool,
}

/// Starts the program where nobody else waits: it enters its directory while it is started, and that hangs if the
/// directory's disk does.
pub(super) async fn start_apart(
    server: &str,
    command: &[String],
    directory: &Path,
    inherited: &Inherited,
    variables: &[(String, String)],
    patience: Duration,
) -> io::Result<(Program, Lines)> {
    let server = server.to_owned();
    let command = command.to_vec();
    let directory = directory.to_owned();
    let inherited = inherited.clone();
    let variables = variables.to_vec();
    let starting =
        tokio::task::spawn_blocking(move || start(&server, &command, &directory, &inherited, &variables));
    match timeout(patience, starting).await {
        Ok(started) => started.unwrap_or_else(|cause| Err(cause.into())),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "its directory does not answer")),
    }
}

/// Starts the program and opens the pipes to it.
fn start(
    server: &str,
    command: &[String],
    directory: &Path,
    inherited: &Inherited,
    variables: &[(String, String)],
) -> io::Result<(Program, Lines)> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
    };
    let mark = stray::Mark::new();
    let mut wrap = CommandWrap::with_new(program, |command| {
        command
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(inherited.of_command())
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env(stray::VARIABLE, mark.text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
    });
    let mut child = wrap.wrap(ProcessSession).spawn()?;
    let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32));
    let input = child.stdin().take();
    let output = child.stdout().take();
    let complaints = child.stderr().take();
    let program = Program {
        server: server.to_owned(),
        child,
        complaints,
        group,
        mark,
        tail: String::new(),
        logged_bytes: 0,
        is_gone: false,
    };
    let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the program has no pipes");
    let lines = Lines::new(output.ok_or_else(closed)?, input.ok_or_else(closed)?);
    Ok((program, lines))
}

impl Program {
    /// Waits for the end and says how it came. `stop` makes it come. May be dropped and called again.
    pub(super) async fn run(&mut self, stop: &CancellationToken) -> String {
        let mut buffer = vec![0; 4096];
        let ended = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break None,
                status = self.child.inner_mut().wait() => break Some(status),
                count = read(&mut self.complaints, &mut buffer), if self.complaints.is_some() => match count {
                    0 => self.complaints = None,
                    count => self.note(&buffer[..count]),
                },
            }
        };
        let Some(status) = ended else {
            self.end().await;
            return "The connection was closed".to_owned();
        };
        self.kill_all().await;
        // What it said last is why it ended. It is in the pipe by now, or it never comes.
        for _ in 0..REST_READS_MAX {
            match timeout(GRACE, read(&mut self.complaints, &mut buffer)).await {
                Ok(count @ 1..) => self.note(&buffer[..count]),
                _ => break,
            }
        }
        self.why(status.ok().and_then(|status| status.code()))
    }

    /// Asks it to end, waits, and makes it.
    async fn end(&mut self) {
        let goes_by_itself = timeout(GRACE, self.child.inner_mut().wait()).await.is_ok();
        if !goes_by_itself {
            self.signal(rustix::process::Signal::TERM);
            let _ = timeout(GRACE, self.child.inner_mut().wait()).await;
        }
        self.kill_all().await;
        let _ = timeout(GRACE, self.child.inner_mut().wait()).await;
    }

    /// Whoever was becoming another program while strays were looked for is found a moment later.
    async fn kill_all(&mut self) {
        // The group, not the process: servers are often started by a script that starts them.
        self.signal(rustix::process::Signal::KILL);
        // A look that broke off has found what it found.
        let _ = self.mark.kill_strays_apart(self.group).await;
        sleep(SECOND_LOOK).await;
        let _ = self.mark.kill_strays_apart(self.group).await;
        self.is_gone = true;
    }

    fn kill(&mut self) {
        // The group, not the process: servers are often started by a script that starts them.
        self.signal(rustix::process::Signal::KILL);
        self.mark.kill_strays(self.group);
        self.is_gone = true;
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            // Nobody left to hear it is what we wanted.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    fn note(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        if self.logged_bytes < LOGGED_BYTES_MAX {
            self.logged_bytes += bytes.len();
            debug!(server = %self.server, said = %text.trim_end(), "an MCP server complains");
        }
        self.tail.push_str(&text);
        self.tail = suffix(&self.tail, TAIL_BYTES_MAX).to_owned();
    }

    fn why(&self, code: Option<i32>) -> String {
        const LINE_BYTES_MAX: usize = 200;
        let how = match code {
            Some(code) => format!("The program ended with code {code}"),
            None => "The program was killed".to_owned(),
        };
        match self.tail.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!("{how}: {}", prefix(line, LINE_BYTES_MAX)),
            None => how,
        }
    }
}

/// Nothing at the end.
async fn read(pipe: &mut Option<ChildStderr>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.is_gone {
            self.kill();
        }
    }
}

/// Messages, a line each.
#[derive(Debug)]
pub(super) struct Lines {
    output: BufReader<ChildStdout>,
    input: Arc<Mutex<Option<ChildStdin>>>,
    line: Vec<u8>,
    /// A line that is too long: its beginning, and its end so far.
    dropped: Option<(Vec<u8>, Vec<u8>)>,
}

impl Lines {
    fn new(output: ChildStdout, input: ChildStdin) -> Self {
        let input = Arc::new(Mutex::new(Some(input)));
        Self { output: BufReader::new(output), input, line: Vec::new(), dropped: None }
    }

    /// Reads on to the end of a line. What was read is kept in `self`, so that this may be dropped and
    /// called again. False at the end of the output.
    async fn read_line(&mut self) -> bool {
        loop {
            let Ok(available) = self.output.fill_buf().await else { return false };
            if available.is_empty() {
                return false;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let take = end.map_or(available.len(), |end| end + 1);
            let chunk = &available[..take];
            match &mut self.dropped {
                Some((_, last)) => {
                    last.extend_from_slice(chunk);
                    let excess = last.len().saturating_sub(ENDS_BYTES);
                    last.drain(..excess);
                }
                None if self.line.len() + take > MESSAGE_BYTES_MAX => {
                    self.line.truncate(ENDS_BYTES);
                    let last = chunk[chunk.len().saturating_sub(ENDS_BYTES)..].to_vec();
                    self.dropped = Some((std::mem::take(&mut self.line), last));
                }
                None => self.line.extend_from_slice(chunk),
            }
            self.output.consume(take);
            if end.is_some() {
                return true;
            }
        }
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let input = self.input.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let pipe = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            pipe.write_all(&line).await?;
            pipe.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if !self.read_line().await {
                return None;
            }
            if let Some((first, last)) = self.dropped.take() {
                debug!("an MCP server sent a line that is too long");
                match id_of(&first, &last) {
                    Some(id) => return Some(too_large(id)),
                    None => continue,
                }
            }
            let instead = content::instead_of_deep(&self.line);
            let message = match instead {
                None => serde_json::from_slice::<ServerJsonRpcMessage>(&self.line).ok(),
                Some(instead) => instead.ok(),
            };
            self.line.clear();
            // The room of a large message is not kept for small ones.
            self.line.shrink_to(64 * 1024);
            match message {
                Some(message) => return Some(message),
                None => debug!("an MCP server sent a line that is no message"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.input.lock().await.take();
        Ok(())
    }
}

fn too_large(id: i64) -> ServerJsonRpcMessage {
    let message = format!("The answer is larger than {} MiB", MESSAGE_BYTES_MAX / 1024 / 1024);
    JsonRpcMessage::error(ErrorData::internal_error(message, None), Some(RequestId::Number(id)))
}

/// The id of an answer of which only the ends are known: servers write it first or last.
fn id_of(first: &[u8], last: &[u8]) -> Option<i64> {
    const KEY: &str = "\"id\":";
    let first = String::from_utf8_lossy(first);
    let last = String::from_utf8_lossy(last);
    let compact = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
    let first = compact(&first);
    let last = compact(&last);
    let head =
        ["{\"jsonrpc\":\"2.0\",", "{"].iter().find_map(|start| first.strip_prefix(start)?.strip_prefix(KEY));
    if let Some(rest) = head {
        return number(rest);
    }
    let at = last.rfind(KEY)?;
    let rest = &last[at + KEY.len()..];
    let digits = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_end = matches!(digits, "}" | ",\"jsonrpc\":\"2.0\"}");
    is_end.then(|| number(rest)).flatten()
}

fn number(text: &str) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::id_of;

    #[test]
    fn the_id_of_an_answer_is_found_at_either_end() {
        assert_eq!(id_of(br#"{"jsonrpc": "2.0", "id": 7, "result": {"#, b"xxx\"}}\n"), Some(7));
        assert_eq!(id_of(br#"{"id":12,"jsonrpc":"2.0""#, b"x"), Some(12));
        assert_eq!(id_of(br#"{"result":{"#, b"xx\"}]},\"jsonrpc\":\"2.0\",\"id\":3}\n"), Some(3));
        assert_eq!(id_of(br#"{"result":{"#, b"\"id\":3,\"text\":\"\"}\n"), None);
        assert_eq!(id_of(b"aaaa", b"bbbb"), None);
    }
}
