//! Whether the settings of a project are obeyed.
//!
//! Not here: the list of what people trusted (`directory/trust.rs`).

use super::danger::Danger;
use super::places::Places;
use super::warning::Warning;
use std::path::PathBuf;

/// More are counted and not shown.
const SHOWN_MAX: usize = 50;

/// How a project stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing in it needs trust.
    Plain,
    Trusted,
    /// What is dangerous in it is not obeyed.
    Untrusted,
}

/// What is trusted: a checkout, with what it says now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TrustKey {
    /// The real path.
    pub checkout: PathBuf,
    /// Over everything dangerous.
    pub hash: String,
}

/// A project and what it would do if it were trusted.
#[derive(Clone, Debug)]
pub struct Trust {
    pub standing: Standing,
    pub key: TrustKey,
    pub dangers: Vec<Danger>,
}

impl Trust {
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.standing == Standing::Untrusted
    }

    /// What trust would switch on, in words: as much of it as somebody reads.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut all: Vec<String> = self.dangers.iter().take(SHOWN_MAX).map(Danger::sentence).collect();
        let more = self.dangers.len().saturating_sub(SHOWN_MAX);
        all.extend((more > 0).then(|| format!("and {more} more")));
        all
    }

    /// What is not obeyed, and what to do about it.
    pub(super) fn warnings(&self, places: &Places) -> Vec<Warning> {
        let checkout = places.checkout();
        let advice = format!("run `sturdy trust {}`", checkout.display());
        let warning = |danger: &Danger| Warning {
            file: Some(checkout.join(&danger.file)),
            line: danger.line,
            message: format!("not obeyed until this directory is trusted ({advice}): {}", danger.short()),
        };
        self.dangers.iter().take(SHOWN_MAX).map(warning).collect()
    }
}
