//! One page of a text file, without holding the file.
//!
//! Lines before the page are counted, not decoded. After the page the count goes on to the end,
//! so that the reader learns how much there is, but not through a file of any size.

use std::fs::File;
use std::io::{self, Read};

const LINE_CHARS_MAX: usize = 2_000;

const PAGE_BYTES_MAX: usize = 50 * 1024;

/// Counting the rest stops here; the total is then not said.
const COUNTED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A line is kept up to here while it is read: enough for every cut, whatever its letters.
const LINE_BYTES_MAX: usize = LINE_CHARS_MAX * 4 + 4;

/// Few calls of the system, and still within a processor's cache.
const BUFFER_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub(super) enum PageError {
    Io(io::Error),
    Beyond { lines: usize },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub lines: Vec<String>,
    /// Known when the end was reached.
    pub total: Option<usize>,
    pub why: PageEnd,
}

/// Why the page ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageEnd {
    End,
    Count,
    Bytes,
}

/// Reads `count` lines, beginning with line `from` (from 1).
pub(super) fn read(mut file: File, from: usize, count: usize) -> Result<Page, PageError> {
    let mut reader =
        Reader { from, count, lines: Vec::new(), line: Vec::new(), bytes: 0, number: 1, full: None };
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut counted: u64 = 0;
    let mut last = b'\n';
    loop {
        let length = file.read(&mut buffer).map_err(PageError::Io)?;
        if length == 0 {
            break;
        }
        last = buffer[length - 1];
        reader.take(&buffer[..length]);
        counted += length as u64;
        if reader.full.is_some() && counted > COUNTED_BYTES_MAX {
            return Ok(Page { lines: reader.lines, total: None, why: reader.full.unwrap_or(PageEnd::Count) });
        }
    }
    if last != b'\n' {
        reader.end_line();
    }
    let total = reader.number - 1;
    if reader.lines.is_empty() && from > 1 && total < from {
        return Err(PageError::Beyond { lines: total });
    }
    let why = reader.full.filter(|_| total >= from + reader.lines.len()).unwrap_or(PageEnd::End);
    Ok(Page { lines: reader.lines, total: Some(total), why })
}

struct Reader {
    from: usize,
    count: usize,
    lines: Vec<String>,
    /// The line being read, up to its bound.
    line: Vec<u8>,
    bytes: usize,
    /// Of the line being read.
    number: usize,
    full: Option<PageEnd>,
}

impl Reader {
    fn take(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            if self.full.is_some() {
                self.number += count_ends(chunk);
                return;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let piece = &chunk[..end.unwrap_or(chunk.len())];
            if self.number >= self.from {
                let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
                self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            let Some(end) = end else { return };
            self.end_line();
            chunk = &chunk[end + 1..];
            // Lines before the page are skipped in one go.
            if self.number < self.from {
                chunk = self.skip(chunk);
            }
        }
    }

    fn skip<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let ends = count_ends(chunk);
        if self.number + ends < self.from {
            self.number += ends;
            return &[];
        }
        let mut rest = chunk;
        while self.number < self.from {
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return rest };
            self.number += 1;
            rest = &rest[end + 1..];
        }
        rest
    }

    fn end_line(&mut self) {
        if self.number >= self.from && self.full.is_none() {
            let raw = std::mem::take(&mut self.line);
            let text = String::from_utf8_lossy(raw.strip_suffix(b"\r").unwrap_or(&raw));
            let text = text.strip_prefix('\u{feff}').filter(|_| self.number == 1).unwrap_or(&text);
            let shown = cut(text);
            if self.bytes + shown.len() + 1 > PAGE_BYTES_MAX && !self.lines.is_empty() {
                self.full = Some(PageEnd::Bytes);
            } else {
                self.bytes += shown.len() + 1;
                self.lines.push(shown);
                if self.lines.len() == self.count {
                    self.full = Some(PageEnd::Count);
                }
            }
        }
        self.number += 1;
    }
}

/// In runs that a byte can count, which the compiler turns into wide instructions: several times
/// faster than counting into a word.
fn count_ends(chunk: &[u8]) -> usize {
    let count = |run: &[u8]| run.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    chunk.chunks(usize::from(u8::MAX)).map(|run| usize::from(count(run))).sum()
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => format!("{}… (line cut at {LINE_CHARS_MAX} characters)", &line[..at]),
        None => line.to_owned(),
    }
}
