//! `sturdy session …`.

use super::server::ServerChoice;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// List, show, copy, rename, undo, export or remove sessions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session list --limit 5
  sturdy session show ses_7f3c9a…
  sturdy session list --json | jq -r '.[].id'")]
pub(crate) struct Session {
    #[command(subcommand)]
    pub(crate) verb: SessionVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    List(SessionList),
    Search(SessionSearch),
    Show(SessionShow),
    Fork(SessionFork),
    Rename(SessionRename),
    Undo(SessionUndo),
    Redo(SessionRedo),
    Export(SessionExport),
    Rm(SessionRemove),
}

/// List sessions, newest change first
///
/// Those of the project in the current directory, without the sessions of sub-agents.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session list
  sturdy session list --all --limit 100 --json | jq -r '.[].title'")]
pub(crate) struct SessionList {
    /// Sessions of all projects
    #[arg(long, short)]
    pub(crate) all: bool,

    /// Sessions of sub-agents too
    #[arg(long)]
    pub(crate) children: bool,

    /// At most this many
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Find sessions by their title
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session search \"flaky feed\"
  sturdy session search importer --all --json")]
pub(crate) struct SessionSearch {
    /// Contained in the title
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,

    #[command(flatten)]
    pub(crate) list: SessionList,
}

/// Print a conversation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session show ses_7f3c9a…
  sturdy session show ses_7f3c9a… --last 2
  sturdy session show ses_7f3c9a… --json | jq '.messages | length'")]
pub(crate) struct SessionShow {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// Only the last messages
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: Option<u32>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Copy a session, whole or up to a message, and print the id of the copy
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session fork ses_7f3c9a…
  sturdy session fork ses_7f3c9a… --before msg_80c365…")]
pub(crate) struct SessionFork {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// Only the messages before this one
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) before: Option<String>,

    /// Print the new session as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Give a session another title
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session rename ses_7f3c9a… \"Fix the flaky feed test\"")]
pub(crate) struct SessionRename {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    #[arg(value_name = "TITLE")]
    pub(crate) title: String,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Undo the last turn, or everything from a message on: the conversation and what it did to files
///
/// A file that somebody else has changed is left alone and listed. Undo again to go further back; redo reverts all of
/// that; the next prompt makes it final.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session undo ses_7f3c9a… --dry-run            what would happen to which file
  sturdy session undo ses_7f3c9a…
  sturdy session undo ses_7f3c9a… --to msg_80c365…     from this message on
  sturdy session undo ses_7f3c9a… --force notes.md     although somebody else has changed it")]
pub(crate) struct SessionUndo {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// Undo from this message on; by default from the last prompt that is not undone yet
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) to: Option<String>,

    /// Restore this file even if somebody else has changed it; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) force: Vec<String>,

    /// Only show what would happen to which file
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Redo what was undone: restore the conversation and the files
///
/// A file that somebody has changed since the undo is left alone and listed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session redo ses_7f3c9a… --dry-run
  sturdy session redo ses_7f3c9a…")]
pub(crate) struct SessionRedo {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// Only show what would happen to which file
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// What an exported page is without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LeftOut {
    /// What tools answered
    Outputs,
    /// What files hold: attached, written and read ones, and differences
    Files,
    /// What the model thought
    Thoughts,
}

impl LeftOut {
    /// As the server knows it, and as people do.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Outputs => ("outputs", "outputs of tools"),
            Self::Files => ("files", "contents of files"),
            Self::Thoughts => ("thoughts", "thoughts"),
        }
    }
}

/// Write a session with all its messages as JSON, or as a web page
///
/// The JSON is what `opencode export` writes: the session and its messages with their parts. The page is one HTML
/// file that needs no server and no network.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session export ses_7f3c9a… > session.json
  sturdy session export ses_7f3c9a… --output session.json
  sturdy session export ses_7f3c9a… --html --output session.html
  sturdy session export ses_7f3c9a… --html --redact --output session.html
  sturdy session export ses_7f3c9a… --html --redact=outputs,thoughts --output session.html")]
pub(crate) struct SessionExport {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// Write to this file, which must not exist; by default to stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write one HTML file that shows the session
    #[arg(long)]
    pub(crate) html: bool,

    /// Leave out tool results, file contents and reasoning, or only those named
    #[arg(long, requires = "html", value_name = "WHAT", value_enum, value_delimiter = ',',
        num_args = 0..=1, require_equals = true, default_missing_values = ["outputs", "files", "thoughts"])]
    pub(crate) redact: Vec<LeftOut>,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Remove sessions with their messages and sub-agent sessions
///
/// Shows what would be removed; `--yes` removes it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy session rm ses_7f3c9a…            shows what would go
  sturdy session rm ses_7f3c9a… --yes")]
pub(crate) struct SessionRemove {
    #[arg(value_name = "SESSION", required = true)]
    pub(crate) sessions: Vec<String>,

    /// Remove without asking
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}
