//! Spans that a collector receives, by protocol buffers and as JSON.

use crate::program::{Place, Server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Far longer than any machine needs.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// One export: its headers in small letters, and its body.
type Export = (String, Vec<u8>);

/// Takes every export and hands it over.
fn collector() -> (String, Receiver<Export>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, exports) = sync_channel(64);
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let mut reader = BufReader::new(stream);
            loop {
                let mut head = String::new();
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    let lower = line.to_lowercase();
                    if let Some(count) = lower.strip_prefix("content-length:") {
                        length = count.trim().parse().unwrap();
                    }
                    head.push_str(&lower);
                }
                if head.is_empty() {
                    break;
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                if sender.send((head, body)).is_err() {
                    return;
                }
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    (url, exports)
}

/// A span as it was told, by either protocol.
#[derive(Debug, Default)]
struct Span {
    name: String,
    trace: String,
    parent: String,
    kind: u64,
    is_failed: bool,
    attributes: BTreeMap<String, String>,
}

/// The service that sends, and its spans.
type Told = (BTreeMap<String, String>, Vec<Span>);

/// The fields of a message of protocol buffers: their numbers, and a number or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for place in 0..10 {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return value;
            }
        }
        panic!("a number of more than ten bytes");
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        match key & 7 {
            0 => found.push((key >> 3, varint(&mut bytes), &[][..])),
            1 => {
                found.push((key >> 3, u64::from_le_bytes(bytes[..8].try_into().unwrap()), &[]));
                bytes = &bytes[8..];
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                found.push((key >> 3, 0, &bytes[..length]));
                bytes = &bytes[length..];
            }
            other => panic!("a field of kind {other}"),
        }
    }
    found
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A key and what it says.
fn pair(bytes: &[u8]) -> (String, String) {
    let mut found = (String::new(), String::new());
    for (field, _, bytes) in fields(bytes) {
        match field {
            1 => found.0 = text(bytes),
            2 => {
                let (field, number, bytes) = fields(bytes)[0];
                found.1 = if field == 1 { text(bytes) } else { number.to_string() };
            }
            other => panic!("{other} of an attribute"),
        }
    }
    found
}

fn span_of_message(bytes: &[u8]) -> Span {
    let mut span = Span::default();
    let mut times = Vec::new();
    for (field, number, bytes) in fields(bytes) {
        match field {
            1 => span.trace = hex(bytes),
            2 => assert_eq!(bytes.len(), 8),
            4 => span.parent = hex(bytes),
            5 => span.name = text(bytes),
            6 => span.kind = number,
            7 | 8 => times.push(number),
            9 => span.attributes.extend([pair(bytes)]),
            15 => span.is_failed = fields(bytes)[0].1 == 2,
            other => panic!("{other} of a span"),
        }
    }
    assert!(times[0] > 1_600_000_000_000_000_000 && times[0] <= times[1], "{times:?}");
    span
}

fn of_protobuf(body: &[u8]) -> Told {
    let of_field = |bytes, wanted| -> Vec<&[u8]> {
        fields(bytes).into_iter().filter(|(field, ..)| *field == wanted).map(|(_, _, bytes)| bytes).collect()
    };
    let all = of_field(body, 1)[0];
    let server = of_field(of_field(all, 1)[0], 1).into_iter().map(pair).collect();
    let spans = of_field(of_field(all, 2)[0], 2).into_iter().map(span_of_message).collect();
    (server, spans)
}

fn of_json(body: &[u8]) -> Told {
    let body: Value = serde_json::from_slice(body).unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let attributes = |of: &Value| -> BTreeMap<String, String> {
        let all = of["attributes"].as_array().unwrap().iter();
        all.map(|one| (word(&one["key"]), word(one["value"].as_object().unwrap().values().next().unwrap())))
            .collect()
    };
    let all = &body["resourceSpans"][0];
    let span = |span: &Value| Span {
        name: word(&span["name"]),
        trace: word(&span["traceId"]),
        parent: word(&span["parentSpanId"]),
        kind: span["kind"].as_u64().unwrap(),
        is_failed: span["status"]["code"] == 2,
        attributes: attributes(span),
    };
    let spans = all["scopeSpans"][0]["spans"].as_array().unwrap().iter().map(span).collect();
    (attributes(&all["resource"]), spans)
}

/// What one export told.
fn told((head, body): &Export) -> Told {
    assert!(head.starts_with("post /v1/traces "), "{head}");
    if head.contains("content-type: application/x-protobuf\r\n") { of_protobuf(body) } else { of_json(body) }
}

/// A turn whose model calls a tool.
fn call_a_tool(place: &Place) {
    let data = place.data().display().to_string();
    let words = "/demo tool glob {\"pattern\":\"*.none\"}";
    let asked = place.run(&["run", "--data-dir", &data, "--model", "demo/echo", words]);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
}

