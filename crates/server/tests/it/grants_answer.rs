//! The right to answer what one session asks, over HTTP with a bearer and over Cap'n Web: that session's asks and no
//! other's, and never for longer than the session.

use crate::world::{Answer, World, prompt};
use serde_json::{Value, json};
use std::time::Duration;
use sturdy_capnweb::{Options, Stub, Thrown, Value as Wire, from_value, to_value, ws};
use sturdy_server::{Password, ServerOptions};
use tokio::time::timeout;

/// Long enough for a slow machine; a test that waits for it has failed.
const WAIT_MAX: Duration = Duration::from_secs(120);

const BASH: &str = r#"/demo tool bash {"command":"echo done","description":"Prints a marker"}"#;
const QUESTION: &str = r#"/demo tool question {"questions":[{"question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"Warm"},{"label":"Blue","description":"Cold"}]}]}"#;

/// Two sessions that ask, and a right to answer the first.
struct Asking {
    world: World,
    session: String,
    ask: String,
    other_ask: String,
    grant: Value,
}

async fn own(world: &World, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let request = world.request(method, path).basic_auth("ada", Some("hush"));
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    Answer::of(request.send().await.unwrap()).await
}

async fn session_that_asks(world: &World, what: &str) -> (String, String) {
    let made = own(world, "POST", "/session", Some(&json!({}))).await.json();
    let session = made["id"].as_str().unwrap().to_owned();
    own(world, "POST", &format!("/session/{session}/prompt_async"), Some(&prompt(what))).await;
    let kind = if what == BASH { "permission" } else { "question" };
    let asked = async {
        loop {
            let asks = own(world, "GET", &format!("/{kind}"), None).await.json();
            let found = asks.as_array().unwrap().iter().find(|ask| ask["sessionID"] == session).cloned();
            if let Some(ask) = found {
                return ask["id"].as_str().unwrap().to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    let ask = timeout(WAIT_MAX, asked).await.expect("the session asks");
    (session, ask)
}

impl Asking {
    async fn new(what: &str) -> Self {
        let password = Some(Password::new("ada", "hush".to_owned()));
        let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
        let config = json!({ "permission": { "bash": "ask" } }).to_string();
        std::fs::write(world.project().join("opencode.json"), config).unwrap();
        let (session, ask) = session_that_asks(&world, what).await;
        let (_, other_ask) = session_that_asks(&world, what).await;
        let wanted = json!({ "sessionID": session, "rights": ["answer"], "label": "on call" });
        let grant = own(&world, "POST", "/sturdy/grant", Some(&wanted)).await.json();
        Self { world, session, ask, other_ask, grant }
    }

    fn reference(&self) -> &str {
        self.grant["reference"].as_str().unwrap()
    }

    async fn with_grant(&self, method: &str, path: &str, body: &Value) -> Answer {
        let request = self.world.request(method, path).bearer_auth(self.reference()).json(body);
        Answer::of(request.send().await.unwrap()).await
    }

    async fn root(&self) -> Stub {
        let url = format!("{}/rpc", self.world.url.replace("http://", "ws://"));
        let bearer = format!("Bearer {}", self.reference());
        let client =
            ws::connect(&url, &[("authorization", &bearer)], None, Options::default()).await.unwrap();
        #[allow(clippy::disallowed_methods, reason = "the client is not the server's task")]
        let _running = tokio::spawn(client.run);
        client.root
    }

    /// Both sessions still ask.
    async fn nothing_is_answered(&self, kind: &str) {
        let open = own(&self.world, "GET", &format!("/{kind}"), None).await.json();
        assert_eq!(open.as_array().unwrap().len(), 2, "{open}");
    }

    /// The turn of the session ends, and the tool has this to show.
    async fn output(&self) -> Value {
        let path = format!("/session/{}/message", self.session);
        let ended = async {
            loop {
                let messages = own(&self.world, "GET", &path, None).await.json();
                let parts = messages[1]["parts"].as_array().cloned().unwrap_or_default();
                let tool = parts.into_iter().find(|part| part["type"] == "tool").unwrap();
                if ["completed", "error"].contains(&tool["state"]["status"].as_str().unwrap()) {
                    return tool["state"].clone();
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(WAIT_MAX, ended).await.expect("the tool ends")
    }

    /// The log and the audit name the grant, and no row has its secret.
    async fn is_noted(&self) {
        let id = self.grant["id"].as_str().unwrap();
        let entries = format!("/sturdy/session/{}/entries?actor=grant:{id}", self.session);
        let entries = own(&self.world, "GET", &entries, None).await.json();
        assert!(!entries["entries"].as_array().unwrap().is_empty());
        let audit = own(&self.world, "GET", &format!("/sturdy/grant/{id}/audit"), None).await;
        let rows = audit.json();
        let methods: Vec<&str> =
            rows.as_array().unwrap().iter().map(|row| row["method"].as_str().unwrap()).collect();
        assert!(methods.contains(&"answer"), "{methods:?}");
        assert!(!audit.text.contains(self.reference().rsplit('.').next().unwrap()));
    }
}

async fn soon(call: impl IntoFuture<Output = Result<Wire, Thrown>>) -> Result<Wire, Thrown> {
    timeout(WAIT_MAX, call).await.expect("an answer")
}

#[tokio::test]
async fn a_bearer_answers_the_permissions_of_one_session() {
    let asking = Asking::new(BASH).await;
    let asks = format!("/api/session/{}/permission", asking.session);

    let listed = asking.with_grant("GET", &asks, &Value::Null).await;
    let other = format!("{asks}/{}/reply", asking.other_ask);
    let foreign = asking.with_grant("POST", &other, &json!({ "reply": "once" })).await;
    let everywhere = format!("/permission/{}/reply", asking.ask);
    let everywhere = asking.with_grant("POST", &everywhere, &json!({ "reply": "once" })).await;
    let mine = format!("{asks}/{}/reply", asking.ask);
    let always = asking.with_grant("POST", &mine, &json!({ "reply": "always" })).await;

    assert_eq!(listed.status, 200, "{}", listed.text);
    assert!(listed.text.contains(&asking.ask) && !listed.text.contains(&asking.other_ask), "{}", listed.text);
    assert!(foreign.status == 403 || foreign.status == 404, "{}", foreign.text);
    assert_eq!(everywhere.status, 403, "{}", everywhere.text);
    assert_eq!(always.status, 403, "{}", always.text);
    asking.nothing_is_answered("permission").await;

    let answered = asking.with_grant("POST", &mine, &json!({ "reply": "once" })).await;
    assert!(answered.status < 300, "{}", answered.text);
    assert_eq!(asking.output().await["output"], "done\n");
    asking.is_noted().await;
}

#[tokio::test]
async fn a_connection_answers_the_permissions_of_one_session() {
    let asking = Asking::new(BASH).await;
    let root = asking.root().await;

    let asks: Value = from_value(soon(root.call("asks", [])).await.unwrap()).unwrap();
    let answer = |ask: &str, reply: &str| {
        let given = to_value(&json!({ "reply": reply })).unwrap();
        root.call("answer", [Wire::from(ask), given])
    };
    let foreign = soon(answer(&asking.other_ask, "once")).await;
    let always = soon(answer(&asking.ask, "always")).await;
    let prompted = soon(root.call("prompt", [to_value(&prompt("x")).unwrap()])).await;

    assert_eq!(asks.as_array().unwrap().len(), 1, "{asks}");
    assert_eq!(asks[0]["request"]["id"], json!(asking.ask));
    assert!(foreign.is_err() && always.is_err() && prompted.is_err());
    asking.nothing_is_answered("permission").await;

    soon(answer(&asking.ask, "once")).await.unwrap();
    assert_eq!(asking.output().await["output"], "done\n");
    asking.is_noted().await;
}

#[tokio::test]
async fn a_connection_answers_the_questions_of_one_session_until_it_is_revoked() {
    let asking = Asking::new(QUESTION).await;
    let root = asking.root().await;
    let answers = to_value(&json!({ "answers": [["Red"]] })).unwrap();

    soon(root.call("answer", [Wire::from(asking.ask.as_str()), answers])).await.unwrap();

    assert_eq!(asking.output().await["status"], "completed");
    let grant = format!("/sturdy/grant/{}", asking.grant["id"].as_str().unwrap());
    own(&asking.world, "DELETE", &grant, None).await;
    assert!(soon(root.call("asks", [])).await.is_err());
    let asks = format!("/api/session/{}/question", asking.session);
    let refused = asking.with_grant("GET", &asks, &Value::Null).await;
    assert!([401, 403].contains(&refused.status), "{}", refused.text);
}
