//! `sturdy share …`.

use super::server::ServerChoice;
use clap::{Args, Subcommand, ValueEnum};

/// Share sessions by a link, narrow a link, take it back, see who used it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share create ses_7f3c9a…                      print a link that anybody may open
  sturdy share list                                    what is shared, and whether it arrives
  sturdy share narrow ses_7f3c9a… viewer --days 7      another link, which ends by itself
  sturdy share revoke ses_7f3c9a… --all                take back every link but the owner's
  sturdy share rm ses_7f3c9a…                          unshare; the URL is forgotten")]
pub(crate) struct Share {
    #[command(subcommand)]
    pub(crate) verb: ShareVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShareVerb {
    Create(ShareCreate),
    List(ShareList),
    Narrow(ShareNarrow),
    Revoke(ShareRevoke),
    Rotate(ShareOne),
    Audit(ShareOne),
    Rm(ShareRemove),
    Import(ShareImport),
}

/// Share sessions and print their links
///
/// To this server's own service when it was started with --share, else to the one that "enterprise.url" of the
/// configuration names. A session that is shared already keeps its link.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share create ses_7f3c9a…")]
pub(crate) struct ShareCreate {
    #[arg(value_name = "SESSION", required = true)]
    pub(crate) sessions: Vec<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// List what is shared, or who may do what with one share
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share list
  sturdy share list ses_7f3c9a…        the capabilities of one")]
pub(crate) struct ShareList {
    /// Only this session: its capabilities
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SharePreset {
    /// Reads
    Viewer,
    /// Reads and writes
    Writer,
    /// Writes and cannot read
    DropBox,
    /// Everything the owner may
    Owner,
}

/// Make a narrower link and print it, once
///
/// It is never wider than the owner's and ends with it. The right stands behind the #, which browsers do not send.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share narrow ses_7f3c9a… viewer --days 7 --label review
  sturdy share narrow ses_7f3c9a… drop-box --kind message --kind part --max-ops 1000")]
pub(crate) struct ShareNarrow {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// What it allows
    #[arg(value_enum)]
    pub(crate) preset: SharePreset,

    /// Only operations of this kind; may be given more than once
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<String>,

    /// Stop to count after this many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub(crate) days: Option<u32>,

    /// At most this many operations
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_ops: Option<u64>,

    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Take links back with everything made of them; whoever watches by them stops at once
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share list ses_7f3c9a…                  find the capability
  sturdy share revoke ses_7f3c9a… 0gXw…
  sturdy share revoke ses_7f3c9a… --all")]
pub(crate) struct ShareRevoke {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    #[arg(value_name = "CAPABILITY", required_unless_present = "all")]
    pub(crate) capabilities: Vec<String>,

    /// Every one but the owner's
    #[arg(long, conflicts_with = "capabilities")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// One share: `rotate` makes every writer show its right again, `audit` prints who used which right for what
#[derive(Debug, Args)]
pub(crate) struct ShareOne {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Unshare sessions: their URLs are forgotten and the shares deleted
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share rm ses_7f3c9a…")]
pub(crate) struct ShareRemove {
    #[arg(value_name = "SESSION", required = true)]
    pub(crate) sessions: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Take over shares of an old store, which kept their secrets in clear
///
/// Each file is JSON: {"id", "sessionID", "secret", "data": [{"type", "data"}]}, or a list of them. Ids and links stay.
/// The old secret goes on working for reading and syncing until it is rotated; nothing else is allowed with it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share import old-shares.json
  sturdy share import --rotate --json old-shares.json > new-secrets.json")]
pub(crate) struct ShareImport {
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<std::path::PathBuf>,

    /// Replace every secret at once and print the new ones, once
    #[arg(long)]
    pub(crate) rotate: bool,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}
