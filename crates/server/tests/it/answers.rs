//! Answers of a provider that no honest one gives: too long, or with something in them that a terminal would obey.

use crate::protocols::{messages, shown, titled, world};
use crate::protocols_heard::heard;
use serde_json::json;
use sturdy_testkit::{Dialect, answer};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_text_that_never_ends_is_given_up_and_the_next_prompt_is_answered() {
    let (world, provider) = world(Dialect::Chat).await;
    let piece = "x".repeat(MIB);
    let endless = (0..6).fold(answer(), |answer, _| answer.text(&piece));
    provider.will(endless.finish("stop"));
    provider.will(answer().text("Short.").finish("stop"));
    let session = titled(&world).await;

    let first = world.ask(&session, "tell me everything").await;
    let second = world.ask(&session, "shorter").await;

    let error = json!({ "name": "APIError", "data": {
        "message": "A part of the answer is larger than 4194304 bytes", "isRetryable": false } });
    assert_eq!(first["info"]["error"], error);
    let kept: usize = shown(&first).iter().map(|line| line.len() - "text ".len()).sum();
    assert_eq!(kept, 4 * MIB, "what came before the limit is kept");
    assert_eq!(shown(&second), ["text Short."]);
    assert_eq!(provider.requests().len(), 2, "it is not asked for again");
}

#[tokio::test]
async fn a_thought_that_never_ends_is_given_up_in_every_protocol() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        let piece = "x".repeat(3 * MIB);
        provider.will(answer().reasoning(&piece).reasoning(&piece).text("Yes.").finish("stop"));
        let session = titled(&world).await;

        let last = world.ask(&session, "think").await;

        let message = "A part of the answer is larger than 4194304 bytes";
        assert_eq!(last["info"]["error"]["data"]["message"], message, "{dialect:?}");
        assert_eq!(provider.requests().len(), 1, "{dialect:?}");
    }
}

#[tokio::test]
async fn of_arguments_that_are_too_long_the_model_is_told_and_the_turn_goes_on() {
    for dialect in Dialect::ALL {
        let (world, provider) = world(dialect).await;
        let path = world.project().join("large.txt");
        let large = json!({ "filePath": path, "content": "x".repeat(MIB) }).to_string();
        provider.will(answer().call(0, "call_a", "write", &large).finish("tool_calls"));
        provider.will(answer().text("In pieces, then.").finish("stop"));
        let session = titled(&world).await;

        let last = world.ask(&session, "write it").await;

        assert_eq!(shown(&last), ["text In pieces, then."], "{dialect:?}");
        assert!(!path.exists(), "{dialect:?}: it is not run");
        let told = heard(dialect, &provider.requests()[1]);
        let is_told =
            |line: &String| line.starts_with("result ") && line.contains("larger than 1048576 bytes");
        assert!(told.iter().any(is_told), "{dialect:?}: {told:?}");
    }
}

#[tokio::test]
async fn arguments_of_just_a_mebibyte_are_run() {
    let (world, provider) = world(Dialect::Chat).await;
    let path = world.project().join("large.txt");
    let rest = json!({ "filePath": path, "content": "" }).to_string().len();
    let content = "x".repeat(MIB - rest);
    let large = json!({ "filePath": path, "content": content }).to_string();
    provider.will(answer().call(0, "call_a", "write", &large).finish("tool_calls"));
    provider.will(answer().text("Done.").finish("stop"));
    let session = titled(&world).await;

    world.ask(&session, "write it").await;

    assert_eq!(large.len(), MIB);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
}

#[tokio::test]
async fn an_error_of_a_provider_has_nothing_a_terminal_would_obey() {
    let (world, provider) = world(Dialect::Chat).await;
    let wild = "no\u{1b}]0;owned\u{7}, really\u{9b}31m\nnot";
    provider.will(sturdy_testkit::script::Answer::error(400, wild).header("x-why", "a\u{80}b"));
    provider.will(
        answer().text("Half").send(json!({ "error": { "message": wild, "type": "invalid_request_error" } })),
    );
    let session = titled(&world).await;

    world.ask(&session, "one").await;
    world.ask(&session, "two").await;

    let errors: Vec<_> =
        messages(&world, &session).await.iter().map(|one| one["info"]["error"].clone()).collect();
    let told: Vec<_> = errors.iter().filter_map(|error| error["data"]["message"].as_str()).collect();
    assert_eq!(told, ["no]0;owned, really31m\nnot"; 2]);
    let is_bad = |letter: char| letter.is_control() && letter != '\n';
    for error in &errors {
        for text in error["data"]["responseBody"].as_str().into_iter() {
            assert!(!text.contains(is_bad), "{text:?}");
        }
        for (name, value) in error["data"]["responseHeaders"].as_object().into_iter().flatten() {
            assert!(!value.as_str().unwrap().contains(is_bad), "{name}: {value:?}");
        }
    }
}
