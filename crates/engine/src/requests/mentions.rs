//! What a text names with `@`: files and directories that exist, else agents.
//!
//! In templates of commands, and in what a model writes for a sub-agent. A file that is named here is read without
//! asking, so whoever uses this leaves out what would have to be asked for (`Inner::shown`).

use crate::directory::instance::Instance;
use crate::engine::Inner;
use std::path::{Path, PathBuf};
use sturdy_session::mention::{Mention, MentionedPath, mentions};
use sturdy_session::types::part::{AgentPart, FilePart, PartBody};
use url::Url;

/// More are left as the words they are.
const MENTIONS_MAX: usize = 64;

/// The parts a text stands for beside itself, in the order they are named.
pub(crate) async fn named_in(inner: &Inner, instance: &Instance, text: &str) -> Vec<PartBody> {
    let found: Vec<Mention> = mentions(text).into_iter().take(MENTIONS_MAX).collect();
    let home = inner.options.environment.filled("HOME").map(PathBuf::from);
    // Without version control there is no worktree; paths are then meant from where the work is done.
    let base = if instance.worktree == "/" { &instance.directory } else { &instance.worktree };
    let base = PathBuf::from(base);
    let looked = inner.files.run(&instance.directory, move || {
        let look = |mention: Mention| {
            let part = place(&mention, home.as_deref(), &base).and_then(|path| file(&mention.name, &path));
            (mention.name, part)
        };
        found.into_iter().map(look).collect::<Vec<_>>()
    });
    let agent = |name: String| {
        let is_agent = instance.agents.get(&name).is_some();
        is_agent.then_some(PartBody::Agent(AgentPart { name, source: None }))
    };
    let named = looked.await.unwrap_or_default().into_iter();
    named.filter_map(|(name, file)| file.map(PartBody::File).or_else(|| agent(name))).collect()
}

fn place(mention: &Mention, home: Option<&Path>, base: &Path) -> Option<PathBuf> {
    match mention.place() {
        MentionedPath::Home(below) => Some(home?.join(below)),
        MentionedPath::Worktree(below) => Some(base.join(below)),
    }
}

fn file(name: &str, path: &Path) -> Option<FilePart> {
    let found = std::fs::metadata(path).ok()?;
    let mime = if found.is_dir() { "application/x-directory" } else { "text/plain" };
    let url = Url::from_file_path(path).ok()?.to_string();
    Some(FilePart { mime: mime.to_owned(), filename: Some(name.to_owned()), url, source: None })
}
