//! What a session is and how it moves: types, facts, decisions. Pure.
//!
//! No clock, no disk, no network, no `async`: time and new ids come in through [`stamp::Stamp`],
//! everything that happens comes in as an input, everything that should be done goes out as an
//! effect. What anybody sees is computed here and shown elsewhere.

pub mod command;
pub mod fact;
pub mod fork;
pub mod id;
pub mod json;
pub mod oracle;
pub mod overflow;
pub mod prompt;
pub mod records;
pub mod retry;
pub mod revert;
pub mod rows;
pub mod rules;
pub mod show;
pub mod stamp;
pub mod talk;
pub mod title;
pub mod turn;
pub mod types;

pub use command::mention;
pub use json::depth;
pub use rows::{growth, placeholder, row};
pub use title::slug;
