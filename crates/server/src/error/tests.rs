//! Errors that are hard to bring about from outside.

use super::ApiError;
use axum::body::to_bytes;
use axum::response::IntoResponse as _;
use http::header::RETRY_AFTER;
use serde_json::Value;
use sturdy_engine::EngineError;
use sturdy_engine::reads::{CommitError, ReadError};
use sturdy_session::id::SessionId;
use sturdy_session::turn::Refusal;

fn session() -> SessionId {
    SessionId::parse("ses_a").expect("an id")
}

async fn told(error: ApiError) -> (u16, bool, Value) {
    let response = error.into_response();
    let status = response.status().as_u16();
    let comes_back = response.headers().contains_key(RETRY_AFTER);
    let body = to_bytes(response.into_body(), 4096).await.expect("a short body");
    (status, comes_back, serde_json::from_slice(&body).expect("JSON"))
}

#[tokio::test]
async fn temporary_errors_have_a_retry_after_header() {
    for error in
        [EngineError::Overloaded(session()), EngineError::Closing, EngineError::Commit(CommitError::Crashed)]
    {
        let (status, comes_back, body) = told(error.into()).await;
        assert_eq!((status, comes_back), (503, true), "{body}");
        assert!(body["data"]["message"].is_string());
    }
}

#[tokio::test]
async fn damage_names_its_place_and_what_to_do() {
    let broken = ReadError::Broken { what: "internal words".to_owned(), place: "message msg_1".to_owned() };

    let (status, _, body) = told(broken.into()).await;

    assert_eq!((status, &body["name"]), (500, &Value::from("StoreDamagedError")));
    let message = body["data"]["message"].as_str().expect("a message");
    assert!(message.contains("message msg_1") && message.contains("sturdy verify"), "{message}");
    assert!(!message.contains("internal words"));
}

#[tokio::test]
async fn a_busy_session_is_named() {
    let source = EngineError::Refused(Refusal::Busy);

    let (status, _, body) = told(ApiError::Session { session: session(), source }).await;

    let wanted = serde_json::json!({ "_tag": "SessionBusyError", "sessionID": "ses_a", "message": "Session is busy: ses_a" });
    assert_eq!((status, body), (409, wanted));
}

#[tokio::test]
async fn a_conflict_of_writers_is_unforeseen() {
    let conflict = CommitError::Conflict { session: session(), expected: 1, found: 2 };
    let (status, _, body) = told(conflict.into()).await;
    assert_eq!((status, &body["name"]), (500, &Value::from("UnknownError")));
}

#[tokio::test]
async fn a_long_complaint_is_cut() {
    let (_, _, body) = told(ApiError::schema(super::Kind::Payload, "x".repeat(5000))).await;
    assert_eq!(body["data"]["message"].as_str().map(str::len), Some(1024));
}
