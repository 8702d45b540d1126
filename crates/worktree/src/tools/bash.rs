//! `bash`: runs a command.
//!
//! The command is read first (`shell.rs`): directories outside are asked about at once, then each
//! simple command. What it prints is shown while it runs and kept within a bound
//! (`bash/output.rs`), however much it is.

mod output;

use crate::path::{Located, PathError, WorkPath};
use crate::process::{Command, Ended, Running};
use crate::shell::{self, Reading};
use crate::tool::{Call, Done, PermissionAsk, Tool, ToolFailure, World, integer, map, spec, text};
use futures_util::future::BoxFuture;
use output::Output;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sturdy_session::talk::ToolSpec;
use tokio::time::{Instant, timeout_at};

const TIMEOUT_MS: u64 = 120_000;

/// A day: longer than any turn.
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// The command may notice its own time limit before we do.
const TIMEOUT_SLACK: Duration = Duration::from_millis(100);

/// How often a running command's output is shown: as often as an eye can tell.
const SHOW_EVERY: Duration = Duration::from_millis(40);

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
            "timeout": integer(1, "Time limit in milliseconds (default 120000)"),
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
            let directory = permitted(world, &input).await?;
            run(world, &call.id, input, directory).await
        })
    }
}

/// Asks for everything the command would do; gives back the directory to run in.
async fn permitted(world: &World, input: &Input) -> Result<PathBuf, ToolFailure> {
    let (roots, command) = (world.roots.clone(), input.command.clone());
    let workdir = input.workdir.clone().unwrap_or_else(|| ".".to_owned());
    let look = move || {
        let reading = shell::read(&command);
        let mut outside = BTreeSet::new();
        let directory = match roots.locate(&workdir)? {
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
            outside.extend(outside_of(&roots, directory.shown(), place));
        }
        Ok((reading, outside, directory.real().to_owned()))
    };
    let (reading, outside, directory) = world.blocking(look).await?;

    if !outside.is_empty() {
        let patterns: Vec<String> =
            outside.iter().map(|one| one.join("*").to_string_lossy().into_owned()).collect();
        let metadata = json!({ "command": input.command, "directories": outside, "patterns": patterns });
        world
            .ask(PermissionAsk::new("external_directory", patterns.clone(), patterns, map(metadata)))
            .await?;
    }
    let Reading { patterns, always, unclear, .. } = reading;
    if !patterns.is_empty() {
        let mut ask = PermissionAsk::new("bash", patterns, always, map(json!({ "command": input.command })));
        ask.unclear = unclear;
        world.ask(ask).await?;
    }
    Ok(directory)
}

fn not_a_directory(path: &WorkPath) -> ToolFailure {
    let shown = path.shown().to_owned();
    if path.real().exists() {
        PathError::NotADirectory(shown).into()
    } else {
        PathError::Missing(shown).into()
    }
}

/// The directory a place lies in, if that is outside.
fn outside_of(roots: &crate::path::Roots, directory: &Path, place: &str) -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let place = match place.strip_prefix('~') {
        Some("") => home()?,
        Some(rest) if rest.starts_with('/') => home()?.join(&rest[1..]),
        _ => directory.join(place),
    };
    match roots.locate(&place) {
        Ok(Located::Inside(_)) => None,
        Ok(Located::Outside(path)) => Some(path.directory()),
        // A device or a link to nowhere: named as written, so that a person sees it.
        Err(PathError::NotAFile { path, .. } | PathError::Link(path)) => path.parent().map(Path::to_owned),
        Err(_) => None,
    }
}

async fn run(world: &World, call: &str, input: Input, directory: PathBuf) -> Result<Done, ToolFailure> {
    let timeout_ms = input.timeout.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MS_MAX);
    let command = Command {
        program: find_shell(world.settings.shell.as_deref()),
        arguments: vec!["-c".into(), input.command.clone().into()],
        directory,
        variables: world.settings.variables.clone(),
        timeout: Duration::from_millis(timeout_ms) + TIMEOUT_SLACK,
    };
    let running = command.start(world.stop.clone());
    let mut running = running.map_err(|error| {
        let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        ToolFailure::failed(format!("The command was not run: {error}: {why}."))
    })?;
    let mut output = Output::new(world.settings.limits, &world.settings.output_dir, call);
    read_all(world, &mut running, &mut output).await;

    let ended = running.ended();
    let note = match ended {
        Ended::Exited(_) => None,
        Ended::TimedOut => Some(format!(
            "The command was ended after its time limit of {timeout_ms} ms. If it needs longer, run it again with a larger timeout."
        )),
        Ended::Stopped => Some("The user stopped the command.".to_owned()),
    };
    let exit = match ended {
        Ended::Exited(code) => code,
        Ended::TimedOut | Ended::Stopped => None,
    };
    let told = output.finish(world.settings.may_delegate).await;
    let mut text = told.text;
    if let Some(note) = note {
        text.push_str(&format!("\n\n<shell_metadata>\n{note}\n</shell_metadata>"));
    }
    let mut metadata = json!({ "output": told.preview, "exit": exit, "truncated": told.truncated });
    if let Some(path) = told.saved {
        metadata["outputPath"] = json!(path);
    }
    Ok(Done::new(input.command, text, metadata))
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

/// The shell to run commands with: the one asked for, the user's, or one that is there. Fish and
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
