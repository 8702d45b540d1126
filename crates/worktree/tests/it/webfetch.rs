//! The `webfetch` tool, against servers on this machine.

use crate::bench::{Bench, ask};
use serde_json::json;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use sturdy_worktree::tool::{FailureKind, Reach, ToolFailure};
use sturdy_worktree::tools::is_private;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers requests one after another with the given texts, then closes.
async fn serve(listener: TcpListener, answers: Vec<Vec<u8>>) -> Vec<String> {
    let mut requests = Vec::new();
    for answer in answers {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 16 * 1024];
        let length = stream.read(&mut request).await.unwrap();
        requests.push(String::from_utf8_lossy(&request[..length]).into_owned());
        // The client may hang up on an answer that is too long.
        let _ = stream.write_all(&answer).await;
        let _ = stream.shutdown().await;
    }
    requests
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/page", listener.local_addr().unwrap().port());
    (listener, url)
}

fn open() -> Bench {
    Bench::with(|settings| settings.reach = Reach::Anywhere)
}

#[tokio::test]
async fn a_page_comes_as_markdown() {
    let bench = open();
    let (listener, url) = listen().await;
    let html = b"<html><head><title>T</title><script>bad()</script></head><body><h1>Hi</h1><p>A <b>word</b> <a href='/x'>link</a></p></body></html>";
    let page = answer("200 OK\r\nContent-Type: text/html; charset=utf-8", html);

    let (done, requests) =
        tokio::join!(bench.ok("webfetch", json!({ "url": url })), serve(listener, vec![page]));

    assert!(done.output.contains("# Hi") && done.output.contains("**word**"), "{}", done.output);
    assert!(!done.output.contains("bad()"));
    assert_eq!(done.title, format!("{url} (text/html; charset=utf-8)"));
    assert_eq!(done.metadata, *json!({ "truncated": false }).as_object().unwrap());
    assert!(requests[0].to_lowercase().contains("accept: text/markdown"), "{}", requests[0]);
    assert_eq!(bench.asked(), [ask("webfetch", &url, "*")]);
}

#[tokio::test]
async fn lists_and_rules_are_marked_with_dashes() {
    let bench = open();
    let (listener, url) = listen().await;
    let html = b"<ul><li>one<ul><li>in</li></ul></li></ul><hr><p>end</p>";
    let page = answer("200 OK\r\nContent-Type: text/html", html);

    let (done, _) = tokio::join!(bench.ok("webfetch", json!({ "url": url })), serve(listener, vec![page]));

    assert_eq!(done.output.trim(), "-   one\n    -   in\n\n- - -\n\nend");
}

#[tokio::test]
async fn a_page_comes_as_text_or_as_it_is() {
    let bench = open();
    let html = b"<p>A <b>word</b> <a href='/x'>link</a></p>";
    let page = || answer("200 OK\r\nContent-Type: text/html", html);

    let (listener, url) = listen().await;
    let (text, _) = tokio::join!(
        bench.ok("webfetch", json!({ "url": url, "format": "text" })),
        serve(listener, vec![page()])
    );
    let (listener, url) = listen().await;
    let (source, _) = tokio::join!(
        bench.ok("webfetch", json!({ "url": url, "format": "html" })),
        serve(listener, vec![page()])
    );

    assert_eq!(text.output.trim(), "A word link");
    assert_eq!(source.output.as_bytes(), html);
}

#[tokio::test]
async fn other_encodings_are_read() {
    let bench = open();
    let (listener, url) = listen().await;
    let page = answer("200 OK\r\nContent-Type: text/plain; charset=iso-8859-1", b"caf\xe9");

    let (done, _) = tokio::join!(bench.ok("webfetch", json!({ "url": url })), serve(listener, vec![page]));

    assert_eq!(done.output, "café");
}

#[tokio::test]
async fn an_image_is_attached() {
    let bench = open();
    let (listener, url) = listen().await;
    let page = answer("200 OK\r\nContent-Type: image/png", b"\x89PNG");

    let (done, _) = tokio::join!(bench.ok("webfetch", json!({ "url": url })), serve(listener, vec![page]));

    assert_eq!(done.attachments[0].mime, "image/png");
    assert_eq!(done.attachments[0].url, "data:image/png;base64,iVBORw==");
}

#[tokio::test]
async fn redirects_are_followed_and_counted() {
    let bench = open();
    let (listener, url) = listen().await;
    let hop = answer("302 Found\r\nLocation: /page", b"");
    let answers = vec![hop.clone(), hop.clone(), answer("200 OK\r\nContent-Type: text/plain", b"there")];
    let (done, _) = tokio::join!(bench.ok("webfetch", json!({ "url": url })), serve(listener, answers));
    assert_eq!(done.output, "there");

    let (listener, url) = listen().await;
    let (text, _) =
        tokio::join!(bench.fails("webfetch", json!({ "url": url })), serve(listener, vec![hop; 11]));
    assert!(text.contains("more than 10 times"), "{text}");
}

#[tokio::test]
async fn a_redirect_to_another_kind_of_address_is_refused() {
    let bench = open();
    let (listener, url) = listen().await;
    let hop = answer("302 Found\r\nLocation: file:///etc/passwd", b"");

    let (text, _) = tokio::join!(bench.fails("webfetch", json!({ "url": url })), serve(listener, vec![hop]));

    assert!(text.contains("not an address"), "{text}");
}

