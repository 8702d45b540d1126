//! What people ask of sessions: prompts, commands, their own shell, forks, edits.
//!
//! Each is looked up and checked here, against the directory's settings, and handed to the session as one
//! input. Whoever asks is answered when it is durable.
//!
//! Not here: what the session makes of it (`sturdy-session`), and what is done then (`run`).

mod adopt;
mod backgrounds;
mod change_settings;
mod context;
mod credentials;
mod edits;
mod fork;
pub(crate) mod intake;
mod invoke;
mod mentions;
mod permission;
mod projects;
pub(crate) mod prompt;
pub(crate) mod revert;
pub(crate) mod sessions;
mod shares;
mod shell;
pub(crate) mod subagents;
mod summarize;
mod trust;

pub use change_settings::ChangedSettings;
pub use invoke::CommandRequest;
pub use permission::WantedPermission;
pub use projects::ProjectEdit;
pub use prompt::PromptRequest;
pub use revert::{LeftOutFile, PlannedFile, RevertPlan, RevertRequest, Unreverted};
pub use sessions::NewSession;
pub use shell::ShellRequest;
