//! Integration tests of `sturdy-session`.

mod events;
mod facts;
mod ids;
mod numbers;
mod rules;
mod titles;
mod types;
mod usage;
mod wire;
