//! Which variables hold the keys of providers that are used.
//!
//! Lists of providers name many variables that are keys of something else first: `GITHUB_TOKEN`, those of a cloud.
//! Having one of them set makes a provider available, and does not mean that anybody uses it. So a variable counts
//! if its provider is built in, or somebody names the provider.

use super::protocol::Protocol;
use super::{Catalog, Provider};

impl Provider {
    /// Variables that may hold its key. None if it is not asked with a key: because it has a login, or because its
    /// protocol is not spoken.
    #[must_use]
    pub fn key_variables(&self) -> &[String] {
        let is_asked = self.login.is_none() && Protocol::of(&self.api.npm).is_some();
        if is_asked { &self.env } else { &[] }
    }
}

impl Catalog {
    /// Variables that hold keys of available providers: those that are built in, and those that somebody names.
    #[must_use]
    pub fn key_variables(&self, is_named: &dyn Fn(&str) -> bool) -> Vec<String> {
        let is_used = |provider: &&std::sync::Arc<Provider>| provider.is_built_in || is_named(&provider.id);
        let used = self.providers.iter().filter(is_used);
        used.flat_map(|provider| provider.key_variables().iter().cloned()).collect()
    }
}
