//! Formatters, from the configuration to the file.

use crate::world::World;
use serde_json::{Value, json};

fn configure(world: &World, formatter: &Value) {
    let config = json!({ "formatter": formatter }).to_string();
    std::fs::write(world.project().join("opencode.json"), config).unwrap();
}

fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list.as_array().unwrap().iter().find(|one| one["name"] == name)
}

#[tokio::test]
async fn nothing_is_formatted_unless_the_configuration_says_so() {
    for setting in [json!(null), json!(false)] {
        let world = World::new().await;
        if !setting.is_null() {
            configure(&world, &setting);
        }
        assert_eq!(world.get("/formatter").await.both(), (200, json!([])));
    }
}

#[tokio::test]
async fn known_formatters_are_listed_and_can_be_taken_out() {
    let world = World::new().await;
    configure(&world, &json!({ "prettier": { "disabled": true }, "empty": { "extensions": [".x"] } }));

    let list = world.get("/formatter").await.json();

    let biome = json!({ "name": "biome", "extensions": named(&list, "biome").unwrap()["extensions"], "enabled": false });
    assert_eq!(named(&list, "biome"), Some(&biome));
    assert_eq!((named(&list, "prettier"), named(&list, "empty")), (None, None));
}

#[tokio::test]
async fn what_a_model_writes_is_formatted_without_the_servers_keys() {
    let world = World::new().await;
    let script = r#"tr a-z A-Z < "$0" > "$0.new" && mv "$0.new" "$0" && env > seen.txt"#;
    let upper = json!({ "command": ["sh", "-c", script, "$FILE"], "extensions": ["up"], "environment": { "LEVEL": "9" } });
    configure(&world, &json!({ "upper": upper }));
    let session = world.session().await;

    world.ask(&session, r#"/demo tool write {"filePath":"a.up","content":"text"}"#).await;

    let shown = world.get("/formatter").await.json();
    assert_eq!(
        named(&shown, "upper"),
        Some(&json!({ "name": "upper", "extensions": [".up"], "enabled": true }))
    );
    assert_eq!(std::fs::read_to_string(world.project().join("a.up")).unwrap(), "TEXT");
    let seen = std::fs::read_to_string(world.project().join("seen.txt")).unwrap();
    assert!(seen.contains("LEVEL=9") && !seen.contains("STURDY_DEMO"), "{seen}");
}
