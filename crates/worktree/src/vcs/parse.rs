//! Reads `git diff --raw --numstat -z [-p]`: records of names, records of counts, then the patches.

use super::{FileDiff, Status};

/// Where the patches begin.
const PATCH: &[u8] = b"diff --git ";

pub(super) fn diff(answer: &[u8]) -> Vec<FileDiff> {
    let mut rest = answer;
    let mut files = Vec::new();
    let mut sections = Vec::new();
    while let Some((letter, file, after)) = raw(rest) {
        let status = match letter {
            b'A' => Status::Added,
            b'D' => Status::Deleted,
            _ => Status::Modified,
        };
        // A file that became a link, or the other way round, is removed and added.
        sections.push(if letter == b'T' { 2 } else { 1 });
        files.push(FileDiff { file, patch: None, additions: 0, deletions: 0, status });
        rest = after;
    }
    while let Some((additions, deletions, name, after)) = counts(rest) {
        if let Some(file) = files.iter_mut().find(|file| file.file == name) {
            file.additions = additions;
            file.deletions = deletions;
        }
        rest = after;
    }
    add_patches(&mut files, &sections, rest.strip_prefix(b"\0").unwrap_or(rest));
    files
}

/// `:100644 100644 abc def M\0name\0`
fn raw(text: &[u8]) -> Option<(u8, String, &[u8])> {
    let (head, rest) = until_zero(text.strip_prefix(b":")?)?;
    let (name, rest) = until_zero(rest)?;
    let letter = head.iter().rposition(|byte| *byte == b' ').and_then(|at| head.get(at + 1))?;
    Some((*letter, String::from_utf8_lossy(name).into_owned(), rest))
}

/// `3\t1\tname\0`; a file that is no text has `-` for both.
fn counts(text: &[u8]) -> Option<(u64, u64, String, &[u8])> {
    if text.starts_with(PATCH) {
        return None;
    }
    let (record, rest) = until_zero(text)?;
    let record = String::from_utf8_lossy(record);
    let mut fields = record.splitn(3, '\t');
    let additions = fields.next()?;
    let deletions = fields.next()?;
    let name = fields.next()?;
    Some((additions.parse().unwrap_or(0), deletions.parse().unwrap_or(0), name.to_owned(), rest))
}

fn until_zero(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == 0)?;
    Some((&text[..end], &text[end + 1..]))
}

/// The patches come in the order of the names. Should their number differ, nobody knows which is
/// whose, and they are left out.
fn add_patches(files: &mut [FileDiff], sections: &[usize], text: &[u8]) {
    let patches = split(text);
    if patches.len() != sections.iter().sum::<usize>() {
        return;
    }
    let mut patches = patches.into_iter();
    for (file, count) in files.iter_mut().zip(sections) {
        file.patch = Some(patches.by_ref().take(*count).collect());
    }
}

/// Inside a patch every line begins with a sign of its own, so this one begins a patch.
fn split(text: &[u8]) -> Vec<String> {
    let mut patches: Vec<String> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(PATCH) {
            patches.push(String::new());
        }
        if let Some(patch) = patches.last_mut() {
            patch.push_str(&String::from_utf8_lossy(line));
        }
    }
    patches
}
