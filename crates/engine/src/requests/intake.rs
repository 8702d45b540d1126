//! The parts of a prompt on their way in: files are read, agents are looked up.
//!
//! A part becomes one or more stored parts, in order. What the client wrote is kept, with the id the
//! client chose for it; what the model needs beside it is added as synthetic text. A file that cannot
//! be read is no reason to refuse a prompt: the model is told so, and clients are shown why.
//!
//! The user's own files are read without asking and wherever they are: the user named them. Reading
//! happens on threads that may wait for a disk, and everything has a bound.
//!
//! Not here: agent and model of the prompt (`prompt.rs`), `@` in texts (`mentions.rs`).

mod resource;

use crate::directory::agents::Agent;
use crate::directory::instance::Instance;
use crate::engine::Inner;
use crate::error::EngineError;
use crate::run::data_url::{self, DataUrl};
use crate::run::image::{self, Resized};
use crate::run::memory::{self, SessionMemory, keep_notes};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sturdy_session::id::PartId;
use sturdy_session::json::Map;
use sturdy_session::mention::agent_note;
use sturdy_session::rules::{Verdict, judge};
use sturdy_session::types::failure::Failure;
use sturdy_session::types::part::{AgentPart, FilePart, FileSourceKind, PartBody, SubtaskPart, TextPart};
use sturdy_session::types::session::Session;
use sturdy_worktree::path::Roots;
use sturdy_worktree::tool::{Call, Caller, Done, Handles, ToolFailure, World, run as run_tool};
use sturdy_worktree::tools::Read;
use url::Url;

/// Files one prompt may carry.
const FILES_MAX: usize = 256;
/// A file that is sent whole is at most this large, and so are all of one prompt together three times.
const WHOLE_BYTES_MAX: u64 = 10 * 1024 * 1024;
const WHOLE_BYTES_SUM_MAX: u64 = 3 * WHOLE_BYTES_MAX;

const PLAIN: &str = "text/plain";
const DIRECTORY: &str = "application/x-directory";

type Parts = Vec<(Option<PartId>, PartBody)>;

/// What becomes of the parts, and what could not be read.
#[derive(Debug, Default)]
pub(crate) struct ResolvedParts {
    pub(crate) parts: Parts,
    pub(crate) failures: Vec<Failure>,
}

/// Who asks, and where.
pub(crate) struct Intake<'a> {
    pub(crate) inner: &'a Arc<Inner>,
    pub(crate) instance: &'a Instance,
    pub(crate) session: &'a Session,
    pub(crate) agent: &'a Agent,
    /// What the session has read: a file that was attached may be changed.
    pub(crate) memory: Arc<SessionMemory>,
}

/// Why a file is not there for the model.
struct Unreadable(String);

