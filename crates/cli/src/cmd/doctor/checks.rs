//! The checks, each alone.

use super::{Finding, Health};
use crate::connect;
use crate::host::WIRE_VERSION;
use rustix::fs::{StatVfsMountFlags, statfs, statvfs};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use sturdy_engine::Environment;
use sturdy_engine::directory::config;
use sturdy_engine::{SandboxOffer, sandbox_offer};
use sturdy_llm::auth::Credentials;
use sturdy_store::Owner;
use tokio::net::TcpListener;

/// Older ones lack what worktrees and captured trees need.
const GIT_MIN: (u32, u32) = (2, 30);
/// Below this a long session may not end well.
const FREE_BYTES_MIN: u64 = 1 << 30;
/// Below this nothing can be stored for long.
const FREE_BYTES_LOW: u64 = 64 << 20;
const USUAL_PORT: u16 = 4096;
/// Before the first version was made: a clock that was never set.
const EARLIEST: Duration = Duration::from_secs(1_760_000_000);
/// A file from further in the future than this was written under another clock.
const SKEW_MAX: Duration = Duration::from_secs(300);

pub(super) fn versions() -> Finding {
    Finding::ok("version", format!("sturdy {}, wire {WIRE_VERSION}", env!("CARGO_PKG_VERSION")))
}

pub(super) fn git() -> Finding {
    let Some(said) = output("git", &["--version"]) else {
        return Finding::wrong("git", "not found", "install git; diffs, projects and undo need it");
    };
    let version = said.split_whitespace().nth(2).unwrap_or_default().to_owned();
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or_default());
    let found = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if found < GIT_MIN {
        return Finding::wrong("git", format!("{version} is too old"), "git 2.30 or newer");
    }
    Finding::ok("git", version)
}

pub(super) fn shell(environment: &Environment) -> Finding {
    let shell = environment.filled("SHELL").unwrap_or("/bin/sh");
    if Path::new(shell).is_file() {
        Finding::ok("shell", shell)
    } else {
        Finding::wrong("shell", format!("{shell} does not exist"), "set SHELL to one that does")
    }
}

pub(super) fn clock(data_dir: &Path) -> Finding {
    let now = SystemTime::now();
    let is_unset = now.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since < EARLIEST);
    let written = fs::metadata(data_dir.join("sturdy.db")).and_then(|about| about.modified());
    let is_behind = written.is_ok_and(|written| written > now + SKEW_MAX);
    if is_unset || is_behind {
        let detail = if is_unset { "it was never set" } else { "it is behind the newest file of the store" };
        return Finding::wrong("clock", detail, "set the time of the machine, as with: timedatectl");
    }
    Finding::ok("clock", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string())
}

pub(super) fn data_dir(data_dir: &Path) -> Finding {
    const WHAT: &str = "data";
    let place = data_dir.display();
    let about = match fs::metadata(data_dir) {
        Ok(about) => about,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Finding::ok(WHAT, format!("{place} is made by the first command"));
        }
        Err(cause) => {
            return Finding::wrong(WHAT, format!("{place}: {cause}"), "another place with --data-dir DIR");
        }
    };
    if !about.is_dir() {
        return Finding::wrong(WHAT, format!("{place} is a file"), "another place with --data-dir DIR");
    }
    if let Err(cause) = try_to_write(data_dir) {
        let help = format!("chown or chmod it; it belongs to user {}", about.uid());
        return Finding::wrong(WHAT, format!("{place}: {cause}"), help);
    }
    if about.permissions().mode() & 0o077 != 0 {
        let detail = format!("{place} can be read by other users of this machine");
        return Finding::warning(WHAT, detail, format!("chmod 700 {place}"));
    }
    Finding::ok(WHAT, place.to_string())
}

/// A file that is gone again, synced like a commit.
fn try_to_write(data_dir: &Path) -> io::Result<()> {
    let probe = data_dir.join(format!(".doctor-{}", std::process::id()));
    let written = fs::File::create_new(&probe).and_then(|file| file.sync_all());
    let removed = fs::remove_file(&probe);
    written.and(removed)
}

pub(super) fn disk(data_dir: &Path) -> Finding {
    let about = match statvfs(existing(data_dir)) {
        Ok(about) => about,
        Err(cause) => return Finding::warning("disk", cause.to_string(), "look at it with: df"),
    };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    let detail = format!("{} free", bytes(free));
    if about.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Finding::wrong("disk", "mounted read-only", "another place with --data-dir DIR");
    }
    if about.f_files > 0 && about.f_favail == 0 {
        return Finding::wrong("disk", "no inode is free", "remove files, or use another --data-dir DIR");
    }
    match free {
        ..FREE_BYTES_LOW => Finding::wrong("disk", detail, "free some space; nothing can be stored for long"),
        FREE_BYTES_LOW..FREE_BYTES_MIN => Finding::warning("disk", detail, "free some space soon"),
        _ => Finding::ok("disk", detail),
    }
}

