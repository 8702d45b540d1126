//! JSON that nests very deep: not let in, and read if it is there already.

use crate::turns::texts;
use serde_json::{Value, json};
use sturdy_session::oracle;
use sturdy_session::types::part::PartBody;
use sturdy_testkit::{World, answer};

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("x"), |inner, _| json!([inner]))
}

#[tokio::test]
async fn arguments_that_nest_too_deep_are_refused_and_the_model_is_told() {
    let world = World::new().await;
    let session = world.session().await;
    // Was: stored with 125 to 127 levels, and never readable again inside its row.
    for (levels, is_refused) in [(63, false), (64, true), (120, true), (126, true)] {
        let arguments = json!({ "pattern": "*.x", "more": nested(levels) }).to_string();
        world.provider.will(answer().call(0, &format!("c{levels}"), "glob", &arguments).finish("tool_calls"));
        world.provider.will(answer().text("Well.").finish("stop"));

        let reply = world.ask(&session.id, "go").await.unwrap();

        assert_eq!(texts(&reply), ["Well."]);
        let request = world.provider.requests().pop().unwrap().to_string();
        assert_eq!(request.contains("nest deeper than 64 levels"), is_refused, "{levels} levels");
        let calls = world.messages(&session.id).await.into_iter().flat_map(|message| message.parts);
        let named = |part: PartBody| match part {
            PartBody::Tool(call) => Some(call.tool),
            _ => None,
        };
        let last = calls.filter_map(|part| named(part.body)).last();
        assert_eq!(last.as_deref(), Some(if is_refused { "invalid" } else { "glob" }));
    }
    oracle::check(&world.log(&session.id).await).unwrap();
}

#[tokio::test]
async fn a_row_that_is_deeper_than_parsers_allow_is_read() {
    let world = World::new().await;
    let session = world.session().await;
    world.provider.will(answer().text("One.").finish("stop"));
    world.ask(&session.id, "first").await.unwrap();
    // As an older version wrote it.
    let deep = json!({ "deep": nested(126) });
    let put = format!(r#"replace(data, '"type":"text"', '"type":"text","metadata":{deep}')"#);
    let world = world.reopen_damaged(&format!("UPDATE part SET data = {put}")).await;

    world.provider.will(answer().text("Two.").finish("stop"));
    let reply = world.ask(&session.id, "second").await.unwrap();

    assert_eq!(texts(&reply), ["Two."]);
    let request = world.provider.requests().pop().unwrap();
    assert!(request.to_string().contains("One."), "the conversation is read whole: {request}");
    let first = &world.messages(&session.id).await[0].parts[0];
    let PartBody::Text(text) = &first.body else { panic!("not a text") };
    assert_eq!(json!(text.metadata), deep);
}
