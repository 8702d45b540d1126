//! The tools that change files: `write`, `edit`, `apply_patch`.

use crate::bench::{Bench, ask};
use serde_json::json;
use sturdy_worktree::format::Change;
use sturdy_worktree::tool::ToolFailure;
use sturdy_worktree::tools::{Replacement, difference, replace};

async fn read(bench: &Bench, name: &str) {
    bench.ok("read", json!({ "filePath": name })).await;
    bench.asked();
}

#[tokio::test]
async fn write_makes_a_file_and_its_directories() {
    let bench = Bench::new();

    let done = bench.ok("write", json!({ "filePath": "a/b.txt", "content": "hi\n" })).await;

    assert_eq!(bench.text("a/b.txt"), "hi\n");
    assert_eq!(done.title, "a/b.txt");
    assert_eq!(done.metadata["filepath"], bench.path("a/b.txt"));
    assert_eq!(done.metadata["exists"], false);
    assert_eq!(done.metadata["diagnostics"], json!({}));
    let asks = bench.asks();
    assert_eq!((asks[0].permission.as_str(), asks[0].patterns[0].as_str()), ("edit", "a/b.txt"));
    assert!(asks[0].metadata["diff"].as_str().unwrap().contains("+hi"));
    assert_eq!(bench.edited()[0].change, Change::Added);
}

#[tokio::test]
async fn a_file_that_was_not_read_is_not_overwritten() {
    let bench = Bench::new();
    bench.file("x", "old");

    let text = bench.fails("write", json!({ "filePath": "x", "content": "new" })).await;

    assert!(text.contains("has to be read"), "{text}");
    assert_eq!(bench.text("x"), "old");
    assert_eq!(bench.asked(), [], "nobody is asked for what cannot be done");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let bench = Bench::new();
    bench.file("x", "old");
    read(&bench, "x").await;
    bench.file("x", "somebody else's");

    for (tool, input) in [
        ("write", json!({ "filePath": "x", "content": "new" })),
        ("edit", json!({ "filePath": "x", "oldString": "else", "newString": "new" })),
    ] {
        let text = bench.fails(tool, input).await;
        assert!(text.contains("changed since you read it"), "{tool}: {text}");
    }
    assert_eq!(bench.text("x"), "somebody else's");
}

#[tokio::test]
async fn a_change_while_a_person_is_asked_is_not_lost() {
    let mut bench = Bench::new();
    let path = bench.file("x", "old\nkeep\n");
    read(&bench, "x").await;
    let touched = path.clone();
    bench.world.handles.ask = std::sync::Arc::new(move |_| {
        std::fs::write(&touched, "theirs").unwrap();
        Box::pin(async { Ok(()) })
    });

    let text = bench.fails("write", json!({ "filePath": "x", "content": "mine" })).await;

    assert!(text.contains("meanwhile"), "{text}");
    assert_eq!(bench.text("x"), "theirs");
}

#[tokio::test]
async fn own_changes_need_no_second_read() {
    let bench = Bench::new();
    bench.ok("write", json!({ "filePath": "x", "content": "one" })).await;
    bench.ok("edit", json!({ "filePath": "x", "oldString": "one", "newString": "two" })).await;
    bench.ok("write", json!({ "filePath": "x", "content": "three" })).await;

    assert_eq!(bench.text("x"), "three");
}

