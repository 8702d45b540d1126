//! The command line: commands, arguments and help texts.

mod grant;
mod keep;
mod run;
mod server;
mod session;
mod setup;
mod share;
pub(crate) mod share_limits;
mod token;

pub(crate) use grant::{
    Grant, GrantAudit, GrantCreate, GrantLimits, GrantList, GrantNarrow, GrantRevoke, GrantVerb,
};
pub(crate) use keep::{Du, Gc};
pub(crate) use run::{PermissionAnswer, Run, RunFormat};
pub(crate) use server::ServerChoice;
pub(crate) use session::{
    Session, SessionExport, SessionFork, SessionList, SessionRedo, SessionRemove, SessionRename,
    SessionSearch, SessionShow, SessionUndo, SessionVerb,
};
pub(crate) use setup::{
    Attach, Auth, AuthList, AuthLogin, AuthLogout, AuthVerb, Completions, Doctor, Man, Mcp, McpList,
    McpLogin, McpLogout, McpVerb, Models, Open,
};
pub(crate) use token::{Token, TokenCreate, TokenList, TokenRevoke, TokenVerb};

pub(crate) use share::{
    Share, ShareAudit, ShareCreate, ShareImport, ShareList, ShareNarrow, ShareOne, SharePreset, ShareRemove,
    ShareRevoke, ShareServe, ShareSetVisibility, ShareVerb, ShareVisibility,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use sturdy_engine::Environment;
use sturdy_store::Durability;

/// A coding agent's server that loses nothing
#[derive(Debug, Parser)]
#[command(
    name = "sturdy",
    version,
    about,
    arg_required_else_help = true,
    after_help = "\
Examples:
  sturdy run \"Explain this crate\"     ask, and print the answer
  sturdy serve                       answer OpenCode clients on http://127.0.0.1:4096
  sturdy attach                      open the OpenCode terminal on it
  sturdy session list                the newest sessions of this project
  sturdy verify                      check that the store keeps its promises"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Serve(Serve),
    Attach(Attach),
    Open(Open),
    Session(Session),
    Share(Share),
    Grant(Grant),
    Models(Models),
    Auth(Auth),
    Mcp(Mcp),
    Token(Token),
    Doctor(Doctor),
    Du(Du),
    Gc(Gc),
    Trust(Trust),
    Verify(Verify),
    Completions(Completions),
    Man(Man),
}

/// Serve sessions over HTTP
///
/// Works in the current directory unless a request names another. Prints where the data lives and,
/// once it answers, the address.
#[derive(Debug, Args)]
#[command(after_help = "\
Environment:
  STURDY_SERVER_PASSWORD             ask for this password (also OPENCODE_SERVER_PASSWORD)
  STURDY_SERVER_USERNAME             and this user, \"opencode\" if unset (also OPENCODE_SERVER_USERNAME)

Examples:
  sturdy serve                       then: opencode attach http://127.0.0.1:4096
  sturdy serve --log-format json 2> sturdy.log
  STURDY_SERVER_PASSWORD=… sturdy serve --hostname 0.0.0.0 --cors https://tools.example")]
pub(crate) struct Serve {
    /// Listen on this address
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", env = "STURDY_HOSTNAME")]
    pub(crate) hostname: String,

    /// Listen on this port; 0 tries 4096, else takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 4096, env = "STURDY_PORT")]
    pub(crate) port: u16,

    /// Listen on the socket that is stdin, as systemd passes it with StandardInput=socket
    #[arg(long, conflicts_with_all = ["hostname", "port"])]
    pub(crate) listen_on_stdin: bool,

    #[command(flatten)]
    pub(crate) data: DataDir,

    /// Sync every commit to the disk, or let the system choose when
    #[arg(long, value_enum, default_value_t = Sync::Full, env = "STURDY_DURABILITY")]
    pub(crate) durability: Sync,

    /// Log messages of at least this level
    #[arg(long, value_enum, default_value_t = LogLevel::Info, env = "STURDY_LOG_LEVEL")]
    pub(crate) log_level: LogLevel,

    /// Write the log as text or as JSON, one object per line
    #[arg(long, value_enum, default_value_t = LogFormat::Text, env = "STURDY_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,

    /// Trust the settings of every project without asking, as OpenCode does
    #[arg(long, env = "STURDY_TRUST_ALL", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) trust_all: bool,

    /// Let web pages from this origin use the server; may be given more than once
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) cors: Vec<String>,

    /// Without a password, answer requests to this name as well; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,

    /// Without a password, let other machines in: whoever reaches the port can run commands as you
    #[arg(long, env = "STURDY_INSECURE")]
    pub(crate) insecure: bool,

    /// Receive shared sessions and show them to whoever has the link, without the password
    #[arg(long, env = "STURDY_SHARE")]
    pub(crate) share: bool,

    /// Begin share links with this URL, if people reach the server under another name
    #[arg(long, value_name = "URL", requires = "share", env = "STURDY_SHARE_URL")]
    pub(crate) share_url: Option<String>,

    /// Set a limit of shares, as in writers=16; may be given more than once
    ///
    /// docs/share.md lists the names, their defaults and their ranges.
    #[arg(long, value_name = "NAME=VALUE", env = "STURDY_SHARE_LIMITS", value_delimiter = ',', value_parser = share_limits::parse)]
    pub(crate) share_limit: Vec<share_limits::ShareLimit>,
}

/// Trust the settings of a project, or stop trusting them
///
/// Programs, connections, keys, files outside the checkout and loosened permissions that a project's settings
/// name are ignored until the project is trusted. Shows them and trusts them as they are now: when they
/// change you are asked again. Without a directory, lists the trusted projects.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy trust                       list what is trusted
  sturdy trust .                     trust this project as it is now
  sturdy trust --show ~/src/new      look first; changes nothing
  sturdy trust --remove ~/src/old")]
pub(crate) struct Trust {
    /// A directory of the project; without one, list what is trusted
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Only show what would be trusted
    #[arg(long, requires = "directory", conflicts_with = "remove")]
    pub(crate) show: bool,

    /// Stop trusting the project
    #[arg(long, requires = "directory")]
    pub(crate) remove: bool,

    #[command(flatten)]
    pub(crate) data: DataDir,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check that the store keeps its promises
///
/// Reads every log entry, checks it against the rules of a session, recomputes every row from the log,
/// hashes every blob, and looks for every captured tree that a session names. Changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy verify                      the whole store
  sturdy verify ses_7f3c9a… --json   one session, for a script")]
pub(crate) struct Verify {
    /// Only these sessions; the whole store if none is named
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,

    #[command(flatten)]
    pub(crate) data: DataDir,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DataDir {
    /// Keep sessions in this directory; by default "sturdy" in the user's data directory
    #[arg(long, value_name = "DIR", env = "STURDY_DATA_DIR")]
    data_dir: Option<PathBuf>,
}

impl DataDir {
    pub(crate) fn or_default(&self, environment: &Environment) -> PathBuf {
        self.data_dir.clone().unwrap_or_else(|| environment.data_dir())
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Sync {
    /// What was acknowledged survives a power failure
    Full,
    /// What was acknowledged survives a crash of the program
    Normal,
}

impl From<Sync> for Durability {
    fn from(sync: Sync) -> Self {
        match sync {
            Sync::Full => Self::Full,
            Sync::Normal => Self::Normal,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}
