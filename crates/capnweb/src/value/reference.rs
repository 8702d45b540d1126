//! What a value may refer to: an object here, one at a peer, or a promise of either.
//!
//! `hook` is what one can ask of a reference, `ends` who answers, `path` the way to a member, `cell` a promise of this process,
//! `caller` on whose behalf is asked, `turn` what runs next.

pub(crate) mod caller;
pub(crate) mod cell;
pub(crate) mod ends;
pub(crate) mod hook;
pub(crate) mod path;
pub(crate) mod turn;
