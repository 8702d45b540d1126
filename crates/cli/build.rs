//! Packs the program's relative relocations where the C library can read them packed.
//!
//! A position-independent program of this size carries a megabyte of them, which is read at every start
//! and stays resident. Packed they are a few kilobytes. glibc reads them since 2.36; a program built
//! where it is older is linked as usual.

use std::env;
use std::process::Command;

const GLIBC_WITH_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_gnu_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    if is_gnu_linux && is_native && glibc().is_some_and(|version| version >= GLIBC_WITH_PACKED) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version at the end of the first line of `ldd --version`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("ldd").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let version = text.lines().next()?.split_whitespace().last()?.to_owned();
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