impl Intake<'_> {
    pub(crate) async fn take(&self, parts: Parts) -> Result<ResolvedParts, EngineError> {
        let files = parts.iter().filter(|(_, body)| matches!(body, PartBody::File(_))).count();
        if files > FILES_MAX {
            return Err(EngineError::Bad(format!(
                "A prompt may carry {FILES_MAX} files, this one has {files}"
            )));
        }
        let mut taken = ResolvedParts::default();
        let mut room = WHOLE_BYTES_SUM_MAX;
        for (id, body) in parts {
            match body {
                PartBody::Text(text) => taken.parts.push((id, PartBody::Text(text))),
                PartBody::Agent(agent) => self.agent(id, agent, &mut taken)?,
                PartBody::Subtask(subtask) => self.subtask(id, subtask, &mut taken)?,
                PartBody::File(file) => self.file(id, file, &mut room, &mut taken).await?,
                _ => {
                    let kinds = "text, file, agent and subtask";
                    return Err(EngineError::Bad(format!("The parts of a prompt are {kinds}")));
                }
            }
        }
        Ok(taken)
    }

    fn agent(
        &self,
        id: Option<PartId>,
        part: AgentPart,
        taken: &mut ResolvedParts,
    ) -> Result<(), EngineError> {
        let name = self.instance.agent(&part.name)?.name.clone();
        let mut rules = self.agent.permission.clone();
        rules.extend(self.session.permission.iter().flatten().cloned());
        let verdict = judge("task", std::slice::from_ref(&name), &rules, &[]);
        taken.parts.push((id, PartBody::Agent(part)));
        taken.note(agent_note(&name, matches!(verdict, Verdict::Deny(_))));
        Ok(())
    }

    fn subtask(
        &self,
        id: Option<PartId>,
        part: SubtaskPart,
        taken: &mut ResolvedParts,
    ) -> Result<(), EngineError> {
        self.instance.agent(&part.agent)?;
        if let Some(model) = &part.model {
            self.instance.model(&model.provider_id, &model.model_id)?;
        }
        taken.parts.push((id, PartBody::Subtask(part)));
        Ok(())
    }

    async fn file(
        &self,
        id: Option<PartId>,
        file: FilePart,
        room: &mut u64,
        taken: &mut ResolvedParts,
    ) -> Result<(), EngineError> {
        if let Some(FileSourceKind::Resource { client_name, uri }) =
            file.source.as_ref().map(|source| &source.kind)
        {
            let pieces = self.instance.mcp.read(client_name, uri).await;
            resource::take(&file, uri, pieces, taken);
            return Ok(());
        }
        let scheme = file.url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
        match scheme.as_str() {
            "data" if file.mime == PLAIN => take_text(id, file, taken),
            "file" => self.local(id, file, room, taken).await,
            _ => {
                self.whole_file(id, file, taken).await;
                Ok(())
            }
        }
    }

    async fn local(
        &self,
        id: Option<PartId>,
        mut file: FilePart,
        room: &mut u64,
        taken: &mut ResolvedParts,
    ) -> Result<(), EngineError> {
        let target = match Target::of(&file) {
            Ok(target) => target,
            Err(why) => {
                taken.fail(&file.url, why);
                return Ok(());
            }
        };
        let shown = target.path.display().to_string();
        let is_directory = file.mime == DIRECTORY || self.is_directory(&target.path).await;
        if is_directory {
            file.mime = DIRECTORY.to_owned();
        }
        taken.note(format!("The read tool was called for the user with {}", target.input(is_directory)));
        if is_directory || file.mime == PLAIN {
            match self.read(&target, is_directory).await {
                Ok(done) => {
                    taken.note_read(done.output, done.metadata);
                    if done.attachments.is_empty() {
                        taken.parts.push((id, PartBody::File(file)));
                    } else {
                        // What was named as text is an image or a document: the model gets that.
                        let source = file.source;
                        let attached = done.attachments.into_iter().map(|one| FilePart {
                            mime: one.mime,
                            filename: file.filename.clone().or(one.filename),
                            url: one.url,
                            source: source.clone(),
                        });
                        let ids = std::iter::once(id).chain(std::iter::repeat(None));
                        for (id, attached) in ids.zip(attached) {
                            self.whole_file(id, attached, taken).await;
                        }
                    }
                }
                Err(why) => taken.fail(&shown, why),
            }
            return Ok(());
        }
        match self.whole(&target.path, (*room).min(WHOLE_BYTES_MAX)).await {
            Ok(bytes) => {
                *room -= bytes.len() as u64;
                file.url = data_url::url(&file.mime, &bytes);
                self.whole_file(id, file, taken).await;
            }
            Err(why) => taken.fail(&shown, why),
        }
        Ok(())
    }

    /// A file that the model gets as it is. An image that a provider would refuse, with every later request
    /// of the conversation, is made smaller, or told of instead.
    async fn whole_file(&self, id: Option<PartId>, file: FilePart, taken: &mut ResolvedParts) {
        if !image::is_image(&file.mime) {
            return taken.parts.push((id, PartBody::File(file)));
        }
        let limits = self.instance.settings.images();
        let look = move || (image::look(&file.url, &limits), file);
        match tokio::task::spawn_blocking(look).await {
            Ok((Ok(None), file)) => taken.parts.push((id, PartBody::File(file))),
            Ok((Ok(Some(Resized { mime, url })), file)) => {
                let file = FilePart { mime: mime.to_owned(), url, ..file };
                taken.parts.push((id, PartBody::File(file)));
            }
            Ok((Err(why), file)) => {
                let name = file.filename.unwrap_or(file.mime);
                taken.fail(&name, Unreadable(why.to_string()));
            }
            Err(_) => taken.fail("An image", Unreadable("Reading it was given up.".to_owned())),
        }
    }

    async fn is_directory(&self, path: &Path) -> bool {
        let path = path.to_owned();
        self.inner.files.run(&self.instance.directory, move || path.is_dir()).await.unwrap_or(false)
    }

    /// What the model would be shown if it read the file itself.
    async fn read(&self, target: &Target, is_directory: bool) -> Result<Done, Unreadable> {
        let memory = self.memory.for_call(&self.inner.store, &self.session.id).await;
        let world = World {
            roots: self.roots().await?,
            settings: self.instance.tool_settings.clone(),
            memory: memory.clone(),
            caller: Caller::User,
            stop: self.inner.tasks.stopping().child_token(),
            handles: Handles::alone(),
        };
        let id = self.inner.clock.stamp().ulid();
        let call = Call { id, name: "read".to_owned(), input: target.fields(is_directory) };
        let mut done = run_tool(&Read::new(), call, &world).await?;
        keep_notes(&memory, &mut done.metadata);
        Ok(done)
    }

    /// The bytes of a file, if they are not too many.
    async fn whole(&self, path: &Path, bytes_max: u64) -> Result<Vec<u8>, Unreadable> {
        let roots = self.roots().await?;
        let path = path.to_owned();
        let read = move || {
            let file = roots.locate(&path).map(sturdy_worktree::path::Located::trusted)?.open_file()?;
            let mut bytes = Vec::new();
            let read = file.take(bytes_max + 1).read_to_end(&mut bytes);
            read.map_err(|cause| ToolFailure::failed(cause.to_string()))?;
            if bytes.len() as u64 > bytes_max {
                return Err(ToolFailure::failed(format!("It is larger than {bytes_max} bytes.")));
            }
            Ok(bytes)
        };
        in_background(read).await
    }

    async fn roots(&self) -> Result<Roots, Unreadable> {
        let directory = PathBuf::from(&self.session.directory);
        let worktree = PathBuf::from(&self.instance.worktree);
        in_background(move || Ok(Roots::new(&directory, &worktree)?)).await
    }
}

