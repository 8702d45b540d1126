//! From an entry of the configuration to a server.
//!
//! Files are checked when they are read, and say where a mistake stands; this also reads what a client
//! sends, so it checks again. A message names the server.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sturdy_worktree::mcp::{CALL_TIMEOUT, CONNECT_TIMEOUT, McpTransport, OAuth, Server};
use sturdy_worktree::process::Inherited;

/// Longer than this nobody means.
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

pub(super) fn server(
    name: &str,
    config: &Map<String, Value>,
    directory: &str,
    timeout_ms: Option<u64>,
) -> Result<Server, String> {
    let wrong = |why: String| format!("The MCP server {name:?} cannot be used: {why}");
    let place = match config.get("type").and_then(Value::as_str) {
        Some("local") => local(config, directory),
        Some("remote") => remote(config),
        _ => Err("its type is neither \"local\" nor \"remote\"".to_owned()),
    };
    let own = number(config, "timeout").map_err(wrong)?;
    let limit = |given: Option<u64>, fallback| {
        given.map_or(fallback, |given| Duration::from_millis(given.min(TIMEOUT_MS_MAX)))
    };
    Ok(Server {
        name: name.to_owned(),
        place: place.map_err(wrong)?,
        is_enabled: flag(config, "enabled").map_err(wrong)?.unwrap_or(true),
        connect_timeout: limit(own, CONNECT_TIMEOUT),
        call_timeout: limit(own.or(timeout_ms), CALL_TIMEOUT),
        root: PathBuf::from(directory),
    })
}

fn local(config: &Map<String, Value>, directory: &str) -> Result<McpTransport, String> {
    let words = config.get("command").and_then(Value::as_array);
    let command: Option<Vec<String>> =
        words.and_then(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    let command = command.ok_or("its \"command\" is not a list of texts")?;
    if command.first().is_none_or(String::is_empty) {
        return Err("its \"command\" names no program".to_owned());
    }
    let directory = Path::new(directory).join(text(config, "cwd")?.unwrap_or_default());
    let variables = pairs(config, "environment")?;
    Ok(McpTransport::Local { command, directory, inherited: Inherited::default(), variables })
}

fn remote(config: &Map<String, Value>) -> Result<McpTransport, String> {
    let url = text(config, "url")?.ok_or("its \"url\" is missing")?;
    let oauth = match config.get("oauth") {
        None | Some(Value::Null) => Some(OAuth::default()),
        Some(Value::Bool(false)) => None,
        Some(Value::Object(oauth)) => Some(OAuth {
            client_id: text(oauth, "clientId")?,
            client_secret: text(oauth, "clientSecret")?,
            scope: text(oauth, "scope")?,
            callback_port: number(oauth, "callbackPort")?
                .map(|port| u16::try_from(port).map_err(|_| "its \"callbackPort\" is no port"))
                .transpose()?,
            redirect_uri: text(oauth, "redirectUri")?,
        }),
        Some(_) => return Err("its \"oauth\" is neither an object nor false".to_owned()),
    };
    Ok(McpTransport::Remote { url, headers: pairs(config, "headers")?, oauth })
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("its {key:?} is not a text")),
    }
}

fn flag(map: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(format!("its {key:?} is neither true nor false")),
    }
}

/// A whole number above zero; JSON writes 3 and 3.0 for the same.
fn number(map: &Map<String, Value>, key: &str) -> Result<Option<u64>, String> {
    let Some(value) = map.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
    let number = value.as_f64().filter(|number| *number >= 1.0 && number.fract() == 0.0);
    number
        .map(|number| Some(number as u64))
        .ok_or_else(|| format!("its {key:?} is not a whole number above 0"))
}

fn pairs(map: &Map<String, Value>, key: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = || format!("its {key:?} are not texts by name");
    match map.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(pairs)) => {
            let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
            pairs.iter().map(pair).collect::<Option<Vec<_>>>().ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}
