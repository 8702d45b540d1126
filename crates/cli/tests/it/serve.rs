//! `sturdy serve`, and what stops it from serving.

use crate::program::{Ended, Place, Server};
use serde_json::json;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;

#[test]
fn a_server_says_where_its_data_is_and_where_it_listens() {
    let place = Place::new();
    let server = place.serve(&[]);

    let health = server.json("GET", "/global/health", "");

    assert_eq!(health, json!({ "healthy": true, "version": "1.18.33" }));
    assert_eq!(server.said[0], format!("sturdy data is in {}", place.data().display()));
    assert_eq!(server.said[1], format!("sturdy server listening on {}", server.url));
    server.signal("TERM");
    let (code, stderr) = server.ended();
    assert_eq!(code, Some(0));
    assert!(stderr.starts_with("warning: STURDY_SERVER_PASSWORD is not set"), "{stderr}");
}

#[test]
fn ctrl_c_ends_a_server_and_says_so() {
    let place = Place::new();
    let server = place.serve(&[]);
    server.signal("INT");
    assert_eq!(server.ended().0, Some(130));
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let place = Place::new();
    let server = place.serve(&[]);
    let session = server.json("POST", "/session", "{}");
    let path = format!("/session/{}/message", session["id"].as_str().unwrap());
    let answer = server.json("POST", &path, r#"{"parts":[{"type":"text","text":"keep this"}]}"#);
    let before = server.json("GET", &path, "");
    server.signal("KILL");
    assert_eq!(server.ended().0, None);

    let server = place.serve(&[]);

    assert_eq!(server.json("GET", &path, ""), before);
    assert_eq!(before[1], answer);
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
    assert_eq!(place.run(&["verify", "--data-dir", &place.data().display().to_string()]).code, Some(0));
}

#[test]
fn data_goes_to_the_users_data_directory_by_default() {
    let place = Place::new();
    let mut child = place.command(&["serve", "--port", "0"]);
    let mut child =
        child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut first)
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(first.trim(), format!("sturdy data is in {}/.local/share/sturdy", place.home().display()));
}

#[test]
fn a_password_is_asked_for_under_either_name_and_never_shown() {
    for (password, user) in [
        ("STURDY_SERVER_PASSWORD", "STURDY_SERVER_USERNAME"),
        ("OPENCODE_SERVER_PASSWORD", "OPENCODE_SERVER_USERNAME"),
    ] {
        let place = Place::new().with(password, "hush-hush").with(user, "ada");
        let server = place.serve(&["--log-level", "trace"]);
        // ada:hush-hush
        let right = server.ask("GET", "/global/health", "authorization: Basic YWRhOmh1c2gtaHVzaA==\r\n", "");
        let wrong = server.ask("GET", "/global/health", "", "");
        assert!(right.starts_with("HTTP/1.1 200"), "{right}");
        assert!(wrong.starts_with("HTTP/1.1 401"), "{wrong}");
        server.signal("TERM");
        let (_, stderr) = server.ended();
        assert!(!stderr.contains("hush-hush") && !stderr.contains("warning:"), "{stderr}");
    }
}

#[test]
fn the_second_server_of_a_store_is_told_who_serves_it() {
    let place = Place::new();
    let server = place.serve(&[]);
    let data = place.data().display().to_string();

    let second = place.run(&["serve", "--port", "0", "--data-dir", &data]);

    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""));
    let lines: Vec<_> = second.stderr.lines().collect();
    assert_eq!(lines[0], "error: this store is served by another process");
    assert_eq!(lines[1], format!("  store   {data}"));
    assert!(lines[2].contains(&format!("process {}", server.pid())), "{}", lines[2]);
    assert_eq!(lines[3], format!("  try     sturdy attach, or: opencode attach {}", server.url));
}

#[test]
fn a_port_in_use_is_told_with_a_way_on() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let data = place.data().display().to_string();

    let refused = place.run(&["serve", "--port", &port, "--data-dir", &data]);

    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        refused.stderr,
        format!(
            "error: the port is in use\n  address 127.0.0.1:{port}\n  try     sturdy serve --port 0   takes a free one\n"
        )
    );
    // And the store is free again.
    place.serve(&[]);
}

