//! Placeholder until the interop peer is written.
fn main() {}
