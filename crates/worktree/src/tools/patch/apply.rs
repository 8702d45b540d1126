//! Finding the chunks of a patch in a text, in order, ever more loosely.

use super::{Chunk, PatchError};

/// How two lines are compared, from strict to loose.
const READINGS: [fn(&str) -> String; 4] = [
    |line| line.to_owned(),
    |line| line.trim_end().to_owned(),
    |line| line.trim().to_owned(),
    |line| line.trim().chars().map(plain).collect(),
];

/// The text after all chunks.
pub(in crate::tools) fn apply(text: &str, chunks: &[Chunk]) -> Result<String, PatchError> {
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let plain_text = text.replace("\r\n", "\n");
    let ends_with_line = plain_text.is_empty() || plain_text.ends_with('\n');
    let mut lines: Vec<String> = plain_text.split('\n').map(str::to_owned).collect();
    if ends_with_line {
        lines.pop();
    }

    let mut after: Vec<String> = Vec::new();
    let mut at = 0;
    for chunk in chunks {
        let start = place(&lines, at, chunk)?;
        after.extend_from_slice(&lines[at..start]);
        after.extend(chunk.new.iter().cloned());
        at = start + chunk.old.len();
    }
    after.extend_from_slice(&lines[at..]);

    let mut text = after.join(ending);
    if !after.is_empty() && (ends_with_line || lines.is_empty()) {
        text.push_str(ending);
    }
    Ok(text)
}

/// Where a chunk begins, at or after line `from`.
fn place(lines: &[String], from: usize, chunk: &Chunk) -> Result<usize, PatchError> {
    let mut from = from;
    if let Some(context) = &chunk.context {
        let found = find(lines, std::slice::from_ref(context), from, false);
        from = found.ok_or_else(|| PatchError::NotThere(context.clone()))? + 1;
        // The context line may be quoted again as the first line of the chunk.
        if chunk.old.first().is_some_and(|first| first.trim() == context.trim()) {
            from -= 1;
        }
    }
    if chunk.old.is_empty() {
        // Only new lines: after the context, or at the end.
        return Ok(if chunk.context.is_some() && !chunk.at_end { from } else { lines.len() });
    }
    find(lines, &chunk.old, from, chunk.at_end).ok_or_else(|| PatchError::NotThere(chunk.old.join("\n")))
}

fn find(lines: &[String], wanted: &[String], from: usize, at_end: bool) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    for reading in READINGS {
        let want: Vec<String> = wanted.iter().map(|line| reading(line)).collect();
        let fits =
            |start: &usize| lines[*start..].iter().zip(&want).all(|(line, want)| reading(line) == *want);
        if at_end && last >= from && fits(&last) {
            return Some(last);
        }
        if let Some(start) = (from..=last).find(fits) {
            return Some(start);
        }
    }
    None
}

/// Typographic signs as they are typed.
fn plain(letter: char) -> char {
    match letter {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{00a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}
