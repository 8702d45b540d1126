//! Who asks, inside and outside a request.

use super::{Behalf, current, on_behalf, on_nobodys_behalf};

fn actor() -> Option<String> {
    current().map(|by| by.actor.to_string())
}

#[tokio::test]
async fn what_the_server_does_anyway_is_on_nobodys_behalf_also_inside_a_request() {
    let ada = Behalf { actor: "user:ada".into(), grant: None };

    let (within, part, after) =
        on_behalf(ada, async { (actor(), on_nobodys_behalf(async { actor() }).await, actor()) }).await;

    assert_eq!(within.as_deref(), Some("user:ada"));
    assert_eq!(part, None);
    assert_eq!(after.as_deref(), Some("user:ada"));
    assert_eq!(actor(), None);
}
