//! Language servers, spoken to by a scripted one (`lsp.sh`).

use crate::bench::Bench;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use sturdy_worktree::lsp::{Lsp, LspError, Operation, Server, known};
use tokio_util::sync::CancellationToken;

fn scripted() -> Server {
    Server {
        id: "script".to_owned(),
        command: vec![
            "/bin/sh".to_owned(),
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/lsp.sh").to_owned(),
        ],
        extensions: vec![".lang".to_owned()],
        variables: vec![("LEVEL".to_owned(), "9".to_owned())],
        initialization: json!({ "deep": { "er": "found" } }),
        root_files: Vec::new(),
    }
}

#[allow(clippy::disallowed_methods, reason = "the engine's tasks are not here")]
fn start(
    server: Server,
    directory: &Path,
    (told, started): (Arc<AtomicUsize>, Arc<AtomicUsize>),
    patience: Duration,
) -> Arc<Lsp> {
    let spawn = Arc::new(move |task| {
        started.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(task);
    });
    let tell = Arc::new(move || {
        told.fetch_add(1, Ordering::SeqCst);
    });
    let stop = CancellationToken::new();
    let lsp = Lsp::new(vec![server], directory.to_owned(), Vec::new(), spawn, tell, stop);
    Arc::new(lsp.start_patience(patience))
}

struct Scene {
    bench: Bench,
    lsp: Arc<Lsp>,
    told: Arc<AtomicUsize>,
    started: Arc<AtomicUsize>,
}

/// A directory with a server in it; `marks` are the files that change it.
fn scene(marks: &[&str]) -> Scene {
    scene_with(scripted(), marks)
}

fn scene_with(server: Server, marks: &[&str]) -> Scene {
    let bench = Bench::new();
    marks.iter().for_each(|mark| drop(bench.file(mark, "")));
    scene_on(bench, server, marks)
}

fn scene_on(mut bench: Bench, server: Server, marks: &[&str]) -> Scene {
    let told = Arc::new(AtomicUsize::new(0));
    let started = Arc::new(AtomicUsize::new(0));
    // Nobody waits for one that will not answer.
    let patience =
        if marks.contains(&"silent") { Duration::from_millis(50) } else { Duration::from_secs(30) };
    let lsp = start(server, &bench.dir, (told.clone(), started.clone()), patience);
    let asked = lsp.clone();
    bench.world.handles.diagnose = Some(Arc::new(move |paths| {
        let lsp = asked.clone();
        Box::pin(async move { lsp.diagnose(&paths).await })
    }));
    Scene { bench, lsp, told, started }
}

impl Scene {
    fn starts(&self) -> Vec<i32> {
        let text = std::fs::read_to_string(self.bench.dir.join("starts")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    fn status(&self) -> Vec<(String, PathBuf, bool)> {
        self.lsp.status().into_iter().map(|one| (one.id, one.root, one.broken.is_none())).collect()
    }

    async fn write(&self, name: &str, content: &str) -> (String, Value) {
        let done = self.bench.ok("write", json!({ "filePath": name, "content": content })).await;
        (done.output, done.metadata["diagnostics"].clone())
    }
}

fn is_alive(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    !matches!(state, None | Some('Z' | 'X'))
}

async fn dies(pid: i32) -> bool {
    let dying = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), dying).await.is_ok()
}

/// What the scripted server says of a text with BAD in it.
fn fault() -> Value {
    json!({
        "range": { "start": { "line": 1, "character": 2 }, "end": { "line": 1, "character": 5 } },
        "severity": 1, "source": "script", "message": "this is bad",
    })
}

const CLEAN: &str = "The file was written.";

