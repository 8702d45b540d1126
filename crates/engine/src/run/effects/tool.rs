//! Runs a call of the model and says what came of it.
//!
//! A call plans, then acts. It is told what it may reach (`World`); what it needs is said to the machine, which judges it
//! (`tool/ask.rs`), and before it changes anything it is a fact that it may. What a call reports while it runs is passed
//! on as often as the store keeps up.

mod ask;
mod delegate;
mod outcome;
mod pace;

pub(crate) use ask::{Asks, DecidedBy};

use super::{InputSender, prepare, sum};
use crate::directory::instance::Instance;
use crate::directory::permits::real_checkout;
use crate::error::EngineError;
use crate::extension::ToolMoment;
use crate::records;
use crate::run::Sessions;
use crate::run::background;
use crate::run::kept::KeptHistory;
use crate::run::memory::{SessionMemory, keep_notes};
use crate::run::reading::NextStep;
use crate::run::request;
use crate::run::structured;
use crate::run::trees::{Ledger, TreeWithin, Watch};
use ask::Asker;
use pace::Pace;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sturdy_session::fact::Outcome;
use sturdy_session::id::{MessageId, SessionId};
use sturdy_session::rules::CallRules;
use sturdy_session::turn::{Input, RunTool, STRUCTURED_TOOL, StepFiles};
use sturdy_session::types::event::{Event, FileChange};
use sturdy_session::types::part::{Part, PartBody};
use sturdy_session::types::session::{Rule, Session};
use sturdy_worktree::format::Change;
use sturdy_worktree::lsp::Lsp;
use sturdy_worktree::path::Roots;
use sturdy_worktree::tool::{
    Call, Caller, Diagnose, Edited, Handles, KeepBackground, Memory, PermissionAsk, Progress, Tool,
    ToolFailure, World, run as run_tool,
};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// A person's own command may run for a day.
const SHELL_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;

/// The end of a call waits this long for the list of files it changed, so that both are one commit.
const CHANGES_WAIT_MAX: Duration = Duration::from_millis(20);
/// How long progress is held back: a command that prints and ends at once needs one commit and not two.
const BEFORE_END: Duration = Duration::from_millis(10);

/// One call on its way.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) session: SessionId,
    pub(crate) call: RunTool,
    pub(crate) asks: Asks,
    pub(crate) memory: Arc<SessionMemory>,
    pub(crate) ledger: Arc<Ledger>,
    /// The conversation before its step, perhaps.
    pub(crate) kept: Arc<KeptHistory>,
    pub(crate) back: InputSender,
    /// Please stop.
    pub(crate) stop: CancellationToken,
    /// Nobody waits any more.
    pub(crate) kill: CancellationToken,
    /// Set when the call begins to act.
    pub(crate) watch: OnceLock<Arc<Watch>>,
    pub(crate) running: RunningCall,
}

/// What the rules and the place of a call are.
struct CallPlace {
    instance: Arc<Instance>,
    info: Session,
    /// What its step answers.
    prompt: MessageId,
    /// Without what people approved.
    rules: CallRules,
    continue_on_deny: bool,
}

/// Where that is on the disk, after all links.
struct FoundPlace {
    roots: Roots,
    /// Where what was allowed for good counts.
    checkout: String,
}

impl Run {
    fn moment(&self) -> ToolMoment<'_> {
        let RunTool { step, call, tool, .. } = &self.call;
        ToolMoment { session: &self.session, message: step, call, tool }
    }

    /// A person's own command, not one of a model.
    fn is_users_shell(&self) -> bool {
        self.call.by_user && self.call.tool == "bash"
    }
}

pub(crate) async fn run(run: Run) {
    let part = run.call.part.clone();
    let Performed { mut outcome, files, unsaid, next } = tokio::select! {
        performed = perform(&run) => performed,
        () = run.kill.cancelled() => {
            // What it has done stays in the ledger, for whoever undoes it.
            if let Some(watch) = run.watch.get() {
                let files = watch.end().await;
                run.ledger.leave(files);
            }
            return;
        }
    };
    // The process ends, and the call with it. The next start settles what it finds open, and a call that waits for
    // a person goes on waiting: its end must not take back what it asked.
    if run.sessions.tasks.stopping().is_cancelled() {
        return;
    }
    let extensions = &run.sessions.extensions;
    extensions.after_tool(run.moment(), &mut outcome).await;
    let mut inputs = Vec::from_iter(unsaid);
    let step = run.call.step.clone();
    let has_files = files.is_some();
    if let Some(files) = files {
        let diffed = sum::diffed(&run.sessions, &run.session, &step, &files, &run.kept).await;
        inputs.push(Input::FilesChanged { step, files });
        inputs.extend(diffed.map(|diffed| Input::Diffed(Box::new(diffed))));
    }
    inputs.push(Input::Returned { part, outcome });
    let is_heard = run.back.say_with(inputs, next).await;
    if is_heard && has_files {
        run.ledger.told();
    }
    if let (true, Some(watch)) = (is_heard, run.watch.get()) {
        watch.heard();
    }
}

