//! Commands run, print, hang and hide; nothing is left behind.

use std::path::{Path, PathBuf};
use std::time::Duration;
use sturdy_worktree::process::{Command, Ended, Inherited, STORE, is_own_command, kill_orphans};
use tokio_util::sync::CancellationToken;

/// Enough to meet the race every few runs, in a second.
const ROUNDS: usize = 20;

fn sh(script: &str, dir: &Path) -> Command {
    Command {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".into(), script.into()],
        directory: dir.to_owned(),
        inherited: Inherited::default(),
        variables: Vec::new(),
        timeout: Duration::from_secs(60),
    }
}

async fn run(command: Command, stop: CancellationToken) -> (String, Ended) {
    let mut running = command.start(stop).unwrap();
    let mut text = Vec::new();
    let mut buffer = vec![0; 4096];
    while let Some(bytes) = running.read(&mut buffer).await {
        text.extend_from_slice(bytes);
    }
    (String::from_utf8(text).unwrap(), running.ended())
}

async fn output(script: &str) -> (String, Ended) {
    let dir = tempfile::tempdir().unwrap();
    run(sh(script, dir.path()), CancellationToken::new()).await
}

/// True while a process with this number exists and is not a zombie.
fn is_alive(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    !matches!(state, None | Some('Z' | 'X'))
}

/// Signals arrive when the kernel gets round to it; bounded waiting, not timing.
async fn dies(pid: i32) -> bool {
    let dying = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), dying).await.is_ok()
}

#[tokio::test]
async fn both_streams_come_in_the_order_they_were_written() {
    let (text, ended) = output("echo one; echo two >&2; echo three; exit 3").await;

    assert_eq!(text, "one\ntwo\nthree\n");
    assert_eq!(ended, Ended::Exited(Some(3)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_words_of_a_command_that_ends_at_once_are_kept() {
    for _ in 0..ROUNDS {
        let many = futures_util::future::join_all((0..16).map(|_| output("echo words; exit 3"))).await;

        // Was: an end that was heard of before the words left these in the pipe.
        for (text, ended) in many {
            assert_eq!((text.as_str(), ended), ("words\n", Ended::Exited(Some(3))));
        }
    }
}

#[tokio::test]
async fn a_command_that_ends_by_a_signal_has_no_code() {
    assert_eq!(output("kill -9 $$").await.1, Ended::Exited(None));
}

#[tokio::test]
async fn a_command_that_asks_for_input_gets_none() {
    let (text, ended) = output("read answer || echo nobody; cat").await;

    assert_eq!((text.as_str(), ended), ("nobody\n", Ended::Exited(Some(0))));
}

#[tokio::test]
async fn there_is_no_terminal() {
    let (text, _) = output("if (: < /dev/tty) 2>/dev/null; then echo tty; else echo none; fi").await;

    assert_eq!(text, "none\n");
}

#[tokio::test]
async fn a_closed_output_does_not_end_the_command() {
    let dir = tempfile::tempdir().unwrap();

    let (_, ended) =
        run(sh("exec >&- 2>&-; echo x > made; exit 5", dir.path()), CancellationToken::new()).await;

    assert_eq!(ended, Ended::Exited(Some(5)));
    assert!(dir.path().join("made").exists());
}

#[tokio::test]
async fn a_background_child_dies_with_its_command_and_does_not_hold_it_open() {
    let (text, ended) = output("sleep 1000 & echo $!").await;

    assert_eq!(ended, Ended::Exited(Some(0)));
    assert!(dies(text.trim().parse().unwrap()).await);
}

#[tokio::test]
async fn a_daemon_in_a_session_of_its_own_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ > pid; exec sleep 1000' < /dev/null > /dev/null 2>&1 &
        while ! [ -s pid ]; do sleep 0.01; done; cat pid";

    let (text, _) = run(sh(script, dir.path()), CancellationToken::new()).await;

    assert!(dies(text.trim().parse().unwrap()).await);
}

#[tokio::test]
async fn a_command_over_its_time_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = sh("echo before; sleep 1000", dir.path());
    // Long enough for a shell to begin on a machine that has other things to do.
    command.timeout = Duration::from_secs(5);

    let (text, ended) = run(command, CancellationToken::new()).await;

    assert_eq!((text.as_str(), ended), ("before\n", Ended::TimedOut));
}

#[tokio::test]
async fn a_command_that_ignores_the_request_is_killed_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let script = "trap '' TERM; (trap '' TERM; sleep 1000) & echo $!; wait; sleep 1000";
    let mut running = sh(script, dir.path()).start(stop.clone()).unwrap();
    let mut buffer = vec![0; 100];
    let child = String::from_utf8(running.read(&mut buffer).await.unwrap().to_vec()).unwrap();

    stop.cancel();
    while running.read(&mut buffer).await.is_some() {}

    assert_eq!(running.ended(), Ended::Stopped);
    assert!(dies(child.trim().parse().unwrap()).await);
}

