//! `read`: a page of a file, an image, a directory.

mod page;
mod suggest;

use super::ask;
use crate::path::{Opened, PathError, Stamp, WorkPath, foreign_writer};
use crate::tool::{Attached, Call, Done, Tool, ToolFailure, World, integer, spec, text};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::future::BoxFuture;
use page::Page;
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use sturdy_session::talk::ToolSpec;

const LINES: usize = 2_000;

/// Of a larger directory, only so many names are looked at.
const ENTRIES_MAX: usize = 1_000_000;

/// Enough to tell text from anything else.
const SAMPLE_BYTES: usize = 4 * 1024;

/// Larger images and documents are not sent to a model.
const MEDIA_BYTES_MAX: u64 = 10 * 1024 * 1024;

/// What of an instruction file is shown.
const INSTRUCTION_BYTES_MAX: u64 = 50 * 1024;

const INSTRUCTION_NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

/// Extensions of files that are never text, whatever their first bytes look like.
const BINARY: &str = "zip tar gz tgz bz2 xz zst 7z rar exe dll so dylib class jar war o a obj lib bin dat wasm pyc pyo \
doc docx xls xlsx ppt pptx odt ods odp ico bmp tiff mp3 mp4 mov avi mkv wav flac ogg webm ttf otf woff woff2 eot db \
sqlite sqlite3";

#[derive(Debug)]
pub struct Read(ToolSpec);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    file_path: String,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

