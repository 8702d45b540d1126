//! What people allow for good: kept with the answer, for the project, and never above a rule that forbids.

use crate::tools::{asked, call_of, check, permission, runs, world_with};
use serde_json::{Value, json};
use std::path::Path;
use sturdy_engine::NewSession;
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::types::ask::PermissionReply;
use sturdy_session::types::session::Session;
use sturdy_session::types::tool::ToolState;
use sturdy_store::CrashPlan;
use sturdy_testkit::world::{Disk, scripted};
use sturdy_testkit::{Provider, Seen, World, answer};

/// The permissions and patterns that are kept.
async fn kept(world: &World) -> Vec<(String, String)> {
    let kept = world.engine.store().approvals(None).await.unwrap();
    kept.into_iter().map(|row| (row.permission, row.pattern)).collect()
}

fn echo() -> Vec<(String, String)> {
    vec![("bash".to_owned(), "echo *".to_owned())]
}

async fn asks_in(world: &World, session: &SessionId) -> usize {
    world.log(session).await.iter().filter(|fact| matches!(fact, Fact::PermissionAsked { .. })).count()
}

/// A turn that runs one command and says a word.
async fn turn(world: &World, session: &SessionId, command: &str) {
    world.provider.will(runs(command));
    world.provider.will(answer().text("Fine.").finish("stop"));
    world.ask(session, "go").await.unwrap();
}

/// A turn whose command a person allows for good.
pub(crate) async fn allow_always(world: &World, session: &SessionId, command: &str) {
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs(command));
    world.provider.will(answer().text("Fine.").finish("stop"));
    let prompted = world.prompt(session, "go").await.unwrap();
    let request = asked(&mut seen).await;
    world.engine.answer_ask(request.id.as_str(), permission(PermissionReply::Always, None)).await.unwrap();
    world.engine.answer(session, &prompted).await.unwrap();
}

/// Reopens a world with the `permission` setting it had.
async fn restarted(world: World) -> World {
    let config = std::fs::read_to_string(world.disk.project().join("opencode.json")).unwrap();
    let world = world.reopen().await;
    reconfigure(&world, &serde_json::from_str(&config).unwrap());
    world
}

fn reconfigure(world: &World, config: &Value) {
    world.disk.configure(config);
    world.engine.dispose_all();
}

pub(crate) async fn session_in(world: &World, directory: &Path) -> Session {
    let instance = world.engine.instance(&directory.to_string_lossy()).await.unwrap();
    let new = NewSession { title: Some("Elsewhere".to_owned()), ..NewSession::default() };
    world.engine.create_session(&instance, new).await.unwrap()
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) {
    let done = std::process::Command::new("git").current_dir(directory).args(arguments).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

pub(crate) fn make_repository(directory: &Path) {
    git(directory, &["init", "--quiet"]);
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    git(directory, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat());
}

#[tokio::test]
async fn always_survives_a_restart_and_the_end_of_its_session() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let first = world.session().await;
    allow_always(&world, &first.id, "echo one").await;
    world.engine.remove_session(&first.id).await.unwrap();

    let world = restarted(world).await;
    let second = world.session().await;
    turn(&world, &second.id, "echo two").await;

    assert_eq!(kept(&world).await, echo());
    assert_eq!(asks_in(&world, &second.id).await, 0);
    assert!(matches!(call_of(&world.messages(&second.id).await).state, ToolState::Completed { .. }));
    check(&world, &second.id).await;
}

#[tokio::test]
async fn always_does_not_override_a_rule_that_forbids() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let session = world.session().await;
    allow_always(&world, &session.id, "echo one").await;
    let mut config = scripted(&world.provider.url());
    config["permission"] = json!({ "bash": { "*": "ask", "echo *": "deny" } });
    reconfigure(&world, &config);

    let session = world.session().await;
    turn(&world, &session.id, "echo two").await;

    let messages = world.messages(&session.id).await;
    let ToolState::Error { error, .. } = &call_of(&messages).state else { panic!("not an error") };
    assert!(error.contains("specified a rule"), "{error}");
    assert_eq!(asks_in(&world, &session.id).await, 0);
}

