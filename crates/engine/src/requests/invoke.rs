//! A command by its name: the template is filled in and becomes a prompt.
//!
//! Arguments go in first, then the output of shell snippets, which run in the session's directory once it is stored
//! that they will. Snippets and files that a template names pass the rules of the agent like calls of a model.
//! A skill is a document and not a template: the arguments stand at its `$ARGUMENTS` or behind it, and nothing in it runs. A
//! prompt of an MCP server is filled in by the server; nothing in it runs and no file it names is read.
//!
//! Not here: which commands there are (`commands.rs`).

use crate::directory::agents::{Agent, Mode};
use crate::directory::asking::NewRequest;
use crate::directory::commands::{Command, Source, commands};
use crate::directory::instance::Instance;
use crate::directory::permits;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::requests::mentions;
use crate::requests::prompt::PromptRequest;
use crate::run::request;
use futures_util::future::join_all;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::command::{expand, fill, snippets};
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::rules::{Verdict, Wanted};
use sturdy_session::turn::{Input, Refusal};
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::part::{FilePart, PartBody, SubtaskModel, SubtaskPart, TextPart};
use sturdy_session::types::session::{Action, Rule, Session};
use sturdy_worktree::path::{Located, Roots};
use sturdy_worktree::process;
use sturdy_worktree::tool::PermissionAsk;
use sturdy_worktree::tools::{command_asks, find_bash};
use tracing::debug;

/// Where a skill wants what was typed behind its name. Other holes of templates are left alone: a document may speak
/// of `$1`.
const ALL_ARGUMENTS: &str = "$ARGUMENTS";
/// The command that sets a project up.
const INIT: &str = "init";
/// Snippets one template may run.
const SNIPPETS_MAX: usize = 32;
const SNIPPET_TIMEOUT: Duration = Duration::from_secs(30);
/// What is kept of what a snippet prints; the rest is read and dropped.
const SNIPPET_BYTES_MAX: usize = 64 * 1024;
/// Standard output alone, as a template wants it.
const SNIPPET_FRAME: &str = "exec 2>/dev/null; eval \"$1\"";

/// What a client asked, not yet resolved.
#[derive(Clone, Debug, Default)]
pub struct CommandRequest {
    pub command: String,
    pub arguments: String,
    pub agent: Option<String>,
    /// Provider and model.
    pub model: Option<(String, String)>,
    pub variant: Option<String>,
    pub message: Option<MessageId>,
    /// Files that go with it.
    pub parts: Vec<(Option<PartId>, FilePart)>,
}

impl Engine {
    /// Runs a command as a prompt: durable when this returns, answered by [`Engine::answer`].
    pub async fn command(
        &self,
        session: &SessionId,
        request: CommandRequest,
    ) -> Result<MessageId, EngineError> {
        let name = request.command.clone();
        let arguments = request.arguments.clone();
        let info = request::session_info(&self.inner.sessions, session).await?;
        // Decided again when the prompt is stored. Here because snippets run before that: somebody who sends a command
        // again because the answer was lost does not run them again.
        if let Some(message) = &request.message
            && self.inner.store.message_info(session, message).await?.is_some()
        {
            return Err(Refusal::MessageExists(message.clone()).into());
        }
        let mut instance = self.inner.directories.instance(&info.directory).await?;
        let mut command = find(&instance, &name).await?;
        if !command.is_obeyed {
            self.inner.directories.settle_trust(session, &info.directory).await?;
            instance = self.inner.directories.instance(&info.directory).await?;
            command = find(&instance, &name).await?;
        }
        let prompt = self.inner.invocation(&instance, &info, command, request).await?;
        let message = self.prompt(session, prompt).await?;

        // Nobody has to wait for it: the note is made when the turn is over, whoever is still there.
        let note = note_end(self.clone(), session.clone(), message.clone(), name, arguments);
        self.inner.tasks.spawn("command", note);
        Ok(message)
    }

    /// Sets the project up: the command `init` with this model.
    pub async fn init(
        &self,
        session: &SessionId,
        model: (String, String),
        message: Option<MessageId>,
    ) -> Result<MessageId, EngineError> {
        let command = INIT.to_owned();
        let model = Some(model);
        self.command(session, CommandRequest { command, model, message, ..CommandRequest::default() }).await
    }
}

