//! Files of the directory: lists, contents, names and lines that are looked for.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind};
use crate::instance::{Here, Location};
use crate::reply;
use crate::wire::query::Query;
use crate::wire::shapes::files::ChangedFile;
use crate::wire::shapes::files::FileContent;
use crate::wire::shapes::files::FileNode;
use crate::wire::shapes::files::FoundLine;
use crate::wire::shapes::files::Symbol;
use crate::wire::shapes::v2::AtLocation;
use crate::wire::shapes::v2::FileEntryV2;
use crate::wire::v2::Located;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use sturdy_engine::Instance;
use sturdy_worktree::path::{PathError, Roots, WorkPath};
use sturdy_worktree::search::{self, Find, SearchError, limit};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

/// Names found when the client does not say how many, and at most.
const NAMES_DEFAULT: u32 = 10;
const NAMES_MAX: u32 = 200;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list))
        .routes(routes!(content))
        .routes(routes!(status))
        .routes(routes!(find_text))
        .routes(routes!(find_file))
        .routes(routes!(find_symbol))
        .routes(routes!(second_list))
        .routes(routes!(second_find))
}

/// The names in a directory.
#[utoipa::path(get, path = "/file", operation_id = "file.list", params(("path" = String, Query)),
    responses((status = 200, description = "Names", body = [FileNode]), (status = 400, description = "Outside"),
        (status = 404, description = "Not there")))]
async fn list(State(app): State<App>, Here(here): Here, query: Query) -> Result<Response, ApiError> {
    let path = query.wanted("path")?.to_owned();
    let listed = look(&app, &here, move |roots| search::list(roots, &path)).await?;
    Ok(reply::json(&listed))
}

/// What is in a file; one that is not there is empty.
#[utoipa::path(get, path = "/file/content", operation_id = "file.read", params(("path" = String, Query)),
    responses((status = 200, description = "Content", body = FileContent), (status = 400, description = "Outside")))]
async fn content(State(app): State<App>, Here(here): Here, query: Query) -> Result<Response, ApiError> {
    let path = query.wanted("path")?.to_owned();
    let content = look(&app, &here, move |roots| search::content(roots, &path)).await?;
    Ok(reply::json(&content))
}

/// Always empty; `/vcs` lists changed files.
#[utoipa::path(get, path = "/file/status", operation_id = "file.status",
    responses((status = 200, description = "Symbols", body = [ChangedFile])))]
async fn status(_: Here) -> Response {
    reply::text("[]")
}

/// How many files `/find` has left out because a rule does not let them be read unasked.
const SKIPPED: &str = "x-skipped-files";

/// Lines that match a regular expression. Files that `read` may not show are left out and counted.
#[utoipa::path(get, path = "/find", operation_id = "find.text", params(("pattern" = String, Query)),
    responses((status = 200, description = "Matches", body = [FoundLine]), (status = 400, description = "Bad pattern")))]
async fn find_text(State(app): State<App>, Here(here): Here, query: Query) -> Result<Response, ApiError> {
    let pattern = query.wanted("pattern")?.to_owned();
    let rules = here.clone();
    let search = move |roots: &Roots, stop: &CancellationToken| {
        let may_show = move |path: &WorkPath| rules.may_read(path.relative());
        search::text(roots, &pattern, search::MATCHES, &may_show, stop)
    };
    let found = find(&app, &here, search).await?;
    let mut answer = reply::json(&found.matches);
    if found.skipped > 0 {
        answer.headers_mut().insert(SKIPPED, found.skipped.into());
    }
    Ok(answer)
}

/// What names are looked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum NameKind {
    File,
    Directory,
}

/// File names that match the query, best match first.
#[utoipa::path(get, path = "/find/file", operation_id = "find.files", params(
    ("query" = String, Query), ("type" = inline(Option<NameKind>), Query), ("dirs" = Option<bool>, Query),
    ("limit" = Option<u32>, Query, minimum = 1, maximum = 200)),
    responses((status = 200, description = "Names", body = [String]), (status = 400, description = "Bad query")))]
async fn find_file(State(app): State<App>, Here(here): Here, query: Query) -> Result<Response, ApiError> {
    let dirs = query.boolean("dirs")?.unwrap_or(true);
    let find = kind(&query, if dirs { Find::Both } else { Find::Files })?;
    query.within("limit", 1, u64::from(NAMES_MAX))?;
    Ok(reply::json(&names(&app, &here, &query, find).await?))
}

/// Names of classes, functions and the like, from the language servers that run.
#[utoipa::path(get, path = "/find/symbol", operation_id = "find.symbols", params(("query" = String, Query)),
    responses((status = 200, description = "Always empty", body = [Symbol])))]
