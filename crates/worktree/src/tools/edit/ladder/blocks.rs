//! Readings that compare a block by its first and last line.

use super::lines::{kept_end, ranges, wanted};

/// How alike the middle of a block must be.
const SIMILARITY_MIN: f64 = 0.65;

/// A block of another length is still the same one when it differs by less than this.
const LENGTH_TOLERANCE: f64 = 0.25;

/// Longer lines are compared by their beginning: the distance is quadratic.
const COMPARED_MAX: usize = 1_000;

/// First and last line are right, the lines between are nearly so. The likest block is taken.
pub(super) fn anchored(text: &str, old: &str) -> Vec<String> {
    let wanted = wanted(old);
    if wanted.len() < 3 {
        return Vec::new();
    }
    let tolerance = ((wanted.len() as f64 * LENGTH_TOLERANCE).floor() as usize).max(1);
    let lines = ranges(text);
    let line = |at: usize| text[lines[at].clone()].trim();
    let first = wanted[0].trim();
    let last = wanted[wanted.len() - 1].trim();

    let mut best: Option<(f64, String)> = None;
    for start in (0..lines.len()).filter(|at| line(*at) == first) {
        let shortest = wanted.len().saturating_sub(tolerance).max(3);
        for count in shortest..=wanted.len() + tolerance {
            let end = start + count - 1;
            if end >= lines.len() || line(end) != last {
                continue;
            }
            let middle: Vec<&str> = (start + 1..end).map(line).collect();
            let alike = similarity(&middle, &wanted[1..wanted.len() - 1]);
            if alike >= SIMILARITY_MIN && best.as_ref().is_none_or(|(most, _)| alike > *most) {
                best = Some((alike, kept_end(&text[lines[start].start..lines[end].end], old)));
            }
        }
    }
    best.into_iter().map(|(_, block)| block).collect()
}

/// As many lines, the same first and last, and at least half of those between.
pub(super) fn in_context(text: &str, old: &str) -> Vec<String> {
    let wanted = wanted(old);
    if wanted.len() < 3 {
        return Vec::new();
    }
    let fits = |window: &&str| {
        let lines: Vec<&str> = window.split('\n').collect();
        let same = |at: usize| lines[at].trim() == wanted[at].trim();
        let last = wanted.len() - 1;
        if !same(0) || !same(last) {
            return false;
        }
        let said: Vec<usize> =
            (1..last).filter(|at| !lines[*at].trim().is_empty() || !wanted[*at].trim().is_empty()).collect();
        let equal = said.iter().filter(|at| same(**at)).count();
        equal * 2 >= said.len()
    };
    super::lines::windows(text, wanted.len()).filter(fits).map(|window| kept_end(window, old)).collect()
}

/// How alike two runs of lines are, from 0 to 1.
fn similarity(found: &[&str], wanted: &[&str]) -> f64 {
    let pairs = found.len().min(wanted.len());
    if pairs == 0 {
        return if found.len() == wanted.len() { 1.0 } else { 0.0 };
    }
    let alike: f64 = found.iter().zip(wanted).map(|(a, b)| likeness(a, b.trim())).sum();
    alike / found.len().max(wanted.len()) as f64
}

fn likeness(a: &str, b: &str) -> f64 {
    let letters = |text: &str| text.chars().take(COMPARED_MAX).collect::<Vec<_>>();
    let a = letters(a);
    let b = letters(b);
    let longest = a.len().max(b.len());
    if longest == 0 {
        return 1.0;
    }
    1.0 - distance(&a, &b) as f64 / longest as f64
}

/// How many letters have to be added, removed or exchanged.
pub(in crate::tools) fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let exchanged = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
