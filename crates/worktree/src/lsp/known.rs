//! Language servers that are used without being described, where they are switched on at all and
//! their program is there, on the machine or among the packages of the project. Nothing is downloaded.

use super::Server;
use crate::packages::in_packages;
use crate::process::on_path;
use serde_json::Value;
use std::path::Path;

/// Name, command, extensions, files that mark a root.
type Known = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const SCRIPT: &[&str] = &[".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts"];
const C: &[&str] = &[".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"];

const HASKELL: &[&str] = &["haskell-language-server-wrapper", "--lsp"];

const KNOWN: &[Known] = &[
    ("rust", &["rust-analyzer"], &[".rs"], &["Cargo.toml"]),
    ("gopls", &["gopls"], &[".go"], &["go.work", "go.mod"]),
    ("typescript", &["typescript-language-server", "--stdio"], SCRIPT, &["package.json", "tsconfig.json"]),
    ("pyright", &["pyright-langserver", "--stdio"], &[".py", ".pyi"], &["pyproject.toml", "setup.py"]),
    ("clangd", &["clangd", "--background-index"], C, &["compile_commands.json", "CMakeLists.txt"]),
    ("bash", &["bash-language-server", "start"], &[".sh", ".bash"], &[]),
    ("yaml-ls", &["yaml-language-server", "--stdio"], &[".yaml", ".yml"], &[]),
    ("zls", &["zls"], &[".zig", ".zon"], &["build.zig"]),
    ("lua-ls", &["lua-language-server"], &[".lua"], &[".luarc.json"]),
    ("ruby-lsp", &["ruby-lsp"], &[".rb", ".rake", ".gemspec", ".ru"], &["Gemfile"]),
    ("elixir-ls", &["elixir-ls"], &[".ex", ".exs"], &["mix.exs"]),
    ("ocaml-lsp", &["ocamllsp"], &[".ml", ".mli"], &["dune-project"]),
    ("gleam", &["gleam", "lsp"], &[".gleam"], &["gleam.toml"]),
    ("terraform", &["terraform-ls", "serve"], &[".tf", ".tfvars"], &[]),
    ("nixd", &["nixd"], &[".nix"], &["flake.nix"]),
    ("vue", &["vue-language-server", "--stdio"], &[".vue"], &["package.json"]),
    ("svelte", &["svelteserver", "--stdio"], &[".svelte"], &["package.json"]),
    ("astro", &["astro-ls", "--stdio"], &[".astro"], &["package.json"]),
    ("php intelephense", &["intelephense", "--stdio"], &[".php"], &["composer.json"]),
    ("dart", &["dart", "language-server", "--lsp"], &[".dart"], &["pubspec.yaml"]),
    ("csharp", &["csharp-ls"], &[".cs"], &["global.json"]),
    ("fsharp", &["fsautocomplete"], &[".fs", ".fsi", ".fsx"], &["global.json"]),
    ("sourcekit-lsp", &["sourcekit-lsp"], &[".swift"], &["Package.swift"]),
    (
        "clojure-lsp",
        &["clojure-lsp", "listen"],
        &[".clj", ".cljs", ".cljc", ".edn"],
        &["deps.edn", "project.clj"],
    ),
    ("haskell-language-server", HASKELL, &[".hs", ".lhs"], &["stack.yaml", "cabal.project"]),
    ("texlab", &["texlab"], &[".tex", ".bib"], &[".latexmkrc"]),
    ("tinymist", &["tinymist"], &[".typ", ".typc"], &["typst.toml"]),
];

/// The names of all that are known, here or not.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, ..)| *name)
}

/// Those whose program is among the packages of the project, or else on this machine. `top` is where looking
/// upwards ends.
#[must_use]
pub fn known(directory: &Path, top: &Path) -> Vec<Server> {
    let texts = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect::<Vec<String>>();
    let server = |(id, command, extensions, root_files): &Known| {
        let program = match in_packages(directory, top, command[0]) {
            Some(program) => program.to_string_lossy().into_owned(),
            None => on_path(command[0]).map(|_| command[0].to_owned())?,
        };
        let mut command = texts(command);
        command[0] = program;
        Some(Server {
            id: (*id).to_owned(),
            command,
            extensions: texts(extensions),
            variables: Vec::new(),
            initialization: Value::Null,
            root_files: texts(root_files),
        })
    };
    KNOWN.iter().filter_map(server).collect()
}
