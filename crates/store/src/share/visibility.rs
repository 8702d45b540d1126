//! Who may read a share without a capability.

use super::ShareCall;
use super::audit::{self, Entry};
use super::capability::{self, Scope};
use super::grant::bump;
use super::reference::ShareAuth;
use super::refusal::ShareError;
use rusqlite::Transaction;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Whoever has the address.
    Link,
    /// Nobody: a capability is needed.
    Private,
}

impl Visibility {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Private => "private",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "link" => Some(Self::Link),
            "private" => Some(Self::Private),
            _ => None,
        }
    }
}

impl crate::Store {
    /// Says who may read without a capability. A change of authority like any other: the epoch rises, and whoever
    /// watches by the address alone is looked at again. Repeated, it changes nothing. Answers with the epoch.
    pub async fn set_share_visibility(
        &self,
        call: ShareCall,
        share: String,
        auth: ShareAuth,
        visibility: Visibility,
    ) -> Result<u64, ShareError> {
        self.change_share(move |transaction| {
            let (row, own) = capability::authorize(transaction, &share, &auth, call.now)?;
            own.is_rotated()?;
            own.require(Scope::ADMIN, "changing who may read")?;
            if row.visibility == visibility.as_str() {
                return Ok(row.epoch);
            }
            write(transaction, &share, visibility)?;
            audit::write(transaction, &call, &Entry::of(&share, &own.cap_id, "visibility"))?;
            bump(transaction, &call, &share)
        })
        .await
    }
}

pub(super) fn write(
    transaction: &Transaction<'_>,
    share: &str,
    visibility: Visibility,
) -> Result<(), ShareError> {
    const SET: &str = "UPDATE share SET visibility = ?2 WHERE share_id = ?1";
    transaction.execute(SET, (share, visibility.as_str()))?;
    Ok(())
}
