//! Posting a batch.

use reqwest::{Client, StatusCode, Url, header::CONTENT_TYPE};

use crate::{ErrorValue, transport::batch::Batch};

/// Why no response came. The results of the batch fail with the same words.
#[derive(Debug, thiserror::Error)]
#[error("the batch could not be sent")]
pub struct PostError(#[from] reqwest::Error);

/// Sends a batch and settles its results, in one round trip.
///
/// Headers every request needs, a key for one, are set on `client`.
pub async fn post(client: &Client, url: Url, mut batch: Batch) -> Result<(), PostError> {
    let body = batch.request().await;
    match exchange(client, url, body, batch.response_bytes_max()).await {
        Ok((status, body)) => {
            let text = status.canonical_reason().unwrap_or_default();
            batch.response(status.as_u16(), text, &body).await;
            Ok(())
        }
        Err(reason) => {
            batch.failed(ErrorValue::new(format!("RPC request failed: {reason}")).code("request_failed"));
            Err(reason.into())
        }
    }
}

async fn exchange(
    client: &Client,
    url: Url,
    body: String,
    bytes_max: usize,
) -> Result<(StatusCode, Vec<u8>), reqwest::Error> {
    let request = client.post(url).header(CONTENT_TYPE, "text/plain;charset=UTF-8").body(body);
    let mut response = request.send().await?;
    let status = response.status();
    let mut answer = Vec::new();
    while let Some(piece) = response.chunk().await? {
        answer.extend_from_slice(&piece);
        if answer.len() > bytes_max {
            // Cut in the middle of a line, it reads as what it is: an answer that makes no sense.
            break;
        }
    }
    Ok((status, answer))
}
