//! `glob`, `grep`, `list`, and the searches clients ask for.

use crate::bench::{Bench, ask};
use serde_json::json;
use std::os::unix::ffi::OsStrExt;
use sturdy_worktree::search::{self, Content, Find, KeptNames, Kind, SearchError};
use tokio_util::sync::CancellationToken;

/// A search that nobody stops.
fn going() -> CancellationToken {
    CancellationToken::new()
}

fn tree() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.dir.join(".git")).unwrap();
    bench.file(".git/config", "needle");
    bench.file(".gitignore", "ignored/\n*.log\n");
    bench.file("ignored/x.rs", "needle");
    bench.file("a.log", "needle");
    bench.file(".hidden/h.rs", "needle hidden");
    bench.file("src/main.rs", "fn main() {\n    needle(1);\n}\n");
    bench.file("src/deep/lib.rs", "// nothing\n");
    bench.file("readme.md", "A needle here\nand a Needle there\n");
    bench
}

#[tokio::test]
async fn glob_finds_by_name_and_by_the_ignore_rules() {
    let bench = tree();

    let done = bench.ok("glob", json!({ "pattern": "*.rs" })).await;

    assert_eq!(done.output, format!("{}\n{}", bench.path("src/deep/lib.rs"), bench.path("src/main.rs")));
    assert_eq!(done.metadata, *json!({ "count": 2, "truncated": false }).as_object().unwrap());
    assert_eq!(bench.asked(), [ask("glob", "*.rs", "*")]);
}

#[tokio::test]
async fn glob_takes_paths_in_several_forms() {
    let bench = tree();
    let main = bench.path("src/main.rs");

    for input in [
        json!({ "pattern": "*.rs", "path": "src", }),
        json!({ "pattern": "src/*.rs" }),
        json!({ "pattern": "**/main.*" }),
        json!({ "pattern": bench.path("src/ma*") }),
    ] {
        assert!(bench.ok("glob", input.clone()).await.output.contains(&main), "{input}");
    }
    let done = bench.ok("glob", json!({ "pattern": "*.none" })).await;
    assert_eq!((done.output.as_str(), &done.metadata["count"]), ("No file matches.", &json!(0)));
}

#[tokio::test]
async fn glob_shows_the_first_hundred() {
    let bench = Bench::new();
    for n in 0..150 {
        bench.file(&format!("f{n:03}.txt"), "");
    }

    let done = bench.ok("glob", json!({ "pattern": "*.txt" })).await;

    assert!(done.output.starts_with(&bench.path("f000.txt")));
    assert!(done.output.contains("f099.txt") && !done.output.contains("f100.txt"));
    assert_eq!(done.metadata, *json!({ "count": 100, "truncated": true }).as_object().unwrap());
}

#[tokio::test]
async fn searches_that_cannot_be_made_say_why() {
    let bench = tree();
    for (tool, input, expected) in [
        ("glob", json!({ "pattern": "a{b" }), "not a pattern"),
        ("glob", json!({ "pattern": "*", "path": "none" }), "No such file"),
        ("glob", json!({ "pattern": "*", "path": "readme.md" }), "not a directory"),
        ("grep", json!({ "pattern": "(" }), "not a regular expression"),
        ("grep", json!({ "pattern": "" }), "empty"),
        ("grep", json!({ "pattern": "x", "path": "none" }), "No such file"),
    ] {
        let text = bench.fails(tool, input).await;
        assert!(text.contains(expected), "{tool}: {text}");
    }
}

#[tokio::test]
async fn grep_finds_lines_also_in_hidden_files() {
    let bench = tree();

    let done = bench.ok("grep", json!({ "pattern": "needle" })).await;

    let expected = format!(
        "3 matching lines\n\n{}:\n  1: needle hidden\n\n{}:\n  1: A needle here\n\n{}:\n  2:     needle(1);\n",
        bench.path(".hidden/h.rs"),
        bench.path("readme.md"),
        bench.path("src/main.rs")
    );
    assert_eq!(done.output, expected);
    assert_eq!((done.title.as_str(), &done.metadata["matches"]), ("needle", &json!(3)));
    assert_eq!(bench.asked(), [ask("grep", "needle", "*")]);
}

#[tokio::test]
async fn grep_is_narrowed_by_path_and_include() {
    let bench = tree();

    let included = bench.ok("grep", json!({ "pattern": "(?i)needle", "include": "*.{md,txt}" })).await;
    let file = bench.ok("grep", json!({ "pattern": "fn \\w+", "path": "src/main.rs" })).await;
    let across = bench.ok("grep", json!({ "pattern": "main\\(\\) \\{\\n", "path": "src" })).await;

    assert_eq!(included.metadata["matches"], 2);
    assert!(file.output.contains("1: fn main() {"), "{}", file.output);
    assert_eq!(across.metadata["matches"], 1);
    assert_eq!(bench.ok("grep", json!({ "pattern": "zzz" })).await.output, "No line matches.");
}

