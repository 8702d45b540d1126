//! Logins at MCP servers: what a registration gave is kept and used, and made again when it is no good; browsers
//! that come back are waited for, and make way for each other.

use crate::mcp_web::{call, instance, page, said, status, world};
use serde_json::{Value, json};
use std::net::SocketAddr;
use sturdy_engine::directory::mcp::Status;
use sturdy_engine::{Engine, EngineOptions, Environment, Instance};
use sturdy_store::CrashPlan;
use sturdy_testkit::World;
use sturdy_testkit::mcp::{Web, WebOptions};
use sturdy_testkit::world::{options, scripted};
use tokio::net::{TcpListener, TcpStream};

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
async fn a_token_is_not_sent_to_another_address_under_the_same_name() {
    let web = Web::start(wanting()).await;
    let other = Web::start(wanting()).await;
    let world = world(web.remote()).await;
    assert_eq!(log_in(&world, &web).await, Status::Connected);
    let token = kept(&world)["web"]["tokens"]["accessToken"].as_str().unwrap().to_owned();
    assert!(web.header("authorization").iter().flatten().any(|sent| sent.contains(&token)));

    let mut config = scripted(&world.provider.url());
    config["mcp"] = json!({ "web": other.remote() });
    world.disk.configure(&config);
    let world = restarted(world).await;

    assert_eq!(status(&world).await, Status::NeedsAuth);
    let sent = other.header("authorization");
    assert!(!sent.is_empty() && sent.iter().all(Option::is_none), "{sent:?}");
}

#[tokio::test]
async fn a_server_that_only_speaks_the_older_transport_is_logged_in_at() {
    // Was: the login was left out, so that such a server could never be used.
    let web = Web::start(WebOptions { wants_login: true, older: true, ..WebOptions::default() }).await;
    let world = world(web.remote()).await;
    assert_eq!(status(&world).await, Status::NeedsAuth);

    assert_eq!(log_in(&world, &web).await, Status::Connected);
    let state = call(&world, "echo", "long ago").await;

    assert_eq!(said(&state), "long ago");
    assert_eq!(web.called(), ["echo"]);
    let tokens = web.header("authorization");
    assert!(tokens.iter().flatten().all(|value| value.starts_with("Bearer ")) && !tokens.is_empty());
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

    // The same name at another address of an MCP server.
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
    assert!(
        why.ends_with("rejected our client registration. Log in again") && !why.contains("hush"),
        "{why}"
    );
    assert_eq!(log_in(&world, &web).await, Status::Connected);
    assert_eq!(web.registered(), 3);
}

/// A port that no other test uses, and that the system gives to nobody by itself.
pub(crate) fn port() -> u16 {
    let first = 20_000 + (std::process::id() % 500) as u16 * 20;
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..first + 20).find(is_free).expect("all ports are taken")
}

/// A world in which no browser can be opened, so that clients have to.
pub(crate) async fn without_browser(world: World) -> World {
    let home = world.disk.home().display().to_string();
    let variables = [("HOME".to_owned(), home), ("BROWSER".to_owned(), "false".to_owned())];
    world.engine.close().await;
    let environment = Environment::new(variables.into()).trusting_all();
    let engine = Engine::open(EngineOptions { environment, ..options(&world.disk, CrashPlan::Never) });
    World { engine: engine.await.unwrap(), ..world }
}

/// A server whose logins come back to this port.
fn at(web: &Web, port: u16) -> Value {
    let mut server = web.remote();
    server["oauth"] = json!({ "callbackPort": port });
    server
}

/// Waits until the server stands like this.
async fn becomes(here: &Instance, name: &str, wanted: &Status) {
    while here.mcp.status_of(name) != *wanted {
        tokio::task::yield_now().await;
    }
}

/// Waits until nobody listens there any more; the port can be taken.
async fn is_free(port: u16) {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    TcpListener::bind(address).await.unwrap();
}

fn wanting() -> WebOptions {
    WebOptions { wants_login: true, ..WebOptions::default() }
}

const NOT_BEGUN: &str = "The login could not be completed: no login is under way";

#[tokio::test]
async fn a_browser_that_comes_back_ends_a_login_in_two_steps() {
    let web = Web::start(wanting()).await;
    let port = port();
    let world = world(at(&web, port)).await;
    let here = instance(&world).await;
    assert_eq!(status(&world).await, Status::NeedsAuth);

    let started = here.mcp.start_login("web").await.unwrap();
    let back = web.log_in(&started.url).await;
    let (code, text) = page(&back).await;

    // Was: nobody listened, and the browser showed an error.
    assert_eq!((code, text.contains("You are logged in.")), (200, true), "{text}");
    becomes(&here, "web", &Status::Connected).await;
    is_free(port).await;
    let late = here.mcp.finish_login("web", &code_of(&back)).await.unwrap();
    assert_eq!(late, Status::Connected, "who brings the same code by hand is told how it stands");
    assert_eq!(web.grants(), ["authorization_code"]);
}

