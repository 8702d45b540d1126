//! `sturdy share …`.

use super::server::ServerChoice;
use super::{LogFormat, LogLevel, Sync, share_limits};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use sturdy_engine::Environment;

/// Share sessions by a link, make narrower links, revoke them, see who used them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share create ses_7f3c9a…                      print a link that anybody may open
  sturdy share list                                    what is shared, and whether it arrives
  sturdy share narrow ses_7f3c9a… viewer --days 7      another link, which ends by itself
  sturdy share revoke ses_7f3c9a… --all                take back every link but the owner's, the plain one too
  sturdy share visibility ses_7f3c9a… private          the plain link opens nothing any more
  sturdy share rm ses_7f3c9a…                          unshare; the URL is forgotten
  sturdy share serve --share-url https://share.example receive the shares of other servers")]
pub(crate) struct Share {
    #[command(subcommand)]
    pub(crate) verb: ShareVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShareVerb {
    Create(ShareCreate),
    List(ShareList),
    Narrow(ShareNarrow),
    Visibility(ShareSetVisibility),
    Revoke(ShareRevoke),
    Rotate(ShareOne),
    Audit(ShareAudit),
    Rm(ShareRemove),
    Import(ShareImport),
    Serve(ShareServe),
}

/// Share sessions and print their links
///
/// To this server's own service when it was started with --share, else to the one that "enterprise.url" of the
/// configuration names. A session that is shared already keeps its link.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share create ses_7f3c9a…
  sturdy share create --private ses_7f3c9a…      then: sturdy share narrow ses_7f3c9a… viewer")]
pub(crate) struct ShareCreate {
    #[arg(value_name = "SESSION", required = true)]
    pub(crate) sessions: Vec<String>,

    /// The plain link opens nothing: only links made with `sturdy share narrow` do
    #[arg(long)]
    pub(crate) private: bool,

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
  sturdy share list ses_7f3c9a…        the capabilities of one
  sturdy share list --actor local      what was shared on the behalf of one")]
pub(crate) struct ShareList {
    /// Only this session: its capabilities
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// Only what this caller made, as in local, user:alice or cap:0gXw…
    #[arg(long, value_name = "WHO")]
    pub(crate) actor: Option<String>,

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
/// It never allows more than the owner's and expires with it. The secret stands behind the #, which browsers do not send.
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

    /// Expire after this many days
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShareVisibility {
    /// Whoever has the plain link reads
    Link,
    /// Only whoever has a link made with `sturdy share narrow`
    Private,
}

/// Set who may read by the plain link; viewers who no longer may are disconnected at once
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share visibility ses_7f3c9a… private
  sturdy share visibility ses_7f3c9a… link")]
pub(crate) struct ShareSetVisibility {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    #[arg(value_enum)]
    pub(crate) visibility: ShareVisibility,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Revoke links and every link derived from them; their viewers are disconnected at once
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

    /// Revoke every link except the owner's, and the plain link too
    #[arg(long, conflicts_with = "capabilities")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Print the audit log: who used which link for what
#[derive(Debug, Args)]
pub(crate) struct ShareAudit {
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    /// Only what this caller did, as in cap:0gXw…
    #[arg(long, value_name = "WHO")]
    pub(crate) actor: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Make every writer of a share authenticate again
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

/// Import shares of an old store, which kept their secrets unhashed
///
/// Each file is JSON: {"id", "sessionID", "secret", "data": [{"type", "data"}]}, or a list of them. Ids and links stay.
/// The old secret keeps working for reading and syncing until it is rotated, and allows nothing else.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy share import old-shares.json
  sturdy share import --rotate --json old-shares.json > new-secrets.json")]
pub(crate) struct ShareImport {
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Replace every secret now and print each new one, once
    #[arg(long)]
    pub(crate) rotate: bool,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Receive shared sessions and show them to whoever has the link, without sessions of its own
///
/// The service of `sturdy serve --share`, alone: nobody who reaches it can run anything. Servers and OpenCode share to
/// it when their configuration says "enterprise": { "url": "…" }.
#[derive(Debug, Args)]
#[command(after_help = "\
Environment:
  STURDY_SHARE_KEY                   who creates shares must show this in x-opencode-share-key
  STURDY_SERVER_PASSWORD             the password for importing old shares from elsewhere

Examples:
  sturdy share serve --share-url https://share.example
  sturdy share serve --hostname 0.0.0.0 --port 8080 --share-limit total-mib=512")]
pub(crate) struct ShareServe {
    /// Listen on this address
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", env = "STURDY_HOSTNAME")]
    pub(crate) hostname: String,

    /// Listen on this port; 0 tries 4096, else takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 4096, env = "STURDY_PORT")]
    pub(crate) port: u16,

    /// Keep shares in this directory; by default "shares" in the directory that sessions are kept in
    #[arg(long, value_name = "DIR", env = "STURDY_SHARE_DATA_DIR")]
    data_dir: Option<PathBuf>,

    /// Sync every commit to the disk, or let the system choose when
    #[arg(long, value_enum, default_value_t = Sync::Full, env = "STURDY_DURABILITY")]
    pub(crate) durability: Sync,

    /// Log messages of at least this level
    #[arg(long, value_enum, default_value_t = LogLevel::Info, env = "STURDY_LOG_LEVEL")]
    pub(crate) log_level: LogLevel,

    /// Write the log as text or as JSON, one object per line
    #[arg(long, value_enum, default_value_t = LogFormat::Text, env = "STURDY_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,

    /// Begin share links with this URL, if people reach the service under another name
    #[arg(long, value_name = "URL", env = "STURDY_SHARE_URL")]
    pub(crate) share_url: Option<String>,

    /// Set a limit of the service, as in writers=16; may be given more than once
    ///
    /// docs/share.md lists the names, their defaults and their ranges.
    #[arg(long, value_name = "NAME=VALUE", env = "STURDY_SHARE_LIMITS", value_delimiter = ',', value_parser = share_limits::parse)]
    pub(crate) share_limit: Vec<share_limits::ShareLimit>,
}

impl ShareServe {
    /// Where the shares are. Not the directory of the sessions: another process may serve those.
    pub(crate) fn data_dir_or_default(&self, environment: &Environment) -> PathBuf {
        self.data_dir.clone().unwrap_or_else(|| environment.data_dir().join("shares"))
    }
}
