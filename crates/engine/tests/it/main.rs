//! Integration tests of `sturdy-engine`: whole turns against a scripted provider.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where a test would")]

mod crash;
mod feed;
mod turns;
