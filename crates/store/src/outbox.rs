//! Sessions that this store shares: what has to be sent, and what became of it.
//!
//! No operation is queued when a session changes. What has to be sent is the difference between the session's rows and
//! what was said of them before: of all rows once (`compare.rs`), and from then on of those that commits have noted as
//! changed (`changes.rs`). So a burst of changes is one operation, a restart loses nothing, and a session that is not
//! shared costs nothing. The difference is sealed into a numbered batch, stored, and only
//! then sent (`seal.rs`); a repeat is the same batch, which its receiver recognises. The next batch is sealed when
//! this one is answered.
//!
//! Not here: who sends, and when (`sturdy-engine`); who receives (`share.rs`).

mod changes;
mod compare;
mod judge;
mod link;
mod retry;
mod seal;
mod shorten;
mod waiting;

pub use compare::{Differences, Draft};
pub use judge::{Finding, Seen, is_explained, judge};
pub use link::{Contract, Link, LinkSecret, LinkState, Made, SnapshotStage, WantedLink};
pub use retry::Retry;
pub use seal::{Answered, Sealed};