async fn find_symbol(Here(here): Here, query: Query) -> Result<Response, ApiError> {
    let name = query.wanted("query")?;
    let found = match here.lsp() {
        Some(lsp) => lsp.symbols(name).await,
        None => Vec::new(),
    };
    Ok(reply::json(&found))
}

/// The names in a directory.
#[utoipa::path(get, path = "/api/fs/list", operation_id = "v2.fs.list",
    params(("path" = Option<String>, Query)),
    responses((status = 200, description = "Names", body = AtLocation<Vec<FileEntryV2>>)))]
async fn second_list(
    State(app): State<App>,
    Location(here): Location,
    query: Query,
) -> Result<Response, ApiError> {
    let path = query.get("path").unwrap_or_default().to_owned();
    let listed = look(&app, &here, move |roots| search::list(roots, &path)).await?;
    let listed: Vec<_> = listed.iter().map(|one| json!({ "path": one.path, "type": one.kind })).collect();
    Ok(reply::json(&Located::at(&here, listed)))
}

/// File names that match the query, best match first.
#[utoipa::path(get, path = "/api/fs/find", operation_id = "v2.fs.find",
    params(("query" = String, Query), ("type" = inline(Option<NameKind>), Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, description = "Names", body = AtLocation<Vec<FileEntryV2>>)))]
async fn second_find(
    State(app): State<App>,
    Location(here): Location,
    query: Query,
) -> Result<Response, ApiError> {
    let find = kind(&query, Find::Both)?;
    let entry = |path: &String| json!({ "path": path, "type": if path.ends_with('/') { "directory" } else { "file" } });
    let found: Vec<_> = names(&app, &here, &query, find).await?.iter().map(entry).collect();
    Ok(reply::json(&Located::at(&here, found)))
}

fn kind(query: &Query, otherwise: Find) -> Result<Find, ApiError> {
    Ok(match query.word("type", &["file", "directory"])? {
        None => otherwise,
        Some(NameKind::File) => Find::Files,
        Some(NameKind::Directory) => Find::Directories,
    })
}

async fn names(app: &App, here: &Arc<Instance>, query: &Query, find: Find) -> Result<Vec<String>, ApiError> {
    let text = query.wanted("query")?.to_owned();
    let count = query.limit()?.unwrap_or(NAMES_DEFAULT).min(NAMES_MAX) as usize;
    let kept = app.file_names().clone();
    self::find(app, here, move |roots, stop| kept.files(roots, &text, find, count, stop)).await
}

/// Searches when it is its turn, until it has found everything or nobody waits for it any more.
async fn find<T, F>(app: &App, here: &Arc<Instance>, search: F) -> Result<T, ApiError>
where
    T: Send + 'static,
    F: FnOnce(&Roots, &CancellationToken) -> Result<T, SearchError> + Send + 'static,
{
    // A directory that hangs is found out here, and takes none of the places.
    let looked = here.clone();
    let roots =
        app.engine().look_at_files(&here.directory, move || roots(&looked)).await?.map_err(refused)?;
    let place = limit::place().await;
    let stop = CancellationToken::new();
    let _caller = stop.clone().drop_guard();
    // As long as it takes: four at a time, and whoever leaves stops it.
    let searched = tokio::task::spawn_blocking(move || {
        let _place = place;
        search(&roots, &stop)
    });
    match searched.await {
        Ok(found) => found.map_err(refused),
        Err(cause) => {
            let reference = crate::error::reference();
            tracing::error!(%reference, %cause, "a search ended early");
            Err(ApiError::Unforeseen { reference })
        }
    }
}

/// Looks at the disk where that holds nobody up.
async fn look<T, F>(app: &App, here: &Arc<Instance>, look: F) -> Result<T, ApiError>
where
    T: Send + 'static,
    F: FnOnce(&Roots) -> Result<T, SearchError> + Send + 'static,
{
    let place = here.clone();
    app.engine().look_at_files(&here.directory, move || look(&roots(&place)?)).await?.map_err(refused)
}

fn roots(here: &Instance) -> Result<Roots, SearchError> {
    Ok(Roots::new(Path::new(&here.directory), Path::new(&here.worktree))?)
}

fn refused(cause: SearchError) -> ApiError {
    match cause {
        SearchError::Path(PathError::Missing(path)) => ApiError::NoFile(path.display().to_string()),
        SearchError::Outside(_)
        | SearchError::Path(_)
        | SearchError::Pattern(_)
        | SearchError::TooLarge(_) => ApiError::schema(Kind::Query, cause.to_string()),
    }
}
