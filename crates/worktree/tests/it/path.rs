//! Invariant I13: a tool path lies inside the worktree. A corpus of ways out.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use sturdy_worktree::path::{FileKind, Located, PathError, Roots, WorkPath, Written, relative};

/// A worktree with a session in `sub`, and a secret beside the worktree.
struct Scene {
    _top: tempfile::TempDir,
    tree: PathBuf,
    outside: PathBuf,
    roots: Roots,
}

fn scene() -> Scene {
    let top = tempfile::tempdir().unwrap();
    let base = top.path().canonicalize().unwrap();
    let tree = base.join("tree");
    let outside = base.join("outside");
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    std::fs::write(tree.join("sub/file"), "inside").unwrap();
    let roots = Roots::new(&tree.join("sub"), &tree).unwrap();
    Scene { _top: top, tree, outside, roots }
}

impl Scene {
    fn inside(&self, text: &str) -> WorkPath {
        self.roots.locate(text).unwrap().inside().unwrap()
    }
}

#[test]
fn every_way_out_is_reported_as_outside() {
    let scene = scene();
    symlink("../../outside", scene.tree.join("sub/link")).unwrap();
    symlink("../../outside/secret", scene.tree.join("sub/file-link")).unwrap();
    symlink("link", scene.tree.join("sub/link-to-link")).unwrap();
    symlink("/", scene.tree.join("sub/root")).unwrap();
    let outside = scene.outside.display();

    for text in [
        "../../outside/secret".to_owned(),
        "../../../../../../../../../../etc/passwd".to_owned(),
        "sub/../../../outside/secret".to_owned(),
        "./.././../outside/secret".to_owned(),
        "//etc//passwd".to_owned(),
        format!("{outside}/secret"),
        format!("{}/../outside/secret", scene.tree.display()),
        format!("{}-evil/x", scene.tree.display()),
        "link/secret".to_owned(),
        "link/new/file".to_owned(),
        "link-to-link/secret".to_owned(),
        "file-link".to_owned(),
        format!("root{outside}/secret"),
        "link".to_owned(),
    ] {
        let located = scene.roots.locate(&text);
        assert!(matches!(located, Ok(Located::Outside(_))), "{text}: {located:?}");
    }
}

#[test]
fn what_stays_inside_is_inside_however_it_is_written() {
    let scene = scene();
    symlink("sub", scene.tree.join("loop-free")).unwrap();
    let tree = scene.tree.display();

    for (text, relative) in [
        ("file".to_owned(), "sub/file"),
        ("./x/../file".to_owned(), "sub/file"),
        ("../sub/file".to_owned(), "sub/file"),
        ("..".to_owned(), ""),
        (format!("{tree}/loop-free/file"), "sub/file"),
        ("new/deep/file".to_owned(), "sub/new/deep/file"),
        ("..dots".to_owned(), "sub/..dots"),
        ("a\\..\\..\\b".to_owned(), "sub/a\\..\\..\\b"),
    ] {
        assert_eq!(scene.inside(&text).relative(), relative, "{text}");
    }
}

#[test]
fn paths_that_are_no_paths_are_refused() {
    let scene = scene();
    symlink("nowhere", scene.tree.join("sub/dangling")).unwrap();
    symlink("b", scene.tree.join("sub/a")).unwrap();
    symlink("a", scene.tree.join("sub/b")).unwrap();

    assert!(matches!(scene.roots.locate(""), Err(PathError::Malformed)));
    assert!(matches!(scene.roots.locate("a\0b"), Err(PathError::Malformed)));
    assert!(matches!(scene.roots.locate("dangling"), Err(PathError::Link(_))));
    assert!(matches!(scene.roots.locate("a"), Err(PathError::Link(_))));
    assert!(matches!(scene.roots.locate("file/below"), Err(PathError::NotADirectory(_))));
    assert!(scene.roots.locate("x".repeat(5000)).is_err());
}

#[test]
fn the_kernels_own_files_are_not_files() {
    let scene = scene();
    for text in ["/proc/self/environ", "/proc/1/mem", "/dev/zero", "/dev/stdin", "/sys/kernel/notes"] {
        assert!(matches!(scene.roots.locate(text), Err(PathError::NotAFile { .. })), "{text}");
    }
}

#[test]
fn an_outside_path_names_the_directory_to_ask_for() {
    let scene = scene();
    let ask = |text: &str| match scene.roots.locate(text).unwrap() {
        Located::Outside(path) => path.directory(),
        Located::Inside(path) => panic!("{path:?}"),
    };

    assert_eq!(ask("../../outside/secret"), scene.outside);
    assert_eq!(ask("../../outside"), scene.outside);
    assert_eq!(ask("../../outside/new/file"), scene.outside.join("new"));
}