#[tokio::test]
async fn a_removed_approval_is_asked_about_again() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let session = world.session().await;
    allow_always(&world, &session.id, "echo one").await;
    let id = world.engine.store().approvals(None).await.unwrap()[0].id.clone();

    assert!(world.engine.store().remove_approval(&id).await.unwrap());
    assert!(!world.engine.store().remove_approval(&id).await.unwrap());
    allow_always(&world, &session.id, "echo two").await;

    assert_eq!(asks_in(&world, &session.id).await, 2);
    assert_eq!(kept(&world).await, echo());
}

#[tokio::test]
async fn a_repository_shares_what_is_allowed_and_another_directory_does_not() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let top = world.disk.project();
    let below = world.disk.project().join("below");
    let other = tempfile::tempdir().unwrap();
    std::fs::create_dir(&below).unwrap();
    make_repository(&top);
    world.engine.dispose_all();
    std::fs::copy(top.join("opencode.json"), other.path().join("opencode.json")).unwrap();
    let session = session_in(&world, &top).await;
    allow_always(&world, &session.id, "echo one").await;

    let near = session_in(&world, &below).await;
    turn(&world, &near.id, "echo near").await;
    let far = session_in(&world, other.path()).await;
    allow_always(&world, &far.id, "echo far").await;

    assert_eq!(asks_in(&world, &near.id).await, 0);
    assert_eq!(asks_in(&world, &far.id).await, 1);
}

// Was: an approval belonged to the id of the project, which anybody can put into a repository of theirs.
#[tokio::test]
async fn a_copy_of_a_repository_has_none_of_its_approvals() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let top = world.disk.project();
    make_repository(&top);
    world.engine.dispose_all();
    let session = session_in(&world, &top).await;
    allow_always(&world, &session.id, "echo one").await;
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let done = std::process::Command::new("cp").arg("-R").args([&top, &copy]).status().unwrap();
    assert!(done.success());

    let copied = session_in(&world, &copy).await;
    assert_eq!(copied.project_id, session.project_id, "it says that it is the same project");
    allow_always(&world, &copied.id, "echo two").await;

    assert_eq!(asks_in(&world, &copied.id).await, 1);
}

// Was: an approval belonged to the path as it was written, and a link can be made to lead elsewhere.
#[tokio::test]
async fn an_approval_belongs_to_the_real_path_and_not_to_a_link_that_led_there() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let top = world.disk.project();
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("link");
    let other = place.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::copy(top.join("opencode.json"), other.join("opencode.json")).unwrap();
    std::os::unix::fs::symlink(&top, &link).unwrap();

    let linked = session_in(&world, &link).await;
    allow_always(&world, &linked.id, "echo one").await;
    let real = session_in(&world, &top).await;
    turn(&world, &real.id, "echo two").await;
    assert_eq!(asks_in(&world, &real.id).await, 0, "it is the same checkout");

    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    world.engine.dispose_all();
    allow_always(&world, &linked.id, "echo three").await;
    assert_eq!(asks_in(&world, &linked.id).await, 2, "the link leads elsewhere now");
}

#[tokio::test]
async fn a_directory_that_becomes_a_repository_and_gets_a_remote_keeps_its_approvals() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let top = world.disk.project();
    let session = session_in(&world, &top).await;
    allow_always(&world, &session.id, "echo one").await;
    let mut projects = vec![session.project_id];

    for change in ["commit", "remote"] {
        match change {
            "commit" => make_repository(&top),
            _ => git(&top, &["remote", "add", "origin", "https://example.org/a/b.git"]),
        }
        world.engine.dispose_all();
        let later = session_in(&world, &top).await;
        turn(&world, &later.id, "echo two").await;
        assert_eq!(asks_in(&world, &later.id).await, 0, "{change}");
        projects.push(later.project_id);
    }

    projects.dedup();
    assert_eq!(projects.len(), 3, "each time it was another project: {projects:?}");
}

