//! `sturdy trust`: shows what a project's settings would do, trusts it, takes trust back.
//!
//! Works beside a running server: the list is a file of its own, and a server looks into it before it asks. But a
//! server that runs is asked to write the list, because it refuses what its own commands want.

use crate::args::Trust;
use crate::cmd;
use crate::connect::named_by_lock;
use crate::failure::{Failure, NO_SERVER, UNMET, USAGE};
use crate::out;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use sturdy_engine::Environment;
use sturdy_engine::directory::config::{Danger, Standing};
use sturdy_engine::directory::trust::{
    Inspected, TrustEntry, TrustList, TrustListError, inspect, trusted_checkout,
};

pub(crate) fn run(arguments: Trust) -> Result<ExitCode, Failure> {
    let environment = crate::keys::environment();
    let data_dir = arguments.data.or_default(&environment);
    let Some(directory) = &arguments.directory else {
        list(&TrustList::in_directory(&data_dir), arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    };
    let directory = directory.canonicalize().map_err(|cause| {
        Failure::new(USAGE, "there is no such directory")
            .with("directory", directory.display())
            .with("cause", cause)
    })?;
    if arguments.remove {
        let removed = cmd::runtime()?.block_on(removed_by_server(&data_dir, &environment, &directory))?;
        let checkout = cmd::runtime()?.block_on(trusted_checkout(&directory, &environment));
        remove(&TrustList::in_directory(&data_dir), &checkout, removed, arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let inspected = cmd::runtime()?.block_on(inspect(directory.clone(), &data_dir, &environment));
    let inspected = inspected.map_err(|cause| {
        Failure::new(USAGE, "the settings of this directory are wrong")
            .with("cause", cause)
            .with("try", "correct the file; it cannot be trusted before it can be read")
    })?;
    if arguments.show {
        show(&inspected, arguments.json);
    } else {
        let is_added = cmd::runtime()?.block_on(added_by_server(&data_dir, &environment, &directory))?;
        add(&inspected, is_added, arguments.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(list: &TrustList, as_json: bool) -> Result<(), Failure> {
    let all = list.all().map_err(|cause| unusable(&cause))?;
    if as_json {
        let entry =
            |entry: &TrustEntry| json!({ "path": entry.path, "hash": entry.hash, "since": entry.since });
        out::data(&json!(all.iter().map(entry).collect::<Vec<_>>()).to_string());
        return Ok(());
    }
    if all.is_empty() {
        out::talk("No project is trusted. `sturdy trust DIR` trusts one.");
    }
    let mut paths: Vec<&PathBuf> = all.iter().map(|entry| &entry.path).collect();
    paths.sort();
    paths.dedup();
    paths.iter().for_each(|path| out::data(&path.display().to_string()));
    Ok(())
}

/// Lets the server of this store write the list. False if there is none, or it wants a password: whoever does not
/// have that is not one of its commands, or it would have said so.
async fn added_by_server(
    data_dir: &Path,
    environment: &Environment,
    directory: &Path,
) -> Result<bool, Failure> {
    let Some(client) = named_by_lock(data_dir, environment, directory)? else { return Ok(false) };
    match client.post("/sturdy/trust", &json!({})).await {
        Ok(_) => Ok(true),
        Err(failure) if matches!(failure.code, NO_SERVER | USAGE) => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Lets the server of this store take trust back, because it also holds what was allowed once, and runs what was
/// trusted. None if there is no server, or it wants a password.
async fn removed_by_server(
    data_dir: &Path,
    environment: &Environment,
    directory: &Path,
) -> Result<Option<bool>, Failure> {
    let Some(client) = named_by_lock(data_dir, environment, directory)? else { return Ok(None) };
    match client.delete("/sturdy/trust").await {
        Ok(answer) => Ok(answer["removed"].as_bool()),
        Err(failure) if matches!(failure.code, NO_SERVER | USAGE) => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn add(inspected: &Inspected, is_added: bool, as_json: bool) -> Result<(), Failure> {
    let Inspected { trust, list } = inspected;
    let checkout = &trust.key.checkout;
    if trust.dangers.is_empty() {
        if as_json {
            say_json(inspected, false);
        } else {
            out::data(&format!(
                "{} needs no trust: nothing in its settings is dangerous.",
                checkout.display()
            ));
        }
        return Ok(());
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    if !is_added {
        list.add(&trust.key, since).map_err(|cause| unusable(&cause))?;
    }
    if as_json {
        say_json(inspected, true);
        return Ok(());
    }
    say_dangers(&trust.dangers);
    out::data(&format!("Trusted {} as it is now.", checkout.display()));
    Ok(())
}

fn show(inspected: &Inspected, as_json: bool) {
    let is_trusted = inspected.trust.standing == Standing::Trusted;
    if as_json {
        return say_json(inspected, is_trusted);
    }
    say_dangers(&inspected.trust.dangers);
    let checkout = inspected.trust.key.checkout.display();
    out::data(&match inspected.trust.standing {
        Standing::Plain => format!("{checkout} needs no trust: nothing in its settings is dangerous."),
        Standing::Trusted => format!("{checkout} is trusted as it is now."),
        Standing::Untrusted => format!("{checkout} is not trusted. Nothing was changed."),
    });
}

fn remove(
    list: &TrustList,
    checkout: &Path,
    removed_by_server: Option<bool>,
    as_json: bool,
) -> Result<(), Failure> {
    let was_listed = list.remove(checkout).map_err(|cause| unusable(&cause))?;
    let was_trusted = was_listed || removed_by_server == Some(true);
    if as_json {
        out::data(&json!({ "path": checkout, "removed": was_trusted }).to_string());
        return Ok(());
    }
    out::data(&match was_trusted {
        true => format!("{} is not trusted any more.", checkout.display()),
        false => format!("{} was not trusted.", checkout.display()),
    });
    Ok(())
}

fn say_dangers(dangers: &[Danger]) {
    for danger in dangers {
        out::data(&format!("  {}", danger.whole_sentence()));
    }
}

fn say_json(inspected: &Inspected, is_trusted: bool) {
    let trust = &inspected.trust;
    let danger = |danger: &Danger| json!({ "text": danger.text, "file": danger.file, "line": danger.line });
    let dangers: Vec<_> = trust.dangers.iter().map(danger).collect();
    let document = json!({
        "path": trust.key.checkout, "hash": trust.key.hash, "trusted": is_trusted, "enables": dangers,
    });
    out::data(&document.to_string());
}

fn unusable(cause: &TrustListError) -> Failure {
    let why = std::error::Error::source(cause).map_or_else(String::new, ToString::to_string);
    Failure::new(UNMET, "the list of trusted projects cannot be used").with("cause", cause).with("why", why)
}
