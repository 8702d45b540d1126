//! `sturdy run`: what it prints, what it asks, how it ends.

use crate::program::Place;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_answer_goes_to_stdout_and_the_session_is_kept() {
    let place = Place::new();

    let run = place.run(&["run", "hello", "there"]);

    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "hello there\n", ""));
    let sessions: Value = serde_json::from_str(&place.run(&["session", "list", "--json"]).stdout).unwrap();
    assert_eq!(sessions.as_array().unwrap().len(), 1);
    assert_eq!(sessions[0]["state"], "idle");
}

#[test]
fn what_comes_in_by_a_pipe_is_added_to_the_message() {
    let place = Place::new();
    let mut child = place.command(&["run", "say"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();

    child.stdin.take().unwrap().write_all(b"from a pipe\n").unwrap();

    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "say\nfrom a pipe\n");
}

#[test]
fn a_conversation_goes_on_and_a_copy_leaves_it_alone() {
    let place = Place::new();
    place.run(&["run", "first"]);
    let first: Value = serde_json::from_str(&place.run(&["session", "list", "--json"]).stdout).unwrap();
    let id = first[0]["id"].as_str().unwrap();
    let count = |id: &str| {
        let shown = place.run(&["session", "show", id, "--json"]).stdout;
        serde_json::from_str::<Value>(&shown).unwrap()["messages"].as_array().unwrap().len()
    };

    assert_eq!(place.run(&["run", "--continue", "second"]).stdout, "second\n");
    assert_eq!(count(id), 4);
    assert_eq!(place.run(&["run", "--session", id, "--fork", "third"]).stdout, "third\n");
    assert_eq!(count(id), 4);

    let sessions: Value = serde_json::from_str(&place.run(&["session", "list", "--json"]).stdout).unwrap();
    assert_eq!(sessions.as_array().unwrap().len(), 2);
}

// Was: "error: ConfigInvalidError", and the exit code of something that could not be met.
#[test]
fn a_configuration_that_cannot_be_used_is_named_with_its_place() {
    let place = Place::new();
    let file = place.project().join("opencode.json");
    let path = file.to_str().unwrap();
    let expected = |what: &str| {
        format!(
            "error: the configuration cannot be used\n  where   {path}\n  what    {what}\n  try     correct it there, then: sturdy doctor\n"
        )
    };

    std::fs::write(&file, "{\n  \"model\": 7\n}\n").unwrap();
    let wrong = place.run(&["run", "hello"]);
    std::fs::write(&file, "{ \"model\": ").unwrap();
    let cut = place.run(&["run", "hello"]);

    assert_eq!(
        (wrong.code, wrong.stderr),
        (Some(2), expected("model: Expected a string, found a number (line 2)"))
    );
    assert!(cut.stderr.contains(&format!("  where   {path}\n  what    Expected value")), "{}", cut.stderr);
    assert_eq!(cut.code, Some(2));
}

#[test]
fn what_is_not_there_is_told_with_a_way_on() {
    let place = Place::new();
    let nobody = "ses_0123456789abcdefghijklmnop";

    let session = place.run(&["session", "show", nobody]);
    let server = place.run(&["mcp", "login", "nobody"]);
    let away = place.run(&["session", "list", "--server", "http://127.0.0.1:9"]);

    let told = format!("error: Session not found: {nobody}\n  try     sturdy session list --all\n");
    assert_eq!((session.code, session.stderr), (Some(1), told));
    let told = "error: MCP server not found: nobody\n  try     sturdy mcp list\n".to_owned();
    assert_eq!((server.code, server.stderr), (Some(1), told));
    assert!(away.stderr.contains("Connection refused"), "{}", away.stderr);
    assert_eq!(away.code, Some(3));
}

#[test]
fn json_lines_are_those_of_the_reference() {
    let place = Place::new();

    let run = place.run(&[
        "run",
        "--format",
        "json",
        "/demo tool bash {\"command\":\"echo one\",\"description\":\"d\"}",
    ]);

    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let lines = lines(&run.stdout);
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["step_start", "tool_use", "step_finish", "step_start", "text", "step_finish"]);
    assert_eq!(lines[1]["part"]["state"]["output"], "one\n");
    assert!(lines.iter().all(|line| line["sessionID"].is_string() && line["timestamp"].is_u64()));
}

#[test]
fn a_turn_that_fails_ends_with_code_1_and_its_reason() {
    let place = Place::new();

    let failed = place.run(&["run", "/demo error 400 bad thing"]);
    let unknown_model = place.run(&["run", "--model", "demo/nope", "hi"]);
    let unknown_agent = place.run(&["run", "--agent", "nobody", "hi"]);
    let unknown_session = place.run(&["run", "--session", "ses_nope", "hi"]);
    let nothing_before = place.run(&["run", "--continue", "--dir", "/", "hi"]);

    for (ended, word) in [
        (&failed, "bad thing"),
        (&unknown_model, "demo/nope"),
        (&unknown_agent, "nobody"),
        (&unknown_session, "ses_nope"),
        (&nothing_before, "no session"),
    ] {
        assert_eq!(ended.code, Some(1), "{word}: {ended:?}");
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains(word), "{word}: {ended:?}");
    }
    assert_eq!(failed.stderr.matches("bad thing").count(), 1, "{}", failed.stderr);
}

