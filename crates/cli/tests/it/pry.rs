//! Looking into the server's process with the rights of the user it runs as.
//!
//! Whoever owns the machine may look into everything, and tests may run as that user. So the server, and whoever
//! pries, run as somebody else here.

use crate::program::{Place, Server};
use serde_json::json;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Nobody in particular.
const NOBODY: u32 = 65534;

/// Whether this test may become somebody else; who may not is nobody special already.
fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

fn as_nobody(command: &mut Command) {
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
}

/// A place that belongs to nobody, and the program where nobody can run it.
fn place_of_nobody(place: &Place) -> PathBuf {
    let root = place.home().parent().unwrap().to_owned();
    let program = root.join("sturdy");
    let built = Path::new(env!("CARGO_BIN_EXE_sturdy"));
    if fs::hard_link(built, &program).is_err() {
        fs::copy(built, &program).unwrap();
    }
    if is_root() {
        fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(place.data()).unwrap();
        for owned in [place.home(), place.project(), place.data()] {
            chown(owned, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    program
}

/// What a look at a file of a process comes to.
fn look(pid: u32, file: &str) -> String {
    let mut command = Command::new("cat");
    command.arg(format!("/proc/{pid}/{file}"));
    as_nobody(&mut command);
    let output = command.output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_of_the_server_cannot_be_looked_into_by_its_own_user() {
    let place = Place::new().with("ANTHROPIC_API_KEY", "SECRET-key");
    let program = place_of_nobody(&place);
    let data = place.data().display().to_string();
    let told = place.command(&["serve", "--port", "0", "--data-dir", &data]);
    let mut command = Command::new(program);
    command.args(told.get_args()).current_dir(place.project()).env_clear();
    command.envs(told.get_envs().filter_map(|(name, value)| Some((name, value?))));
    as_nobody(&mut command);
    let server = Server::start(command);
    let pid = server.pid();

    // Another process of the same user, which did nothing against it, is an open book: the test can tell.
    let mut open = Command::new("sh");
    open.args(["-c", "echo here; read -r wait"]).env("ANTHROPIC_API_KEY", "SECRET-key");
    open.stdin(Stdio::piped()).stdout(Stdio::piped());
    as_nobody(&mut open);
    let mut open = open.spawn().unwrap();
    // Its environment is there when it runs, which is a moment after it was started.
    let mut here = String::new();
    BufReader::new(open.stdout.take().unwrap()).read_line(&mut here).unwrap();
    let book = look(open.id(), "environ");
    open.kill().unwrap();
    open.wait().unwrap();
    let session = server.json("POST", "/session", "{}")["id"].as_str().unwrap().to_owned();
    let command = format!(
        "for file in environ mem maps auxv; do cat /proc/{pid}/$file; done; ls /proc/{pid}/fd; echo looked"
    );
    let request = json!({ "agent": "build", "command": command }).to_string();
    let ran = server.json("POST", &format!("/session/{session}/shell"), &request).to_string();

    assert!(book.contains("SECRET-key"), "{book}");
    for file in ["environ", "mem", "maps", "auxv"] {
        let seen = look(pid, file);
        assert!(seen.contains("Permission denied"), "{file}: {seen}");
    }
    assert!(ran.contains("looked") && !ran.contains("SECRET"), "{ran}");
    assert_eq!(ran.matches("Permission denied").count() % 5, 0, "{ran}");
    assert!(ran.contains("Permission denied"), "{ran}");
    let providers = server.json("GET", "/provider", "");
    assert!(
        providers["connected"].as_array().unwrap().contains(&json!("anthropic")),
        "the server has the key"
    );
}
