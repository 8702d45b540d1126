//! What is noted of a project.

use sturdy_testkit::{World, answer};

#[tokio::test]
async fn a_project_that_was_set_up_says_since_when() {
    let world = World::new().await;
    let session = world.session().await;
    let initialised = async || {
        let record = world.engine.store().project(&session.project_id).await.unwrap().unwrap();
        serde_json::from_str::<serde_json::Value>(&record).unwrap()["time"]["initialized"].clone()
    };
    assert_eq!(initialised().await, serde_json::Value::Null);

    world.provider.will(answer().text("Written.").finish("stop"));
    let model = ("acme".to_owned(), "main".to_owned());
    let asked = world.engine.init(&session.id, model, None).await.unwrap();
    world.engine.answer(&session.id, &asked).await.unwrap();

    // Noted behind the answer, for whoever is still there.
    while initialised().await.is_null() {
        tokio::task::yield_now().await;
    }
    world.engine.dispose_all();
    world.engine.instance(&world.directory()).await.unwrap();
    assert!(initialised().await.is_u64(), "and it stays");
}
