//! Integration tests of `sturdy-session`.
