//! MCP servers for tests: a script, `mcp/server.sh`, which says in its head what it can do, and one on
//! the web that wants a login (`web.rs`).

mod web;

pub use web::{Web, WebOptions};

use crate::Provider;
use crate::world::{Disk, World, scripted};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use sturdy_store::CrashPlan;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mcp/server.sh");

/// The entry of the configuration for a server that behaves like this. Its notes go to `notes`.
#[must_use]
pub fn local(mode: &str, notes: &Path) -> Value {
    json!({ "type": "local", "command": ["bash", SCRIPT, mode], "environment": { "NOTES": notes } })
}

impl World {
    /// A world with MCP servers and a `permission` setting.
    pub async fn with_servers(servers: Value, permission: Value) -> Self {
        Self::on_disk_with_servers(Disk::new(), servers, permission).await
    }

    /// The same on a disk that is there already, for servers that need to know where they are.
    pub async fn on_disk_with_servers(disk: Disk, servers: Value, permission: Value) -> Self {
        let world = Self::open(disk, Provider::start().await, CrashPlan::Never).await;
        let mut config = scripted(&world.provider.url());
        config["mcp"] = servers;
        config["permission"] = permission;
        world.disk.configure(&config);
        world.engine.dispose_all();
        world
    }

    /// What the script noted so far.
    #[must_use]
    pub fn notes(&self) -> String {
        fs::read_to_string(self.disk.notes()).unwrap_or_default()
    }

    /// Waits until the script has noted something.
    pub async fn noted(&self, what: &str) {
        while !self.notes().contains(what) {
            tokio::task::yield_now().await;
        }
    }
}

impl Disk {
    /// Where a scripted server makes its notes.
    #[must_use]
    pub fn notes(&self) -> std::path::PathBuf {
        self.home().join("notes")
    }
}
