//! Tokens for programs that use the server.

use super::server::ServerChoice;
use clap::{Args, Subcommand, ValueEnum};

/// Make, list or revoke tokens for programs that use the server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy token create ci --scope write --days 90
  sturdy token create prometheus --scope metrics
  sturdy token list
  sturdy token revoke tok_4f1e9a…")]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) verb: TokenVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    Create(TokenCreate),
    List(TokenList),
    Revoke(TokenRevoke),
}

/// Make a token and print its secret, once
///
/// Programs send it as `Authorization: Bearer`, or as the password where they know only that.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy token create ci --scope write --days 90
  curl -H \"Authorization: Bearer $(sturdy token create probe --scope read)\" http://127.0.0.1:4096/session")]
pub(crate) struct TokenCreate {
    /// Which program it is for
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// What it allows; may be given more than once
    #[arg(long, value_enum, required = true)]
    pub(crate) scope: Vec<TokenScope>,

    /// Expire after this many days; by default it is valid until it is revoked
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub(crate) days: Option<u32>,

    /// Requests per minute
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rate: Option<u32>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TokenScope {
    /// Only /metrics and the server's health check
    Metrics,
    /// Everything that reads
    Read,
    /// Sessions, prompts, files and terminals as well
    Write,
    /// Everything, also tokens, stored keys and settings
    Admin,
}

impl TokenScope {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// List the tokens there are, without their secrets
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy token list
  sturdy token list --json | jq -r '.[].id'")]
pub(crate) struct TokenList {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}

/// Revoke tokens: programs that use them are refused from now on
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sturdy token revoke tok_4f1e9a…")]
pub(crate) struct TokenRevoke {
    #[arg(value_name = "TOKEN", required = true)]
    pub(crate) tokens: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerChoice,
}
