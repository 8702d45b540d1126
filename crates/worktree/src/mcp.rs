//! MCP servers: programs and remote services that lend a model their tools, texts and
//! prompts.
//!
//! A [`Server`] is what the configuration says; [`connect`] makes a [`Client`] of it and a
//! [`Lifeline`], which somebody has to keep: it ends when the server does. What a server offers
//! becomes [`Offered`] tools; what it answers is bounded and turned into our words (`content.rs`).
//!
//! The official SDK speaks the protocol. It is used in this module only, and nothing of it is seen
//! outside. Ours are the pipes under it (`stdio.rs`, `http.rs`), because it has no bound on what a
//! server sends and no care for what a server leaves running.
//!
//! Not here: when to connect, what to do when a server ends, and who may call what.

pub mod auth;
mod client;
mod connect;
mod content;
mod handler;
mod http;
mod older;
mod stdio;
mod tools;

pub use client::{Changes, Client, PromptInfo};
pub use connect::{ConnectError, Lifeline, connect};
pub use content::{Piece, pieces_of};
pub use tools::{Check, Offered, ResourceTools, Servers, plain, resource_tools, tool_name};

use crate::process::Inherited;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A message of a server is at most this large, however it is sent.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Connecting and listing, unless the configuration says otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// A call, from one sign of life to the next.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Who lost a connection gets this long to say why, or to be told.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A server as it is configured. Holds keys, so it shows little of itself.
#[derive(Clone, PartialEq)]
pub struct Server {
    pub name: String,
    pub place: McpTransport,
    pub is_enabled: bool,
    pub connect_timeout: Duration,
    pub call_timeout: Duration,
    /// Where the user works: told to servers that ask, and where a program of ours starts.
    pub root: PathBuf,
}

#[derive(Clone, PartialEq)]
pub enum McpTransport {
    /// A program we start and talk to through its standard input and output.
    Local {
        command: Vec<String>,
        directory: PathBuf,
        inherited: Inherited,
        /// Beside what it inherits.
        variables: Vec<(String, String)>,
    },
    Remote {
        url: String,
        headers: Vec<(String, String)>,
        /// None: the user does not want to log in there.
        oauth: Option<OAuth>,
    },
}

/// What is known about us at a server's authorization server, beforehand.
#[derive(Clone, Default, PartialEq)]
pub struct OAuth {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub scope: Option<String>,
    pub callback_port: Option<u16>,
    pub redirect_uri: Option<String>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local { .. } => "Local(***)",
            Self::Remote { .. } => "Remote(***)",
        })
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OAuth(***)")
    }
}

/// Why a server did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The connection is gone; another one may be made.
    #[error("the server has ended the connection")]
    Gone,
    #[error("the server did not answer within {} seconds", .0.as_secs_f64())]
    Timeout(Duration),
    /// The turn was stopped; the server has been told.
    #[error("stopped")]
    Stopped,
    /// It understood and said no, in its own words.
    #[error("{0}")]
    Refused(String),
    /// What it said is not what the protocol says.
    #[error("the server's response is not valid: {0}")]
    Nonsense(String),
}
