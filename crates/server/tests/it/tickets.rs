//! Downloads by ticket: what one opens, how often, for whom, and what is refused.

use crate::world::{Answer, NO_SESSION, World, no_such_session, prompt};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use sturdy_server::{Password, ServerOptions};

const PART: &str = "prt_0123456789abTicketPartAAAA";

async fn locked() -> World {
    let password = Some(Password::new("ada", "hush".to_owned()));
    World::with(ServerOptions { password, ..ServerOptions::default() }).await
}

fn own(world: &World, method: &str, path: &str) -> RequestBuilder {
    world.request(method, path).basic_auth("ada", Some("hush"))
}

async fn told(request: RequestBuilder, body: &Value) -> Answer {
    Answer::of(request.json(body).send().await.unwrap()).await
}

async fn session(world: &World) -> String {
    let made = told(own(world, "POST", "/session"), &json!({ "title": "Carried off" })).await.json();
    let id = made["id"].as_str().unwrap().to_owned();
    let mut quiet = prompt("said aloud");
    quiet["noReply"] = json!(true);
    told(own(world, "POST", &format!("/session/{id}/message")), &quiet).await;
    id
}

fn export(session: &str) -> Value {
    json!({ "sessionID": session, "export": {} })
}

/// Where a ticket leads.
fn url(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["url"].as_str().unwrap().to_owned()
}

async fn get(world: &World, path: &str) -> Answer {
    Answer::of(world.request("GET", path).send().await.unwrap()).await
}

fn used_up() -> (u16, Value) {
    let message = "This download was made already, or was not begun within a minute";
    (404, json!({ "name": "NotFoundError", "data": { "message": message } }))
}

#[tokio::test]
async fn a_ticket_opens_one_export_once_for_whoever_shows_it() {
    let world = locked().await;
    let session = session(&world).await;
    let now = world.engine.clock().now();
    let made = told(own(&world, "POST", "/sturdy/ticket"), &export(&session)).await;
    let path = url(&made);

    let file = get(&world, &path).await;
    let again = get(&world, &path).await;

    let life = made.json()["expires"].as_u64().unwrap() - now;
    assert!((60_000..65_000).contains(&life), "{life}");
    assert_eq!(file.status, 200);
    assert!(file.text.contains("said aloud"));
    assert_eq!(file.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(file.header("content-disposition").unwrap().starts_with("attachment; filename="));
    assert_eq!(file.header("cache-control"), Some("no-store"));
    assert_eq!(again.both(), used_up());
    assert_eq!(get(&world, "/sturdy/ticket/0000").await.both(), used_up());
    // A ticket is for its own address and for nothing else.
    assert_eq!(get(&world, &format!("/session/{session}?ticket={path}")).await.status, 401);
}

#[tokio::test]
async fn who_only_looks_does_not_use_a_ticket_up() {
    let world = locked().await;
    let session = session(&world).await;
    let path = url(&told(own(&world, "POST", "/sturdy/ticket"), &export(&session)).await);

    let looked = world.request("HEAD", &path).send().await.unwrap().status();

    assert_eq!(looked, 404);
    assert_eq!(get(&world, &path).await.status, 200);
}

#[tokio::test]
async fn an_export_by_ticket_has_the_form_and_leaves_out_what_was_chosen() {
    let world = locked().await;
    let session = session(&world).await;
    let wanted =
        json!({ "sessionID": session, "export": { "format": "json", "redact": ["thoughts", "files"] } });
    let path = url(&told(own(&world, "POST", "/sturdy/ticket"), &wanted).await);
    let direct = own(&world, "GET", &format!("/sturdy/session/{session}/export.json?redact=files,thoughts"));

    let file = get(&world, &path).await;
    let direct = Answer::of(direct.send().await.unwrap()).await;

    assert_eq!(file.header("content-type"), Some("application/json"));
    assert!(file.header("content-disposition").unwrap().ends_with("-redacted.json\""));
    assert_eq!(file.json()["info"]["id"], session);
    assert_eq!(file.json()["messages"][0]["parts"][0]["text"], "said aloud");
    assert_eq!(file.json(), direct.json());
}

#[tokio::test]
async fn a_json_export_is_the_session_and_its_messages() {
    let world = World::new().await;
    let session = world.session().await;
    world.ask(&session, "said aloud").await;

    let whole = world.get(&format!("/sturdy/session/{session}/export.json")).await.json();

    let info = world.get(&format!("/session/{session}")).await.json();
    let messages = world.get(&format!("/session/{session}/message")).await.json();
    assert_eq!(whole, json!({ "info": info, "messages": messages }));
    let refused = world.get(&format!("/sturdy/session/{session}/export.json?redact=some")).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        world.get(&format!("/sturdy/session/{NO_SESSION}/export.json")).await.both(),
        no_such_session()
    );
}

