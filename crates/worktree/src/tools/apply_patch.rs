//! `apply_patch`: changes several files at once.
//!
//! Everything is read and worked out before anything is written, so that a patch that does not
//! fit changes nothing.

use super::patch::{Section, apply, parse};
use super::{ask, change, diff};
use crate::format::Change;
use crate::path::{Stamp, WorkPath};
use crate::tool::{
    Acting, Call, Done, Edited, Guarded, Tool, ToolFailure, World, lock_file, map, spec, text,
};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use sturdy_session::talk::ToolSpec;

#[derive(Debug)]
pub struct ApplyPatch(ToolSpec);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    patch_text: String,
}

impl ApplyPatch {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({ "patchText": text("The whole patch") });
        Self(spec("apply_patch", include_str!("apply_patch.md"), properties, &["patchText"]))
    }
}

impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            let sections = parse(&input.patch_text)
                .map_err(|error| ToolFailure::failed(format!("The patch cannot be read: {error}.")))?;
            let mut plans = Vec::new();
            for section in sections {
                plans.push(plan(world, section).await?);
            }
            ask(world, &plans).await?;
            carry_out(world, world.act().await?, plans).await
        })
    }
}

/// One file, worked out.
struct Plan {
    path: WorkPath,
    moved_to: Option<WorkPath>,
    kind: Kind,
    /// `None`: there was no file.
    before: Option<Stamp>,
    /// What stands at the new place, for a move.
    before_there: Option<Stamp>,
    /// What was there, for the difference to what a formatter makes of it.
    text_before: String,
    bytes: Vec<u8>,
    diff: diff::Difference,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Add,
    Update,
    Delete,
    Move,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }

    fn letter(self) -> char {
        match self {
            Self::Add => 'A',
            Self::Update | Self::Move => 'M',
            Self::Delete => 'D',
        }
    }
}

async fn plan(world: &World, section: Section) -> Result<Plan, ToolFailure> {
    match section {
        Section::Add { path, content } => {
            let path = world.reach(&path).await?;
            super::write::refuse_directory(world, &path).await?;
            let found = change::load(world, &path).await?;
            let before = found.as_ref().map(|found| found.stamp);
            let text_before = found.map(|found| found.text).unwrap_or_default();
            let diff = diff::difference(&path.shown().to_string_lossy(), &text_before, &content);
            let bytes = change::encode(&content, false);
            let moved_to = None;
            let kind = Kind::Add;
            let before_there = None;
            Ok(Plan { path, moved_to, kind, before, before_there, text_before, bytes, diff })
        }
        Section::Delete { path } => {
            let (path, found) = existing(world, &path).await?;
            let diff = diff::difference(&path.shown().to_string_lossy(), &found.text, "");
            let before = Some(found.stamp);
            let moved_to = None;
            let kind = Kind::Delete;
            let before_there = None;
            let bytes = Vec::new();
            Ok(Plan { path, moved_to, kind, before, before_there, text_before: found.text, bytes, diff })
        }
        Section::Update { path, moved_to, chunks } => {
            let (path, found) = existing(world, &path).await?;
            let after = apply(&found.text, &chunks).map_err(|error| {
                let shown = path.shown().display();
                ToolFailure::failed(format!("The patch does not fit {shown}: {error}\nNothing was changed."))
            })?;
            let moved_to = match moved_to {
                Some(to) => Some(world.reach(&to).await?),
                None => None,
            };
            let before_there = match &moved_to {
                Some(to) => change::load(world, to).await?.map(|found| found.stamp),
                None => None,
            };
            let diff = diff::difference(&path.shown().to_string_lossy(), &found.text, &after);
            let kind = if moved_to.is_some() { Kind::Move } else { Kind::Update };
            let before = Some(found.stamp);
            let bytes = found.encode(&after);
            let text_before = found.text;
            Ok(Plan { path, moved_to, kind, before, before_there, text_before, bytes, diff })
        }
    }
}

async fn existing(world: &World, path: &str) -> Result<(WorkPath, change::Found), ToolFailure> {
    let path = world.reach(path).await?;
    let found = change::load(world, &path).await?;
    let missing = || crate::path::PathError::Missing(path.shown().to_owned());
    let found = found.ok_or_else(missing)?;
    Ok((path, found))
}

