//! `sturdy run`.

use super::server::ServerChoice;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Send a prompt and print the answer as it arrives
///
/// The text of the answer goes to stdout, everything else to stderr. What is piped to stdin is added to the
/// message. Ctrl-C stops the turn; what was said until then is kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code:
  0  the turn ended well          3    no server answered
  1  it ended with an error, or   130  you stopped it
     something was not permitted

Examples:
  sturdy run \"Why does the feed test fail?\"
  git diff | sturdy run \"Review this\" --model anthropic/claude-sonnet-4-5
  sturdy run --continue \"And now fix it\" --permission allow
  sturdy run \"List the modules\" --format json | jq -r 'select(.type == \"text\").part.text'")]
pub(crate) struct Run {
    /// The message; what is piped to stdin is added to it
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: Vec<String>,

    /// Continue this session
    #[arg(long, short, value_name = "SESSION", conflicts_with = "continue_last")]
    pub(crate) session: Option<String>,

    /// Continue the newest session of the directory
    #[arg(long = "continue", short = 'c')]
    pub(crate) continue_last: bool,

    /// Continue in a copy of that session, and leave the original as it is
    #[arg(long)]
    pub(crate) fork: bool,

    /// Give a new session this title
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,

    /// Ask this model
    #[arg(long, short, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,

    /// Use this variant of the model, such as a reasoning effort
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,

    /// Let this agent answer
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Attach this file or directory; may be given more than once
    #[arg(long, short, value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,

    /// Run this command of the directory; the message is its arguments
    #[arg(long, value_name = "NAME")]
    pub(crate) command: Option<String>,

    /// What to answer when a tool asks for permission; by default you are asked, and without a terminal it is rejected
    #[arg(long, value_enum, value_name = "ANSWER")]
    pub(crate) permission: Option<PermissionAnswer>,

    /// Print text, or one JSON object per line
    #[arg(long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,

    /// Show the model's reasoning, on stderr
    #[arg(long)]
    pub(crate) thinking: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionAnswer {
    /// Ask at the terminal
    Ask,
    /// Allow every request, each time once
    Allow,
    /// Reject every request
    Reject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    Text,
    Json,
}
