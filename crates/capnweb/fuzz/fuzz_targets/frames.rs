//! Any text is a frame: a session takes it, or ends, and never panics.

#![no_main]

use std::task::{Context, Poll, Waker};

use libfuzzer_sys::fuzz_target;
use sturdy_capnweb::{Connection, Interface, Options, Reply};

fuzz_target!(|text: &str| {
    let root = Interface::named("Root")
        .quick("echo", |_, mut call| Reply::Now(Ok(call.arg())))
        .quick("list", |_, _| Reply::value(vec![1, 2, 3]))
        .build();
    let mut connection = Connection::new(Some(root.stub(())), Options::default());
    for line in text.lines() {
        connection.receive(line);
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(_)) = connection.poll_message(&mut cx) {}
    }
});
