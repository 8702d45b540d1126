//! What a command leaves running: kept on request, watched, ended.

use std::path::{Path, PathBuf};
use std::time::Duration;
use sturdy_worktree::process::{Command, Inherited, Leftover, Owner, Running, Watched};
use tokio_util::sync::CancellationToken;

fn sh(script: &str, dir: &Path) -> Running {
    let command = Command {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".into(), script.into()],
        directory: dir.to_owned(),
        inherited: Inherited::default(),
        variables: Vec::new(),
        timeout: Duration::from_secs(60),
    };
    command.start(CancellationToken::new()).unwrap()
}

/// Runs a script to its end; what it printed, and what it left.
async fn left_by(script: &str, owner: Owner) -> (String, Option<Leftover>) {
    let dir = tempfile::tempdir().unwrap();
    let mut running = sh(script, dir.path());
    running.keep_background(owner);
    let mut text = Vec::new();
    let mut buffer = vec![0; 4096];
    while let Some(bytes) = running.read(&mut buffer).await {
        text.extend_from_slice(bytes);
    }
    let left = match running.leave().await {
        Some(left) => left.settled().await,
        None => None,
    };
    (String::from_utf8(text).unwrap(), left)
}

fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    !matches!(state, None | Some('Z' | 'X'))
}

async fn dies(pid: u32) -> bool {
    let dying = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), dying).await.is_ok()
}

#[tokio::test]
async fn a_kept_background_process_lives_until_it_is_stopped() {
    let (text, left) = left_by("sleep 1000 & echo $!", Owner::Model).await;
    let pid: u32 = text.trim().parse().unwrap();
    let mut left = left.unwrap();

    assert_eq!(left.processes(), [pid]);
    assert!(is_alive(pid));
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(left.watch(&stop, |_| {}).await, Watched::Stopped);

    assert!(dies(pid).await);
}

#[tokio::test]
async fn somebody_who_shook_off_the_mark_and_prints_for_ever_is_not_read_for_ever() {
    // The first ends when the directory is gone, which is before it is watched; the other cannot be told from a stranger.
    let script = "while [ -d \"$PWD\" ]; do sleep 0.01; done > /dev/null & env -i setsid yes &";
    let (_, left) = left_by(script, Owner::Model).await;
    let mut bytes = 0;

    // Was: what stood in the pipe was read until it was empty, by a thread that serves everybody.
    let watched = left.unwrap().watch(&CancellationToken::new(), |some| bytes += some.len()).await;

    assert_eq!(watched, Watched::Gone);
    assert!(bytes > 0);
}

#[tokio::test]
async fn a_daemon_that_left_the_group_is_kept_and_stopped_too() {
    let script = "setsid sh -c 'echo $$ > pid; exec sleep 1000' < /dev/null > /dev/null 2>&1 &
        while ! [ -s pid ]; do sleep 0.01; done; cat pid";
    let (text, left) = left_by(script, Owner::Model).await;
    let pid: u32 = text.trim().parse().unwrap();
    let mut left = left.unwrap();

    assert!(left.processes().contains(&pid) && is_alive(pid));
    let stop = CancellationToken::new();
    stop.cancel();
    left.watch(&stop, |_| {}).await;

    assert!(dies(pid).await);
}

#[tokio::test]
async fn what_it_prints_is_read_and_its_end_is_noticed() {
    let script = "(while ! [ -e go ]; do sleep 0.01; done; echo late; rm go) & echo early";
    let dir = tempfile::tempdir().unwrap();
    let mut running = sh(script, dir.path());
    running.keep_background(Owner::Model);
    let mut buffer = vec![0; 4096];
    while running.read(&mut buffer).await.is_some() {}
    let mut left = running.leave().await.unwrap();

    std::fs::write(dir.path().join("go"), "").unwrap();
    let mut text = Vec::new();
    let watched = left.watch(&CancellationToken::new(), |bytes| text.extend_from_slice(bytes)).await;

    assert_eq!(watched, Watched::Gone);
    assert_eq!(String::from_utf8(text).unwrap(), "late\n");
}

#[tokio::test]
async fn a_command_that_leaves_nothing_leaves_nothing() {
    let (text, left) = left_by("echo hello | cat; sh -c 'exit 0'", Owner::Model).await;

    assert_eq!(text, "hello\n");
    assert!(left.is_none());
}

#[tokio::test]
async fn a_dropped_leftover_of_a_model_ends_and_that_of_a_person_does_not() {
    let (of_model, left) = left_by("sleep 1000 & echo $!", Owner::Model).await;
    drop(left);
    let (of_person, left) = left_by("sleep 1000 & echo $!", Owner::User).await;
    drop(left);

    let person: u32 = of_person.trim().parse().unwrap();
    assert!(dies(of_model.trim().parse().unwrap()).await);
    assert!(is_alive(person));
    let pid = rustix::process::Pid::from_raw(person as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_command_that_is_stopped_leaves_nothing_although_it_would_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let command = Command {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".into(), "sleep 1000 & echo $!; wait".into()],
        directory: dir.path().to_owned(),
        inherited: Inherited::default(),
        variables: Vec::new(),
        timeout: Duration::from_secs(60),
    };
    let mut running = command.start(stop.clone()).unwrap();
    running.keep_background(Owner::Model);
    let mut buffer = vec![0; 100];
    let pid = String::from_utf8(running.read(&mut buffer).await.unwrap().to_vec()).unwrap();
    stop.cancel();
    while running.read(&mut buffer).await.is_some() {}

    assert!(running.leave().await.is_none());
    assert!(dies(pid.trim().parse().unwrap()).await);
}