async fn find(instance: &Instance, name: &str) -> Result<Command, EngineError> {
    let own = commands(&instance.settings, Vec::new());
    // Only a name that we do not know ourselves is worth asking the servers.
    let prompts = match own.iter().any(|command| command.name == name) {
        true => Vec::new(),
        false => {
            instance.mcp.start();
            instance.mcp.commands().await
        }
    };
    let all = commands(&instance.settings, prompts);
    let names = all.iter().map(|command| command.name.as_str()).collect::<Vec<_>>().join(", ");
    let unknown = format!("Command not found: {name:?}. Available commands: {names}");
    all.into_iter().find(|command| command.name == name).ok_or(EngineError::Unknown(unknown))
}

async fn note_end(engine: Engine, session: SessionId, asked: MessageId, command: String, arguments: String) {
    let Ok(answer) = engine.answer(&session, &asked).await else { return };
    if command == INIT
        && let Err(cause) = engine.inner.directories.note_initialised(&session).await
    {
        debug!(%session, %cause, "the time of the project's /init could not be stored");
    }
    let executed = Input::Executed { command, arguments, message: answer.id };
    if let Err(cause) = engine.inner.sessions.say(&session, vec![executed]).await {
        debug!(%session, %cause, "the end of a command could not be stored");
    }
}

impl Inner {
    /// The prompt that a command stands for.
    async fn invocation(
        self: &Arc<Self>,
        instance: &Instance,
        info: &Session,
        command: Command,
        request: CommandRequest,
    ) -> Result<PromptRequest, EngineError> {
        let default = || instance.agents.default_agent().map(|agent| agent.name.clone());
        let name = match command.agent.clone().or_else(|| request.agent.clone()) {
            Some(name) => name,
            None => default()?,
        };
        let agent = instance.agent(&name)?;
        let text = self.text_of(instance, info, agent, &command, &request.arguments).await?;
        let own = |agent: &Agent| {
            agent.model.as_ref().map(|model| (model.provider_id.clone(), model.model_id.clone()))
        };
        let of_command = match command.model.as_deref() {
            Some(text) => Some(model_of(text)?),
            None => command.agent.is_some().then(|| own(agent)).flatten(),
        };
        let asked = match request.model.clone() {
            Some(model) => model,
            None => self.current_model(instance, info).await?,
        };
        let model = of_command.unwrap_or_else(|| asked.clone());
        instance.model(&model.0, &model.1)?;

        let wants_subtask = command.subtask.unwrap_or(agent.mode == Mode::Subagent);
        if wants_subtask {
            let (provider_id, model_id) = model;
            let subtask = SubtaskPart {
                prompt: text,
                description: command.description.unwrap_or_default(),
                agent: name,
                model: Some(SubtaskModel { provider_id, model_id }),
                command: Some(command.name),
            };
            return Ok(PromptRequest {
                message: request.message,
                agent: request.agent,
                model: Some(asked),
                variant: request.variant,
                parts: vec![(None, PartBody::Subtask(subtask))],
                ..PromptRequest::default()
            });
        }
        let named = match command.source {
            // What somebody else wrote names no files of ours.
            Source::Skill | Source::Mcp => Vec::new(),
            // Of a template that is not trusted only what the person wrote counts.
            Source::Native | Source::Config => {
                let words = if command.is_obeyed { &text } else { &request.arguments };
                let named = mentions::named_in(self, instance, words).await;
                self.shown(instance, info, agent, named).await?
            }
        };
        let text = PartBody::Text(TextPart { text, ..TextPart::default() });
        let mut parts = vec![(None, text)];
        // A file the client has attached itself is not attached twice.
        let is_given = |part: &PartBody| match part {
            PartBody::File(file) => request.parts.iter().any(|(_, given)| same_file(given, file)),
            _ => false,
        };
        parts.extend(named.into_iter().filter(|part| !is_given(part)).map(|part| (None, part)));
        parts.extend(request.parts.iter().cloned().map(|(id, file)| (id, PartBody::File(file))));
        Ok(PromptRequest {
            message: request.message,
            agent: Some(name),
            model: Some(model),
            variant: request.variant.or(command.variant),
            parts,
            ..PromptRequest::default()
        })
    }

