//! Cap'n Web against a real socket, with the client of our own crate.

mod bounds;
mod reconnect;

use crate::stream::{Frame, Stream, ascend};
use crate::world::{Answer, NO_SESSION, World, prompt};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use sturdy_capnweb::batch::Batch;
use sturdy_capnweb::ws::{self, Client, ConnectError};
use sturdy_capnweb::{
    Bytes, Ended, ErrorValue, Interface, Object, Options, Stub, Thrown, Value, from_value, http,
};
use sturdy_server::{Password, ServerOptions};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

/// Long enough for a slow machine; a test that waits for it has failed.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// More events than any test makes.
const EVENTS_MAX: usize = 4096;

/// A WebSocket session that runs.
struct Line {
    root: Stub,
    handle: sturdy_capnweb::Handle,
    over: JoinHandle<Ended>,
}

#[allow(clippy::disallowed_methods, reason = "the client is not the server's task")]
fn run(client: Client) -> Line {
    Line { root: client.root, handle: client.handle, over: tokio::spawn(client.run) }
}

fn socket_url(world: &World) -> String {
    format!("{}/rpc", world.url.replace("http://", "ws://"))
}

async fn connect(world: &World) -> Line {
    run(ws::connect(&socket_url(world), &[], None, Options::default()).await.unwrap())
}

async fn post(world: &World, batch: Batch) {
    let url = format!("{}/rpc", world.url).parse().unwrap();
    http::post(&world.client, url, batch).await.unwrap();
}

async fn soon<T>(what: &str, wanted: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(WAIT_MAX, wanted).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}

/// What is told of an error: its code, status and message.
fn told(thrown: &Thrown) -> (Option<String>, Option<f64>, String) {
    let status = thrown.error().and_then(|error| error.props.get("status")?.as_number());
    (thrown.code().map(str::to_owned), status, thrown.message())
}

fn as_json(value: Value) -> serde_json::Value {
    from_value(value).unwrap()
}

/// One event and the cursor behind it.
type Seen = (serde_json::Value, String);

/// A sink that hands on what it gets, and whose end can be seen.
struct Sink {
    stub: Stub,
    seen: mpsc::Receiver<Seen>,
    disposed: Arc<Semaphore>,
}

fn sink() -> Sink {
    slow_sink(Arc::new(Semaphore::new(EVENTS_MAX)))
}

/// A sink that answers when it gets a permit.
fn slow_sink(answers: Arc<Semaphore>) -> Sink {
    let (tell, seen) = mpsc::channel::<Seen>(EVENTS_MAX);
    let disposed = Arc::new(Semaphore::new(0));
    let end = disposed.clone();
    let interface = Interface::named("Sink")
        .invoke(move |_: Arc<()>, mut call| {
            let tell = tell.clone();
            let answers = answers.clone();
            async move {
                let event = as_json(call.arg());
                tell.send((event, call.take()?)).await.unwrap();
                answers.acquire().await.unwrap().forget();
                Ok(Value::Undefined)
            }
        })
        .disposed(move |()| end.add_permits(1))
        .build();
    Sink { stub: interface.stub(()), seen, disposed }
}

impl Sink {
    async fn next(&mut self) -> Seen {
        soon("an event", self.seen.recv()).await.unwrap()
    }

    /// All events up to the end of a turn.
    async fn turn(&mut self) -> Vec<Seen> {
        let mut events = Vec::new();
        loop {
            events.push(self.next().await);
            if events.last().unwrap().0["type"] == "session.idle" {
                return events;
            }
        }
    }
}

/// What the stream of the directory shows of one session.
fn of_session(frames: &[Frame], session: &str) -> Vec<Seen> {
    let mine = frames.iter().filter(|frame| frame.json()["properties"]["sessionID"] == session);
    mine.map(|frame| (frame.json(), frame.id().unwrap())).collect()
}

/// The cursor before everything.
fn beginning(world: &World) -> Value {
    format!("{}.0", world.engine.store().epoch()).into()
}

async fn session_of(line: &Line, id: &str) -> Stub {
    let session = line.root.call("sessions", []).call("get", [id.into()]).await.unwrap();
    session.as_stub().unwrap().clone()
}

