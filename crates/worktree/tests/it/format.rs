//! Formatters: run after a change, part of it, and never a reason for it to fail.

use crate::bench::Bench;
use serde_json::json;
use std::path::Path;
use sturdy_worktree::format::{Formatter, format, known};
use sturdy_worktree::process::Inherited;
use tokio_util::sync::CancellationToken;

/// A formatter for `.up` files that runs a script with the file as `$0`.
fn script(script: &str) -> Formatter {
    Formatter {
        name: "script".to_owned(),
        command: ["sh", "-c", script, "$FILE"].map(str::to_owned).to_vec(),
        extensions: vec![".up".to_owned()],
        variables: vec![("LETTERS".to_owned(), "A-Z".to_owned())],
        is_enabled: true,
    }
}

fn with(formatter: Formatter) -> Bench {
    Bench::with(|settings| settings.formatters = vec![formatter])
}

/// Writes capital letters.
const CAPITALS: &str = r#"tr a-z "$LETTERS" < "$0" > "$0.new" && mv "$0.new" "$0""#;

#[tokio::test]
async fn a_configured_formatter_runs_after_a_change() {
    let bench = with(script(CAPITALS));

    bench.ok("write", json!({ "filePath": "x.up", "content": "text" })).await;
    bench.ok("write", json!({ "filePath": "y.txt", "content": "text" })).await;

    assert_eq!((bench.text("x.up").as_str(), bench.text("y.txt").as_str()), ("TEXT", "text"));
    let done =
        bench.ok("edit", json!({ "filePath": "x.up", "oldString": "TEXT", "newString": "more" })).await;
    assert_eq!(bench.text("x.up"), "MORE", "the formatter's change is not somebody else's");
    let shown = done.metadata["diff"].as_str().unwrap();
    assert!(shown.contains("+MORE") && !shown.contains("+more"), "{shown}");
    assert_eq!(done.metadata["filediff"]["patch"], done.metadata["diff"]);

    let patch =
        "*** Begin Patch\n*** Update File: x.up\n@@\n-MORE\n+less\n*** Add File: z.up\n+new\n*** End Patch";
    let done = bench.ok("apply_patch", json!({ "patchText": patch })).await;
    assert_eq!((bench.text("x.up").as_str(), bench.text("z.up").as_str()), ("LESS", "NEW\n"));
    let shown = done.metadata["diff"].as_str().unwrap();
    assert!(shown.contains("+LESS") && shown.contains("+NEW"), "{shown}");
    bench.ok("edit", json!({ "filePath": "z.up", "oldString": "NEW", "newString": "old" })).await;
}

#[tokio::test]
async fn a_formatter_that_fails_or_is_missing_does_not_fail_the_edit() {
    let missing = Formatter { command: vec!["no-such-program".to_owned()], ..script("") };
    let nothing = Formatter { command: Vec::new(), ..script("") };
    for formatter in [script("exit 3"), missing, nothing] {
        let bench = with(formatter);
        let done = bench.ok("write", json!({ "filePath": "x.up", "content": "text" })).await;

        assert_eq!((bench.text("x.up").as_str(), done.output.as_str()), ("text", "The file was written."));
        bench.ok("edit", json!({ "filePath": "x.up", "oldString": "text", "newString": "more" })).await;
    }
}

#[tokio::test]
async fn a_formatter_that_removes_the_file_does_not_fail_the_edit() {
    let bench = with(script(r#"rm "$0""#));

    bench.ok("write", json!({ "filePath": "x.up", "content": "text" })).await;

    assert!(!bench.dir.join("x.up").exists());
}

#[tokio::test]
async fn a_formatter_that_is_not_enabled_does_not_run() {
    let bench = with(Formatter { is_enabled: false, ..script(CAPITALS) });

    bench.ok("write", json!({ "filePath": "x.up", "content": "text" })).await;

    assert_eq!(bench.text("x.up"), "text");
}

#[tokio::test]
async fn a_formatter_that_hangs_ends_with_the_turn() {
    let directory = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    stop.cancel();

    let ran = format(
        &[script("sleep 600")],
        &directory.path().join("x.up"),
        directory.path(),
        &Inherited::default(),
        &stop,
    )
    .await;

    assert!(!ran);
}

// Was: the formatter of the first change wrote its old text over the second change.
#[tokio::test]
async fn changes_of_one_file_at_once_wait_for_each_others_formatter() {
    let slow =
        r#"tr a-z A-Z < "$0" > "$0.$$"; for i in 1 2 3 4 5 6 7 8; do true & wait; done; mv "$0.$$" "$0""#;
    let bench = with(script(slow));
    bench.ok("write", json!({ "filePath": "x.up", "content": "one\ntwo\nthree\nfour\n" })).await;

    let edit = |old: &'static str, new: &'static str| {
        bench.ok("edit", json!({ "filePath": "x.up", "oldString": old, "newString": new }))
    };
    tokio::join!(edit("ONE", "first"), edit("TWO", "second"), edit("THREE", "third"), edit("FOUR", "fourth"));

    assert_eq!(bench.text("x.up"), "FIRST\nSECOND\nTHIRD\nFOURTH\n");
}

#[tokio::test]
async fn the_file_may_stand_inside_an_argument_and_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let directory = tempfile::tempdir().unwrap();
    let odd = directory.path().join(std::ffi::OsStr::from_bytes(b"n\xffme.up"));
    std::fs::write(&odd, "text").unwrap();
    let mut inside = script(r#"cp "${1#--file=}" seen"#);
    inside.command.push("--file=$FILE".to_owned());

    assert!(
        format(&[inside], &odd, directory.path(), &Inherited::default(), &CancellationToken::new()).await
    );

    assert_eq!(std::fs::read_to_string(directory.path().join("seen")).unwrap(), "text");
}

#[test]
fn a_known_formatter_is_enabled_where_the_project_has_it() {
    let top = tempfile::tempdir().unwrap();
    let below = top.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let find = |name: &str| {
        let all = known(&below, top.path());
        all.into_iter().find(|one| one.name == name).unwrap()
    };
    assert!(!find("prettier").is_enabled && !find("biome").is_enabled);

    let program = top.path().join("node_modules/.bin/prettier");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, "").unwrap();

    let prettier = find("prettier");
    assert!(prettier.is_enabled && prettier.takes(Path::new("x.ts")));
    assert_eq!(prettier.command[0], program.to_string_lossy());
    assert!(!find("biome").is_enabled);
}
