//! A connection to a server in use: lists, calls, prompts, resources.
//!
//! Every request has a time limit. A call may take longer as long as the server says how far it is;
//! a call that is stopped is taken back at the server. Lists are read page by page, with a bound.

use super::handler::{Listeners, Progressed};
use super::{CallError, LAST_WORDS, Server, http};
use crate::mcp::content::{Answer, Piece};
use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
    GetPromptRequestParams, GetPromptResponse, PaginatedRequestParams, ReadResourceRequestParams,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient};
use serde_json::Value;
use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;
use sturdy_session::json::Map;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A call that says every now and then how far it is may go on for this long.
const CALL_TIME_MAX: Duration = Duration::from_secs(60 * 60);
/// Pages of one list, and what all of them may hold.
const PAGES_MAX: usize = 1000;
const ITEMS_MAX: usize = 10_000;

/// Counts what a server said about its lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub tools: u64,
}

/// A connection in use. Cheap to clone; all clones are one connection.
#[derive(Clone, Debug)]
pub struct Client {
    name: String,
    peer: Peer<RoleClient>,
    listeners: Listeners,
    connect_timeout: Duration,
    call_timeout: Duration,
    /// Said when a request found nobody at the other end.
    broken: CancellationToken,
    changes: watch::Receiver<Changes>,
}

/// What a server says of one of its tools.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolInfo {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Map,
}

/// What a server says of one of its prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptInfo {
    pub name: String,
    pub description: Option<String>,
    /// The names of what it wants to know.
    pub arguments: Vec<String>,
}

