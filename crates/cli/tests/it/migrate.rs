//! The program is killed (`kill -9`) while it makes the schema of its store.

use crate::disk::Disk;
use std::path::Path;
use std::process::Command;

/// Starts a server that is to be killed before it listens.
fn dies(disk: &Disk, told: &str, text: &str) -> bool {
    disk.tell_with(told, text);
    let data = disk.place.data().display().to_string();
    let arguments = ["serve", "--port", "0", "--log-level", "trace", "--data-dir", &data];
    let mut command: Command = disk.place.command(&arguments);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    disk.forget(told);
    let _ = child.kill();
    let _ = child.wait();
    line.is_empty()
}

fn starts_and_is_sound(disk: &Disk) {
    let server = disk.place.serve(&[]);
    server.json("POST", "/session", r#"{"title":"kept"}"#);
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
    let data = disk.place.data().display().to_string();
    let verified = disk.place.run(&["verify", "--data-dir", &data]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}

/// T-MIG-01
#[test]
fn a_server_that_is_killed_after_any_migration_starts_the_next_time() {
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations");
    let disk = Disk::new();

    for number in 1..=migrations.read_dir().unwrap().count() {
        assert!(dies(&disk, "kill-at", &format!("migrate.mid {number}")), "number {number}");
    }

    starts_and_is_sound(&disk);
}

/// T-MIG-01: in the middle of the writes of the commit that makes them, and before its fsync.
#[test]
fn a_server_that_is_killed_at_any_change_of_a_file_of_its_first_start_starts_the_next_time() {
    let mut deaths = 0;
    for changes in (0..).map(|round: usize| round + round * round / 2).take(20) {
        let disk = Disk::new();
        let is_dead = dies(&disk, "kill", &changes.to_string());
        starts_and_is_sound(&disk);
        if !is_dead {
            break;
        }
        deaths += 1;
    }
    assert!(deaths >= 6, "it died only {deaths} times");
}
