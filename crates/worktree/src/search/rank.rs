//! Which of many file names is most like what somebody types.
//!
//! A name matches if it has the letters of the query in their order, in either case. It is judged by where they
//! stand: beginnings of words, letters in a row and the last part of the path count for more, gaps for less. Of equal
//! names the shorter comes first, then the order they were given in.
//!
//! Most names are ruled out by a bit set of their letters, without reading them.

/// Points for a letter that matches.
const LETTER: i32 = 16;
/// More for the first letter of a word.
const WORD_START: i32 = 10;
/// More for a letter right behind the one before.
const IN_A_ROW: i32 = 8;
/// More for a letter in the case it was typed in.
const SAME_CASE: i32 = 1;
/// Less for every letter between two that match, up to a bound.
const GAP: i32 = 1;
const GAP_MAX: i32 = 12;
/// More for a match within the last part of the path.
const LAST_PART: i32 = 12;
/// More if the last part begins with the query, and if it is the query.
const LAST_PART_BEGINS: i32 = 12;
const LAST_PART_EQUAL: i32 = 24;

/// Which letters a name has; two that share a bit only cost a look at the name.
pub(super) fn letters(name: &str) -> u64 {
    name.bytes().fold(0, |set, byte| set | bit(byte))
}

fn bit(byte: u8) -> u64 {
    let place = match byte.to_ascii_lowercase() {
        letter @ b'a'..=b'z' => letter - b'a',
        digit @ b'0'..=b'9' => 26 + digit - b'0',
        other => 36 + other % 28,
    };
    1 << place
}

/// What is looked for.
#[derive(Debug)]
pub(super) struct Query {
    /// Without spaces: they separate words, and words need not stand side by side.
    typed: Vec<u8>,
    /// The same in lower case: a name's letters are compared with these, tens of thousands of times.
    lower: Vec<u8>,
    letters: u64,
    names_a_path: bool,
}

impl Query {
    pub(super) fn new(text: &str) -> Self {
        let typed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let letters = typed.iter().fold(0, |set, byte| set | bit(*byte));
        let names_a_path = typed.contains(&b'/');
        let lower = typed.to_ascii_lowercase();
        Self { typed, lower, letters, names_a_path }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.typed.is_empty()
    }

    /// Whether a name with these letters can match at all.
    pub(super) fn may_match(&self, letters: u64) -> bool {
        self.letters & !letters == 0
    }

    /// How like the query a name is; `None` if it does not match.
    pub(super) fn score(&self, name: &str) -> Option<i32> {
        let bytes = name.as_bytes();
        if !self.names_a_path {
            let last = last_part(bytes);
            if let Some(score) = self.best(bytes, last) {
                return Some(score + LAST_PART + self.equality(&bytes[last..]));
            }
        }
        self.best(bytes, 0)
    }

    fn equality(&self, last: &[u8]) -> i32 {
        let begins =
            last.get(..self.typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(&self.typed));
        if !begins {
            return 0;
        }
        let rest = &last[self.typed.len()..];
        if rest.is_empty() || rest.starts_with(b".") || rest == b"/" {
            LAST_PART_EQUAL
        } else {
            LAST_PART_BEGINS
        }
    }

    /// The match that ends first, and of those with this end the shortest: good, and found in two passes.
    fn best(&self, name: &[u8], from: usize) -> Option<i32> {
        let mut wanted = self.lower.iter();
        let mut letter = wanted.next()?;
        let mut end = None;
        for (place, byte) in name.iter().enumerate().skip(from) {
            if byte.to_ascii_lowercase() == *letter {
                match wanted.next() {
                    Some(next) => letter = next,
                    None => {
                        end = Some(place);
                        break;
                    }
                }
            }
        }
        Some(self.score_back(name, from, end?))
    }

    /// Scores the match that ends at `end`, its letters taken from the back.
    fn score_back(&self, name: &[u8], from: usize, end: usize) -> i32 {
        let mut score = 0;
        let mut behind: Option<usize> = None;
        let mut place = end + 1;
        for (letter, lower) in self.typed.iter().zip(&self.lower).rev() {
            while place > from && name[place - 1].to_ascii_lowercase() != *lower {
                place -= 1;
            }
            assert!(place > from, "BUG: a match that was found forward is found backward");
            place -= 1;
            score += LETTER;
            score += if starts_word(name, place) { WORD_START } else { 0 };
            score += if name[place] == *letter { SAME_CASE } else { 0 };
            if let Some(behind) = behind {
                let gap = i32::try_from(behind - place - 1).unwrap_or(GAP_MAX);
                score += if gap == 0 { IN_A_ROW } else { -(gap * GAP).min(GAP_MAX) };
            }
            behind = Some(place);
        }
        score
    }
}

/// Where the last part of a path begins; the `/` at the end of a directory belongs to it.
fn last_part(name: &[u8]) -> usize {
    let end = name.len().saturating_sub(1);
    name[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)
}

fn starts_word(name: &[u8], place: usize) -> bool {
    let Some(before) = place.checked_sub(1).map(|before| name[before]) else { return true };
    let is_hump = name[place].is_ascii_uppercase() && before.is_ascii_lowercase();
    is_hump || matches!(before, b'/' | b'_' | b'-' | b'.' | b' ')
}

#[cfg(test)]
mod tests;
