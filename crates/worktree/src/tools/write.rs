//! `write`: a whole file, new or replaced.

use super::{ask, change, diff};
use crate::format::Change;
use crate::path::{FileKind, PathError, WorkPath, Written};
use crate::tool::{Call, Done, Tool, ToolFailure, World, lock_file, spec, text};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use sturdy_session::talk::ToolSpec;

#[derive(Debug)]
pub struct Write(ToolSpec);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    file_path: String,
    content: String,
}

impl Write {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "filePath": text("The file to write, absolute or relative to the working directory"),
            "content": text("The whole new content of the file"),
        });
        Self(spec("write", include_str!("write.md"), properties, &["filePath", "content"]))
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            let path = world.reach(&input.file_path).await?;
            write(world, path, input.content).await
        })
    }
}

async fn write(world: &World, path: WorkPath, content: String) -> Result<Done, ToolFailure> {
    refuse_directory(world, &path).await?;
    let found = change::load_read(world, &path).await?;
    let before = found.as_ref().map_or("", |found| found.text.as_str());
    let shown = path.shown().to_string_lossy().into_owned();
    let diff = diff::difference(&shown, before, &content);
    let metadata = crate::tool::map(json!({ "filepath": shown, "diff": diff.patch }));
    ask::edit(world, vec![path.relative().to_owned()], metadata).await?;
    let acting = world.act().await?;

    let has_bom = found.as_ref().is_some_and(|found| found.has_bom) || content.starts_with('\u{feff}');
    let bytes = change::encode(&content, has_bom);
    let lock = lock_file(path.real()).await;
    let memory = world.memory.clone();
    let expected = found.as_ref().map(|found| found.stamp);
    let target = path.clone();
    let written = world.blocking(move || Ok(memory.write(acting, &target, expected, &bytes)?)).await?;
    let crate::tool::Guarded::Done(written) = written else {
        return Err(ToolFailure::failed(format!(
            "{shown} was changed by somebody else meanwhile. Read it again before writing it."
        )));
    };

    let change = if written == Written::Created { Change::Added } else { Change::Changed };
    change::settle(world, &path, change, lock).await;
    let changed = [path.real().to_owned()];
    let diagnostics = change::diagnose(world, &changed).await;
    let errors = change::diagnostics_text(&diagnostics, &changed);
    let metadata = json!({
        "diagnostics": change::diagnostics_json(&diagnostics),
        "filepath": shown,
        "exists": found.is_some(),
    });
    Ok(Done::new(path.relative(), format!("The file was written.{errors}"), metadata))
}

pub(super) async fn refuse_directory(world: &World, path: &WorkPath) -> Result<(), ToolFailure> {
    let path = path.clone();
    let check = move || match path.kind()? {
        Some(kind @ (FileKind::Directory | FileKind::Pipe | FileKind::Socket | FileKind::Device)) => {
            Err(PathError::NotAFile { path: path.shown().to_owned(), kind }.into())
        }
        _ => Ok(()),
    };
    world.blocking(check).await
}
