//! A one-time URL that logs in another browser within two minutes; as a QR code for a phone.
//!
//! The code stands behind the `#`, so that it is in no log of any server. It is asked of a server that goes on: one
//! that was started for this command would be gone before the address is opened.

use crate::args::Open;
use crate::client::Client;
use crate::failure::{Failure, NO_SERVER, UNMET, USAGE};
use crate::{cmd, connect, keys, out};
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};
use serde_json::json;
use std::io::{IsTerminal as _, stderr};
use std::process::ExitCode;
use url::Url;

/// Black on white, whatever the terminal's colours are, and back.
const PAPER: (&str, &str) = ("\x1b[30;107m", "\x1b[0m");

pub(crate) fn run(arguments: Open) -> Result<ExitCode, Failure> {
    cmd::block_on(open(arguments))
}

async fn open(arguments: Open) -> Result<ExitCode, Failure> {
    let client = running(&arguments).await?;
    let base = match &arguments.address {
        Some(address) => web_address(address)?,
        None => client.url().to_owned(),
    };
    let answer = client.post("/sturdy/login/code", &json!({})).await?;
    let code = answer["code"].as_str().filter(|code| !code.is_empty());
    let code =
        code.ok_or_else(|| Failure::new(UNMET, "the server gave no code").with("server", client.url()))?;
    let address = format!("{}/login#once={code}", base.trim_end_matches('/'));
    if arguments.json {
        out::json(&json!({ "url": address }));
        return Ok(ExitCode::SUCCESS);
    }
    out::data(&address);
    if stderr().is_terminal() {
        for line in drawn(&address).unwrap_or_default() {
            out::talk(&format!("{}{line}{}", PAPER.0, PAPER.1));
        }
    }
    out::talk("It logs in one browser, once, within two minutes.");
    Ok(ExitCode::SUCCESS)
}

/// The server that was named, or the one that serves the store.
async fn running(arguments: &Open) -> Result<Client, Failure> {
    if arguments.server.server.is_some() {
        return Ok(connect::connect(&arguments.server).await?.client);
    }
    let environment = keys::environment();
    let directory = connect::directory(arguments.server.dir.as_deref())?;
    let data_dir = arguments.server.data.or_default(&environment);
    let found = connect::find(&data_dir, &environment, &directory).await?;
    found.ok_or_else(|| {
        Failure::new(NO_SERVER, "no server serves this store")
            .with("store", data_dir.display())
            .with("try", "sturdy serve, and this in another terminal")
    })
}

/// A QR code, two rows of modules to a line, dark on light. None when no code holds so much.
fn drawn(text: &str) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let drawing = code.render::<Dense1x2>().build();
    Some(drawing.lines().map(str::to_owned).collect())
}

fn web_address(text: &str) -> Result<String, Failure> {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let url = Url::parse(text).ok().filter(is_web).ok_or_else(|| {
        Failure::new(USAGE, "this is not an address of a server")
            .with("address", text)
            .with("try", "one such as http://192.168.1.20:4096")
    })?;
    Ok(url.to_string())
}

#[cfg(test)]
mod tests {
    use super::drawn;

    #[test]
    fn a_code_has_its_three_corners_in_dark_and_a_light_edge() {
        let lines = drawn("http://127.0.0.1:4096/login#once=abc").unwrap();

        let width = lines[0].chars().count();
        assert!(lines.iter().all(|line| line.chars().count() == width), "{lines:#?}");
        assert_eq!(lines[0].trim(), "");
        let top = lines[2].trim();
        assert!(top.starts_with("█▀▀▀▀▀█ ") && top.ends_with(" █▀▀▀▀▀█"), "{lines:#?}");
        assert_eq!(lines.iter().filter(|line| line.trim().starts_with("█▀▀▀▀▀█ ")).count(), 2, "{lines:#?}");
    }

    #[test]
    fn a_text_that_no_code_holds_is_not_drawn() {
        assert_eq!(drawn(&"x".repeat(4000)), None);
    }
}
