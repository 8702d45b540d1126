//! Running the program, and a server that is ended by its id.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A home, a project and a data directory.
pub(crate) struct Place {
    root: TempDir,
    variables: HashMap<&'static str, String>,
}

/// How the program ended and what it said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for place in ["home", "project"] {
            std::fs::create_dir_all(root.path().join(place)).unwrap();
        }
        Self { root, variables: HashMap::new() }
    }

    pub(crate) fn with(mut self, variable: &'static str, value: &str) -> Self {
        self.variables.insert(variable, value.to_owned());
        self
    }

    /// The same for whatever is started from now on.
    pub(crate) fn set(&mut self, variable: &'static str, value: &str) {
        self.variables.insert(variable, value.to_owned());
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sturdy"));
        command.args(arguments).current_dir(self.project()).env_clear();
        command.env("HOME", self.home()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("STURDY_DEMO_PACE_MS", "0").envs(&self.variables);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().unwrap().into()
    }

    /// Starts a server in the place's data directory, on a free port unless another is asked for.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Server {
        self.start(&["serve"], arguments)
    }

    /// The same of the share service alone.
    pub(crate) fn serve_shares(&self, arguments: &[&str]) -> Server {
        self.start(&["share", "serve"], arguments)
    }

    /// A server (`serve`, or `share serve`) that writes everything it has to say into a file; on a free port unless
    /// another is asked for.
    pub(crate) fn serve_into(&self, verb: &[&str], log: &Path, arguments: &[&str]) -> Server {
        let data = self.data().display().to_string();
        let mut all = verb.to_vec();
        all.extend(["--log-level", "trace", "--data-dir", &data]);
        if !arguments.contains(&"--port") {
            all.extend(["--port", "0"]);
        }
        all.extend(arguments);
        Server::start_with(self.command(&all), File::create(log).unwrap().into())
    }

    fn start(&self, verb: &[&str], arguments: &[&str]) -> Server {
        let data = self.data().display().to_string();
        let mut all = verb.to_vec();
        all.extend(["--port", "0", "--data-dir", &data]);
        all.extend(arguments);
        Server::start(self.command(&all))
    }

    /// A server like that of an ordinary user, who may not look into every process of the machine.
    #[cfg(target_os = "linux")]
    pub(crate) fn serve_like_a_user(&self) -> Server {
        use std::os::unix::fs::MetadataExt as _;
        if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
            return self.serve(&[]);
        }
        let data = self.data().display().to_string();
        let plain = self.command(&["serve", "--port", "0", "--data-dir", &data]);
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-sys_ptrace", "--inh-caps=-all", "--"]);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(self.project()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Server::start(command)
    }
}

const JSON_HEADERS: &str = "content-type: application/json\r\naccept-encoding: identity\r\n";

pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    /// What it printed until it listened.
    pub(crate) said: Vec<String>,
}

impl Server {
    /// Starts the program and waits until it says where it listens.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::piped())
    }

    fn start_with(mut command: Command, stderr: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = Vec::new();
        let url = loop {
            let Some(line) = lines.next() else {
                let mut error = String::new();
                if let Some(mut stderr) = child.stderr.take() {
                    stderr.read_to_string(&mut error).unwrap();
                }
                panic!("the server ended: {error}");
            };
            let line = line.unwrap();
            said.push(line.clone());
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.to_owned();
            }
        };
        Self { child, url, said }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status =
            Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }

    /// The same for one whose log goes into a file.
    pub(crate) fn ended_quietly(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Whether it has ended, by itself or by a signal.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// One request that it may not live to answer: status and body, or nothing if the answer is missing or cut.
    pub(crate) fn try_json(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Option<(u16, serde_json::Value)> {
        let headers = format!("{JSON_HEADERS}{headers}");
        let answer = self.exchange("localhost", method, path, &headers, body).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split_whitespace().nth(1)?.parse().ok()?;
        let body = if head.contains("transfer-encoding: chunked") { joined(body) } else { body.to_owned() };
        Some((status, serde_json::from_str(&body).ok()?))
    }

    /// One request, one answer: status line, headers and body as they came.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        self.ask_for("localhost", method, path, headers, body)
    }

    /// The same, meant for a server of this name.
    pub(crate) fn ask_for(&self, host: &str, method: &str, path: &str, headers: &str, body: &str) -> String {
        self.exchange(host, method, path, headers, body).unwrap()
    }

    fn exchange(
        &self,
        host: &str,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> std::io::Result<String> {
        let mut socket = TcpStream::connect(self.url.strip_prefix("http://").unwrap())?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
        );
        socket.write_all(head.as_bytes())?;
        socket.write_all(body.as_bytes())?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    }

    pub(crate) fn json(&self, method: &str, path: &str, body: &str) -> serde_json::Value {
        self.json_with_status(method, path, body).1
    }

    /// Status and body of one answer. Whoever asks twice may meet two states.
    pub(crate) fn json_with_status(
        &self,
        method: &str,
        path: &str,
        body: &str,
    ) -> (String, serde_json::Value) {
        let answer = self.ask(method, path, JSON_HEADERS, body);
        let status = answer.split_whitespace().nth(1).unwrap().to_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let line = if head.contains("transfer-encoding: chunked") { joined(body) } else { body.to_owned() };
        (status, serde_json::from_str(&line).unwrap_or_else(|cause| panic!("{cause}: {answer}")))
    }
}

impl Drop for Server {
    /// A test that failed leaves no server behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A body that came in chunks, as far as it came.
fn joined(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        let Some(chunk) = rest.get(..size) else { break };
        whole.push_str(chunk);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}