// Was: every question that was refused left a session without a word in it.
#[test]
fn a_question_that_is_refused_leaves_no_session_behind() {
    let place = Place::new();

    place.run(&["run", "--model", "demo/nope", "hi"]);
    place.run(&["run", "--agent", "nobody", "hi"]);
    place.run(&["run", "/demo error 400 bad thing"]);

    let sessions: Value = serde_json::from_str(&place.run(&["session", "list", "--json"]).stdout).unwrap();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "what was asked and failed is kept: {sessions}");
}

#[test]
fn a_line_without_sense_is_code_2_and_starts_nothing() {
    let place = Place::new();
    for arguments in [
        &["run"][..],
        &["run", "--model", "alone", "hi"],
        &["run", "--file", "not-there", "hi"],
        &["run", "--server", "nowhere", "hi"],
        &["run", "--dir", "not-there", "hi"],
        &["run", "--session", "a/b", "hi"],
    ] {
        let ended = place.run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn no_server_at_a_url_is_code_3() {
    let place = Place::new();
    let ended = place.run(&["run", "--server", "http://127.0.0.1:9", "hi"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("error: no server answered\n  url     http://127.0.0.1:9\n"));
}

#[test]
fn a_server_that_runs_is_found_with_its_key_and_without_the_password() {
    let place = Place::new().with("STURDY_SERVER_PASSWORD", "hush-hush");
    let data = place.data().display().to_string();
    let server = place.serve(&[]);
    let mut command = place.command(&["run", "--data-dir", &data, "through the server"]);

    // Another terminal of the same user, which does not know the password.
    let run = command.env_remove("STURDY_SERVER_PASSWORD").output().unwrap();

    assert_eq!(String::from_utf8(run.stdout).unwrap(), "through the server\n");
    let mut stranger = place.command(&["run", "--server", &server.url, "hi"]);
    let refused = stranger.env_remove("STURDY_SERVER_PASSWORD").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let named = place.run(&["run", "--server", &server.url, "by its URL"]);
    assert_eq!((named.code, named.stdout.as_str()), (Some(0), "by its URL\n"));
}

#[test]
fn a_server_that_was_killed_is_not_waited_for() {
    let place = Place::new();
    let data = place.data().display().to_string();
    let server = place.serve(&[]);
    server.signal("KILL");
    server.ended();

    let run = place.run(&["run", "--data-dir", &data, "alone"]);

    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "alone\n"), "{}", run.stderr);
}

const ASKING: &str = r#"{"permission": {"bash": "ask"}}"#;
const CALL: &str = r#"/demo tool bash {"command":"echo done > proof","description":"d"}"#;

#[test]
fn without_a_terminal_a_permission_is_rejected_and_the_code_says_so() {
    let place = Place::new();
    std::fs::write(place.project().join("opencode.json"), ASKING).unwrap();

    let run = place.run(&["run", CALL]);

    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("Rejected: bash"), "{}", run.stderr);
    assert!(!place.project().join("proof").exists());
    let run = place.run(&["run", "--permission", "allow", CALL]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(place.project().join("proof").exists());
}

/// Runs the program in a terminal of its own and types.
fn typed(place: &Place, arguments: &str, keys: &[u8]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_sturdy");
    let plain = place.command(&[]);
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{program} {arguments}"), "/dev/null"]).env_clear();
    script.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    script.current_dir(place.project()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().unwrap();
    // Typed ahead: the terminal keeps it until it is asked for. The pipe stays open until the program ends.
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(keys).unwrap();
    let output = {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut text).unwrap();
        text
    };
    drop(keyboard);
    (child.wait().unwrap().code(), output)
}

#[test]
fn a_permission_is_answered_at_the_terminal() {
    let place = Place::new();
    std::fs::write(place.project().join("opencode.json"), ASKING).unwrap();
    std::fs::write(place.project().join("call"), CALL).unwrap();

    let (code, shown) = typed(&place, "run \"$(cat call)\"", b"maybe\ny\n");

    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(shown.matches("[y] once  [a] always  [n] no").count(), 2, "{shown}");
    assert!(place.project().join("proof").exists(), "{shown}");
}

// Was: refused at the terminal it ended with 0, refused without one with 1.
#[test]
fn a_permission_that_is_refused_at_the_terminal_ends_with_code_1() {
    let place = Place::new();
    std::fs::write(place.project().join("opencode.json"), ASKING).unwrap();
    std::fs::write(place.project().join("call"), CALL).unwrap();

    let (code, shown) = typed(&place, "run \"$(cat call)\"", b"n\n");

    assert_eq!(code, Some(1), "{shown}");
    assert!(!place.project().join("proof").exists(), "{shown}");
}

#[test]
fn a_terminal_is_shown_colours_unless_they_are_not_wanted() {
    let shown = |place: Place| {
        std::fs::write(place.project().join("opencode.json"), ASKING).unwrap();
        std::fs::write(place.project().join("call"), CALL).unwrap();
        typed(&place, "run \"$(cat call)\"", b"n\n").1
    };

    let coloured = shown(Place::new().with("TERM", "xterm-256color"));
    let plain = shown(Place::new().with("TERM", "xterm-256color").with("NO_COLOR", "1"));

    assert!(coloured.contains("Permission asked:") && coloured.contains("\u{1b}["), "{coloured:?}");
    assert!(plain.contains("Permission asked:") && !plain.contains("\u{1b}["), "{plain:?}");
}

#[test]
fn an_agent_that_is_named_answers() {
    let place = Place::new();

    let run = place.run(&["run", "--agent", "plan", "hello"]);

    // The demo model repeats what it was told, and that agent is told more than the person wrote.
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.starts_with("hello\n") && run.stdout.contains("plan mode"), "{}", run.stdout);
    let list: Value = serde_json::from_str(&place.run(&["session", "list", "--json"]).stdout).unwrap();
    let id = list[0]["id"].as_str().unwrap();
    let session: Value = serde_json::from_str(&place.run(&["session", "show", id, "--json"]).stdout).unwrap();
    let agents = session["messages"].as_array().unwrap().iter().map(|one| &one["info"]["agent"]);
    assert!(agents.into_iter().all(|agent| agent == "plan"), "{session}");
}