#[tokio::test]
async fn a_difference_is_shown_without_the_ends_of_lines() {
    let bench = Bench::new();
    bench.file("x", "one\r\ntwo\r\n");
    read(&bench, "x").await;

    let done = bench.ok("edit", json!({ "filePath": "x", "oldString": "two", "newString": "2" })).await;

    let patch = done.metadata["diff"].as_str().unwrap();
    assert!(patch.ends_with("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), "{patch:?}");
    assert_eq!(bench.text("x"), "one\r\n2\r\n");
}

#[tokio::test]
async fn a_byte_order_mark_is_kept() {
    let bench = Bench::new();
    bench.file("x", "\u{feff}one\r\ntwo\r\n");
    read(&bench, "x").await;

    bench.ok("edit", json!({ "filePath": "x", "oldString": "one\ntwo", "newString": "1\n2" })).await;
    assert_eq!(bench.text("x"), "\u{feff}1\r\n2\r\n");

    bench.ok("write", json!({ "filePath": "x", "content": "new" })).await;
    assert_eq!(bench.text("x"), "\u{feff}new");
}

#[tokio::test]
async fn edit_replaces_and_shows_the_difference() {
    let bench = Bench::new();
    bench.file("x", "a\nb\nc\n");
    read(&bench, "x").await;

    let done = bench.ok("edit", json!({ "filePath": "x", "oldString": "b", "newString": "B\nBB" })).await;

    assert_eq!(bench.text("x"), "a\nB\nBB\nc\n");
    assert_eq!(done.metadata["filediff"]["additions"], 2);
    assert_eq!(done.metadata["filediff"]["deletions"], 1);
    assert!(done.metadata["diff"].as_str().unwrap().contains("@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c\n"));
    let shown = bench.progress.borrow().metadata.clone();
    assert_eq!((&shown["diff"], &shown["filediff"]), (&done.metadata["diff"], &done.metadata["filediff"]));
    assert_eq!(bench.asked(), [ask("edit", "x", "*")]);
    assert_eq!(bench.edited()[0].change, Change::Changed);
}

#[tokio::test]
async fn edits_of_one_answer_do_not_lose_each_other() {
    let bench = Bench::new();
    bench.file("x", "1\n2\n3\n4\n5\n6\n7\n8\n");
    read(&bench, "x").await;

    let edit = |n: u32| {
        bench
            .ok("edit", json!({ "filePath": "x", "oldString": n.to_string(), "newString": format!("<{n}>") }))
    };
    tokio::join!(edit(1), edit(2), edit(3), edit(4), edit(5), edit(6), edit(7), edit(8));

    assert_eq!(bench.text("x"), "<1>\n<2>\n<3>\n<4>\n<5>\n<6>\n<7>\n<8>\n");
}

#[tokio::test]
async fn edits_that_cannot_be_made_say_why() {
    let bench = Bench::new();
    bench.file("x", "a a\n");
    bench.file("latin", b"caf\xe9 x");
    read(&bench, "x").await;
    read(&bench, "latin").await;

    for (input, expected) in [
        (json!({ "filePath": "x", "oldString": "a", "newString": "a" }), "the same"),
        (json!({ "filePath": "x", "oldString": "zzz", "newString": "b" }), "does not stand in"),
        (json!({ "filePath": "x", "oldString": "a", "newString": "b" }), "several places"),
        (json!({ "filePath": "x", "oldString": "", "newString": "b" }), "exists"),
        (json!({ "filePath": "none", "oldString": "a", "newString": "b" }), "No such file"),
        (json!({ "filePath": "latin", "oldString": "x", "newString": "y" }), "not UTF-8"),
        (json!({ "filePath": ".", "oldString": "x", "newString": "y" }), "is a directory"),
    ] {
        let text = bench.fails("edit", input).await;
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(std::fs::read(bench.dir.join("latin")).unwrap(), b"caf\xe9 x");
    bench
        .ok("edit", json!({ "filePath": "x", "oldString": "a", "newString": "b", "replaceAll": true }))
        .await;
    assert_eq!(bench.text("x"), "b b\n");
    bench.ok("edit", json!({ "filePath": "new", "oldString": "", "newString": "made" })).await;
    assert_eq!(bench.text("new"), "made");
}

#[tokio::test]
async fn a_denied_edit_changes_nothing() {
    let mut bench = Bench::new();
    bench.file("x", "old");
    read(&bench, "x").await;
    bench.answer_all(ToolFailure::denied(Vec::new()));

    let text = bench.fails("edit", json!({ "filePath": "x", "oldString": "old", "newString": "new" })).await;

    assert!(text.contains("specified a rule"), "{text}");
    assert_eq!(bench.text("x"), "old");
    assert_eq!(bench.edited(), []);
}

#[test]
fn the_ladder_finds_what_is_nearly_quoted() {
    for (what, text, old, expected) in [
        ("exact", "a b c", "b", "a N c"),
        ("line-trimmed", "  if x:\n    y\nz", "if x:\ny", "N\nz"),
        ("with its line end", "  a\n  b\nc\n", "a\nb\n", "Nc\n"),
        (
            "block anchors",
            "fn a() {\n  let x = 1;\n  go(x);\n}\n",
            "fn a() {\n  let x = 2;\n  go(x);\n}",
            "N\n",
        ),
        ("spaces joined", "x   =    1;\ny", "x = 1;", "N\ny"),
        ("spaces joined inside", "say x   =    1; done", "x = 1;", "say N done"),
        ("indentation", "        a\n            b\n", "  a\n      b", "N\n"),
        ("escapes", "print(\"a\")\nb", "print(\\\"a\\\")\\nb", "N"),
        ("boundary", "a b c", "\n b \n", "a N c"),
        (
            "context",
            "begin\n1111111\nsame one\nsame two\nend\n",
            "begin\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nsame one\nsame two\nend",
            "N\n",
        ),
    ] {
        let made = replace(text, old, "N", false);
        assert_eq!(made, Replacement::Made(expected.to_owned()), "{what}");
    }
}

#[test]
fn a_loose_reading_does_not_swallow_a_file() {
    let text = format!("start\n{}end\n", "line\n".repeat(50));

    assert_eq!(replace(&text, "start\nx\nend", "N", false), Replacement::NotFound);
}

#[test]
fn odd_quotations_do_not_panic() {
    for old in ["", "\n", "\n\n\n", " ", "\\", "\\n", "ä", "\u{feff}", "a\n\n\nb", "{\n}\n}"] {
        for text in ["", "\n", "a\nb\nc", "ä\n\nö", "{\n{\n}\n}\n"] {
            let _ = (replace(text, old, "N", false), replace(text, old, "N", true));
        }
    }
}

#[tokio::test]
async fn a_patch_changes_several_files() {
    let bench = Bench::new();
    bench.file("a.txt", "one\ntwo\nthree\n");
    bench.file("b.txt", "gone");
    bench.file("c.txt", "x\ny\n");
    let patch = "*** Begin Patch
*** Update File: a.txt
@@
 one
-two
+TWO
 three
*** Delete File: b.txt
*** Update File: c.txt
*** Move to: d/c.txt
@@
 x
-y
+z
*** Add File: new.txt
+hello
+world
*** End Patch";

    let done = bench.ok("apply_patch", json!({ "patchText": patch })).await;

    assert_eq!(bench.text("a.txt"), "one\nTWO\nthree\n");
    assert!(!bench.dir.join("b.txt").exists() && !bench.dir.join("c.txt").exists());
    assert_eq!(bench.text("d/c.txt"), "x\nz\n");
    assert_eq!(bench.text("new.txt"), "hello\nworld\n");
    assert!(done.output.ends_with("M a.txt\nD b.txt\nM d/c.txt\nA new.txt"), "{}", done.output);
    assert_eq!(done.title, done.output);
    let files = done.metadata["files"].as_array().unwrap();
    let kinds: Vec<&str> = files.iter().map(|file| file["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["update", "delete", "move", "add"]);
    assert_eq!(files[2]["movePath"], bench.path("d/c.txt"));
    let asks = bench.asked();
    assert_eq!(asks[0].1, ["a.txt", "b.txt", "c.txt", "d/c.txt", "new.txt"]);
    assert_eq!(asks.len(), 1);
}

#[tokio::test]
async fn a_patch_that_does_not_fit_changes_nothing() {
    let bench = Bench::new();
    bench.file("a", "one\n");
    bench.file("b", "two\n");
    let patch =
        "*** Begin Patch\n*** Update File: a\n-one\n+ONE\n*** Update File: b\n-nope\n+x\n*** End Patch";

    let text = bench.fails("apply_patch", json!({ "patchText": patch })).await;

    assert!(text.contains("does not fit") && text.contains("nope"), "{text}");
    assert_eq!((bench.text("a"), bench.text("b")), ("one\n".to_owned(), "two\n".to_owned()));
    assert_eq!(bench.asked(), []);
}

#[tokio::test]
async fn patches_are_read_loosely_and_found_in_order() {
    let bench = Bench::new();
    bench
        .file("a", "fn a() {\r\n    go(\u{201c}x\u{201d})   \r\n}\r\nfn b() {\r\n    go(1)\r\n}\r\nlast\r\n");
    let patch = "apply_patch <<'EOF'
*** Begin Patch
*** Update File: a
@@
-  go(\"x\")
+    stop()
@@ fn b() {
-    go(1)
+    stop(1)
@@
+end
*** End of File
*** End Patch
EOF";

    bench.ok("apply_patch", json!({ "patchText": patch })).await;

    assert_eq!(
        bench.text("a"),
        "fn a() {\r\n    stop()\r\n}\r\nfn b() {\r\n    stop(1)\r\n}\r\nlast\r\nend\r\n"
    );
}

#[tokio::test]
async fn texts_that_are_no_patches_are_refused() {
    let bench = Bench::new();
    for patch in [
        "",
        "hello",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\nhello\n*** End Patch",
        "*** Begin Patch\n*** Update File: x\n*** End Patch",
        "*** End Patch\n*** Begin Patch",
        "*** Begin Patch\n*** Delete File: ../../etc/passwd\n*** End Patch",
    ] {
        bench.fails("apply_patch", json!({ "patchText": patch })).await;
    }
}

/// Tests may run as root, whom file modes do not stop; an immutable file stops everybody.
fn make_immutable(path: &std::path::Path, yes: bool) -> bool {
    let Ok(file) = std::fs::File::open(path) else { return false };
    let Ok(flags) = rustix::fs::ioctl_getflags(&file) else { return false };
    let immutable = rustix::fs::IFlags::IMMUTABLE;
    let flags = if yes { flags | immutable } else { flags - immutable };
    rustix::fs::ioctl_setflags(&file, flags).is_ok()
}

#[tokio::test]
async fn a_file_the_system_protects_is_left_alone() {
    let bench = Bench::new();
    let path = bench.file("x", "old");
    read(&bench, "x").await;
    if !make_immutable(&path, true) {
        eprintln!("skipped: this file system cannot protect a file");
        return;
    }

    let ran = bench.run("write", json!({ "filePath": "x", "content": "new" })).await;
    let patch = "*** Begin Patch\n*** Delete File: x\n*** End Patch";
    let patched = bench.run("apply_patch", json!({ "patchText": patch })).await;
    make_immutable(&path, false);

    for failed in [ran, patched] {
        assert!(failed.unwrap_err().text.contains("does not permit"));
    }
    assert_eq!(bench.text("x"), "old");
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 1, "nothing is left beside");
}

#[tokio::test]
async fn a_file_that_vanished_is_said_to_be_gone() {
    let bench = Bench::new();
    let path = bench.file("x", "old");
    read(&bench, "x").await;
    std::fs::remove_file(path).unwrap();

    let text = bench.fails("edit", json!({ "filePath": "x", "oldString": "old", "newString": "new" })).await;

    assert!(text.contains("No such file"), "{text}");
}

#[tokio::test]
async fn what_the_system_forbids_is_said_and_nothing_is_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let path = bench.file("locked/a.txt", "one");
    let locked = bench.dir.join("locked");
    bench.ok("read", json!({ "filePath": "locked/a.txt" })).await;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o500)).unwrap();
    // Some people may do everything; then there is nothing to see here.
    let may_everything = std::fs::read(&path).is_ok();

    let mut outcomes = Vec::new();
    for (tool, input) in [
        ("read", json!({ "filePath": "locked/a.txt" })),
        ("edit", json!({ "filePath": "locked/a.txt", "oldString": "one", "newString": "two" })),
        ("write", json!({ "filePath": "locked/b.txt", "content": "x" })),
    ] {
        outcomes.push((tool, bench.run(tool, input).await));
    }
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o700)).unwrap();

    if may_everything {
        return;
    }
    for (tool, outcome) in outcomes {
        let failure = outcome.expect_err(tool);
        assert!(
            failure.text.contains("permi") || failure.text.contains("allowed"),
            "{tool}: {}",
            failure.text
        );
    }
    assert!(!locked.join("b.txt").exists());
}

#[test]
fn a_difference_is_headed_by_its_file_and_counts_its_lines() {
    let changed = difference("/p/a.txt", "one\ntwo\n", "one\n2\n");
    let made = difference("/p/b.txt", "", "new");

    let rule = "=".repeat(67);
    let head = |name: &str| format!("Index: {name}\n{rule}\n--- {name}\n+++ {name}\n");
    assert_eq!(changed.patch, format!("{}@@ -1,2 +1,2 @@\n one\n-two\n+2\n", head("/p/a.txt")));
    let unended = "@@ -0,0 +1,1 @@\n+new\n\\ No newline at end of file\n";
    assert_eq!(made.patch, format!("{}{unended}", head("/p/b.txt")));
    assert_eq!((changed.additions, changed.deletions, made.additions), (1, 1, 1));
}

#[tokio::test]
async fn settings_are_not_changed_like_other_files() {
    let bench = Bench::new();
    bench.file("AGENTS.md", "old\n");
    bench.file("src/a.txt", "a\n");
    bench.ok("read", json!({ "filePath": "AGENTS.md" })).await;
    bench.asks();

    bench.ok("edit", json!({ "filePath": "AGENTS.md", "oldString": "old", "newString": "new" })).await;
    bench.ok("write", json!({ "filePath": ".opencode/tool/x.ts", "content": "x" })).await;
    let patch = "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** End Patch";
    bench.ok("apply_patch", json!({ "patchText": patch })).await;
    let command = "echo x > opencode.jsonc; cp src/a.txt .claude/settings.json; cat .git/config; true > out";
    std::fs::create_dir(bench.dir.join(".claude")).unwrap();
    bench.ok("bash", json!({ "command": command })).await;
    bench.ok("write", json!({ "filePath": "src/opencode.rs", "content": "x" })).await;

    let asked = bench.asked();
    let settings = asked.iter().filter(|(permission, ..)| permission == "settings");
    let paths: Vec<&str> = settings.flat_map(|(_, patterns, _)| patterns).map(String::as_str).collect();
    let expected = [
        "AGENTS.md",
        ".opencode/tool/x.ts",
        ".git/hooks/pre-commit",
        "opencode.jsonc",
        ".claude/settings.json",
    ];
    assert_eq!(paths, expected);
    let edited: Vec<&str> = asked
        .iter()
        .filter(|(permission, ..)| permission == "edit")
        .flat_map(|(_, patterns, _)| patterns)
        .map(String::as_str)
        .collect();
    assert!(edited.contains(&"opencode.jsonc") && edited.contains(&"out"), "{edited:?}");
}

// Was: wildcards, options and links named them in ways that nobody looked at.
#[tokio::test]
async fn settings_are_found_behind_wildcards_options_and_links() {
    let bench = Bench::new();
    bench.file(".git/config", "x");
    bench.file("AGENTS.md", "x");
    bench.file("rules/notes.md", "x");
    bench.file("plain", "x");
    std::os::unix::fs::symlink("rules", bench.dir.join(".claude")).unwrap();
    for (command, settings) in [
        ("echo x > .gi?/config", vec![".git/config"]),
        ("echo x >> .g[i]t/conf*", vec![".git/conf*"]),
        ("rm -f AGENT*", vec!["AGENTS.md"]),
        ("cp plain {.git/x,y}", vec![".git/x"]),
        ("cp -t .git/hooks plain", vec![".git/hooks"]),
        ("cp --target-directory=.git/hooks plain", vec![".git/hooks"]),
        ("sed -i s/x/y/ .git/config", vec![".git/config"]),
        ("dd if=plain of=.git/config", vec![".git/config"]),
        ("curl -so .git/hooks/pre-commit http://127.0.0.1:1/", vec![".git/hooks/pre-commit"]),
        ("curl -o .git/hooks/pre-commit http://127.0.0.1:1/", vec![".git/hooks/pre-commit"]),
        ("git config core.hooksPath x", vec![".git/config"]),
        ("git -C . config --local core.pager x", vec![".git/config"]),
        ("git config --get core.pager", vec![]),
        ("git config core.pager", vec![]),
        ("echo x > rules/notes.md", vec!["rules/notes.md"]),
        ("echo x > ./rules/../.GIT/x", vec![".GIT/x"]),
        ("curl -sLO http://127.0.0.1:1/x/opencode.json?y=1", vec!["opencode.json"]),
        ("curl --remote-name http://127.0.0.1:1/AGENTS.md", vec!["AGENTS.md"]),
        ("wget -q -t 1 http://127.0.0.1:1/AGENTS.md", vec!["AGENTS.md"]),
        ("wget -q -t 1 -O .git/config http://127.0.0.1:1/", vec![".git/config"]),
        ("wget -q -t 1 --output-document=out http://127.0.0.1:1/AGENTS.md", vec![]),
        ("curl -s http://127.0.0.1:1/AGENTS.md", vec![]),
        ("tee -a AGENTS.md < plain", vec!["AGENTS.md"]),
        ("install plain .git/x", vec![".git/x"]),
        ("mv .git/x out", vec![".git/x"]),
        ("cd .git && echo x > config", vec![".git/config"]),
        ("(cd rules; cp notes.md ../AGENTS.md)", vec!["rules/notes.md", "../AGENTS.md", "AGENTS.md"]),
        ("git -C rules config core.pager x", vec![".git/config"]),
        ("sed --in-place s/x/y/ AGENTS.md", vec!["AGENTS.md"]),
        ("rm -f *.o", vec![]),
        ("echo x > out", vec![]),
    ] {
        bench.run("bash", json!({ "command": command })).await.ok();
        let asks = bench.asked();
        let asked = asks.iter().filter(|(permission, ..)| permission == "settings");
        let found: Vec<&str> = asked.flat_map(|(_, patterns, _)| patterns).map(String::as_str).collect();
        assert_eq!(found, settings, "{command}");
    }

    bench.ok("read", json!({ "filePath": "rules/notes.md" })).await;
    bench.asks();
    bench.ok("edit", json!({ "filePath": ".claude/notes.md", "oldString": "x", "newString": "y" })).await;
    let asked: Vec<String> = bench.asked().into_iter().map(|(permission, ..)| permission).collect();
    assert_eq!(asked, ["edit", "settings"]);
}
