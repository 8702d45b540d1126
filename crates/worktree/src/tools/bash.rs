//! `bash`: runs a command.
//!
//! The command is read first (`shell.rs`): directories outside are asked about at once, then files it
//! writes to, then each simple command. It is run by bash, whose grammar was read; where there is
//! none, by the plain shell, and then nothing of it counts as understood. What it prints is shown while it runs and kept within a bound
//! (`bash/output.rs`), however much it is.

mod output;

use super::ask::{self, is_settings, settings_behind_wildcards};
use crate::path::{Located, PathError, Roots, WorkPath};
use crate::process::{Command, Ended, Network, Owner, Running, Sandbox};
use crate::shell::{self, Reading, Writer};
use crate::tool::{
    Acting, Background, Call, Caller, Done, PermissionAsk, Tool, ToolFailure, World, integer, map, spec, text,
};
use futures_util::future::BoxFuture;
use output::Output;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use sturdy_session::talk::ToolSpec;
use tokio::time::{Instant, timeout_at};

/// A day: longer than any turn.
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// The command may notice its own time limit before we do.
const TIMEOUT_SLACK: Duration = Duration::from_millis(100);

/// How often a running command's output is shown: as often as an eye can tell.
const SHOW_EVERY: Duration = Duration::from_millis(40);

/// Shells that read a profile when they are asked to with `-l`.
const LOGIN_SHELLS: [&str; 5] = ["bash", "zsh", "ksh", "dash", "sh"];

/// As much as a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub struct Bash(ToolSpec);

#[derive(Deserialize)]
struct Input {
    command: String,
    timeout: Option<u64>,
    workdir: Option<String>,
}

impl Bash {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "command": text("The command to run"),
            "timeout": integer(1, "Time limit in milliseconds (two minutes unless it is set otherwise)"),
            "workdir": text("The directory to run in (default: the working directory). Use it instead of cd."),
        });
        Self(spec("bash", include_str!("bash.md"), properties, &["command"]))
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            if input.timeout == Some(0) {
                return Err(ToolFailure::failed("The timeout must be more than 0 milliseconds."));
            }
            let shell = Shell::for_caller(world);
            let directory = permitted(world, &input, &shell).await?;
            run(world, world.act().await?, &call.id, input, directory, shell).await
        })
    }
}

/// Asks for everything the command would do; gives back the directory to run in.
async fn permitted(world: &World, input: &Input, shell: &Shell) -> Result<PathBuf, ToolFailure> {
    let roots = world.roots.clone();
    let command = input.command.clone();
    let workdir = input.workdir.clone().unwrap_or_else(|| ".".to_owned());
    let is_read = shell.is_bash;
    let look = move || {
        let reading = if is_read { shell::read(&command) } else { shell::whole(&command) };
        plan(&roots, &command, &workdir, reading)
    };
    let (asks, directory) = world.blocking(look).await?;
    for ask in asks {
        world.ask(ask).await?;
    }
    Ok(directory)
}

/// What a bash command needs permission for, in the order in which it is asked: directories outside,
/// files it writes to, settings among them, and its simple commands.
pub fn command_asks(roots: &Roots, command: &str) -> Result<Vec<PermissionAsk>, ToolFailure> {
    Ok(plan(roots, command, ".", shell::read(command))?.0)
}

fn plan(
    roots: &Roots,
    command: &str,
    workdir: &str,
    reading: Reading,
) -> Result<(Vec<PermissionAsk>, PathBuf), ToolFailure> {
    let mut outside = BTreeSet::new();
    let directory = match roots.locate(workdir)? {
        Located::Inside(path) => path,
        Located::Outside(path) => {
            outside.insert(path.directory());
            path.permitted()
        }
    };
    if !directory.real().is_dir() {
        return Err(not_a_directory(&directory));
    }
    for place in &reading.places {
        if !is_temporary(roots, directory.shown(), &reading, place) {
            outside.extend(outside_of(roots, directory.shown(), place));
        }
    }
    let written = Written::of(roots, directory.shown(), &reading);

    let mut asks = Vec::new();
    if !outside.is_empty() {
        let patterns: Vec<String> =
            outside.iter().map(|one| one.join("*").to_string_lossy().into_owned()).collect();
        let metadata = json!({ "command": command, "directories": outside, "patterns": patterns });
        asks.push(PermissionAsk::new("external_directory", patterns.clone(), patterns, map(metadata)));
    }
    if !written.redirected.is_empty() {
        let filepath = written.redirected.join(", ");
        let metadata = json!({ "filepath": filepath, "diff": "", "command": command });
        asks.push(PermissionAsk::new("edit", written.redirected, vec!["*".to_owned()], map(metadata)));
    }
    asks.extend(ask::settings(&written.settings, json!({ "command": command })));
    let Reading { patterns, always, forms, unclear, .. } = reading;
    let metadata = json!({ "command": command, "always": always });
    let judged = PermissionAsk::new("bash", patterns, always, map(metadata));
    asks.push(PermissionAsk { forms, unclear, ..judged });
    Ok((asks, directory.real().to_owned()))
}

