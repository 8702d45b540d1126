//! Requests to a person that belong to no call of a model: whether a project is trusted, whether a template may run
//! a snippet.
//!
//! For clients they are ordinary permission requests, listed and answered like any other. They are not in the log:
//! nothing a session did depends on them. Whoever asked waits for the answer; a request is taken back when nobody waits
//! any more, and a process that dies forgets it with whoever waited. What is allowed for always is kept, like the
//! answer to a call.

use crate::directory::Directories;
use crate::directory::config::TrustKey;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sturdy_session::id::{PermissionId, SessionId};
use sturdy_session::json::Map;
use sturdy_session::row::ApprovalRow;
use sturdy_session::types::ask::{AskedBy, PermissionReply, PermissionRequest};
use sturdy_session::types::event::{Event, PermissionReplied};
use tokio::sync::oneshot;
use tracing::{error, warn};

/// What is asked in which session.
#[derive(Debug)]
pub(crate) struct NewRequest<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) directory: &'a str,
    pub(crate) project: &'a str,
    pub(crate) permission: String,
    pub(crate) patterns: Vec<String>,
    pub(crate) always: Vec<String>,
    pub(crate) metadata: Map,
    /// The call a client asks for, if it says so.
    pub(crate) tool: Option<AskedBy>,
    /// The checkout in which "always" counts from now on. None: it counts once.
    pub(crate) kept_at: Option<String>,
    /// Of a question about trust: the same question of other sessions has the same answer.
    pub(crate) trust: Option<TrustKey>,
}

/// Somebody is asked and somebody waits.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    request: PermissionRequest,
    pub(crate) directory: String,
    pub(crate) project: String,
    kept_at: Option<String>,
    pub(crate) trust: Option<TrustKey>,
    answer: oneshot::Sender<PermissionReply>,
}

/// All that are open.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    open: Mutex<Vec<OpenRequest>>,
}

impl Asking {
    fn lock(&self) -> MutexGuard<'_, Vec<OpenRequest>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }
}

impl Directories {
    /// Permission requests that are not stored and wait for a person: of one directory, or of all.
    pub(crate) fn unstored_requests(&self, directory: Option<&str>) -> Vec<PermissionRequest> {
        let open = self.asking.lock();
        let is_wanted = |one: &&OpenRequest| directory.is_none_or(|wanted| wanted == one.directory);
        open.iter().filter(is_wanted).map(|one| one.request.clone()).collect()
    }

    /// Answers one of them. False if it is not open.
    pub(crate) async fn answer_unstored(self: &Arc<Self>, id: &str, reply: PermissionReply) -> bool {
        let is_this = |one: &mut OpenRequest| one.request.id.as_str() == id;
        let taken: Option<OpenRequest> = self.asking.lock().extract_if(.., is_this).next();
        let Some(asked) = taken else { return false };
        // It is not open any more. Whoever answered may go away now, and the answer still counts.
        let directories = self.clone();
        let answering =
            self.tasks.spawn("answer", async move { directories.answer_taken(asked, reply).await });
        if let Err(cause) = answering.await {
            error!(%cause, "the answer to a permission request was not delivered: a task panicked");
        }
        true
    }

    /// Asks, and gives back whom to wait for.
    pub(crate) fn ask_unstored(self: &Arc<Self>, new: NewRequest<'_>) -> WaitingAsk {
        let id = self.clock.stamp().permission_id();
        self.begin(self.asking.lock(), id, new)
    }

    /// The same under an id that a client chose. None if a request with that id is open.
    pub(crate) fn ask_unstored_as(
        self: &Arc<Self>,
        id: PermissionId,
        new: NewRequest<'_>,
    ) -> Option<WaitingAsk> {
        let open = self.asking.lock();
        let is_taken = open.iter().any(|one| one.request.id == id);
        (!is_taken).then(|| self.begin(open, id, new))
    }

