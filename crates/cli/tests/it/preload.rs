//! Libraries that stand between the built program and libc.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Builds a library of a source beside this file; the value of `LD_PRELOAD`. One at a time: a test beside this one in the
/// same process would take half a library for a whole one, and the program would run without it.
pub(crate) fn library(source: &str) -> String {
    static BUILT: Mutex<Option<TempDir>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = built.get_or_insert_with(|| tempfile::tempdir().unwrap());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(source);
    let library = directory.path().join(source.with_extension("so").file_name().unwrap());
    if !library.exists() {
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source)
            .arg("-ldl")
            .status();
        assert!(compiled.unwrap().success(), "the C compiler refuses {}", source.display());
    }
    library.display().to_string()
}
