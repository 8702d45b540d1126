//! Checks the nesting depth of a text before it is parsed.
//!
//! Counts brackets outside strings and finds surrogate escapes that stand alone.
//! It does not check that the JSON is valid: the parser does, once the depth is known to be safe.

use std::borrow::Cow;

/// What the scan found: the text, mended where it had to be, and how often.
pub(super) struct Scanned<'t> {
    pub(super) text: Cow<'t, str>,
    pub(super) replaced: u32,
}

/// `None` when brackets nest deeper than `depth_max`.
pub(super) fn scan(text: &str, depth_max: usize) -> Option<Scanned<'_>> {
    // Most messages: too short to be too deep, and nothing in them to mend.
    if text.len() <= depth_max && !text.contains("\\u") {
        return Some(Scanned { text: Cow::Borrowed(text), replaced: 0 });
    }
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    let mut lone = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string(bytes, at + 1, &mut lone),
            b'[' | b'{' => {
                depth += 1;
                if depth > depth_max {
                    return None;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Some(mend(text, &lone))
}

/// Walks one string from after its opening quote; returns where its closing quote is.
fn string(bytes: &[u8], mut at: usize, lone: &mut Vec<usize>) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at = escape(bytes, at, lone),
            _ => at += 1,
        }
    }
    at
}

/// Steps over the escape at `at`, a surrogate pair being one step.
fn escape(bytes: &[u8], at: usize, lone: &mut Vec<usize>) -> usize {
    match unit(bytes, at) {
        Some(0xD800..=0xDBFF) if matches!(unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) => at + 12,
        Some(0xD800..=0xDFFF) => {
            lone.push(at);
            at + 6
        }
        _ => at + 2,
    }
}

/// The code unit of a `\uXXXX` escape at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    if escape[0] != b'\\' || escape[1] != b'u' {
        return None;
    }
    let digits = std::str::from_utf8(&escape[2..]).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

fn mend<'t>(text: &'t str, lone: &[usize]) -> Scanned<'t> {
    if lone.is_empty() {
        return Scanned { text: Cow::Borrowed(text), replaced: 0 };
    }
    let mut mended = text.to_owned();
    for &at in lone {
        // Same length, so the later places stay where they are.
        mended.replace_range(at..at + 6, "\\ufffd");
    }
    Scanned { text: Cow::Owned(mended), replaced: u32::try_from(lone.len()).unwrap_or(u32::MAX) }
}