/// Subscribes, and gives the handle.
async fn subscribe(session: &Stub, after: Value, sink: &Stub) -> Stub {
    let handle = session.call("subscribe", [after, sink.clone().into()]).await.unwrap();
    handle.as_stub().unwrap().clone()
}

fn a_bit_of_everything() -> Value {
    Value::object([
        ("nothing", Value::Null),
        ("undefined", Value::Undefined),
        ("flag", true.into()),
        ("number", Value::Number(-0.5)),
        ("infinite", Value::Number(f64::INFINITY)),
        ("large", u64::MAX.into()),
        ("text", "é\u{1f600}".into()),
        ("when", Value::date(1_767_323_045_678.0)),
        ("bytes", Bytes::new(vec![0, 127, 255]).into()),
        ("list", Value::array([Value::array([1, 2]), Value::Null])),
        ("error", ErrorValue::range_error("far").code("out").into()),
        ("url", Value::Url(Box::new("https://example.org/a?b".parse().unwrap()))),
    ])
}

#[tokio::test]
async fn an_echo_is_what_was_said_in_a_batch_and_over_a_socket() {
    let world = World::new().await;
    let line = connect(&world).await;

    let spoken = line.root.call("echo", [a_bit_of_everything()]).await.unwrap();
    let batch = Batch::new(Options::default());
    let written = batch.root().call("echo", [a_bit_of_everything()]).ask();
    let nothing = batch.root().call("echo", []).ask();
    post(&world, batch).await;

    assert_eq!(spoken, a_bit_of_everything());
    assert_eq!(written.await.unwrap(), a_bit_of_everything());
    assert_eq!(nothing.await.unwrap(), Value::Undefined);
}

#[tokio::test]
async fn a_stub_comes_back_as_the_object_it_was() {
    let world = World::new().await;
    let line = connect(&world).await;
    let double = Stub::function(|mut call| async move { Ok((call.take::<f64>()? * 2.0).into()) });

    let back = line.root.call("echo", [Value::object([("double", double)])]).await.unwrap();
    let four = back.get("double").unwrap().as_stub().unwrap().invoke([2.into()]).await;

    assert_eq!(four, Ok(Value::from(4)));
}

#[tokio::test]
async fn a_probe_shows_what_arrived() {
    let world = World::new().await;
    let line = connect(&world).await;
    let nested = Value::object([("deep", Value::array([1.into(), Value::Null]))]);
    let input = |when: f64| {
        Value::object([
            ("when", Value::Date(when)),
            ("bytes", Bytes::new(vec![1, 0, 255]).into()),
            ("nested", nested.clone()),
        ])
    };

    let shown = line.root.call("probeValue", [input(1_767_323_045_678.0)]).await.unwrap();
    let invalid = line.root.call("probeValue", [input(f64::NAN)]).await.unwrap_err();
    let wrong = line.root.call("probeValue", [Value::object([("when", "today")])]).await.unwrap_err();

    let whole = Value::object([
        ("when", "2026-01-02T03:04:05.678Z".into()),
        ("bytes", Value::array([1, 0, 255])),
        ("size", 3.into()),
        ("nested", nested.clone()),
    ]);
    assert_eq!(shown, whole);
    assert_eq!(invalid.error().unwrap().to_string(), "RangeError: `when` is an invalid date");
    assert_eq!(wrong.error().unwrap().to_string(), "TypeError: `when` should be a date, found string");
}

#[tokio::test]
async fn a_callback_is_asked_over_a_socket_and_cannot_be_in_a_batch() {
    let world = World::new().await;
    let line = connect(&world).await;
    let says = |text: &'static str| Value::from(Stub::function(move |_| async move { Ok(text.into()) }));
    let fails = Stub::function(|_| async { Err(ErrorValue::new("not today").code("closed").into()) });

    assert_eq!(line.root.call("probeCallback", [says("here")]).await, Ok("here".into()));
    let failed = line.root.call("probeCallback", [fails.into()]).await.unwrap_err();
    assert_eq!((failed.code(), failed.message().as_str()), (Some("closed"), "not today"));
    let nothing = line.root.call("probeCallback", []).await.unwrap_err();
    assert_eq!(nothing.error().unwrap().to_string(), "TypeError: expected a stub, found undefined");

    let batch = Batch::new(Options::default());
    let asked = batch.root().call("probeCallback", [says("nobody")]).ask();
    post(&world, batch).await;
    assert_eq!(asked.await.unwrap_err().code(), Some("batch_no_return_path"));
}

