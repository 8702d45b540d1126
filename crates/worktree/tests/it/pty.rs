//! Terminals: real programs that believe a person sits in front of them.

use bytes::Bytes;
use std::path::Path;
use sturdy_worktree::process::Inherited;
use sturdy_worktree::pty::{NewTerminal, ScrollbackReader, ScrollbackStart, Terminal};

fn shell(directory: &Path, script: &str) -> NewTerminal {
    NewTerminal {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        directory: directory.to_owned(),
        inherited: Inherited::default(),
        variables: vec![("GREETING".to_owned(), "hello".to_owned())],
    }
}

fn start(directory: &Path, script: &str) -> Terminal {
    let (terminal, task) = Terminal::start(&shell(directory, script)).unwrap();
    #[allow(clippy::disallowed_methods, reason = "a test's own task")]
    tokio::spawn(task);
    terminal
}

async fn until(reader: &mut ScrollbackReader, wanted: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(wanted) {
        let text = reader.next().await;
        seen.push_str(&text.unwrap_or_else(|| panic!("{wanted:?} did not come: {seen:?}")));
    }
    seen
}

async fn code(terminal: &Terminal) -> u32 {
    *terminal.ended().wait_for(Option::is_some).await.unwrap().as_ref().unwrap()
}

#[tokio::test]
async fn a_program_has_a_terminal_of_the_size_it_is_told() {
    let place = tempfile::tempdir().unwrap();
    let terminal = start(place.path(), "test -t 0 && echo $GREETING $TERM; stty size; read line; stty size");
    let mut reader = terminal.reader(ScrollbackStart::Oldest);
    let seen = until(&mut reader, "24 80").await;
    assert!(seen.contains("hello xterm-256color"), "{seen}");

    terminal.resize(50, 132);
    // The size is set before the line is written: both go through one task, in this order.
    terminal.keyboard().send(Bytes::from_static(b"go\n")).await.unwrap();

    until(&mut reader, "50 132").await;
    assert_eq!(code(&terminal).await, 0);
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn a_late_reader_is_shown_the_past_and_the_exit_code_is_the_shells() {
    let place = tempfile::tempdir().unwrap();
    let terminal = start(place.path(), "printf 'gr\\303\\274n'; exit 7");
    assert_eq!(code(&terminal).await, 7);

    let mut reader = terminal.reader(ScrollbackStart::Oldest);

    assert_eq!(reader.newest, 4);
    assert_eq!(reader.past().as_deref(), Some("grün"));
    assert_eq!(reader.past(), None);
    assert_eq!(terminal.reader(ScrollbackStart::At(2)).next().await.as_deref(), Some("ün"));
}

#[tokio::test]
async fn a_terminal_that_is_ended_takes_its_background_jobs_with_it() {
    let place = tempfile::tempdir().unwrap();
    let script = "trap '' HUP; sleep 1000 & echo job=$!.; wait";
    let terminal = start(place.path(), script);
    let mut reader = terminal.reader(ScrollbackStart::Oldest);
    let seen = until(&mut reader, ".").await;
    let job = seen.split("job=").nth(1).unwrap().split('.').next().unwrap().to_owned();

    terminal.end();

    // It ignored the hang-up and was killed.
    assert_eq!(code(&terminal).await, 128 + 9);
    assert!(!Path::new("/proc").join(job).join("exe").exists());
}

#[tokio::test]
async fn a_hundred_megabytes_pass_with_bounded_memory_and_nothing_is_missed() {
    let place = tempfile::tempdir().unwrap();
    let before = resident();
    let terminal =
        start(place.path(), "stty -onlcr; head -c 104857600 /dev/zero | tr '\\0' x; echo; echo the end");
    let mut reader = terminal.reader(ScrollbackStart::Oldest);

    let mut count = 0_usize;
    let mut tail = String::new();
    let mut most = before;
    while let Some(text) = reader.next().await {
        count += text.bytes().filter(|byte| *byte == b'x').count();
        most = most.max(resident());
        tail = text;
    }

    assert_eq!(count, 104_857_600);
    assert!(tail.ends_with("the end\n"), "{:?}", &tail[tail.len().saturating_sub(20)..]);
    assert!(most - before < 32 * 1024, "grew by {} KiB", most - before);
}

/// KiB of memory this process holds.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn keys_of_the_server_are_not_in_a_terminal() {
    let place = tempfile::tempdir().unwrap();
    let terminal = start(place.path(), "env | grep -c -e ^STURDY_ -e ^OPENCODE_ -e _API_KEY=; echo end");
    let mut reader = terminal.reader(ScrollbackStart::Oldest);
    let seen = until(&mut reader, "end").await;
    // One: the mark by which strays are found, which is no secret.
    assert!(seen.starts_with("1\r\n"), "{seen}");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let place = tempfile::tempdir().unwrap();
    let missing = NewTerminal { program: "/no/such/program".to_owned(), ..shell(place.path(), "") };
    let nowhere = shell(&place.path().join("nowhere"), "");
    for new in [missing, nowhere] {
        let Err(refused) = Terminal::start(&new) else { panic!("it started") };
        assert!(std::error::Error::source(&refused).is_some(), "{refused}");
    }
}
