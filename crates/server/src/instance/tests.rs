//! How a path arrives.

use super::{HEADER, directory, percent_decode};
use http::{HeaderValue, Request};

#[test]
fn a_path_arrives_plain_or_encoded() {
    assert_eq!(percent_decode("/srv/a b"), "/srv/a b");
    assert_eq!(percent_decode("%2Fsrv%2Fa%20b"), "/srv/a b");
    assert_eq!(percent_decode("/srv/100%"), "/srv/100%");
    assert_eq!(percent_decode("/srv/%ff"), "/srv/%ff");
}

// Was: a header that is not UTF-8 was taken for none, and the request was about the server's own directory.
#[test]
fn a_directory_in_a_header_is_read_in_either_encoding() {
    let chosen = |bytes: &[u8]| {
        let value = HeaderValue::from_bytes(bytes).unwrap();
        let request = Request::builder().uri("/path").header(HEADER, value).body(()).unwrap();
        directory(&request.into_parts().0, "directory")
    };

    assert_eq!(chosen("/home/j\u{fc}rgen".as_bytes()), "/home/j\u{fc}rgen");
    assert_eq!(chosen(b"/home/j\xfcrgen"), "/home/j\u{fc}rgen");
    assert_eq!(chosen(b"/home/j%C3%BCrgen"), "/home/j\u{fc}rgen");
    assert_eq!(chosen(b""), "");
}
