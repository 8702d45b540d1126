//! A session that is shared: where, under which secret, and how far it has been sent.

use super::retry::Retry;
use crate::Store;
use crate::error::{CommitError, Failure, ReadError};
use crate::share::{Chain, Visibility, chain_start};
use rusqlite::{Connection, Row, params};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sturdy_session::id::SessionId;
use sturdy_session::stamp::Millis;
use tracing::{error, trace};

pub(super) const COLUMNS: &str = "session_id, state, target, request_id, secret, share_id, url, contract, writer_id,
    epoch, cursor, sealed_seq, sealed_chain, acked_seq, acked_count, acked_chain, generation, snapshot, error, created,
    visibility, actor, is_compared, failures, retry_at";

/// What happens to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Asked for; the service may or may not know of it.
    Creating,
    Active,
    /// The share is to be deleted; the link goes when that is done.
    Deleting,
    /// The service refuses, and asking again would not help.
    Failed,
    /// The service does not have the share. The link is kept: another service may have answered for it.
    Gone,
}

/// What the service understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// Numbered operations.
    Ops,
    /// A list of values, as OpenCode's own service takes them.
    Sync,
}

/// Whether everything is being sent anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotStage {
    None,
    /// The next batch begins one.
    Wanted,
    /// It is begun; what the share has and the session has not goes when it ends.
    Open,
}

/// The secret of a share. Prints as stars.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkSecret(String);

impl LinkSecret {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// For the request that shows it to the service, and for the owner.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkSecret(***)")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub session: SessionId,
    pub state: LinkState,
    /// The service's URL; empty: this store.
    pub target: String,
    pub request: String,
    /// While it is created the secret alone; then the owner's reference.
    pub secret: LinkSecret,
    pub share: String,
    pub url: String,
    pub contract: Contract,
    pub writer: String,
    pub epoch: u64,
    pub cursor: u64,
    pub sealed_seq: u64,
    pub sealed_chain: Chain,
    pub acked_seq: u64,
    pub acked_count: u64,
    pub acked_chain: Chain,
    pub generation: u64,
    pub snapshot: SnapshotStage,
    /// The whole session was looked at; what changed since is noted.
    pub is_compared: bool,
    pub error: Option<String>,
    pub retry: Retry,
    pub created: Millis,
    /// What whoever shared the session wanted; the owner may have changed the share since.
    pub visibility: Visibility,
    /// Who shared it; empty: nobody in particular.
    pub actor: String,
}

/// A link that is wanted.
#[derive(Clone, Debug)]
pub struct WantedLink {
    pub session: SessionId,
    /// The service's URL; empty: this store.
    pub target: String,
    pub request: String,
    pub secret: LinkSecret,
    pub writer: String,
    pub visibility: Visibility,
    pub actor: String,
}

/// A share that the service has made.
#[derive(Clone, Debug)]
pub struct Made {
    pub share: String,
    pub url: String,
    pub secret: LinkSecret,
    pub contract: Contract,
    pub epoch: u64,
    pub cursor: u64,
}

impl Store {
    /// Every session that is shared, oldest link first. One that cannot be read is noted, and keeps no other from being
    /// sent.
    pub async fn share_links(&self) -> Result<Vec<Link>, ReadError> {
        let damaged = self.inner.damaged.clone();
        self.read(move |connection| {
            let text = format!("SELECT {COLUMNS} FROM share_link ORDER BY created, session_id");
            let mut statement = connection.prepare_cached(&text)?;
            let mut rows = statement.query(())?;
            let mut links = Vec::new();
            while let Some(row) = rows.next()? {
                let session = row.get::<_, String>(0).ok().and_then(|id| SessionId::parse(&id).ok());
                match (from_row(row), session) {
                    (Ok(link), _) => links.push(link),
                    (Err(Failure::Broken { .. }), Some(session)) => damaged.note(&session, "its share link"),
                    (Err(Failure::Broken { .. }), None) => {
                        error!("a damaged share link without a readable session id is left out");
                    }
                    (Err(failure), _) => return Err(failure.into()),
                }
            }
            Ok(links)
        })
        .await
    }

