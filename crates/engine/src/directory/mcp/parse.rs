//! From an entry of the configuration to a server.

use crate::directory::config::{McpEntry, McpPlace};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sturdy_worktree::mcp::{CALL_TIMEOUT, CONNECT_TIMEOUT, McpTransport, Server};
use sturdy_worktree::process::Inherited;

/// No longer timeout makes sense.
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

pub(super) fn server(name: &str, entry: McpEntry, directory: &str, timeout_ms: Option<u64>) -> Server {
    let McpEntry { place, is_enabled, timeout_ms: own } = entry;
    let limit = |given: Option<u64>, fallback| {
        given.map_or(fallback, |given| Duration::from_millis(given.min(TIMEOUT_MS_MAX)))
    };
    Server {
        name: name.to_owned(),
        place: transport(place, directory),
        is_enabled,
        connect_timeout: limit(own, CONNECT_TIMEOUT),
        call_timeout: limit(own.or(timeout_ms), CALL_TIMEOUT),
        root: PathBuf::from(directory),
    }
}

fn transport(place: McpPlace, directory: &str) -> McpTransport {
    match place {
        McpPlace::Local { command, cwd, environment } => McpTransport::Local {
            command,
            directory: Path::new(directory).join(cwd.unwrap_or_default()),
            inherited: Inherited::default(),
            variables: environment,
        },
        McpPlace::Remote { url, headers, oauth } => McpTransport::Remote { url, headers, oauth },
    }
}
