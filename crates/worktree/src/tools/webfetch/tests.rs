//! How far a connection may reach, decided before it is made.

use super::{Fetch, Format, Private, guard};
use crate::tool::Reach;
use std::time::Duration;
use url::Url;

async fn permitted(url: &str, reach: Reach) -> Option<Reach> {
    let fetch =
        Fetch { reach, private: Private::Named(None), limit: Duration::from_secs(1), format: Format::Text };
    let url = Url::parse(url).unwrap();
    let place = guard::place_of(&url).await;
    fetch.permit(&url, place, &mut Vec::new()).await.ok()
}

/// Nothing is connected to: the address of a test machine's cloud would answer.
#[tokio::test]
async fn where_clouds_keep_their_secrets_is_reached_only_if_everything_may_be() {
    for url in
        ["http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://100.100.100.200/"]
    {
        assert_eq!(permitted(url, Reach::Public).await, None, "{url}");
        assert_eq!(permitted(url, Reach::Private).await, None, "{url}");
        assert_eq!(permitted(url, Reach::Anywhere).await, Some(Reach::Anywhere), "{url}");
    }
}
