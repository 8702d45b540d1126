//! An MCP server on loopback that speaks streamable HTTP, and the authorization server beside it.
//!
//! Logins are checked as a strict one would: the redirect address of the registration, the challenge of
//! PKCE, the code once, the token on every request. What was asked is remembered for the test.

use crate::without_delay;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

/// How the server behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebOptions {
    /// Nothing without a token.
    pub wants_login: bool,
    /// Who is not known stays unknown.
    pub no_registration: bool,
    /// Tokens that are as good as expired when they are given.
    pub short_tokens: bool,
    /// Answers come as events.
    pub events: bool,
    /// Who registers is given a secret, and has to say it to get tokens.
    pub confidential: bool,
    /// Speaks the older transport alone: a stream of events, and an address for messages.
    pub older: bool,
    /// When the secret expires, in seconds.
    pub secret_expires_at: Option<u64>,
}

#[derive(Debug, Default)]
struct Known {
    /// Headers of the requests to the MCP server.
    seen: Vec<HeaderMap>,
    called: Vec<String>,
    registered: u32,
    /// Redirect addresses by client.
    clients: HashMap<String, String>,
    /// Challenges by code.
    codes: HashMap<String, String>,
    tokens: Vec<String>,
    /// What the token endpoint was asked for.
    grants: Vec<String>,
    /// And by whom: name and secret.
    askers: Vec<(String, Option<String>)>,
    /// Where answers go in the older transport.
    stream: Option<mpsc::Sender<String>>,
}

#[derive(Debug)]
struct Shared {
    options: WebOptions,
    base: String,
    known: Mutex<Known>,
}

/// The running server. Ends when it is dropped.
#[derive(Debug)]
pub struct Web {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Web {
    pub async fn start(options: WebOptions) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), options).await
    }

    /// On an address of one that is gone.
    pub async fn start_at(address: SocketAddr, options: WebOptions) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared { options, base, known: Mutex::default() });
        let router = Router::new()
            .route("/mcp", post(message).get(stream).delete(no_stream))
            .route("/messages", post(older_message))
            .route("/moved", post(moved).get(moved))
            .route("/away", post(away).get(away))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/page", get(page).post(page))
            .with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(without_delay(listener), router).await.unwrap() });
        Self { shared, task }
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.shared.base.trim_start_matches("http://").parse().unwrap()
    }

    /// The entry of the configuration for it.
    #[must_use]
    pub fn remote(&self) -> Value {
        json!({ "type": "remote", "url": format!("{}/mcp", self.shared.base) })
    }

    /// The same under another address: one that leads to it (`/moved`), or to another origin (`/away`).
    #[must_use]
    pub fn remote_at(&self, path: &str) -> Value {
        json!({ "type": "remote", "url": format!("{}{path}", self.shared.base) })
    }

    /// An address that answers and is no MCP server.
    #[must_use]
    pub fn page(&self) -> String {
        format!("{}/page", self.shared.base)
    }

    /// A header of every request so far.
    #[must_use]
    pub fn header(&self, name: &str) -> Vec<Option<String>> {
        let text = |headers: &HeaderMap| Some(headers.get(name)?.to_str().ok()?.to_owned());
        self.known().seen.iter().map(text).collect()
    }

    /// The tools that were called.
    #[must_use]
    pub fn called(&self) -> Vec<String> {
        self.known().called.clone()
    }

    #[must_use]
    pub fn grants(&self) -> Vec<String> {
        self.known().grants.clone()
    }

    /// Who asked for tokens, with which secret.
    #[must_use]
    pub fn askers(&self) -> Vec<(String, Option<String>)> {
        self.known().askers.clone()
    }

    /// How often somebody made himself known.
    #[must_use]
    pub fn registered(&self) -> u32 {
        self.known().registered
    }

    /// Knows nobody any more.
    pub fn forget_clients(&self) {
        self.known().clients.clear();
    }

    /// Takes all tokens back.
    pub fn revoke(&self) {
        self.known().tokens.clear();
    }

    /// What a browser does with the address of a login: goes there, and comes back with a code. Gives the
    /// address it would come back to.
    pub async fn log_in(&self, url: &str) -> String {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .unwrap();
        let response = client.get(url).send().await.unwrap();
        assert_eq!(response.status(), 302, "the authorization server refuses");
        response.headers()["location"].to_str().unwrap().to_owned()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.shared.known.lock().unwrap()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn answer(status: u16, body: Value) -> Response<Body> {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

async fn page() -> Response<Body> {
    Response::builder().header("content-type", "text/html").body(Body::from("<h1>Hello</h1>")).unwrap()
}

async fn moved() -> Response<Body> {
    Response::builder().status(307).header("location", "/mcp").body(Body::empty()).unwrap()
}

async fn away(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let elsewhere = format!("{}/mcp", shared.base.replace("127.0.0.1", "localhost"));
    Response::builder().status(307).header("location", elsewhere).body(Body::empty()).unwrap()
}

/// The stream of the older transport.
async fn stream(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response<Body> {
    if !shared.options.older {
        return Response::builder().status(405).body(Body::empty()).unwrap();
    }
    if !is_welcome(&shared, &headers) {
        return unwelcome(&shared);
    }
    let (sender, answers) = mpsc::channel(16);
    sender.try_send("event: endpoint\ndata: /messages?session=1\n\n".to_owned()).unwrap();
    shared.known.lock().unwrap().stream = Some(sender);
    let events = ReceiverStream::new(answers).map(Ok::<_, std::convert::Infallible>);
    let response = Response::builder().header("content-type", "text/event-stream");
    response.body(Body::from_stream(events)).unwrap()
}

async fn older_message(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    if !is_welcome(&shared, &headers) {
        return StatusCode::UNAUTHORIZED;
    }
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let stream = {
        let mut known = shared.known.lock().unwrap();
        known.seen.push(headers);
        if asked["method"] == "tools/call" {
            known.called.push(asked["params"]["name"].as_str().unwrap().to_owned());
        }
        known.stream.clone()
    };
    let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result(&asked) });
    if let Some(stream) = stream.filter(|_| !asked["id"].is_null()) {
        stream.send(format!("event: message\ndata: {reply}\n\n")).await.unwrap();
    }
    StatusCode::ACCEPTED
}

async fn no_stream() -> StatusCode {
    StatusCode::METHOD_NOT_ALLOWED
}

async fn resource(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let base = &shared.base;
    answer(
        200,
        json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["tools"] }),
    )
}

