//! The disk space that sessions use.

use crate::args::Du;
use crate::failure::{Failure, UNMET};
use crate::out;
use crate::progress::Progress;
use crate::table::{Table, bytes};
use serde::Serialize;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sturdy_engine::{Environment, TreesUsage, trees_usage};

/// Its fields do not change between releases.
#[derive(Debug, Serialize)]
struct Usage {
    store: PathBuf,
    database: u64,
    outputs: u64,
    trees: Vec<TreesUsage>,
    total: u64,
}

pub(crate) fn run(arguments: Du) -> Result<ExitCode, Failure> {
    let data_dir = arguments.data.or_default(&Environment::of_process());
    if !data_dir.is_dir() {
        return Err(Failure::new(UNMET, "there is no store")
            .with("path", data_dir.display())
            .with("try", "the place with --data-dir DIR; a store is made by: sturdy serve"));
    }
    let progress = Progress::of("Measuring");
    let measured = measure(&data_dir);
    progress.end();
    let usage = measured.map_err(|cause| {
        Failure::new(UNMET, "the store cannot be read").with("path", data_dir.display()).with("cause", cause)
    })?;
    if arguments.json {
        out::json(&usage);
    } else {
        print(&usage);
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(data_dir: &Path) -> io::Result<Usage> {
    let mut database = 0;
    for name in ["sturdy.db", "sturdy.db-wal", "sturdy.db-shm"] {
        database += size(&data_dir.join(name))?;
    }
    let mut outputs = 0;
    if let Ok(entries) = data_dir.join("tool-output").read_dir() {
        for entry in entries {
            outputs += size(&entry?.path())?;
        }
    }
    let trees = trees_usage(data_dir)?;
    let total = database + outputs + trees.iter().map(|one| one.bytes).sum::<u64>();
    Ok(Usage { store: data_dir.to_owned(), database, outputs, trees, total })
}

/// What a file takes; nothing if it is gone.
fn size(path: &Path) -> io::Result<u64> {
    match path.symlink_metadata() {
        Ok(about) => Ok(about.blocks() * 512),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn print(usage: &Usage) {
    let mut table = Table::new(&["WHAT", "SESSIONS", "SIZE"], 0);
    let mut row = |what: String, sessions: String, size: u64| table.row(vec![what, sessions, bytes(size)]);
    row("database".to_owned(), String::new(), usage.database);
    row("long outputs of tools".to_owned(), String::new(), usage.outputs);
    for one in &usage.trees {
        row(format!("trees of {}", one.worktree.display()), one.sessions.to_string(), one.bytes);
    }
    row("all".to_owned(), String::new(), usage.total);
    table.print();
}
