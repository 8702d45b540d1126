//! One directory: its project, its settings, its agents and models.
//!
//! Made on first use and kept until somebody says that the configuration changed. Sessions do not
//! belong to it: they live in the store and survive it.

use crate::directory::Directories;
use crate::directory::agents::{Agent, Agents};
use crate::directory::branch::read_head;
use crate::directory::config::{ConfigError, Settings, Warning};
use crate::directory::context;
use crate::directory::formatters::formatters;
use crate::directory::instructions::{Fetched, Instruction};
use crate::directory::languages;
use crate::directory::mcp::McpServers;
use crate::directory::sandbox::sandbox;
use crate::directory::variables;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::records::{self, readable};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use sturdy_llm::auth::Credentials;
use sturdy_llm::catalog::Sources;
use sturdy_llm::{Catalog, Http, ModelEntry};
use sturdy_session::id::SessionId;
use sturdy_session::rules::{action, is_hidden};
use sturdy_session::turn::PathPair;
use sturdy_session::types::event::Event;
use sturdy_session::types::message::UserMessage;
use sturdy_session::types::project::{GLOBAL, Project, ProjectTime, Vcs};
use sturdy_session::types::session::{Action, Rule, Session};
use sturdy_worktree::bound::Limits;
use sturdy_worktree::format::Formatter;
use sturdy_worktree::lsp::{Lsp, Server};
use sturdy_worktree::process::{Inherited, STORE, Sandbox};
use sturdy_worktree::tool::{Reach, Settings as ToolSettings, Skill, Tool};
use sturdy_worktree::tools::{LspTool, TaskTool};
use sturdy_worktree::vcs::Checkout;
use tracing::warn;

pub struct Instance {
    pub directory: String,
    /// The repository's top, or `/` outside one.
    pub worktree: String,
    /// The session's `path`: where the directory lies below the worktree.
    pub path: String,
    pub project: Project,
    pub settings: Arc<Settings>,
    pub agents: Agents,
    /// Made again when a credential changes; the rest of the directory is not disturbed.
    catalog: Mutex<Arc<Catalog>>,
    /// What we bring along for a model to call, by name.
    pub tools: Vec<Arc<dyn Tool>>,
    pub mcp: McpServers,
    pub(crate) tool_settings: Arc<ToolSettings>,
    /// Instructions from the network.
    pub(crate) fetched: Fetched,
    checkout: Option<Checkout>,
    /// What its `HEAD` said when it was last looked at.
    pub(crate) head: Mutex<Option<String>>,
    /// The project that the checkout was before, if it has become another one.
    pub(crate) former_project: Option<String>,
    /// Set when the sessions from before it became this project have followed.
    pub(crate) adopted: tokio::sync::OnceCell<()>,
}
impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// Lets `webfetch` and addresses among the instructions reach this machine and its networks.
const REACH_PRIVATE: &str = "STURDY_REACH_PRIVATE";

/// How long a command may run when it does not say so itself.
const BASH_TIMEOUT: &str = "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS";

/// The tool `lsp` is an experiment of the reference, switched on by either.
const LSP_TOOL: [&str; 2] = ["OPENCODE_EXPERIMENTAL_LSP_TOOL", "OPENCODE_EXPERIMENTAL"];

/// What was read of a directory.
struct Read {
    found: sturdy_worktree::project::Project,
    settings: Arc<Settings>,
    catalog: Catalog,
    formatters: Vec<Formatter>,
    servers: Vec<Server>,
    sandbox: Option<Sandbox>,
    head: Option<String>,
}

/// Makes the providers and models of a configuration, with the credentials that are stored now.
pub(crate) struct CatalogMaker {
    environment: Environment,
    http: Http,
}

impl CatalogMaker {
    pub(crate) fn make(&self, settings: &Settings) -> Catalog {
        let environment = &self.environment;
        let credentials = environment.credentials().unwrap_or_else(|cause| {
            warn!(%cause, "stored credentials cannot be read");
            Credentials::default()
        });
        let (providers, redirected) = settings.providers();
        let catalog = Catalog::build(&Sources {
            config: &providers,
            redirected: &redirected,
            cached: &environment.cached_models(),
            enabled: settings.enabled_providers(),
            disabled: settings.disabled_providers(),
            env: &|name| environment.get(name).map(str::to_owned),
            credentials: &credentials,
            http: self.http.clone(),
        });
        catalog.warnings.iter().for_each(|message| warn!("{message}"));
        catalog
    }
}