#[tokio::test]
async fn large_slow_and_failing_answers_are_explained() {
    let bench = open();
    let (listener, url) = listen().await;
    let large = answer("200 OK\r\nContent-Type: text/plain", &vec![b'x'; 6 * 1024 * 1024]);
    let (text, _) =
        tokio::join!(bench.fails("webfetch", json!({ "url": url })), serve(listener, vec![large]));
    assert!(text.contains("larger than 5 MB"), "{text}");

    let (listener, url) = listen().await;
    let gone = answer("404 Not Found", b"");
    let (text, _) = tokio::join!(bench.fails("webfetch", json!({ "url": url })), serve(listener, vec![gone]));
    assert!(text.contains("status 404"), "{text}");

    let (listener, url) = listen().await;
    let text = bench.fails("webfetch", json!({ "url": url, "timeout": 0.2 })).await;
    drop(listener);
    assert!(text.contains("did not answer"), "{text}");
    assert!(bench.fails("webfetch", json!({ "url": url })).await.contains("cannot be fetched"));
}

#[tokio::test]
async fn a_stopped_fetch_is_aborted() {
    let bench = open();
    let (_listener, url) = listen().await;
    bench.world.stop.cancel();

    let failure = bench.run("webfetch", json!({ "url": url })).await.unwrap_err();

    assert_eq!(failure.kind, FailureKind::Aborted);
}

#[tokio::test]
async fn a_page_nested_without_end_neither_hangs_nor_kills() {
    let bench = open();
    let (listener, url) = listen().await;
    let page = answer("200 OK\r\nContent-Type: text/html", &b"<b><div>".repeat(300_000));

    let (done, _) = tokio::join!(bench.ok("webfetch", json!({ "url": url })), serve(listener, vec![page]));

    assert_eq!(done.metadata["truncated"], true);
}

/// A bench whose person says no to this machine and its networks, and what was asked about them.
fn rejecting() -> (Bench, Arc<Mutex<Vec<String>>>) {
    let mut bench = Bench::new();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = asked.clone();
    bench.world.handles.ask = Arc::new(move |ask| {
        let is_private = ask.permission == "private_network";
        if is_private {
            assert_eq!(ask.patterns, ask.always);
            heard.lock().unwrap().extend(ask.patterns);
        }
        Box::pin(async move { if is_private { Err(ToolFailure::rejected(None)) } else { Ok(()) } })
    });
    (bench, asked)
}

#[tokio::test]
async fn this_machine_and_its_networks_are_not_reached_unasked() {
    let (bench, asked) = rejecting();
    for (url, host) in [
        ("http://127.0.0.1/", "127.0.0.1:80"),
        ("http://localhost:1/", "localhost:1"),
        ("https://[::1]/", "[::1]:443"),
        ("http://10.0.0.1/", "10.0.0.1:80"),
        ("http://192.168.1.1/", "192.168.1.1:80"),
        ("http://0.0.0.0/", "0.0.0.0:80"),
        ("http://2130706433/", "127.0.0.1:80"),
        ("http://0x7f.1/", "127.0.0.1:80"),
        ("http://[::ffff:127.0.0.1]/", "[::ffff:7f00:1]:80"),
        ("http://127.1/", "127.0.0.1:80"),
        ("http://[64:ff9b::7f00:1]/", "[64:ff9b::7f00:1]:80"),
    ] {
        let failure = bench.run("webfetch", json!({ "url": url })).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Rejected { feedback: None }, "{url}: {failure}");
        assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), [host], "{url}");
    }
    for url in ["file:///etc/passwd", "ftp://x/", "nonsense", "http://", "javascript:alert(1)"] {
        assert!(bench.fails("webfetch", json!({ "url": url })).await.contains("not an address"), "{url}");
    }
}

// Was: a dev server on this machine could not be looked at, whatever anybody allowed.
#[tokio::test]
async fn this_machine_is_reached_when_a_person_allows_it_and_a_redirect_elsewhere_is_asked_about() {
    let bench = Bench::new();
    let (other, elsewhere) = listen().await;
    let (listener, url) = listen().await;
    let hops = vec![
        answer("302 Found\r\nLocation: /page", b""),
        answer(&format!("302 Found\r\nLocation: {elsewhere}"), b""),
    ];
    let page = vec![answer("200 OK\r\nContent-Type: text/plain", b"there")];

    let (done, _, _) =
        tokio::join!(bench.ok("webfetch", json!({ "url": url })), serve(listener, hops), serve(other, page));

    let host = |url: &str| url.trim_start_matches("http://").trim_end_matches("/page").to_owned();
    let private = |url: &str| ask("private_network", host(url), &host(url));
    assert_eq!(done.output, "there");
    assert_eq!(bench.asked(), [ask("webfetch", &url, "*"), private(&url), private(&elsewhere)]);
}

#[tokio::test]
async fn where_clouds_keep_their_secrets_is_not_reached_whatever_is_allowed() {
    let bench = Bench::new();
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://169.254.170.2/v2/credentials",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[fd00:ec2::254]/",
        "http://[fe80::1]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://192.0.0.192/",
    ] {
        let text = bench.fails("webfetch", json!({ "url": url })).await;
        assert!(text.contains("clouds tell machines their secrets"), "{url}: {text}");
        assert!(bench.asked().iter().all(|asked| asked.0 == "webfetch"), "{url}: nobody is asked");
    }
}

#[test]
fn addresses_are_told_apart() {
    for private in [
        "127.9.9.9",
        "10.1.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::a00:1",
        "::127.0.0.1",
    ] {
        assert!(is_private(private.parse::<IpAddr>().unwrap()), "{private}");
    }
    for public in ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"] {
        assert!(!is_private(public.parse::<IpAddr>().unwrap()), "{public}");
    }
}
