//! Integration tests of `sturdy-capnweb`.
