//! A key is only sent to the URL that was set in the same layer.
//!
//! A project that says where a provider is, or in which protocol it is spoken to, does not get the key the user
//! set for another place: it brings its own. What the user wrote into the same entry, a key, headers, names of
//! variables, is taken out before the catalog sees it.

use super::merge::Level;
use super::settings::Settings;
use serde_json::{Map, Value};
use sturdy_llm::catalog::RedirectedProvider;

/// The providers, and those whose address the project chose.
pub(super) fn bound(settings: &Settings) -> (Value, Vec<RedirectedProvider>) {
    let section = settings.document().get("provider").cloned().unwrap_or(Value::Null);
    let Value::Object(mut providers) = section else { return (section, Vec::new()) };
    // As in the reference, for whoever wants that.
    if settings.places().environment.trusts_all() {
        return (Value::Object(providers), Vec::new());
    }
    let mut redirected = Vec::new();
    for (id, entry) in &mut providers {
        let Some(entry) = entry.as_object_mut() else { continue };
        if is_moved(settings, id, entry) {
            let has_other_key = settings.level(&["provider", id, "options", "apiKey"]) == Level::User
                && entry.get("options").is_some_and(|options| options["apiKey"].is_string());
            leave_own(settings, id, entry);
            redirected.push(RedirectedProvider { id: id.clone(), has_other_key });
        }
    }
    (Value::Object(providers), redirected)
}

/// Whether the project says where the provider, or one of its models, is.
fn is_moved(settings: &Settings, id: &str, entry: &Map<String, Value>) -> bool {
    let by_project = |path: &[&str]| settings.level(path) == Level::Project;
    let models = entry.get("models").and_then(Value::as_object).into_iter().flatten();
    by_project(&["provider", id, "options", "baseURL"])
        || by_project(&["provider", id, "api"])
        || by_project(&["provider", id, "npm"])
        || models.into_iter().any(|(model, _)| {
            ["api", "npm"].iter().any(|key| by_project(&["provider", id, "models", model, "provider", key]))
        })
}

/// Takes out what the user set.
fn leave_own(settings: &Settings, id: &str, entry: &mut Map<String, Value>) {
    let by_user = |path: &[&str]| settings.level(path) == Level::User;
    if by_user(&["provider", id, "env"]) {
        entry.shift_remove("env");
    }
    if let Some(options) = entry.get_mut("options").and_then(Value::as_object_mut) {
        // Options have many names for credentials; the user's belong to the user's address.
        options.retain(|name, _| name == "headers" || !by_user(&["provider", id, "options", name]));
        if let Some(headers) = options.get_mut("headers").and_then(Value::as_object_mut) {
            headers.retain(|name, _| !by_user(&["provider", id, "options", "headers", name]));
        }
    }
    let models = entry.get_mut("models").and_then(Value::as_object_mut).into_iter().flatten();
    for (model, entry) in models {
        if let Some(headers) = entry.get_mut("headers").and_then(Value::as_object_mut) {
            headers.retain(|name, _| !by_user(&["provider", id, "models", model, "headers", name]));
        }
    }
}