/// Files that the command surely writes to, as the rules name them.
struct Written {
    redirected: Vec<String>,
    /// Those that are settings of the project or of its tools.
    settings: Vec<String>,
}

impl Written {
    fn of(roots: &Roots, directory: &Path, reading: &Reading) -> Self {
        let mut written = Self { redirected: Vec::new(), settings: Vec::new() };
        for write in &reading.writes {
            let name_of = |path: &str| match locate(roots, directory, path) {
                Ok(Located::Inside(path)) => path.relative().to_owned(),
                Ok(Located::Outside(path)) => path.permitted().relative().to_owned(),
                // A device or a link to nowhere: named as written.
                Err(_) => path.to_owned(),
            };
            let name = name_of(&write.path);
            let settings = match is_settings(roots, &name) {
                true => Some(name.clone()),
                false => {
                    settings_behind_wildcards(&absolute(directory, &write.path)).map(|path| name_of(&path))
                }
            };
            written.settings.extend(settings.filter(|name| !written.settings.contains(name)));
            let is_asked =
                write.by == Writer::Redirection && !is_temporary(roots, directory, reading, &write.path);
            if is_asked && !written.redirected.contains(&name) {
                written.redirected.push(name);
            }
        }
        written
    }
}

/// Whether the shell alone writes to it and it lies in the directory for temporary files: nobody is asked about that.
fn is_temporary(roots: &Roots, directory: &Path, reading: &Reading, place: &str) -> bool {
    let mut writers = reading.writes.iter().filter(|write| write.path == place).peekable();
    let by_shell = writers.peek().is_some() && writers.all(|write| write.by == Writer::Redirection);
    by_shell
        && matches!(locate(roots, directory, place), Ok(Located::Outside(path)) if roots.is_temporary(&path))
}

fn not_a_directory(path: &WorkPath) -> ToolFailure {
    let shown = path.shown().to_owned();
    if path.real().exists() {
        PathError::NotADirectory(shown).into()
    } else {
        PathError::Missing(shown).into()
    }
}

/// The directory a place lies in, if that is outside. `cd` takes `..` as written; the system goes up from where
/// a link led.
fn outside_of(roots: &Roots, directory: &Path, place: &str) -> Option<PathBuf> {
    let written = absolute(directory, place);
    [roots.locate(&written), locate(roots, directory, place)].into_iter().find_map(|found| match found {
        Ok(Located::Inside(_)) => None,
        Ok(Located::Outside(path)) => Some(path.directory()),
        // A device or a link to nowhere: named as written, so that a person sees it.
        Err(PathError::NotAFile { path, .. } | PathError::Link(path)) => path.parent().map(Path::to_owned),
        Err(_) => None,
    })
}

/// Where the system finds a place.
fn locate(roots: &Roots, directory: &Path, place: &str) -> Result<Located, PathError> {
    let mut found = PathBuf::new();
    for name in absolute(directory, place).components() {
        match name {
            Component::ParentDir => {
                found = found.canonicalize().unwrap_or(found);
                found.pop();
            }
            name => found.push(name),
        }
    }
    roots.locate(&found)
}

/// A place with its `~` written out, as bash does it.
fn absolute(directory: &Path, place: &str) -> PathBuf {
    let Some(rest) = place.strip_prefix('~') else { return directory.join(place) };
    let (user, below) = rest.split_once('/').unwrap_or((rest, ""));
    let home = match user {
        "" => std::env::var_os("HOME").map(PathBuf::from),
        "+" => Some(directory.to_owned()),
        user => home_of(user),
    };
    home.map_or_else(|| directory.join(place), |home| home.join(below))
}

