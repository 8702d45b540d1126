//! Whole HTTP bodies, as a server and as a client.

use serde_json::Value as Json;
use sturdy_capnweb::{
    Options, Value,
    batch::{self, Batch},
};

use super::{all, server::same};
use crate::service::Service;

/// Where we differ on purpose: the name, and the lines we answer with.
const OURS: [(&str, &[&str]); 5] = [
    // A promise nobody keeps is released.
    (
        "batch-one-way-callback",
        &[
            "[\"push\",[\"pipeline\",-1,[],[\"hi\"]]]",
            "[\"release\",1,1]",
            "[\"release\",-1,1]",
            "[\"resolve\",1,\"sent\"]",
        ],
    ),
    // A stream could not be read to its end.
    (
        "batch-readable-result",
        &[
            "[\"reject\",1,[\"error\",\"Error\",\"batch_no_streams: a stream cannot be returned in an HTTP batch\",null,{\"code\":\"batch_no_streams\"}]]",
        ],
    ),
    // Forgiven.
    ("batch-trailing-newline", &["[\"resolve\",1,9]"]),
    // An answer with an abort line, not a failure of the endpoint.
    (
        "batch-bad-json",
        &["[\"abort\",[\"error\",\"SyntaxError\",\"not JSON: expected value at line 1 column 1\"]]"],
    ),
    ("batch-unknown-export", &["[\"abort\",[\"error\",\"Error\",\"no such export ID: 5\"]]"]),
];

#[tokio::test(start_paused = true)]
async fn every_recorded_batch_gets_the_recorded_answer() {
    let mut seen = 0;
    for vector in
        all().iter().filter(|vector| vector.via == "batch" && vector.from != "npm-client-to-raw-server")
    {
        seen += 1;
        for exchange in
            vector.raw["http"].as_array().into_iter().flatten().filter(|one| one["method"] == "POST")
        {
            let request = exchange["request"].as_str().expect("a body");
            let answer = batch::serve(Service::root(), request.as_bytes(), Options::default())
                .await
                .expect("admitted");
            let answer = String::from_utf8(answer).expect("text");
            let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
            let expected = match OURS.iter().find(|(name, _)| *name == vector.name) {
                Some((_, frames)) => frames.iter().map(ToString::to_string).collect(),
                None => lines(exchange["response"].as_str().unwrap_or_default()),
            };
            assert!(same(&expected, &lines(&answer)), "{}\n{expected:#?}\n{answer}", vector.name);
            assert!(!answer.ends_with('\n'), "{}", vector.name);
        }
    }
    assert_eq!(seen, 19);
}

#[tokio::test]
async fn every_odd_response_settles_the_calls_of_a_batch() {
    let mut seen = 0;
    for vector in
        all().iter().filter(|vector| vector.via == "batch" && vector.from == "npm-client-to-raw-server")
    {
        seen += 1;
        let mut batch = Batch::new(Options::default());
        let asked = [3, 2].map(|n| batch.root().call("square", [n.into()]).ask());
        batch.request().await;
        let status = u16::try_from(vector.raw["response_status"].as_u64().expect("a status")).expect("fits");
        let words = if status == 401 { "Unauthorized" } else { "Internal Server Error" };
        batch
            .response(status, words, vector.raw["response_body"].as_str().unwrap_or_default().as_bytes())
            .await;
        for (one, wanted) in asked.into_iter().zip(vector.raw["client_results"].as_array().expect("results"))
        {
            check(&vector.name, one.await, wanted);
        }
    }
    assert_eq!(seen, 8);
}

fn check(name: &str, found: sturdy_capnweb::Outcome, wanted: &Json) {
    match found {
        Ok(value) => assert_eq!(value.as_number(), wanted["value"].as_f64(), "{name}"),
        // Our parser forgives the last newline, so the call is unanswered and not broken.
        Err(reason) if name == "batch-response-trailing-newline" => {
            assert_eq!(reason.message(), "Batch RPC request ended.");
        }
        Err(reason) => {
            let error = reason.error().expect("an error");
            assert_eq!(Some(error.name.as_str()), wanted["error"]["name"].as_str(), "{name}");
            if name != "batch-response-html" {
                assert_eq!(Some(error.message.as_str()), wanted["error"]["message"].as_str(), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn our_batch_is_the_batch_the_npm_client_sends() {
    let mut batch = Batch::new(Options::default());
    let root = batch.root();
    let counter = root.call("makeCounter", [2.into()]);
    let square = root.call("square", [6.into()]);
    let more = counter.call("increment", [3.into()]);
    let last = root.call("incrementCounter", [counter.clone().into(), 4.into()]);
    let asked = [square, more, last].map(sturdy_capnweb::Promise::ask);

    let body = batch.request().await;

    let vectors = all();
    let basic = vectors.iter().find(|vector| vector.name == "batch-basic").expect("recorded");
    assert_eq!(Some(body.as_str()), basic.raw["http"][0]["request"].as_str());
    let answer = basic.raw["http"][0]["response"].as_str().expect("recorded");
    batch.response(200, "OK", answer.as_bytes()).await;
    for (one, wanted) in asked.into_iter().zip([36, 5, 9]) {
        assert_eq!(one.await, Ok(Value::from(wanted)));
    }
    assert_eq!(
        root.call("square", [1.into()]).await.expect_err("over").message(),
        "Batch RPC request ended."
    );
}
