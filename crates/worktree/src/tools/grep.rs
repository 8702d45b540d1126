//! `grep`: lines by a regular expression.

mod search;

pub use search::MayShow;
pub(crate) use search::{FileMatches, Searched, search};

use super::ask;
use crate::bound::prefix;
use crate::limit;
use crate::path::WorkPath;
use crate::tool::{Call, Done, Tool, ToolFailure, World, map, spec, text};
use crate::walk::Walk;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use sturdy_session::talk::ToolSpec;

const MATCHES_MAX: usize = 100;

/// What is shown of one line.
const LINE_BYTES_MAX: usize = 2_000;

#[derive(Debug)]
pub struct Grep(ToolSpec);

#[derive(Deserialize)]
struct Input {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
}

impl Grep {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "pattern": text("The regular expression to search for"),
            "path": text("The directory or file to search in (default: the working directory)"),
            "include": text("Only files whose names match, such as *.rs or *.{ts,tsx}"),
        });
        Self(spec("grep", include_str!("grep.md"), properties, &["pattern"]))
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            if input.pattern.is_empty() {
                return Err(ToolFailure::failed("The pattern is empty."));
            }
            let mut metadata = map(json!({ "pattern": input.pattern }));
            if let Some(path) = &input.path {
                metadata.insert("path".to_owned(), json!(path));
            }
            if let Some(include) = &input.include {
                metadata.insert("include".to_owned(), json!(include));
            }
            ask::permission(world, "grep", &input.pattern, metadata).await?;
            let root = world.reach(input.path.as_deref().unwrap_or(".")).await?;

            let walk = Walk { hidden: true, globs: input.include.into_iter().collect(), ..Walk::default() };
            let pattern = input.pattern.clone();
            let searched = root.clone();
            let stop = world.stop.clone();
            let may_read = world.handles.may_read.clone();
            let Some(place) = world.stop.run_until_cancelled(limit::place()).await else {
                return Err(ToolFailure::aborted());
            };
            let searching = world.blocking(move || {
                let _place = place;
                let may_show = move |path: &WorkPath| may_read(path.relative());
                search(&searched, &pattern, &walk, MATCHES_MAX, &may_show, &stop)
            });
            let found = searching.await?;
            if world.stop.is_cancelled() {
                return Err(ToolFailure::aborted());
            }
            let Searched { files, more, skipped } = found;
            let count: usize = files.iter().map(|file| file.lines.len()).sum();
            let metadata = json!({ "matches": count, "truncated": more });
            let mut output = told(&files, count, more);
            if skipped > 0 {
                output.push_str(&format!(
                    "\n({skipped} files were not searched: a rule does not let them be read unasked.)"
                ));
            }
            Ok(Done::new(input.pattern, output, metadata))
        })
    }
}

fn told(files: &[FileMatches], count: usize, more: bool) -> String {
    if count == 0 {
        return "No line matches.".to_owned();
    }
    let mut text = format!("{count} matching lines{}\n", if more { " (there are more)" } else { "" });
    for file in files {
        text.push_str(&format!("\n{}:\n", file.path.shown().display()));
        for line in &file.lines {
            let shown = prefix(line.text.trim_end(), LINE_BYTES_MAX);
            let cut = if shown.len() < line.text.trim_end().len() { "…" } else { "" };
            text.push_str(&format!("  {}: {shown}{cut}\n", line.number));
        }
    }
    if more {
        text.push_str(&format!(
            "\n(The first {MATCHES_MAX} lines. Use a narrower pattern, path or include for others.)"
        ));
    }
    text
}
