//! The checkout of the directory: its branch, what is changed in it, and patches for it.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind, VcsReason};
use crate::extract::{PROMPT_BYTES_MAX, Payload};
use crate::instance::Here;
use crate::reply;
use crate::wire::query::Query;
use crate::wire::shapes::files::PatchApplied;
use crate::wire::shapes::files::VcsFileDiff;
use crate::wire::shapes::files::VcsFileStatus;
use crate::wire::shapes::files::VcsInfo;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use sturdy_worktree::vcs::{DiffBase, FileDiff, VcsError};
use utoipa::ToSchema;

/// Lines of context around a change, unless a request says how many.
const CONTEXT: u32 = 3;
/// More is the whole file.
const CONTEXT_MAX: u32 = 1_000_000;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(get))
        .routes(routes!(status))
        .routes(routes!(diff))
        .routes(routes!(raw))
        .routes(routes!(apply))
}

/// The branch, and the one others start from; null outside a repository.
#[utoipa::path(get, path = "/vcs", operation_id = "vcs.get",
    responses((status = 200, description = "Branches", body = VcsInfo)))]
async fn get(State(app): State<App>, Here(here): Here) -> Response {
    let (branch, default_branch) = match here.checkout() {
        Some(checkout) => {
            let both =
                async { Ok::<_, VcsError>(tokio::join!(checkout.branch(), checkout.default_branch())) };
            in_time(&app, both).await.unwrap_or_default()
        }
        None => (None, None),
    };
    reply::json(&json!({ "branch": branch, "default_branch": default_branch }))
}

/// Files that differ from the last commit, those git does not know yet included.
#[utoipa::path(get, path = "/vcs/status", operation_id = "vcs.status",
    responses((status = 200, description = "Changed files", body = [VcsFileStatus])))]
async fn status(State(app): State<App>, Here(here): Here) -> Result<Response, ApiError> {
    let files = match here.checkout() {
        Some(checkout) => in_time(&app, checkout.status()).await?,
        None => Vec::new(),
    };
    Ok(reply::json(&files))
}

/// What a diff is against.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum DiffMode {
    Git,
    Branch,
}

/// The same with patches, against the last commit or against where the branch left the default one.
#[utoipa::path(get, path = "/vcs/diff", operation_id = "vcs.diff",
    params(("mode" = inline(DiffMode), Query), ("context" = Option<u32>, Query)),
    responses((status = 200, description = "Changed files with patches", body = [VcsFileDiff]), (status = 400, description = "No such mode")))]
async fn diff(State(app): State<App>, Here(here): Here, query: Query) -> Result<Response, ApiError> {
    query.wanted("mode")?;
    let against = match query.word("mode", &["git", "branch"])? {
        Some(DiffMode::Branch) => DiffBase::Branch,
        Some(DiffMode::Git) | None => DiffBase::Commit,
    };
    let context = match query.get("context").map(str::parse::<u32>) {
        None => CONTEXT,
        Some(Ok(lines)) => lines.min(CONTEXT_MAX),
        Some(Err(_)) => {
            let text = "Expected a whole number of at least 0\n  at [\"context\"]".to_owned();
            return Err(ApiError::schema(Kind::Query, text));
        }
    };
    let files: Vec<FileDiff> = match here.checkout() {
        Some(checkout) => in_time(&app, checkout.diff(against, context)).await?,
        None => Vec::new(),
    };
    Ok(reply::json(&files))
}

/// Everything that is not committed, as one patch.
#[utoipa::path(get, path = "/vcs/diff/raw", operation_id = "vcs.diff.raw",
    responses((status = 200, description = "A patch", body = String, content_type = "text/x-diff; charset=utf-8")))]
async fn raw(State(app): State<App>, Here(here): Here) -> Result<Response, ApiError> {
    let patch = match here.checkout() {
        Some(checkout) => in_time(&app, checkout.raw_diff()).await?,
        None => Vec::new(),
    };
    Ok(reply::patch(patch))
}

/// An answer of git that somebody still waits for. Dropped, it ends git.
async fn in_time<T>(app: &App, asked: impl Future<Output = Result<T, VcsError>>) -> Result<T, ApiError> {
    let patience = app.git_patience();
    match tokio::time::timeout(patience, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(ApiError::TimedOut(format!(
            "git gave no answer within {} s. A large file that it does not know may be why: list it in .gitignore.",
            patience.as_secs_f64()
        ))),
    }
}

#[derive(Deserialize)]
struct Patch {
    patch: String,
}

/// Changes the files as a patch says, all of them or none.
#[utoipa::path(post, path = "/vcs/apply", operation_id = "vcs.apply", request_body = crate::wire::shapes::files::PatchToApply,
    responses((status = 200, description = "Applied", body = PatchApplied), (status = 400, description = "The patch does not apply")))]
async fn apply(
    State(app): State<App>,
    Here(here): Here,
    Payload(Patch { patch }): Payload<Patch, PROMPT_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let Some(checkout) = here.checkout() else { return Err(ApiError::Vcs(VcsReason::NonGit)) };
    match in_time(&app, checkout.apply(&patch)).await? {
        true => Ok(reply::json(&json!({ "applied": true }))),
        false => Err(ApiError::Vcs(VcsReason::NotClean)),
    }
}
