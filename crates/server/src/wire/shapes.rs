//! The shapes of answers that are put together as JSON, for the document.
//!
//! What is stored and sent as a type of its own (`sturdy_session::types`) describes itself. What a handler makes of
//! several things, or of other crates' types, is described here, once. A test holds every real answer of the other
//! tests against the document, so a shape that is not true does not last.
//!
//! Not here: errors (`error_schema.rs`), the document itself (`routes/server/openapi.rs`).

#![allow(dead_code, reason = "these are read by the derive and never built")]

pub(crate) mod catalog;
pub(crate) mod files;
pub(crate) mod mcp;
pub(crate) mod next;
pub(crate) mod own;
pub(crate) mod v2;
