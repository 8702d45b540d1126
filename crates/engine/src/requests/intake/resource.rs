//! A resource of an MCP server that goes with a prompt: what it holds, as parts.
//!
//! The part the client wrote is not kept: it names a place that only the server knows.

use super::ResolvedParts;
use sturdy_session::types::part::{FilePart, PartBody};
use sturdy_worktree::bound::prefix;
use sturdy_worktree::mcp::{Piece, pieces_of};

/// What one resource may add to a prompt as text.
const TEXT_BYTES_MAX: usize = 512 * 1024;

pub(super) fn take(
    file: &FilePart,
    uri: &str,
    pieces: Result<Vec<Piece>, String>,
    taken: &mut ResolvedParts,
) {
    let name = file.filename.as_deref().unwrap_or(uri);
    taken.note(format!("Reading MCP resource: {name} ({uri})"));
    let pieces = match pieces {
        Ok(pieces) => pieces,
        Err(why) => return taken.note(format!("The resource {uri} could not be read: {why}.")),
    };
    for piece in pieces {
        let (texts, files) = pieces_of(vec![piece]);
        texts.into_iter().for_each(|text| taken.note(bounded(text)));
        for file in files {
            let name = file.filename.as_deref().unwrap_or(uri);
            taken.note(format!("[{name} ({}) is attached]", file.mime));
            let part = FilePart { mime: file.mime, filename: file.filename, url: file.url, source: None };
            taken.parts.push((None, PartBody::File(part)));
        }
    }
}

fn bounded(text: String) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text;
    }
    let kept = prefix(&text, TEXT_BYTES_MAX);
    format!("{kept}\n\n[{} bytes left out]", text.len() - kept.len())
}
