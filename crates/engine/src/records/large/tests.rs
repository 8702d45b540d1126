//! What becomes a link, what does not, and the way back.

use super::{LargeValue, LargeValues, TEXT_BYTES_MIN, TREE_BYTES_MIN, value_in};
use bytes::Bytes;
use serde_json::{Value, json};

fn long(letter: &str) -> String {
    letter.repeat(TEXT_BYTES_MIN)
}

fn linked(part: &Value) -> Value {
    let text = (LargeValues::Linked.shape().0)(part.to_string());
    serde_json::from_str(&text).unwrap()
}

fn link_to(text: &str) -> Value {
    json!({ "$blob": blake3::hash(text.as_bytes()).to_hex().to_string(), "bytes": text.len() })
}

fn call(state: &Value) -> Value {
    json!({ "id": "prt_1", "type": "tool", "tool": "x", "state": state })
}

#[test]
fn large_values_of_a_call_become_links_and_the_rest_stays() {
    let part = call(&json!({
        "status": "completed", "title": "a title", "output": long("o"),
        "input": { "content": long("i"), "path": "a.rs" },
        "metadata": { "exit": 0, "diff": long("d") },
        "attachments": [{ "type": "file", "mime": "image/png", "url": long("u") }],
    }));

    let shown = linked(&part);

    assert_eq!(
        shown,
        call(&json!({
            "status": "completed", "title": "a title", "output": link_to(&long("o")),
            "input": { "content": link_to(&long("i")), "path": "a.rs" },
            "metadata": { "exit": 0, "diff": link_to(&long("d")) },
            "attachments": [{ "type": "file", "mime": "image/png", "url": link_to(&long("u")) }],
        }))
    );
}

#[test]
fn a_part_without_a_large_value_stays_byte_for_byte() {
    // With white space, which a part that was written anew would not have.
    let part =
        format!("{{ \"type\": \"tool\", \"state\": {{ \"output\": [{}\"x\"] }} }}", "\"y\", ".repeat(5000));

    assert_eq!((LargeValues::Linked.shape().0)(part.clone()), part);
    assert_eq!((LargeValues::Linked.shape().0)("not JSON".repeat(5000)), "not JSON".repeat(5000));
}

#[test]
fn a_list_that_is_large_though_nothing_in_it_is_becomes_a_link_to_its_json() {
    let files = json!([{ "patch": long("p") }, vec!["short"; TREE_BYTES_MIN / 5 + 1]]);
    let part = call(&json!({ "status": "completed", "metadata": { "files": files, "count": 2 } }));

    let shown = linked(&part);

    let inside = json!([{ "patch": link_to(&long("p")) }, files[1]]);
    // The list inside is a link of its own, so that the outer one is not large any more.
    let inside = json!([inside[0], link_to(&inside[1].to_string())]);
    assert_eq!(shown["state"]["metadata"], json!({ "files": inside, "count": 2 }));
    let hash = inside[1]["$blob"].as_str().unwrap();
    assert_eq!(value_in(&part.to_string(), hash), Some(LargeValue::Json(files[1].to_string())));
}

#[test]
fn what_a_running_call_shows_and_what_people_say_stay_whole() {
    let running = call(
        &json!({ "status": "running", "input": { "a": long("i") }, "metadata": { "output": long("o") } }),
    );
    let said = json!({ "type": "text", "text": long("t") });

    assert_eq!(
        linked(&running)["state"],
        json!({ "status": "running", "input": { "a": link_to(&long("i")) }, "metadata": { "output": long("o") } })
    );
    assert_eq!(linked(&said), said);
}

#[test]
fn a_value_is_found_only_in_the_part_that_has_it() {
    let part = call(&json!({ "status": "completed", "output": long("o") })).to_string();
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();

    assert_eq!(value_in(&part, &hash(&long("o"))), Some(LargeValue::Text(long("o"))));
    assert_eq!(value_in(&part, &hash("x")), None, "short ones are not asked for");
    assert_eq!(value_in("damaged", &hash(&long("o"))), None);
}

#[test]
fn events_are_linked_as_the_parts_in_them_are() {
    let part = call(&json!({ "status": "completed", "output": long("o") }));
    let event = json!({ "type": "message.part.updated", "properties": { "part": part, "time": 1 } });
    let said = json!({ "type": "message.part.delta", "properties": { "delta": long("t") } });

    let shown = LargeValues::Linked.event(Bytes::from(event.to_string()));

    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(shown["properties"], json!({ "part": linked(&part), "time": 1 }));
    assert_eq!(LargeValues::Linked.event(Bytes::from(said.to_string())), said.to_string());
    assert_eq!(LargeValues::Whole.event(Bytes::from(event.to_string())), event.to_string());
}
