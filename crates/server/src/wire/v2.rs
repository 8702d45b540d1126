//! Records in the form of the v2 API.

use serde::Serialize;
use serde_json::{Value, json};
use sturdy_engine::directory::agents::Agent;
use sturdy_engine::directory::commands::Command;
use sturdy_engine::{Environment, Instance};
use sturdy_llm::catalog::{Modalities, ModelInfo, Provider};
use sturdy_session::id::{SessionId, WorkspaceId};
use sturdy_session::json::Num;
use sturdy_session::row::ApprovalRow;
use sturdy_session::types::ask::PermissionRequest;
use sturdy_session::types::ask::{PermissionSource, PermissionV2Request};
use sturdy_session::types::session::{Revert, Session, SessionModel, SessionTime};
use sturdy_session::types::usage::Tokens;
use utoipa::ToSchema;

/// `{location, data}`: an answer that depends on a directory says which.
#[derive(Serialize)]
pub(crate) struct Located<T> {
    location: Value,
    data: T,
}

impl<T> Located<T> {
    pub(crate) fn at(here: &Instance, data: T) -> Self {
        Self { location: location(here), data }
    }
}

impl Located<Value> {
    /// The same for what was made from the settings: without their secrets.
    pub(crate) fn shown<T: Serialize>(here: &Instance, data: &T) -> Self {
        Self::at(here, here.settings.shown(data))
    }
}

pub(crate) fn location(here: &Instance) -> Value {
    json!({
        "directory": here.directory,
        "project": { "id": here.project.id, "directory": here.worktree },
    })
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionV2 {
    id: SessionId,
    #[serde(rename = "parentID", skip_serializing_if = "Option::is_none")]
    parent_id: Option<SessionId>,
    #[serde(rename = "projectID")]
    project_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<SessionModel>,
    cost: Num,
    tokens: Tokens,
    time: SessionTime,
    title: String,
    location: SessionLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    subpath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revert: Option<Revert>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct SessionLocation {
    directory: String,
    #[serde(rename = "workspaceID", skip_serializing_if = "Option::is_none")]
    workspace_id: Option<WorkspaceId>,
}

impl From<Session> for SessionV2 {
    fn from(session: Session) -> Self {
        Self {
            id: session.id,
            parent_id: session.parent_id,
            project_id: session.project_id,
            agent: session.agent,
            // A variant that nobody chose has a name here.
            model: session.model.map(|model| SessionModel {
                variant: Some(model.variant.unwrap_or_else(|| "default".to_owned())),
                ..model
            }),
            cost: session.cost,
            tokens: session.tokens,
            time: session.time,
            title: session.title,
            location: SessionLocation { directory: session.directory, workspace_id: session.workspace_id },
            subpath: session.path.filter(|path| !path.is_empty()),
            revert: session.revert,
        }
    }
}

/// Nothing is added to the requests of an agent or provider here.
fn request() -> Value {
    json!({ "headers": {}, "body": {} })
}

pub(crate) fn agent(agent: &Agent) -> Value {
    let permissions: Vec<_> = agent
        .permission
        .iter()
        .map(|rule| json!({ "action": rule.permission, "resource": rule.pattern, "effect": rule.action }))
        .collect();
    let mut out = json!({
        "id": agent.name,
        "request": request(),
        "mode": agent.mode,
        "hidden": agent.is_hidden(),
        "permissions": permissions,
    });
    let mut put = |key: &str, value: Option<Value>| {
        if let (Some(value), Some(out)) = (value, out.as_object_mut()) {
            out.insert(key.to_owned(), value);
        }
    };
    put("description", agent.description.clone().map(Value::from));
    put("system", agent.prompt.clone().map(Value::from));
    put("color", agent.color.clone().map(Value::from));
    put(
        "model",
        agent.model.as_ref().map(|model| json!({ "providerID": model.provider_id, "id": model.model_id })),
    );
    out
}

pub(crate) fn model(info: &ModelInfo) -> Value {
    let variants: Vec<_> =
        info.variants.keys().map(|id| json!({ "id": id, "headers": {}, "body": {} })).collect();
    json!({
        "id": info.id,
        "providerID": info.provider_id,
        "family": info.family,
        "name": info.name,
        "api": { "id": info.api.id, "type": "aisdk", "package": info.api.npm, "url": info.api.url },
        "capabilities": {
            "tools": info.capabilities.toolcall,
            "input": modalities(&info.capabilities.input),
            "output": modalities(&info.capabilities.output),
        },
        "request": request(),
        "variants": variants,
        "time": { "released": 0 },
        "cost": [info.cost],
        "status": info.status,
        "enabled": true,
        "limit": info.limit,
    })
}

fn modalities(of: &Modalities) -> Vec<&'static str> {
    let all =
        [(of.text, "text"), (of.audio, "audio"), (of.image, "image"), (of.pdf, "pdf"), (of.video, "video")];
    all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect()
}

pub(crate) fn provider(provider: &Provider) -> Value {
    let api = provider.models.first().map(|model| &model.api);
    let options = serde_json::to_value(&provider.options).unwrap_or_default();
    json!({
        "id": provider.id,
        "name": provider.name,
        "api": {
            "type": "aisdk",
            "package": api.map_or("", |api| api.npm.as_str()),
            "url": options["baseURL"].as_str().or(api.map(|api| api.url.as_str())).unwrap_or_default(),
        },
        "request": request(),
    })
}

/// How one could log in to a provider, by a key or by a variable of the environment, and which of both are there.
pub(crate) fn integration(provider: &Provider, stored: &[String], environment: &Environment) -> Value {
    let mut methods = vec![json!({ "type": "key" })];
    if !provider.env.is_empty() {
        methods.push(json!({ "type": "env", "names": provider.env }));
    }
    let mut connections = Vec::new();
    if stored.contains(&provider.id) {
        connections.push(json!({ "type": "credential", "id": provider.id, "label": provider.name }));
    }
    let set = provider.env.iter().filter(|name| environment.filled(name).is_some());
    connections.extend(set.map(|name| json!({ "type": "env", "name": name })));
    json!({ "id": provider.id, "name": provider.name, "methods": methods, "connections": connections })
}

pub(crate) fn command(command: &Command) -> Value {
    let mut out = json!({ "name": command.name, "template": command.template });
    let mut put = |key: &str, value: Option<Value>| {
        if let (Some(value), Some(out)) = (value, out.as_object_mut()) {
            out.insert(key.to_owned(), value);
        }
    };
    put("description", command.description.clone().map(Value::from));
    put("agent", command.agent.clone().map(Value::from));
    let model = command.model.as_deref().and_then(|model| model.split_once('/'));
    put("model", model.map(|(provider, id)| json!({ "providerID": provider, "id": id })));
    put("subtask", command.subtask.map(Value::from));
    out
}

/// What was allowed for good.
pub(crate) fn saved(kept: &ApprovalRow) -> Value {
    let ApprovalRow { id, project_id, permission, pattern, .. } = kept;
    json!({ "id": id, "projectID": project_id, "action": permission, "resource": pattern })
}

/// A permission request: what v1 calls permission and patterns are action and resources here.
pub(crate) fn permission(request: PermissionRequest) -> PermissionV2Request {
    PermissionV2Request {
        id: request.id,
        session_id: request.session_id,
        action: request.permission,
        resources: request.patterns,
        save: Some(request.always),
        metadata: Some(request.metadata),
        source: request.tool.map(PermissionSource::Tool),
    }
}
