//! A command by its name: the template is filled in and becomes a prompt (spec: engine §1.8).
//!
//! Arguments go in first, then the output of shell snippets, which run in the session's directory.
//! A skill is a document and not a template: the arguments stand behind it, and nothing in it runs. A
//! prompt of an MCP server is filled in by the server; nothing in it runs and no file it names is read.
//!
//! Not here: which commands there are (`commands.rs`).

use crate::directory::agents::Mode;
use crate::directory::commands::{Command, Source, commands};
use crate::directory::instance::Instance;
use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::requests::mentions;
use crate::requests::prompt::PromptRequest;
use crate::run::request;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use sturdy_session::command::{expand, fill, snippets};
use sturdy_session::id::{MessageId, PartId, SessionId};
use sturdy_session::turn::Input;
use sturdy_session::types::part::{FilePart, PartBody, SubtaskModel, SubtaskPart, TextPart};
use sturdy_session::types::session::Session;
use sturdy_worktree::process;
use sturdy_worktree::tools::find_shell;
use tracing::debug;

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
        let (name, arguments) = (request.command.clone(), request.arguments.clone());
        let info = request::session_info(&self.inner, session).await?;
        let instance = self.inner.instance(&info.directory).await?;
        let command = find(&instance, &name).await?;
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
        let command = "init".to_owned();
        let model = Some(model);
        self.command(session, CommandRequest { command, model, message, ..CommandRequest::default() }).await
    }
}

async fn find(instance: &Instance, name: &str) -> Result<Command, EngineError> {
    let own = commands(&instance.settings, Vec::new());
    // Only a name that we do not know ourselves is worth asking the servers.
    let prompts = match own.iter().any(|command| command.name == name) {
        true => Vec::new(),
        false => instance.mcp.commands().await,
    };
    let all = commands(&instance.settings, prompts);
    let names = all.iter().map(|command| command.name.as_str()).collect::<Vec<_>>().join(", ");
    let unknown = format!("Command not found: {name:?}. Available commands: {names}");
    all.into_iter().find(|command| command.name == name).ok_or(EngineError::Unknown(unknown))
}

async fn note_end(engine: Engine, session: SessionId, asked: MessageId, command: String, arguments: String) {
    let Ok(answer) = engine.answer(&session, &asked).await else { return };
    let executed = Input::Executed { command, arguments, message: answer.id };
    if let Err(cause) = engine.inner.say(&session, vec![executed]).await {
        debug!(%session, %cause, "the end of a command is not noted");
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
        let text = self.text_of(instance, &command, &request.arguments).await?;
        let default = || instance.agents.default_agent().map(|agent| agent.name.clone());
        let name = match command.agent.clone().or_else(|| request.agent.clone()) {
            Some(name) => name,
            None => default()?,
        };
        let agent = instance.agent(&name)?;
        let own = |agent: &crate::directory::agents::Agent| {
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
            Source::Native | Source::Config => mentions::named_in(self, instance, &text).await,
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
        &self,
        instance: &Instance,
        command: &Command,
        arguments: &str,
    ) -> Result<String, EngineError> {
        if command.source == Source::Skill {
            let behind = if arguments.trim().is_empty() { "" } else { "\n\n" };
            return Ok(format!("{}{behind}{arguments}", command.template).trim().to_owned());
        }
        if command.source == Source::Mcp {
            // The server puts the arguments in, and nothing of what it says runs.
            let asked = instance.mcp.prompt(&command.name, arguments).await;
            let gone = || EngineError::Unknown(format!("Command not found: {:?}", command.name));
            return asked.ok_or_else(gone)?.map_err(|cause| {
                EngineError::Bad(format!("The prompt {:?} cannot be had: {cause}", command.name))
            });
        }
        let text = expand(&command.template, arguments);
        let found = snippets(&text);
        if found.len() > SNIPPETS_MAX {
            let (name, count) = (&command.name, found.len());
            return Err(EngineError::Bad(format!(
                "The command {name:?} would run {count} shell snippets; {SNIPPETS_MAX} is the most"
            )));
        }
        let outputs = join_all(found.iter().map(|snippet| self.printed_by(instance, &snippet.command))).await;
        Ok(fill(&text, &found, &outputs))
    }

    /// What a snippet prints; nothing, if it cannot be run.
    async fn printed_by(&self, instance: &Instance, snippet: &str) -> String {
        let settings = &instance.tool_settings;
        let command = process::Command {
            program: find_shell(settings.shell.as_deref()),
            arguments: vec!["-c".into(), SNIPPET_FRAME.into(), "snippet".into(), snippet.into()],
            directory: instance.directory.clone().into(),
            variables: settings.variables.clone(),
            timeout: SNIPPET_TIMEOUT,
        };
        let Ok(mut running) = command.start(self.tasks.stopping().child_token()) else {
            return String::new();
        };
        let (mut printed, mut buffer) = (Vec::new(), vec![0; SNIPPET_BYTES_MAX]);
        while let Some(bytes) = running.read(&mut buffer).await {
            let room = SNIPPET_BYTES_MAX - printed.len();
            printed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        String::from_utf8_lossy(&printed).into_owned()
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
