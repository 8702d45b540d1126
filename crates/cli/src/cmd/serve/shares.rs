//! The share service alone: it receives and shows shares and knows no sessions of its own.
//!
//! The same engine and the same core as `sturdy serve --share`, behind fewer routes. Importing old shares needs the
//! password, or the key that the lock file of the store has for programs of the same user.

use super::listen::{address, bind};
use super::until::{Signals, until_told};
use super::{host_of, open_files, share_key, start_exporter, start_log};
use crate::args::{ShareServe, share_limits};
use crate::failure::{self, Failure};
use crate::host::{self, PASSWORD, USERNAME, USUAL_USER};
use crate::traces::Exporter;
use crate::{cmd, keys, out};
use std::process::ExitCode;
use sturdy_engine::{Engine, Environment};
use sturdy_server::{App, Offer, Password, ServerOptions, ShareOptions};
use tracing::warn;

pub(crate) fn run(arguments: ShareServe) -> Result<ExitCode, Failure> {
    let environment = keys::environment();
    let exporter = start_log(arguments.log_level, arguments.log_format, &environment);
    cmd::block_on(serve(arguments, environment, exporter))
}

async fn serve(
    arguments: ShareServe,
    environment: Environment,
    exporter: Option<Exporter>,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::watch()?;
    let data_dir = arguments.data_dir_or_default(&environment);
    let sharing = share_limits::sharing(&arguments.share_limit);
    let mut options =
        host::engine_options(&data_dir, arguments.durability.into(), environment, data_dir.clone());
    options.share = sharing.pace;
    let engine = Engine::open(options).await.map_err(|cause| failure::booting(&data_dir, cause))?;
    let listener = match bind(&arguments.hostname, arguments.port).await {
        Ok(listener) => listener,
        Err(failure) => {
            engine.close().await;
            return Err(failure);
        }
    };
    let address = address(&listener, &arguments.hostname);
    let key = host::new_key();
    if let Err(cause) = engine.announce(&address, Some(&key)) {
        warn!(%cause, "the address of this server could not be stored; other programs will not find it");
    }
    // Before the service says that it listens: a client may connect right after that line.
    let limits = open_files::server_options();
    let public_url = arguments.share_url.unwrap_or_else(|| address.clone());
    out::data(&format!("sturdy shares are in {}", data_dir.display()));
    out::data(&format!("sturdy share service listening on {address}"));
    out::data(&format!("share to it with: \"enterprise\": {{ \"url\": \"{public_url}\" }}"));

    let environment = &engine.options().environment;
    let options = ServerOptions {
        password: Some(password(environment, &key)),
        names: host_of(&public_url).into_iter().collect(),
        share: Some(ShareOptions {
            public_url,
            gateway_key: share_key(environment),
            limits: sharing.service,
        }),
        offer: Offer::Shares,
        ..limits
    };
    let app = App::new(engine.clone(), options);
    Ok(until_told(&mut signals, listener, app, &address, start_exporter(exporter)).await)
}

/// Without a password of the user's, only programs that can read the lock file are let in.
fn password(environment: &Environment, key: &str) -> Password {
    let user = host::first(environment, USERNAME).unwrap_or(USUAL_USER);
    match host::first(environment, PASSWORD) {
        Some(secret) => Password::new(user, secret.to_owned()).or_key(key),
        None => Password::new(user, key),
    }
}
