//! `edit`: one text in a file becomes another.
//!
//! What the model quotes is often nearly right: an indentation lost, a quote escaped. The ladder
//! (`edit/ladder.rs`) tries ever looser readings, and takes the first that fits in one place only.

mod ladder;

pub(super) use ladder::distance;
pub use ladder::{Replacement, replace};

use super::diff::Difference;
use super::write::refuse_directory;
use super::{ask, change, diff};
use crate::format::Change;
use crate::path::WorkPath;
use crate::tool::{Call, Done, Guarded, Tool, ToolFailure, World, lock_file, spec, text};
use change::Found;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use sturdy_session::talk::ToolSpec;

/// Calls of one answer may edit one file at once; each looks again when another was faster.
const TRIES_MAX: usize = 16;

#[derive(Debug)]
pub struct Edit(ToolSpec);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "filePath": text("The file to change, absolute or relative to the working directory"),
            "oldString": text("The text to replace, as it stands in the file"),
            "newString": text("The text to put in its place; must differ from oldString"),
            "replaceAll": { "type": "boolean", "description": "Replace every place where oldString stands (default false)" },
        });
        Self(spec("edit", include_str!("edit.md"), properties, &["filePath", "oldString", "newString"]))
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            if input.old_string == input.new_string {
                let text = "oldString and newString are the same, so there is nothing to change.";
                return Err(ToolFailure::failed(text));
            }
            let path = world.reach(&input.file_path).await?;
            refuse_directory(world, &path).await?;
            edit(world, path, input).await
        })
    }
}

async fn edit(world: &World, path: WorkPath, input: Input) -> Result<Done, ToolFailure> {
    let shown = path.shown().to_string_lossy().into_owned();
    let mut acting = None;
    for _ in 0..TRIES_MAX {
        let found = change::load_read(world, &path).await?;
        let after = changed(&path, &input, found.as_ref())?;
        let before = found.as_ref().map_or("", |found| found.text.as_str());
        let diff = difference(&shown, before, &after);
        let acting = match acting {
            Some(acting) => acting,
            None => {
                let metadata = crate::tool::map(json!({ "filepath": shown, "diff": diff.patch }));
                ask::edit(world, vec![path.relative().to_owned()], metadata).await?;
                *acting.insert(world.act().await?)
            }
        };

        let lock = lock_file(path.real()).await;
        let bytes =
            found.as_ref().map_or_else(|| change::encode(&after, false), |found| found.encode(&after));
        let memory = world.memory.clone();
        let expected = found.as_ref().map(|found| found.stamp);
        let target = path.clone();
        let written = world.blocking(move || Ok(memory.write(acting, &target, expected, &bytes)?)).await?;
        if written == Guarded::Changed {
            continue;
        }

        let change = if found.is_some() { Change::Changed } else { Change::Added };
        let formatted = change::settle(world, &path, change, lock).await;
        let diff = match formatted {
            Some(text) if text != after => difference(&shown, before, &text),
            _ => diff,
        };
        let mut metadata = crate::tool::map(json!({
            "diagnostics": {},
            "diff": diff.patch,
            "filediff": { "file": shown, "patch": diff.patch, "additions": diff.additions, "deletions": diff.deletions },
        }));
        // What was changed is shown while a language server still thinks about it.
        world.report(None, metadata.clone());
        let changed = [path.real().to_owned()];
        let diagnostics = change::diagnose(world, &changed).await;
        let errors = change::diagnostics_text(&diagnostics, &changed);
        metadata.insert("diagnostics".to_owned(), change::diagnostics_json(&diagnostics));
        let metadata = Value::Object(metadata);
        return Ok(Done::new(path.relative(), format!("The file was changed.{errors}"), metadata));
    }
    Err(ToolFailure::failed(format!("{shown} keeps changing. Read it again before changing it.")))
}

/// The difference as it is shown: the ends of lines are the file's affair.
fn difference(name: &str, before: &str, after: &str) -> Difference {
    diff::difference(name, &before.replace("\r\n", "\n"), &after.replace("\r\n", "\n"))
}

/// The new text of the file.
fn changed(path: &WorkPath, input: &Input, found: Option<&Found>) -> Result<String, ToolFailure> {
    let shown = path.shown().display();
    let found = match (found, input.old_string.is_empty()) {
        (None, true) => return Ok(input.new_string.clone()),
        (Some(_), true) => {
            return Err(ToolFailure::failed(format!(
                "{shown} exists, so oldString must not be empty. Quote the text to replace, or use write."
            )));
        }
        (None, false) => {
            return Err(crate::path::PathError::Missing(path.shown().to_owned()).into());
        }
        (Some(found), false) => found,
    };
    let ending = if found.text.contains("\r\n") { "\r\n" } else { "\n" };
    let in_style = |text: &str| text.replace("\r\n", "\n").replace('\n', ending);
    match replace(&found.text, &in_style(&input.old_string), &in_style(&input.new_string), input.replace_all)
    {
        Replacement::Made(text) => Ok(text),
        Replacement::NotFound => Err(ToolFailure::failed(format!(
            "oldString does not stand in {shown}. Quote it as the file has it, with its spaces and indentation."
        ))),
        Replacement::Ambiguous => Err(ToolFailure::failed(format!(
            "oldString stands in several places in {shown}. Quote more lines around the one you mean, or set replaceAll."
        ))),
    }
}
