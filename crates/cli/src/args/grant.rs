//! Narrow rights to single sessions.

use super::server::ServerChoice;
use clap::{Args, Subcommand, ValueEnum};

/// Give somebody limited access to one session, and revoke it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy grant create ses_7f3c9a… --right read --hours 8 --label review
  sturdy grant create ses_7f3c9a… --right prompt --max-uses 20
  sturdy grant list
  sturdy grant revoke grt4f1e9a…")]
pub(crate) struct Grant {
    #[command(subcommand)]
    pub(crate) verb: GrantVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantVerb {
    Create(GrantCreate),
    List(GrantList),
    Narrow(GrantNarrow),
    Revoke(GrantRevoke),
    Audit(GrantAudit),
}

/// Make a grant to one session and print its reference, once
///
/// Programs send the reference as `Authorization: Bearer`, or as the password where they know only that.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy grant create ses_7f3c9a… --right read --right prompt --hours 8
  curl -H \"Authorization: Bearer $(sturdy grant create ses_7f3c9a… --right read)\" http://127.0.0.1:4096/session/ses_7f3c9a…")]
pub(crate) struct GrantCreate {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// What it allows; may be given more than once
    #[arg(long, value_enum, required = true)]
    pub(crate) right: Vec<GrantRight>,

    #[command(flatten)]
    pub(crate) limits: GrantLimits,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

#[derive(Debug, Args)]
pub(crate) struct GrantLimits {
    /// Expire after this many hours, by the server's clock
    #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(1..=876_000))]
    pub(crate) hours: Option<u32>,

    /// Expire after this many prompts and answers
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_uses: Option<u32>,

    /// Name the holder, for the list and the audit log
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GrantRight {
    /// The session, its messages, and what happens in it, live
    Read,
    /// Prompts, and stopping what runs
    Prompt,
    /// Permissions (not for always) and questions
    Answer,
}

impl GrantRight {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
        }
    }
}

/// List the grants there are, without their secrets
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy grant list
  sturdy grant list ses_7f3c9a… --json | jq -r '.[].id'")]
pub(crate) struct GrantList {
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// Only grants made by this caller: local, user:NAME, token:ID
    #[arg(long, value_name = "ACTOR")]
    pub(crate) actor: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Derive a narrower grant from one and print its reference, once
///
/// It expires with the grant it is derived from, and never allows more.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy grant narrow grt4f1e9a… --right read --hours 1")]
pub(crate) struct GrantNarrow {
    #[arg(value_name = "GRANT")]
    pub(crate) grant: String,

    /// What it allows; by default the same
    #[arg(long, value_enum)]
    pub(crate) right: Vec<GrantRight>,

    #[command(flatten)]
    pub(crate) limits: GrantLimits,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Revoke grants and every grant derived from them; their open connections are closed at once
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy grant revoke grt4f1e9a…")]
pub(crate) struct GrantRevoke {
    #[arg(value_name = "GRANT", required = true)]
    pub(crate) grants: Vec<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Show the audit log of a grant and of those derived from it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy grant audit grt4f1e9a…")]
pub(crate) struct GrantAudit {
    #[arg(value_name = "GRANT")]
    pub(crate) grant: String,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}
