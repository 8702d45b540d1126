//! MCP servers on the web: what is sent and bounded, servers that go away, logins.

use crate::mcp_login::{code_of, port, without_browser};
use crate::tools::call_of;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use sturdy_engine::Instance;
use sturdy_engine::directory::mcp::Status;
use sturdy_engine::feed::{Body, Page};
use sturdy_session::types::event::Event;
use sturdy_session::types::tool::ToolState;
use sturdy_testkit::mcp::{Web, WebOptions};
use sturdy_testkit::{World, answer};

pub(crate) async fn world(server: Value) -> World {
    World::with_servers(json!({ "web": server }), json!({})).await
}

pub(crate) async fn instance(world: &World) -> Arc<Instance> {
    world.engine.start_servers(&world.directory()).await.unwrap();
    world.engine.instance(&world.directory()).await.unwrap()
}

pub(crate) async fn status(world: &World) -> Status {
    let all = instance(world).await.mcp.status().await;
    all.into_iter().next().expect("no server").1
}

/// Lets the model call a tool, and gives what became of it.
pub(crate) async fn call(world: &World, tool: &str, text: &str) -> ToolState {
    let session = world.session().await;
    let input = json!({ "text": text }).to_string();
    world.provider.will(answer().call(0, "call_1", &format!("web_{tool}"), &input).finish("tool_calls"));
    world.provider.will(answer().text("Done.").finish("stop"));
    world.ask(&session.id, "go").await.unwrap();
    call_of(&world.messages(&session.id).await).state.clone()
}

pub(crate) fn said(state: &ToolState) -> &str {
    match state {
        ToolState::Completed { output, .. } => output,
        ToolState::Error { error, .. } => error,
        other => panic!("not over: {other:?}"),
    }
}

#[tokio::test]
async fn a_server_on_the_web_is_called_with_the_configured_headers() {
    for events in [false, true] {
        let web = Web::start(WebOptions { events, ..WebOptions::default() }).await;
        let mut server = web.remote();
        server["headers"] = json!({ "x-team": "blue" });
        let world = world(server).await;

        let state = call(&world, "echo", "far away").await;

        assert_eq!(said(&state), "far away");
        assert_eq!(web.called(), ["echo"]);
        assert!(web.header("x-team").iter().all(|value| value.as_deref() == Some("blue")));
        assert_eq!(web.header("mcp-session-id").last().unwrap().as_deref(), Some("session-1"));
        assert_eq!(status(&world).await, Status::Connected);
    }
}

