//! How a path arrives.

use super::percent_decode;

#[test]
fn a_path_arrives_plain_or_encoded() {
    assert_eq!(percent_decode("/srv/a b"), "/srv/a b");
    assert_eq!(percent_decode("%2Fsrv%2Fa%20b"), "/srv/a b");
    assert_eq!(percent_decode("/srv/100%"), "/srv/100%");
    assert_eq!(percent_decode("/srv/%ff"), "/srv/%ff");
}