impl Directories {
    pub(crate) async fn instance(&self, directory: &str) -> Result<Arc<Instance>, EngineError> {
        let directory = absolute(&self.default_directory, directory);
        let cell = self.instances.cell(&directory);
        cell.get_or_try_init(|| self.make(directory)).await.cloned()
    }

    /// The instance a session belongs to.
    pub(crate) async fn instance_of(&self, session: &SessionId) -> Result<Arc<Instance>, EngineError> {
        let info = records::session_info(&self.store, session).await?;
        self.instance(&info.directory).await
    }

    async fn make(&self, directory: String) -> Result<Arc<Instance>, EngineError> {
        let place = Path::new(&directory);
        let environment = &self.environment;
        let Read { found, settings, catalog, formatters, servers, sandbox, head } =
            self.read(&directory).await?;
        let worktree = found.worktree.to_string_lossy().into_owned();
        let agents = Agents::build(&settings)?;
        let inherited = variables::inherited(&settings, &catalog, place);
        let catalog = Mutex::new(Arc::new(catalog));
        let project = self.note_project(&found, &directory).await?;
        let checkout =
            found.git.as_ref().map(|dirs| Checkout { top: found.worktree.clone(), dirs: dirs.clone() });
        let path = found.path_of(place);
        let skills = skills_of(&settings);
        let mut tools = sturdy_worktree::tools::builtin(&agents.delegated(|_| true));
        if LSP_TOOL.iter().any(|flag| environment.is_on(flag)) {
            tools.push(Arc::new(LspTool::new()));
        }
        self.extensions.add_tools(&mut tools);
        let mut tool_settings = tool_settings(&settings, skills, self.output_dir());
        tool_settings.inherited = inherited.clone();
        tool_settings.obeys_everybody = environment.trusts_all();
        tool_settings.variables.push((STORE.into(), self.realm().into()));
        if environment.is_on(REACH_PRIVATE) {
            tool_settings.reach = Reach::Anywhere;
        }
        tool_settings.sandbox = sandbox.map(Arc::new);
        tool_settings.lsp = self.languages(servers, &settings, place, &project.id, &inherited);
        let timeout_ms = environment.filled(BASH_TIMEOUT).and_then(|ms| ms.parse().ok()).filter(|ms| *ms > 0);
        tool_settings.command_timeout_ms = timeout_ms.unwrap_or(tool_settings.command_timeout_ms);
        tool_settings.formatters = formatters;
        let mcp = McpServers::new(self, &directory, &project.id, &settings, &inherited);
        if self.instances.is_started(&directory) {
            mcp.start();
        }
        Ok(Arc::new(Instance {
            path,
            directory,
            worktree,
            project,
            settings,
            agents,
            catalog,
            tools,
            mcp,
            tool_settings: Arc::new(tool_settings),
            fetched: Fetched::default(),
            head: Mutex::new(head),
            checkout,
            former_project: found.former_id,
            adopted: tokio::sync::OnceCell::new(),
        }))
    }

    /// Whether the directory can be made anew from what its files say now.
    pub(super) async fn check(&self, directory: &str) -> Result<(), EngineError> {
        let read = self.read(directory).await?;
        Agents::build(&read.settings)?;
        Ok(())
    }

    /// What stands in the files of a directory. Any of them may lie on a mount that hangs.
    async fn read(&self, directory: &str) -> Result<Read, EngineError> {
        let place = PathBuf::from(directory);
        let environment = self.environment.clone();
        let trust = self.trust.clone();
        let catalog = self.catalog_maker();
        let runtime = tokio::runtime::Handle::current();
        let reading = move || {
            let found = runtime.block_on(sturdy_worktree::project::resolve(&place));
            let settings = Arc::new(trust.load(&place, &found.worktree, &environment)?);
            let catalog = catalog.make(&settings);
            let formatters = formatters(&settings, &place, &found.worktree);
            let servers = languages::servers(&settings, &place, &found.worktree);
            let sandbox = sandbox(&settings, &place, &found);
            let head = found.git.as_ref().and_then(|dirs| read_head(&dirs.own.join("HEAD")));
            Ok(Read { found, settings, catalog, formatters, servers, sandbox, head })
        };
        self.files.run(directory, reading).await?
    }

    pub(crate) fn catalog_maker(&self) -> CatalogMaker {
        CatalogMaker { environment: self.environment.clone(), http: self.http.clone() }
    }

