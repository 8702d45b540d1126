//! Settings: which files, in which order, what they say, and where each value stands.
//!
//! `places.rs` knows where files may be, `load.rs` reads them into
//! layers (`read.rs` for JSON with comments, `markdown.rs` for agents and commands), `danger.rs` takes out of a
//! project's layers what nobody has trusted (`trust.rs`), `merge.rs` lays the layers over each other and
//! remembers the source of every leaf, `shape.rs` checks the result once, `sections.rs`, `entries.rs` and `servers.rs`
//! make types of it, `settings.rs` is what the rest of the engine sees. `hide.rs` takes the secrets out of what leaves the server, `wire.rs` says
//! it in the newest words, `update.rs` writes a change back into a file.
//!
//! Nothing here is global: the environment comes in as a value, so every test has its own.

mod danger;
mod entries;
mod error;
mod hide;
mod keys;
mod load;
mod markdown;
mod merge;
mod places;
mod read;
mod sections;
mod servers;
mod settings;
mod shape;
mod trust;
mod unused;
mod update;
mod warning;
mod wire;

pub use danger::Danger;
pub use entries::{AgentEntry, CommandEntry, FormatterEntry, LanguageEntry, Programs};
pub use error::{ConfigError, Issue, UpdateError};
pub use load::{Judge, load, load_global, load_judged};
pub use merge::{Level, Origin, Source};
pub use places::Places;
pub use sections::{Compaction, ImageLimits, SandboxSection, ShareMode, ToolOutput};
pub use servers::{McpEntry, McpPlace};
pub use settings::Settings;
pub use trust::{Standing, Trust, TrustKey};
pub use update::update_file;
pub(crate) use update::{draft_of, write_draft};
pub use warning::Warning;

pub(crate) use load::{load_from, load_global_from};
pub(crate) use markdown::read_document;
pub(crate) use places::{Draft, files_below};
