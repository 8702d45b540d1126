//! `list`: a directory as a tree.

use super::ask;
use crate::path::{FileKind, PathError, WorkPath};
use crate::tool::{Call, Done, Tool, ToolFailure, World, map, spec, text};
use crate::walk::{Gather, Walk};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use sturdy_session::talk::ToolSpec;

const FILES_MAX: usize = 100;

#[derive(Debug)]
pub struct List(ToolSpec);

#[derive(Deserialize)]
struct Input {
    path: Option<String>,
    #[serde(default)]
    ignore: Vec<String>,
}

impl List {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "path": text("The directory to list (default: the working directory)"),
            "ignore": { "type": "array", "items": { "type": "string" }, "description": "Patterns of files to leave out" },
        });
        Self(spec("list", include_str!("list.md"), properties, &[]))
    }
}

impl Tool for List {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            let place = input.path.unwrap_or_else(|| ".".to_owned());
            let root = world.reach(&place).await?;
            let metadata = map(json!({ "path": root.shown() }));
            ask::permission(world, "list", &root.shown().to_string_lossy(), metadata).await?;
            refuse_file(world, &root).await?;

            let globs = input.ignore.iter().map(|one| format!("!{one}")).collect();
            let searched = root.clone();
            let stop = world.stop.clone();
            let mut files = world
                .blocking(move || {
                    let all = Mutex::new(Vec::new());
                    let walk = Walk { globs, ..Walk::default() };
                    let walked = walk.run(&searched, &stop, || {
                        let mut found = Gather::new(&all);
                        Box::new(move |below: &Path, _| {
                            found.push(below.to_owned());
                        })
                    });
                    walked.map_err(|error| ToolFailure::failed(format!("{error}.")))?;
                    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
                })
                .await?;
            files.sort_unstable();
            let more = files.len() > FILES_MAX;
            files.truncate(FILES_MAX);
            let mut output = format!("{}/\n{}", root.shown().display(), tree(&files));
            if more {
                output
                    .push_str(&format!("(The first {FILES_MAX} files. List a directory below for others.)"));
            }
            Ok(Done::new(root.relative(), output, json!({ "count": files.len(), "truncated": more })))
        })
    }
}

/// Sorted paths with each directory named once, two spaces deeper each.
fn tree(files: &[PathBuf]) -> String {
    let mut text = String::new();
    let mut above: Vec<String> = Vec::new();
    for file in files {
        let names: Vec<String> = file.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let Some((name, directories)) = names.split_last() else { continue };
        let same = above.iter().zip(directories).take_while(|(a, b)| a == b).count();
        for (depth, directory) in directories.iter().enumerate().skip(same) {
            text.push_str(&format!("{}{directory}/\n", "  ".repeat(depth + 1)));
        }
        above = directories.to_vec();
        text.push_str(&format!("{}{name}\n", "  ".repeat(above.len() + 1)));
    }
    text
}

pub(super) async fn refuse_file(world: &World, path: &WorkPath) -> Result<(), ToolFailure> {
    let path = path.clone();
    let check = move || match path.kind()? {
        Some(FileKind::Directory) => Ok(()),
        Some(_) => Err(PathError::NotADirectory(path.shown().to_owned()).into()),
        None => Err(PathError::Missing(path.shown().to_owned()).into()),
    };
    world.blocking(check).await
}