#[tokio::test]
async fn sessions_read_as_over_http_in_one_round_trip() {
    let world = World::new().await;
    let id = world.session().await;
    world.ask(&id, "hello").await;
    let other = json!({ "title": "elsewhere" });
    let path = format!("/session?directory={}", world.other().display());
    let other = world.send("POST", &path, &other).await.json();

    let batch = Batch::new(Options::default());
    let sessions = batch.root().call("sessions", []);
    let session = sessions.call("get", [id.as_str().into()]);
    let info = session.call("info", []).ask();
    let messages = session.call("messages", []).ask();
    let all = sessions.call("list", []).ask();
    let there = Value::object([("directory", world.other().display().to_string())]);
    let there = sessions.call("list", [there]).ask();
    let few = Value::object([("limit", Value::from(1)), ("search", "NOTHING LIKE IT".into())]);
    let none = sessions.call("list", [few]).ask();
    post(&world, batch).await;

    assert_eq!(as_json(info.await.unwrap()), world.get(&format!("/session/{id}")).await.json());
    let over_http = world.get(&format!("/session/{id}/message")).await.json();
    assert_eq!(as_json(messages.await.unwrap()), json!({ "items": over_http }));
    assert_eq!(as_json(all.await.unwrap()), world.get("/session").await.json());
    assert_eq!(as_json(there.await.unwrap()), json!([other]));
    assert_eq!(as_json(none.await.unwrap()), json!([]));
}

#[tokio::test]
async fn pages_of_messages_have_the_cursor_of_http() {
    let world = World::new().await;
    let id = world.session().await;
    for text in ["one", "two", "three"] {
        world.ask(&id, text).await;
    }
    let line = connect(&world).await;
    let session = session_of(&line, &id).await;

    let mut before = None::<String>;
    let mut pages = 0;
    loop {
        let mut wanted = Object::new();
        wanted.insert("limit", 2);
        let mut path = format!("/session/{id}/message?limit=2");
        if let Some(cursor) = &before {
            wanted.insert("before", cursor.as_str());
            path = format!("{path}&before={cursor}");
        }
        let page = as_json(session.call("messages", [wanted.into()]).await.unwrap());
        let over_http = world.get(&path).await;
        assert_eq!(page["items"], over_http.json());
        assert_eq!(page.get("next").and_then(|next| next.as_str()), over_http.header("x-next-cursor"));
        pages += 1;
        before = page.get("next").map(|next| next.as_str().unwrap().to_owned());
        if before.is_none() {
            break;
        }
    }
    assert_eq!(pages, 3);
}

#[tokio::test]
async fn invalid_arguments_are_refused_with_a_code() {
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let sessions = line.root.call("sessions", []).into_stub();
    let session = session_of(&line, &id).await;
    let page = |members: Vec<(&str, Value)>| session.call("messages", [Value::object(members)]);

    // The error of `get` is the error of everything that was asked of what it would have given.
    let unknown = sessions.call("get", [NO_SESSION.into()]).call("info", []).await.unwrap_err();
    let wanted = (Some("NotFoundError".to_owned()), Some(404.0), format!("Session not found: {NO_SESSION}"));
    assert_eq!(told(&unknown), wanted);
    let malformed = sessions.call("get", ["nonsense".into()]).await.unwrap_err();
    assert_eq!((malformed.code(), told(&malformed).1), (Some("BadRequest"), Some(400.0)));
    let lost = page(vec![("before", "x".into())]).await.unwrap_err();
    assert_eq!((lost.code(), lost.message().as_str()), (Some("BadRequest"), "`before` goes with a `limit`."));
    let foreign = page(vec![("before", "x".into()), ("limit", 1.into())]).await.unwrap_err();
    assert_eq!(foreign.message(), "`before` is not the `next` of a page.");
    let misspelt = sessions.call("list", [Value::object([("serach", "x")])]).await.unwrap_err();
    assert!(misspelt.message().contains("serach"), "{misspelt}");
    let negative = session.call("subscribe", [Value::from(-1), sink().stub.into()]).await.unwrap_err();
    assert_eq!(negative.error().unwrap().name, "TypeError");
    let no_sink = session.call("subscribe", [Value::Null]).await.unwrap_err();
    assert_eq!(no_sink.message(), "expected a stub, found undefined");

    world.call("DELETE", &format!("/session/{id}")).await;
    assert_eq!(session.call("info", []).await.unwrap_err().code(), Some("NotFoundError"));
    let gone = session.call("subscribe", [Value::Null, sink().stub.into()]).await.unwrap_err();
    assert_eq!(gone.code(), Some("NotFoundError"));
}

