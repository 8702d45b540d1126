//! Whether a connection comes from a command that this server started.
//!
//! A command may reach the server that runs it. If it could change anything there, it could answer the
//! question whether it may run. So the process at the other end of a connection is looked for among those
//! that we started: they carry our mark or lead a session of their own below us, and so do their
//! children. A process that gave up all of that (its parent, its session and its environment) is not
//! found; nor is one that asks another program to connect for it. One that lets go of its connection before
//! anybody could look, or does not let us look, counts as a command.
//!
//! A terminal (`pty.rs`) is a person's: whatever is typed into it, or started from it, is the person's own doing. It
//! is known by its process number, which we noted when we started it. Its mark does not count, because any
//! command can write that into its own environment.
//!
//! Linux only; elsewhere nobody is found.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The process numbers of the terminals that run.
static TERMINALS: Mutex<Option<HashSet<u32>>> = Mutex::new(None);

/// A terminal that runs; its process is a person's as long as this exists.
#[derive(Debug)]
pub(crate) struct OwnTerminal(u32);

impl OwnTerminal {
    pub(crate) fn new(pid: u32) -> Self {
        terminals().get_or_insert_default().insert(pid);
        Self(pid)
    }
}

impl Drop for OwnTerminal {
    fn drop(&mut self) {
        terminals().get_or_insert_default().remove(&self.0);
    }
}

fn terminals() -> MutexGuard<'static, Option<HashSet<u32>>> {
    TERMINALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the process that connected from `theirs` to `ours` is a command of this server, or was started
/// by one. Reads `/proc`: not for a thread that others wait for.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn is_own_command(_theirs: SocketAddr, _ours: SocketAddr) -> bool {
    false
}

#[cfg(target_os = "linux")]
pub use linux::is_own_command;

#[cfg(target_os = "linux")]
mod linux {
    use super::SocketAddr;
    use crate::process::socket::{self, Address};
    use crate::process::stray;
    use std::collections::{HashMap, HashSet};
    use std::fs;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    /// A table that changes while it is read may lack a line.
    const LOOKS: usize = 3;

    /// Whether the process that connected from `theirs` to `ours` is a command of this server, or was started
    /// by one. Reads `/proc`: not for a thread that others wait for.
    #[must_use]
    pub fn is_own_command(theirs: SocketAddr, ours: SocketAddr) -> bool {
        for _ in 0..LOOKS {
            match other_end(theirs, ours) {
                OtherEnd::Held(inode) => return is_held_by_command(inode),
                OtherEnd::NotTold => return false,
                OtherEnd::LetGo if !is_of_this_machine(theirs.ip().to_canonical()) => return false,
                OtherEnd::LetGo => {}
            }
        }
        // Whoever sends a request and goes before anybody can look does not want to be seen.
        true
    }

    /// Whether an address is the loopback one or belongs to one of the interfaces.
    fn is_of_this_machine(ip: IpAddr) -> bool {
        match ip {
            _ if ip.is_loopback() => true,
            IpAddr::V4(_) => {
                fs::read_to_string("/proc/net/fib_trie").is_ok_and(|table| has_address(&table, ip))
            }
            IpAddr::V6(ip) => {
                let hex = format!("{:032x}", ip.to_bits());
                fs::read_to_string("/proc/net/if_inet6").is_ok_and(|table| table.contains(&hex))
            }
        }
    }

    /// Each address stands on a line of its own, and what it is on those below.
    fn has_address(table: &str, ip: IpAddr) -> bool {
        let wanted = format!("|-- {ip}");
        let mut is_wanted = false;
        table.lines().map(str::trim).any(|line| {
            match line.starts_with("|--") {
                true => is_wanted = line == wanted,
                false if is_wanted && line == "/32 host LOCAL" => return true,
                false => {}
            }
            false
        })
    }

    /// What the system says about the socket at the other end.
    enum OtherEnd {
        /// Its number.
        Held(u64),
        /// No process has it any more.
        LetGo,
        /// The system does not show connections.
        NotTold,
    }

    fn other_end(theirs: SocketAddr, ours: SocketAddr) -> OtherEnd {
        let theirs = canonical(theirs);
        let ours = canonical(ours);
        match socket::number_of(theirs, ours) {
            Some(inode) if inode != 0 => OtherEnd::Held(inode),
            _ if socket::number_of(ours, theirs).is_some() => OtherEnd::LetGo,
            // A system that does not even know of our own end does not answer such questions.
            _ => other_end_by_files(theirs, ours),
        }
    }

