//! Readings that compare line by line.

use std::ops::Range;

/// Where each line stands, without its end.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split('\n')
        .map(|line| {
            let range = start..start + line.len();
            start = range.end + 1;
            range
        })
        .collect()
}

/// All runs of `count` lines.
pub(super) fn windows(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let lines = ranges(text);
    let last = (lines.len() + 1).saturating_sub(count.max(1));
    (0..last).map(move |at| &text[lines[at].start..lines[at + count.max(1) - 1].end])
}

/// The lines of a quotation; a line end at its end does not make another line.
pub(super) fn wanted(old: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = old.split('\n').collect();
    if lines.len() > 1 && lines.last() == Some(&"") {
        lines.pop();
    }
    lines
}

/// Each line is right but for the spaces around it.
pub(super) fn trimmed(text: &str, old: &str) -> Vec<String> {
    let wanted = wanted(old);
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let fits = |window: &&str| window.split('\n').zip(&wanted).all(|(line, want)| line.trim() == want.trim());
    windows(text, wanted.len()).filter(fits).map(|window| kept_end(window, old)).collect()
}

/// Runs of spaces count as one.
pub(super) fn spaces_joined(text: &str, old: &str) -> Vec<String> {
    let want = joined(old);
    if want.is_empty() {
        return Vec::new();
    }
    let lines = wanted(old);
    if lines.len() > 1 {
        let fits = |window: &&str| joined(window) == want;
        return windows(text, lines.len()).filter(fits).map(|window| kept_end(window, old)).collect();
    }
    text.split('\n').filter_map(|line| inside(line, &want)).collect()
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The part of a line whose words are those wanted.
fn inside(line: &str, want: &str) -> Option<String> {
    if joined(line) == want {
        return Some(line.to_owned());
    }
    let mut words = want.split(' ');
    let first = words.next()?;
    let rest: Vec<&str> = words.collect();
    for (start, _) in line.match_indices(first) {
        let mut at = start + first.len();
        let follows = rest.iter().all(|word| {
            let after = line[at..].trim_start();
            let skipped = line.len() - at - after.len();
            let fits = skipped > 0 && after.starts_with(word);
            at += skipped + word.len();
            fits
        });
        if follows {
            return Some(line[start..at].to_owned());
        }
    }
    None
}

/// The block is right, shifted as a whole.
pub(super) fn indented_otherwise(text: &str, old: &str) -> Vec<String> {
    let wanted = wanted(old);
    let want = unindented(wanted.iter().copied());
    if want.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let fits = |window: &&str| unindented(window.split('\n')) == want;
    windows(text, wanted.len()).filter(fits).map(|window| kept_end(window, old)).collect()
}

fn unindented<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let lines: Vec<&str> = lines.collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(least..).unwrap_or("")).collect()
}

/// A quotation that ended with a line end stands for lines with theirs.
pub(super) fn kept_end(window: &str, old: &str) -> String {
    if old.ends_with('\n') && old.contains('\n') && !window.ends_with('\n') {
        return format!("{window}\n");
    }
    window.to_owned()
}
