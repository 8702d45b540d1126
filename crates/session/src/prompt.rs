//! What a model is shown of a session: pure functions from stored messages to a request.
//!
//! In the order a request is made: `history` picks the messages the model sees, `reminders`
//! adds what it should not forget, `lower` turns parts into the words of `talk`. When the
//! window is full, `tail` decides what stays verbatim, `serialise` writes the rest down for
//! the model that summarises, and `prune` says which old tool outputs need not be sent again.
//!
//! Not here: the system text (`sturdy-engine`), the peculiarities of each provider
//! (`sturdy-llm`), and the decision to compact (`turn`).

pub mod history;
pub mod lower;
pub mod prune;
pub mod reminders;
pub mod serialise;
pub mod tail;
