//! What holds whatever the peers do.

use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use sturdy_capnweb::{BigInt, Bytes, Connection, ErrorValue, Kind, Options, Promise, Stub, Value, codec};

use crate::{
    service::{Service, counter},
    support::{EMPTY, Joined},
    vectors,
};

fn plain() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Undefined),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<f64>()
            .prop_filter("equal to itself", |number| !number.is_nan())
            .prop_map(|number| Value::Number(number + 0.0)),
        any::<i64>().prop_map(|number| Value::BigInt(BigInt::from(number))),
        ".*".prop_map(Value::String),
        (-8_640_000_000_000_000i64..8_640_000_000_000_000).prop_map(|at| Value::Date(at as f64)),
        (0usize..13, prop::collection::vec(any::<u8>(), 0..4)).prop_map(|(kind, data)| {
            Value::Bytes(Bytes::typed(Kind::ALL[kind], data.repeat(8)).expect("whole elements"))
        }),
        ("[A-Z][a-z]+", ".*").prop_map(|(_, message)| ErrorValue::range_error(message).code("x").into()),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec(("[a-b]{0,3}|export", inner), 0..6).prop_map(Value::object),
        ]
    })
}

/// What a client may do next.
#[derive(Clone, Debug)]
enum Step {
    Call(&'static str),
    Pipeline(usize),
    Argument(usize),
    Clone(usize),
    Dup(usize),
    Drop(usize),
    Ask(usize),
    Callback,
    Map(usize),
    Settle,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        prop::sample::select(vec![
            "makeCounter",
            "pair",
            "getRecord",
            "getFunction",
            "throwRange",
            "fib",
            "nope",
            "returnNull"
        ])
        .prop_map(Step::Call),
        (0usize..8).prop_map(Step::Pipeline),
        (0usize..8).prop_map(Step::Argument),
        (0usize..8).prop_map(Step::Clone),
        (0usize..8).prop_map(Step::Dup),
        (0usize..8).prop_map(Step::Drop),
        (0usize..8).prop_map(Step::Ask),
        Just(Step::Callback),
        (0usize..8).prop_map(Step::Map),
        Just(Step::Settle),
    ];
    prop::collection::vec(step, 0..40)
}

fn perform(joined: &mut Joined, held: &mut Vec<Promise>, results: &mut Vec<Value>, step: &Step) {
    let root = joined.root();
    let pick = |place: usize| held.get(place % held.len().max(1)).cloned();
    match step {
        Step::Call(method) => held.push(root.call(method, [3.into()])),
        Step::Pipeline(place) => {
            held.extend(pick(*place).map(|promise| promise.call("increment", [2.into()])));
        }
        Step::Argument(place) => held.extend(pick(*place).map(|promise| root.call("echo", [promise.into()]))),
        Step::Clone(place) => held.extend(pick(*place)),
        Step::Dup(place) => held.extend(pick(*place).map(|promise| promise.dup())),
        Step::Drop(place) => {
            if !held.is_empty() {
                held.remove(place % held.len());
            }
        }
        Step::Ask(place) => {
            if let Some(promise) = pick(*place) {
                results.extend(joined.ask(promise).and_then(Result::ok));
            }
        }
        Step::Callback => {
            let callback =
                Stub::function(|mut call| async move { Ok(Value::array([call.arg(), counter(1).into()])) });
            held.push(root.call("callFunction", [callback.into(), 4.into()]));
        }
        Step::Map(place) => {
            held.extend(
                pick(*place).map(|promise| {
                    promise.map(|scope, item| scope.capture(&root).call("echo", [item.into()]))
                }),
            );
        }
        Step::Settle => joined.settle(),
    }
}

/// Texts that are nearly messages.
fn frames() -> impl Strategy<Value = Vec<String>> {
    let known: Vec<String> = vectors::all()
        .iter()
        .flat_map(|vector| [vector.texts("c2s"), vector.texts("s2c")].concat())
        .filter(|text| text.len() < 2000)
        .collect();
    let id = -3i64..6;
    let made = prop_oneof![
        4 => prop::sample::select(known.clone()),
        2 => (prop::sample::select(known), any::<prop::sample::Index>(), any::<char>()).prop_map(|(mut text, at, letter)| {
            let mut place = at.index(text.len() + 1);
            while !text.is_char_boundary(place) {
                place -= 1;
            }
            text.insert(place, letter);
            text
        }),
        2 => (prop::sample::select(vec!["pull", "push", "stream", "release", "resolve", "reject", "abort"]), id.clone(), id.clone())
            .prop_map(|(name, a, b)| format!("[\"{name}\",{a},{b}]")),
        2 => (prop::sample::select(vec!["push", "stream"]), prop::sample::select(vec!["pipeline", "import", "readable", "export", "promise", "writable"]), id.clone())
            .prop_map(|(name, tag, id)| format!("[\"{name}\",[\"{tag}\",{id}]]")),
        1 => (id.clone(), id).prop_map(|(a, b)| format!("[\"push\",[\"remap\",{a},[],[[\"import\",{b}]],[[\"pipeline\",{b}],[\"pipeline\",0]]]]")),
        1 => Just("[\"pipe\"]".to_owned()),
    ];
    prop::collection::vec(made, 0..30)
}

/// Feeds the frames and returns everything said.
fn feed(frames: &[String]) -> Vec<String> {
    let mut connection = Connection::new(Some(Service::root()), Options::default());
    let _keep = connection.remote().call("first", []).ask();
    let mut cx = Context::from_waker(Waker::noop());
    let mut said = Vec::new();
    for frame in frames {
        connection.receive(frame);
        while let Poll::Ready(Some(text)) = connection.poll_message(&mut cx) {
            said.push(text);
        }
    }
    said
}

proptest! {
    // As many cases as PROPTEST_CASES says: the same is a fuzzer when it says many.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What is written is read as the same.
    #[test]
    fn a_value_comes_back_as_it_was(value in plain()) {
        let text = codec::encode(&value).expect("plain data");
        prop_assert_eq!(codec::decode(&text).expect("our own text"), value);
    }

    /// Whatever happened between, when everything is dropped nothing is left on either side.
    #[test]
    fn dropped_stubs_leave_empty_tables(steps in steps()) {
        let mut joined = Joined::new();
        let mut held = Vec::new();
        let mut results = Vec::new();
        for step in &steps {
            perform(&mut joined, &mut held, &mut results, step);
        }

        drop((held, results));
        joined.settle();

        prop_assert_eq!(joined.stats(), (EMPTY, EMPTY));
    }

    /// No sequence of frames makes a session panic, and it says the same each time.
    #[test]
    fn any_frames_are_survived_alike(frames in frames()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let _entered = runtime.enter();

        let said = feed(&frames);

        prop_assert_eq!(said, feed(&frames));
    }

    /// No bytes make the decoder panic; what it accepts it can write, and read again.
    #[test]
    fn any_text_is_decoded_or_refused(text in "[\\[\\]{}\",:a-z0-9\\\\ .eE+-]{0,80}") {
        if let Ok(value) = codec::decode(&text)
            && let Ok(once) = codec::encode(&value)
        {
            prop_assert_eq!(codec::decode(&once).and_then(|value| codec::encode(&value)), Ok(once));
        }
    }
}
