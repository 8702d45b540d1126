//! Narrow rights to single sessions, over HTTP and Cap'n Web: what they open, what they do not, and how they end.

use crate::world::{Answer, World, prompt};
use serde_json::{Value, json};
use std::time::Duration;
use sturdy_capnweb::ws;
use sturdy_capnweb::{Options, Value as Wire, from_value, to_value};
use sturdy_server::{Password, ServerOptions};

/// Long enough for a slow machine; a test that waits for it has failed.
const WAIT_MAX: Duration = Duration::from_secs(120);

async fn soon<T>(what: &str, wanted: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(WAIT_MAX, wanted).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}

async fn world() -> World {
    let password = Some(Password::new("ada", "hush".to_owned()));
    World::with(ServerOptions { password, ..ServerOptions::default() }).await
}

/// As somebody who knows the password.
async fn own(world: &World, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let mut request = world.request(method, path).basic_auth("ada", Some("hush"));
    if let Some(body) = body {
        request = request.json(body);
    }
    Answer::of(request.send().await.unwrap()).await
}

async fn with(world: &World, method: &str, path: &str, reference: &str, body: Option<&Value>) -> Answer {
    let mut request = world.request(method, path).bearer_auth(reference);
    if let Some(body) = body {
        request = request.json(body);
    }
    Answer::of(request.send().await.unwrap()).await
}

async fn session(world: &World) -> String {
    let made = own(world, "POST", "/session", Some(&json!({}))).await;
    made.json()["id"].as_str().unwrap().to_owned()
}

