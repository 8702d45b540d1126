//! Whether a service and a link tell the same story. If not, everything is sent anew.

use sturdy_store::outbox::Link;

/// How far the service says that the link's writer has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) epoch: u64,
    pub(super) cursor: u64,
    pub(super) applied_seq: u64,
    pub(super) applied_count: u64,
    pub(super) chain: String,
}

/// Whether they fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Agree,
    /// This store was restored from a backup.
    WeWentBack,
    /// The service was.
    TheyWentBack,
    Diverged,
    /// Somebody else wrote to the share, or a side went back and forth.
    CursorUnexplained,
}

pub(super) fn judge(link: &Link, seen: &Seen) -> Finding {
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
    let unanswered = seen.applied_count.checked_sub(link.acked_count);
    if unanswered.is_none_or(|count| link.cursor + count != seen.cursor) {
        return Finding::CursorUnexplained;
    }
    Finding::Agree
}
