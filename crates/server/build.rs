//! Packs the built files of the page (`web/dist`) and the OpenAPI document into the program (`src/packed.rs`).

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let dist = Path::new("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));

    let build = fs::read_to_string(dist.join("build.txt")).expect("web/dist/build.txt names the build");
    println!("cargo::rustc-env=STURDY_PAGE_BUILD={}", build.trim());

    let mut table = "static FILES: &[Packed] = &[\n".to_owned();
    for (index, (name, bytes)) in files(dist).into_iter().enumerate() {
        let _ = writeln!(table, "    {},", pack(&name, &bytes, &out.join(format!("{index}.gz"))));
    }
    table.push_str("];\n");
    fs::write(out.join("page.rs"), table).expect("OUT_DIR is writable");

    let document = "openapi.json";
    println!("cargo::rerun-if-changed={document}");
    let bytes = fs::read(document).expect("the document is in the repository");
    let packed = pack(document, &bytes, &out.join("openapi.gz"));
    let line = format!("static DOCUMENT: Packed = {packed};\n");
    fs::write(out.join("openapi.rs"), line).expect("OUT_DIR is writable");
}

/// Writes the packed bytes to a file; gives the expression that has them.
fn pack(name: &str, bytes: &[u8], packed: &Path) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes everything");
    fs::write(packed, encoder.finish().expect("memory takes everything")).expect("OUT_DIR is writable");
    let bytes = bytes.len();
    format!("Packed {{ name: {name:?}, bytes: {bytes}, gzip: include_bytes!({packed:?}) }}")
}

/// The files directly in the folder, by name.
fn files(dist: &Path) -> Vec<(String, Vec<u8>)> {
    let listed =
        fs::read_dir(dist).unwrap_or_else(|cause| panic!("{} cannot be read: {cause}", dist.display()));
    let mut files = Vec::new();
    for entry in listed {
        let entry = entry.expect("a folder that was opened can be read");
        let name = entry.file_name().into_string().expect("names in web/dist are ASCII");
        let bytes = fs::read(entry.path()).unwrap_or_else(|cause| panic!("web/dist/{name}: {cause}"));
        files.push((name, bytes));
    }
    files.sort();
    files
}
