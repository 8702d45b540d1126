//! The name of a member. Nearly every name is short and stands in place: no allocation, and no
//! second line of memory to look at.

use std::fmt;

/// Longest name that stands in place: with its length and the tag, the size of a `String`.
const SHORT_MAX: usize = 22;

#[derive(Clone)]
pub(super) enum Name {
    Short { length: u8, bytes: [u8; SHORT_MAX] },
    Long(Box<str>),
}

impl Name {
    pub(super) fn new(text: &str) -> Name {
        let mut bytes = [0; SHORT_MAX];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Name::Short { length, bytes }
            }
            _ => Name::Long(text.into()),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Name::Short { length, bytes } => &bytes[..usize::from(*length)],
            Name::Long(text) => text.as_bytes(),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Name::Short { .. } => str::from_utf8(self.as_bytes()).expect("BUG: a name was made from text"),
            Name::Long(text) => text,
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Name, SHORT_MAX};

    #[test]
    fn a_name_of_any_length_is_the_text_it_was_made_from() {
        for length in [0, 1, SHORT_MAX - 1, SHORT_MAX, SHORT_MAX + 1, 300] {
            for letter in ["x", "é", "\u{1f600}"] {
                let text = letter.repeat(length);
                assert_eq!(Name::new(&text).as_str(), text);
                assert_eq!(Name::new(&text), Name::new(&text));
            }
        }
        assert_eq!(size_of::<Name>(), size_of::<String>());
    }
}
