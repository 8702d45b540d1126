//! The program: arguments in, text or JSON out.
//!
//! `args.rs` says what can be asked, `cmd/` does it, `failure.rs` says what went wrong and what now. Most
//! commands talk to a server (`client.rs`), which `connect.rs` finds or `host.rs` starts.
//! Data goes to stdout, talk to stderr.

mod args;
mod client;
mod cmd;
mod connect;
mod failure;
mod host;
mod keys;
mod notify;
mod out;
mod progress;
mod table;
mod terminal;
mod traces;

use args::{Arguments, Command};
use clap::Parser as _;
use clap::error::ErrorKind;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => {
            // Help and version are answers, not errors. A reader that went away changes nothing.
            let _ = refused.print();
            let is_answer = matches!(refused.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return ExitCode::from(if is_answer { 0 } else { failure::USAGE });
        }
    };
    keys::hide();
    let outcome = match arguments.command {
        Command::Run(run) => cmd::run::run(run),
        Command::Serve(serve) => cmd::serve::run(serve),
        Command::Attach(attach) => cmd::attach::run(attach),
        Command::Open(open) => cmd::open::run(open),
        Command::Session(session) => cmd::session::run(session),
        Command::Share(share) => cmd::share::run(share),
        Command::Grant(grant) => cmd::grant::run(grant),
        Command::Models(models) => cmd::models::run(models),
        Command::Auth(auth) => cmd::auth::run(auth),
        Command::Mcp(mcp) => cmd::mcp::run(mcp),
        Command::Token(token) => cmd::token::run(token),
        Command::Doctor(doctor) => cmd::doctor::run(doctor),
        Command::Du(du) => cmd::du::run(du),
        Command::Gc(gc) => cmd::gc::run(gc),
        Command::Completions(completions) => cmd::manual::completions(&completions),
        Command::Man(man) => cmd::manual::page(&man),
        Command::Trust(trust) => cmd::trust::run(trust),
        Command::Verify(verify) => cmd::verify::run(verify),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => report(&failure),
    }
}

fn report(failure: &Failure) -> ExitCode {
    out::talk(&failure.to_string());
    ExitCode::from(failure.code)
}
