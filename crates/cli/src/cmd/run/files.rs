//! Files that go with a prompt.
//!
//! A server on this machine is given their place and reads them itself; one elsewhere is sent what is in them.

use crate::failure::{Failure, USAGE};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use url::Url;

/// What is sent along; a request holds no more than 32 MiB.
const SENT_BYTES_MAX: u64 = 16 << 20;

pub(super) fn parts(files: &[PathBuf], are_seen_there: bool) -> Result<Vec<Value>, Failure> {
    files.iter().map(|file| part(file, are_seen_there)).collect()
}

fn part(file: &Path, is_seen_there: bool) -> Result<Value, Failure> {
    let unusable = |cause: &dyn std::fmt::Display| {
        Failure::new(USAGE, "this file cannot be attached").with("path", file.display()).with("cause", cause)
    };
    let place = file.canonicalize().map_err(|cause| unusable(&cause))?;
    let about = fs::metadata(&place).map_err(|cause| unusable(&cause))?;
    let name = place.file_name().map(|name| name.to_string_lossy().into_owned());
    let mime = if about.is_dir() { "application/x-directory" } else { kind(&place) };
    let url = if is_seen_there {
        Url::from_file_path(&place)
            .map_err(|()| unusable(&"its path cannot be written as a URL"))?
            .to_string()
    } else if about.is_dir() {
        return Err(unusable(&"a directory cannot be sent to a server elsewhere"));
    } else if about.len() > SENT_BYTES_MAX {
        return Err(unusable(&"it is larger than 16 MiB"));
    } else {
        let content = fs::read(&place).map_err(|cause: io::Error| unusable(&cause))?;
        format!("data:{mime};base64,{}", BASE64_STANDARD.encode(content))
    };
    Ok(json!({ "type": "file", "mime": mime, "filename": name, "url": url }))
}

/// By its first bytes; what has no sign is text.
fn kind(file: &Path) -> &'static str {
    infer::get_from_path(file).ok().flatten().map_or("text/plain", |kind| kind.mime_type())
}
