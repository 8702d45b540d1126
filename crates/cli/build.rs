//! Links the program so that little of it is in memory.
//!
//! * *Packed relocations.* A position-independent program of this size carries a megabyte of relative
//!   relocations, which is read at every start and stays resident. Packed they are a few kilobytes. glibc
//!   reads them since 2.36; a program built where it is older is linked as usual.
//! * *Order.* A start runs a fourteenth of the program's code. The kernel maps 64 KiB around every page
//!   that runs, so where these functions are strewn over the file a third of it becomes resident.
//!   `order.txt` names them and the linker puts them side by side. `scripts/order.mjs` writes it. A linker
//!   that knows no such list links as usual.
//! * *No symbols*, unless `STURDY_SYMBOLS=1` asks for them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const GLIBC_WITH_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=order.txt");
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") || !is_native() {
        return;
    }
    if glibc().is_some_and(|version| version >= GLIBC_WITH_PACKED) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // Functions of a debug build have other names.
    if !is("PROFILE", "release") {
        return;
    }
    if let Some(arguments) = ordering()
        && links_with(&arguments)
    {
        for argument in arguments {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
    println!("cargo:rerun-if-env-changed=STURDY_SYMBOLS");
    if !is("STURDY_SYMBOLS", "1") {
        println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    }
}

fn is(name: &str, value: &str) -> bool {
    env::var(name).is_ok_and(|found| found == value)
}

fn is_native() -> bool {
    env::var("HOST").ok() == env::var("TARGET").ok()
}

/// The version at the end of the first line of `ldd --version`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("ldd").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let version = text.lines().next()?.split_whitespace().last()?.to_owned();
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

fn ordering() -> Option<[String; 2]> {
    let file = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("order.txt");
    // Names that are gone are expected: the list is older than the program.
    Some([
        format!("-Wl,--symbol-ordering-file={}", file.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ])
}

/// Whether the linker of this build takes the arguments, found out by linking an empty program.
fn links_with(arguments: &[String]) -> bool {
    let (Some(rustc), Some(out)) = (env::var_os("RUSTC"), env::var_os("OUT_DIR").map(PathBuf::from)) else {
        return false;
    };
    let source = out.join("empty.rs");
    if std::fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let mut command = Command::new(rustc);
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("-Clinker=");
        option.push(linker);
        command.arg(option);
    }
    command.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    command.arg("-o").arg(out.join("empty")).arg(source);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
