//! The program: arguments in, text or JSON out.
//!
//! `args.rs` says what can be asked, `cmd/` does it, `failure.rs` says what went wrong and what now.
//! Data goes to stdout, talk to stderr.

mod args;
mod cmd;
mod failure;
mod out;

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
    let outcome = match arguments.command {
        Command::Serve(serve) => cmd::serve::run(serve),
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
