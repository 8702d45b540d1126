//! A file as it is, in the spelling of the v2 API.

use crate::app::App;
use crate::described::{Routes, routes};
use crate::error::{ApiError, Kind, V2Error};
use crate::extract::Params;
use crate::instance::Location;
use crate::wire::query::percent_decode;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use sturdy_engine::Instance;
use sturdy_worktree::path::{PathError, Roots};

/// Larger files are not sent whole.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(read))
}

/// The bytes of a file of the location.
#[utoipa::path(get, path = "/api/fs/read/{*path}", operation_id = "v2.fs.read",
    params(("path" = String, Path)),
    responses((status = 200, description = "The file", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 400, description = "Not there, outside, or too large")))]
async fn read(
    State(app): State<App>,
    Location(here): Location,
    params: Params,
) -> Result<Response, ApiError> {
    let path = percent_decode(params.get("path"));
    let directory = here.directory.clone();
    let bytes = app.engine().look_at_files(&directory, move || bytes_of(&here, &path)).await??;
    let kind = kind(&bytes);
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // A browser must not take a file for a page of ours.
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

fn bytes_of(here: &Arc<Instance>, path: &str) -> Result<Vec<u8>, ApiError> {
    let refused = |cause: PathError| bad(cause.to_string());
    let roots = Roots::new(Path::new(&here.directory), Path::new(&here.worktree)).map_err(refused)?;
    let located = roots.locate(path).map_err(refused)?;
    let inside = located.inside().ok_or_else(|| bad(format!("{path} lies outside of the directory")))?;
    let file = inside.open_file().map_err(refused)?;
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|cause| bad(format!("{path} cannot be read: {cause}")))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(bad(format!("{path} is larger than {FILE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

/// By its first bytes. A page is sent as text, so that none of its scripts run here.
fn kind(bytes: &[u8]) -> &'static str {
    match infer::get(bytes).map(|kind| kind.mime_type()) {
        Some("text/html" | "text/xml" | "image/svg+xml") => "text/plain; charset=utf-8",
        Some(kind) => kind,
        None if !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok() => "text/plain; charset=utf-8",
        None => "application/octet-stream",
    }
}

fn bad(message: String) -> ApiError {
    V2Error::Request { kind: Kind::Params, message }.into()
}
