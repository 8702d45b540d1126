//! When a ticket is good, and when it is not any more.

use super::{Download, ExportFormat, LIFE_MS, TICKETS_MAX, Tickets};
use crate::access::caller::Caller;
use crate::wire::redaction::Redaction;
use sturdy_session::id::SessionId;

fn export() -> Download {
    let session = SessionId::parse("ses_0123456789abABCDEFGHIJKLMN").unwrap();
    Download::Export { session, format: ExportFormat::Html, redaction: Redaction::default() }
}

#[test]
fn a_ticket_is_good_once_and_for_a_minute() {
    let tickets = Tickets::default();
    let (first, until) = tickets.make(export(), Caller::Anyone, 1000);
    let (second, _) = tickets.make(export(), Caller::User("ada".to_owned()), 1000);
    let (late, _) = tickets.make(export(), Caller::Anyone, 1000);

    assert_eq!(until, 1000 + LIFE_MS);
    assert_eq!(tickets.redeem(&first, 1000), Some((export(), Caller::Anyone)));
    assert_eq!(tickets.redeem(&first, 1000), None, "used twice");
    assert_eq!(tickets.redeem(&second, until - 1), Some((export(), Caller::User("ada".to_owned()))));
    assert_eq!(tickets.redeem(&late, until), None, "too old");
    assert_eq!(tickets.redeem("", 1000), None);
}

#[test]
fn so_many_tickets_wait_and_the_oldest_goes_first() {
    let tickets = Tickets::default();
    let (first, _) = tickets.make(export(), Caller::Anyone, 0);
    let (second, _) = tickets.make(export(), Caller::Anyone, 0);
    for _ in 2..=TICKETS_MAX {
        tickets.make(export(), Caller::Anyone, 1);
    }

    assert_eq!(tickets.redeem(&first, 1), None);
    assert!(tickets.redeem(&second, 1).is_some());
}
