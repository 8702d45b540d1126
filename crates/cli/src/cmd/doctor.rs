//! Looks for what is wrong with an installation, and says what to do. Changes nothing.
//!
//! Each check is a line: what was looked at, how it stands, and if it is not well, what helps. The store is not
//! opened, because opening it settles what a dead process left open.

mod checks;

use crate::args::{Doctor, LogFormat, LogLevel};
use crate::failure::{Failure, UNMET};
use crate::table::printable;
use crate::{cmd, connect, out};
use console::style;
use serde::Serialize;
use std::process::ExitCode;

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Ok,
    /// It works, but may surprise.
    Warning,
    /// Something will not work.
    Wrong,
}

/// What one check found.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    state: Health,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    try_this: Option<String>,
}

impl Finding {
    fn ok(what: &'static str, detail: impl Into<String>) -> Self {
        Self { what, state: Health::Ok, detail: detail.into(), try_this: None }
    }

    fn warning(what: &'static str, detail: impl Into<String>, try_this: impl Into<String>) -> Self {
        Self { what, state: Health::Warning, detail: detail.into(), try_this: Some(try_this.into()) }
    }

    fn wrong(what: &'static str, detail: impl Into<String>, try_this: impl Into<String>) -> Self {
        Self { what, state: Health::Wrong, detail: detail.into(), try_this: Some(try_this.into()) }
    }
}

pub(crate) fn run(arguments: Doctor) -> Result<ExitCode, Failure> {
    out::start_log(LogLevel::Off, LogFormat::Text);
    let environment = crate::keys::environment();
    let directory = connect::directory(None)?;
    let data_dir = arguments.data.or_default(&environment);
    let mut findings = vec![
        checks::versions(),
        checks::git(),
        checks::shell(&environment),
        checks::clock(&data_dir),
        checks::data_dir(&data_dir),
        checks::disk(&data_dir),
        checks::file_system(&data_dir),
        checks::credentials(&environment),
        checks::configuration(&directory, &environment),
        checks::sandbox(),
        checks::terminal_client(&environment),
    ];
    let network = async {
        let server = checks::server(&data_dir, &environment, &directory).await;
        let port = checks::port(&server).await;
        [server, port]
    };
    findings.extend(cmd::runtime()?.block_on(network));

    if arguments.json {
        out::json(&findings);
    } else {
        findings.iter().for_each(print);
    }
    let wrong = findings.iter().filter(|finding| finding.state == Health::Wrong).count();
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::from(UNMET) })
}

fn print(finding: &Finding) {
    let mark = match finding.state {
        Health::Ok => style("ok   ").green(),
        Health::Warning => style("warn ").yellow(),
        Health::Wrong => style("wrong").red(),
    };
    out::data(&format!("{mark}  {:<14}{}", finding.what, printable(&finding.detail)));
    if let Some(try_this) = &finding.try_this {
        out::data(&format!("       {:<14}try: {}", "", printable(try_this)));
    }
}