fn files_json(plans: &[Plan]) -> Value {
    let one = |plan: &Plan| {
        let target = plan.moved_to.as_ref().unwrap_or(&plan.path);
        let mut file = json!({
            "filePath": plan.path.shown(),
            "relativePath": target.relative(),
            "type": plan.kind.name(),
            "patch": plan.diff.patch,
            "additions": plan.diff.additions,
            "deletions": plan.diff.deletions,
        });
        if let Some(to) = &plan.moved_to {
            file["movePath"] = json!(to.shown());
        }
        file
    };
    plans.iter().map(one).collect()
}

fn whole_diff(plans: &[Plan]) -> String {
    plans.iter().map(|plan| format!("{}\n", plan.diff.patch)).collect()
}

async fn ask(world: &World, plans: &[Plan]) -> Result<(), ToolFailure> {
    let paths = plans.iter().flat_map(|plan| std::iter::once(&plan.path).chain(&plan.moved_to));
    let patterns: Vec<String> = paths.map(|path| path.relative().to_owned()).collect();
    let metadata =
        json!({ "filepath": patterns.join(", "), "diff": whole_diff(plans), "files": files_json(plans) });
    ask::edit(world, patterns, map(metadata)).await
}

async fn carry_out(world: &World, acting: Acting, mut plans: Vec<Plan>) -> Result<Done, ToolFailure> {
    let mut lines = Vec::new();
    let mut changed: Vec<PathBuf> = Vec::new();
    for plan in &mut plans {
        let target = plan.moved_to.clone().unwrap_or_else(|| plan.path.clone());
        let lock = lock_file(target.real()).await;
        if !write(world, acting, plan).await? {
            let done = if lines.is_empty() {
                "Nothing was changed.".to_owned()
            } else {
                format!("Changed before it:\n{}", lines.join("\n"))
            };
            let shown = plan.path.shown().display();
            return Err(ToolFailure::failed(format!(
                "{shown} was changed by somebody else meanwhile. {done}"
            )));
        }
        lines.push(format!("{} {}", plan.kind.letter(), target.relative()));
        if plan.kind == Kind::Move {
            (world.handles.edited)(Edited { path: plan.path.shown().to_owned(), change: Change::Removed });
        }
        let change = match plan.kind {
            Kind::Add | Kind::Move => Change::Added,
            Kind::Update => Change::Changed,
            Kind::Delete => Change::Removed,
        };
        if let Some(text) = change::settle(world, &target, change, lock).await {
            plan.diff = diff::difference(plan.path.relative(), &plan.text_before, &text);
        }
        if change != Change::Removed {
            changed.push(target.real().to_owned());
        }
    }
    // Only after the whole patch is written: a half-applied patch has errors that vanish with the rest.
    let diagnostics = change::diagnose(world, &changed).await;
    let errors = change::diagnostics_text(&diagnostics, &changed);
    let summary = format!("The patch was applied:\n{}", lines.join("\n"));
    let metadata = json!({
        "diff": whole_diff(&plans),
        "files": files_json(&plans),
        "diagnostics": change::diagnostics_json(&diagnostics),
    });
    Ok(Done::new(summary.clone(), format!("{summary}{errors}"), metadata))
}

/// False when the file is no longer as it was read.
async fn write(world: &World, acting: Acting, plan: &Plan) -> Result<bool, ToolFailure> {
    let memory = world.memory.clone();
    let path = plan.path.clone();
    let moved_to = plan.moved_to.clone();
    let kind = plan.kind;
    let before = plan.before;
    let before_there = plan.before_there;
    let bytes = plan.bytes.clone();
    world
        .blocking(move || {
            let done = match (kind, &moved_to) {
                (Kind::Delete, _) => memory.remove(acting, &path, before)?,
                (_, Some(to)) if to.real() != path.real() => {
                    match memory.write(acting, to, before_there, &bytes)? {
                        Guarded::Changed => Guarded::Changed,
                        Guarded::Done(_) => memory.remove(acting, &path, before)?,
                    }
                }
                _ => memory.write(acting, &path, before, &bytes)?,
            };
            Ok(done != Guarded::Changed)
        })
        .await
}
