//! Models, keys, MCP servers, the terminal client, and what helps when something is wrong.

use super::DataDir;
use super::server::ServerChoice;
use clap::{Args, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Print a one-time URL that logs in another browser
///
/// Also as a QR code, for a phone. It works once, within two minutes. The server must run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy open
  sturdy open --address http://192.168.1.20:4096     as a phone in the same network reaches it
  xdg-open \"$(sturdy open)\"")]
pub(crate) struct Open {
    /// The URL at which the browser reaches the server; by default the one this machine uses
    #[arg(long, value_name = "URL")]
    pub(crate) address: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// List the models that can be used here
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy models
  sturdy models anthropic
  sturdy models --json | jq -r '.[].model'")]
pub(crate) struct Models {
    /// Only models of this provider
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Store, list or forget keys for model providers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy auth login anthropic
  sturdy auth list
  sturdy auth logout anthropic")]
pub(crate) struct Auth {
    #[command(subcommand)]
    pub(crate) verb: AuthVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthVerb {
    Login(AuthLogin),
    List(AuthList),
    Logout(AuthLogout),
}

/// Store a key for a provider
///
/// Without a provider, lists the known ones, with where to get a key, and asks for one. The key is asked for
/// at the terminal without showing it, or read from stdin.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy auth login
  sturdy auth login anthropic
  pass show anthropic | sturdy auth login anthropic --key-stdin")]
pub(crate) struct AuthLogin {
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,

    /// Read the key from stdin even if stdin is a terminal; a pipe is always read
    #[arg(long, requires = "provider")]
    pub(crate) key_stdin: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// List the providers that can be used here, and where their keys come from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy auth list
  sturdy auth list --json | jq -r '.[].provider'")]
pub(crate) struct AuthList {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Forget the stored key of a provider
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy auth logout anthropic")]
pub(crate) struct AuthLogout {
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: String,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// List the MCP servers of the directory, log in to one or out of it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy mcp list
  sturdy mcp login github")]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) verb: McpVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpVerb {
    List(McpList),
    Login(McpLogin),
    Logout(McpLogout),
}

/// List the MCP servers of the directory with their status
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy mcp list
  sturdy mcp list --json | jq 'to_entries[] | select(.value.status == \"failed\")'")]
pub(crate) struct McpList {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Log in to an MCP server with a browser
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy mcp login github
  sturdy mcp login github --code 4f1e…      when the browser is on another machine")]
pub(crate) struct McpLogin {
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Complete a login that was started earlier, with the code the browser shows
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Log out of an MCP server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy mcp logout github")]
pub(crate) struct McpLogout {
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Open the installed OpenCode terminal on this store's server
///
/// Uses the server that runs, else starts one that ends with the terminal. Further arguments are given to `opencode attach`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy attach
  sturdy attach http://build-2:4096
  sturdy attach -- --continue")]
pub(crate) struct Attach {
    /// The server; by default the one that serves the store
    #[arg(value_name = "URL", env = "STURDY_SERVER")]
    pub(crate) url: Option<String>,

    /// Passed to `opencode attach` unchanged
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,

    /// Work in this directory; by default the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) data: DataDir,
}

/// Look for what is wrong with this installation, and say what to do
///
/// Looks at git, the disk, the store, configuration, keys, ports and the clock. Changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy doctor
  sturdy doctor --json | jq '.[] | select(.state != \"ok\")'")]
pub(crate) struct Doctor {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) data: DataDir,
}

/// Print a script that completes commands in your shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy completions bash > ~/.local/share/bash-completion/completions/sturdy
  sturdy completions zsh > ~/.zfunc/_sturdy
  sturdy completions fish > ~/.config/fish/completions/sturdy.fish")]
pub(crate) struct Completions {
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Print the manual page, of the program or of one command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy man | man -l -
  sturdy man run > sturdy-run.1")]
pub(crate) struct Man {
    /// A command, such as: session list
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
