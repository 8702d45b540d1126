//! The older way to a server on the web: one stream of events for everything it says, and an address for what it is told.
//!
//! Its first event, `endpoint`, names that address. It must be of the same origin: headers with keys go there too.
//! A login goes with every request, and a token that has run out is renewed before it is sent.

use super::http::{Answered, Web, WebError};
use futures_util::stream::StreamExt;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Response, Url};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use rmcp::transport::auth::{AuthClient, AuthError};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpClient, StreamableHttpError};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

/// Events before the one that names the address.
const EVENTS_MAX: usize = 16;

/// Who asks: somebody unknown, or somebody who may have logged in.
#[derive(Clone)]
pub(super) enum OlderClient {
    Plain(Web),
    Login(AuthClient<Web>),
}

impl OlderClient {
    async fn listen(
        &self,
        url: Arc<str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<BoxedSseResponse> {
        match self {
            Self::Plain(web) => web.get_stream(url, None, None, None, headers).await,
            Self::Login(client) => client.get_stream(url, None, None, None, headers).await,
        }
    }

    async fn tell(
        &self,
        endpoint: Url,
        message: &ClientJsonRpcMessage,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<Response> {
        let client = match self {
            Self::Plain(web) => return web.tell(endpoint, message, None, headers).await,
            Self::Login(client) => client,
        };
        let token = match client.get_access_token().await {
            Ok(token) => Some(token),
            // Nobody has logged in; the server says whether somebody has to.
            Err(AuthError::AuthorizationRequired) => None,
            Err(cause) => return Err(cause.into()),
        };
        client.http_client.tell(endpoint, message, token, headers).await
    }
}

pub(super) struct Older {
    client: OlderClient,
    endpoint: Url,
    headers: HashMap<HeaderName, HeaderValue>,
    events: BoxedSseResponse,
}

impl Older {
    /// Opens the stream and waits for the address.
    pub(super) async fn open(
        client: OlderClient,
        url: &str,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<Self> {
        let mut events = client.listen(Arc::from(url), headers.clone()).await?;
        for _ in 0..EVENTS_MAX {
            let Some(event) = events.next().await else { break };
            let event = event.map_err(|cause| WebError::Lost(cause.to_string()))?;
            if event.event.as_deref() != Some("endpoint") {
                continue;
            }
            let base = Url::parse(url).ok();
            let named = event.data.unwrap_or_default();
            let endpoint = base.as_ref().and_then(|base| base.join(named.trim()).ok());
            let endpoint = endpoint
                .filter(|endpoint| base.as_ref().is_some_and(|base| base.origin() == endpoint.origin()));
            let Some(endpoint) = endpoint else {
                let why = "the server wants to be told things at another origin".to_owned();
                return Err(WebError::Lost(why).into());
            };
            return Ok(Self { client, endpoint, headers, events });
        }
        Err(WebError::Lost("the server does not say where it wants to be told things".to_owned()).into())
    }
}

impl Transport<RoleClient> for Older {
    type Error = StreamableHttpError<WebError>;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let client = self.client.clone();
        let endpoint = self.endpoint.clone();
        let headers = self.headers.clone();
        async move {
            let response = client.tell(endpoint, &message, headers).await?;
            match response.status() {
                status if status.is_success() => Ok(()),
                status => Err(HttpStatusError::new(status.as_u16(), None).into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let event = self.events.next().await?.ok()?;
            let is_message = event.event.as_deref().is_none_or(|kind| kind == "message");
            let message = event.data.filter(|_| is_message);
            // Something else is not for us; a message that cannot be read has no answer to wait for.
            if let Some(message) = message.and_then(|text| serde_json::from_str(&text).ok()) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}
