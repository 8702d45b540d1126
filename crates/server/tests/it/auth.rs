//! Credentials over HTTP.

use crate::world::World;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

fn is_connected(answer: &Value, provider: &str) -> bool {
    answer["connected"].as_array().unwrap().iter().any(|id| id == provider)
}

fn auth_file(world: &World) -> PathBuf {
    world.root.path().join("home/.local/share/opencode/auth.json")
}

#[tokio::test]
async fn a_key_is_kept_privately_used_at_once_and_forgotten() {
    let world = World::new().await;
    assert!(!is_connected(&world.get("/provider").await.json(), "anthropic"));

    let body = json!({ "type": "api", "key": "sk-very-secret" });
    let kept = world.send("PUT", "/auth/anthropic", &body).await;

    assert_eq!(kept.both(), (200, json!(true)));
    let providers = world.get("/provider").await.json();
    assert!(is_connected(&providers, "anthropic"));
    assert!(!providers.to_string().contains("sk-very-secret"));
    let file = auth_file(&world);
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(stored, json!({ "anthropic": body }));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    assert_eq!(world.call("DELETE", "/auth/anthropic").await.both(), (200, json!(true)));
    assert_eq!(world.call("DELETE", "/auth/anthropic").await.both(), (200, json!(true)));
    assert!(!is_connected(&world.get("/provider").await.json(), "anthropic"));
}

#[tokio::test]
async fn a_new_key_does_not_disturb_what_runs_in_a_directory() {
    let world = World::new().await;
    let directory = world.project().display().to_string();
    let before = world.engine.instance(&directory).await.unwrap();

    world.send("PUT", "/auth/anthropic", &json!({ "type": "api", "key": "k" })).await;

    let after = world.engine.instance(&directory).await.unwrap();
    assert!(std::sync::Arc::ptr_eq(&before, &after), "its MCP servers would be started again");
    assert!(before.catalog().provider("anthropic").is_some());
}

#[tokio::test]
async fn what_is_no_credential_is_refused_without_being_repeated() {
    let world = World::new().await;
    for body in [
        json!({ "type": "api", "value": "sk-very-secret" }),
        json!({ "type": "sk-very-secret" }),
        json!({ "key": "sk-very-secret" }),
        json!(["sk-very-secret"]),
    ] {
        let refused = world.send("PUT", "/auth/anthropic", &body).await;
        assert_eq!(refused.status, 400, "{body}");
        assert!(!refused.json().to_string().contains("sk-very-secret"), "{body}");
    }
    assert!(!auth_file(&world).exists());
}

#[tokio::test]
async fn a_damaged_file_is_left_as_it_is() {
    let world = World::new().await;
    let file = auth_file(&world);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{ \"anthropic\": sk-half").unwrap();

    let refused = world.send("PUT", "/auth/openai", &json!({ "type": "api", "key": "k" })).await;

    assert_eq!(refused.status, 400);
    assert!(!refused.json().to_string().contains("sk-half"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ \"anthropic\": sk-half");
}
