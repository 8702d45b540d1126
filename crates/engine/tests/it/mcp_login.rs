//! Logins at tool servers: what a registration gave is kept and used, and made again when it is no good.

use crate::mcp_web::{instance, status, world};
use serde_json::{Value, json};
use sturdy_engine::Engine;
use sturdy_engine::mcp::Status;
use sturdy_store::CrashPlan;
use sturdy_testkit::World;
use sturdy_testkit::mcp::{Web, WebOptions};
use sturdy_testkit::world::options;

/// What is kept of the logins.
fn kept(world: &World) -> Value {
    let file = world.disk.home().join(".local/share/opencode/mcp-auth.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Makes the token an old one, as time would.
fn age(world: &World) {
    let mut all = kept(world);
    all["web"]["tokens"]["expiresAt"] = json!(1_700_000_000);
    let file = world.disk.home().join(".local/share/opencode/mcp-auth.json");
    std::fs::write(file, all.to_string()).unwrap();
}

pub(crate) fn code_of(back: &str) -> String {
    let back = url::Url::parse(back).unwrap();
    back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
}

/// A whole login by hand.
async fn log_in(world: &World, web: &Web) -> Status {
    let mcp = &instance(world).await.mcp;
    let started = mcp.start_login("web").await.unwrap();
    let code = code_of(&web.log_in(&started.url).await);
    mcp.finish_login("web", &code).await.unwrap()
}

/// The same disk, another process.
async fn restarted(world: World) -> World {
    world.engine.close().await;
    let engine = Engine::open(options(&world.disk, CrashPlan::Never)).await.unwrap();
    World { engine, ..world }
}

fn confidential() -> WebOptions {
    WebOptions { wants_login: true, confidential: true, ..WebOptions::default() }
}

fn client(number: u32) -> (String, Option<String>) {
    (format!("client-{number}"), Some(format!("hush+client-{number}/=%")))
}

#[tokio::test]
async fn a_secret_that_a_registration_gave_renews_tokens_after_a_restart() {
    let web = Web::start(confidential()).await;
    let world = world(web.remote()).await;
    assert_eq!(log_in(&world, &web).await, Status::Connected);
    let issuer = web.remote()["url"].as_str().unwrap().trim_end_matches("/mcp").to_owned();
    let info = json!({
        "clientId": "client-1", "clientSecret": "hush+client-1/=%", "clientIdIssuedAt": 1_700_000_000,
        "clientSecretExpiresAt": 0, "issuer": issuer,
        "redirectUri": "http://127.0.0.1:19876/mcp/oauth/callback",
    });
    assert_eq!(kept(&world)["web"]["clientInfo"], info);

    age(&world);
    let world = restarted(world).await;

    assert_eq!(status(&world).await, Status::Connected);
    assert_eq!(web.grants(), ["authorization_code", "refresh_token"]);
    // Was: the secret was gone with the process, and the renewal went without it.
    assert_eq!(web.askers(), [client(1), client(1)]);
    assert_eq!(kept(&world)["web"]["clientInfo"], info, "and it is still there");
}

#[tokio::test]
async fn whoever_is_registered_is_not_registered_again() {
    let web = Web::start(confidential()).await;
    let world = world(web.remote()).await;
    // A login that nobody ends is as good a reason.
    instance(&world).await.mcp.start_login("web").await.unwrap();
    assert_eq!(log_in(&world, &web).await, Status::Connected);

    let world = restarted(world).await;
    assert_eq!(log_in(&world, &web).await, Status::Connected);

    assert_eq!((web.registered(), web.askers()), (1, vec![client(1), client(1)]));
    instance(&world).await.mcp.forget_login("web").await.unwrap();
    assert_eq!(log_in(&world, &web).await, Status::Connected);
    assert_eq!(web.registered(), 2, "a login that is forgotten is forgotten whole");
}

#[tokio::test]
async fn a_registration_that_is_not_good_any_more_is_made_again() {
    // A secret that has expired.
    let web = Web::start(WebOptions { secret_expires_at: Some(1_700_000_000), ..confidential() }).await;
    let here = world(web.remote()).await;
    assert_eq!(log_in(&here, &web).await, Status::Connected);
    assert_eq!(log_in(&here, &web).await, Status::Connected);
    assert_eq!((web.registered(), web.askers()), (2, vec![client(1), client(2)]));

    // Another address to come back to, at the same server.
    let web = Web::start(confidential()).await;
    let here = world(web.remote()).await;
    assert_eq!(log_in(&here, &web).await, Status::Connected);
    let mut server = web.remote();
    server["oauth"] = json!({ "redirectUri": "http://127.0.0.1:1/elsewhere" });
    instance(&here).await.mcp.add("web", server.as_object().unwrap()).await.unwrap();
    assert_eq!(log_in(&here, &web).await, Status::Connected);
    assert_eq!(web.registered(), 2);
    assert_eq!(kept(&here)["web"]["clientInfo"]["redirectUri"], "http://127.0.0.1:1/elsewhere");

    // The same name at another address of a tool server.
    let other = Web::start(confidential()).await;
    instance(&here).await.mcp.add("web", other.remote().as_object().unwrap()).await.unwrap();
    assert_eq!(log_in(&here, &other).await, Status::Connected);
    assert_eq!(other.registered(), 1);
    assert_eq!(kept(&here)["web"]["serverUrl"], other.remote()["url"]);
}

#[tokio::test]
async fn an_authorization_server_that_has_forgotten_us_is_told_again_who_we_are() {
    let web = Web::start(confidential()).await;
    let world = world(web.remote()).await;
    assert_eq!(log_in(&world, &web).await, Status::Connected);

    // While a token is renewed.
    web.forget_clients();
    age(&world);
    let world = restarted(world).await;
    assert_eq!(status(&world).await, Status::NeedsAuth);
    assert_eq!(kept(&world), json!({}));
    assert_eq!(log_in(&world, &web).await, Status::Connected);
    assert_eq!(web.registered(), 2);

    // While a code is traded.
    let mcp = &instance(&world).await.mcp;
    let started = mcp.start_login("web").await.unwrap();
    let code = code_of(&web.log_in(&started.url).await);
    web.forget_clients();
    let Status::Failed(why) = mcp.finish_login("web", &code).await.unwrap() else { panic!("let in") };
    assert!(why.ends_with("does not know us any more. Log in again") && !why.contains("hush"), "{why}");
    assert_eq!(log_in(&world, &web).await, Status::Connected);
    assert_eq!(web.registered(), 3);
}
