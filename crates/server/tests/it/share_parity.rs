//! The same batch over plain HTTP, in one request of Cap'n Web and over a WebSocket: equal answers, equal contents, every
//! byte of a payload kept. And the same values as OpenCode's client sends them.

use crate::shares::{limited, share, sync, with_right};
use crate::world::World;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sturdy_capnweb::{Options, Stub, Value as Wire, batch, from_value, http, to_value, ws};
use sturdy_store::share::{Batch, Chain, Operation, chain_start};

/// A service that takes as much as comes.
async fn world() -> World {
    let unlimited = limited(|limits| {
        limits.batches_per_second = 0;
        limits.creates_per_hour = 0;
    });
    World::with(unlimited).await
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Rest,
    Post,
    Socket,
}

const WAYS: [Way; 3] = [Way::Rest, Way::Post, Way::Socket];

fn operation(seq: u64, kind: &str, key: &str, payload: &str) -> Operation {
    let op = json!({ "op_id": format!("op_{seq}"), "seq": seq, "kind": kind, "key": key, "version": seq, "schema": 1,
        "depends_on": [], "payload_json": payload });
    serde_json::from_value(op).unwrap()
}

fn sealed(id: &str, ops: Vec<Operation>) -> Value {
    let start = chain_start(id, "wr_1");
    let after = ops.iter().fold(start, |chain: Chain, op| chain.after(op));
    let batch = Batch {
        writer_id: "wr_1".to_owned(),
        batch_id: "bt_1".to_owned(),
        first_seq: 1,
        last_seq: ops.len() as u64,
        chain_before: start.to_string(),
        chain_after: after.to_string(),
        expected_cursor: Some(0),
        capability_epoch: 1,
        ops,
    };
    serde_json::to_value(batch).unwrap()
}

async fn through(root: &Stub, id: &str, owner: &str, sent: &Value) -> Wire {
    let redeemed = root.call("redeemShare", [id.into(), owner.into()]);
    redeemed.get("share").call("appendOps", [to_value(sent).unwrap()]).await.unwrap()
}

/// Sends a batch one way, and gives the answer without its time.
async fn append(world: &World, way: Way, id: &str, owner: &str, sent: &Value) -> Value {
    let mut ack: Value = match way {
        Way::Rest => {
            let path = format!("/api/share/{id}/ops");
            let answer = with_right(world, "POST", &path, owner, Some(sent)).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            answer.json()
        }
        Way::Post => {
            let request = batch::Batch::new(Options::default());
            let redeemed = request.root().call("redeemShare", [id.into(), owner.into()]);
            let appended = redeemed.get("share").call("appendOps", [to_value(sent).unwrap()]).ask();
            let url = format!("{}/rpc/share", world.url).parse().unwrap();
            http::post(&world.client, url, request).await.unwrap();
            from_value(appended.await.unwrap()).unwrap()
        }
        Way::Socket => {
            let url = format!("{}/rpc/share", world.url.replace("http://", "ws://"));
            let client = ws::connect(&url, &[], None, Options::default()).await.unwrap();
            let called = through(&client.root, id, owner, sent);
            tokio::select! {
                value = called => from_value(value).unwrap(),
                ended = client.run => panic!("{ended:?}"),
            }
        }
    };
    ack["server_time"] = Value::Null;
    ack
}

/// Everything that a share shows, as text: a payload is compared byte for byte.
async fn contents(world: &World, id: &str, owner: &str) -> String {
    with_right(world, "GET", &format!("/api/share/{id}/ops?after=0"), owner, None).await.text
}