#[tokio::test]
async fn a_sink_gets_the_events_of_its_session_with_their_cursors() {
    let world = World::new().await;
    let mine = world.session().await;
    let other = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    let line = connect(&world).await;
    let mut sink = sink();
    let _handle = subscribe(&session_of(&line, &mine).await, Value::Null, &sink.stub).await;

    world.ask(&other, "not for you").await;
    world.ask(&mine, "/demo long 40").await;

    let seen = sink.turn().await;
    let mut frames = stream.until(Frame::is_idle).await;
    frames.extend(stream.until(Frame::is_idle).await);
    assert_eq!(seen, of_session(&frames, &mine));
    assert!(ascend(seen.iter().map(|(_, cursor)| cursor)));
}

#[tokio::test]
async fn a_subscriber_that_comes_back_gets_exactly_what_it_missed() {
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let mut first = sink();
    let _handle = subscribe(&session_of(&line, &id).await, Value::Undefined, &first.stub).await;
    world.ask(&id, "one").await;
    let mut all = first.turn().await;
    line.handle.close();
    soon("the line ends", line.over).await.unwrap();
    world.ask(&id, "two").await;

    let line = connect(&world).await;
    let session = session_of(&line, &id).await;
    let mut again = sink();
    let last = all.last().unwrap().1.clone();
    let _handle = subscribe(&session, last.into(), &again.stub).await;
    let missed = again.turn().await;

    all.extend(missed);
    assert!(ascend(all.iter().map(|(_, cursor)| cursor)));
    let mut whole = sink();
    let _whole = subscribe(&session, all[0].1.clone().into(), &whole.stub).await;
    let mut replayed = whole.turn().await;
    replayed.extend(whole.turn().await);
    assert_eq!(replayed, all[1..]);
}

#[tokio::test]
async fn disposing_the_handle_ends_the_subscription() {
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let Sink { stub, seen: _seen, disposed } = sink();
    let handle = subscribe(&session_of(&line, &id).await, Value::Null, &stub).await;
    let ended = handle.call("ended", []).ask();
    drop(stub);

    drop(handle);

    // The task that read the feed was the last to hold the sink.
    soon("the sink is let go", disposed.acquire()).await.unwrap().forget();
    assert_eq!(soon("the end is told", ended).await, Ok("disposed".into()));
    assert_eq!(line.handle.stats().exports, 1);
}

/// Hears why subscriptions ended, from the log of the server: a client that is gone cannot be told.
struct Log(mpsc::Sender<String>);

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "sturdy_server::rpc::subscription"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::Id {
        tracing::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            if field.name() == "why" {
                self.0.try_send(format!("{value:?}")).unwrap();
            }
        });
    }

    fn enter(&self, _: &tracing::Id) {}

    fn exit(&self, _: &tracing::Id) {}
}

#[tokio::test]
async fn the_end_of_the_connection_ends_its_subscriptions() {
    let (tell, mut ends) = mpsc::channel(8);
    let _guard = tracing::subscriber::set_default(Log(tell));
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let session = session_of(&line, &id).await;
    let one = sink();
    let two = sink();
    let _one = subscribe(&session, Value::Null, &one.stub).await;
    let _two = subscribe(&session, beginning(&world), &two.stub).await;

    line.over.abort();

    for _ in 0..2 {
        let why = soon("a subscription ends", ends.recv()).await.unwrap();
        // Which is noticed first, that the handle is gone or that the sink is, nobody can say.
        assert!(why.contains("disposed") || why.contains("sink_failed"), "{why}");
    }
}

