//! The terminals of this server, by id, and the tickets with which a browser connects to one.
//!
//! Terminals are not stored: they end with the server. One whose program has ended stays listed, with its exit code and
//! its last words, until it is removed or newer ones take its place.
//!
//! A WebSocket of a browser cannot carry a password. So a page that knows it fetches a ticket: good once, for a minute,
//! for one terminal of one directory.
//!
//! Not here: how a terminal runs (`sturdy_worktree::pty`), the routes (`routes/pty.rs`).

use crate::access::caller::Caller;
use crate::connections::Sockets;
use crate::error::ApiError;
use crate::wire::query::Query;
use http::request::Parts;
use rand::RngExt as _;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use sturdy_engine::{Engine, Instance};
use sturdy_session::id::PtyId;
use sturdy_session::title::TITLE_BYTES_MAX;
use sturdy_session::types::event::{Event, PtyInfo, PtyStatus};
use sturdy_worktree::pty::{NewTerminal, ScrollbackReader, ScrollbackStart, Terminal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::info;

/// Programs at once. Each holds a pair of files and up to 2 MiB.
const RUNNING_MAX: usize = 32;
/// Ended ones that stay listed.
const ENDED_MAX: usize = 16;
/// Tickets that wait to be used; the oldest goes first.
const TICKETS_MAX: usize = 256;
const TICKET_LIFE: Duration = Duration::from_secs(60);
/// A terminal that nobody could look at.
const SIDE_MAX: u16 = 4096;
/// Shells that read a profile when asked to with `-l`.
const LOGIN_SHELLS: [&str; 6] = ["bash", "zsh", "fish", "sh", "dash", "ksh"];

/// What a client asks for.
#[derive(Clone, Debug, Default, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateTerminal {
    command: Option<String>,
    args: Option<Vec<String>>,
    cwd: Option<String>,
    title: Option<String>,
    env: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditTerminal {
    title: Option<String>,
    size: Option<TerminalSize>,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TerminalSize {
    #[schema(value_type = u16)]
    rows: NonZeroU16,
    #[schema(value_type = u16)]
    cols: NonZeroU16,
}

/// What a WebSocket needs.
pub(crate) struct Connected {
    pub(crate) screen: ScrollbackReader,
    pub(crate) keyboard: mpsc::Sender<bytes::Bytes>,
    /// Held as long as the WebSocket is open.
    pub(crate) place: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Entry {
    info: PtyInfo,
    directory: String,
    project: String,
    terminal: Terminal,
}

#[derive(Debug)]
struct Ticket {
    terminal: PtyId,
    directory: String,
    /// Who fetched it, and looks with it.
    holder: Caller,
    until: Instant,
}

/// All terminals. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terminals(Arc<Open>);

#[derive(Debug)]
struct Open {
    /// One for each program, from before it is started until it is gone, also when its terminal was removed before.
    places: Arc<Semaphore>,
    entries: Mutex<BTreeMap<PtyId, Entry>>,
    tickets: Mutex<HashMap<String, Ticket>>,
    /// Who looks. They leave the listener's count when they are upgraded, so they have their own.
    sockets: Sockets,
}

impl Default for Open {
    fn default() -> Self {
        let places = Arc::new(Semaphore::new(RUNNING_MAX));
        Self { places, entries: Mutex::default(), tickets: Mutex::default(), sockets: Sockets::default() }
    }
}

impl Terminals {
    /// How many there are, in all directories.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn list(&self, here: &Instance) -> Vec<PtyInfo> {
        let entries = self.lock();
        entries
            .values()
            .filter(|entry| entry.directory == here.directory)
            .map(|entry| entry.info.clone())
            .collect()
    }

    pub(crate) fn get(&self, here: &Instance, id: &PtyId) -> Result<PtyInfo, ApiError> {
        self.with(here, id, |entry| entry.info.clone())
    }

    pub(crate) async fn create(
        &self,
        engine: &Engine,
        closing: &CancellationToken,
        here: &Instance,
        wanted: CreateTerminal,
    ) -> Result<PtyInfo, ApiError> {
        expect_title(wanted.title.as_deref())?;
        let place = self.0.places.clone().try_acquire_owned();
        let place = place.map_err(|_| ApiError::TooManyTerminals { most: RUNNING_MAX })?;
        self.forget_oldest();
        let id = engine.clock().stamp().pty_id();
        let new = resolve(engine, here, &wanted)?;
        let starting = new.clone();
        // A directory that hangs holds a thread, and not one that serves.
        let started = engine.look_at_files(&here.directory, move || Terminal::start(&starting)).await?;
        let (terminal, task) = started.map_err(|cause| bad(&cause))?;
        let tail = id.as_str().get(id.as_str().len() - 4..).unwrap_or_default();
        let info = PtyInfo {
            title: wanted.title.unwrap_or_else(|| format!("Terminal {tail}")),
            id: id.clone(),
            command: new.program,
            args: new.arguments,
            cwd: new.directory.to_string_lossy().into_owned(),
            status: PtyStatus::Running,
            pid: terminal.pid,
            exit_code: None,
        };
        let ended = terminal.ended();
        let entry = Entry {
            info: info.clone(),
            directory: here.directory.clone(),
            project: here.project.id.clone(),
            terminal,
        };
        tell(engine, &entry, Event::PtyCreated { info: info.clone() });
        self.lock().insert(id.clone(), entry);
        self.watch(engine, closing, id, place, task, ended);
        Ok(info)
    }

    pub(crate) fn edit(
        &self,
        engine: &Engine,
        here: &Instance,
        id: &PtyId,
        change: EditTerminal,
    ) -> Result<PtyInfo, ApiError> {
        expect_title(change.title.as_deref())?;
        let mut entries = self.lock();
        let entry = entries.get_mut(id).filter(|entry| entry.directory == here.directory);
        let entry = entry.ok_or_else(|| ApiError::NoTerminal(id.clone()))?;
        // An empty title is none: the old one stays.
        if let Some(title) = change.title.filter(|title| !title.is_empty()) {
            entry.info.title = title;
        }
        if let Some(size) = change.size {
            entry.terminal.resize(size.rows.get().min(SIDE_MAX), size.cols.get().min(SIDE_MAX));
        }
        tell(engine, entry, Event::PtyUpdated { info: entry.info.clone() });
        Ok(entry.info.clone())
    }

    /// Ends what runs in it, and forgets it.
    pub(crate) fn remove(&self, engine: &Engine, here: &Instance, id: &PtyId) -> Result<(), ApiError> {
        let mut entries = self.lock();
        let is_here = entries.get(id).is_some_and(|entry| entry.directory == here.directory);
        let entry = if is_here { entries.remove(id) } else { None };
        drop(entries);
        let entry = entry.ok_or_else(|| ApiError::NoTerminal(id.clone()))?;
        tell(engine, &entry, Event::PtyDeleted { id: id.clone() });
        Ok(())
    }

    pub(crate) fn connect(
        &self,
        here: &Instance,
        id: &PtyId,
        from: ScrollbackStart,
    ) -> Result<Connected, ApiError> {
        let full = || ApiError::Overloaded("Too many terminals are looked at. Close one.".to_owned());
        let place = self.0.sockets.take().ok_or_else(full)?;
        self.with(here, id, |entry| Connected {
            screen: entry.terminal.reader(from),
            keyboard: entry.terminal.keyboard(),
            place,
        })
    }

    /// A ticket for a terminal, and for how many seconds it is good.
    pub(crate) fn ticket(
        &self,
        here: &Instance,
        id: &PtyId,
        holder: Caller,
    ) -> Result<(String, u64), ApiError> {
        self.get(here, id)?;
        let mut random = rand::rng();
        let ticket: String = (0..32).map(|_| format!("{:02x}", random.random::<u8>())).collect();
        let now = Instant::now();
        let mut tickets = self.tickets();
        tickets.retain(|_, ticket| ticket.until > now);
        if tickets.len() >= TICKETS_MAX
            && let Some(oldest) =
                tickets.iter().min_by_key(|(_, ticket)| ticket.until).map(|(key, _)| key.clone())
        {
            tickets.remove(&oldest);
        }
        let directory = here.directory.clone();
        let entry = Ticket { terminal: id.clone(), directory, holder, until: now + TICKET_LIFE };
        tickets.insert(ticket.clone(), entry);
        Ok((ticket, TICKET_LIFE.as_secs()))
    }

    /// Whether a request carries a ticket that is good; it is not used up by looking. The handler checks the rest.
    pub(crate) fn admits(&self, request: &Parts) -> bool {
        let path = request.uri.path();
        let is_connecting =
            path.ends_with("/connect") && (path.starts_with("/pty/") || path.starts_with("/api/pty/"));
        let query = Query::of(request);
        let Some(ticket) = query.get("ticket").filter(|_| is_connecting) else { return false };
        self.tickets().get(ticket).is_some_and(|ticket| ticket.until > Instant::now())
    }

    /// Uses a ticket up. Who fetched it, if it was for this terminal.
    pub(crate) fn redeem(&self, here: &Instance, id: &PtyId, ticket: &str) -> Option<Caller> {
        let found = self.tickets().remove(ticket)?;
        let is_good =
            found.until > Instant::now() && found.terminal == *id && found.directory == here.directory;
        is_good.then_some(found.holder)
    }

    fn with<T>(&self, here: &Instance, id: &PtyId, read: impl FnOnce(&Entry) -> T) -> Result<T, ApiError> {
        let entries = self.lock();
        let entry = entries.get(id).filter(|entry| entry.directory == here.directory);
        entry.map(read).ok_or_else(|| ApiError::NoTerminal(id.clone()))
    }

    /// Forgets the oldest of those that ended.
    fn forget_oldest(&self) {
        let mut entries = self.lock();
        let is_running = |entry: &Entry| entry.info.status == PtyStatus::Running;
        let ended: Vec<PtyId> =
            entries.iter().filter(|(_, entry)| !is_running(entry)).map(|(id, _)| id.clone()).collect();
        for id in ended.iter().take(ended.len().saturating_sub(ENDED_MAX)) {
            entries.remove(id);
        }
    }

    fn ended(&self, engine: &Engine, id: &PtyId, exit_code: u32) {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(id) else { return };
        entry.info.status = PtyStatus::Exited;
        entry.info.exit_code = Some(exit_code);
        tell(engine, entry, Event::PtyExited { id: id.clone(), exit_code });
    }

    /// Runs a terminal's task beside the engine's own, and ends it with them.
    fn watch(
        &self,
        engine: &Engine,
        closing: &CancellationToken,
        id: PtyId,
        place: OwnedSemaphorePermit,
        task: impl Future<Output = ()> + Send + 'static,
        ended: tokio::sync::watch::Receiver<Option<u32>>,
    ) {
        let terminals = self.clone();
        let engine = engine.clone();
        let closing = closing.clone();
        let tasks = engine.tasks().clone();
        info!(terminal = %id, "terminal started");
        tasks.clone().spawn("terminal", async move {
            let mut task = std::pin::pin!(task);
            tokio::select! {
                () = task.as_mut() => {}
                () = async {
                    tokio::select! {
                        () = tasks.stopping().cancelled() => {}
                        () = closing.cancelled() => {}
                    }
                } => {
                    if let Some(entry) = terminals.lock().get(&id) {
                        entry.terminal.end();
                    }
                    task.await;
                }
            }
            let code = ended.borrow().unwrap_or(1);
            info!(terminal = %id, code, "terminal ended");
            terminals.ended(&engine, &id, code);
            drop(place);
        });
    }

    /// Nothing is awaited under it.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PtyId, Entry>> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tickets(&self) -> MutexGuard<'_, HashMap<String, Ticket>> {
        self.0.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where nobody says which shell is theirs, as in a container or a service.
fn usual_shell() -> &'static str {
    let is_there = |path: &&str| Path::new(path).is_file();
    ["/usr/bin/bash", "/bin/bash"].into_iter().find(is_there).unwrap_or("/bin/sh")
}

/// What runs, where, and with what: the user's shell unless something else is said.
fn resolve(engine: &Engine, here: &Instance, wanted: &CreateTerminal) -> Result<NewTerminal, ApiError> {
    let environment = &engine.options().environment;
    let any = usual_shell();
    let usual = here.settings.shell().or_else(|| environment.filled("SHELL")).unwrap_or(any);
    let program =
        wanted.command.clone().filter(|command| !command.is_empty()).unwrap_or_else(|| usual.to_owned());
    let mut arguments = wanted.args.clone().unwrap_or_default();
    let name = Path::new(&program).file_name().map(|name| name.to_string_lossy().into_owned());
    let is_shell = name.is_some_and(|name| LOGIN_SHELLS.contains(&name.as_str()));
    if is_shell && !arguments.iter().any(|argument| argument == "-l") {
        arguments.push("-l".to_owned());
    }
    let variables = wanted.env.clone().unwrap_or_default();
    let is_bad = |text: &str| text.contains('\0');
    if is_bad(&program)
        || arguments.iter().any(|text| is_bad(text))
        || variables
            .iter()
            .any(|(name, value)| name.is_empty() || name.contains('=') || is_bad(name) || is_bad(value))
    {
        return Err(ApiError::schema(
            crate::error::Kind::Payload,
            "Expected arguments and variables without NUL characters, and variable names without \"=\"",
        ));
    }
    let directory = match wanted.cwd.as_deref().filter(|cwd| !cwd.is_empty()) {
        Some(cwd) => Path::new(&here.directory).join(cwd),
        None => Path::new(&here.directory).to_owned(),
    };
    let inherited = here.inherited().clone();
    Ok(NewTerminal { program, arguments, directory, inherited, variables: variables.into_iter().collect() })
}

/// It is kept in memory and told to everybody.
fn expect_title(title: Option<&str>) -> Result<(), ApiError> {
    if title.is_some_and(|title| title.len() > TITLE_BYTES_MAX) {
        let message = format!("A title has at most {TITLE_BYTES_MAX} bytes");
        return Err(ApiError::schema(crate::error::Kind::Payload, message));
    }
    Ok(())
}

fn bad(cause: &dyn std::error::Error) -> ApiError {
    let mut message = cause.to_string();
    if let Some(source) = cause.source() {
        message = format!("{message}: {source}");
    }
    ApiError::schema(crate::error::Kind::Payload, message)
}

fn tell(engine: &Engine, entry: &Entry, event: Event) {
    engine.feed().tell(engine.clock().now(), Some(&entry.directory), Some(&entry.project), event);
}
