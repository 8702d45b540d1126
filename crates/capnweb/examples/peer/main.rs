//! The Rust side of the interop tests.
//!
//! `peer serve` answers on a free port of the loopback interface, prints its address, and
//! ends when its standard input does. `peer bench` measures a batch against its JSON. `peer client ws://… http://…` runs the cases against
//! an npm server and prints one line of JSON for each.

#![allow(clippy::disallowed_methods, reason = "a program starts its own tasks")]

mod bench;
mod cases;
mod serve;
/// The service stands with the tests, which use it as well.
#[path = "../../tests/it"]
mod it {
    pub(crate) mod service;
}

use it::service;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => serve::run().await,
        ["bench"] => bench::run().await,
        ["client", ws, http, names @ ..] => cases::run(ws, http, names).await,
        _ => {
            eprintln!("usage: peer serve | peer bench | peer client WS_URL HTTP_URL [CASE...]");
            std::process::ExitCode::from(2)
        }
    }
}