/// Locks and syncs of file systems on other machines are not to be trusted with a database.
pub(super) fn file_system(data_dir: &Path) -> Finding {
    const REMOTE: [(u64, &str); 6] = [
        (0x6969, "NFS"),
        (0x517b, "SMB"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB2"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "FUSE"),
    ];
    let Ok(about) = statfs(existing(data_dir)) else {
        return Finding::warning("file system", "cannot be asked", "df -T shows it");
    };
    let kind = about.f_type as u64 & 0xffff_ffff;
    match REMOTE.iter().find(|(number, _)| *number == kind) {
        Some((_, name)) => Finding::warning(
            "file system",
            format!("{name}: locks and syncs may not hold there"),
            "a local disk with --data-dir DIR",
        ),
        None => Finding::ok("file system", "local"),
    }
}

pub(super) fn credentials(environment: &Environment) -> Finding {
    const WHAT: &str = "keys";
    let file = environment.shared_data_dir().join("auth.json");
    let stored = match Credentials::load(&file) {
        Ok(stored) => stored,
        Err(cause) => {
            return Finding::wrong(WHAT, cause.to_string(), format!("correct or remove {}", file.display()));
        }
    };
    if fs::metadata(&file).is_ok_and(|about| about.permissions().mode() & 0o077 != 0) {
        let detail = format!("{} can be read by other users of this machine", file.display());
        return Finding::warning(WHAT, detail, format!("chmod 600 {}", file.display()));
    }
    let names: Vec<_> = stored.providers().collect();
    if names.is_empty() {
        return Finding::warning(
            WHAT,
            "none stored; keys in variables and configuration are used too",
            "sturdy auth login PROVIDER, unless: sturdy auth list shows what you need",
        );
    }
    Finding::ok(WHAT, format!("stored for {}", names.join(", ")))
}

pub(super) fn configuration(directory: &Path, environment: &Environment) -> Finding {
    let top = output("git", &["-C", &directory.to_string_lossy(), "rev-parse", "--show-toplevel"]);
    let top = top.map_or_else(|| directory.to_owned(), |top| PathBuf::from(top.trim()));
    match config::load(directory, &top, environment) {
        Ok(_) => Finding::ok("configuration", "can be read"),
        Err(cause) => {
            let place = cause.path().to_owned();
            Finding::wrong("configuration", cause.to_string(), format!("correct {place}"))
        }
    }
}

/// What `experimental.sandbox` can do on this machine.
pub(super) fn sandbox() -> Finding {
    const WHAT: &str = "sandbox";
    match sandbox_offer() {
        SandboxOffer::WritesAndTcp => {
            Finding::ok(WHAT, "commands can be kept from writing elsewhere and from the network (Landlock)")
        }
        SandboxOffer::Writes => Finding::ok(
            WHAT,
            "commands can be kept from writing elsewhere (Landlock); closing the network needs Linux 6.7",
        ),
        SandboxOffer::Nothing => Finding::ok(
            WHAT,
            "not offered: experimental.sandbox needs Linux 6.2 with Landlock, and commands are refused with it",
        ),
    }
}

pub(super) fn terminal_client(environment: &Environment) -> Finding {
    let paths = std::env::split_paths(environment.get("PATH").unwrap_or_default()).collect::<Vec<_>>();
    match paths.iter().map(|path| path.join("opencode")).find(|program| program.is_file()) {
        Some(program) => Finding::ok("terminal", program.display().to_string()),
        None => Finding::warning(
            "terminal",
            "the OpenCode terminal is not installed; `sturdy run` needs none",
            "npm install -g opencode-ai",
        ),
    }
}

pub(super) async fn server(data_dir: &Path, environment: &Environment, directory: &Path) -> Finding {
    const WHAT: &str = "server";
    match connect::find(data_dir, environment, directory).await {
        Ok(Some(client)) => Finding::ok(WHAT, format!("answers at {}", client.url())),
        Ok(None) => match Owner::read(data_dir) {
            Some(owner) => Finding::ok(WHAT, format!("none runs; the last one was process {}", owner.pid)),
            None => Finding::ok(WHAT, "none runs; commands start one when they need it"),
        },
        Err(failure) => {
            Finding::wrong(WHAT, failure.what().to_owned(), "set STURDY_SERVER_PASSWORD, or restart it")
        }
    }
}

pub(super) async fn port(server: &Finding) -> Finding {
    let is_ours = server.state == Health::Ok && server.detail.ends_with(&format!(":{USUAL_PORT}"));
    if is_ours {
        return Finding::ok("port", format!("{USUAL_PORT} is used by this store's server"));
    }
    match TcpListener::bind(("127.0.0.1", USUAL_PORT)).await {
        Ok(_) => Finding::ok("port", format!("{USUAL_PORT} is free")),
        Err(cause) => Finding::warning(
            "port",
            format!("{USUAL_PORT} cannot be listened on: {cause}"),
            "sturdy serve --port 0 takes a free one",
        ),
    }
}

/// The nearest directory above that is there.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"))
}

fn bytes(count: u64) -> String {
    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;
    if count >= GIB { format!("{} GiB", count / GIB) } else { format!("{} MiB", count / MIB) }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