#[test]
fn a_data_directory_that_cannot_be_used_is_told_with_its_path() {
    let place = Place::new();
    let file = place.home().join("file");
    std::fs::write(&file, "x").unwrap();
    let run = |path: &std::path::Path| {
        place.run(&["serve", "--port", "0", "--data-dir", &path.display().to_string()])
    };

    let is_file = run(&file);
    let below_file = run(&file.join("below"));

    assert_eq!(is_file.code, Some(1));
    assert!(is_file.stderr.starts_with("error: the data directory is a file"), "{}", is_file.stderr);
    assert!(
        is_file.stderr.contains(&file.display().to_string()) && is_file.stderr.contains("--data-dir DIR")
    );
    assert_eq!(below_file.code, Some(1));
    assert!(
        below_file.stderr.starts_with("error: the data directory is a file, or lies below one"),
        "{}",
        below_file.stderr
    );

    let sealed = place.home().join("sealed");
    std::fs::create_dir(&sealed).unwrap();
    std::fs::set_permissions(&sealed, std::fs::Permissions::from_mode(0o500)).unwrap();
    // The superuser may write anywhere; then there is nothing to show.
    if std::fs::write(sealed.join("probe"), "").is_err() {
        let refused = run(&sealed);
        assert_eq!(refused.code, Some(1));
        assert!(
            refused.stderr.starts_with("error: the data directory cannot be written"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_file_that_is_no_database_is_left_as_it_is() {
    let place = Place::new();
    std::fs::create_dir(place.data()).unwrap();
    let file = place.data().join("sturdy.db");
    let content = "this is not a database, but it may be dear to somebody";
    std::fs::write(&file, content).unwrap();

    let refused = place.run(&["serve", "--port", "0", "--data-dir", &place.data().display().to_string()]);

    assert_eq!(refused.code, Some(4));
    assert!(refused.stderr.starts_with("error: the store's file is not a database"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
}

#[test]
fn a_line_that_makes_no_sense_is_code_2() {
    let place = Place::new();
    for arguments in [
        &["serve", "--prot", "1"][..],
        &["serve", "--port", "99999"],
        &["serve", "--durability", "maybe"],
        &["unheard-of"],
        &[],
    ] {
        let refused = place.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(!refused.stderr.is_empty());
    }
    let far =
        place.run(&["serve", "--hostname", "192.0.2.1", "--data-dir", &place.data().display().to_string()]);
    assert_eq!(far.code, Some(2), "{}", far.stderr);
}

#[test]
fn help_ends_with_examples_and_version_is_one_line() {
    let place = Place::new();
    for arguments in [&["--help"][..], &["serve", "--help"], &["verify", "--help"]] {
        let help = place.run(arguments);
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(help.stdout.contains("Examples:\n  sturdy "), "{}", help.stdout);
    }
    let version = place.run(&["--version"]);
    assert_eq!(version.stdout, format!("sturdy {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn logs_are_json_when_asked_and_never_on_stdout() {
    let place = Place::new();
    let server = place.serve(&["--log-format", "json", "--log-level", "debug"]);
    server.json("POST", "/session", "{}");
    server.signal("TERM");

    let (_, stderr) = server.ended();

    let lines: Vec<_> = stderr.lines().filter(|line| !line.starts_with("warning:")).collect();
    assert!(!lines.is_empty());
    for line in lines {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|cause| panic!("{cause}: {line}"));
    }
}

#[test]
fn other_machines_are_not_let_in_without_a_password_unless_that_is_said() {
    let place = Place::new();
    let data = place.data().display().to_string();

    for host in ["0.0.0.0", "::", "[::]"] {
        let refused = place.run(&["serve", "--port", "0", "--data-dir", &data, "--hostname", host]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{host}: {}", refused.stderr);
        assert!(refused.stderr.starts_with("error: other machines would be let in without a password\n"));
        assert!(refused.stderr.contains("--insecure"), "{}", refused.stderr);
    }
    let server = place.serve(&["--hostname", "0.0.0.0", "--insecure"]);
    assert!(server.ask("GET", "/global/health", "", "").starts_with("HTTP/1.1 200"));
    drop(server);

    let place = Place::new().with("STURDY_SERVER_PASSWORD", "hush");
    let server = place.serve(&["--hostname", "0.0.0.0"]);
    assert!(server.ask("GET", "/global/health", "", "").starts_with("HTTP/1.1 401"));
}

#[test]
fn a_name_that_was_allowed_is_answered_and_a_strange_one_is_not() {
    let place = Place::new();
    let server = place.serve(&["--allow-host", "agent.lan"]);
    let ask = |host: &str| server.ask_for(host, "GET", "/global/health", "", "");

    assert!(ask("agent.lan:4096").starts_with("HTTP/1.1 200"));
    assert!(ask("127.0.0.1").starts_with("HTTP/1.1 200"));
    assert!(ask("evil.example").starts_with("HTTP/1.1 403"));
}

/// A server whose shell allows so many open files, of which it may ask for more up to the second number.
fn serve_with_files(place: &Place, allowed: u32, at_most: u32) -> Server {
    let plain = place.command(&["serve", "--port", "0", "--data-dir", &place.data().display().to_string()]);
    let mut command = std::process::Command::new("sh");
    let limited = format!("ulimit -S -n {allowed} && ulimit -H -n {at_most} && exec \"$0\" \"$@\"");
    command.args(["-c", &limited]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(place.project()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Server::start(command)
}

// Was: a shell allows 1,024 files, and as many connections left none for anything else.
#[cfg(target_os = "linux")]
#[test]
fn a_server_asks_for_as_many_files_as_its_connections_need() {
    let place = Place::new();
    let server = serve_with_files(&place, 256, 4096);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().nth(3), Some("3072"), "{files}");
    server.signal("TERM");
    let (_, stderr) = server.ended();
    assert!(!stderr.contains("fewer connections"), "{stderr}");

    let server = serve_with_files(&place, 256, 512);
    assert_eq!(server.json("GET", "/global/health", "")["healthy"], json!(true));
    server.signal("TERM");
    let (_, stderr) = server.ended();
    assert!(
        stderr.contains("fewer connections are taken") && stderr.contains("connections_max=256"),
        "{stderr}"
    );
}

#[test]
fn an_origin_that_is_none_is_told_at_the_start() {
    let place = Place::new();
    let data = place.data().display().to_string();

    let refused = place.run(&["serve", "--data-dir", &data, "--cors", "tools.example/x"]);

    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.starts_with("error: this is not an origin of a web page\n"), "{}", refused.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_does_not_find_the_keys_of_the_server() {
    let place =
        Place::new().with("ANTHROPIC_API_KEY", "SECRET-key").with("STURDY_SERVER_PASSWORD", "SECRET-pass");
    let server = place.serve(&[]);
    // opencode:SECRET-pass
    let headers = "authorization: Basic b3BlbmNvZGU6U0VDUkVULXBhc3M=\r\ncontent-type: application/json\r\n\
                   accept-encoding: identity\r\n";
    let body = |answer: String| {
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let line = body.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str::<serde_json::Value>(line).unwrap()
    };
    let session = body(server.ask("POST", "/session", headers, "{}"));

    // It has them, and nobody sees them.
    let providers = body(server.ask("GET", "/provider", headers, ""));
    let pid = server.pid();
    let command = format!(
        "cat /proc/$PPID/environ /proc/{pid}/environ /proc/{pid}/fd/0 | tr '\\0' '\\n'; env; echo seen"
    );
    let path = format!("/session/{}/shell", session["id"].as_str().unwrap());
    let request = json!({ "agent": "build", "command": command }).to_string();
    let ran = server.ask("POST", &path, headers, &request);

    assert!(providers["connected"].as_array().unwrap().contains(&json!("anthropic")), "{providers}");
    assert!(server.ask("GET", "/session", "", "").starts_with("HTTP/1.1 401"));
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    assert!(!String::from_utf8_lossy(&environ).contains("SECRET"));
    assert!(ran.contains("seen") && !ran.contains("SECRET"), "{ran}");
}

#[test]
fn an_address_for_one_more_browser_is_good_once() {
    let place = Place::new().with("STURDY_SERVER_PASSWORD", "a word");
    let data = place.data().display().to_string();
    let none = place.run(&["open", "--data-dir", &data]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(3), ""), "{}", none.stderr);
    let server = place.serve(&[]);

    let opened = place.run(&["open", "--data-dir", &data]);
    let elsewhere =
        place.run(&["open", "--json", "--address", "https://pocket.example/", "--data-dir", &data]);
    let wrong = place.run(&["open", "--address", "pocket", "--data-dir", &data]);

    assert_eq!(opened.code, Some(0), "{}", opened.stderr);
    let (page, code) = opened.stdout.trim_end().split_once("/login#once=").unwrap();
    assert_eq!(page, server.url);
    let kind = "content-type: application/json\r\n";
    let body = json!({ "code": code }).to_string();
    let first = server.ask("POST", "/sturdy/login/once", kind, &body);
    let second = server.ask("POST", "/sturdy/login/once", kind, &body);
    assert!(first.starts_with("HTTP/1.1 200") && second.starts_with("HTTP/1.1 401"), "{first}\n{second}");
    assert!(elsewhere.stdout.contains(r#""https://pocket.example/login#once="#), "{}", elsewhere.stdout);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""));
    assert!(!opened.stderr.contains(code), "the code is told once");
}

// Was: the program hides its memory, and with it what connections it holds; so a command of the server that ran it
// was let in, made itself a token and trusted a project.
#[cfg(target_os = "linux")]
#[test]
fn a_command_that_runs_the_program_makes_no_token_and_trusts_nothing() {
    let place = Place::new();
    let config = r#"{ "mcp": { "x": { "type": "local", "command": ["touch", "marker"] } } }"#;
    std::fs::write(place.project().join("opencode.json"), config).unwrap();
    let server = place.serve_like_a_user();
    let session = server.json("POST", "/session", "{}");
    let path = format!("/session/{}/shell", session["id"].as_str().unwrap());
    let sturdy = env!("CARGO_BIN_EXE_sturdy");
    let data = place.data().display().to_string();

    for command in [
        format!("{sturdy} token create x --scope admin --data-dir {data}"),
        format!("{sturdy} open --data-dir {data}"),
        format!("{sturdy} trust . --data-dir {data}"),
        format!("env -i HOME=$HOME {sturdy} trust . --data-dir {data}"),
        format!("env -i HOME=$HOME setsid --wait {sturdy} trust . --data-dir {data}"),
        format!("exec env STURDY_COMMAND=1-1-t0 {sturdy} trust . --data-dir {data}"),
    ] {
        let request = json!({ "agent": "build", "command": format!("{command} 2>&1") }).to_string();
        let ran = server.json("POST", &path, &request).to_string();
        assert!(ran.contains("A command that this server started may read from the API"), "{command}: {ran}");
    }

    assert_eq!(server.json("GET", "/sturdy/token", ""), json!([]));
    assert_eq!(place.run(&["trust", "--json", "--data-dir", &data]).stdout, "[]\n");
    let trusted = place.run(&["trust", ".", "--data-dir", &data]);
    assert_eq!(trusted.code, Some(0), "a person may: {}", trusted.stderr);
    assert!(place.run(&["trust", "--data-dir", &data]).stdout.contains("project"));
}

// Was: the server that ran went on with what it had read.
#[test]
fn trust_that_is_removed_on_the_command_line_ends_in_the_server_that_runs() {
    let place = Place::new();
    let config = r#"{ "mcp": { "x": { "type": "local", "command": ["true"], "enabled": false } } }"#;
    std::fs::write(place.project().join("opencode.json"), config).unwrap();
    let data = place.data().display().to_string();
    let server = place.serve(&[]);
    let is_withheld = || {
        let warnings = server.json("GET", "/config", "")["warnings"].to_string();
        warnings.contains("not obeyed until this directory is trusted")
    };
    assert!(is_withheld());
    assert_eq!(place.run(&["trust", ".", "--data-dir", &data]).code, Some(0));
    server.json("POST", "/instance/dispose", "{}");
    assert!(!is_withheld());

    let removed = place.run(&["trust", "--remove", ".", "--data-dir", &data]);

    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert!(removed.stdout.contains("is not trusted any more"), "{}", removed.stdout);
    assert!(is_withheld());
    let listed = || place.run(&["trust", "--json", "--data-dir", &data]).stdout;
    assert_eq!(listed(), "[]\n");

    // Was: settings that could not be read kept their trust until somebody had mended them.
    let mut running = Some(server);
    for is_running in [true, false] {
        std::fs::write(place.project().join("opencode.json"), config).unwrap();
        assert_eq!(place.run(&["trust", ".", "--data-dir", &data]).code, Some(0));
        assert_ne!(listed(), "[]\n");
        std::fs::write(place.project().join("opencode.json"), "{ broken").unwrap();
        if let Some(server) = running.take_if(|_| !is_running) {
            server.signal("TERM");
            server.ended();
        }
        let removed = place.run(&["trust", "--remove", ".", "--data-dir", &data]);
        assert!(removed.stdout.contains("is not trusted any more"), "{removed:?}");
        assert_eq!(listed(), "[]\n");
    }
}

#[test]
fn a_service_manager_is_told_when_the_server_answers_and_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let heard = || {
        let mut buffer = [0; 256];
        let count = manager.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..count].to_vec()).unwrap()
    };
    let place = Place::new().with("NOTIFY_SOCKET", path.to_str().unwrap());
    let server = place.serve(&[]);

    assert_eq!(heard(), format!("READY=1\nSTATUS=listening on {}", server.url));
    server.signal("TERM");
    assert_eq!(heard(), "STOPPING=1");
    assert_eq!(server.ended().0, Some(0));
}

#[test]
fn a_server_listens_on_the_socket_it_is_given_and_answers_who_came_before_it() {
    let place = Place::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut early = std::net::TcpStream::connect(address).unwrap();
    let request = b"GET /global/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    std::io::Write::write_all(&mut early, request).unwrap();
    let data = place.data().display().to_string();
    let mut command = place.command(&["serve", "--listen-on-stdin", "--data-dir", &data]);
    command.stdin(std::os::fd::OwnedFd::from(socket));

    let server = Server::start(command);

    assert_eq!(server.url, format!("http://{address}"));
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut early, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert_eq!(server.json("GET", "/global/health", "")["healthy"], true);
}

#[test]
fn a_stdin_that_is_no_socket_is_refused() {
    let place = Place::new();
    let data = place.data().display().to_string();
    let mut command = place.command(&["serve", "--listen-on-stdin", "--data-dir", &data]);

    let refused: Ended = command.stdin(std::process::Stdio::null()).output().unwrap().into();

    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.starts_with("error: stdin is not a socket"), "{refused:?}");
}

#[test]
fn a_server_says_where_its_data_lives_where_the_page_is_and_how_to_attach() {
    let place = Place::new();
    let data = place.data().display().to_string();
    let mut command = place.command(&["serve", "--port", "0", "--data-dir", &data]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));

    let said: Vec<String> = lines.take(4).map(Result::unwrap).collect();
    child.kill().unwrap();
    child.wait().unwrap();

    let url = said[1].strip_prefix("sturdy server listening on ").unwrap();
    assert_eq!(said[0], format!("sturdy data is in {data}"));
    assert_eq!(said[2], format!("open {url} in a browser"));
    assert_eq!(said[3], format!("attach a terminal with: sturdy attach, or: opencode attach {url}"));
}

/// The command lines of the files below `contrib`, each with the file it stands in.
fn command_lines() -> Vec<(&'static str, Vec<String>)> {
    let unit = include_str!("../../../../contrib/systemd/sturdy.service");
    let by_socket = include_str!("../../../../contrib/systemd/sturdy.service.d/socket.conf");
    let plist = include_str!("../../../../contrib/launchd/sturdy.plist");
    let container = include_str!("../../../../contrib/container/Containerfile");
    let of_unit = |text: &str| {
        let line = text.lines().filter_map(|line| line.strip_prefix("ExecStart=")).next_back().unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    let array = plist.split_once("<array>").unwrap().1.split_once("</array>").unwrap().0;
    let strings =
        array.lines().filter_map(|line| line.trim().strip_prefix("<string>")?.strip_suffix("</string>"));
    let entry = container.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).unwrap();
    vec![
        ("sturdy.service", of_unit(unit)),
        ("socket.conf", of_unit(by_socket)),
        ("sturdy.plist", strings.map(str::to_owned).collect()),
        ("Containerfile", serde_json::from_str(entry).unwrap()),
    ]
}

#[test]
fn the_units_and_the_container_file_start_the_program_with_flags_it_has() {
    let place = Place::new();
    for (file, line) in command_lines() {
        // In a container something else is the first process.
        let line = line.strip_prefix(["tini".to_owned(), "--".to_owned()].as_slice()).unwrap_or(&line);
        assert!(line[0].ends_with("sturdy"), "{file}: {line:?}");
        let mut arguments: Vec<&str> = line[1..].iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = place.run(&arguments);
        assert_eq!(help.code, Some(0), "{file}: {line:?} {}", help.stderr);
        assert!(help.stdout.contains("--listen-on-stdin"), "{file}");
    }
}

#[test]
fn log_lines_of_a_request_carry_its_id_and_who_asked() {
    let place = Place::new();
    let server = place.serve(&["--log-level", "debug", "--log-format", "json"]);

    server.ask("GET", "/global/health", "x-request-id: build-7.3_a\r\n", "");
    server.signal("TERM");
    let (_, log) = server.ended();

    let answered = log.lines().find(|line| line.contains("build-7.3_a"));
    let answered = answered.unwrap_or_else(|| panic!("no line of the request: {log}"));
    assert!(answered.contains("answered") && answered.contains("local"), "{answered}");
}

#[test]
fn a_hangup_reads_configuration_again_and_tells_the_clients() {
    let place = Place::new();
    let config = place.project().join("opencode.json");
    std::fs::write(&config, r#"{"username": "before"}"#).unwrap();
    let server = place.serve(&[]);
    assert_eq!(server.json("GET", "/config", "")["username"], "before");
    let mut events = std::net::TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    std::io::Write::write_all(&mut events, b"GET /global/event HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(events)).map(Result::unwrap);
    assert!(lines.any(|line| line.contains("server.connected")));
    std::fs::write(&config, r#"{"username": "after"}"#).unwrap();

    server.signal("HUP");

    assert!(lines.any(|line| line.contains("global.disposed")));
    assert_eq!(server.json("GET", "/config", "")["username"], "after");
}

#[test]
fn a_hangup_keeps_the_configuration_of_a_directory_whose_new_one_is_wrong() {
    let place = Place::new();
    let config = place.project().join("opencode.json");
    std::fs::write(&config, r#"{"username": "before"}"#).unwrap();
    let server = place.serve(&[]);
    assert_eq!(server.json("GET", "/config", "")["username"], "before");
    let mut events = std::net::TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    std::io::Write::write_all(&mut events, b"GET /global/event HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(events)).map(Result::unwrap);
    assert!(lines.any(|line| line.contains("server.connected")));
    std::fs::write(&config, "{\n\"username\": 7\n}").unwrap();

    server.signal("HUP");

    // Was: every route of the directory was refused until the file was mended.
    assert!(lines.any(|line| line.contains("global.disposed")));
    assert_eq!(server.json("GET", "/config", "")["username"], "before");
    std::fs::write(&config, r#"{"username": "after"}"#).unwrap();
    server.signal("HUP");
    assert!(lines.any(|line| line.contains("global.disposed")));
    assert_eq!(server.json("GET", "/config", "")["username"], "after");
    server.signal("TERM");
    let (_, log) = server.ended();
    assert!(log.contains("it keeps the one from before") && log.contains("opencode.json"), "{log}");
    assert!(log.contains("line 2"), "{log}");
}

#[test]
fn a_panic_of_the_writing_thread_ends_the_program_with_its_own_code() {
    let place = Place::new().with("STURDY_TEST_PANIC_AT_COMMIT", "1");
    let server = place.serve(&[]);

    let answer = server.ask("POST", "/session", "content-type: application/json\r\n", "{}");

    // Answered or cut off by the end of the process, but never kept waiting, and never told that it is stored.
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 5"), "{answer}");
    let (code, stderr) = server.ended();
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("error: the store's writing thread failed; the server ends."), "{stderr}");
    // Whoever starts it again finds a store.
    let place = place.with("STURDY_TEST_PANIC_AT_COMMIT", "");
    let server = place.serve(&[]);
    assert!(server.json("POST", "/session", "{}")["id"].is_string());
}

/// Bytes of memory that the server has.
#[cfg(target_os = "linux")]
fn resident(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn memory_of_large_prompts_is_given_back() {
    const MB: usize = 1024 * 1024;
    let place = Place::new();
    let server = place.serve(&[]);
    let text = "x".repeat(16 * MB);
    let body = json!({ "noReply": true, "parts": [{ "type": "text", "text": text }] }).to_string();
    let before = resident(&server);
    for _ in 0..3 {
        let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
        let kept = server.ask(
            "POST",
            &format!("/session/{session}/message"),
            "content-type: application/json\r\n",
            &body,
        );
        assert!(kept.starts_with("HTTP/1.1 200"), "{}", &kept[..kept.len().min(300)]);
        server.json("DELETE", &format!("/session/{session}"), "");
    }

    // Was: some 60 MB more with each, for as long as the process lived.
    let grown = resident(&server).saturating_sub(before) / MB;
    assert!(grown < 32, "{grown} MB are kept after everything is deleted");
}

// Was: the registry forgot no session, and after ten thousand of them the server held 103 MB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn memory_does_not_grow_with_the_number_of_sessions_that_were_created() {
    let place = Place::new();
    let server = place.serve(&["--durability", "normal"]);
    // As many as are kept awake, and what a process takes once.
    create_sessions(&server, 1_000);
    let before = resident(&server);
    create_sessions(&server, 9_000);

    let grown = resident(&server).saturating_sub(before) / 1024;
    assert!(grown < 8 * 1024, "{grown} KiB more for nine thousand sessions that nobody uses");
}

/// Over a few connections that stay open, so that ten thousand take seconds.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn create_sessions(server: &Server, count: usize) {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    const CONNECTIONS: usize = 8;
    let create = || {
        let mut socket = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
        let request = "POST /session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                       accept-encoding: identity\r\ncontent-length: 2\r\n\r\n{}";
        for _ in 0..count / CONNECTIONS {
            socket.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            // The record is one JSON object behind the head; its last letter ends the answer.
            while !answer.ends_with(b"}") && !answer.ends_with(b"0\r\n\r\n") {
                let mut buffer = [0; 4096];
                let read = socket.read(&mut buffer).unwrap();
                assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
                answer.extend_from_slice(&buffer[..read]);
            }
            assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(create);
        }
    });
}

// Was: a conversation of 12 MB was in memory some fifteen times at once.
#[cfg(target_os = "linux")]
#[test]
fn a_copy_of_a_long_conversation_takes_little_memory() {
    const MB: usize = 1024 * 1024;
    let place = Place::new();
    let server = place.serve(&[]);
    let status = |name: &str| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    };
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let path = format!("/session/{session}/message");
    // Ten messages of one part, and one of two megabytes in parts.
    let text = json!({ "type": "text", "text": "x".repeat(MB) });
    for parts in [vec![text.clone()], vec![text.clone(), text]].into_iter().cycle().take(8) {
        let body = json!({ "noReply": true, "parts": parts }).to_string();
        let kept = server.ask("POST", &path, "content-type: application/json\r\n", &body);
        assert!(kept.starts_with("HTTP/1.1 200"), "{}", &kept[..kept.len().min(300)]);
    }
    let before = status("VmRSS:");
    let highest = status("VmHWM:");

    let fork = server.json("POST", &format!("/session/{session}/fork"), "{}");

    let copied = server.json("GET", &format!("/session/{}/message", fork["id"].as_str().unwrap()), "");
    assert_eq!(copied.as_array().unwrap().len(), 8);
    let grown = status("VmHWM:").saturating_sub(before.max(highest)) / MB;
    assert!(grown < 24, "{grown} MB more than before");
}
