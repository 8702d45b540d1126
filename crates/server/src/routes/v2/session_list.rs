//! The list of sessions in the spelling of the v2 API, by creation time.
//!
//! A cursor carries the filters of its page, so that a client that follows it need not repeat them. The store
//! begins to read at the cursor: a page costs a page, however many sessions there are.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, V2Error};
use crate::reply;
use crate::wire::query::Query;
use crate::wire::query::percent_decode;
use crate::wire::shapes::v2::PageOf;
use crate::wire::v2::SessionV2;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sturdy_engine::reads::{CreatedEdge, SessionOrder, SessionQuery};
use sturdy_engine::records;
use sturdy_session::id::SessionId;
use sturdy_session::types::session::Session;
use utoipa::ToSchema;

const LIMIT_DEFAULT: u32 = 50;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(list))
}

/// What a page is made of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Filter {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subpath: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor: Option<Anchor>,
}

/// The session at the edge of a page, and which side of it is wanted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Anchor {
    id: SessionId,
    time: u64,
    direction: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Previous,
    Next,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    #[default]
    Desc,
}

/// Sessions of all projects, by creation time.
#[utoipa::path(get, path = "/api/session", operation_id = "v2.session.list", params(
    ("limit" = Option<u32>, Query), ("order" = inline(Option<Order>), Query), ("search" = Option<String>, Query),
    ("directory" = Option<String>, Query), ("project" = Option<String>, Query), ("subpath" = Option<String>, Query),
    ("cursor" = Option<String>, Query)),
    responses((status = 200, description = "A page of sessions", body = PageOf<SessionV2>), (status = 400, description = "Bad query")))]
async fn list(State(app): State<App>, query: Query) -> Result<Response, ApiError> {
    let filter = filter(&query)?;
    let limit = query.within("limit", 1, u64::MAX).map_err(ApiError::in_v2)?;
    let limit = limit.map_or(LIMIT_DEFAULT, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
    let wanted = SessionQuery {
        project: filter.project.clone(),
        directory: filter.directory.clone(),
        path: filter.subpath.clone(),
        search: filter.search.clone(),
        order: filter.reading_order(),
        limit: Some(limit),
        ..SessionQuery::default()
    };
    let texts = app.engine().reads().sessions(wanted).await?;
    // What is a record but not one of a session is left out.
    let mut page: Vec<Session> = records::sessions(&texts).collect();
    if filter.is_backward() {
        page.reverse();
    }
    let cursor = json!({
        "previous": page.first().map(|session| filter.cursor(session, Direction::Previous)),
        "next": page.last().map(|session| filter.cursor(session, Direction::Next)),
    });
    let data: Vec<SessionV2> = page.into_iter().map(SessionV2::from).collect();
    Ok(reply::json(&json!({ "data": data, "cursor": cursor })))
}

impl Filter {
    /// Whether the page before the edge is wanted: it is read from the edge away, and turned round.
    fn is_backward(&self) -> bool {
        self.anchor.as_ref().is_some_and(|anchor| anchor.direction == Direction::Previous)
    }

    fn reading_order(&self) -> SessionOrder {
        let anchor = self.anchor.as_ref();
        let after = anchor.map(|anchor| CreatedEdge { created: anchor.time, id: anchor.id.clone() });
        match (self.order.unwrap_or_default(), self.is_backward()) {
            (Order::Asc, false) | (Order::Desc, true) => SessionOrder::OldestCreated { after },
            (Order::Desc, false) | (Order::Asc, true) => SessionOrder::NewestCreated { after },
        }
    }

    fn cursor(&self, session: &Session, direction: Direction) -> String {
        let anchor = Anchor { id: session.id.clone(), time: session.time.created, direction };
        let filter = Self { anchor: Some(anchor), ..self.clone() };
        let json = serde_json::to_vec(&filter).expect("BUG: a cursor is always JSON");
        BASE64_URL_SAFE_NO_PAD.encode(json)
    }
}

fn filter(query: &Query) -> Result<Filter, ApiError> {
    if let Some(cursor) = query.get("cursor") {
        let json = BASE64_URL_SAFE_NO_PAD.decode(cursor.trim_end_matches('=')).ok();
        let filter: Option<Filter> = json.and_then(|json| serde_json::from_slice(&json).ok());
        let filter = filter.filter(|filter| filter.anchor.is_some());
        return filter.ok_or_else(|| V2Error::Cursor("Invalid cursor").into());
    }
    let order = query.word("order", &["asc", "desc"]).map_err(ApiError::in_v2)?;
    let text = |name: &str| query.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    let directory = text("directory").map(|directory| percent_decode(&directory));
    Ok(Filter {
        anchor: None,
        order,
        search: text("search"),
        directory,
        project: text("project"),
        subpath: text("subpath"),
    })
}