impl Read {
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a tool is made once, by name")]
    pub fn new() -> Self {
        let properties = json!({
            "filePath": text("The file or directory to read, absolute or relative to the working directory"),
            "offset": integer(0, "The line to begin with, from 1"),
            "limit": integer(1, "How many lines to read (default 2000)"),
        });
        Self(spec("read", include_str!("read.md"), properties, &["filePath"]))
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, call: Call, world: &'a World) -> BoxFuture<'a, Result<Done, ToolFailure>> {
        Box::pin(async move {
            let input: Input = call.decode()?;
            let path = world.reach(&input.file_path).await?;
            ask::permission(world, "read", path.relative(), serde_json::Map::new()).await?;
            let from = input.offset.max(1);
            let count = input.limit.unwrap_or(LINES).max(1);
            let target = path.clone();
            let known = world.memory.clone();
            let (mut done, kind) = world.blocking(move || read(&target, from, count, &known)).await?;
            if kind == Shown::File {
                if let Some(lsp) = &world.settings.lsp {
                    lsp.warm(path.real()).await;
                }
                remind(world, &path, &mut done).await?;
            }
            Ok(done)
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    File,
    Directory,
}

fn read(
    path: &WorkPath,
    from: usize,
    count: usize,
    memory: &crate::tool::Memory,
) -> Result<(Done, Shown), ToolFailure> {
    let file = match path.open() {
        Ok(Opened::Directory(_)) => return Ok((directory(path, from, count)?, Shown::Directory)),
        Ok(Opened::File(file)) => file,
        Err(PathError::Missing(_)) => return Err(suggest::missing(path)),
        Err(error) => return Err(error.into()),
    };
    let unreadable = |error: std::io::Error| {
        ToolFailure::failed(format!("{} cannot be read: {error}.", path.shown().display()))
    };
    let stat = rustix::fs::fstat(&file).map_err(|errno| unreadable(errno.into()))?;
    let mut sample = vec![0; SAMPLE_BYTES];
    let length = file.read_at(&mut sample, 0).map_err(unreadable)?;
    sample.truncate(length);
    let done = match media(&sample) {
        Some(mime) => attach(path, file, mime, stat.st_size as u64)?,
        None if is_binary(path.real(), &sample) => {
            let shown = path.shown().display();
            return Err(ToolFailure::failed(format!(
                "{shown} is a binary file and cannot be shown as text."
            )));
        }
        None => page(path, file, from, count).map_err(|error| match error {
            page::PageError::Io(error) => unreadable(error),
            page::PageError::Beyond { lines } => ToolFailure::failed(format!(
                "Offset {from} is beyond the end of {}, which has {lines} lines.",
                path.shown().display()
            )),
        })?,
    };
    memory.saw(path, Stamp::of(&stat));
    Ok((done, Shown::File))
}

fn page(path: &WorkPath, file: File, from: usize, count: usize) -> Result<Done, page::PageError> {
    let Page { lines, total, why } = page::read(file, from, count)?;
    // An empty file ends before its first line.
    let last = (from + lines.len()).saturating_sub(1);
    let is_whole = why == page::PageEnd::End;
    let next = last + 1;
    let note = match (why, total) {
        (page::PageEnd::End, _) => format!("(End of file, {} lines in all)", total.unwrap_or(last)),
        (page::PageEnd::Count, Some(total)) => {
            format!("(Lines {from} to {last} of {total}. Go on with offset {next}.)")
        }
        (page::PageEnd::Count, None) => format!("(Lines {from} to {last}. Go on with offset {next}.)"),
        (page::PageEnd::Bytes, _) => {
            format!("(Cut at 50 KB, after line {last}. Go on with offset {next}.)")
        }
    };
    let shown = path.shown().to_string_lossy();
    let mut output = format!("<path>{shown}</path>\n<type>file</type>\n<content>\n");
    for (at, line) in lines.iter().enumerate() {
        output.push_str(&format!("{}: {line}\n", from + at));
    }
    output.push_str(&format!("\n{note}\n</content>"));
    let text = lines.join("\n");
    let metadata = json!({
        "preview": lines.iter().take(20).cloned().collect::<Vec<_>>().join("\n"),
        "truncated": !is_whole,
        "loaded": [],
        "display": {
            "type": "file", "path": shown, "text": text, "lineStart": from, "lineEnd": last,
            "totalLines": total, "truncated": !is_whole,
        },
    });
    Ok(Done::new(path.relative(), output, metadata))
}

fn directory(path: &WorkPath, from: usize, count: usize) -> Result<Done, ToolFailure> {
    let entries = path.list(ENTRIES_MAX)?;
    let names: Vec<String> = entries.iter().map(suggest::listed).collect();
    let page: Vec<String> = names.iter().skip(from - 1).take(count).cloned().collect();
    let more = names.len() > from - 1 + page.len();
    if page.is_empty() && from > 1 {
        return Err(ToolFailure::failed(format!(
            "Offset {from} is beyond the end of {}, which has {} entries.",
            path.shown().display(),
            names.len()
        )));
    }
    let note = if more {
        format!("({} entries shown. Go on with offset {}.)", page.len(), from + page.len())
    } else {
        format!("({} entries)", page.len())
    };
    let shown = path.shown().to_string_lossy();
    let output = format!(
        "<path>{shown}</path>\n<type>directory</type>\n<entries>\n{}\n\n{note}\n</entries>",
        page.join("\n")
    );
    let metadata = json!({
        "preview": page.iter().take(20).cloned().collect::<Vec<_>>().join("\n"),
        "truncated": more,
        "loaded": [],
        "display": { "type": "directory", "path": shown, "entries": page, "offset": from, "totalEntries": names.len(), "truncated": more },
    });
    Ok(Done::new(path.relative(), output, metadata))
}

/// Images and documents that models can look at, known by their first bytes.
fn media(sample: &[u8]) -> Option<&'static str> {
    let mime = infer::get(sample)?.mime_type();
    ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]
        .into_iter()
        .find(|one| *one == mime)
}

fn attach(path: &WorkPath, file: File, mime: &str, size: u64) -> Result<Done, ToolFailure> {
    let shown = path.shown().display();
    if size > MEDIA_BYTES_MAX {
        return Err(ToolFailure::failed(format!("{shown} is {size} bytes, too large to be shown.")));
    }
    let mut bytes = Vec::new();
    let read = file.take(MEDIA_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| ToolFailure::failed(format!("{shown} cannot be read: {error}.")))?;
    let what = if mime == "application/pdf" { "PDF" } else { "Image" };
    let text = format!("{what} read: {shown}");
    let metadata = json!({ "preview": text, "truncated": false, "loaded": [] });
    let mut done = Done::new(path.relative(), text, metadata);
    done.attachments.push(Attached {
        mime: mime.to_owned(),
        filename: None,
        url: format!("data:{mime};base64,{}", BASE64_STANDARD.encode(bytes)),
    });
    Ok(done)
}

fn is_binary(path: &Path, sample: &[u8]) -> bool {
    let extension = path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default();
    if BINARY.split_whitespace().any(|one| one == extension) || sample.contains(&0) {
        return true;
    }
    let is_control = |byte: &&u8| **byte < 9 || (14..32).contains(*byte);
    sample.iter().filter(is_control).count() * 10 > sample.len() * 3
}

/// Instruction files on the way from the file up to the session directory are shown once.
async fn remind(world: &World, path: &WorkPath, done: &mut Done) -> Result<(), ToolFailure> {
    let roots = world.roots.clone();
    let memory = world.memory.clone();
    let file = path.real().to_owned();
    let obeys_everybody = world.settings.obeys_everybody;
    let found = world
        .blocking(move || {
            let mut found = Vec::new();
            let Ok(top) = roots.directory().canonicalize() else { return Ok(found) };
            for directory in file.ancestors().skip(1).take_while(|one| one.starts_with(&top) && *one != top) {
                let is_obeyed = |at: &PathBuf| obeys_everybody || foreign_writer(at).is_none();
                let texts = INSTRUCTION_NAMES
                    .iter()
                    .map(|name| directory.join(name))
                    .filter(is_obeyed)
                    .find_map(|at| instruction(&roots, &at));
                found.extend(texts.filter(|(at, _)| *at != file && memory.claim_instructions(at)));
            }
            Ok(found)
        })
        .await?;
    if found.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = found
        .iter()
        .map(|(at, text)| format!("Instructions from {}:\n{}", at.display(), text.trim()))
        .collect();
    done.output.push_str(&format!("\n\n<system-reminder>\n{}\n</system-reminder>", told.join("\n\n")));
    done.metadata.insert("loaded".to_owned(), json!(found.iter().map(|(at, _)| at).collect::<Vec<_>>()));
    Ok(())
}

fn instruction(roots: &crate::path::Roots, at: &Path) -> Option<(PathBuf, String)> {
    let path = roots.locate(at).ok()?.inside()?;
    let mut text = String::new();
    path.open_file().ok()?.take(INSTRUCTION_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some((at.to_owned(), text))
}
