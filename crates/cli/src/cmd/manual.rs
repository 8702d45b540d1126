//! Completion scripts and manual pages, made from the arguments themselves.

use crate::args::{Arguments, Completions, Man};
use crate::failure::{Failure, UNMET, USAGE};
use clap::CommandFactory as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

pub(crate) fn completions(arguments: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "sturdy", &mut script);
    print(&script)
}

pub(crate) fn page(arguments: &Man) -> Result<ExitCode, Failure> {
    let mut command = Arguments::command();
    command.build();
    let mut name = "sturdy".to_owned();
    for word in &arguments.command {
        let Some(found) = command.find_subcommand(word).cloned() else {
            return Err(Failure::new(USAGE, format!("there is no command \"{word}\" in {name}"))
                .with("try", format!("{name} --help")));
        };
        command = found;
        name = format!("{name} {word}");
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(|cause| Failure::new(UNMET, "the page cannot be made").with("cause", cause))?;
    print(&page)
}

fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    // A reader that went away has what it wanted.
    let _ = io::stdout().lock().write_all(text);
    Ok(ExitCode::SUCCESS)
}
