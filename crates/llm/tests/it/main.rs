//! Providers over real sockets: scripted servers on loopback, written for these tests.

mod catalog;
mod chat;
mod demo;
mod server;
