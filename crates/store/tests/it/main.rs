//! What the store promises, one file for each promise.
//!
//! Tests of behaviour are written against `stores!`, so that a second database runs the same ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

#[macro_use]
mod bench;

mod approvals;
mod commit;
mod crash;
mod damage;
mod fold;
mod grants;
mod growth;
mod large;
mod lists;
mod lock;
mod migrate;
mod open;
mod packed;
mod pages;
mod property;
mod refused;
mod removal;
mod share;
mod share_authority;
mod share_bounds;
mod share_changes;
mod share_faults;
mod share_matrix;
mod share_model;
mod share_property;
mod share_upkeep;
mod told;
mod verify;
