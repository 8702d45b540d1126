//! What `/rpc` refuses because it is too much, too late, or because the store is gone.

use super::*;

/// As many WebSockets as the server takes.
const SOCKETS_MAX: usize = 256;

#[tokio::test]
async fn so_many_sockets_are_served_and_the_next_is_told_to_come_back() {
    let world = World::new().await;
    let url = socket_url(&world);
    let mut lines = Vec::new();
    for _ in 0..SOCKETS_MAX {
        lines.push(connect(&world).await);
    }

    let upgrade = world
        .request("GET", "/rpc")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let one_more = Answer::of(upgrade.send().await.unwrap()).await;
    let batch = Batch::new(Options::default());
    let still = batch.root().call("echo", ["hi".into()]).ask();
    post(&world, batch).await;

    assert_eq!((one_more.status, one_more.header("retry-after")), (503, Some("1")));
    assert_eq!(one_more.json()["name"], "OverloadedError");
    assert_eq!(still.await, Ok("hi".into()));
    // Those that are open go on, and the place of one that ends is free.
    assert_eq!(lines[SOCKETS_MAX - 1].root.call("echo", [1.into()]).await, Ok(1.into()));
    let gone = lines.swap_remove(0);
    gone.handle.close();
    soon("the line ends", gone.over).await.unwrap();
    let again = async {
        loop {
            // The server gives the place back a moment after the line is closed.
            if let Ok(client) = ws::connect(&url, &[], None, Options::default()).await {
                return run(client);
            }
            tokio::task::yield_now().await;
        }
    };
    let again = soon("a place is free", again).await;
    assert_eq!(again.root.call("echo", [2.into()]).await, Ok(2.into()));
}

#[tokio::test]
async fn a_batch_that_is_too_large_or_too_long_is_refused_whole() {
    const BYTES_MAX: usize = 32 * 1024 * 1024;
    const MESSAGES_MAX: usize = 10_000;
    let world = World::new().await;
    let post = |body: String| {
        let request = world.request("POST", "/rpc").body(body);
        async move { Answer::of(request.send().await.unwrap()).await }
    };

    let large = post(" ".repeat(BYTES_MAX + 1)).await;
    let long = post(vec!["[\"push\",1]"; MESSAGES_MAX + 1].join("\n")).await;
    let fits = post(vec!["[\"push\",1]"; MESSAGES_MAX].join("\n")).await;

    assert_eq!(large.status, 413, "{}", large.text);
    assert_eq!((long.status, long.text.as_str()), (413, "the batch has more messages than allowed"));
    assert_eq!((fits.status, fits.text.as_str()), (200, ""));
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_connection_with_a_reason() {
    const BYTES_MAX: usize = 32 * 1024 * 1024;
    let world = World::new().await;
    let line = connect(&world).await;

    let answer = line.root.call("echo", ["x".repeat(BYTES_MAX).into()]).await.unwrap_err();

    assert!(answer.message().contains("exceeds maximum size"), "{answer}");
    let ended = soon("the line ends", line.over).await.unwrap();
    assert_eq!(ended.close_code, 3000);
}

#[tokio::test]
async fn without_its_store_a_method_says_so_and_a_subscription_ends() {
    // More than one page of the log, so that the reader has to ask again.
    const EVENTS: usize = 300;
    let world = World::new().await;
    let id = world.session().await;
    for number in 1..=EVENTS {
        let title = json!({ "title": format!("title {number}") });
        world.send("PATCH", &format!("/session/{id}"), &title).await;
    }
    // Opened anew, so that nothing is in memory and everything has to be read.
    let world = world.reopened().await;
    let line = connect(&world).await;
    let session = session_of(&line, &id).await;
    let answers = Arc::new(Semaphore::new(0));
    let mut sink = slow_sink(answers.clone());
    let handle = subscribe(&session, beginning(&world), &sink.stub).await;
    let first = sink.next().await;

    world.engine.store().clone().close().await;
    answers.add_permits(EVENTS_MAX);

    assert_eq!(soon("the end", handle.call("ended", [])).await, Ok("store_unavailable".into()));
    let mut cursors = vec![first.1];
    while let Ok((_, cursor)) = sink.seen.try_recv() {
        cursors.push(cursor);
    }
    // What was read before still came, whole and in order.
    assert!(ascend(&cursors));
    assert!(cursors.len() < EVENTS);
    let refused = session.call("info", []).await.unwrap_err();
    assert_eq!((refused.code(), told(&refused).1), (Some("StoreUnavailableError"), Some(503.0)));
}

#[tokio::test]
async fn arguments_that_nest_too_deep_are_refused() {
    let world = World::new().await;
    let post = async |levels: usize| {
        // A list is written inside another one, so that it is not taken for an expression.
        let lists = "[[".repeat(levels) + &"]]".repeat(levels);
        let body = format!("[\"push\",[\"pipeline\",0,[\"echo\"],[{lists}]]]\n[\"pull\",1]");
        Answer::of(world.request("POST", "/rpc").body(body).send().await.unwrap()).await.text
    };

    let flat = post(64).await;
    let deep = post(80).await;

    assert!(flat.starts_with("[\"resolve\",1,"), "{flat}");
    assert!(deep.starts_with("[\"abort\",") && deep.contains("nests deeper"), "{deep}");
}