    pub async fn share_link(&self, session: &SessionId) -> Result<Option<Link>, ReadError> {
        let session = session.clone();
        self.read(move |connection| Ok(find(connection, &session)?)).await
    }

    /// Writes down that a session is to be shared. If it was before, that stays as it is and is returned.
    pub async fn want_share(&self, wanted: WantedLink, now: Millis) -> Result<Link, CommitError> {
        const INSERT: &str =
            "INSERT INTO share_link (session_id, state, target, request_id, secret, share_id, url,
            contract, writer_id, epoch, cursor, sealed_seq, sealed_chain, acked_seq, acked_count, acked_chain,
            generation, snapshot, created, visibility, actor)
            VALUES (?1, 'creating', ?2, ?3, ?4, '', '', 'ops', ?5, 1, 0, 0, ?6, 0, 0, ?6, 0, 'none', ?7, ?8, ?9)
            ON CONFLICT (session_id) DO NOTHING";
        let shared = Arc::clone(&self.inner.shared);
        self.write(move |connection| {
            // Before the link is there: no commit after it goes by without a note.
            shared.has_links.store(true, Ordering::Release);
            let transaction = connection.transaction()?;
            let session = &wanted.session;
            let start = chain_start("", &wanted.writer).to_string();
            transaction.prepare_cached(INSERT)?.execute(params![
                session.as_str(),
                wanted.target,
                wanted.request,
                wanted.secret.reveal(),
                wanted.writer,
                start,
                now.cast_signed(),
                wanted.visibility.as_str(),
                wanted.actor,
            ])?;
            let link = find(&transaction, session)?;
            transaction.commit()?;
            trace!("point create.stored");
            link.ok_or_else(|| broken(session.as_str(), "the link"))
        })
        .await
    }

    /// The service has made the share: the link knows it from now on, and its writer begins at the beginning. Whether
    /// the session is still to be shared is another question; its state stays as it is.
    pub async fn share_was_made(&self, link: &Link, made: Made) -> Result<(), CommitError> {
        const MADE: &str =
            "UPDATE share_link SET share_id = ?2, url = ?3, secret = ?4, contract = ?5, epoch = ?6,
            cursor = ?7, sealed_chain = ?8, acked_chain = ?8, error = NULL, failures = 0, retry_at = 0
            WHERE session_id = ?1 AND request_id = ?9 AND share_id = ''";
        let link = link.clone();
        self.write(move |connection| {
            let start = chain_start(&made.share, &link.writer).to_string();
            connection.prepare_cached(MADE)?.execute(params![
                link.session.as_str(),
                made.share,
                made.url,
                made.secret.reveal(),
                made.contract.as_str(),
                made.epoch.cast_signed(),
                made.cursor.cast_signed(),
                start,
                link.request,
            ])?;
            Ok(())
        })
        .await
    }

    /// Moves a link from one state to another; the error stays. False: it was not in the first state any more, and
    /// nothing changed.
    pub async fn move_share(&self, link: &Link, from: LinkState, to: LinkState) -> Result<bool, CommitError> {
        const MOVE: &str =
            "UPDATE share_link SET state = ?4 WHERE session_id = ?1 AND request_id = ?2 AND state = ?3";
        let link = link.clone();
        self.write(move |connection| {
            let values = (link.session.as_str(), &link.request, from.as_str(), to.as_str());
            Ok(connection.prepare_cached(MOVE)?.execute(values)? == 1)
        })
        .await
    }

    /// A share that is being created, or was given up before its service answered, is wanted again: under the same
    /// request, so that there is one share whichever of them arrives. False: it is too late for that.
    pub async fn want_share_again(&self, link: &Link) -> Result<bool, CommitError> {
        const AGAIN: &str = "UPDATE share_link SET state = 'creating', error = NULL, failures = 0, retry_at = 0
            WHERE session_id = ?1 AND request_id = ?2 AND (state = 'creating' OR (state = 'deleting' AND share_id = ''))";
        let link = link.clone();
        self.write(move |connection| {
            Ok(connection.prepare_cached(AGAIN)?.execute((link.session.as_str(), &link.request))? == 1)
        })
        .await
    }

    /// Changes what happens to a link, and says why. That may be tried at once.
    pub async fn set_share_state(
        &self,
        link: &Link,
        state: LinkState,
        error: Option<&str>,
    ) -> Result<(), CommitError> {
        const SET: &str = "UPDATE share_link SET state = ?3, error = ?4, failures = 0, retry_at = 0
            WHERE session_id = ?1 AND request_id = ?2";
        let link = link.clone();
        let error = error.map(str::to_owned);
        self.write(move |connection| {
            let values = (link.session.as_str(), &link.request, state.as_str(), error);
            connection.prepare_cached(SET)?.execute(values)?;
            if state == LinkState::Deleting {
                trace!("point delete.stored");
            }
            Ok(())
        })
        .await
    }

    /// The service does not have the share of an active link. False: the link was taken back meanwhile, and stays so.
    pub async fn lose_share(&self, link: &Link, error: &str) -> Result<bool, CommitError> {
        const LOSE: &str = "UPDATE share_link SET state = 'gone', error = ?3, failures = 0, retry_at = 0
            WHERE session_id = ?1 AND request_id = ?2 AND state = 'active'";
        let link = link.clone();
        let error = error.to_owned();
        self.write(move |connection| {
            let values = (link.session.as_str(), &link.request, error);
            Ok(connection.prepare_cached(LOSE)?.execute(values)? == 1)
        })
        .await
    }

    /// A share that was gone is there again: its session has to say so, as after its creation. False: the link was
    /// taken back meanwhile, or somebody else has found it.
    pub async fn find_share_again(&self, link: &Link) -> Result<bool, CommitError> {
        const FIND: &str =
            "UPDATE share_link SET state = 'creating', error = NULL, failures = 0, retry_at = 0
            WHERE session_id = ?1 AND request_id = ?2 AND state = 'gone'";
        let link = link.clone();
        self.write(move |connection| {
            Ok(connection.prepare_cached(FIND)?.execute((link.session.as_str(), &link.request))? == 1)
        })
        .await
    }

    /// Everything is sent anew under another writer: one of the two sides went back in time, or somebody else wrote.
    pub async fn start_share_over(
        &self,
        link: &Link,
        writer: &str,
        epoch: u64,
        cursor: u64,
    ) -> Result<(), CommitError> {
        const OVER: &str = "UPDATE share_link SET writer_id = ?2, epoch = ?3, cursor = ?4, sealed_seq = 0,
            sealed_chain = ?5, acked_seq = 0, acked_count = 0, acked_chain = ?5, generation = generation + 1,
            snapshot = 'wanted', is_compared = 0, failures = 0, retry_at = 0 WHERE session_id = ?1 AND request_id = ?6";
        let link = link.clone();
        let writer = writer.to_owned();
        self.write(move |connection| {
            let transaction = connection.transaction()?;
            let session = link.session.as_str();
            let start = chain_start(&link.share, &writer).to_string();
            let values =
                params![session, writer, epoch.cast_signed(), cursor.cast_signed(), start, link.request];
            if transaction.prepare_cached(OVER)?.execute(values)? == 1 {
                forget_said(&transaction, session)?;
            }
            transaction.commit()?;
            Ok(())
        })
        .await
    }

    /// The share has an epoch of its own account: somebody's authority changed.
    pub async fn set_share_epoch(&self, link: &Link, epoch: u64) -> Result<(), CommitError> {
        const SET: &str = "UPDATE share_link SET epoch = ?3 WHERE session_id = ?1 AND request_id = ?2";
        let link = link.clone();
        self.write(move |connection| {
            let values = (link.session.as_str(), &link.request, epoch.cast_signed());
            connection.prepare_cached(SET)?.execute(values)?;
            Ok(())
        })
        .await
    }

    /// Forgets a link with its secret and everything that was to be sent.
    pub async fn forget_share(&self, link: &Link) -> Result<(), CommitError> {
        const FORGET: &str = "DELETE FROM share_link WHERE session_id = ?1 AND request_id = ?2";
        let link = link.clone();
        self.write(move |connection| {
            let transaction = connection.transaction()?;
            let session = link.session.as_str();
            // A session that was shared again meanwhile has another link.
            if transaction.execute(FORGET, (session, &link.request))? == 1 {
                forget_said(&transaction, session)?;
            }
            transaction.commit()?;
            Ok(())
        })
        .await
    }
}

