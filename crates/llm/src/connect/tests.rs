//! Which limits on silence a provider has.

use super::timeouts;
use crate::http::Timeouts;
use serde_json::json;
use sturdy_session::json::Map;

fn options(value: serde_json::Value) -> Map {
    serde_json::from_value(value).expect("options are an object")
}

#[test]
fn a_silent_provider_is_waited_for_unless_a_limit_is_configured() {
    let none = Timeouts::default();
    assert_eq!(timeouts("ollama", &options(json!({}))), none);
    assert_eq!(timeouts("openai", &options(json!({}))), Timeouts { header_ms: Some(300_000), ..none });
    assert_eq!(timeouts("openai", &options(json!({ "headerTimeout": false }))), none);

    let configured = options(json!({ "timeout": 1, "headerTimeout": 2, "chunkTimeout": 3 }));
    let expected = Timeouts { request_ms: Some(1), header_ms: Some(2), chunk_ms: Some(3) };
    assert_eq!(timeouts("ollama", &configured), expected);
}