#[tokio::test]
async fn a_sink_that_fails_ends_its_subscription() {
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let fails = Stub::function(|_| async { Err(ErrorValue::new("enough").into()) });
    let handle = subscribe(&session_of(&line, &id).await, Value::Null, &fails).await;

    world.send("PATCH", &format!("/session/{id}"), &json!({ "title": "renamed" })).await;

    assert_eq!(soon("the end", handle.call("ended", [])).await, Ok("sink_failed".into()));
}

#[tokio::test]
async fn a_subscription_ends_with_its_session() {
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let mut sink = sink();
    let handle = subscribe(&session_of(&line, &id).await, Value::Null, &sink.stub).await;

    world.call("DELETE", &format!("/session/{id}")).await;

    assert_eq!(sink.next().await.0["type"], "session.deleted");
    assert_eq!(soon("the end", handle.call("ended", [])).await, Ok("session_removed".into()));
}

#[tokio::test]
async fn a_slow_sink_is_waited_for_and_misses_nothing() {
    const UNDER_WAY_MAX: usize = 16;
    const EVENTS: usize = 3 * UNDER_WAY_MAX;
    let world = World::new().await;
    let id = world.session().await;
    let mut stream = Stream::open(&world, "/event").await;
    let line = connect(&world).await;
    let answers = Arc::new(Semaphore::new(0));
    let mut sink = slow_sink(answers.clone());
    let _handle = subscribe(&session_of(&line, &id).await, Value::Null, &sink.stub).await;

    for number in 1..=EVENTS {
        let title = json!({ "title": format!("title {number}") });
        world.send("PATCH", &format!("/session/{id}"), &title).await;
    }
    let last = format!("title {EVENTS}");
    let frames = stream.until(|frame| frame.json()["properties"]["info"]["title"] == last).await;
    let frames = of_session(&frames, &id);
    let mut seen = Vec::new();
    for _ in 0..UNDER_WAY_MAX {
        seen.push(sink.next().await);
    }
    // An echo comes after everything that was sent before it: no further call is on its way.
    line.root.call("echo", []).await.unwrap();
    assert!(sink.seen.try_recv().is_err());

    answers.add_permits(1);
    seen.push(sink.next().await);
    line.root.call("echo", []).await.unwrap();
    assert!(sink.seen.try_recv().is_err());
    answers.add_permits(EVENTS_MAX);
    while seen.len() < EVENTS {
        seen.push(sink.next().await);
    }

    assert_eq!(seen, frames);
}

#[tokio::test]
async fn a_connection_has_so_many_subscriptions_and_no_more() {
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let session = session_of(&line, &id).await;
    let sink = sink();
    let mut handles = Vec::new();
    for _ in 0..64 {
        handles.push(subscribe(&session, Value::Null, &sink.stub).await);
    }

    let refused = session.call("subscribe", [Value::Null, sink.stub.clone().into()]).await.unwrap_err();
    assert_eq!(refused.code(), Some("too_many_subscriptions"));

    let ended = handles.pop().unwrap().call("ended", []).ask();
    soon("one ends", ended).await.unwrap();
    subscribe(&session, Value::Null, &sink.stub).await;
}

#[tokio::test]
async fn a_batch_cannot_subscribe() {
    let world = World::new().await;
    let id = world.session().await;

    let batch = Batch::new(Options::default());
    let session = batch.root().call("sessions", []).call("get", [id.as_str().into()]);
    let refused = session.call("subscribe", [Value::Null, sink().stub.into()]).ask();
    post(&world, batch).await;

    assert_eq!(refused.await.unwrap_err().code(), Some("batch_no_return_path"));
}

fn refused(outcome: Result<Client, ConnectError>) -> String {
    let Err(ConnectError::Refused(cause)) = outcome else { panic!("not refused") };
    cause.to_string()
}