#[tokio::test]
async fn a_directory_that_becomes_a_repository_and_gets_a_remote_keeps_its_sessions() {
    let world = World::new().await;
    let top = world.disk.project();
    let below = top.join("below");
    std::fs::create_dir(&below).unwrap();
    let first = session_in(&world, &top).await;
    assert_eq!(first.project_id, "global");
    let belongs = async |session: &Session| -> Session {
        serde_json::from_str(&world.engine.session_record(&session.id).await.unwrap()).unwrap()
    };

    make_repository(&top);
    world.engine.dispose_all();
    let second = session_in(&world, &top).await;
    let deeper = session_in(&world, &below).await;
    let moved = belongs(&first).await;
    assert_eq!((&moved.project_id, moved.path.as_deref()), (&second.project_id, Some("")));
    assert_eq!(moved.time.updated, first.time.updated, "nobody has worked on it");

    git(&top, &["remote", "add", "origin", "https://example.org/a/b.git"]);
    world.engine.dispose_all();
    let third = session_in(&world, &top).await;
    assert_ne!(third.project_id, second.project_id);
    for session in [&first, &second, &deeper] {
        assert_eq!(belongs(session).await.project_id, third.project_id);
    }
    assert_eq!(belongs(&deeper).await.path.as_deref(), Some("below"));
}

#[tokio::test]
async fn a_repository_that_is_moved_takes_its_sessions_and_approvals_along() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let place = tempfile::tempdir().unwrap();
    let here = place.path().canonicalize().unwrap().join("here");
    let there = place.path().canonicalize().unwrap().join("there");
    std::fs::create_dir_all(here.join("below")).unwrap();
    std::fs::copy(world.disk.project().join("opencode.json"), here.join("opencode.json")).unwrap();
    make_repository(&here);
    let session = session_in(&world, &here).await;
    let deeper = session_in(&world, &here.join("below")).await;
    allow_always(&world, &session.id, "echo one").await;

    std::fs::rename(&here, &there).unwrap();
    world.engine.dispose_all();
    let later = session_in(&world, &there).await;

    for (old, directory, path) in [(&session, there.clone(), ""), (&deeper, there.join("below"), "below")] {
        let record: Session =
            serde_json::from_str(&world.engine.session_record(&old.id).await.unwrap()).unwrap();
        assert_eq!(record.directory, directory.to_string_lossy());
        assert_eq!((&record.project_id, record.path.as_deref()), (&later.project_id, Some(path)));
    }
    let asked_before = asks_in(&world, &session.id).await;
    for id in [&later.id, &session.id] {
        turn(&world, id, "echo two").await;
    }
    assert_eq!((asks_in(&world, &later.id).await, asks_in(&world, &session.id).await), (0, asked_before));
    let kept = world.engine.store().approvals(None).await.unwrap();
    let places: Vec<&str> = kept.iter().map(|row| row.directory.as_str()).collect();
    assert_eq!(places, [there.to_str().unwrap()], "and nothing is allowed any more where it was");
    let project = world.engine.store().project(&later.project_id).await.unwrap().unwrap();
    let project: Value = serde_json::from_str(&project).unwrap();
    assert_eq!(project["worktree"], there.to_str().unwrap());
    assert_eq!(crate::verify::findings(&world).await, [""; 0]);
}