    async fn text_of(
        self: &Arc<Self>,
        instance: &Instance,
        info: &Session,
        agent: &Agent,
        command: &Command,
        arguments: &str,
    ) -> Result<String, EngineError> {
        if command.source == Source::Skill && command.template.contains(ALL_ARGUMENTS) {
            return Ok(command.template.replace(ALL_ARGUMENTS, arguments).trim().to_owned());
        }
        if command.source == Source::Skill {
            let behind = if arguments.trim().is_empty() { "" } else { "\n\n" };
            return Ok(format!("{}{behind}{arguments}", command.template).trim().to_owned());
        }
        if command.source == Source::Mcp {
            // The server puts the arguments in, and nothing of what it says runs.
            let asked = instance.mcp.prompt(&command.name, arguments).await;
            let gone = || EngineError::Unknown(format!("Command not found: {:?}", command.name));
            return asked.ok_or_else(gone)?.map_err(|cause| {
                EngineError::Bad(format!(
                    "The MCP server did not answer with the prompt {:?}: {cause}",
                    command.name
                ))
            });
        }
        let text = expand(&command.template, arguments);
        if !command.is_obeyed {
            return Ok(text);
        }
        let found = snippets(&text);
        if found.len() > SNIPPETS_MAX {
            let name = &command.name;
            let count = found.len();
            return Err(EngineError::Bad(format!(
                "The command {name:?} would run {count} shell snippets; {SNIPPETS_MAX} is the most"
            )));
        }
        for snippet in &found {
            self.permit(instance, info, agent, &command.name, &snippet.command).await?;
        }
        if !found.is_empty() {
            // What they do outlives a crash, so it is written down first that they were to run.
            let snippets = found.iter().map(|snippet| snippet.command.clone()).collect();
            let run = Input::RunSnippets { command: command.name.clone(), snippets };
            self.sessions.say(&info.id, vec![run]).await?;
        }
        let printed = found.iter().map(|snippet| self.printed_by(instance, &snippet.command));
        let outputs = join_all(printed).await.into_iter().collect::<Result<Vec<String>, EngineError>>()?;
        Ok(fill(&text, &found, &outputs))
    }

    /// A snippet passes the rules like a command of a model. What a rule asks about waits for a person, and nothing
    /// of the template runs before everything in it is allowed.
    async fn permit(
        self: &Arc<Self>,
        instance: &Instance,
        info: &Session,
        agent: &Agent,
        name: &str,
        snippet: &str,
    ) -> Result<(), EngineError> {
        let roots = roots_of(self, instance).await?;
        let command = snippet.to_owned();
        // It follows links of what the snippet names.
        let reading = self.files.run(&instance.directory, move || command_asks(&roots, &command));
        let asks = reading.await?.map_err(|failure| EngineError::Bad(failure.text))?;
        for ask in asks {
            match self.verdict(info, agent, &ask.wanted()).await? {
                Verdict::Allow => {}
                Verdict::Ask => self.ask_about(instance, info, name, snippet, ask).await?,
                Verdict::Deny(_) => {
                    let permission = ask.permission;
                    return Err(EngineError::Bad(format!(
                        "The command {name:?} would run `{snippet}`, which a rule forbids (permission.{permission}). Allow it there to use the command."
                    )));
                }
            }
        }
        Ok(())
    }

    /// Waits until a person has said whether a snippet may run.
    async fn ask_about(
        self: &Arc<Self>,
        instance: &Instance,
        info: &Session,
        name: &str,
        snippet: &str,
        ask: PermissionAsk,
    ) -> Result<(), EngineError> {
        let PermissionAsk { permission, patterns, always, mut metadata, .. } = ask;
        metadata.insert("template".to_owned(), name.into());
        let waiting = self.directories.ask_unstored(NewRequest {
            session: &info.id,
            directory: &instance.directory,
            project: &info.project_id,
            permission,
            patterns,
            always,
            metadata,
            tool: None,
            kept_at: Some(self.real_checkout(info).await?),
            trust: None,
        });
        match waiting.answered().await {
            Some(PermissionReply::Once | PermissionReply::Always) => Ok(()),
            Some(PermissionReply::Reject) | None => Err(EngineError::Bad(format!(
                "The command {name:?} was not run: you did not allow `{snippet}`."
            ))),
        }
    }

    /// Files that a text names go along only if the agent may read them without asking.
    pub(super) async fn shown(
        &self,
        instance: &Instance,
        info: &Session,
        agent: &Agent,
        named: Vec<PartBody>,
    ) -> Result<Vec<PartBody>, EngineError> {
        if named.is_empty() {
            return Ok(named);
        }
        let roots = roots_of(self, instance).await?;
        let with_asks = move |part: PartBody| {
            let asks = match &part {
                PartBody::File(file) => read_asks(&roots, file),
                _ => Vec::new(),
            };
            (part, asks)
        };
        let looking =
            self.files.run(&instance.directory, || named.into_iter().map(with_asks).collect::<Vec<_>>());
        let mut shown = Vec::new();
        for (part, asks) in looking.await? {
            let mut is_allowed = true;
            for wanted in asks {
                is_allowed &= self.verdict(info, agent, &wanted).await? == Verdict::Allow;
            }
            if is_allowed {
                shown.push(part);
            }
        }
        Ok(shown)
    }