    fn begin(
        self: &Arc<Self>,
        mut open: MutexGuard<'_, Vec<OpenRequest>>,
        id: PermissionId,
        new: NewRequest<'_>,
    ) -> WaitingAsk {
        let request = PermissionRequest {
            id: id.clone(),
            session_id: new.session.clone(),
            permission: new.permission,
            patterns: new.patterns,
            always: new.always,
            metadata: new.metadata,
            tool: new.tool,
        };
        let (answer, answered) = oneshot::channel();
        open.push(OpenRequest {
            request: request.clone(),
            directory: new.directory.to_owned(),
            project: new.project.to_owned(),
            kept_at: new.kept_at,
            trust: new.trust,
            answer,
        });
        drop(open);
        let event = Event::PermissionAsked(request);
        self.feed.tell(self.clock.now(), Some(new.directory), Some(new.project), event);
        WaitingAsk { directories: self.clone(), id, answered: Some(answered) }
    }

    /// Remembers the answer, which may take as long as the disk does, and then passes it on to everybody who waits
    /// for the same.
    async fn answer_taken(self: Arc<Self>, asked: OpenRequest, reply: PermissionReply) {
        if reply == PermissionReply::Always
            && let Err(cause) = self.store.add_approvals(approvals(&asked)).await
        {
            warn!(%cause, "what was allowed for always is allowed once; it could not be kept");
        }
        let mut answered = vec![asked];
        if let Some(key) = answered[0].trust.clone() {
            let trust = self.trust.clone();
            let named = key.clone();
            let now = self.clock.now();
            let place = self.data_dir.to_string_lossy().into_owned();
            let remembering = self.files.run(&place, move || trust.remember(&named, reply, now));
            if let Err(cause) = remembering.await {
                warn!(%cause, "the answer about trust could not be saved; it is forgotten when the server stops");
            }
            let is_same = |one: &mut OpenRequest| one.trust.as_ref() == Some(&key);
            answered.extend(self.asking.lock().extract_if(.., is_same));
        }
        self.trust_was_answered(&answered, reply);
        for one in answered {
            self.tell_replied(&one, reply);
            // Nobody waits any more if the turn was stopped meanwhile.
            let _ = one.answer.send(reply);
        }
    }

    fn tell_replied(&self, one: &OpenRequest, reply: PermissionReply) {
        let event = Event::PermissionReplied(PermissionReplied {
            session_id: one.request.session_id.clone(),
            request_id: one.request.id.clone(),
            reply,
        });
        self.feed.tell(self.clock.now(), Some(&one.directory), Some(&one.project), event);
    }
}

/// What "always" allows from now on.
fn approvals(asked: &OpenRequest) -> Vec<ApprovalRow> {
    let Some(checkout) = &asked.kept_at else { return Vec::new() };
    let request = &asked.request;
    let tail = request.id.as_str().trim_start_matches("per_");
    let row = |(index, pattern): (usize, &String)| ApprovalRow {
        id: format!("psv_{tail}{index:02}"),
        project_id: asked.project.clone(),
        directory: checkout.clone(),
        permission: request.permission.clone(),
        pattern: pattern.clone(),
    };
    request.always.iter().enumerate().map(row).collect()
}

/// A request that is taken back when nobody waits for its answer any more.
pub(crate) struct WaitingAsk {
    directories: Arc<Directories>,
    pub(crate) id: PermissionId,
    answered: Option<oneshot::Receiver<PermissionReply>>,
}

impl WaitingAsk {
    /// No timeout here: the person may think for an hour.
    pub(crate) async fn answered(mut self) -> Option<PermissionReply> {
        let answered = self.answered.take()?;
        answered.await.ok()
    }
}

impl Drop for WaitingAsk {
    fn drop(&mut self) {
        let is_this = |one: &mut OpenRequest| one.request.id == self.id;
        let withdrawn: Vec<OpenRequest> = self.directories.asking.lock().extract_if(.., is_this).collect();
        for one in withdrawn {
            self.directories.tell_replied(&one, PermissionReply::Reject);
        }
    }
}