#[tokio::test]
async fn grep_shows_the_first_hundred_whoever_is_faster() {
    let bench = Bench::new();
    for n in 0..60 {
        bench.file(&format!("d{}/f{n:02}.txt", n % 7), "match\n".repeat(5));
    }

    let first = bench.ok("grep", json!({ "pattern": "match" })).await;

    assert_eq!(first.metadata, *json!({ "matches": 100, "truncated": true }).as_object().unwrap());
    for _ in 0..5 {
        assert_eq!(bench.ok("grep", json!({ "pattern": "match" })).await.output, first.output);
    }
}

#[tokio::test]
async fn grep_passes_over_binary_and_odd_files() {
    let bench = Bench::new();
    bench.file("binary", b"needle\0needle");
    bench.file("latin", b"needle caf\xe9\n");
    std::fs::write(bench.dir.join(std::ffi::OsStr::from_bytes(b"n\xff")), "needle").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", bench.dir.join("link")).unwrap();

    let done = bench.ok("grep", json!({ "pattern": "needle|root" })).await;

    assert_eq!(done.metadata["matches"], 2, "{}", done.output);
    assert!(done.output.contains("needle caf\u{fffd}"));
}

#[test]
fn a_directory_is_listed_for_clients() {
    let bench = tree();

    let listed = search::list(&bench.world.roots, "").unwrap();

    let names: Vec<(&str, Kind, bool)> =
        listed.iter().map(|one| (one.path.as_str(), one.kind, one.ignored)).collect();
    let expected = [
        (".git/", Kind::Directory, false),
        (".hidden/", Kind::Directory, false),
        ("ignored/", Kind::Directory, true),
        ("src/", Kind::Directory, false),
        (".gitignore", Kind::File, false),
        ("a.log", Kind::File, true),
        ("readme.md", Kind::File, false),
    ];
    assert_eq!(names, expected);
    assert!(matches!(search::list(&bench.world.roots, "../outside"), Err(SearchError::Outside(_))));
    assert!(search::list(&bench.world.roots, "none").is_err());
}

#[test]
fn contents_are_text_or_base64() {
    let bench = tree();
    bench.file("nul", b"a\0b");
    bench.file("padded", "\n text \n");
    let content = |name| search::content(&bench.world.roots, name).unwrap();

    assert_eq!(content("padded"), Content::Text { content: "text".to_owned() });
    assert_eq!(content("none"), Content::Text { content: String::new() });
    assert!(matches!(content("nul"), Content::Binary { encoding: "base64", .. }));
    assert!(search::content(&bench.world.roots, "/etc/passwd").is_err());
}

#[test]
fn lines_are_found_with_their_places() {
    let bench = tree();

    let found =
        search::text(&bench.world.roots, "needle", search::MATCHES, &|_| true, &going()).unwrap().matches;

    let last = serde_json::to_value(&found[2]).unwrap();
    let expected = json!({
        "path": { "text": "src/main.rs" }, "lines": { "text": "    needle(1);\n" }, "line_number": 2,
        "absolute_offset": 12, "submatches": [{ "match": { "text": "needle" }, "start": 4, "end": 10 }],
    });
    assert_eq!(last, expected);
    assert_eq!(search::text(&bench.world.roots, "needle", 2, &|_| true, &going()).unwrap().matches.len(), 2);
    assert!(search::text(&bench.world.roots, "(", 2, &|_| true, &going()).is_err());
}

#[test]
fn the_place_of_a_match_at_the_end_of_a_line_is_known() {
    let bench = tree();

    let found = search::text(&bench.world.roots, r"main\(\) \{$", search::MATCHES, &|_| true, &going())
        .unwrap()
        .matches;

    // Was: the line was found, and no place in it.
    let places: Vec<_> = found[0].submatches.iter().map(|one| (one.start, one.end)).collect();
    assert_eq!(places, [(3, 11)]);
}

#[test]
fn names_are_found_by_likeness() {
    let bench = tree();
    let kept = KeptNames::default();
    let found = |query, find| kept.files(&bench.world.roots, query, find, 3, &going()).unwrap();

    assert_eq!(found("smain", Find::Files)[0], "src/main.rs");
    assert_eq!(found("SMAIN", Find::Files)[0], "src/main.rs");
    assert_eq!(found("deep", Find::Directories), ["src/deep/"]);
    assert_eq!(found("", Find::Both)[0], "src/");
    assert_eq!(found("", Find::Files).len(), 3);
    assert!(!found("x.rs", Find::Both).contains(&"ignored/x.rs".to_owned()));
}

