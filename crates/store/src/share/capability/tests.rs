//! T-CAP-02: who guesses at a share, at a capability or at a secret costs the same hashes, comparisons and queries, and is
//! told the same number of letters. How long that takes is not measured: a test that does fails on a busy machine.

use super::super::create::insert_share;
use super::super::reference::counted;
use super::super::{ShareCall, ShareLimits, Visibility};
use super::{
    NewCapability, Scope, ShareAuth, SturdyRef, authorize, insert, secret_hash, text_of_imported, text_of_one,
};
use crate::migrate;
use rusqlite::{Connection, StatementStatus};

/// A share with an owner, and one of an old store whose secret was kept in clear.
fn two_shares() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate::migrate(&mut connection).unwrap();
    let transaction = connection.transaction().unwrap();
    let call = ShareCall {
        now: 1,
        actor: String::new(),
        transport: "test",
        address: String::new(),
        budget: None,
        limits: ShareLimits::default(),
    };
    for (share, must_rotate) in [("here", false), ("old", true)] {
        insert_share(&transaction, &call, share, "ses_a", Visibility::Private).unwrap();
        let cap_id = &format!("owner-of-{share}");
        let hash = secret_hash(share, cap_id, "right");
        let new = NewCapability {
            share,
            cap_id,
            hash,
            parent: None,
            scope: Scope::OWNER,
            kinds: None,
            expires: None,
            max_ops: None,
            label: "",
            actor: "",
            must_rotate,
            now: 1,
        };
        insert(&transaction, &new).unwrap();
    }
    transaction.commit().unwrap();
    connection
}

/// What it costs to be refused: hashes, comparisons, and how often each statement ran.
type Cost = (u32, u32, [i32; 3]);

fn refused(share: &str, auth: &ShareAuth) -> (Cost, usize) {
    let connection = two_shares();
    counted::taken();

    let refusal = authorize(&connection, share, auth, 1).expect_err("a guess is refused");

    let (hashed, compared) = counted::taken();
    let texts = [super::SHARE.to_owned(), text_of_one(), text_of_imported()];
    let runs = texts.map(|text| connection.prepare_cached(&text).unwrap().get_status(StatementStatus::Run));
    let super::ShareError::Refused(refusal) = refusal else { panic!("{refusal}") };
    ((hashed, compared, runs), refusal.code().len() + refusal.to_string().len())
}

#[test]
fn every_guess_at_a_reference_costs_the_same_and_is_answered_at_the_same_length() {
    let guess = |share: &str, capability: &str| {
        refused(share, &ShareAuth::Ref(SturdyRef::new(share, capability, "wrong")))
    };

    let wrong_secret = guess("here", "owner-of-here");

    assert_eq!(wrong_secret.0, (1, 1, [1, 1, 0]));
    assert_eq!(guess("here", "nobody"), wrong_secret);
    assert_eq!(guess("nowhere", "owner-of-here"), wrong_secret);
    assert_eq!(guess("nowhere", "nobody"), wrong_secret);
    assert_eq!(guess("here", "owner-of-old"), wrong_secret);
}

// Was: a share that was not imported cost no hash, so whether an id was that of an imported one could be timed.
#[test]
fn every_guess_at_a_plain_secret_costs_the_same_and_is_answered_at_the_same_length() {
    let wrong = ShareAuth::parse("wrong");

    let imported = refused("old", &wrong);

    assert_eq!(imported.0, (1, 1, [1, 0, 1]));
    assert_eq!(refused("here", &wrong), imported);
    assert_eq!(refused("nowhere", &wrong), imported);
}

#[test]
fn the_right_secret_is_let_in() {
    let connection = two_shares();
    let owner = ShareAuth::Ref(SturdyRef::new("here", "owner-of-here", "right"));
    let old = ShareAuth::parse("right");

    assert_eq!(authorize(&connection, "here", &owner, 1).unwrap().1.cap_id, "owner-of-here");
    assert_eq!(authorize(&connection, "old", &old, 1).unwrap().1.cap_id, "owner-of-old");
    assert!(authorize(&connection, "here", &old, 1).is_err());
}