/// The home of another user; of a directory that only the running shell knows (`~-`, `~2`), the root.
fn home_of(user: &str) -> Option<PathBuf> {
    if user.starts_with(|letter: char| letter == '-' || letter == '+' || letter.is_ascii_digit()) {
        return Some("/".into());
    }
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(user))?;
    line.split(':').nth(5).map(PathBuf::from)
}

async fn run(
    world: &World,
    _acting: Acting,
    call: &str,
    input: Input,
    directory: PathBuf,
    shell: Shell,
) -> Result<Done, ToolFailure> {
    let timeout_ms = input.timeout.unwrap_or(world.settings.command_timeout_ms).min(TIMEOUT_MS_MAX);
    let command = Command {
        arguments: shell.arguments(&input.command),
        program: shell.program,
        directory: directory.clone(),
        inherited: world.settings.inherited.clone(),
        variables: world.settings.variables.clone(),
        timeout: Duration::from_millis(timeout_ms) + TIMEOUT_SLACK,
    };
    let sandbox = world.settings.sandbox.clone().filter(|_| world.caller == Caller::Model);
    let fence = sandbox.clone();
    let caller = world.caller;
    let stop = world.stop.clone();
    // The program enters its directory while it is started, and that hangs if the directory's disk does.
    let starting = world.blocking(move || {
        let started = match caller {
            Caller::Model => command.start_in(fence.as_deref(), stop),
            Caller::User => command.start_for_user(stop),
        };
        started.map_err(|error| {
            let why = std::error::Error::source(&error).map(|why| format!(": {why}")).unwrap_or_default();
            ToolFailure::failed(format!("The command was not run: {error}{why}."))
        })
    });
    let mut running = starting.await?;
    if world.handles.keep_background.is_some() {
        running.keep_background(match world.caller {
            Caller::Model => Owner::Model,
            Caller::User => Owner::User,
        });
    }
    let mut output = Output::new(world.settings.limits, &world.settings.output_dir, call);
    read_all(world, &mut running, &mut output).await;

    let ended = running.ended();
    let note = match ended {
        Ended::Exited(Some(0)) => None,
        Ended::Exited(_) => sandbox.as_deref().map(fenced),
        Ended::TimedOut => Some(format!(
            "The command was ended after its time limit of {timeout_ms} ms. If it needs longer, run it again with a larger timeout."
        )),
        Ended::Stopped => Some("The user stopped the command.".to_owned()),
    };
    let exit = match ended {
        Ended::Exited(code) => code,
        Ended::TimedOut | Ended::Stopped => None,
    };
    let left = leave(world, running, &input.command, directory).await;
    let told = output.finish(world.settings.may_delegate).await;
    let mut text = told.text;
    let notes: Vec<String> = note.into_iter().chain(left.as_ref().map(Left::note)).collect();
    if !notes.is_empty() {
        text.push_str(&format!("\n\n<shell_metadata>\n{}\n</shell_metadata>", notes.join("\n")));
    }
    let mut metadata = json!({ "output": told.preview, "exit": exit, "truncated": told.truncated });
    if let Some(Left { name: Some(name), .. }) = left {
        metadata["background"] = json!(name);
    }
    if let Some(path) = told.saved {
        metadata["outputPath"] = json!(path);
    }
    Ok(Done::new(input.command, text, metadata))
}

/// What a command left running.
struct Left {
    processes: Vec<u32>,
    /// Under which it is kept; none if it was not.
    name: Option<String>,
}

impl Left {
    fn note(&self) -> String {
        let numbers: Vec<String> = self.processes.iter().map(u32::to_string).collect();
        let numbers = numbers.join(", ");
        match self.name {
            Some(_) => format!(
                "Still running in the background: process {numbers}. It goes on until it is stopped or the session is removed."
            ),
            None => format!(
                "Process {numbers} was left in the background and was ended: too many run there already."
            ),
        }
    }
}

