//! MCP servers as clients name them.

use std::collections::HashMap;
use utoipa::ToSchema;

/// An MCP server as a configuration names it.
#[derive(ToSchema, serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum McpServerConfig {
    Local {
        /// The program and its arguments.
        command: Vec<String>,
        cwd: Option<String>,
        environment: Option<HashMap<String, String>>,
        enabled: Option<bool>,
        /// In milliseconds.
        timeout: Option<u64>,
    },
    Remote {
        url: String,
        headers: Option<HashMap<String, String>>,
        /// `false` for none.
        oauth: Option<McpOAuthConfig>,
        enabled: Option<bool>,
        /// In milliseconds.
        timeout: Option<u64>,
    },
}

#[derive(ToSchema, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum McpOAuthConfig {
    Client {
        #[serde(rename = "clientId")]
        client_id: Option<String>,
        #[serde(rename = "clientSecret")]
        client_secret: Option<String>,
        scope: Option<String>,
        #[serde(rename = "callbackPort")]
        callback_port: Option<u16>,
        #[serde(rename = "redirectUri")]
        redirect_uri: Option<String>,
    },
    None(bool),
}
