//! How fast the hands are: searching beside ripgrep, reading a page, running a command.
//!
//! `cargo bench -p sturdy-worktree`. Prints medians and ratios; limits are in the issue, not here,
//! because a busy machine is no reason to fail.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set its scene has nothing to measure")]

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sturdy_worktree::path::Roots;
use sturdy_worktree::search::{Find, KeptNames};
use sturdy_worktree::tool::{Call, Caller, Done, Handles, Memory, Settings, World, run};
use sturdy_worktree::tools::builtin;
use tokio_util::sync::CancellationToken;

const DIRECTORIES: usize = 500;
const FILES_EACH: usize = 100;
const ROUNDS: usize = 9;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let top = tempfile::tempdir().unwrap();
    let dir = top.path().canonicalize().unwrap().join("tree");
    println!("making {} files", DIRECTORIES * FILES_EACH);
    make_tree(&dir);
    let world = world(&dir, top.path());

    println!("\nfiles by name          median");
    for pattern in ["*.rs", "**/d0*/**/*.txt"] {
        let ours = || drop(runtime.block_on(call(&world, "glob", json!({ "pattern": pattern }))));
        beside(pattern, ours, &dir, &["--files", "-g", pattern]);
    }
    println!("\na file by a few letters of its name (goal: first 150 ms, then 3 ms)");
    let kept = KeptNames::default();
    let look = |letters: &str| {
        drop(kept.files(&world.roots, letters, Find::Both, 10, &CancellationToken::new()).unwrap());
    };
    let begun = Instant::now();
    look("f7");
    println!("  first             {:>10.2?}", begun.elapsed());
    // A tree that was just written is walked again.
    loop {
        let walks = kept.walks();
        look("f7");
        if kept.walks() == walks {
            break;
        }
    }
    for letters in ["e", "f77", "d012f7", "zzz_absent"] {
        println!("  {letters:<15}   {:>10.2?}", median(|| look(letters)));
    }
    println!("\nlines by expression");
    for pattern in ["needle_[0-9]+_rare", "fn \\w+_7\\(", "zzz_absent"] {
        let ours = || drop(runtime.block_on(call(&world, "grep", json!({ "pattern": pattern }))));
        beside(pattern, ours, &dir, &["-n", "--hidden", "-g", "!.git", "-e", pattern]);
    }

    let line = "a line of a large file, of about eighty letters, as people write them in a text\n";
    std::fs::write(dir.join("large"), line.repeat(10_000_000 / line.len())).unwrap();
    println!("\na page of 10 MB");
    for offset in [1, 60_000, 124_000] {
        let took = median(|| {
            drop(runtime.block_on(call(&world, "read", json!({ "filePath": "large", "offset": offset }))));
        });
        println!("  from line {offset:<10} {took:>10.2?}");
    }

    println!("\na command that does nothing");
    let ours = median(|| drop(runtime.block_on(call(&world, "bash", json!({ "command": "true" })))));
    let bare = median(|| drop(Command::new("/bin/sh").args(["-c", "true"]).output().unwrap()));
    println!(
        "  bash tool {ours:>10.2?}   sh -c alone {bare:>10.2?}   added {:>10.2?}",
        ours.saturating_sub(bare)
    );

    println!("\na command that prints 200 MB");
    // Forgets the peak of what ran before.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = resident_peak();
    let begun = Instant::now();
    let flood =
        json!({ "command": "yes 'a line that is printed again and again and again' | head -c 200000000" });
    let done = runtime.block_on(call(&world, "bash", flood));
    let grown = resident_peak().saturating_sub(before);
    println!(
        "  {:.2?}, peak memory grew by {:.1} MiB, {} bytes shown",
        begun.elapsed(),
        grown as f64 / 1024.0,
        done.output.len()
    );
}

fn world(dir: &Path, top: &Path) -> World {
    let mut settings = Settings::new(top.join("output"));
    settings.shell = Some(PathBuf::from("/bin/sh"));
    World {
        roots: Roots::new(dir, dir).unwrap(),
        settings: Arc::new(settings),
        memory: Arc::new(Memory::default()),
        caller: Caller::Model,
        stop: CancellationToken::new(),
        handles: Handles::alone(),
    }
}

async fn call(world: &World, tool: &str, input: Value) -> Done {
    let tools = builtin(&[]);
    let found = tools.iter().find(|one| one.spec().name == tool).unwrap();
    let call =
        Call { id: "bench".to_owned(), name: tool.to_owned(), input: input.as_object().unwrap().clone() };
    run(found.as_ref(), call, world).await.unwrap()
}

/// Ours and ripgrep's in turn, so that a busy neighbour disturbs both.
fn beside(name: &str, mut ours: impl FnMut(), dir: &Path, arguments: &[&str]) {
    let theirs = || {
        let ran = Command::new("rg").args(arguments).current_dir(dir).stdin(Stdio::null()).output();
        ran.is_ok()
    };
    ours();
    let has_rg = theirs();
    let mut mine = Vec::new();
    let mut its = Vec::new();
    for _ in 0..ROUNDS {
        mine.push(timed(&mut ours));
        if has_rg {
            its.push(timed(|| assert!(theirs())));
        }
    }
    mine.sort();
    its.sort();
    let mine = mine[ROUNDS / 2];
    match its.get(ROUNDS / 2) {
        Some(its) => {
            println!(
                "  {name:<20} {mine:>10.2?}   rg {its:>10.2?}   ratio {:.2}",
                mine.as_secs_f64() / its.as_secs_f64()
            );
        }
        None => println!("  {name:<20} {mine:>10.2?}   (no rg to compare with)"),
    }
}

fn timed(mut work: impl FnMut()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut work: impl FnMut()) -> Duration {
    work();
    let mut all: Vec<Duration> = (0..ROUNDS).map(|_| timed(&mut work)).collect();
    all.sort();
    all[ROUNDS / 2]
}

/// The most memory this process has had, in KiB.
fn resident_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn make_tree(dir: &Path) {
    std::fs::create_dir_all(dir.join(".git")).unwrap();
    std::fs::write(dir.join(".gitignore"), "*.log\n/target/\n").unwrap();
    for d in 0..DIRECTORIES {
        let below = dir.join(format!("d{:02}/s{d:03}", d % 50));
        std::fs::create_dir_all(&below).unwrap();
        for f in 0..FILES_EACH {
            let extension = ["rs", "txt", "md", "log"][f % 4];
            let mut text = format!("// file {d} {f}\n");
            for line in 0..40 {
                text.push_str(&format!("fn name_{f}_{line}() {{ work({d}, {line}); }}\n"));
            }
            if d % 97 == 0 && f == 0 {
                text.push_str(&format!("needle_{d}_rare\n"));
            }
            std::fs::write(below.join(format!("f{f:03}.{extension}")), text).unwrap();
        }
    }
}
