//! What an export leaves out: nothing, or what was chosen of three things.

use crate::error::{ApiError, Kind};
use crate::wire::query::Query;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A kind of content that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Omitted {
    /// Outputs of tools.
    Outputs,
    /// What files hold: attached ones, written ones, read ones, differences.
    Files,
    /// What the model thought.
    Thoughts,
}

impl Omitted {
    const ALL: [Self; 3] = [Self::Outputs, Self::Files, Self::Thoughts];

    fn parse(word: &str) -> Option<Self> {
        match word {
            "outputs" => Some(Self::Outputs),
            "files" => Some(Self::Files),
            "thoughts" => Some(Self::Thoughts),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Outputs => "outputs of tools",
            Self::Files => "contents of files",
            Self::Thoughts => "thoughts",
        }
    }
}

/// What an export leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Redaction {
    outputs: bool,
    files: bool,
    thoughts: bool,
}

impl Redaction {
    /// `redact=1` is all of it, `redact=outputs,files` what is named. A file that holds more than was meant cannot be
    /// taken back: an unknown value is refused.
    pub(crate) fn of(query: &Query) -> Result<Self, ApiError> {
        match query.get("redact") {
            None | Some("0" | "false") => Ok(Self::default()),
            Some("1" | "true") => Ok(Self::from(Omitted::ALL.as_slice())),
            Some(list) => {
                let omitted: Option<Vec<Omitted>> = list.split(',').map(Omitted::parse).collect();
                omitted.map(|omitted| Self::from(omitted.as_slice())).ok_or_else(|| {
                    let expected = "\"1\" | \"0\" | a list of \"outputs\", \"files\", \"thoughts\"";
                    ApiError::schema(Kind::Query, format!("Expected {expected}\n  at [\"redact\"]"))
                })
            }
        }
    }

    pub(crate) fn omits(self, one: Omitted) -> bool {
        match one {
            Omitted::Outputs => self.outputs,
            Omitted::Files => self.files,
            Omitted::Thoughts => self.thoughts,
        }
    }

    pub(crate) fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Those that are left out.
    pub(crate) fn omitted(self) -> impl Iterator<Item = Omitted> {
        Omitted::ALL.into_iter().filter(move |one| self.omits(*one))
    }

    /// For a reader; empty when nothing is left out.
    pub(crate) fn note(self) -> String {
        let words: Vec<&str> = self.omitted().map(Omitted::words).collect();
        match words.as_slice() {
            [] => String::new(),
            [one] => format!("Redacted: {one} are left out."),
            [first @ .., last] => format!("Redacted: {} and {last} are left out.", first.join(", ")),
        }
    }
}

impl From<&[Omitted]> for Redaction {
    fn from(omitted: &[Omitted]) -> Self {
        let has = |one| omitted.contains(&one);
        Self { outputs: has(Omitted::Outputs), files: has(Omitted::Files), thoughts: has(Omitted::Thoughts) }
    }
}