#[test]
fn requests_models_and_tools_are_told_to_the_collector_of_the_environment() {
    for protocol in ["", "http/json"] {
        let (url, exports) = collector();
        let place = Place::new()
            .with("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
            .with("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc")
            .with("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
            .with("OTEL_SERVICE_NAME", "desk");
        let server = place.serve(&["--trust-all"]);

        call_a_tool(&place);

        let mut found: Vec<Span> = Vec::new();
        let has = |found: &[Span], name: &str| found.iter().any(|span| span.name == name);
        while !["POST /session", "chat echo", "execute_tool glob"].iter().all(|name| has(&found, name)) {
            let export = exports.recv_timeout(WAIT_MAX).expect("spans arrive");
            assert!(export.0.contains("x-key: abc"), "{}", export.0);
            let (of_server, spans) = told(&export);
            assert_eq!(of_server["service.name"], "desk");
            found.extend(spans);
        }
        let one = |name: &str| found.iter().find(|span| span.name == name).unwrap();
        let kinds = ["POST /session", "chat echo", "execute_tool glob"].map(|name| one(name).kind);
        assert_eq!(kinds, [2, 3, 1]);
        assert_eq!(one("execute_tool glob").attributes["gen_ai.tool.name"], "glob");
        assert_eq!(one("chat echo").attributes["gen_ai.request.model"], "echo");
        let request = &one("POST /session").attributes;
        assert_eq!(
            (request["http.route"].as_str(), request["http.response.status_code"].as_str()),
            ("/session", "200")
        );
        // The model that called and the tool it called are one trace.
        let calling: Vec<&str> =
            found.iter().filter(|span| span.name == "chat echo").map(|span| span.trace.as_str()).collect();
        assert!(calling.contains(&one("execute_tool glob").trace.as_str()), "{found:#?}");
        drop(server);
    }
}

#[test]
fn the_trace_of_whoever_asks_goes_on_unless_it_is_not_recorded() {
    let (url, exports) = collector();
    let place = Place::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    let server = place.serve(&[]);
    let trace = "0af7651916cd43dd8448eb211c80319c";

    for (id, parent) in [
        ("silent", format!("traceparent: 00-{trace}-b7ad6b7169203331-00\r\n")),
        ("nobodys", format!("traceparent: 00-{}-b7ad6b7169203331-01\r\n", "0".repeat(32))),
        ("heard", format!("traceparent: 00-{trace}-b7ad6b7169203331-01\r\n")),
    ] {
        server.ask("GET", "/global/health", &format!("x-request-id: {id}\r\n{parent}"), "");
    }
    let spans = until_ended(server, &exports);

    let ids: Vec<&str> =
        spans.iter().map(|span| span.attributes["http.request.header.x-request-id"].as_str()).collect();
    assert_eq!(ids, ["nobodys", "heard"]);
    assert_ne!((spans[0].trace.as_str(), spans[0].parent.as_str()), (trace, "b7ad6b7169203331"));
    assert_eq!((spans[1].trace.as_str(), spans[1].parent.as_str()), (trace, "b7ad6b7169203331"));
}

/// Ends a server and gives what its collector was told.
fn until_ended(server: Server, exports: &Receiver<Export>) -> Vec<Span> {
    server.signal("TERM");
    let (code, log) = server.ended();
    assert_eq!(code, Some(0), "{log}");
    exports.try_iter().flat_map(|export| told(&export).1).collect()
}

#[test]
fn what_was_not_sent_yet_is_sent_before_the_server_ends() {
    let (url, exports) = collector();
    let place = Place::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    let server = place.serve(&[]);
    // A model that hangs is stopped with the server. Was: the spans of what the end stopped were lost.
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let body = r#"{"parts":[{"type":"text","text":"/demo hang 1"}]}"#;
    server.ask(
        "POST",
        &format!("/session/{session}/prompt_async"),
        "content-type: application/json\r\n",
        body,
    );
    while !server.ask("GET", &format!("/session/{session}/message"), "", "").contains("step-start") {
        std::thread::yield_now();
    }

    let spans = until_ended(server, &exports);

    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    for name in ["POST /session", "POST /session/{sessionID}/prompt_async", "chat echo"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(spans.iter().all(|span| !span.is_failed), "{spans:?}");
}

#[test]
fn a_collector_that_is_away_is_mentioned_once_and_holds_nothing_up() {
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let place = Place::new()
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://ada:url-secret@{gone}"))
        .with("OTEL_EXPORTER_OTLP_HEADERS", "x-key=header-secret");
    let server = place.serve(&["--trust-all"]);

    call_a_tool(&place);
    call_a_tool(&place);
    server.signal("TERM");
    let (code, log) = server.ended();

    assert_eq!(code, Some(0), "{log}");
    assert_eq!(log.matches("the trace collector did not accept spans").count(), 1, "{log}");
    assert!(!log.contains("secret"), "{log}");
}

// Was: JSON was sent to a port that speaks gRPC, and nobody was told why nothing arrives.
#[test]
fn a_protocol_that_is_not_spoken_is_refused_by_name_at_the_start() {
    let (url, exports) = collector();
    let place =
        Place::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", &url).with("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let server = place.serve(&[]);

    server.ask("GET", "/global/health", "", "");
    server.signal("TERM");
    let (code, log) = server.ended();

    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("traces are not exported") && log.contains("http/protobuf or http/json"), "{log}");
    assert_eq!(exports.try_iter().count(), 0);
}