    fn other_end_by_files(theirs: Address, ours: Address) -> OtherEnd {
        let wanted = (theirs, ours);
        let mirrored = (wanted.1, wanted.0);
        let mut shows_ours = false;
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            let Ok(table) = fs::read_to_string(table) else { continue };
            for line in table.lines().skip(1) {
                let Some((ends, inode)) = connection(line) else { continue };
                shows_ours |= ends == mirrored;
                if ends == wanted && inode != 0 {
                    return OtherEnd::Held(inode);
                }
            }
        }
        if shows_ours { OtherEnd::LetGo } else { OtherEnd::NotTold }
    }

    /// One line of the table: the two ends, and the number of the socket, 0 if nobody has it.
    fn connection(line: &str) -> Option<((Address, Address), u64)> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let ends = (address(fields.get(1)?)?, address(fields.get(2)?)?);
        Some((ends, fields.get(9)?.parse().ok()?))
    }

    fn is_held_by_command(inode: u64) -> bool {
        let socket = format!("socket:[{inode}]");
        let commands = commands();
        let mut is_any_hidden = false;
        for pid in &commands {
            match holds(*pid, &socket) {
                Some(true) => return true,
                Some(false) => {}
                None => is_any_hidden = true,
            }
        }
        // A command that does not let us see what it holds (it may say so of itself) is the one, unless it is
        // somebody else.
        let is_seen = || processes().iter().any(|one| holds(one.pid, &socket) == Some(true));
        is_any_hidden && !is_seen()
    }

    fn canonical(address: SocketAddr) -> Address {
        (address.ip().to_canonical(), address.port())
    }

    /// `0100007F:1000`: words of four bytes as this machine stores them, and a port.
    fn address(text: &str) -> Option<Address> {
        let (host, port) = text.split_once(':')?;
        let word = |index: usize| u32::from_str_radix(host.get(index * 8..index * 8 + 8)?, 16).ok();
        let ip: IpAddr = if host.len() == 8 {
            Ipv4Addr::from(word(0)?.to_ne_bytes()).into()
        } else {
            let mut bytes = [0; 16];
            for (index, place) in bytes.chunks_exact_mut(4).enumerate() {
                place.copy_from_slice(&word(index)?.to_ne_bytes());
            }
            Ipv6Addr::from(bytes).into()
        };
        Some((ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
    }

    struct Process {
        pid: u32,
        stat: stray::Stat,
    }

    /// Every process that we started, and what those started.
    fn commands() -> HashSet<u32> {
        let own = std::process::id();
        let all = processes();
        let terminals = super::terminals().clone().unwrap_or_default();
        let since = all.iter().find(|one| one.pid == own).map_or(0, |one| one.stat.started);
        let is_root = |one: &&Process| {
            let is_child =
                one.stat.parent == own && one.stat.session == one.pid && !terminals.contains(&one.pid);
            // Whoever is older than this server cannot have its mark.
            is_child || (one.stat.started >= since && stray::is_marked_by_us(one.pid))
        };
        let mut found: HashSet<u32> = all.iter().filter(is_root).map(|one| one.pid).collect();
        let mut sessions: HashSet<u32> =
            all.iter().filter(|one| found.contains(&one.pid)).map(|one| one.stat.session).collect();
        let own_session = all.iter().find(|one| one.pid == own).map(|one| one.stat.session);
        let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
        for one in &all {
            children.entry(one.stat.parent).or_default().push(one);
        }
        let mut next: Vec<u32> = found.iter().copied().collect();
        while let Some(pid) = next.pop() {
            for child in children.get(&pid).into_iter().flatten() {
                if found.insert(child.pid) {
                    sessions.insert(child.stat.session);
                    next.push(child.pid);
                }
            }
        }
        // A child whose parent has ended keeps its session. Ours is that of the person's terminal.
        sessions.retain(|session| Some(*session) != own_session);
        found.extend(all.iter().filter(|one| sessions.contains(&one.stat.session)).map(|one| one.pid));
        found.remove(&own);
        found
    }

    fn processes() -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter_map(|pid| Some(Process { pid, stat: stray::stat(pid)? })).collect()
    }

    /// `None` if the process exists and does not let us look.
    fn holds(pid: u32, socket: &str) -> Option<bool> {
        let open = match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(open) => open,
            Err(cause) if cause.kind() == std::io::ErrorKind::PermissionDenied => return None,
            Err(_) => return Some(false),
        };
        let mut is_hidden = false;
        for file in open.flatten() {
            match fs::read_link(file.path()) {
                Ok(target) if target.as_os_str() == socket => return Some(true),
                Ok(_) => {}
                // Root in a container may list the files of such a process, and not look where they lead.
                Err(cause) => is_hidden |= cause.kind() == std::io::ErrorKind::PermissionDenied,
            }
        }
        if is_hidden { None } else { Some(false) }
    }
}
