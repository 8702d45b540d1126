//! Settings: which files, in which order, what they say, and where each value stands.
//!
//! `places.rs` knows where files may be, `load.rs` reads them into layers (`read.rs` for JSON with
//! comments, `markdown.rs` for agents and commands), `merge.rs` lays the layers over each other and
//! remembers the source of every leaf, `shape.rs` checks the result once, `settings.rs` is what the
//! rest of the engine sees. `hide.rs` takes the secrets out of what leaves the server, `wire.rs` says
//! it in the newest words, `update.rs` writes a change back into a file.
//!
//! Nothing here is global: the environment comes in as a value, so every test has its own.

mod error;
mod hide;
mod load;
mod markdown;
mod merge;
mod places;
mod read;
mod settings;
mod shape;
mod update;
mod wire;

pub use error::{ConfigError, Issue, UpdateError};
pub use load::{load, load_global};
pub use merge::{Origin, Source};
pub use places::Places;
pub use settings::{Compaction, ImageLimits, Settings, ShareMode, ToolOutput};
pub use update::update_file;

pub(crate) use markdown::read_document;
pub(crate) use places::files_below;
