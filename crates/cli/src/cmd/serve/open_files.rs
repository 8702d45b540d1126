//! How many connections there is room for: each is an open file, and a shell often allows 1,024 of them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sturdy_server::ServerOptions;
use tracing::warn;

/// For everything that is not a connection: the store, files that are read, pipes of commands, terminals.
const OTHER_FILES: u64 = 1024;

/// The usual options, with as many connections and event streams as there is room for. Asks the system for more files
/// where it allows them, and for no more than needed: commands inherit it.
pub(super) fn server_options() -> ServerOptions {
    let usual = ServerOptions::default();
    let wanted = usual.connections_max as u64 + OTHER_FILES;
    let allowed = allow(wanted);
    if allowed >= wanted {
        return usual;
    }
    let connections_max = usize::try_from(allowed / 2).unwrap_or(usize::MAX);
    warn!(
        files = allowed,
        connections_max, "the system allows few open files, so fewer connections are taken"
    );
    ServerOptions { connections_max, streams_max: connections_max / 4 * 3, ..usual }
}

/// How many files may be open, after asking for so many.
fn allow(wanted: u64) -> u64 {
    let now = getrlimit(Resource::Nofile);
    let current = now.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return current;
    }
    let more = now.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(more), maximum: now.maximum }) {
        Ok(()) => more,
        Err(_) => current,
    }
}