async fn granted(world: &World, session: &str, rights: &[&str]) -> Value {
    let made =
        own(world, "POST", "/sturdy/grant", Some(&json!({ "sessionID": session, "rights": rights }))).await;
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

async fn revoke(world: &World, grant: &Value) -> Answer {
    own(world, "DELETE", &format!("/sturdy/grant/{}", text(grant, "id")), None).await
}

fn code(answer: &Answer) -> (u16, Value) {
    (answer.status, answer.json()["data"]["code"].clone())
}

#[tokio::test]
async fn a_reader_reads_one_session_and_nothing_else() {
    let world = world().await;
    let mine = session(&world).await;
    let other = session(&world).await;
    let reader = granted(&world, &mine, &["read"]).await;
    let reference = text(&reader, "reference");

    assert_eq!(with(&world, "GET", &format!("/session/{mine}"), reference, None).await.json()["id"], mine);
    assert_eq!(with(&world, "GET", &format!("/session/{mine}/message"), reference, None).await.status, 200);
    for (method, path) in [
        ("GET", format!("/session/{other}")),
        ("GET", "/session".to_owned()),
        ("GET", "/event".to_owned()),
        ("GET", "/config".to_owned()),
        ("GET", "/sturdy/token".to_owned()),
        ("POST", "/session".to_owned()),
        ("POST", format!("/session/{mine}/message")),
        ("POST", format!("/session/{mine}/abort")),
        ("DELETE", format!("/session/{mine}")),
    ] {
        let refused = with(&world, method, &path, reference, Some(&json!({}))).await;
        assert_eq!(refused.status, 403, "{method} {path}: {}", refused.text);
    }
    let (rest, last) = reference.split_at(reference.len() - 1);
    let guess = format!("{rest}{}", if last == "x" { "y" } else { "x" });
    assert_eq!(with(&world, "GET", &format!("/session/{mine}"), &guess, None).await.status, 401);
    // Where a client knows only a password, the reference is one.
    let basic = world.request("GET", &format!("/session/{mine}")).basic_auth("x", Some(reference));
    assert_eq!(basic.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_prompter_prompts_until_its_quota_is_used_up_and_its_prompts_carry_its_name() {
    let world = world().await;
    let session = session(&world).await;
    let wanted = json!({ "sessionID": session, "rights": ["prompt"], "maxUses": 1, "label": "ci" });
    let grant = own(&world, "POST", "/sturdy/grant", Some(&wanted)).await.json();
    let reference = text(&grant, "reference");
    let path = format!("/session/{session}/prompt_async");
    let mut quiet = prompt("Hello");
    quiet["noReply"] = json!(true);

    assert_eq!(with(&world, "POST", &path, reference, Some(&quiet)).await.status, 204);
    let over = with(&world, "POST", &path, reference, Some(&quiet)).await;

    assert_eq!(code(&over), (409, json!("too_large")), "{}", over.text);
    let messages = own(&world, "GET", &format!("/session/{session}/message"), None).await.json();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    let actor = format!("grant:{}", text(&grant, "id"));
    let entries = format!("/sturdy/session/{session}/entries?actor={actor}");
    let entries = own(&world, "GET", &entries, None).await.json();
    assert!(!entries["entries"].as_array().unwrap().is_empty());
    let created =
        own(&world, "GET", &format!("/sturdy/session/{session}/entries?actor=user:ada"), None).await.json();
    assert_eq!(created["entries"].as_array().unwrap().len(), 1, "the creation");
    let audit = own(&world, "GET", &format!("/sturdy/grant/{}/audit", text(&grant, "id")), None).await.json();
    let said: Vec<(&str, &str)> =
        audit.as_array().unwrap().iter().map(|row| (text(row, "method"), text(row, "code"))).collect();
    assert_eq!(said, [("create", "ok"), ("use", "ok"), ("prompt", "ok")]);
    assert!(!audit.to_string().contains(reference.rsplit('.').next().unwrap()));
}

#[tokio::test]
async fn a_revoked_grant_ends_an_open_event_stream_and_is_told_why_it_is_refused() {
    let world = world().await;
    let session = session(&world).await;
    let grant = granted(&world, &session, &["read"]).await;
    let reference = text(&grant, "reference");
    let request = world.request("GET", &format!("/api/session/{session}/event")).bearer_auth(reference);
    let mut open = request.send().await.unwrap();
    assert_eq!(open.status(), 200);

    assert_eq!(revoke(&world, &grant).await.both(), (200, json!({ "revoked": 1 })));

    let end = async { while open.chunk().await.unwrap().is_some() {} };
    soon("the end of the stream", end).await;
    let refused = with(&world, "GET", &format!("/session/{session}"), reference, None).await;
    assert_eq!(code(&refused), (403, json!("revoked")), "{}", refused.text);
    assert_eq!(revoke(&world, &grant).await.json()["revoked"], 0);
}

#[tokio::test]
async fn a_holder_narrows_what_it_has_and_is_refused_more() {
    let world = world().await;
    let session = session(&world).await;
    let parent = granted(&world, &session, &["read", "prompt"]).await;
    let reference = text(&parent, "reference");
    let path = format!("/sturdy/grant/{}/narrow", text(&parent, "id"));

    let child =
        with(&world, "POST", &path, reference, Some(&json!({ "rights": ["read"], "label": "guest" }))).await;
    let wider = with(&world, "POST", &path, reference, Some(&json!({ "rights": ["answer"] }))).await;
    let fresh = json!({ "sessionID": session, "rights": ["read"] });
    let fresh = with(&world, "POST", "/sturdy/grant", reference, Some(&fresh)).await;

    assert_eq!(child.json()["rights"], json!(["read"]));
    assert_eq!(code(&wider), (403, json!("forbidden_scope")));
    assert_eq!(fresh.status, 403);
    let listed = with(&world, "GET", "/sturdy/grant", reference, None).await.json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert!(!listed.to_string().contains("hash"));
    // Revoking the parent reaches the child.
    let child = child.json();
    assert_eq!(revoke(&world, &parent).await.json()["revoked"], 2);
    let refused = with(&world, "GET", &format!("/session/{session}"), text(&child, "reference"), None).await;
    assert_eq!(code(&refused), (403, json!("revoked")));
}

#[tokio::test]
async fn bad_wishes_for_grants_are_told_what_is_wrong_and_change_nothing() {
    let world = World::new().await;
    let session = world.session().await;

    for (body, status) in [
        (json!({ "sessionID": session, "rights": ["everything"] }), 400),
        (json!({ "sessionID": session, "rights": [] }), 400),
        (json!({ "sessionID": session, "rights": ["read"], "expires": 1 }), 400),
        (json!({ "sessionID": session, "rights": ["read"], "label": "a\nb" }), 400),
        (json!({ "sessionID": session, "rights": ["read"], "scope": "x" }), 400),
        (json!({ "sessionID": "nonsense", "rights": ["read"] }), 400),
        (json!({ "sessionID": "ses_0123456789abABCDEFGHIJKLMN", "rights": ["read"] }), 404),
    ] {
        let refused = world.send("POST", "/sturdy/grant", &body).await;
        assert_eq!(refused.status, status, "{body}: {}", refused.text);
    }
    assert_eq!(world.get("/sturdy/grant").await.json(), json!([]));
    assert_eq!(world.call("DELETE", "/sturdy/grant/grtnone").await.status, 404);
}

#[tokio::test]
async fn a_token_below_admin_neither_makes_nor_sees_grants() {
    let world = world().await;
    let session = session(&world).await;
    let token = own(&world, "POST", "/sturdy/token", Some(&json!({ "name": "ci", "scopes": ["write"] })))
        .await
        .json();
    let secret = text(&token, "secret");

    let body = json!({ "sessionID": session, "rights": ["read"] });
    assert_eq!(with(&world, "POST", "/sturdy/grant", secret, Some(&body)).await.status, 403);
    assert_eq!(with(&world, "GET", "/sturdy/grant", secret, None).await.status, 403);
}

/// What a connection with a token is told when it asks for the grants.
async fn grants_over_rpc(world: &World, scope: &str) -> Result<Value, (Option<String>, String)> {
    let wanted = json!({ "name": scope, "scopes": [scope] });
    let token = own(world, "POST", "/sturdy/token", Some(&wanted)).await.json();
    let client = connect(world, text(&token, "secret")).await;
    #[allow(clippy::disallowed_methods, reason = "the client is not the server's task")]
    let _over = tokio::spawn(client.run);
    let listed = soon("list", client.root.call("grants", []).call("list", [])).await;
    listed
        .map(|listed| from_value(listed).unwrap())
        .map_err(|thrown| (thrown.code().map(str::to_owned), thrown.message().clone()))
}

#[tokio::test]
async fn a_token_below_admin_has_no_grants_over_rpc_either() {
    let world = world().await;

    let refused = grants_over_rpc(&world, "write").await.unwrap_err();
    let listed = grants_over_rpc(&world, "admin").await.unwrap();

    // Was: whoever could write could also make grants for others, and revoke those of others.
    let message = "The scopes of this token do not allow this request".to_owned();
    assert_eq!(refused, (Some("ForbiddenError".to_owned()), message));
    assert_eq!(listed, json!([]));
}

async fn connect(world: &World, reference: &str) -> ws::Client {
    let url = format!("{}/rpc", world.url.replace("http://", "ws://"));
    let bearer = format!("Bearer {reference}");
    ws::connect(&url, &[("authorization", &bearer)], None, Options::default()).await.unwrap()
}

#[tokio::test]
async fn a_connection_with_a_grant_has_one_session_and_ends_with_the_grant() {
    let world = world().await;
    let session = session(&world).await;
    let grant = granted(&world, &session, &["read", "prompt"]).await;
    let client = connect(&world, text(&grant, "reference")).await;
    #[allow(clippy::disallowed_methods, reason = "the client is not the server's task")]
    let over = tokio::spawn(client.run);
    let root = client.root;

    let info: Value = from_value(soon("info", root.call("info", [])).await.unwrap()).unwrap();
    assert_eq!(info["id"], session);
    let mut quiet = prompt("Hello");
    quiet["noReply"] = json!(true);
    let asked = soon("prompt", root.call("prompt", [to_value(&quiet).unwrap()])).await.unwrap();
    assert!(from_value::<Value>(asked).unwrap()["messageID"].as_str().unwrap().starts_with("msg_"));
    let asks = soon("asks", root.call("asks", [])).await.unwrap_err();
    assert_eq!(asks.code(), Some("GrantError"));
    assert!(soon("sessions", root.call("sessions", [])).await.is_err());
    let wanted = to_value(&json!({ "rights": ["read"] })).unwrap();
    let child: Value = from_value(soon("narrow", root.call("narrow", [wanted])).await.unwrap()).unwrap();
    assert_eq!(child["parent"], grant["id"]);

    assert_eq!(revoke(&world, &grant).await.json()["revoked"], 2);

    soon("the end of the connection", over).await.unwrap();
    assert!(root.call("info", []).await.is_err());
}

#[tokio::test]
async fn grants_are_made_and_redeemed_over_one_connection() {
    let world = World::new().await;
    let session = world.session().await;
    let url = format!("{}/rpc", world.url.replace("http://", "ws://"));
    let client = ws::connect(&url, &[], None, Options::default()).await.unwrap();
    #[allow(clippy::disallowed_methods, reason = "the client is not the server's task")]
    let _over = tokio::spawn(client.run);
    let grants = client.root.call("grants", []);

    let wanted = to_value(&json!({ "sessionID": session, "rights": ["read"] })).unwrap();
    let made: Value = from_value(soon("create", grants.call("create", [wanted])).await.unwrap()).unwrap();
    let handle = client.root.call("redeem", [Wire::from(text(&made, "reference"))]);
    let info: Value = from_value(soon("info", handle.call("info", [])).await.unwrap()).unwrap();
    assert_eq!(info["id"], session);
    let refused = soon("prompt", handle.call("prompt", [to_value(&prompt("x")).unwrap()])).await.unwrap_err();
    assert_eq!(refused.message(), "This grant does not allow this.");

    let id = Wire::from(text(&made, "id"));
    let revoked: Value = from_value(soon("revoke", grants.call("revoke", [id])).await.unwrap()).unwrap();
    assert_eq!(revoked, json!({ "revoked": 1 }));
    let refused = soon("info", handle.call("info", [])).await.unwrap_err();
    assert_eq!(refused.message(), "This grant was revoked.");
}