/// What came of a call.
struct Performed {
    outcome: Outcome,
    /// What its step has changed on the disk so far.
    files: Option<StepFiles>,
    /// What it reported last; it is said together with the end.
    unsaid: Option<Input>,
    /// What the step behind it needs.
    next: Option<NextStep>,
}

impl From<Outcome> for Performed {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, files: None, unsaid: None, next: None }
    }
}

/// Counts the calls of a session that run.
#[derive(Debug)]
pub(super) struct RunningCall(Arc<AtomicUsize>);

impl RunningCall {
    pub(super) fn of(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all.clone())
    }

    fn is_alone(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn perform(run: &Run) -> Performed {
    if run.call.tool == STRUCTURED_TOOL {
        return structured::judge(&run.sessions, &run.session, &run.call).await.into();
    }
    let place = match place(run).await {
        Ok(place) => place,
        Err(cause) => return Outcome::Failed { error: cause.to_string(), metadata: None }.into(),
    };
    let memory = run.memory.for_call(&run.sessions.store, &run.session).await;
    if !run.is_users_shell() {
        let who = run.sessions.family_above(&run.session).await;
        let RunTool { step, tool, .. } = &run.call;
        let watch = Watch::begin(&run.sessions, &place.instance, &run.ledger, who, step, tool, &memory).await;
        watch.map(|watch| run.watch.set(Arc::new(watch)));
    }
    let (mut outcome, unsaid) = act(run, &place, &memory).await;
    let (Ended { files, unsaid }, next) = tokio::join!(end(run, unsaid), next_step(run, &place));
    if let Some(watch) = run.watch.get() {
        // What a sub-agent did was told by its own calls.
        if run.call.tool != "task" {
            tell_of_files(run, &place.info, watch);
        }
        if let Some(why) = watch.uncaptured() {
            outcome::say_uncaptured(&mut outcome, &why);
        }
    }
    let next = match next {
        Some(next) => with_tree(run, &place, next).await,
        None => None,
    };
    Performed { outcome, files, unsaid, next }
}

/// What is known when a call was looked after.
struct Ended {
    files: Option<StepFiles>,
    unsaid: Option<Input>,
}

/// Finds out what the call has changed. What it reported last is not held back for long.
async fn end(run: &Run, mut unsaid: Option<Input>) -> Ended {
    let Some(watch) = run.watch.get() else { return Ended { files: None, unsaid } };
    let mut ending = pin!(watch.end());
    let files = match timeout(CHANGES_WAIT_MAX, &mut ending).await {
        Ok(files) => files,
        Err(_) => {
            if let Some(last) = unsaid.take() {
                run.back.say(last).await;
            }
            ending.await
        }
    };
    Ended { files, unsaid }
}

/// What the step behind this call needs, in case that it is the last one of its step.
async fn next_step(run: &Run, place: &CallPlace) -> Option<NextStep> {
    if run.call.by_user || run.stop.is_cancelled() || !run.running.is_alone() {
        return None;
    }
    timeout(CHANGES_WAIT_MAX, prepare::ahead(&run.sessions, &run.session, &place.prompt, &place.instance))
        .await
        .ok()?
}

/// The tree before it is the one behind the call.
async fn with_tree(run: &Run, place: &CallPlace, mut next: NextStep) -> Option<NextStep> {
    let tree = run.sessions.tree_within_turn(&next.reading.instance, &run.session, &place.prompt).await;
    let ready = next.ready.as_mut()?;
    ready.tree = match tree {
        TreeWithin::Known(tree) => Some(tree.to_string()),
        TreeWithin::NoTrees => None,
        TreeWithin::Unknown => return None,
    };
    Some(next)
}

/// Tells clients which files a command has changed.
fn tell_of_files(run: &Run, info: &Session, watch: &Watch) {
    let now = run.sessions.clock.now();
    for (file, event) in watch.take_untold() {
        let event = Event::FileWatcherUpdated { file, event };
        run.sessions.feed.tell(now, Some(&info.directory), Some(&info.project_id), event);
    }
}

/// What came of it, and what it reported last if nobody has heard that.
async fn act(run: &Run, place: &CallPlace, memory: &Arc<Memory>) -> (Outcome, Option<Input>) {
    let (progress, mut reports) = watch::channel(Progress::default());
    let FoundPlace { roots, checkout } = match look_at(run, place).await {
        Ok(found) => found,
        Err(failure) => return (outcome::failed(failure, place.continue_on_deny), None),
    };
    let asker = Arc::new(Asker::new(run, place, checkout));
    let world = world(run, place, roots, &asker, progress, memory);
    let work = async {
        if run.call.repeated {
            world.ask(repeated(&run.call)).await?;
        }
        let tool = find(&place.instance, &run.call.tool).await?;
        let mut input = run.call.input.clone();
        if run.is_users_shell() {
            // A person who waits says stop; nobody else does.
            input.insert("timeout".to_owned(), SHELL_TIMEOUT_MS.into());
        }
        let extensions = &run.sessions.extensions;
        extensions.before_tool(run.moment(), &mut input).await;
        // The part's, not the provider's: some providers count their calls from one in every answer.
        let id = run.call.part.as_str().trim_start_matches("prt_").to_owned();
        let call = Call { id, name: run.call.tool.clone(), input };
        run_tool(tool.as_ref(), call, &world).await
    };
    let began = Instant::now();
    let mut pace = Pace::new();
    let done = tokio::select! {
        done = work => done,
        never = report(run, began, &mut pace, &mut reports) => match never {},
    };
    // What it reported last is shown, however soon it ended.
    let has_news = reports.has_changed().unwrap_or(false);
    let last = has_news.then(|| progressed(run, began, &mut pace, &mut reports));
    let outcome = match done {
        Ok(done) if run.is_users_shell() => outcome::printed(done),
        Ok(mut done) => {
            keep_notes(memory, &mut done.metadata);
            let done = outcome::with_images_that_can_be_sent(done, place.instance.settings.images()).await;
            outcome::done(done, run, &run.sessions.clock)
        }
        Err(mut failure) => {
            keep_notes(memory, &mut failure.metadata);
            outcome::failed(failure, place.continue_on_deny)
        }
    };
    (outcome, last)
}

async fn place(run: &Run) -> Result<CallPlace, EngineError> {
    let info = records::session_info(&run.sessions.store, &run.session).await?;
    let instance = run.sessions.directories.instance(&info.directory).await?;
    let step = request::assistant_message(&run.sessions, &run.session, &run.call.step).await?;
    let agent = instance.agent(&step.agent)?;
    let with_session =
        |rules: &[Rule]| rules.iter().chain(info.permission.iter().flatten()).cloned().collect();
    let rules = CallRules {
        rules: with_session(&agent.permission),
        floor: with_session(&agent.floor),
        approvals: Vec::new(),
        named_agents: named_agents(run, &step.parent_id).await?,
    };
    let continue_on_deny = instance.settings.continue_loop_on_deny();
    Ok(CallPlace { prompt: step.parent_id, instance, info, rules, continue_on_deny })
}

/// The agents that the prompt of a delegating call names.
async fn named_agents(run: &Run, prompt: &MessageId) -> Result<Vec<String>, EngineError> {
    if run.call.tool != "task" {
        return Ok(Vec::new());
    }
    let parts = run.sessions.store.parts_of(&run.session, prompt).await?;
    let named = |part: Part| match part.body {
        PartBody::Agent(agent) => Some(agent.name),
        _ => None,
    };
    Ok(records::parts(prompt, &parts).filter_map(named).collect())
}

/// Follows the links of the place of a call, on a thread that may hang with them.
async fn look_at(run: &Run, place: &CallPlace) -> Result<FoundPlace, ToolFailure> {
    let info = place.info.clone();
    let worktree = place.instance.worktree.clone();
    let temporary = run.sessions.environment.temporary_dir();
    let looking = run.sessions.files.run(&place.info.directory, move || {
        let roots = Roots::new(info.directory.as_ref(), worktree.as_ref())?;
        let checkout = real_checkout(&info);
        Ok(FoundPlace { roots: roots.with_temporary(&temporary), checkout })
    });
    looking.await.map_err(|cause| ToolFailure::failed(cause.to_string()))?
}

fn world(
    run: &Run,
    place: &CallPlace,
    roots: Roots,
    asker: &Arc<Asker>,
    progress: watch::Sender<Progress>,
    memory: &Arc<Memory>,
) -> World {
    let asking = asker.clone();
    let questioning = asker.clone();
    let acting = asker.clone();
    let reading = asker.clone();
    let back = run.back.clone();
    let feed = run.sessions.feed.clone();
    let clock = run.sessions.clock.clone();
    let directory = place.info.directory.clone();
    let project = place.info.project_id.clone();
    let delegate = delegate::Delegate::new(run, place, progress.clone());
    let handles = Handles {
        ask: Arc::new(move |ask| {
            let asker = asking.clone();
            Box::pin(async move { asker.permission(ask).await })
        }),
        question: Arc::new(move |questions| {
            let asker = questioning.clone();
            Box::pin(async move { asker.question(questions).await })
        }),
        act: Arc::new(move || {
            let asker = acting.clone();
            Box::pin(async move { asker.act().await })
        }),
        may_read: Arc::new(move |path| reading.may_read(path)),
        progress,
        set_todos: Arc::new(move |_, todos| {
            let back = back.clone();
            Box::pin(async move {
                match back.say_all(vec![Input::TodoSet { todos }]).await {
                    true => Ok(()),
                    false => Err(ToolFailure::aborted()),
                }
            })
        }),
        task: Arc::new(move |_, task| {
            let delegate = delegate.clone();
            Box::pin(async move { delegate.run(task).await })
        }),
        edited: Arc::new(move |edited| {
            for event in events_of(edited) {
                feed.tell(clock.now(), Some(&directory), Some(&project), event);
            }
        }),
        diagnose: place.instance.lsp().map(|lsp| diagnose(lsp.clone())),
        keep_background: Some(keep_background(run, place)),
    };
    let settings = place.instance.tool_settings.clone();
    let caller = if run.is_users_shell() { Caller::User } else { Caller::Model };
    World { roots, settings, memory: memory.clone(), caller, stop: run.stop.clone(), handles }
}

/// Keeps what a command left running for its session.
fn keep_background(run: &Run, place: &CallPlace) -> Arc<KeepBackground> {
    let sessions = run.sessions.clone();
    let session = run.session.clone();
    let directory = place.info.directory.clone();
    let project = place.info.project_id.clone();
    let place = background::EventTarget { directory, project };
    Arc::new(move |left| sessions.keep_background(&session, place.clone(), left))
}

/// Asks the language servers about changed files.
fn diagnose(lsp: Arc<Lsp>) -> Arc<Diagnose> {
    Arc::new(move |paths| {
        let lsp = lsp.clone();
        Box::pin(async move { lsp.diagnose(&paths).await })
    })
}

async fn find(instance: &Instance, name: &str) -> Result<Arc<dyn Tool>, ToolFailure> {
    instance.tool(name).await.ok_or_else(|| ToolFailure::failed(format!("There is no tool named {name:?}.")))
}

/// The same call for the third time: a person decides whether it goes on.
fn repeated(call: &RunTool) -> PermissionAsk {
    let metadata = serde_json::json!({ "tool": call.tool, "input": call.input });
    let serde_json::Value::Object(metadata) = metadata else { unreachable!("BUG: written as an object") };
    PermissionAsk::new("doom_loop", vec![call.tool.clone()], vec![call.tool.clone()], metadata)
}

/// Passes on what the call reports; the latest wins, and its allowance sets the pace.
async fn report(
    run: &Run,
    began: Instant,
    pace: &mut Pace,
    reports: &mut watch::Receiver<Progress>,
) -> std::convert::Infallible {
    loop {
        if reports.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        // Most commands print and end. Then what they printed is stored in the commit that ends the call.
        reports.mark_changed();
        tokio::time::sleep(BEFORE_END).await;
        let progressed = progressed(run, began, pace, reports);
        run.back.say_all(vec![progressed]).await;
        tokio::time::sleep(pace.pause()).await;
    }
}

/// What the call has reported since.
fn progressed(run: &Run, began: Instant, pace: &mut Pace, reports: &mut watch::Receiver<Progress>) -> Input {
    let progress = reports.borrow_and_update().clone();
    let Progress { title, metadata } = pace.spend(began.elapsed(), progress);
    let metadata = (!metadata.is_empty()).then_some(metadata);
    Input::Progressed { part: run.call.part.clone(), title, metadata }
}

fn events_of(edited: Edited) -> Vec<Event> {
    let file = edited.path.to_string_lossy().into_owned();
    let event = match edited.change {
        Change::Added => FileChange::Add,
        Change::Changed => FileChange::Change,
        Change::Removed => FileChange::Unlink,
    };
    let watched = Event::FileWatcherUpdated { file: file.clone(), event };
    match edited.change {
        Change::Added | Change::Changed => vec![Event::FileEdited { file }, watched],
        // There is nothing left to have been edited.
        Change::Removed => vec![watched],
    }
}
