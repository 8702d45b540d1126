//! Directories whose files do not answer, as on a network mount that is gone.

use crate::tools::permission;
use futures_util::future::join_all;
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;
use sturdy_engine::files::HangPlan;
use sturdy_engine::{CommandRequest, Engine, EngineError, Environment};
use sturdy_session::types::ask::{PermissionReply, PermissionRequest};
use sturdy_store::CrashPlan;
use sturdy_testkit::script::Gate;
use sturdy_testkit::world::{options, scripted};
use sturdy_testkit::{Seen, World, answer};

const PER_DIRECTORY_MAX: usize = 4;

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

/// Waits until the work has come to files that hang. Work that ends before did not look at them where it may hang.
async fn until_it_hangs<T: Debug>(hang: &HangPlan, work: &mut (impl Future<Output = T> + Unpin)) {
    tokio::select! {
        done = work => panic!("it ended without a thread that may hang: {done:?}"),
        () = until(|| hang.threads() == 1) => {}
    }
}

/// A request that is not stored and waits for a person.
async fn request(world: &World) -> PermissionRequest {
    loop {
        match world.engine.unstored_requests(None).pop() {
            Some(request) => return request,
            None => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn a_directory_that_hangs_holds_a_few_threads_and_nobody_else_waits() {
    let gone = "/mnt/gone";
    let hang = HangPlan::of(Path::new(gone));
    let plan = hang.clone();
    let world = World::with(|options| options.hang = plan).await;
    let looks = join_all((0..40).map(|number| {
        let engine = world.engine.clone();
        async move { engine.look_at_files(gone, move || number).await }
    }));
    let made = world.engine.instance(gone);
    let asked = async {
        // The others are served meanwhile, whole turns included.
        until(|| hang.threads() == PER_DIRECTORY_MAX).await;
        let session = world.session().await;
        world.provider.will(answer().text("Here.").finish("stop"));
        world.ask(&session.id, "there?").await.unwrap();
        assert_eq!(hang.threads(), PER_DIRECTORY_MAX, "no more, however many ask");
        hang.let_go();
    };

    let (looked, made, ()) = tokio::join!(looks, made, asked);

    let found: Vec<usize> = looked.into_iter().map(Result::unwrap).collect();
    assert_eq!(found, (0..40).collect::<Vec<_>>());
    assert_eq!(made.unwrap().directory, gone);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_directory_that_hangs_is_told() {
    let gone = "/mnt/gone";
    let hang = HangPlan::of(Path::new(gone));
    let plan = hang.clone();
    let world = World::with(|options| options.hang = plan).await;
    let look = world.engine.look_at_files(gone, || ());
    let wait = async {
        until(|| hang.threads() == 1).await;
        tokio::time::advance(Duration::from_secs(21)).await;
    };

    let (looked, ()) = tokio::join!(look, wait);

    assert!(matches!(looked, Err(EngineError::Hangs(ref directory)) if directory == gone), "{looked:?}");
    assert_eq!(hang.threads(), 1, "the thread cannot be taken back");
    // Was: the end of the process waited for such threads.
    world.engine.close().await;
    hang.let_go();
}

#[tokio::test]
async fn a_call_in_a_directory_that_hangs_holds_a_thread_of_files_and_goes_on_when_it_answers() {
    let mut hang = HangPlan::default();
    let world = World::with(|options| {
        hang = HangPlan::later(&options.directory);
        options.hang = hang.clone();
    })
    .await;
    let session = world.session().await;
    let gate = Gate::new();
    let mut seen = Seen::from_now(world.engine.feed());
    let looks = answer().text("Looking.").gate(&gate).call(0, "c1", "glob", r#"{"pattern":"*"}"#);
    world.provider.will(looks.finish("tool_calls"));
    world.provider.will(answer().text("Seen.").finish("stop"));
    world.prompt(&session.id, "what is here?").await.unwrap();
    seen.until(|record| record.texts.values().any(|text| text == "Looking.")).await;
    hang.begin();
    gate.open();

    // Was: the links of the directory were followed by one of the two workers that serve everybody.
    until(|| hang.threads() == 1).await;
    assert!(world.engine.session_record(&session.id).await.is_ok(), "others are served meanwhile");
    hang.let_go();
    world.engine.session(&session.id).await.unwrap().idle().await;

    let messages = world.messages(&session.id).await;
    let last = messages.last().unwrap();
    assert_eq!(crate::turns::texts(last), ["Seen."]);
}

#[tokio::test]
async fn a_directory_that_hangs_is_looked_at_for_trust_where_nobody_else_waits() {
    let plain = tempfile::tempdir().unwrap();
    let hang = HangPlan::of(plain.path());
    let plan = hang.clone();
    let world = World::with(|options| options.hang = plan).await;
    let directory = plain.path().to_string_lossy().into_owned();
    let mut trusting = Box::pin(world.engine.trust(&directory));

    // Was: its settings were read by one of the two workers that serve everybody.
    until_it_hangs(&hang, &mut trusting).await;
    assert!(world.try_session().await.is_ok(), "others are served meanwhile");
    hang.let_go();

    assert_eq!(trusting.await.unwrap().dangers.len(), 0);
}

#[tokio::test]
async fn an_answer_about_trust_is_written_down_where_nobody_else_waits() {
    let mut hang = HangPlan::default();
    let world = World::with(|options| {
        hang = HangPlan::later(&options.data_dir);
        options.hang = hang.clone();
        let home = options.data_dir.with_file_name("home").to_string_lossy().into_owned();
        options.environment = Environment::new(HashMap::from([("HOME".to_owned(), home)]));
    })
    .await;
    let mut config = scripted(&world.provider.url());
    config["mcp"] = json!({ "off": { "type": "local", "command": ["true"], "enabled": false } });
    world.disk.configure(&config);
    let session = world.session().await;
    world.prompt(&session.id, "hello").await.unwrap();
    let request = request(&world).await;
    assert_eq!(request.permission, "trust");
    hang.begin();
    let always = permission(PermissionReply::Always, None);
    let mut answering = Box::pin(world.engine.answer_ask(request.id.as_str(), always));

    until_it_hangs(&hang, &mut answering).await;
    assert!(world.engine.session_record(&session.id).await.is_ok(), "others are served meanwhile");
    assert!(!world.disk.data().join("trust.json").exists());
    hang.let_go();
    answering.await.unwrap();

    assert!(world.disk.data().join("trust.json").exists());
}

#[tokio::test]
async fn a_change_of_settings_in_a_directory_that_hangs_holds_up_no_other_change() {
    let mut hang = HangPlan::default();
    let world = World::with(|options| {
        hang = HangPlan::later(&options.directory);
        options.hang = hang.clone();
    })
    .await;
    let other = tempfile::tempdir().unwrap();
    let patch = || json!({ "username": "ada" }).as_object().cloned().unwrap();
    hang.begin();
    let directory = world.directory();
    let mut changing = Box::pin(world.engine.change_settings(&directory, patch()));

    until_it_hangs(&hang, &mut changing).await;
    world.engine.change_settings(&other.path().to_string_lossy(), patch()).await.unwrap();
    assert!(other.path().join("opencode.json").exists() || other.path().join("config.json").exists());
    hang.let_go();

    changing.await.unwrap();
}

#[tokio::test]
async fn a_snippet_of_a_template_is_started_where_nobody_else_waits() {
    let mut hang = HangPlan::default();
    let world = World::with(|options| {
        hang = HangPlan::later(&options.directory);
        options.hang = hang.clone();
    })
    .await;
    let mut config = scripted(&world.provider.url());
    config["permission"] = json!({ "bash": "ask" });
    config["command"] = json!({ "look": { "template": "See !`touch marker`" } });
    world.disk.configure(&config);
    let session = world.session().await;
    world.provider.will(answer().text("Seen.").finish("stop"));
    let look = CommandRequest { command: "look".to_owned(), ..CommandRequest::default() };
    let mut running = Box::pin(world.engine.command(&session.id, look));
    let asked = tokio::select! {
        done = &mut running => panic!("{done:?}"),
        asked = request(&world) => asked,
    };

    hang.begin();
    world.engine.answer_ask(asked.id.as_str(), permission(PermissionReply::Once, None)).await.unwrap();
    until_it_hangs(&hang, &mut running).await;
    // Was: it was started by one of the two workers that serve everybody, which entered the directory for it.
    let is_started = world.disk.project().join("marker").exists();
    hang.let_go();
    running.await.unwrap();

    assert!(!is_started);
    assert!(world.disk.project().join("marker").exists());
}

// Was: a start waited for the files of every session in which something was cut off, one after the other.
#[tokio::test]
async fn a_start_does_not_wait_for_files_that_hang_and_settles_them_when_they_answer() {
    let world = World::new().await;
    let session = world.session().await.id;
    world.engine.close().await;
    let disk = &world.disk;
    let note = disk.data().join(format!("trees/pending/{session}.json"));
    std::fs::create_dir_all(note.parent().unwrap()).unwrap();
    std::fs::write(&note, json!({ "session": session, "wanted": null }).to_string()).unwrap();

    let mut options = options(disk, CrashPlan::Never);
    let hang = HangPlan::of(&options.directory);
    options.hang = hang.clone();
    let opened = tokio::time::timeout(Duration::from_secs(120), Engine::open(options)).await;
    let engine = opened.expect("it does not wait for the files").unwrap();

    until(|| hang.threads() == 1).await;
    assert!(note.exists());
    assert!(engine.store().session(&session).await.unwrap().is_some(), "others are served");
    hang.let_go();
    until(|| !note.exists()).await;
    engine.close().await;
}