    /// The project of a session was set up by the command for that.
    pub(crate) async fn note_initialised(&self, session: &SessionId) -> Result<(), EngineError> {
        let now = self.clock.now();
        let id = self.instance_of(session).await?.project.id.clone();
        let Some(text) = self.store.project(&id).await? else { return Ok(()) };
        let mut project = records::project(&id, &text)?;
        project.time.initialized = Some(now);
        let text = serde_json::to_string(&project).expect("BUG: a project is always JSON");
        self.store.put_project(&id, text, now).await?;
        self.feed.tell(now, None, None, Event::ProjectUpdated(Box::new(project)));
        Ok(())
    }

    /// Keeps the record of a project, and gives it as this directory sees it. A repository without a commit has no id
    /// of its own: it is listed with what is in no repository, and is one all the same.
    async fn note_project(
        &self,
        found: &sturdy_worktree::project::Project,
        directory: &str,
    ) -> Result<Project, EngineError> {
        let worktree = found.worktree.to_string_lossy().into_owned();
        if found.id != GLOBAL {
            return self.keep_project(found, worktree, directory).await;
        }
        let shared = self.keep_project(found, "/".to_owned(), directory).await?;
        Ok(Project { worktree, vcs: found.vcs.map(|_| Vcs::Git), ..shared })
    }

    /// The stored record: its first worktree, the others beside it.
    async fn keep_project(
        &self,
        found: &sturdy_worktree::project::Project,
        worktree: String,
        directory: &str,
    ) -> Result<Project, EngineError> {
        let now = self.clock.now();
        let known = self.store.project(&found.id).await?;
        let known = known.and_then(|text| readable(records::project(&found.id, &text)));
        let mut project = known.unwrap_or_else(|| Project {
            id: found.id.clone(),
            worktree: worktree.clone(),
            vcs: found.vcs.map(|_| Vcs::Git),
            name: None,
            icon: None,
            commands: None,
            time: ProjectTime { created: now, updated: now, initialized: None },
            sandboxes: Vec::new(),
        });
        project.time.updated = now;
        if project.id == GLOBAL {
            // It has no place of its own, whatever was written before.
            project.worktree.clone_from(&worktree);
            project.vcs = None;
            project.sandboxes.clear();
        }
        let mut sandboxes = project.sandboxes.clone();
        let first = project.worktree.clone();
        let looking = self.files.run(directory, move || {
            sandboxes.retain(|other| Path::new(other).is_dir());
            (sandboxes, Path::new(&first).is_dir())
        });
        // One that does not answer is not known to be gone.
        let (sandboxes, is_there) = looking.await.unwrap_or((project.sandboxes, true));
        project.sandboxes = sandboxes;
        if !is_there {
            // The checkout was moved, or another one is what is left of the project.
            project.sandboxes.retain(|other| *other != worktree);
            project.worktree.clone_from(&worktree);
        }
        if project.worktree != worktree && !project.sandboxes.contains(&worktree) {
            project.sandboxes.push(worktree);
        }
        let text = serde_json::to_string(&project).expect("BUG: a project is always JSON");
        self.store.put_project(&project.id, text, now).await?;
        self.feed.tell(now, None, None, Event::ProjectUpdated(Box::new(project.clone())));
        Ok(project)
    }
}

impl Instance {
    pub fn agent(&self, name: &str) -> Result<&Agent, EngineError> {
        self.agents.get(name).ok_or_else(|| {
            let known: Vec<_> = self.agents.visible().map(|agent| agent.name.as_str()).collect();
            EngineError::Unknown(format!("Agent not found: {name:?}. Available agents: {}", known.join(", ")))
        })
    }

    /// What the configuration says, with every remark about it.
    #[must_use]
    pub fn config(&self) -> serde_json::Value {
        let catalog = self.catalog();
        let warning = |message: &String| Warning { message: message.clone(), file: None, line: None };
        self.settings.wire_with(&catalog.warnings.iter().map(warning).collect::<Vec<_>>())
    }

    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn renew_catalog(&self, catalog: Catalog) {
        variables::hide(self.inherited(), &self.settings, &catalog, Path::new(&self.directory));
        *self.catalog.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
    }

    pub fn model(&self, provider: &str, model: &str) -> Result<Arc<ModelEntry>, EngineError> {
        let entry = self.catalog().model(provider, model);
        let entry = entry.map_err(|cause| EngineError::Unknown(cause.to_string()))?;
        variables::hide_keys_of(self.inherited(), &entry, &self.directory);
        Ok(entry)
    }

    /// What commands, MCP servers and terminals of this directory inherit.
    #[must_use]
    pub fn inherited(&self) -> &Inherited {
        &self.tool_settings.inherited
    }

