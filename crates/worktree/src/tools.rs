//! The built-in tools: one file of code and one of words each.
//!
//! [`builtin`] makes them all; which of them a model is told of is decided by its kind
//! ([`is_offered`]) and by the permission rules, elsewhere.

mod apply_patch;
mod ask;
mod bash;
mod change;
mod diff;
mod edit;
mod glob;
mod grep;
mod invalid;
mod lsp;
mod patch;
mod question;
mod read;
mod skill;
mod task;
mod todo;
mod webfetch;
mod write;

pub use apply_patch::ApplyPatch;
pub use bash::{Bash, command_asks, find_bash, find_shell};
pub use diff::{Difference, difference};
pub use edit::{Edit, Replacement, replace};
pub use glob::Glob;
pub use grep::{Grep, MayShow};
pub(crate) use grep::{Searched, search as grep_lines};
pub use invalid::Invalid;
pub use lsp::LspTool;
pub use patch::{PatchError, Section, parse as parse_patch};
pub use question::QuestionTool;
pub use read::Read;
pub use skill::SkillTool;
pub use task::TaskTool;
pub use todo::TodoWrite;
pub(crate) use webfetch::has_proxy;
pub use webfetch::{NamedBy, WebFetch, fetch_text, is_metadata, is_private};
pub use write::Write;

use crate::tool::Tool;
use std::sync::Arc;

/// All built-in tools, by name. `agents` (name and description) appear in the words of the tool that gives them work.
#[must_use]
pub fn builtin(agents: &[(String, String)]) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(ApplyPatch::new()),
        Arc::new(Bash::new()),
        Arc::new(Edit::new()),
        Arc::new(Glob::new()),
        Arc::new(Grep::new()),
        Arc::new(Invalid::new()),
        Arc::new(QuestionTool::new()),
        Arc::new(Read::new()),
        Arc::new(SkillTool::new()),
        Arc::new(TaskTool::new(agents)),
        Arc::new(TodoWrite::new()),
        Arc::new(WebFetch::new()),
        Arc::new(Write::new()),
    ];
    tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
    tools
}

/// Whether a model is told of a tool, before any rule is asked.
///
/// Models that are trained on patches get those instead of `edit` and `write`. `invalid` is
/// never offered: it answers calls that cannot be understood.
#[must_use]
pub fn is_offered(tool: &str, takes_patches: bool) -> bool {
    match tool {
        "apply_patch" => takes_patches,
        "edit" | "write" => !takes_patches,
        "invalid" => false,
        _ => true,
    }
}