impl Client {
    pub(super) fn new(
        server: &Server,
        peer: Peer<RoleClient>,
        listeners: Listeners,
        broken: CancellationToken,
        changes: watch::Receiver<Changes>,
    ) -> Self {
        Self {
            name: server.name.clone(),
            peer,
            listeners,
            connect_timeout: server.connect_timeout,
            call_timeout: server.call_timeout,
            broken,
            changes,
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until the server says that its tools are others. Ends with the connection.
    pub async fn tools_changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether somebody found that nobody is there any more.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken.is_cancelled()
    }

    /// What the server wants a model to know.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        let text = self.peer.peer_info()?.instructions.clone()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    #[must_use]
    pub fn has_resources(&self) -> bool {
        self.peer.peer_info().is_some_and(|info| info.capabilities.resources.is_some())
    }

    pub(super) async fn tools(&self) -> Result<Vec<ToolInfo>, CallError> {
        if self.peer.peer_info().is_none_or(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let page = |cursor| async {
            let page = self.peer.list_tools(cursor).await?;
            Ok((page.tools, page.next_cursor))
        };
        let tools = Box::pin(self.pages(page)).await?;
        let info = |tool: rmcp::model::Tool| ToolInfo {
            name: tool.name.into_owned(),
            description: tool.description.map(std::borrow::Cow::into_owned).unwrap_or_default(),
            schema: (*tool.input_schema).clone(),
        };
        Ok(tools.into_iter().map(info).collect())
    }

    pub async fn prompts(&self) -> Result<Vec<PromptInfo>, CallError> {
        if self.peer.peer_info().is_none_or(|info| info.capabilities.prompts.is_none()) {
            return Ok(Vec::new());
        }
        let page = |cursor| async {
            let page = self.peer.list_prompts(cursor).await?;
            Ok((page.prompts, page.next_cursor))
        };
        let info = |prompt: rmcp::model::Prompt| PromptInfo {
            name: prompt.name,
            description: prompt.description,
            arguments: prompt.arguments.into_iter().flatten().map(|argument| argument.name).collect(),
        };
        Ok(Box::pin(self.pages(page)).await?.into_iter().map(info).collect())
    }

    /// What there is to read, as the server describes it.
    pub async fn resources(&self) -> Result<Vec<Map>, CallError> {
        if !self.has_resources() {
            return Ok(Vec::new());
        }
        let page = |cursor| async {
            let page = self.peer.list_resources(cursor).await?;
            Ok((page.resources, page.next_cursor))
        };
        Ok(Box::pin(self.pages(page)).await?.iter().map(object).collect())
    }

    pub async fn templates(&self) -> Result<Vec<Map>, CallError> {
        if !self.has_resources() {
            return Ok(Vec::new());
        }
        let page = |cursor| async {
            let page = self.peer.list_resource_templates(cursor).await?;
            Ok((page.resource_templates, page.next_cursor))
        };
        Ok(Box::pin(self.pages(page)).await?.iter().map(object).collect())
    }

    /// The texts of a prompt, in order.
    pub async fn prompt(&self, name: &str, arguments: Map) -> Result<Vec<Piece>, CallError> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        match Box::pin(self.within(self.call_timeout, self.peer.get_prompt_once(params))).await? {
            GetPromptResponse::Complete(result) => {
                Ok(result.messages.into_iter().map(|message| message.content.into()).collect())
            }
            _ => Err(CallError::Nonsense("it asks back, which is not supported".to_owned())),
        }
    }

    /// The contents of a resource.
    pub async fn read(&self, uri: &str) -> Result<Vec<Piece>, CallError> {
        let params = ReadResourceRequestParams::new(uri);
        let result = Box::pin(self.within(self.call_timeout, self.peer.read_resource(params))).await?;
        Ok(result.contents.into_iter().map(Piece::from).collect())
    }

    /// Calls a tool. `report` is told how far it is.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map,
        stop: &CancellationToken,
        report: impl Fn(Progressed),
    ) -> Result<Answer, CallError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let options = PeerRequestOptions::with_timeout(self.call_timeout)
            .reset_timeout_on_progress()
            .with_max_total_timeout(CALL_TIME_MAX);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = Box::pin(self.peer.send_request_with_option(request, options));
        let handle = sent.await.map_err(|cause| self.failed(cause))?;
        let id = handle.id.clone();
        let mut listening = self.listeners.listen(handle.progress_token.clone());
        let mut answer = Box::pin(handle.await_response());
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                Ok(()) = listening.reports.changed() => report(listening.reports.borrow_and_update().clone()),
                () = stop.cancelled() => {
                    let param = CancelledNotificationParam::new(Some(id), Some("stopped by the user".to_owned()));
                    let _ = timeout(LAST_WORDS, self.peer.notify_cancelled(param)).await;
                    return Err(CallError::Stopped);
                }
            }
        };
        match answer.map_err(|cause| self.failed(cause))? {
            ServerResult::CallToolResult(result) => Ok(result.into()),
            _ => Err(CallError::Nonsense("it is not the result of a call".to_owned())),
        }
    }

    async fn pages<T, Page>(
        &self,
        page: impl Fn(Option<PaginatedRequestParams>) -> Page,
    ) -> Result<Vec<T>, CallError>
    where
        Page: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let mut all = Vec::new();
        let read = async {
            let mut cursor = None;
            let mut seen = HashSet::new();
            for _ in 0..PAGES_MAX {
                let params = PaginatedRequestParams::default().with_cursor(cursor.take());
                let (items, next) = page(Some(params)).await?;
                all.extend(items);
                let Some(next) = next else { return Ok(true) };
                if all.len() > ITEMS_MAX || !seen.insert(next.clone()) {
                    return Ok(false);
                }
                cursor = Some(next);
            }
            Ok(false)
        };
        if self.within(self.connect_timeout, read).await? {
            return Ok(all);
        }
        Err(CallError::Nonsense("a list of it has no end".to_owned()))
    }

    async fn within<T>(
        &self,
        limit: Duration,
        asked: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, CallError> {
        match timeout(limit, asked).await {
            Ok(answer) => answer.map_err(|cause| self.failed(cause)),
            Err(_) => Err(CallError::Timeout(limit)),
        }
    }

    fn failed(&self, cause: ServiceError) -> CallError {
        match cause {
            ServiceError::McpError(data) => CallError::Refused(data.message.into_owned()),
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                self.broken.cancel();
                CallError::Gone
            }
            ServiceError::Timeout { timeout } => CallError::Timeout(timeout),
            ServiceError::TransportSend(cause) => {
                if http::is_lost(&*cause.error) {
                    self.broken.cancel();
                }
                CallError::Refused(http::words(&*cause.error))
            }
            other => CallError::Nonsense(other.to_string()),
        }
    }
}

fn object(item: &impl serde::Serialize) -> Map {
    match serde_json::to_value(item) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