#[test]
fn a_session_without_version_control_is_confined_to_its_directory() {
    let scene = scene();
    let roots = Roots::new(&scene.tree.join("sub"), Path::new("/")).unwrap();

    assert!(matches!(roots.locate("file"), Ok(Located::Inside(_))));
    assert!(matches!(roots.locate("../other"), Ok(Located::Outside(_))));
}

#[test]
fn a_link_put_in_place_after_the_check_is_not_followed() {
    let scene = scene();
    std::fs::create_dir(scene.tree.join("sub/dir")).unwrap();
    std::fs::write(scene.tree.join("sub/dir/secret"), "harmless").unwrap();
    let file = scene.inside("file");
    let deep = scene.inside("dir/secret");
    let fresh = scene.inside("dir/fresh");

    std::fs::remove_file(scene.tree.join("sub/file")).unwrap();
    symlink(scene.outside.join("secret"), scene.tree.join("sub/file")).unwrap();
    std::fs::remove_dir_all(scene.tree.join("sub/dir")).unwrap();
    symlink(&scene.outside, scene.tree.join("sub/dir")).unwrap();

    assert!(matches!(file.open_file(), Err(PathError::Link(_))));
    assert!(deep.open_file().is_err());
    assert!(file.write(b"x").is_err());
    assert!(deep.write(b"x").is_err());
    assert!(fresh.write(b"x").is_err());
    assert!(deep.remove().is_err());
    assert_eq!(std::fs::read_to_string(scene.outside.join("secret")).unwrap(), "secret");
    assert!(!scene.outside.join("fresh").exists());
}

#[test]
fn pipes_and_sockets_neither_hang_nor_open() {
    let scene = scene();
    let pipe = scene.tree.join("sub/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.tree.join("sub/socket")).unwrap();

    let refused = scene.inside("pipe").open_file();
    assert!(matches!(refused, Err(PathError::NotAFile { kind: FileKind::Pipe, .. })), "{refused:?}");
    assert!(scene.inside("socket").open_file().is_err());
    assert!(scene.inside("pipe").write(b"x").is_err());
}

#[test]
fn a_file_is_created_with_its_directories_and_replaced_with_its_rights() {
    let scene = scene();
    let path = scene.inside("a/b/c.txt");

    assert_eq!(path.write(b"one").unwrap(), Written::Created);
    std::fs::set_permissions(path.real(), std::fs::Permissions::from_mode(0o750)).unwrap();
    let before = path.stamp().unwrap();
    assert_eq!(path.write(b"two").unwrap(), Written::Replaced);

    assert_eq!(std::fs::read(path.real()).unwrap(), b"two");
    assert_eq!(std::fs::metadata(path.real()).unwrap().permissions().mode() & 0o777, 0o750);
    assert_ne!(path.stamp().unwrap(), before);
    let names: Vec<_> = scene.inside("a/b").list(10).unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["c.txt"], "nothing is left beside");
}

#[test]
fn a_file_with_two_names_keeps_both() {
    let scene = scene();
    std::fs::hard_link(scene.tree.join("sub/file"), scene.tree.join("twin")).unwrap();

    scene.inside("file").write(b"changed").unwrap();

    assert_eq!(std::fs::read(scene.tree.join("twin")).unwrap(), b"changed");
}

#[test]
fn a_directory_is_not_written_over_and_not_removed() {
    let scene = scene();
    assert!(scene.inside(".").write(b"x").is_err());
    assert!(scene.inside(".").remove().is_err());
}

#[test]
fn names_that_are_not_utf_8_are_listed() {
    let scene = scene();
    std::fs::write(scene.tree.join("sub").join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "x").unwrap();

    let names: Vec<_> = scene.inside(".").list(10).unwrap().into_iter().map(|one| one.name).collect();

    assert_eq!(names.len(), 2);
    assert_eq!(names[0].as_bytes(), b"caf\xe9");
}

#[test]
fn the_way_between_two_paths_goes_up_and_down() {
    assert_eq!(relative(Path::new("/a/b"), Path::new("/a/c/d")), Path::new("../c/d"));
    assert_eq!(relative(Path::new("/"), Path::new("/home/u")), Path::new("home/u"));
    assert_eq!(relative(Path::new("/a"), Path::new("/a")), Path::new(""));
}

#[test]
fn a_rule_about_a_file_holds_for_a_link_to_it() {
    let scene = scene();
    std::fs::write(scene.tree.join("sub/.env"), "key").unwrap();
    symlink(".env", scene.tree.join("sub/harmless")).unwrap();
    let alone = Roots::new(&scene.tree.join("sub"), Path::new("/")).unwrap();

    let without_git = alone.locate("harmless").unwrap().inside().unwrap();

    assert_eq!(scene.inside("harmless").relative(), "sub/.env");
    assert_eq!(Path::new("/").join(without_git.relative()), scene.tree.join("sub/.env"));
}
