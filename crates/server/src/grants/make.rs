//! What people ask of grants, over HTTP and RPC alike: make one, narrow one, take one back.

use crate::app::App;
use crate::error::{ApiError, Kind};
use serde::{Deserialize, Serialize};
use sturdy_engine::share::{new_capability_id, new_secret};
use sturdy_session::id::SessionId;
use sturdy_session::stamp::Millis;
use sturdy_store::grants::{GrantCall, GrantKeeper, GrantQuery, GrantRow, NewGrant, Rights};
use sturdy_store::share::{Refusal, ShareError, SturdyRef};
use utoipa::ToSchema;

/// A grant that is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedGrant {
    #[serde(rename = "sessionID")]
    session: String,
    /// `read`, `prompt`, `answer`.
    rights: Vec<String>,
    /// When it expires, in milliseconds by the server's clock.
    expires: Option<Millis>,
    /// Prompts and answers.
    #[serde(rename = "maxUses")]
    max_uses: Option<u64>,
    /// For people: who has it.
    label: Option<String>,
}

/// A narrower grant. What is left out is as the grant it is made of has it, except the label.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantLimits {
    rights: Option<Vec<String>>,
    expires: Option<Millis>,
    #[serde(rename = "maxUses")]
    max_uses: Option<u64>,
    label: Option<String>,
}

/// A grant that was just made. Its reference is told here and never again.
#[derive(Serialize)]
pub(crate) struct CreatedGrant {
    #[serde(flatten)]
    grant: GrantRow,
    reference: String,
}

pub(crate) async fn made(app: &App, call: GrantCall, wanted: WantedGrant) -> Result<CreatedGrant, ApiError> {
    let session = SessionId::parse(&wanted.session)
        .map_err(|cause| ApiError::schema(Kind::Payload, format!("{cause}\n  at [\"sessionID\"]")))?;
    let rights = read_rights(&wanted.rights)?;
    let new = NewGrant {
        reference: new_reference(session.as_str()),
        rights,
        expires: wanted.expires,
        max_uses: wanted.max_uses,
        label: wanted.label.unwrap_or_default(),
    };
    let reference = new.reference.reveal();
    let grant = app.engine().store().create_grant(call, new).await?;
    Ok(CreatedGrant { grant, reference })
}

pub(crate) async fn narrowed(
    app: &App,
    call: GrantCall,
    keeper: GrantKeeper,
    parent: &str,
    wanted: GrantLimits,
) -> Result<CreatedGrant, ApiError> {
    let store = app.engine().store();
    let all = store.grants(call.now, keeper.clone(), GrantQuery::default()).await?;
    let found = all.into_iter().find(|row| row.id == parent);
    let found = found.ok_or(ApiError::Grant(Refusal::NotFound))?;
    let new = NewGrant {
        reference: new_reference(&found.session),
        rights: wanted.rights.map_or(Ok(found.rights), |rights| read_rights(&rights))?,
        expires: wanted.expires,
        max_uses: wanted.max_uses,
        label: wanted.label.unwrap_or_default(),
    };
    let reference = new.reference.reveal();
    let grant = store.narrow_grant(call, keeper, parent.to_owned(), new).await?;
    Ok(CreatedGrant { grant, reference })
}

pub(crate) async fn revoked(
    app: &App,
    call: GrantCall,
    keeper: GrantKeeper,
    id: &str,
) -> Result<u64, ApiError> {
    let revoked = app.engine().store().revoke_grant(call, keeper, id.to_owned()).await?;
    app.grants().changed();
    Ok(revoked)
}

fn new_reference(session: &str) -> SturdyRef {
    SturdyRef::new(session, format!("grt{}", new_capability_id()), new_secret())
}

fn read_rights(names: &[String]) -> Result<Rights, ApiError> {
    let unknown = "Expected \"read\", \"prompt\" or \"answer\"\n  at [\"rights\"]";
    Rights::parse(names.iter().map(String::as_str)).ok_or_else(|| ApiError::schema(Kind::Payload, unknown))
}

impl From<ShareError> for ApiError {
    fn from(cause: ShareError) -> Self {
        match cause {
            ShareError::Refused(refusal) => Self::Grant(refusal),
            ShareError::Store(cause) => cause.into(),
        }
    }
}