#[tokio::test]
async fn a_large_value_is_saved_as_the_file_it_is() {
    let world = locked().await;
    let session = session(&world).await;
    let messages = own(&world, "GET", &format!("/session/{session}/message")).send().await.unwrap();
    let messages: Value = messages.json().await.unwrap();
    let message = messages[0]["info"]["id"].as_str().unwrap();
    // Three letters of base64 are two bytes here, all of them zero.
    let picture = format!("data:image/png;base64,{}", "AAAA".repeat(8192));
    let printed = "a line\n".repeat(4096);
    let put = async |part: Value| {
        let path = format!("/session/{session}/message/{message}/part/{PART}");
        let mut whole = json!({ "id": PART, "sessionID": session, "messageID": message });
        whole.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        let written = told(own(&world, "PATCH", &path), &whole).await;
        assert_eq!(written.status, 200, "{}", written.text);
    };
    let ticket = async |text: &str| {
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        let wanted = json!({ "sessionID": session, "value": { "partID": PART, "hash": hash } });
        url(&told(own(&world, "POST", "/sturdy/ticket"), &wanted).await)
    };

    put(json!({ "type": "file", "mime": "image/png", "filename": "../ä b.png", "url": picture })).await;
    let file = world.request("GET", &ticket(&picture).await).send().await.unwrap();
    let disposition = file.headers()["content-disposition"].to_str().unwrap().to_owned();
    let kind = file.headers()["content-type"].clone();
    assert_eq!(disposition, "attachment; filename*=UTF-8''%C3%A4%20b%2Epng");
    assert_eq!(kind, "application/octet-stream");
    assert_eq!(file.bytes().await.unwrap(), vec![0; 3 * 8192]);

    let state = json!({ "status": "completed", "input": {}, "output": printed, "title": "", "metadata": {},
        "time": { "start": 1, "end": 2 } });
    put(json!({ "type": "tool", "callID": "c", "tool": "notes_all", "state": state })).await;
    let file = get(&world, &ticket(&printed).await).await;
    assert_eq!(file.header("content-disposition"), Some("attachment; filename*=UTF-8''notes%5Fall%2Etxt"));
    assert_eq!(file.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(file.text, printed);
    assert_eq!(get(&world, &ticket(&picture).await).await.status, 404, "it was rewritten since");
}

#[tokio::test]
async fn an_invalid_request_for_a_download_is_refused() {
    let world = World::new().await;
    let session = world.session().await;
    let hash = "0".repeat(64);

    for body in [
        json!({}),
        json!({ "sessionID": session }),
        json!({ "sessionID": "other", "export": {} }),
        json!({ "sessionID": session, "export": {}, "value": { "partID": PART, "hash": hash } }),
        json!({ "sessionID": session, "export": { "format": "pdf" } }),
        json!({ "sessionID": session, "export": { "redact": ["names"] } }),
        json!({ "sessionID": session, "export": { "path": "/etc/passwd" } }),
        json!({ "sessionID": session, "value": { "partID": PART, "hash": "short" } }),
        json!({ "sessionID": session, "value": { "partID": "x", "hash": hash } }),
    ] {
        let refused = world.send("POST", "/sturdy/ticket", &body).await;
        assert_eq!(refused.status, 400, "{body}: {}", refused.text);
    }
    assert_eq!(world.send("POST", "/sturdy/ticket", &export(NO_SESSION)).await.both(), no_such_session());
}

#[tokio::test]
async fn a_ticket_is_made_by_those_who_may_read_the_session_and_ends_with_their_right() {
    let world = locked().await;
    let mine = session(&world).await;
    let other = session(&world).await;
    let made = async |path: &str, body: Value| told(own(&world, "POST", path), &body).await.json();
    let reader = made("/sturdy/grant", json!({ "sessionID": mine, "rights": ["read"] })).await;
    let prompter = made("/sturdy/grant", json!({ "sessionID": mine, "rights": ["prompt"] })).await;
    let token = made("/sturdy/token", json!({ "name": "ci", "scopes": ["read"] })).await;
    let metrics = made("/sturdy/token", json!({ "name": "m", "scopes": ["metrics"] })).await;
    let ask = async |secret: &Value, session: &str| {
        let request = world.request("POST", "/sturdy/ticket").bearer_auth(secret.as_str().unwrap());
        told(request, &export(session)).await
    };

    assert_eq!(told(world.request("POST", "/sturdy/ticket"), &export(&mine)).await.status, 401);
    assert_eq!(ask(&prompter["reference"], &mine).await.status, 403);
    assert_eq!(ask(&metrics["secret"], &mine).await.status, 403);
    assert_eq!(ask(&reader["reference"], &other).await.status, 403);
    let by_grant = url(&ask(&reader["reference"], &mine).await);
    let late_by_grant = url(&ask(&reader["reference"], &mine).await);
    let by_token = url(&ask(&token["secret"], &other).await);
    let late_by_token = url(&ask(&token["secret"], &other).await);
    assert_eq!(get(&world, &by_grant).await.status, 200);
    assert_eq!(get(&world, &by_token).await.status, 200);

    let take_back = async |path: String| own(&world, "DELETE", &path).send().await.unwrap().status();
    assert_eq!(take_back(format!("/sturdy/grant/{}", reader["id"].as_str().unwrap())).await, 200);
    assert_eq!(take_back(format!("/sturdy/token/{}", token["id"].as_str().unwrap())).await, 200);
    assert_eq!(get(&world, &late_by_grant).await.both(), used_up());
    assert_eq!(get(&world, &late_by_token).await.both(), used_up());
}
