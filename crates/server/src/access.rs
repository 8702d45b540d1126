//! Who may ask: what is settled about a request before its handler sees it.
//!
//! `door` refuses pages and commands that must not use the server at all, `cors` knows the origins of pages, `auth`
//! the password, `devices` the browsers that are logged in, `tokens` the programs that were given one, `grants`
//! narrow rights to one session, `tickets` downloads, `caller` is who asks in the end. What `devices` and `tokens` keep stands in a
//! `private_file` each.
//!
//! Not here: the order in which these are asked (`edge.rs`).

pub(crate) mod auth;
pub(crate) mod caller;
pub(crate) mod cors;
pub(crate) mod devices;
pub(crate) mod door;
pub(crate) mod grants;
mod private_file;
pub(crate) mod tickets;
pub(crate) mod tokens;