fn forget_said(connection: &Connection, session: &str) -> Result<(), Failure> {
    connection.execute("DELETE FROM share_sealed WHERE session_id = ?1", [session])?;
    connection.execute("DELETE FROM share_said WHERE session_id = ?1", [session])?;
    connection.execute("DELETE FROM share_unsent WHERE session_id = ?1", [session])?;
    Ok(())
}

pub(super) fn find(connection: &Connection, session: &SessionId) -> Result<Option<Link>, Failure> {
    let text = format!("SELECT {COLUMNS} FROM share_link WHERE session_id = ?1");
    let mut statement = connection.prepare_cached(&text)?;
    let mut rows = statement.query([session.as_str()])?;
    rows.next()?.map(from_row).transpose()
}

pub(super) fn broken(session: &str, what: &str) -> CommitError {
    CommitError::Broken { what: what.to_owned(), place: format!("the share of session {session}") }
}

fn from_row(row: &Row<'_>) -> Result<Link, Failure> {
    let session: String = row.get(0)?;
    let place = || format!("the share of session {session}");
    let count = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let word = |column: usize| row.get::<_, String>(column);
    let unknown = |word: &str| Failure::broken(place(), format!("{word:?} is not known"));
    let chain = |column: usize| -> Result<Chain, Failure> {
        let text = word(column)?;
        Chain::parse(&text).ok_or_else(|| unknown(&text))
    };
    let state = word(1)?;
    let contract = word(7)?;
    let snapshot = word(17)?;
    let visibility = word(20)?;
    Ok(Link {
        session: SessionId::parse(&session).map_err(|cause| Failure::broken(place(), cause))?,
        state: LinkState::parse(&state).ok_or_else(|| unknown(&state))?,
        target: word(2)?,
        request: word(3)?,
        secret: LinkSecret(word(4)?),
        share: word(5)?,
        url: word(6)?,
        contract: Contract::parse(&contract).ok_or_else(|| unknown(&contract))?,
        writer: word(8)?,
        epoch: count(9)?,
        cursor: count(10)?,
        sealed_seq: count(11)?,
        sealed_chain: chain(12)?,
        acked_seq: count(13)?,
        acked_count: count(14)?,
        acked_chain: chain(15)?,
        generation: count(16)?,
        snapshot: SnapshotStage::parse(&snapshot).ok_or_else(|| unknown(&snapshot))?,
        error: row.get(18)?,
        created: count(19)?,
        visibility: Visibility::parse(&visibility).ok_or_else(|| unknown(&visibility))?,
        actor: word(21)?,
        is_compared: count(22)? != 0,
        retry: Retry { failures: count(23)?, at: count(24)? },
    })
}

impl LinkState {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Active => "active",
            Self::Deleting => "deleting",
            Self::Failed => "failed",
            Self::Gone => "gone",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Creating, Self::Active, Self::Deleting, Self::Failed, Self::Gone]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

impl Contract {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ops => "ops",
            Self::Sync => "sync",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Ops, Self::Sync].into_iter().find(|contract| contract.as_str() == text)
    }
}

impl SnapshotStage {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Wanted => "wanted",
            Self::Open => "open",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::None, Self::Wanted, Self::Open].into_iter().find(|stage| stage.as_str() == text)
    }
}