#[tokio::test]
async fn a_polite_command_can_say_goodbye() {
    let dir = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let mut running = sh(script, dir.path()).start(stop.clone()).unwrap();
    let mut buffer = vec![0; 100];
    running.read(&mut buffer).await.unwrap();

    stop.cancel();
    let mut text = Vec::new();
    while let Some(bytes) = running.read(&mut buffer).await {
        text.extend_from_slice(bytes);
    }

    // A shell may say that its sleep was ended, too.
    assert!(String::from_utf8(text).unwrap().ends_with("bye\n"));
}

#[tokio::test]
async fn a_dropped_command_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut running = sh("sleep 1000 & echo $!; wait", dir.path()).start(CancellationToken::new()).unwrap();
    let mut buffer = vec![0; 100];
    let child = String::from_utf8(running.read(&mut buffer).await.unwrap().to_vec()).unwrap();

    drop(running);

    assert!(dies(child.trim().parse().unwrap()).await);
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = sh("", dir.path());
    command.program = PathBuf::from("/nonexistent/shell");

    assert!(command.start(CancellationToken::new()).is_err());
}

#[test]
fn keys_and_own_settings_are_not_inherited() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let inherited = Inherited::without(
        names(&["MY_PROVIDERS_KEY", "PATH", "GIVEN_BACK"]),
        names(&["GIVEN_BACK", "LATER", "STURDY_PASSWORD"]),
    );
    inherited.clone().hide(names(&["HIDDEN_SINCE", "LATER"]));

    let own = ["STURDY_PASSWORD", "OPENCODE_SERVER_PASSWORD", "NOTIFY_SOCKET", "LISTEN_FDS"];
    for name in ["MY_PROVIDERS_KEY", "HIDDEN_SINCE"].into_iter().chain(own) {
        assert!(inherited.is_hidden(name), "{name}");
    }
    for name in ["PATH", "HOME", "GITHUB_TOKEN", "MY_OWN_API_KEY", "GIVEN_BACK", "LATER"] {
        assert!(!inherited.is_hidden(name), "{name}");
    }
    assert!(!Inherited::default().is_hidden("MY_PROVIDERS_KEY"), "what one directory hides, others have");
}

/// A process as a server would have left it, with these variables.
fn left_by(store: &str, mark: &str) -> std::process::Child {
    let mut command = std::process::Command::new("sleep");
    command.arg("600").env(STORE, store).env("STURDY_COMMAND", mark).spawn().unwrap()
}

#[test]
fn what_a_dead_server_left_is_ended_by_the_next_of_its_store() {
    let live = format!("{}-", std::process::id());
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let started = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    let mut orphan = left_by("/store/one", "1-999-0");
    let mut others = [
        left_by("/store/two", "1-999-0"),
        left_by("/store/one", &format!("{live}{started}-7")),
        left_by("/store/one", "nonsense"),
    ];

    let ended = kill_orphans("/store/one");
    let was_killed = std::os::unix::process::ExitStatusExt::signal(&orphan.wait().unwrap());
    let others_live = others.iter_mut().all(|other| other.try_wait().unwrap().is_none());
    for other in &mut others {
        other.kill().unwrap();
        other.wait().unwrap();
    }

    assert_eq!((ended, was_killed), (1, Some(9)));
    assert!(others_live, "somebody else's");
}

/// The two ends of a connection that a command makes, sends a line through, and does with as it likes.
#[cfg(target_os = "linux")]
async fn connection_of(script: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ours = listener.local_addr().unwrap();
    let script = script.replace("PORT", &ours.port().to_string());
    let dir = tempfile::tempdir().unwrap();
    let command = Command {
        program: "/bin/bash".into(),
        arguments: vec!["-c".into(), script.into()],
        ..sh("", dir.path())
    };
    let mut running = command.start(CancellationToken::new()).unwrap();
    let (mut socket, theirs) = listener.accept().await.unwrap();
    let mut line = [0; 3];
    tokio::io::AsyncReadExt::read_exact(&mut socket, &mut line).await.unwrap();
    let mut buffer = [0; 64];
    let said = match running.read(&mut buffer).await {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "ended".to_owned(),
    };
    let is_command = tokio::task::spawn_blocking(move || is_own_command(theirs, ours)).await.unwrap();
    assert!(is_command, "{said}");
    said
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_connects_is_known_while_it_waits() {
    let said = connection_of("exec 3<>/dev/tcp/127.0.0.1/PORT; echo hi >&3; echo sent; cat <&3").await;
    assert_eq!(said, "sent\n");
}

// Was: a command that had gone before anybody looked was nobody's.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_sends_and_is_gone_is_not_taken_for_a_person() {
    let said = connection_of("exec 3<>/dev/tcp/127.0.0.1/PORT; echo hi >&3").await;
    assert_eq!(said, "ended");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_of_another_process_is_not_taken_for_one_of_our_commands() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = listener.local_addr().unwrap();
    let person = std::net::TcpStream::connect(ours).unwrap();
    let theirs = person.local_addr().unwrap();
    let _accepted = listener.accept().unwrap();
    assert!(!is_own_command(theirs, ours));
}
