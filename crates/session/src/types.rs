//! What travels on the wire and stands in rows.
//!
//! One file per noun. Field order is the order of the spec's tables, an unset optional
//! field is left out, unknown keys are dropped on reading.

pub mod ask;
pub mod compaction;
pub mod delivery;
pub mod diff;
pub mod event;
pub mod failure;
pub mod finish;
pub mod format;
pub mod message;
pub mod part;
pub mod project;
pub mod session;
pub mod status;
pub mod step;
pub mod todo;
pub mod tool;
pub mod usage;