#[tokio::test]
async fn what_a_server_says_of_a_change_is_told_to_the_model() {
    let scene = scene(&[]);
    let path = scene.bench.dir.join("x.lang");

    assert_eq!(scene.write("other.txt", "BAD").await.0, CLEAN);
    assert_eq!((scene.status(), scene.starts()), (vec![], vec![]), "nothing is started before it is needed");

    let (output, diagnostics) = scene.write("x.lang", "one\n  BAD\n").await;
    assert!(output.contains("ERROR [2:3] this is bad"), "{output}");
    assert_eq!(diagnostics, json!({ path.to_string_lossy(): [fault()] }), "as the server said it");

    let edit = json!({ "filePath": "x.lang", "oldString": "BAD", "newString": "good" });
    let done = scene.bench.ok("edit", edit).await;
    assert_eq!((done.output.as_str(), &done.metadata["diagnostics"]), ("The file was changed.", &json!({})));

    assert_eq!(scene.status(), [("script".to_owned(), scene.bench.dir.clone(), true)]);
    assert_eq!((scene.starts().len(), scene.told.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn a_server_is_started_when_a_file_of_its_is_read() {
    let mut scene = scene(&[]);
    let mut settings = (*scene.bench.world.settings).clone();
    settings.lsp = Some(scene.lsp.clone());
    scene.bench.world.settings = Arc::new(settings);
    scene.bench.file("x.lang", "one\n");
    scene.bench.file("other.txt", "one\n");

    scene.bench.ok("read", json!({ "filePath": "other.txt" })).await;
    assert_eq!(scene.started.load(Ordering::SeqCst), 0);
    scene.bench.ok("read", json!({ "filePath": "x.lang" })).await;

    assert_eq!(scene.started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn errors_of_other_files_are_told_as_well() {
    let scene = scene(&[]);
    scene.write("a.lang", "one\n  BAD\n").await;

    let (output, _) = scene.write("b.lang", "fine\n").await;

    assert!(output.contains("This other file has errors") && output.contains("a.lang"), "{output}");
}

#[tokio::test]
async fn the_errors_of_a_patch_are_told_once() {
    let scene = scene(&[]);
    let patch = "*** Begin Patch\n*** Add File: a.lang\n+one\n+  BAD\n*** Add File: b.lang\n+one\n+  BAD\n*** End Patch";

    let done = scene.bench.ok("apply_patch", json!({ "patchText": patch })).await;

    // Was: those of the first file came again with those of the second.
    let at = |name: &str| scene.bench.dir.join(name).to_string_lossy().into_owned();
    let expected = json!({ at("a.lang"): [fault()], at("b.lang"): [fault()] });
    assert_eq!(done.metadata["diagnostics"], expected);
    assert_eq!(done.output.matches("this is bad").count(), 2, "{}", done.output);
}

#[tokio::test]
async fn a_server_that_wants_to_be_asked_is_asked() {
    let scene = scene(&["pulls"]);

    let (output, _) = scene.write("x.lang", "one\n  BAD\n").await;

    assert!(output.contains("ERROR [2:3] this is bad"), "{output}");
    assert_eq!(scene.write("x.lang", "good\n").await.0, CLEAN);
}

#[tokio::test]
async fn a_server_that_dies_is_broken_and_not_started_again() {
    let scene = scene(&["dies"]);

    for _ in 0..3 {
        assert_eq!(scene.write("x.lang", "BAD").await.0, CLEAN);
    }

    assert_eq!(scene.starts().len(), 1);
    assert_eq!(scene.status(), [("script".to_owned(), scene.bench.dir.clone(), false)]);
}

#[tokio::test]
async fn a_server_that_breaks_off_later_is_broken() {
    let scene = scene(&[]);
    scene.write("x.lang", "BAD").await;
    let pid = rustix::process::Pid::from_raw(scene.starts()[0]).unwrap();

    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    while scene.status()[0].2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    assert_eq!(scene.write("x.lang", "BAD again").await.0, CLEAN);
    assert_eq!((scene.starts().len(), scene.told.load(Ordering::SeqCst)), (1, 2));
}

// Was: a server whose task had panicked was starting for ever, and every change waited for it.
#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "the engine's tasks are not here")]
async fn a_server_whose_task_panics_is_broken_with_the_reason_and_started_again_a_few_times() {
    let bench = Bench::new();
    let file = bench.file("x.lang", "BAD");
    let told = AtomicUsize::new(0);
    // The task tells that the server is ready, then that it is broken: every first of the two panics.
    let tell = Arc::new(move || {
        let is_ready = told.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
        assert!(!is_ready, "as planned, whoever is told panics");
    });
    let spawn = Arc::new(|task| drop(tokio::spawn(task)));
    let stop = CancellationToken::new();
    let lsp = Lsp::new(vec![scripted()], bench.dir.clone(), Vec::new(), spawn, tell, stop);
    let lsp = lsp.start_patience(Duration::from_secs(60));
    let starts = || std::fs::read_to_string(bench.dir.join("starts")).unwrap().lines().count();

    for round in 1..=5 {
        lsp.warm(&file).await;
        let broken = async {
            while lsp.status().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), broken).await.expect("it is broken");

        let why = lsp.status()[0].broken.clone().unwrap();
        assert!(why.contains("panicked"), "{why}");
        assert_eq!(starts(), round.min(3), "it is not tried in a loop");
    }
    let asked = lsp.operate(Operation::Hover, &file, (1, 1), "").await;
    assert!(matches!(asked, Err(LspError::Broken { why, .. }) if why.contains("panicked")));
}

#[tokio::test]
async fn a_program_that_is_missing_or_speaks_nonsense_is_broken() {
    for command in [vec!["no-such-program"], vec!["echo", "hello"], vec![]] {
        let command = command.into_iter().map(str::to_owned).collect();
        let scene = scene_with(Server { command, ..scripted() }, &[]);

        assert_eq!(scene.write("x.lang", "BAD").await.0, CLEAN);

        assert_eq!(scene.status(), [("script".to_owned(), scene.bench.dir.clone(), false)]);
    }
}

/// What a server says that wants our memory, and why it is not listened to any longer.
const TOO_MUCH: [(&str, &str); 5] = [
    (r"printf 'Content-Length: 900000000000\r\n\r\n'; sleep 600", "a message is larger than 32 MiB"),
    (r"yes | tr -d '\n'", "the head of a message is longer than 4 KiB"),
    (r"yes 'x: y' | sed 's/$/\r/'", "the head of a message is longer than 4 KiB"),
    ("cat /dev/zero", "the head of a message is longer than 4 KiB"),
    (
        r"printf 'Content-Length: 3000000\r\n\r\n['; yes 0, | tr -d '\n' | head -c 3000000; sleep 600",
        "a message holds more than 1000000 values",
    ),
];

#[tokio::test]
async fn a_server_that_says_too_much_is_broken_with_the_reason() {
    for (script, why) in TOO_MUCH {
        for moment in ["first", "later"] {
            let bench = Bench::new();
            bench.file(moment, script);
            let scene = scene_on(bench, scripted(), &[]);

            assert_eq!(scene.write("x.lang", "BAD").await.0, CLEAN);
            // Which of the two is noticed first, the end of the patience or of the server, is not said.
            while scene.lsp.status().iter().all(|one| one.broken.is_none()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }

            assert_eq!(scene.lsp.status()[0].broken.as_deref(), Some(why), "{script}");
            assert!(dies(scene.starts()[0]).await, "its process is let go");
            assert_eq!(scene.write("y.lang", "BAD").await.0, CLEAN, "tools go on");
            let path = scene.bench.dir.join("x.lang");
            let asked = scene.lsp.operate(Operation::Hover, &path, (1, 1), "").await;
            let said = asked.unwrap_err().to_string();
            assert_eq!(said, format!("the language server script does not run: {why}"));
        }
    }
}

#[tokio::test]
async fn what_a_server_babbles_is_not_repeated() {
    let bench = Bench::new();
    bench.file("first", r"printf 'password=hunter2\r\n'; sleep 600");
    let scene = scene_on(bench, scripted(), &[]);

    scene.write("x.lang", "BAD").await;

    assert_eq!(
        scene.lsp.status()[0].broken.as_deref(),
        Some("it does not speak the language server protocol")
    );
}

#[tokio::test]
async fn a_change_does_not_wait_for_a_silent_server_for_ever() {
    let scene = scene(&["silent"]);

    assert_eq!(scene.write("x.lang", "BAD").await.0, CLEAN);
    assert_eq!(scene.status(), [], "it is still starting");
}

#[tokio::test]
async fn a_server_ends_with_its_directory() {
    let scene = scene(&[]);
    scene.write("x.lang", "BAD").await;
    let pid = scene.starts()[0];
    assert!(is_alive(pid));

    drop(scene);

    assert!(dies(pid).await);
}

#[tokio::test]
async fn a_server_is_given_its_settings_and_no_keys() {
    let scene = scene(&[]);
    scene.write("x.lang", "BAD").await;
    scene.write("x.lang", "still BAD").await;

    let seen = std::fs::read_to_string(scene.bench.dir.join("env")).unwrap();
    let configured = std::fs::read_to_string(scene.bench.dir.join("configured")).unwrap();

    assert!(seen.contains("LEVEL=9") && !seen.contains("_API_KEY"), "{seen}");
    assert!(configured.contains(r#""result":["found"]"#), "{configured}");
}

#[tokio::test]
async fn symbols_and_places_are_asked_for() {
    let scene = scene(&[]);
    assert_eq!(scene.lsp.symbols("thing").await, Vec::<Value>::new(), "nothing runs yet");
    scene.write("x.lang", "good").await;
    let path = scene.bench.dir.join("x.lang");

    let found = scene.lsp.symbols("thing").await;
    assert_eq!(found.iter().map(|one| &one["name"]).collect::<Vec<_>>(), [&json!("thing")]);
    let hover = scene.lsp.operate(Operation::Hover, &path, (1, 1), "").await.unwrap();
    assert_eq!(hover, [json!({ "contents": "a thing" })]);
    let refused = scene.lsp.operate(Operation::GoToDefinition, &path, (1, 1), "").await;
    assert!(matches!(refused, Err(LspError::Refused(_))), "{refused:?}");
    let unknown = scene.lsp.operate(Operation::Hover, Path::new("/x.other"), (1, 1), "").await;
    assert!(matches!(unknown, Err(LspError::NoServer)), "{unknown:?}");
}

#[test]
fn a_language_server_is_found_among_the_packages_of_the_project() {
    let top = tempfile::tempdir().unwrap();
    let below = top.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let command = |id: &str| {
        let found = known(&below, top.path()).into_iter().find(|server| server.id == id);
        found.map(|server| server.command[0].clone())
    };
    for (id, place) in [
        ("typescript", "node_modules/.bin/typescript-language-server"),
        ("pyright", ".venv/bin/pyright-langserver"),
        ("bash", "a/venv/bin/bash-language-server"),
    ] {
        let program = top.path().join(place);
        assert_ne!(command(id), Some(program.to_string_lossy().into_owned()));
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, "").unwrap();

        assert_eq!(command(id), Some(program.to_string_lossy().into_owned()));
    }
}

// Was: a repository with hundreds of packages had a language server for each that was looked at.
#[tokio::test]
async fn a_directory_has_a_bounded_number_of_servers() {
    let server = Server { root_files: vec!["package".to_owned()], ..scripted() };
    let scene = scene_with(server, &[]);

    for number in 0..40 {
        scene.bench.file(&format!("{number}/package"), "");
        let file = scene.bench.file(&format!("{number}/a.lang"), "");
        scene.lsp.warm(&file).await;
    }

    // The last of them is that of the directory itself.
    assert_eq!(scene.started.load(Ordering::SeqCst), 17);
}
