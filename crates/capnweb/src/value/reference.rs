//! What a value may refer to: an object here, one at a peer, or a promise of either.
//!
//! `hook` is what one can ask of a reference, `path` the way to a member, `cell` a promise of this process, `turn` what runs
//! next and on whose behalf.

pub(crate) mod cell;
pub(crate) mod hook;
pub(crate) mod path;
pub(crate) mod turn;
