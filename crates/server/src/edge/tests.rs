//! A bug of ours, as a client sees it.

use super::panicked;
use axum::body::to_bytes;
use serde_json::Value;

#[tokio::test]
async fn a_panic_is_told_by_a_reference_and_not_by_its_text() {
    let response = panicked(Box::new("secret things at /home/ada".to_owned()));

    assert_eq!(response.status(), 500);
    let body = to_bytes(response.into_body(), 4096).await.expect("a short body");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(body["name"], "UnknownError");
    assert_eq!(body["data"]["message"], "Unexpected server error. Check server logs for details.");
    let reference = body["data"]["ref"].as_str().expect("a reference");
    assert!(reference.len() == 12 && reference.starts_with("err_"), "{reference}");
    assert!(!body.to_string().contains("ada"));
}
