//! Commands behind a fence: what they may write to, and whether they may connect.
//!
//! On a system without Landlock these tests check that the command is refused, and say so.

use crate::bench::Bench;
use serde_json::json;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use sturdy_worktree::process::{Network, Sandbox, SandboxOffer, sandbox_offer};
use sturdy_worktree::tool::{Caller, Done, ToolFailure};

/// A bench whose commands may write to its tree alone.
fn fenced(network: Network) -> Bench {
    let mut bench = Bench::new();
    let sandbox = Sandbox { writable: vec![bench.dir.clone()], network };
    let settings = Arc::make_mut(&mut bench.world.settings);
    settings.sandbox = Some(Arc::new(sandbox));
    bench
}

/// What came of a command; nothing where the system cannot confine it, after that was checked.
async fn confined(bench: &Bench, needs: &[SandboxOffer], command: &str) -> Option<Done> {
    let done = bench.run("bash", json!({ "command": command })).await;
    if needs.contains(&sandbox_offer()) {
        return Some(done.unwrap());
    }
    eprintln!("this system does not offer {needs:?}: only the refusal is checked");
    let ToolFailure { text, .. } = done.unwrap_err();
    assert!(text.contains("experimental.sandbox"), "{text}");
    None
}

const WRITES: [SandboxOffer; 2] = [SandboxOffer::Writes, SandboxOffer::WritesAndTcp];

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[tokio::test]
async fn a_command_writes_inside_and_not_outside() {
    let bench = fenced(Network::Open);
    std::fs::write(bench.outside.join("kept"), "before").unwrap();
    let outside = bench.outside.display();
    let command = format!(
        "echo in > inside; mkdir -p deep/er && mv inside deep/er/; cat {outside}/kept; echo; echo quiet > /dev/null && echo devices\n\
         echo out > {outside}/new; echo out >> {outside}/kept; : > {outside}/kept; rm {outside}/kept\n\
         mv deep {outside}/; ln {outside}/kept linked && echo out > linked\n\
         ln -s {outside}/kept link; echo out > link\n\
         (setsid bash -c 'echo out > {outside}/later') ; env -i bash -c 'echo out > {outside}/env'; true"
    );

    let Some(done) = confined(&bench, &WRITES, &command).await else { return };

    assert!(done.output.starts_with("before\ndevices\n"), "{}", done.output);
    assert_eq!(read(&bench.dir.join("deep/er/inside")).as_deref(), Some("in\n"));
    assert_eq!(read(&bench.outside.join("kept")).as_deref(), Some("before"));
    let found: Vec<_> =
        std::fs::read_dir(&bench.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(found, ["kept"]);
}

#[tokio::test]
async fn a_model_is_told_where_it_may_write_when_a_command_fails() {
    let bench = fenced(Network::Open);
    let command = format!("echo out > {}/new", bench.outside.display());

    let Some(done) = confined(&bench, &WRITES, &command).await else { return };

    assert!(
        done.output.contains(&format!("may write only below {}", bench.dir.display())),
        "{}",
        done.output
    );
}

#[tokio::test]
async fn the_fence_is_around_the_command_and_not_around_the_server_or_a_person() {
    let mut bench = fenced(Network::Closed);
    let Some(_) = confined(&bench, &[SandboxOffer::WritesAndTcp], "true").await else { return };

    std::fs::write(bench.outside.join("by-server"), "x").unwrap();
    bench.world.caller = Caller::User;
    let command = format!("echo own > {}/by-person", bench.outside.display());
    bench.run("bash", json!({ "command": command })).await.unwrap();

    assert_eq!(read(&bench.outside.join("by-person")).as_deref(), Some("own\n"));
    assert!(TcpListener::bind("127.0.0.1:0").is_ok());
}

#[tokio::test]
async fn without_the_network_a_command_does_not_connect() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command =
        format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected || echo refused");

    let open = fenced(Network::Open);
    let closed = fenced(Network::Closed);
    let Some(open) = confined(&open, &WRITES, &command).await else { return };
    let Some(closed) = confined(&closed, &[SandboxOffer::WritesAndTcp], &command).await else { return };

    assert_eq!((open.output.as_str(), closed.output.as_str()), ("connected\n", "refused\n"));
}

/// Gives this thread as many fences as the system allows; where it has none, there is nothing to do.
#[cfg(target_os = "linux")]
fn use_up_all_fences() {
    use landlock::{AccessFs, Ruleset, RulesetAttr as _};
    const MORE_THAN_THERE_ARE: usize = 20;
    for _ in 0..MORE_THAN_THERE_ARE {
        let fence = Ruleset::default().handle_access(AccessFs::MakeBlock).unwrap().create().unwrap();
        if fence.restrict_self().is_err() {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_fence_that_cannot_be_put_up_refuses_the_command() {
    let refused = std::thread::spawn(|| {
        use_up_all_fences();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bench = fenced(Network::Open);
            let failure = bench.run("bash", json!({ "command": "touch marker" })).await.unwrap_err();
            (failure.text, bench.dir.join("marker").exists())
        })
    });

    let (text, is_run) = refused.join().unwrap();

    assert!(text.starts_with("The command was not run: ") && text.contains("sandbox"), "{text}");
    assert!(!is_run);
}
