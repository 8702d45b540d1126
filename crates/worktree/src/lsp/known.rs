//! Language servers that are used without being described, where they are switched on at all and
//! their program is there. Nothing is downloaded.

use super::Server;
use crate::process::on_path;
use serde_json::Value;

/// Name, command, extensions, files that mark a root.
type Known = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const SCRIPT: &[&str] = &[".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts"];
const C: &[&str] = &[".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"];

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
];

/// Those whose program is on this machine.
#[must_use]
pub fn known() -> Vec<Server> {
    let texts = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect();
    let here = KNOWN.iter().filter(|(_, command, ..)| on_path(command[0]).is_some());
    here.map(|(id, command, extensions, root_files)| Server {
        id: (*id).to_owned(),
        command: texts(command),
        extensions: texts(extensions),
        variables: Vec::new(),
        initialization: Value::Null,
        root_files: texts(root_files),
    })
    .collect()
}
