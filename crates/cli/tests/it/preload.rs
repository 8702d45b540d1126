//! Libraries that stand between the built program and libc.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Builds a library of a source beside this file; the value of `LD_PRELOAD`.
pub(crate) fn library(source: &str) -> String {
    static BUILT: OnceLock<TempDir> = OnceLock::new();
    let directory = BUILT.get_or_init(|| tempfile::tempdir().unwrap());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(source);
    let library = directory.path().join(source.with_extension("so").file_name().unwrap());
    if !library.exists() {
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source)
            .arg("-ldl")
            .status();
        assert!(built.unwrap().success(), "the C compiler refuses {}", source.display());
    }
    library.display().to_string()
}