    /// A tool by its name. One of an MCP server may have to wait until the server is there.
    pub async fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        match self.tools.iter().find(|tool| tool.spec().name == name) {
            Some(own) => Some(own.clone()),
            None => self.mcp.tool(name).await,
        }
    }

    /// Everything a model may call here: our own, and what the MCP servers that were started offer now.
    pub async fn all_tools(&self) -> Vec<Arc<dyn Tool>> {
        let is_ours = |tool: &Arc<dyn Tool>| self.tools.iter().any(|own| own.spec().name == tool.spec().name);
        let mut all = self.tools.clone();
        all.extend(self.mcp.tools().await.into_iter().filter(|tool| !is_ours(tool)));
        all
    }

    /// The tools that neither rules nor the prompt switch off. A call of any other is not understood. Starts the
    /// servers: whoever asks is about to use them.
    pub(crate) async fn tools_left(
        &self,
        agent: &Agent,
        session: &Session,
        user: &UserMessage,
    ) -> Vec<Arc<dyn Tool>> {
        let mut rules = agent.permission.clone();
        rules.extend(session.permission.iter().flatten().cloned());
        let mut floor = agent.floor.clone();
        floor.extend(session.permission.iter().flatten().cloned());
        let switched_off = |name: &str| user.tools.as_ref().and_then(|tools| tools.get(name)) == Some(false);
        let hidden = |name: &str| is_hidden(name, &rules) || is_hidden(name, &floor);
        self.mcp.start();
        let mut left = self.all_tools().await;
        left.retain(|tool| !switched_off(&tool.spec().name) && !hidden(&tool.spec().name));
        let denies = |rules: &[Rule], name: &str| action("task", name, rules) == Action::Deny;
        let may_be_given = |name: &str| !denies(&rules, name) && !denies(&floor, name);
        if self.agents.delegates().any(|agent| !may_be_given(&agent.name)) {
            let allowed = self.agents.delegated(may_be_given);
            let task = left.iter_mut().find(|tool| tool.spec().name == "task");
            task.into_iter().for_each(|task| *task = Arc::new(TaskTool::new(&allowed)));
        }
        left
    }

    /// The language servers, where the configuration has some.
    #[must_use]
    pub fn lsp(&self) -> Option<&Arc<Lsp>> {
        self.tool_settings.lsp.as_ref()
    }

    /// The checkout the directory is in, if it is in one.
    #[must_use]
    pub fn checkout(&self) -> Option<&Checkout> {
        self.checkout.as_ref()
    }

    /// What runs after a file was changed, and what could.
    #[must_use]
    pub fn formatters(&self) -> &[Formatter] {
        &self.tool_settings.formatters
    }

    #[must_use]
    pub fn paths(&self) -> PathPair {
        PathPair { cwd: self.directory.clone(), root: self.worktree.clone() }
    }

    pub(crate) fn system_text(
        &self,
        agent: &Agent,
        entry: &ModelEntry,
        instructions: Vec<Instruction>,
        structured: bool,
        extra: Option<&str>,
    ) -> Vec<String> {
        context::system_text(self, agent, entry, instructions, structured, extra)
    }
}

/// How tools behave here, from the configuration.
fn tool_settings(settings: &Settings, skills: Vec<Skill>, output_dir: PathBuf) -> ToolSettings {
    let mut tools = ToolSettings::new(output_dir);
    let output = settings.tool_output();
    let or = |given: Option<u64>, fallback: usize| given.map_or(fallback, |most| most as usize);
    let Limits { lines_max, bytes_max } = tools.limits;
    tools.limits =
        Limits { lines_max: or(output.max_lines, lines_max), bytes_max: or(output.max_bytes, bytes_max) };
    tools.shell = settings.shell().map(PathBuf::from);
    tools.read_before_write = settings.read_before_write();
    tools.skills = skills;
    tools
}

fn skills_of(settings: &Settings) -> Vec<Skill> {
    let skill = |skill: &crate::directory::skills::Skill| Skill {
        name: skill.name.clone(),
        description: skill.description.clone().unwrap_or_default(),
        directory: skill.directory(),
        content: skill.content.clone(),
    };
    settings.skills().iter().map(skill).collect()
}

/// The directory a request names, relative to the server's own.
pub(crate) fn absolute(base: &Path, directory: &str) -> String {
    let path: PathBuf = base.join(directory);
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean.to_string_lossy().into_owned()
}

impl From<ConfigError> for EngineError {
    fn from(cause: ConfigError) -> Self {
        Self::Config(cause)
    }
}
