//! Whether a service and a link tell the same story. If not, everything is sent anew.
//!
//! Numbers alone do not tell: a side that was restored from a backup may come to the same numbers by other operations, and
//! somebody else may write into the share. So the hash chain must be the link's, and every step of the share's cursor must
//! be one of the link's own operations.

use super::link::Link;

/// How far a service says that the link's writer has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub epoch: u64,
    pub cursor: u64,
    pub applied_seq: u64,
    pub applied_count: u64,
    pub chain: String,
}

/// Whether they fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    Agree,
    /// This store was restored from a backup.
    WeWentBack,
    /// The service was.
    TheyWentBack,
    Diverged,
    /// Somebody else wrote to the share, or a side went back and forth.
    CursorUnexplained,
}

#[must_use]
pub fn judge(link: &Link, seen: &Seen) -> Finding {
    if seen.applied_seq > link.sealed_seq {
        return Finding::WeWentBack;
    }
    if seen.applied_seq < link.acked_seq {
        return Finding::TheyWentBack;
    }
    // A batch is applied whole or not at all, and at most one was not answered.
    let chain = if seen.applied_seq == link.acked_seq {
        link.acked_chain
    } else if seen.applied_seq == link.sealed_seq {
        link.sealed_chain
    } else {
        return Finding::Diverged;
    };
    if chain.to_string() != seen.chain {
        return Finding::Diverged;
    }
    if is_explained(link, seen.cursor, seen.applied_count) {
        Finding::Agree
    } else {
        Finding::CursorUnexplained
    }
}

/// Whether the share has moved since the last answer by nothing but what the link's writer has sent.
#[must_use]
pub fn is_explained(link: &Link, cursor: u64, applied_count: u64) -> bool {
    applied_count.checked_sub(link.acked_count).is_some_and(|own| link.cursor + own == cursor)
}