async fn metadata(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let base = &shared.base;
    let mut body = json!({
        "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
        "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
    });
    if !shared.options.no_registration {
        body["registration_endpoint"] = json!(format!("{base}/register"));
    }
    answer(200, body)
}

async fn register(State(shared): State<Arc<Shared>>, body: Bytes) -> Response<Body> {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut known = shared.known.lock().unwrap();
    known.registered += 1;
    let id = format!("client-{}", known.registered);
    known.clients.insert(id.clone(), body["redirect_uris"][0].as_str().unwrap().to_owned());
    let mut said = json!({
        "client_id": id, "redirect_uris": body["redirect_uris"], "client_name": body["client_name"],
        "client_id_issued_at": 1_700_000_000,
    });
    if shared.options.confidential {
        said["client_secret"] = json!(secret_of(&id));
        said["client_secret_expires_at"] = json!(shared.options.secret_expires_at.unwrap_or(0));
    }
    answer(201, said)
}

/// With letters that have to be escaped.
fn secret_of(id: &str) -> String {
    format!("hush+{id}/=%")
}

/// Who asks for tokens, and whether he is who he says.
fn asker(headers: &HeaderMap, asked: &HashMap<String, String>) -> (String, Option<String>) {
    let given = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Basic "));
    let Some(given) = given else {
        return (asked.get("client_id").cloned().unwrap_or_default(), asked.get("client_secret").cloned());
    };
    let text = String::from_utf8(BASE64_STANDARD.decode(given).unwrap()).unwrap();
    let (id, secret) = text.split_once(':').unwrap();
    let plain = |text: &str| fields(&format!("x={text}"))["x"].clone();
    (plain(id), Some(plain(secret)))
}

