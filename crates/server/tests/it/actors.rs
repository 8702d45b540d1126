//! Every way to change a session, and whether the log says on whose behalf it was changed.
//!
//! The ways are taken from what the router describes: a route that is added is either tried here or named among those
//! that write nothing.

use crate::world::{Answer, World, prompt};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use sturdy_server::{Password, ServerOptions, ShareOptions};

/// They change nothing in the log of the session they name.
const WRITE_NOTHING: [&str; 9] = [
    // What a client asks for itself is held in memory until it is answered.
    "POST /api/session/{sessionID}/permission",
    "POST /api/session/{sessionID}/wait",
    "POST /experimental/session/{sessionID}/background",
    "POST /session/{sessionID}/revert/plan",
    "POST /session/{sessionID}/unrevert/plan",
    // A process is not part of the log.
    "DELETE /sturdy/session/{sessionID}/process/{processID}",
    // They tell the secret of a share that is there, and ask the service that keeps it.
    "POST /sturdy/session/{sessionID}/share",
    "POST /sturdy/session/{sessionID}/share/owner",
    // What is left of a removed session cannot be read by anybody.
    "DELETE /session/{sessionID}",
];

const ASK: &str = r#"/demo tool bash {"command":"true","description":"Does nothing"}"#;
const QUESTION: &str = r#"/demo tool question {"questions":[{"question":"Which?","header":"Which","options":[{"label":"Red","description":"Warm"}]}]}"#;

struct Someone {
    world: World,
    secret: String,
    actor: String,
    /// What was asked, as the document names it.
    tried: RefCell<BTreeSet<String>>,
}

