//! Sessions that run: the actor of each, the registry that finds them, and the effects they want done.
//!
//! An actor decides, commits, shows, acts (`actor.rs`); effects come back as inputs (`effects/`); what is
//! sent to a model is put together in `request.rs`.

pub(crate) mod actor;
pub(crate) mod background;
mod coalesce;
pub(crate) mod effects;
pub(crate) mod handle;
pub(crate) mod image;
pub(crate) mod kept;
pub(crate) mod look;
pub(crate) mod memory;
pub(crate) mod registry;
pub(crate) mod request;
pub(crate) mod structured;
pub(crate) mod trees;
pub(crate) mod window;

pub use handle::{Handle, View};
