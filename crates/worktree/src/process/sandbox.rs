//! A fence around a command: what it may write to, and whether it may use the network.
//!
//! The system does it (Landlock, Linux 6.2 or newer): a thread gives up rights for good, and what it starts inherits
//! that. So a command is started by a thread of its own, which ends right after. Reading is not confined. Without the
//! network, TCP connections are refused (Linux 6.7 or newer); datagrams and sockets of the file system are not.
//!
//! A fence that the system cannot put up is an error, never a command without one.
//!
//! Not here: who wants one (`experimental.sandbox` of the configuration, in `sturdy-engine`).

use std::io;
use std::path::PathBuf;

/// What a command may do to the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Directories below which files may be written, made and removed. Those that do not exist do not count.
    pub writable: Vec<PathBuf>,
    pub network: Network,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Open,
    /// No TCP connection, in or out.
    Closed,
}

/// What this system can confine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxOffer {
    WritesAndTcp,
    Writes,
    Nothing,
}

/// Why a fence is not there, and so the command is not either.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(
        "the sandbox of your settings (experimental.sandbox) cannot confine what commands write on this system: it needs Linux 6.2 with Landlock"
    )]
    NoWrites,
    #[error(
        "the sandbox of your settings (experimental.sandbox) cannot close the network on this system: it needs Linux 6.7 with Landlock"
    )]
    NoNetwork,
    #[error("the sandbox cannot be set up")]
    Other(#[source] io::Error),
}

impl Sandbox {
    /// Starts something behind the fence. Nothing is started if the fence cannot be put up.
    pub(crate) fn start<T: Send>(
        &self,
        start: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<io::Result<T>, SandboxError> {
        system::start(self, start)
    }
}

/// What this system can confine. Tries it on a thread that ends right after.
#[must_use]
pub fn sandbox_offer() -> SandboxOffer {
    let works = |network| {
        let nothing = Sandbox { writable: Vec::new(), network };
        system::start(&nothing, || Ok(())).is_ok()
    };
    match () {
        () if works(Network::Closed) => SandboxOffer::WritesAndTcp,
        () if works(Network::Open) => SandboxOffer::Writes,
        () => SandboxOffer::Nothing,
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Sandbox, SandboxError, io};

    pub(super) fn start<T: Send>(
        _sandbox: &Sandbox,
        _start: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<io::Result<T>, SandboxError> {
        Err(SandboxError::NoWrites)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Network, Sandbox, SandboxError, io};
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
        RulesetCreated, RulesetCreatedAttr as _, RulesetError, path_beneath_rules,
    };
    use std::thread;

    /// With this version files cannot be cut short from outside of what may be written.
    const WRITES: ABI = ABI::V3;
    const TCP: ABI = ABI::V4;

    /// Every program writes to these, and nothing is kept in them.
    const DEVICES: [&str; 9] = [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/dev/ptmx",
        "/dev/pts",
        "/dev/shm",
    ];

    pub(super) fn start<T: Send>(
        sandbox: &Sandbox,
        start: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<io::Result<T>, SandboxError> {
        let fence = fence(sandbox)?;
        let runtime = tokio::runtime::Handle::try_current().ok();
        let confined = move || {
            let _entered = runtime.as_ref().map(tokio::runtime::Handle::enter);
            fence.restrict_self().map_err(other)?;
            Ok(start())
        };
        // Short: it starts a process and ends. Whoever waits would wait for the start as well.
        let ended = thread::scope(|scope| {
            let spawned = thread::Builder::new().name("sandbox".to_owned()).spawn_scoped(scope, confined);
            spawned.map(thread::ScopedJoinHandle::join)
        });
        match ended {
            Ok(Ok(started)) => started,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(cause) => Err(SandboxError::Other(cause)),
        }
    }

    /// All of it or an error: the system must know every right that is taken away.
    fn fence(sandbox: &Sandbox) -> Result<RulesetCreated, SandboxError> {
        let rights = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let writes = AccessFs::from_write(WRITES);
        let mut rights = rights.handle_access(writes).map_err(|_| SandboxError::NoWrites)?;
        if sandbox.network == Network::Closed {
            rights = rights.handle_access(AccessNet::from_all(TCP)).map_err(|_| SandboxError::NoNetwork)?;
        }
        let fence = rights.create().map_err(other)?;
        let writable = sandbox.writable.iter().map(std::path::PathBuf::as_path);
        let devices = DEVICES.iter().map(std::path::Path::new);
        fence.add_rules(path_beneath_rules(writable.chain(devices), writes)).map_err(other)
    }

    fn other(cause: RulesetError) -> SandboxError {
        SandboxError::Other(io::Error::other(cause))
    }
}