impl Someone {
    async fn new() -> Self {
        let password = Some(Password::new("ada", "hush".to_owned()));
        let share = Some(ShareOptions::at("https://share.example"));
        let world = World::with(ServerOptions { password, share, ..ServerOptions::default() }).await;
        let token = json!({ "name": "ci", "scopes": ["read", "write"] });
        let made = world.request("POST", "/sturdy/token").basic_auth("ada", Some("hush")).json(&token);
        let made = Answer::of(made.send().await.unwrap()).await.json();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        let actor = format!("token:{}", text("id"));
        Self { world, secret: text("secret"), actor, tried: RefCell::default() }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = self.world.request(method, path).bearer_auth(&self.secret).json(body);
        let answer = Answer::of(request.send().await.unwrap()).await;
        assert!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.text);
        if answer.text.is_empty() { Value::Null } else { answer.json() }
    }

    async fn get(&self, path: &str) -> Value {
        self.send("GET", path, &Value::Null).await
    }

    async fn session(&self) -> String {
        let asking = json!({ "permission": [{ "permission": "bash", "pattern": "*", "action": "ask" }] });
        self.send("POST", "/session", &asking).await["id"].as_str().unwrap().to_owned()
    }

    /// How many entries of a session are this one's.
    async fn entries(&self, session: &str) -> usize {
        let actor = &self.actor;
        let page = self.get(&format!("/sturdy/session/{session}/entries?limit=2000&actor={actor}")).await;
        page["entries"].as_array().unwrap().len()
    }

    async fn idle(&self, session: &str) {
        while self.get("/session/status").await.get(session).is_some() {
            tokio::task::yield_now().await;
        }
    }

    /// Asks for a change, and sees that the log has more of this one's than before.
    async fn changes(
        &self,
        method: &str,
        pattern: &str,
        session: &str,
        ids: &[(&str, &str)],
        body: &Value,
    ) -> Value {
        let known = self.entries(session).await;
        let mut path = pattern.replace("{sessionID}", session);
        for (name, id) in ids {
            path = path.replace(name, id);
        }
        let answer = self.send(method, &path, body).await;
        assert!(self.entries(session).await > known, "{method} {pattern} is nobody's");
        self.tried.borrow_mut().insert(format!("{method} {pattern}"));
        answer
    }

    /// A turn of this session that waits for a person, and the id of what it asks.
    async fn asked(&self, session: &str, words: &str, list: &str) -> String {
        self.idle(session).await;
        self.send("POST", &format!("/session/{session}/prompt_async"), &prompt(words)).await;
        loop {
            let list = self.get(list).await;
            if let Some(ask) = list.as_array().unwrap().iter().find(|ask| ask["sessionID"] == session) {
                return ask["id"].as_str().unwrap().to_owned();
            }
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn every_way_to_change_a_session_carries_who_did_it() {
    let me = Someone::new().await;
    let session = me.session().await;
    conversation(&me, &session).await;
    answers(&me, &session).await;
    waiting(&me, &session).await;
    edits(&me, &session).await;
    undo(&me, &session).await;
    shares(&me, &session).await;

    let document = me.get("/doc").await;
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let methods = operations.as_object().unwrap().keys().filter(|method| *method != "get");
        if path.contains("{sessionID}") {
            described.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
        }
    }
    let mut known = me.tried.into_inner();
    known.extend(WRITE_NOTHING.map(str::to_owned));
    assert_eq!(known, described);
}

/// Prompts, commands, and what is made of a conversation.
async fn conversation(me: &Someone, session: &str) {
    let note = json!({ "noReply": true, "parts": [{ "type": "text", "text": "a note" }] });
    let none = &[][..];
    for (method, pattern, body) in [
        ("POST", "/session/{sessionID}/message", prompt("first")),
        ("POST", "/session/{sessionID}/message", note),
        ("POST", "/session/{sessionID}/prompt_async", prompt("again")),
        ("POST", "/session/{sessionID}/shell", json!({ "agent": "build", "command": "true" })),
        ("POST", "/session/{sessionID}/command", json!({ "command": "review", "arguments": "" })),
        (
            "POST",
            "/session/{sessionID}/init",
            json!({ "providerID": "demo", "modelID": "echo", "messageID": "msg_0123456789abABCDEFGHIJKLMN" }),
        ),
        ("POST", "/session/{sessionID}/summarize", json!({ "providerID": "demo", "modelID": "echo" })),
        ("POST", "/api/session/{sessionID}/prompt", json!({ "prompt": { "text": "by v2" } })),
        ("POST", "/api/session/{sessionID}/compact", json!({})),
        ("POST", "/api/session/{sessionID}/agent", json!({ "agent": "plan" })),
        ("POST", "/api/session/{sessionID}/agent", json!({ "agent": "build" })),
        (
            "POST",
            "/api/session/{sessionID}/model",
            json!({ "model": { "id": "story", "providerID": "demo" } }),
        ),
        ("PATCH", "/session/{sessionID}", json!({ "title": "renamed" })),
    ] {
        me.idle(session).await;
        me.changes(method, pattern, session, none, &body).await;
    }
    me.idle(session).await;

    let fork = me.send("POST", &format!("/session/{session}/fork"), &json!({})).await;
    assert!(me.entries(fork["id"].as_str().unwrap()).await > 0, "a fork is nobody's");
    me.tried.borrow_mut().insert("POST /session/{sessionID}/fork".to_owned());
}

/// What a person says to a turn that waits for them.
async fn answers(me: &Someone, session: &str) {
    let permission = "{permissionID}";
    let request = "{requestID}";
    let once = json!({ "reply": "once" });
    for (pattern, name, body) in [
        ("/session/{sessionID}/permissions/{permissionID}", permission, json!({ "response": "once" })),
        ("/api/session/{sessionID}/permission/{requestID}/reply", request, once.clone()),
        ("/permission/{requestID}/reply", request, once),
    ] {
        let id = me.asked(session, ASK, "/permission").await;
        me.changes("POST", pattern, session, &[(name, &id)], &body).await;
    }
    for (pattern, body) in [
        ("/question/{requestID}/reply", json!({ "answers": [["Red"]] })),
        ("/question/{requestID}/reject", json!({})),
        ("/api/session/{sessionID}/question/{requestID}/reply", json!({ "answers": [["Red"]] })),
        ("/api/session/{sessionID}/question/{requestID}/reject", json!({})),
    ] {
        let id = me.asked(session, QUESTION, "/question").await;
        me.changes("POST", pattern, session, &[(request, &id)], &body).await;
    }
    // The two that name no session are tried all the same.
    me.tried.borrow_mut().retain(|operation| operation.contains("{sessionID}"));
    for pattern in ["/session/{sessionID}/abort", "/api/session/{sessionID}/interrupt"] {
        me.asked(session, ASK, "/permission").await;
        me.changes("POST", pattern, session, &[], &json!({})).await;
    }
    me.idle(session).await;
}

/// Prompts that wait: withdrawn, and resumed.
async fn waiting(me: &Someone, session: &str) {
    let patient = json!({ "resume": false, "prompt": { "text": "later" } });
    let queue = format!("/sturdy/session/{session}/queue");
    me.idle(session).await;
    me.send("POST", &format!("/api/session/{session}/prompt"), &patient).await;
    let first = me.get(&queue).await[0]["info"]["id"].as_str().unwrap().to_owned();
    let withdraw = "/sturdy/session/{sessionID}/queue/{messageID}";
    me.changes("DELETE", withdraw, session, &[("{messageID}", &first)], &Value::Null).await;
    me.send("POST", &format!("/api/session/{session}/prompt"), &patient).await;
    me.changes("POST", "/sturdy/session/{sessionID}/resume", session, &[], &json!({})).await;
    me.idle(session).await;
}

/// Messages and parts, changed by hand.
async fn edits(me: &Someone, session: &str) {
    let said = me.send("POST", &format!("/session/{session}/message"), &prompt("to be changed")).await;
    let answer = said["info"]["id"].as_str().unwrap();
    let mut part =
        said["parts"].as_array().unwrap().iter().find(|part| part["type"] == "text").unwrap().clone();
    part["text"] = json!("changed");
    let place = "/session/{sessionID}/message/{messageID}/part/{partID}";
    let ids = [("{messageID}", answer), ("{partID}", part["id"].as_str().unwrap())];
    me.changes("PATCH", place, session, &ids, &part).await;
    me.changes("DELETE", place, session, &ids, &Value::Null).await;
    me.changes("DELETE", "/session/{sessionID}/message/{messageID}", session, &ids[..1], &Value::Null).await;
}

async fn undo(me: &Someone, session: &str) {
    let said = me.send("POST", &format!("/session/{session}/message"), &prompt("to be undone")).await;
    let to = json!({ "messageID": said["info"]["parentID"] });
    for (pattern, body) in [
        ("/session/{sessionID}/revert", &to),
        ("/session/{sessionID}/unrevert", &Value::Null),
        ("/api/session/{sessionID}/revert/stage", &to),
        ("/api/session/{sessionID}/revert/clear", &Value::Null),
        ("/api/session/{sessionID}/revert/stage", &to),
        ("/api/session/{sessionID}/revert/commit", &Value::Null),
    ] {
        me.idle(session).await;
        me.changes("POST", pattern, session, &[], body).await;
    }
}

async fn shares(me: &Someone, session: &str) {
    me.changes("POST", "/session/{sessionID}/share", session, &[], &json!({})).await;
    me.changes("DELETE", "/session/{sessionID}/share", session, &[], &Value::Null).await;
    let archive = json!({ "time": { "archived": 1 } });
    me.changes("PATCH", "/session/{sessionID}", session, &[], &archive).await;
}