#[tokio::test]
async fn a_copy_of_a_repository_takes_no_sessions_of_it_and_neither_does_a_clone_when_it_is_gone() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let place = tempfile::tempdir().unwrap();
    let here = place.path().canonicalize().unwrap().join("here");
    let copy = place.path().canonicalize().unwrap().join("copy");
    std::fs::create_dir(&here).unwrap();
    std::fs::copy(world.disk.project().join("opencode.json"), here.join("opencode.json")).unwrap();
    make_repository(&here);
    let session = session_in(&world, &here).await;
    allow_always(&world, &session.id, "echo one").await;
    let copied = std::process::Command::new("cp").arg("-R").args([&here, &copy]).status().unwrap();
    assert!(copied.success());

    for change in ["copied", "and the first is gone"] {
        if change != "copied" {
            std::fs::remove_dir_all(&here).unwrap();
        }
        world.engine.dispose_all();
        let other = session_in(&world, &copy).await;

        assert_eq!(other.project_id, session.project_id, "it says that it is the same project");
        let record: Session =
            serde_json::from_str(&world.engine.session_record(&session.id).await.unwrap()).unwrap();
        assert_eq!(record.directory, session.directory, "{change}");
        allow_always(&world, &other.id, "echo two").await;
        assert_eq!(asks_in(&world, &other.id).await, 1, "{change}: it is asked about");
        for row in world.engine.store().approvals_at(copy.to_str().unwrap()).await.unwrap() {
            world.engine.remove_approval(&row.id).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_repository_that_claims_to_have_been_another_project_moves_no_sessions_of_it() {
    let world = World::new().await;
    let mine = world.disk.project();
    make_repository(&mine);
    let session = session_in(&world, &mine).await;
    let other = tempfile::tempdir().unwrap();
    make_repository(other.path());
    std::fs::write(other.path().join(".git/opencode"), &session.project_id).unwrap();
    git(other.path(), &["remote", "add", "origin", "https://example.org/c/d.git"]);

    let strange = session_in(&world, other.path()).await;

    assert_ne!(strange.project_id, session.project_id);
    let record: Session =
        serde_json::from_str(&world.engine.session_record(&session.id).await.unwrap()).unwrap();
    assert_eq!(record.project_id, session.project_id);
}

#[tokio::test]
async fn outside_a_repository_each_directory_has_its_own() {
    let world = world_with(json!({ "bash": "ask" })).await;
    let other = tempfile::tempdir().unwrap();
    std::fs::copy(world.disk.project().join("opencode.json"), other.path().join("opencode.json")).unwrap();
    let session = world.session().await;
    allow_always(&world, &session.id, "echo one").await;

    let far = session_in(&world, other.path()).await;
    allow_always(&world, &far.id, "echo far").await;

    assert_eq!(asks_in(&world, &far.id).await, 1);
    let rows = world.engine.store().approvals(None).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.project_id.as_str()).collect::<Vec<_>>(), ["global", "global"]);
}

/// Durable, then visible, then acted on: whoever finds the answer in the log finds what it allows beside
/// it, and a command that ran was allowed by an answer that is in the log.
#[tokio::test]
async fn a_crash_keeps_the_answer_and_what_it_allows_together() {
    let mut answered = 0;
    let mut unanswered = 0;
    for n in 1.. {
        let mut crashes = 0;
        for plan in [CrashPlan::BeforeCommit(n), CrashPlan::AfterCommit(n)] {
            let provider = Provider::start().await;
            let world = World::open(Disk::new(), provider, plan).await;
            let mut config = scripted(&world.provider.url());
            config["permission"] = json!({ "bash": "ask" });
            reconfigure(&world, &config);
            let session = until_it_dies(&world).await;
            if !world.engine.store().was_crashed() {
                continue;
            }
            crashes += 1;
            let marker = world.disk.project().join("marker");
            let world = restarted(world).await;
            let Some(session) = session else { continue };
            let log = world.log(&session).await;
            let said = log
                .iter()
                .any(|fact| matches!(fact, Fact::PermissionReplied { reply: PermissionReply::Always, .. }));
            // It writes to a file, so it is allowed as it is written.
            let shown = || vec![("bash".to_owned(), "echo once >> marker".to_owned())];
            let expected = if said { shown() } else { Vec::new() };
            assert_eq!(kept(&world).await, expected, "{plan:?}");
            assert!(said || !marker.exists(), "{plan:?}: it ran before the answer was kept");
            if said { answered += 1 } else { unanswered += 1 }
        }
        // The turn has fewer commits than that.
        if crashes == 0 {
            break;
        }
    }
    assert!(answered >= 4 && unanswered >= 4, "{answered} with the answer, {unanswered} without");
}

/// One turn with an answer "always"; ends when the turn does, or with the process.
async fn until_it_dies(world: &World) -> Option<SessionId> {
    let mut seen = Seen::from_now(world.engine.feed());
    world.provider.will(runs("echo once >> marker"));
    world.provider.will(answer().text("Fine.").finish("stop"));
    let session = world.try_session().await.ok()?.id;
    let Ok(prompted) = world.prompt(&session, "go").await else { return Some(session) };
    let turn = async {
        let request = asked(&mut seen).await;
        let always = permission(PermissionReply::Always, None);
        if world.engine.answer_ask(request.id.as_str(), always).await.is_ok() {
            let _ = world.engine.answer(&session, &prompted).await;
        }
    };
    let died = async {
        while !world.engine.store().was_crashed() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = turn => {}
        () = died => {}
    }
    Some(session)
}
