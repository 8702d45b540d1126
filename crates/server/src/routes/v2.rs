//! The second version of the API, below `/api`: the same engine in another spelling.

mod location;
mod sessions;

use crate::described::Routes;

pub(super) fn routes() -> Routes {
    Routes::new().merge(location::routes()).merge(sessions::routes())
}
