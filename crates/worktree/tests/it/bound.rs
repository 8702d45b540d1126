//! What is shown of a long output.

use sturdy_worktree::bound::{Keep, Limits, Removed, cut, prefix, save, saved_path, suffix, sweep};

const SMALL: Limits = Limits { lines_max: 3, bytes_max: 12 };

#[test]
fn a_text_within_the_limits_is_not_cut() {
    assert_eq!(cut("a\nb\nc", SMALL, Keep::Head), None);
    assert_eq!(cut("", SMALL, Keep::Tail), None);
}

#[test]
fn whole_lines_are_kept_within_both_limits() {
    let by_lines = cut("1\n2\n3\n4\n5", SMALL, Keep::Head).unwrap();
    assert_eq!((by_lines.kept.as_str(), by_lines.removed), ("1\n2\n3", Removed::Lines(2)));

    let tail = cut("1\n2\n3\n4\n5", SMALL, Keep::Tail).unwrap();
    assert_eq!((tail.kept.as_str(), tail.removed), ("3\n4\n5", Removed::Lines(2)));

    let by_bytes = cut("aaaaaaaa\nbbbbbbbb", SMALL, Keep::Head).unwrap();
    assert_eq!((by_bytes.kept.as_str(), by_bytes.removed), ("aaaaaaaa", Removed::Lines(1)));
}

#[test]
fn a_line_longer_than_everything_is_shown_in_part() {
    let text = "ä".repeat(20);

    let head = cut(&text, SMALL, Keep::Head).unwrap();

    assert_eq!((head.kept.as_str(), head.removed), ("ääääää", Removed::Bytes(28)));
    assert_eq!(cut(&text, SMALL, Keep::Tail).unwrap().kept, "ääääää");
}

#[test]
fn the_note_says_what_is_missing_and_where_it_is() {
    let cut = cut("1\n2\n3\n4\n5", SMALL, Keep::Tail).unwrap();
    let path = std::path::Path::new("/data/tool_x");

    let text = cut.with_note(Keep::Tail, Some(path), false);

    assert!(text.starts_with("[2 lines left out] The whole output is in /data/tool_x."), "{text}");
    assert!(text.ends_with("3\n4\n5"));
    assert!(cut.with_note(Keep::Head, Some(path), true).contains("task tool"));
}

#[test]
fn letters_are_not_split() {
    assert_eq!(prefix("äö", 3), "ä");
    assert_eq!(suffix("äö", 3), "ö");
    assert_eq!(suffix("abc", 10), "abc");
}

#[test]
fn a_call_id_cannot_name_another_place() {
    let path = saved_path(std::path::Path::new("/data"), "../../etc/passwd\0x");
    assert_eq!(path, std::path::Path::new("/data/tool_______etc_passwd_x"));
}

#[tokio::test]
async fn saved_output_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();

    let path = save(&dir.path().join("new"), "call_1", b"text").await.unwrap();

    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(std::fs::read(&path).unwrap(), b"text");
    assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    save(&dir.path().join("new"), "call_1", b"more").await.unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn what_was_saved_before_a_moment_is_removed_and_nothing_else() {
    use std::time::{Duration, SystemTime};
    let dir = tempfile::tempdir().unwrap();
    let old = save(dir.path(), "old", b"x").await.unwrap();
    let new = save(dir.path(), "new", b"x").await.unwrap();
    let strange = dir.path().join("strange.txt");
    std::fs::write(&strange, "x").unwrap();
    let now = SystemTime::now();
    let week = Duration::from_secs(7 * 24 * 60 * 60);
    for path in [&old, &strange] {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(now - week - Duration::from_secs(1)).unwrap();
    }

    assert_eq!(sweep(dir.path(), now - week).unwrap(), 1);

    assert_eq!((old.exists(), new.exists(), strange.exists()), (false, true, true));
    assert_eq!(sweep(&dir.path().join("absent"), now).unwrap(), 0);
}
