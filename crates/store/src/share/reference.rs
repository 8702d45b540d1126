//! What a person holds to prove a right: `stdy1.<share>.<capability>.<secret>`.
//!
//! The secret has 256 random bits, so a fast hash of it is enough to be kept.

use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "stdy1";

/// The string a person holds. Prints without its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SturdyRef {
    pub share: String,
    pub capability: String,
    secret: String,
}

impl SturdyRef {
    #[must_use]
    pub fn new(share: impl Into<String>, capability: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { share: share.into(), capability: capability.into(), secret: secret.into() }
    }

    /// One whose capability is named after its secret, and gives nothing of it away: whoever makes the secret may ask
    /// twice and means the same capability.
    #[must_use]
    pub fn named_by_secret(share: &str, secret: impl Into<String>) -> Self {
        let secret = secret.into();
        let hash = secret_hash(share, "named by its secret", &secret);
        let capability: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Self::new(share, capability, secret)
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut steps = text.split('.');
        let prefix = steps.next()?;
        let share = steps.next()?;
        let capability = steps.next()?;
        let secret = steps.next()?;
        let is_whole =
            steps.next().is_none() && [share, capability, secret].iter().all(|step| !step.is_empty());
        (prefix == PREFIX && is_whole).then(|| Self::new(share, capability, secret))
    }

    /// For whoever hands it to a person or sends it in a request.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}.{}.{}.{}", self.share, self.capability, self.secret)
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        secret_hash(&self.share, &self.capability, &self.secret)
    }

    /// The same for the same secret, whatever share and capability it names.
    pub(crate) fn hash_of_secret(&self) -> [u8; 32] {
        secret_hash("", "", &self.secret)
    }
}

impl fmt::Debug for SturdyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SturdyRef({PREFIX}.{}.{}.***)", self.share, self.capability)
    }
}

/// What a caller shows to prove a right.
#[derive(Clone, Debug)]
pub enum ShareAuth {
    Ref(SturdyRef),
    /// A secret from before there were capabilities; good only for imported shares.
    Plain(PlainSecret),
}

/// A secret without a name.
#[derive(Clone)]
pub struct PlainSecret(String);

impl PlainSecret {
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PlainSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlainSecret(***)")
    }
}

impl ShareAuth {
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match SturdyRef::parse(text) {
            Some(reference) => Self::Ref(reference),
            None => Self::Plain(PlainSecret(text.to_owned())),
        }
    }

    /// The capability it names, if it names one.
    #[must_use]
    pub fn capability(&self) -> Option<&str> {
        match self {
            Self::Ref(reference) => Some(&reference.capability),
            Self::Plain(_) => None,
        }
    }
}

/// Whether the hash that was shown is the one that is kept. Without a kept one another is compared, so that it takes as
/// long to say no to who guesses at a name as to who guesses at a secret.
pub(crate) fn is_kept(kept: Option<&[u8]>, shown: [u8; 32]) -> bool {
    #[cfg(test)]
    counted::COMPARED.with(|count| count.set(count.get() + 1));
    let is_equal: bool = kept.unwrap_or(&[0; 32]).ct_eq(&shown).into();
    is_equal && kept.is_some()
}

pub(crate) fn secret_hash(share: &str, capability: &str, secret: &str) -> [u8; 32] {
    #[cfg(test)]
    counted::HASHED.with(|count| count.set(count.get() + 1));
    let mut hasher = Sha256::new();
    for (place, field) in [PREFIX, share, capability, secret].iter().enumerate() {
        if place > 0 {
            hasher.update([0x1F]);
        }
        hasher.update(field);
    }
    hasher.finalize().into()
}

/// What a look at a secret costs, counted: no test can say how long it takes.
#[cfg(test)]
pub(crate) mod counted {
    use std::cell::Cell;

    thread_local! {
        pub(crate) static HASHED: Cell<u32> = const { Cell::new(0) };
        pub(crate) static COMPARED: Cell<u32> = const { Cell::new(0) };
    }

    /// Hashes and comparisons of this thread since it was asked last.
    pub(crate) fn taken() -> (u32, u32) {
        (HASHED.take(), COMPARED.take())
    }
}