#[test]
fn a_model_cannot_move_the_cursor_of_the_terminal() {
    let place = Place::new();
    std::fs::write(place.project().join("message"), "\u{1b}[2Jgone").unwrap();

    let (_, shown) = typed(&place, "run \"$(cat message)\"", b"");
    let piped = place.run(&["run", "\u{1b}[2Jgone"]);

    assert!(shown.contains("\u{fffd}[2Jgone") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    assert_eq!(piped.stdout, "\u{1b}[2Jgone\n");
}

#[test]
fn ctrl_c_stops_the_turn_keeps_what_was_said_and_is_code_130() {
    let place = Place::new();
    let mut command = place.command(&["run", "/demo hang 3"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.ends_with("chunk 3\n") {
        assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0, "{line}");
    }

    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();

    assert!(status.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let list: Value = serde_json::from_str(&place.run(&["session", "list", "--json"]).stdout).unwrap();
    let shown = place.run(&["session", "show", list[0]["id"].as_str().unwrap()]).stdout;
    assert!(shown.contains("chunk 3") && shown.contains("error: "), "{shown}");
}

#[test]
fn a_file_goes_with_the_message() {
    let place = Place::new();
    std::fs::write(place.project().join("notes.txt"), "remember the milk").unwrap();
    let server = place.serve(&[]);
    let data = place.data().display().to_string();
    let last_prompt = || {
        let list = place.run(&["session", "list", "--json", "--data-dir", &data]).stdout;
        let list: Value = serde_json::from_str(&list).unwrap();
        place.run(&["session", "export", list[0]["id"].as_str().unwrap(), "--data-dir", &data]).stdout
    };

    // A server on this machine reads the file; one elsewhere is sent it.
    place.run(&["run", "--data-dir", &data, "--file", "notes.txt", "read"]);
    assert!(last_prompt().contains("remember the milk") && last_prompt().contains("file://"));
    place.run(&["run", "--server", &server.url, "--file", "notes.txt", "read"]);
    assert!(last_prompt().contains("remember the milk") && last_prompt().contains("data:text/plain"));
}

// Was: only `sturdy serve` hid its keys; a server inside another command had them in its environment.
#[cfg(target_os = "linux")]
#[test]
fn a_command_of_a_server_inside_run_does_not_find_the_keys() {
    let place = Place::new().with("ANTHROPIC_API_KEY", "SECRET-key").with("STURDY_SHARE_KEY", "SECRET-share");
    let look = "server=$PPID\n\
                for file in /proc/$server/fd/*; do\n\
                  case $(readlink $file) in *memfd:*) cat $file ;; esac\n\
                done > found\n\
                cat /proc/$server/environ >> found\n\
                env >> found\n\
                grep -c SECRET found\n\
                tr '\\0' '\\n' < /proc/$server/cmdline | tail -1\n";
    std::fs::write(place.project().join("look.sh"), look).unwrap();
    let call = serde_json::json!({ "command": "bash look.sh", "description": "d" });
    let mut child = place.command(&["run", "--model", "demo/echo", "--format", "json"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();

    child.stdin.take().unwrap().write_all(format!("/demo tool bash {call}").as_bytes()).unwrap();

    let output = child.wait_with_output().unwrap();
    let lines = lines(&String::from_utf8(output.stdout).unwrap());
    let tool = lines.iter().find(|line| line["type"] == "tool_use").unwrap();
    assert_eq!(tool["part"]["state"]["output"], "0\njson\n", "{tool}");
    let models = place.run(&["models"]).stdout;
    assert!(models.contains("anthropic/"), "the server itself has the key: {models}");
}
