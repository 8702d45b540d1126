//! Formatters that are used without being described, where formatting is switched on at all.
//!
//! One is enabled when its program is there and, for those that have many tastes, when the project
//! says which: a configuration file, or a copy of the program among the project's own packages.

use super::Formatter;
use crate::packages;
use crate::process::on_path;
use std::path::{Path, PathBuf};

/// What has to be there besides a program of that name.
enum Wanted {
    Program,
    /// One of these files, in the directory or above it.
    File(&'static [&'static str]),
    /// The program among the packages of the project, in the directory these are linked in.
    Package(&'static str),
    PackageAndFile(&'static [&'static str]),
    /// This text in this file.
    Text(&'static str, &'static str),
}

struct Known {
    name: &'static str,
    command: &'static [&'static str],
    extensions: &'static [&'static str],
    wanted: Wanted,
}

const NODE: &str = "node_modules/.bin";

const WEB: &[&str] = &[
    ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".html", ".htm", ".css", ".scss", ".sass",
    ".less", ".vue", ".svelte", ".json", ".jsonc", ".yaml", ".yml", ".toml", ".xml", ".md", ".mdx",
    ".graphql", ".gql",
];
const SCRIPT: &[&str] = &[".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"];
const C: &[&str] =
    &[".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".h++", ".ino", ".C", ".H"];
const RUBY: &[&str] = &[".rb", ".rake", ".gemspec", ".ru"];

const fn by_program(
    name: &'static str,
    command: &'static [&'static str],
    extensions: &'static [&'static str],
) -> Known {
    Known { name, command, extensions, wanted: Wanted::Program }
}

const KNOWN: &[Known] = &[
    by_program("gofmt", &["gofmt", "-w", "$FILE"], &[".go"]),
    by_program("rustfmt", &["rustfmt", "$FILE"], &[".rs"]),
    by_program(
        "mix",
        &["mix", "format", "$FILE"],
        &[".ex", ".exs", ".eex", ".heex", ".leex", ".neex", ".sface"],
    ),
    Known {
        name: "prettier",
        command: &["prettier", "--write", "$FILE"],
        extensions: WEB,
        wanted: Wanted::Package(NODE),
    },
    Known {
        name: "biome",
        command: &["biome", "format", "--write", "$FILE"],
        extensions: WEB,
        wanted: Wanted::PackageAndFile(&["biome.json", "biome.jsonc"]),
    },
    Known { name: "oxfmt", command: &["oxfmt", "$FILE"], extensions: SCRIPT, wanted: Wanted::Package(NODE) },
    by_program("zig", &["zig", "fmt", "$FILE"], &[".zig", ".zon"]),
    Known {
        name: "clang-format",
        command: &["clang-format", "-i", "$FILE"],
        extensions: C,
        wanted: Wanted::File(&[".clang-format", "_clang-format"]),
    },
    by_program("ktlint", &["ktlint", "-F", "$FILE"], &[".kt", ".kts"]),
    Known {
        name: "ruff",
        command: &["ruff", "format", "$FILE"],
        extensions: &[".py", ".pyi"],
        wanted: Wanted::Text("pyproject.toml", "[tool.ruff"),
    },
    by_program("rubocop", &["rubocop", "--autocorrect", "$FILE"], RUBY),
    Known {
        name: "standardrb",
        command: &["standardrb", "--fix", "$FILE"],
        extensions: RUBY,
        wanted: Wanted::File(&[".standard.yml"]),
    },
    Known {
        name: "pint",
        command: &["pint", "$FILE"],
        extensions: &[".php"],
        wanted: Wanted::Package("vendor/bin"),
    },
    by_program("htmlbeautifier", &["htmlbeautifier", "$FILE"], &[".erb", ".html.erb"]),
    by_program("dart", &["dart", "format", "$FILE"], &[".dart"]),
    Known {
        name: "ocamlformat",
        command: &["ocamlformat", "-i", "$FILE"],
        extensions: &[".ml", ".mli"],
        wanted: Wanted::File(&[".ocamlformat"]),
    },
    by_program("terraform", &["terraform", "fmt", "$FILE"], &[".tf", ".tfvars"]),
    by_program("gleam", &["gleam", "format", "$FILE"], &[".gleam"]),
    by_program("shfmt", &["shfmt", "-w", "$FILE"], &[".sh", ".bash"]),
    by_program("nixfmt", &["nixfmt", "$FILE"], &[".nix"]),
    by_program("air", &["air", "format", "$FILE"], &[".R"]),
    by_program("ormolu", &["ormolu", "-i", "$FILE"], &[".hs"]),
    by_program("cljfmt", &["cljfmt", "fix", "--quiet", "$FILE"], &[".clj", ".cljs", ".cljc", ".edn"]),
    by_program("dfmt", &["dfmt", "-i", "$FILE"], &[".d"]),
    by_program("latexindent", &["latexindent", "-w", "-s", "$FILE"], &[".tex"]),
];

/// A file that says how to format is a few lines; a larger one is something else.
const TEXT_BYTES_MAX: u64 = 1024 * 1024;

/// All of them as they stand here: `top` is where looking upwards ends.
#[must_use]
pub fn known(directory: &Path, top: &Path) -> Vec<Formatter> {
    let place = Place { directory, top };
    KNOWN.iter().map(|one| place.formatter(one)).collect()
}

/// The names of all that are known, here or not.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|one| one.name)
}

struct Place<'a> {
    directory: &'a Path,
    top: &'a Path,
}

impl Place<'_> {
    fn formatter(&self, known: &Known) -> Formatter {
        let program = self.program(known);
        let mut command: Vec<String> = known.command.iter().map(|&text| text.to_owned()).collect();
        if let Some(program) = &program {
            command[0] = program.to_string_lossy().into_owned();
        }
        Formatter {
            name: known.name.to_owned(),
            command,
            extensions: known.extensions.iter().map(|&end| end.to_owned()).collect(),
            variables: Vec::new(),
            is_enabled: program.is_some(),
        }
    }

    /// Where its program is, if it is to be used here.
    fn program(&self, known: &Known) -> Option<PathBuf> {
        let name = known.command[0];
        let has = |files: &[&str]| files.iter().any(|file| self.above(file).is_some());
        match known.wanted {
            Wanted::Program => on_path(name),
            Wanted::File(files) => on_path(name).filter(|_| has(files)),
            Wanted::Package(place) => self.above(&format!("{place}/{name}")),
            Wanted::PackageAndFile(files) => self.above(&format!("{NODE}/{name}")).filter(|_| has(files)),
            Wanted::Text(file, text) => {
                let says_so = self.above(file).is_some_and(|path| holds(&path, text));
                let own = format!("{}.toml", known.name);
                on_path(name).filter(|_| says_so || has(&[&own, &format!(".{own}")]))
            }
        }
    }

    /// The nearest file of this name, from the directory up to the top.
    fn above(&self, name: &str) -> Option<PathBuf> {
        packages::above(self.directory, self.top, name)
    }
}

fn holds(path: &Path, text: &str) -> bool {
    let is_small = path.metadata().is_ok_and(|found| found.is_file() && found.len() <= TEXT_BYTES_MAX);
    is_small && std::fs::read_to_string(path).is_ok_and(|whole| whole.contains(text))
}