#[tokio::test]
async fn a_server_that_only_speaks_the_older_transport_is_called() {
    let web = Web::start(WebOptions { older: true, ..WebOptions::default() }).await;
    let mut server = web.remote();
    server["headers"] = json!({ "x-team": "blue" });
    let world = world(server).await;

    let state = call(&world, "echo", "long ago").await;

    assert_eq!(said(&state), "long ago");
    assert_eq!(web.called(), ["echo"]);
    assert!(web.header("x-team").iter().all(|value| value.as_deref() == Some("blue")));
    assert_eq!(status(&world).await, Status::Connected);
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_and_one_elsewhere_is_not() {
    let web = Web::start(WebOptions::default()).await;
    let mut server = web.remote_at("/moved");
    server["headers"] = json!({ "x-team": "blue" });
    let moved = world(server).await;
    let away = world(web.remote_at("/away")).await;

    let state = call(&moved, "echo", "over there").await;

    assert_eq!(said(&state), "over there");
    assert!(web.header("x-team").iter().all(|value| value.as_deref() == Some("blue")));
    let seen = web.header("host").len();
    let Status::Failed(error) = status(&away).await else { panic!("it is connected") };
    assert!(error.contains("307"), "{error}");
    assert_eq!(web.header("host").len(), seen, "nothing is sent to another origin");
}

#[tokio::test]
async fn an_answer_of_fifty_megabytes_fails_its_call_alone() {
    let web = Web::start(WebOptions::default()).await;
    let world = world(web.remote()).await;

    let large = call(&world, "large", "").await;
    let broken = call(&world, "broken", "").await;
    let echo = call(&world, "echo", "still here").await;

    assert_eq!(said(&large), "the answer is larger than 16 MiB");
    assert_eq!(said(&broken), "The server answered with status 500");
    assert_eq!(said(&echo), "still here");
}

#[tokio::test]
async fn addresses_where_no_tool_server_is_are_told_apart() {
    let web = Web::start(WebOptions::default()).await;
    let gone = Web::start(WebOptions::default()).await.remote();
    for (server, wanted) in [
        (
            json!({ "type": "remote", "url": web.page() }),
            "The address answers, but not as an MCP server does",
        ),
        (gone, "The server cannot be reached: Connection refused (os error 111)"),
        (json!({ "type": "remote", "url": "not a url" }), "The url of \"web\" is no http or https address"),
    ] {
        assert_eq!(status(&world(server).await).await, Status::Failed(wanted.to_owned()));
    }
}

#[tokio::test]
async fn a_server_that_went_away_is_connected_again_when_it_is_back() {
    let web = Web::start(WebOptions::default()).await;
    let world = world(web.remote()).await;
    assert_eq!(said(&call(&world, "echo", "before").await), "before");
    let address = web.address();
    drop(web);

    let here = instance(&world).await;
    let back = async {
        while here.mcp.status_of("web") == Status::Connected {
            tokio::task::yield_now().await;
        }
        Web::start_at(address, WebOptions::default()).await
    };
    let (failed, web) = tokio::join!(call(&world, "echo", "nobody"), back);
    let echo = call(&world, "echo", "after").await;

    assert!(said(&failed).starts_with("The server cannot be reached: "), "{failed:?}");
    assert_eq!(said(&echo), "after");
    assert_eq!(web.called(), ["echo"]);
}

#[tokio::test]
async fn whoever_looks_is_told_that_a_login_is_wanted() {
    let web = Web::start(WebOptions { wants_login: true, ..WebOptions::default() }).await;
    let world = world(web.remote()).await;
    let mut reader = world.engine.feed().reader();

    assert_eq!(status(&world).await, Status::NeedsAuth);

    // Told before the state is known, so that it stands in the first page.
    let Page::Entries(shown) = reader.next().await.unwrap() else { panic!("nothing was missed") };
    let toast = shown.iter().find_map(|shown| match &shown.body {
        Body::Told(event) => match &**event {
            Event::TuiToastShow(toast) => Some(toast.clone()),
            _ => None,
        },
        _ => None,
    });
    assert!(toast.unwrap().message.contains("\"web\" wants a login"));
}

#[tokio::test]
async fn a_login_is_begun_ended_kept_and_forgotten() {
    let web = Web::start(WebOptions { wants_login: true, ..WebOptions::default() }).await;
    let world = world(web.remote()).await;
    let mcp = &instance(&world).await.mcp;
    assert_eq!(status(&world).await, Status::NeedsAuth);

    let wrong = mcp.finish_login("web", "code-1").await.unwrap();
    let started = mcp.start_login("web").await.unwrap();
    let back = url::Url::parse(&web.log_in(&started.url).await).unwrap();
    let query: HashMap<String, String> = back.query_pairs().into_owned().collect();
    let done = mcp.finish_login("web", &query["code"]).await.unwrap();

    assert_eq!(wrong, Status::Failed("The login could not be completed: no login is under way".to_owned()));
    assert!(back.as_str().starts_with("http://127.0.0.1:19876/mcp/oauth/callback?"), "{back}");
    assert_eq!(query["state"], started.state);
    assert_eq!(done, Status::Connected);
    assert_eq!(said(&call(&world, "echo", "let in").await), "let in");
    let file = world.disk.home().join(".local/share/opencode/mcp-auth.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(kept["web"]["tokens"]["accessToken"], "token-secret-1");
    assert_eq!(kept["web"]["clientInfo"]["clientId"], "client-1");
    assert_eq!(kept["web"]["serverUrl"], web.remote()["url"]);

    // Another directory, or the next start, finds it.
    world.engine.dispose_all();
    assert_eq!(status(&world).await, Status::Connected);
    let mcp = &instance(&world).await.mcp;
    mcp.forget_login("web").await.unwrap();
    mcp.connect("web").await.unwrap();
    assert_eq!(status(&world).await, Status::NeedsAuth);
    let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(kept, json!({}));
}

#[tokio::test]
async fn a_code_that_is_wrong_is_no_login_and_is_not_repeated() {
    let web = Web::start(WebOptions { wants_login: true, ..WebOptions::default() }).await;
    let world = world(web.remote()).await;
    let mcp = &instance(&world).await.mcp;
    mcp.start_login("web").await.unwrap();

    let Status::Failed(why) = mcp.finish_login("web", "code-of-somebody").await.unwrap() else {
        panic!("let in")
    };

    assert!(why.starts_with("The login could not be completed: "), "{why}");
    assert!(!why.contains("code-of-somebody"), "{why}");
}

#[tokio::test]
async fn a_token_that_expires_is_renewed() {
    let web = Web::start(WebOptions { wants_login: true, short_tokens: true, ..WebOptions::default() }).await;
    let world = world(web.remote()).await;
    let mcp = &instance(&world).await.mcp;
    let started = mcp.start_login("web").await.unwrap();
    let code = code_of(&web.log_in(&started.url).await);

    assert_eq!(mcp.finish_login("web", &code).await.unwrap(), Status::Connected);

    assert_eq!(web.grants(), ["authorization_code", "refresh_token"]);
    assert_eq!(said(&call(&world, "echo", "renewed").await), "renewed");
    assert_eq!(web.header("authorization").last().unwrap().as_deref(), Some("Bearer token-secret-2"));
}

#[tokio::test]
async fn a_server_that_registers_nobody_says_so_unless_we_are_known() {
    let web =
        Web::start(WebOptions { wants_login: true, no_registration: true, ..WebOptions::default() }).await;
    let mut known = web.remote();
    known["oauth"] = json!({ "clientId": "known" });
    let mut never = web.remote();
    never["oauth"] = json!(false);

    let Status::NeedsRegistration(why) = status(&world(web.remote()).await).await else { panic!("not told") };
    assert!(why.contains("clientId"), "{why}");
    let world_of_known = world(known).await;
    assert_eq!(status(&world_of_known).await, Status::NeedsAuth);
    let started = instance(&world_of_known).await.mcp.start_login("web").await.unwrap();
    assert!(started.url.contains("client_id=known"), "{}", started.url);
    let Status::Failed(why) = status(&world(never).await).await else { panic!("not failed") };
    assert_eq!(why, "The server refuses to talk to us without a login (status 401)");
}

#[tokio::test]
async fn a_whole_login_waits_for_the_browser_and_tells_clients_where_to_go() {
    let web = Web::start(WebOptions { wants_login: true, ..WebOptions::default() }).await;
    let port = port();
    let mut server = web.remote();
    server["oauth"] = json!({ "callbackPort": port });
    let world = world(server).await;
    let world = without_browser(world).await;
    let here = instance(&world).await;
    let mut reader = world.engine.feed().reader();

    let visit = async {
        loop {
            let Page::Entries(entries) = reader.next().await.unwrap() else { panic!("nothing was missed") };
            for shown in entries {
                if let Body::Told(event) = &shown.body
                    && let Event::McpBrowserOpenFailed { mcp_name, url } = &**event
                {
                    assert_eq!(mcp_name, "web");
                    let back = web.log_in(url).await;
                    // Somebody who guesses is turned away, and does no harm.
                    let guessed = format!("http://127.0.0.1:{port}/mcp/oauth/callback?code=x&state=y");
                    assert_eq!(page(&guessed).await.0, 400);
                    return page(&back).await;
                }
            }
        }
    };
    let (done, (code, text)) = tokio::join!(here.mcp.authenticate("web"), visit);

    assert_eq!(done.unwrap(), Status::Connected);
    assert_eq!(code, 200);
    assert!(text.contains("You are logged in."), "{text}");
}

pub(crate) async fn page(url: &str) -> (u16, String) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client.get(url).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}