/// A local file and which lines of it.
struct Target {
    path: PathBuf,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Target {
    fn of(file: &FilePart) -> Result<Self, Unreadable> {
        let not_a_path = || Unreadable("It is not a path on this machine.".to_owned());
        let url = Url::parse(&file.url).map_err(|_| not_a_path())?;
        let path = url.to_file_path().map_err(|()| not_a_path())?;
        let line = |name: &str| {
            let (_, value) = url.query_pairs().find(|(key, _)| key == name)?;
            value.parse::<u64>().ok()
        };
        let start = line("start");
        let mut end = line("end");
        // A symbol is named by its first line; its range says where it ends.
        if let Some(FileSourceKind::Symbol { range, .. }) = file.source.as_ref().map(|source| &source.kind)
            && start.is_some()
            && start == end
        {
            end = end.max(Some(range.end.line + 1));
        }
        let offset = start.map(|start| start.max(1));
        let limit = end.map(|end| end.saturating_sub(offset.unwrap_or(1) - 1).max(1));
        Ok(Self { path, offset, limit })
    }

    /// The arguments of the call that reads it.
    fn fields(&self, is_directory: bool) -> Map {
        let mut fields = Map::from_iter([("filePath".to_owned(), json!(self.path.to_string_lossy()))]);
        if !is_directory {
            fields.extend(self.offset.map(|offset| ("offset".to_owned(), json!(offset))));
            fields.extend(self.limit.map(|limit| ("limit".to_owned(), json!(limit))));
        }
        fields
    }

    fn input(&self, is_directory: bool) -> Value {
        Value::Object(self.fields(is_directory))
    }
}

impl ResolvedParts {
    /// Words for the model that nobody typed.
    fn note(&mut self, text: String) {
        let text = TextPart { text, synthetic: Some(true), ..TextPart::default() };
        self.parts.push((None, PartBody::Text(text)));
    }

    /// What the model would have read itself, with what was seen of the file.
    fn note_read(&mut self, text: String, metadata: Map) {
        let metadata = memory::notes_of(metadata);
        let text = TextPart { text, synthetic: Some(true), metadata, ..TextPart::default() };
        self.parts.push((None, PartBody::Text(text)));
    }

    fn fail(&mut self, what: &str, why: Unreadable) {
        let text = format!("{what} could not be read. {}", why.0);
        self.failures.push(Failure::unknown(text.clone()));
        self.note(text);
    }
}

impl From<ToolFailure> for Unreadable {
    fn from(failure: ToolFailure) -> Self {
        Self(failure.text)
    }
}

/// The text of a file that came with the prompt.
fn take_text(id: Option<PartId>, file: FilePart, taken: &mut ResolvedParts) -> Result<(), EngineError> {
    let bytes = DataUrl::parse(&file.url).and_then(|data| data.bytes());
    let bytes =
        bytes.ok_or_else(|| EngineError::Bad("A data URL of the prompt cannot be decoded".to_owned()))?;
    let name = file.filename.clone().unwrap_or_default();
    taken.note(format!("The read tool was called for the user with {}", json!({ "filePath": name })));
    taken.note(String::from_utf8_lossy(&bytes).into_owned());
    taken.parts.push((id, PartBody::File(file)));
    Ok(())
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, Unreadable> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Unreadable::from),
        Err(_) => Err(Unreadable("Reading it was given up.".to_owned())),
    }
}