fn fields(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

async fn authorize(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response<Body> {
    let asked = fields(&query.unwrap_or_default());
    let mut known = shared.known.lock().unwrap();
    let is_known = match known.clients.get(&asked["client_id"]) {
        Some(redirect) => *redirect == asked["redirect_uri"],
        None => shared.options.no_registration,
    };
    if !is_known || asked["code_challenge_method"] != "S256" || asked["response_type"] != "code" {
        return answer(400, json!({ "error": "invalid_request" }));
    }
    let code = format!("code-{}", known.codes.len() + 1);
    known.codes.insert(code.clone(), asked["code_challenge"].clone());
    let mut back = url::Url::parse(&asked["redirect_uri"]).unwrap();
    back.query_pairs_mut().append_pair("code", &code).append_pair("state", &asked["state"]);
    Response::builder().status(302).header("location", back.as_str()).body(Body::empty()).unwrap()
}

async fn token(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let asked = fields(&String::from_utf8_lossy(&body));
    let mut known = shared.known.lock().unwrap();
    known.grants.push(asked["grant_type"].clone());
    let (id, secret) = asker(&headers, &asked);
    let wanted = shared.options.confidential.then(|| secret_of(&id));
    let is_known = shared.options.no_registration || known.clients.contains_key(&id) && secret == wanted;
    known.askers.push((id, secret.clone()));
    if !is_known {
        // One that repeats what it was told.
        let why = format!("not you, {}", secret.unwrap_or_default());
        return answer(401, json!({ "error": "invalid_client", "error_description": why }));
    }
    let may = match asked["grant_type"].as_str() {
        "authorization_code" => {
            let digest = Sha256::digest(asked["code_verifier"].as_bytes());
            known.codes.remove(&asked["code"]) == Some(BASE64_URL_SAFE_NO_PAD.encode(digest))
        }
        "refresh_token" => asked["refresh_token"] == "refresh-secret",
        _ => false,
    };
    if !may {
        let why = format!("not with {}", asked.get("code").map_or("that", String::as_str));
        return answer(400, json!({ "error": "invalid_grant", "error_description": why }));
    }
    let token = format!("token-secret-{}", known.grants.len());
    known.tokens.push(token.clone());
    let expires_in = if shared.options.short_tokens && known.grants.len() == 1 { 1 } else { 3600 };
    answer(
        200,
        json!({
            "access_token": token, "token_type": "Bearer", "expires_in": expires_in,
            "refresh_token": "refresh-secret", "scope": "tools",
        }),
    )
}

fn is_welcome(shared: &Shared, headers: &HeaderMap) -> bool {
    let given = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let known = shared.known.lock().unwrap();
    let is_known = known.tokens.iter().any(|token| given == format!("Bearer {token}"));
    !shared.options.wants_login || is_known
}

fn unwelcome(shared: &Shared) -> Response<Body> {
    let challenge =
        format!("Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", shared.base);
    Response::builder().status(401).header("www-authenticate", challenge).body(Body::empty()).unwrap()
}

async fn message(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    if shared.options.older {
        return Response::builder().status(405).body(Body::empty()).unwrap();
    }
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let is_welcome = is_welcome(&shared, &headers);
    let result = {
        let mut known = shared.known.lock().unwrap();
        known.seen.push(headers.clone());
        if is_welcome && asked["method"] == "tools/call" {
            known.called.push(asked["params"]["name"].as_str().unwrap().to_owned());
        }
        result(&asked)
    };
    if !is_welcome {
        return unwelcome(&shared);
    }
    if asked["id"].is_null() {
        return Response::builder().status(202).body(Body::empty()).unwrap();
    }
    if asked["params"]["name"] == "broken" {
        return Response::builder().status(500).body(Body::empty()).unwrap();
    }
    let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string();
    let response = Response::builder().header("mcp-session-id", "session-1");
    if shared.options.events {
        let text = format!("event: message\ndata: {reply}\n\n");
        return response.header("content-type", "text/event-stream").body(Body::from(text)).unwrap();
    }
    response.header("content-type", "application/json").body(Body::from(reply)).unwrap()
}

fn result(asked: &Value) -> Value {
    let says = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    let arguments = &asked["params"]["arguments"];
    match (asked["method"].as_str().unwrap_or_default(), asked["params"]["name"].as_str()) {
        ("initialize", _) => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "web", "version": "1" },
        }),
        ("tools/list", _) => {
            let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
            let tool = |name: &str| json!({ "name": name, "inputSchema": schema });
            let tools = ["echo", "large", "broken"].map(tool);
            json!({ "tools": tools })
        }
        ("tools/call", Some("large")) => says("x".repeat(50 * 1024 * 1024)),
        ("tools/call", _) => says(arguments["text"].as_str().unwrap_or_default().to_owned()),
        _ => json!({}),
    }
}
