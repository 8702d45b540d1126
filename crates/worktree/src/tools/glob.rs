//! `glob`: files by name.

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
use tokio_util::sync::CancellationToken;

const FILES_MAX: usize = 100;

#[derive(Debug)]
pub struct Glob(ToolSpec);

#[derive(Deserialize)]
struct Input {
    pattern: String,
    path: Option<String>,
}

impl Glob {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "pattern": text("The pattern the files must match, such as **/*.rs"),
            "path": text("The directory to search in (default: the working directory)"),
        });
        Self(spec("glob", include_str!("glob.md"), properties, &["pattern"]))
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            let (base, pattern) = split_absolute(&input.pattern);
            let mut metadata = map(json!({ "pattern": input.pattern }));
            if let Some(path) = &input.path {
                metadata.insert("path".to_owned(), json!(path));
            }
            ask::permission(world, "glob", &input.pattern, metadata).await?;
            let place = input.path.or(base).unwrap_or_else(|| ".".to_owned());
            let root = world.reach(&place).await?;
            refuse_file(world, &root).await?;

            let searched = root.clone();
            let stop = world.stop.clone();
            let (files, more) = world.blocking(move || find(&searched, &pattern, &stop)).await?;
            if world.stop.is_cancelled() {
                return Err(ToolFailure::aborted());
            }
            let mut output = match files.as_slice() {
                [] => "No file matches.".to_owned(),
                files => files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>().join("\n"),
            };
            if more {
                output.push_str(&format!(
                    "\n\n(The first {FILES_MAX} files. Use a narrower pattern or path for others.)"
                ));
            }
            Ok(Done::new(root.relative(), output, json!({ "count": files.len(), "truncated": more })))
        })
    }
}

/// Models write `/home/u/x/**/*.rs`: the part before the first wildcard is where to search.
fn split_absolute(pattern: &str) -> (Option<String>, String) {
    if !pattern.starts_with('/') {
        return (None, pattern.to_owned());
    }
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let slash = pattern[..wild].rfind('/').unwrap_or(0);
    (Some(pattern[..slash.max(1)].to_owned()), pattern[slash + 1..].to_owned())
}

/// The first files by path, and whether there are more.
fn find(
    root: &WorkPath,
    pattern: &str,
    stop: &CancellationToken,
) -> Result<(Vec<PathBuf>, bool), ToolFailure> {
    let all = Mutex::new(Vec::new());
    let walk = Walk { globs: vec![pattern.to_owned()], ..Walk::default() };
    let walked = walk.run(root, stop, || {
        let mut found = Gather::new(&all);
        Box::new(move |below: &Path, _| {
            found.push(below.to_owned());
        })
    });
    walked.map_err(|error| ToolFailure::failed(format!("{error}.")))?;
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    let more = all.len() > FILES_MAX;
    if more {
        all.select_nth_unstable(FILES_MAX);
        all.truncate(FILES_MAX);
    }
    all.sort_unstable();
    Ok((all.into_iter().map(|below| root.shown().join(below)).collect(), more))
}

async fn refuse_file(world: &World, path: &WorkPath) -> Result<(), ToolFailure> {
    let path = path.clone();
    let check = move || match path.kind()? {
        Some(FileKind::Directory) => Ok(()),
        Some(_) => Err(PathError::NotADirectory(path.shown().to_owned()).into()),
        None => Err(PathError::Missing(path.shown().to_owned()).into()),
    };
    world.blocking(check).await
}