#[test]
fn a_few_of_many_names_are_the_first_of_all_of_them() {
    let bench = Bench::new();
    for number in 0..200 {
        bench.file(&format!("room{}/file_{number}.rs", number % 7), "");
        bench.file(&format!("room{}/File{}.txt", number % 5, "e".repeat(number % 20)), "");
    }
    let kept = KeptNames::default();
    let found = |query, count| kept.files(&bench.world.roots, query, Find::Files, count, &going()).unwrap();

    for query in ["f", "fi", "file_1", "FILE", "1rs", "fee"] {
        let all = found(query, usize::MAX);
        assert!(all.len() > 4, "{query}");
        for count in [1, 2, 3, 10, 50] {
            assert_eq!(found(query, count), all[..count.min(all.len())], "{query}, {count}");
        }
        assert_eq!(found(query, 0), Vec::<String>::new());
    }
}

/// Searches until nothing was written lately, so that the next search is answered from what is kept.
fn settle(kept: &KeptNames, bench: &Bench) {
    let mut walks = u64::MAX;
    while kept.walks() != walks {
        walks = kept.walks();
        kept.files(&bench.world.roots, "x", Find::Both, 1, &going()).unwrap();
    }
}

#[test]
fn names_are_kept_until_a_directory_or_an_ignore_file_changes() {
    let bench = tree();
    let kept = KeptNames::default();
    let found = |query| kept.files(&bench.world.roots, query, Find::Files, 1, &going()).unwrap();

    settle(&kept, &bench);
    let walks = kept.walks();
    assert_eq!(found("smain"), ["src/main.rs"]);
    assert_eq!(found("nothing like it"), [""; 0]);
    assert_eq!(kept.walks(), walks, "two searches, no walk");

    bench.file("src/deep/brand_new.rs", "");
    assert_eq!(found("brandnew"), ["src/deep/brand_new.rs"]);

    settle(&kept, &bench);
    // In place: no directory changes.
    std::fs::write(bench.dir.join(".gitignore"), "ignored\nbrand_new.rs\n").unwrap();
    assert_eq!(found("brandnew"), [""; 0]);

    settle(&kept, &bench);
    std::fs::remove_file(bench.dir.join("src/main.rs")).unwrap();
    assert_eq!(found("smain"), [""; 0]);
}

// Was: sixteen of these at once cost 1.2 GB.
#[tokio::test]
async fn an_expression_that_would_need_much_memory_is_refused() {
    let bench = tree();
    let large = r"(?:\p{L}{100}){100}";
    let deep = format!("{}needle{}", "(".repeat(300), ")".repeat(300));

    for pattern in [large, &deep] {
        assert!(search::text(&bench.world.roots, pattern, 2, &|_| true, &going()).is_err());
        assert!(bench.run("grep", json!({ "pattern": pattern })).await.is_err());
    }
    let long = "(".repeat(100_000);
    let Err(SearchError::Pattern(said)) = search::text(&bench.world.roots, &long, 2, &|_| true, &going())
    else {
        panic!("not an expression");
    };
    assert!(said.len() < 2_000, "{}", said.len());
}

#[test]
fn a_search_that_was_stopped_finds_nothing_more() {
    let bench = tree();
    let stop = going();
    stop.cancel();

    let found =
        search::text(&bench.world.roots, "needle", search::MATCHES, &|_| true, &stop).unwrap().matches;
    let kept = KeptNames::default();
    let names = kept.files(&bench.world.roots, "", Find::Both, 10, &stop).unwrap();

    assert_eq!((found, names), (vec![], vec![]));
}

#[tokio::test]
async fn files_that_may_not_be_read_are_not_searched_and_counted() {
    let bench = Bench::new();
    bench.file("a.txt", "needle in the open\n");
    bench.file("deep/b.secret", "needle hidden\n");
    bench.file("c.secret", "nothing\n");

    let done = bench.ok("grep", json!({ "pattern": "needle" })).await;

    assert!(done.output.contains("in the open") && !done.output.contains("hidden"), "{}", done.output);
    assert!(done.output.contains("(2 files were not searched"), "{}", done.output);
    let named = bench.ok("grep", json!({ "pattern": "needle", "path": "deep/b.secret" })).await;
    assert!(!named.output.contains("hidden") && named.output.contains("(1 files"), "{}", named.output);
    let may_show = |path: &sturdy_worktree::path::WorkPath| !path.relative().ends_with(".secret");
    let found = search::text(&bench.world.roots, "needle", search::MATCHES, &may_show, &going()).unwrap();
    assert_eq!((found.matches.len(), found.skipped), (1, 2));
}