#[tokio::test]
async fn a_code_by_hand_ends_the_waiting_for_the_browser() {
    let web = Web::start(wanting()).await;
    let port = port();
    let world = world(at(&web, port)).await;
    let here = instance(&world).await;

    let started = here.mcp.start_login("web").await.unwrap();
    let code = code_of(&web.log_in(&started.url).await);
    let done = here.mcp.finish_login("web", &code).await.unwrap();
    is_free(port).await;
    assert_eq!(done, Status::Connected);

    // Also one that is wrong: its login cannot be ended any more.
    here.mcp.start_login("web").await.unwrap();
    assert!(matches!(here.mcp.finish_login("web", "wrong").await.unwrap(), Status::Failed(_)));
    is_free(port).await;
}

#[tokio::test]
async fn a_port_that_is_taken_leaves_the_code_to_the_person() {
    let web = Web::start(wanting()).await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let world = world(at(&web, taken.local_addr().unwrap().port())).await;
    let mcp = &instance(&world).await.mcp;

    let whole = mcp.authenticate("web").await.unwrap();
    let by_hand = log_in(&world, &web).await;

    let Status::Failed(why) = whole else { panic!("nobody can come back") };
    assert!(why.starts_with("the callback address is taken"), "{why}");
    assert_eq!(by_hand, Status::Connected);
}

#[tokio::test]
async fn logins_at_one_port_make_way_for_each_other() {
    let one = Web::start(wanting()).await;
    let two = Web::start(wanting()).await;
    let port = port();
    let servers = json!({ "one": at(&one, port), "two": at(&two, port) });
    let world = World::with_servers(servers, json!({})).await;
    let here = instance(&world).await;

    // Each of them has the port in its turn, and the last one keeps it.
    let mut backs = Vec::new();
    for _ in 0..3 {
        for (name, web) in [("one", &one), ("two", &two)] {
            let started = here.mcp.start_login(name).await.unwrap();
            backs.push(web.log_in(&started.url).await);
        }
    }
    let all =
        tokio::join!(here.mcp.start_login("one"), here.mcp.start_login("one"), here.mcp.start_login("one"));
    assert!(all.0.is_ok() && all.1.is_ok() && all.2.is_ok());
    let last = here.mcp.start_login("two").await.unwrap();

    for back in backs {
        assert_eq!(page(&back).await.0, 400, "it is another login that is waited for");
    }
    assert_eq!(page(&two.log_in(&last.url).await).await.0, 200);
    becomes(&here, "two", &Status::Connected).await;
    // The other login lost its listener and nothing else.
    let code = code_of(&one.log_in(&here.mcp.start_login("one").await.unwrap().url).await);
    assert_eq!(here.mcp.finish_login("one", &code).await.unwrap(), Status::Connected);
}

#[tokio::test]
async fn a_whole_login_ends_when_another_takes_its_place() {
    let web = Web::start(wanting()).await;
    let port = port();
    let world = without_browser(world(at(&web, port)).await).await;
    let here = instance(&world).await;

    let second = async {
        // The first has begun when it listens.
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::task::yield_now().await;
        }
        here.mcp.start_login("web").await.unwrap()
    };
    let (first, started) = tokio::join!(here.mcp.authenticate("web"), second);

    let why = "The login was ended before the browser came back".to_owned();
    assert_eq!(first.unwrap(), Status::Failed(why));
    assert_eq!(page(&web.log_in(&started.url).await).await.0, 200);
    becomes(&here, "web", &Status::Connected).await;
}

#[tokio::test]
async fn nobody_waits_for_a_browser_longer_than_for_its_login() {
    let web = Web::start(wanting()).await;
    let port = port();
    let world = world(at(&web, port)).await;
    let here = instance(&world).await;
    let mcp = &here.mcp;

    mcp.start_login("web").await.unwrap();
    mcp.forget_login("web").await.unwrap();
    is_free(port).await;
    let forgotten = mcp.finish_login("web", "code-1").await.unwrap();
    assert_eq!(forgotten, Status::Failed(NOT_BEGUN.to_owned()));

    mcp.start_login("web").await.unwrap();
    mcp.add("web", web.remote().as_object().unwrap()).await.unwrap();
    is_free(port).await;

    mcp.add("web", at(&web, port).as_object().unwrap()).await.unwrap();
    mcp.start_login("web").await.unwrap();
    world.engine.dispose_all();
    is_free(port).await;

    let here = instance(&world).await;
    here.mcp.start_login("web").await.unwrap();
    world.engine.close().await;
    is_free(port).await;
}