    pub(super) async fn verdict(
        &self,
        info: &Session,
        agent: &Agent,
        wanted: &Wanted,
    ) -> Result<Verdict, EngineError> {
        let of_session = info.permission.as_deref().unwrap_or_default();
        let verdict = permits::verdict(agent, of_session, wanted, &[]);
        if verdict != Verdict::Ask {
            return Ok(verdict);
        }
        let kept = self.store.approvals_at(&self.real_checkout(info).await?).await?;
        let approvals: Vec<Rule> = kept
            .into_iter()
            .map(|row| Rule { permission: row.permission, pattern: row.pattern, action: Action::Allow })
            .collect();
        Ok(permits::verdict(agent, of_session, wanted, &approvals))
    }

    /// The checkout of a session after all links, looked for on a thread that may hang with them.
    pub(super) async fn real_checkout(&self, info: &Session) -> Result<String, EngineError> {
        let session = info.clone();
        self.files.run(&info.directory, move || permits::real_checkout(&session)).await
    }

    /// What a snippet prints.
    async fn printed_by(&self, instance: &Instance, snippet: &str) -> Result<String, EngineError> {
        let settings = instance.tool_settings.clone();
        let directory = PathBuf::from(&instance.directory);
        let arguments = vec!["-c".into(), SNIPPET_FRAME.into(), "snippet".into(), snippet.into()];
        let stop = self.tasks.stopping().child_token();
        // A program enters its directory while it is started, and that may hang. Whoever gave up waiting drops what was
        // started after all, which ends it.
        let starting = self.files.run(&instance.directory, move || {
            // It was read and judged as bash; another shell may understand something else.
            let program =
                find_bash(settings.shell.as_deref()).ok_or_else(|| "there is no bash".to_owned())?;
            let command = process::Command {
                program,
                arguments,
                directory,
                inherited: settings.inherited.clone(),
                variables: settings.variables.clone(),
                timeout: SNIPPET_TIMEOUT,
            };
            command.start_in(settings.sandbox.as_deref(), stop).map_err(|cause| {
                let why = std::error::Error::source(&cause).map(|why| format!(": {why}")).unwrap_or_default();
                format!("{cause}{why}")
            })
        });
        let mut running = starting
            .await?
            .map_err(|why| EngineError::Bad(format!("The snippet `{snippet}` was not run: {why}")))?;
        let mut printed = Vec::new();
        let mut buffer = vec![0; SNIPPET_BYTES_MAX];
        while let Some(bytes) = running.read(&mut buffer).await {
            let room = SNIPPET_BYTES_MAX - printed.len();
            printed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }
}

async fn roots_of(inner: &Inner, instance: &Instance) -> Result<Roots, EngineError> {
    let directory = PathBuf::from(&instance.directory);
    let worktree = PathBuf::from(&instance.worktree);
    let temporary = instance.settings.places().environment.temporary_dir();
    let making = inner.files.run(&instance.directory, move || {
        Roots::new(&directory, &worktree).map(|roots| roots.with_temporary(&temporary))
    });
    making.await?.map_err(|_| EngineError::Bad("The directory of the session cannot be read".to_owned()))
}

/// What reading an attached file would ask for.
fn read_asks(roots: &Roots, file: &FilePart) -> Vec<Wanted> {
    let wanted = |permission: &str, pattern: String| Wanted {
        permission: permission.to_owned(),
        patterns: vec![pattern],
        ..Wanted::default()
    };
    let path = url::Url::parse(&file.url).ok().and_then(|url| url.to_file_path().ok());
    let Some(located) = path.and_then(|path| roots.locate(path).ok()) else { return Vec::new() };
    match located {
        Located::Inside(path) => vec![wanted("read", path.relative().to_owned())],
        Located::Outside(path) => {
            let directory = path.directory().join("*").to_string_lossy().into_owned();
            let path = path.permitted();
            vec![wanted("external_directory", directory), wanted("read", path.relative().to_owned())]
        }
    }
}

fn model_of(text: &str) -> Result<(String, String), EngineError> {
    let (provider, model) = text.split_once('/').unwrap_or((text, ""));
    if provider.is_empty() || model.is_empty() {
        return Err(EngineError::Unknown(format!(
            "Model not found: {text:?}; a model is named provider/model"
        )));
    }
    Ok((provider.to_owned(), model.to_owned()))
}

/// The lines a client wants of it do not matter.
fn same_file(one: &FilePart, other: &FilePart) -> bool {
    let path = |file: &FilePart| url::Url::parse(&file.url).ok()?.to_file_path().ok();
    path(one).is_some_and(|path_of_one| Some(path_of_one) == path(other))
}