/// Hands over what the command left running, if somebody keeps it.
async fn leave(world: &World, running: Running, command: &str, directory: PathBuf) -> Option<Left> {
    let keep = world.handles.keep_background.as_ref()?;
    let leftover = running.leave().await?.settled().await?;
    let processes = leftover.processes();
    let name = keep(Background { command: command.to_owned(), directory, leftover });
    Some(Left { processes, name })
}

/// A model that does not know of the fence would look for another reason.
fn fenced(sandbox: &Sandbox) -> String {
    let writable: Vec<String> = sandbox.writable.iter().map(|path| path.display().to_string()).collect();
    let network = match sandbox.network {
        Network::Open => "",
        Network::Closed => " and cannot use the network",
    };
    format!("Commands run in a sandbox: this one may write only below {}{network}.", writable.join(", "))
}

/// Reads to the end, showing what came at a bounded pace.
async fn read_all(world: &World, running: &mut Running, output: &mut Output) {
    let mut buffer = vec![0; CHUNK_BYTES];
    let show = |output: &Output| {
        world.report(None, map(json!({ "output": output.preview() })));
    };
    show(output);
    let mut next = Instant::now();
    let mut unseen = false;
    loop {
        let read = running.read(&mut buffer);
        // Giving up a read loses nothing: bytes stay in the pipe.
        let chunk = if unseen { timeout_at(next, read).await } else { Ok(read.await) };
        match chunk {
            Ok(None) => {
                if unseen {
                    show(output);
                }
                return;
            }
            Ok(Some(bytes)) => {
                output.push(bytes).await;
                unseen = true;
            }
            Err(_) => {}
        }
        // Also while bytes never stop coming.
        if unseen && Instant::now() >= next {
            show(output);
            unseen = false;
            next = Instant::now() + SHOW_EVERY;
        }
    }
}

/// What runs a command.
struct Shell {
    program: PathBuf,
    is_bash: bool,
    /// Reads the profile of the person whose command it is.
    is_login: bool,
}

impl Shell {
    /// A person's command is run by the person's shell. A model's is run by bash, because it was
    /// read and judged as bash.
    fn for_caller(world: &World) -> Self {
        let wanted = world.settings.shell.as_deref();
        match (world.caller, find_bash(wanted)) {
            (Caller::Model, Some(program)) => Self { program, is_bash: true, is_login: false },
            (Caller::Model, None) => Self { program: "/bin/sh".into(), is_bash: false, is_login: false },
            (Caller::User, _) => {
                let program = find_shell(wanted);
                let name = program.file_name().unwrap_or_default();
                let is_login = LOGIN_SHELLS.iter().any(|known| name == *known);
                Self { program, is_bash: false, is_login }
            }
        }
    }

    /// Behind `--`, so that a command that begins with a dash is not an option.
    fn arguments(&self, command: &str) -> Vec<OsString> {
        let login = self.is_login.then(|| "-l".into());
        login.into_iter().chain(["-c".into(), "--".into(), command.into()]).collect()
    }
}

/// The bash of the machine: the one that is configured, if it is one, or the first that is found.
#[must_use]
pub fn find_bash(wanted: Option<&Path>) -> Option<PathBuf> {
    let is_bash = |shell: &PathBuf| shell.file_name().is_some_and(|name| name == "bash") && shell.is_file();
    let configured = wanted.map(Path::to_owned).filter(|shell| shell.is_absolute());
    let usual = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"];
    let found = crate::process::on_path("bash");
    configured.into_iter().chain(usual.map(PathBuf::from)).chain(found).find(is_bash)
}

/// The shell of a person: the one asked for, the user's, or one that is there. Fish and
/// Nushell are not shells in this sense: they do not read what models write.
#[must_use]
pub fn find_shell(wanted: Option<&Path>) -> PathBuf {
    let users = std::env::var_os("SHELL").map(PathBuf::from);
    let usual = if cfg!(target_os = "macos") { "/bin/zsh" } else { "/bin/bash" };
    let named = |shell: &PathBuf| {
        let name = shell.file_stem().unwrap_or_default();
        name != "fish" && name != "nu" && shell.is_file()
    };
    let candidates = [wanted.map(Path::to_owned), users, Some(usual.into()), Some("/usr/bin/bash".into())];
    candidates.into_iter().flatten().find(named).unwrap_or_else(|| "/bin/sh".into())
}