#[tokio::test]
async fn without_the_password_nobody_gets_a_root() {
    let password = Some(Password::new("ada", "open sesame".to_owned()));
    let world = World::with(ServerOptions { password, ..ServerOptions::default() }).await;
    let url = socket_url(&world);

    let posted = world.call("POST", "/rpc").await;
    let bare = refused(ws::connect(&url, &[], None, Options::default()).await);
    let known = [("authorization", "Basic YWRhOm9wZW4gc2VzYW1l")];
    let line = run(ws::connect(&url, &known, None, Options::default()).await.unwrap());

    assert_eq!(posted.status, 401);
    assert!(bare.contains("401"), "{bare}");
    assert_eq!(line.root.call("echo", ["hi".into()]).await, Ok("hi".into()));
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let world = World::new().await;
    let url = socket_url(&world);
    let post = |origin: String| {
        let request = world.request("POST", "/rpc").header("origin", origin).body("");
        async move { Answer::of(request.send().await.unwrap()).await.status }
    };

    assert_eq!(post("https://evil.example".to_owned()).await, 403);
    assert_eq!(post("null".to_owned()).await, 403);
    assert_eq!(post("http://localhost:3000".to_owned()).await, 200);
    assert_eq!(post(world.url.clone()).await, 200);
    let evil = [("origin", "https://evil.example")];
    let evil = refused(ws::connect(&url, &evil, None, Options::default()).await);
    assert!(evil.contains("403"), "{evil}");
    let local = [("origin", "http://localhost:3000")];
    assert!(ws::connect(&url, &local, None, Options::default()).await.is_ok());
}

#[tokio::test]
async fn anything_but_a_batch_and_an_upgrade_is_refused() {
    let world = World::new().await;
    for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE"] {
        let answer = world.call(method, "/rpc").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, POST")), "{method}");
    }
    let not_text = world.request("POST", "/rpc").body(vec![0xFF_u8]).send().await.unwrap();
    assert_eq!(not_text.status(), 415);
    let garbage = world.request("POST", "/rpc").body("garbage").send().await.unwrap();
    assert_eq!(garbage.status(), 200);
    assert!(garbage.text().await.unwrap().starts_with("[\"abort\","));
}

#[tokio::test]
async fn a_closing_server_says_so_and_leaves_nothing_running() {
    let world = World::new().await;
    let id = world.session().await;
    let line = connect(&world).await;
    let sink = sink();
    let _handle = subscribe(&session_of(&line, &id).await, Value::Null, &sink.stub).await;

    soon("the server closes", world.close()).await;

    let ended = soon("the line ends", line.over).await.unwrap();
    assert_eq!(
        (ended.reason.code(), ended.reason.message().as_str()),
        (Some("ClosingError"), "The server is shutting down.")
    );
}

#[tokio::test]
async fn the_owners_verbs_share_list_and_take_back() {
    let world = World::with(crate::share_pair::receiving()).await;
    let session = world.session().await;
    let line = connect(&world).await;
    let shares = line.root.call("shares", []);

    let wish = Value::object([("visibility", "private")]);
    let shared = soon("a share", shares.call("share", [session.as_str().into(), wish])).await.unwrap();
    let listed = soon("a list", shares.call("list", [])).await.unwrap();
    let nonsense = Value::object([("visibility", "secret")]);
    let refused = soon("a refusal", shares.call("share", [session.as_str().into(), nonsense])).await;
    let taken_back = soon("an end", shares.call("unshare", [session.as_str().into()])).await.unwrap();

    let shared = as_json(shared);
    let listed = as_json(listed);
    assert!(shared["reference"].as_str().unwrap().starts_with("stdy1."));
    assert_eq!((&listed[0]["shareID"], &listed[0]["reference"]), (&shared["shareID"], &json!(null)));
    assert_eq!(told(&refused.unwrap_err()).1, Some(400.0));
    assert_eq!(as_json(taken_back), json!(true));
    let record = world.get(&format!("/session/{session}")).await.json();
    assert_eq!(record["share"], json!(null));
    line.handle.abort(ErrorValue::new("done"));
    world.close().await;
}