/// T-PAR-01, T-ENV-01
#[tokio::test]
async fn a_batch_is_answered_and_kept_alike_whichever_way_it_comes() {
    let world = world().await;
    let deep = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    let payloads = [
        r#"{"id":"msg_1","__proto__":{"x":1},"constructor":null,"toJSON":[],"then":7}"#.to_owned(),
        r#"{ "id":"msg_1" , "2":"b","10":"a","1":"c","number":1.50e+3,"large":12345678901234567890 }"#
            .to_owned(),
        r#"{"id":"msg_1","text":"\ud83d\ude00\u0000\u2028 é \\u00e9 \ud800"}"#.to_owned(),
        format!(r#"{{"id":"msg_1","deep":{deep}}}"#),
        format!(r#"{{"id":"msg_1","long":"{}"}}"#, "ä".repeat(200_000)),
    ];
    for payload in payloads {
        let mut seen = Vec::new();
        for way in WAYS {
            let (id, owner) = share(&world).await;
            let ops =
                vec![operation(1, "message", "message/msg_1", &payload), operation(2, "nonsense", "x", "{}")];
            let sent = sealed(&id, ops);
            let ack = append(&world, way, &id, &owner, &sent).await;
            let again = append(&world, way, &id, &owner, &sent).await;
            assert_eq!(ack["applied"], json!(["op_1"]), "{way:?} {ack}");
            assert_eq!(again["duplicates"], json!(["op_1"]), "{way:?} {again}");
            seen.push((ack, again, contents(&world, &id, &owner).await));
        }
        // The chain names the share, which is another one each time.
        for (ack, again, _) in &mut seen {
            ack["chain"] = Value::Null;
            again["chain"] = Value::Null;
        }
        assert!(seen[0].2.contains(&payload) || payload.contains("ud800"), "{}", seen[0].2);
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0], seen[2]);
    }
    world.close().await;
}

/// T-ENV-01
#[tokio::test]
async fn any_payload_is_kept_byte_for_byte_whichever_way_it_comes() {
    let world = world().await;
    let mut runner = TestRunner::deterministic();
    let text = proptest::collection::vec(any::<(String, String)>(), 0..6);
    for _ in 0..24 {
        let drawn: Vec<(String, String)> = text.new_tree(&mut runner).unwrap().current();
        let mut fields: serde_json::Map<String, Value> =
            drawn.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        fields.insert("id".to_owned(), json!("msg_1"));
        let payload = Value::Object(fields).to_string();
        for way in WAYS {
            let (id, owner) = share(&world).await;
            let sent = sealed(&id, vec![operation(1, "message", "message/msg_1", &payload)]);
            append(&world, way, &id, &owner, &sent).await;
            let kept = contents(&world, &id, &owner).await;
            assert!(kept.contains(&payload), "{way:?}: {payload} is not in {kept}");
        }
    }
    world.close().await;
}

/// T-PAR-02
#[tokio::test]
async fn the_same_values_by_operations_and_by_sync_show_the_same() {
    let world = world().await;
    let session = json!({ "id": "ses_a", "title": "one" });
    let message = json!({ "id": "msg_1", "role": "user" });
    let part = json!({ "id": "prt_1", "messageID": "msg_1", "type": "text", "text": "hello" });
    let diff = json!([{ "file": "a.txt", "additions": 1, "deletions": 0 }]);
    let model = json!({ "id": "m", "providerID": "p", "name": "M" });
    let by_ops = share(&world).await;
    let by_sync = share(&world).await;

    let ops = vec![
        operation(1, "session", "session", &session.to_string()),
        operation(2, "message", "message/msg_1", &message.to_string()),
        operation(3, "part", "part/msg_1/prt_1", &part.to_string()),
        operation(4, "session_diff", "session_diff", &diff.to_string()),
        operation(5, "model", "model/p/m", &model.to_string()),
    ];
    append(&world, Way::Post, &by_ops.0, &by_ops.1, &sealed(&by_ops.0, ops)).await;
    let items = json!([
        { "type": "model", "data": [model] },
        { "type": "part", "data": part },
        { "type": "session_diff", "data": diff },
        { "type": "session", "data": session },
        { "type": "message", "data": message },
    ]);
    sync(&world, &by_sync, items).await;

    let one = world.get(&format!("/api/share/{}/data", by_ops.0)).await;
    let other = world.get(&format!("/api/share/{}/data", by_sync.0)).await;
    assert_eq!(one.json(), other.json());
    assert_eq!(one.json().as_array().unwrap().len(), 5);
    assert_eq!(one.header("etag"), other.header("etag"));
    world.close().await;
}
