//! How a path arrives.

use super::once_more;

#[test]
fn a_path_arrives_plain_or_encoded() {
    assert_eq!(once_more("/srv/a b"), "/srv/a b");
    assert_eq!(once_more("%2Fsrv%2Fa%20b"), "/srv/a b");
    assert_eq!(once_more("/srv/100%"), "/srv/100%");
    assert_eq!(once_more("/srv/%ff"), "/srv/%ff");
}
