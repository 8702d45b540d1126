//! Asking for permission, as most tools do it.

use crate::tool::{PermissionAsk, ToolFailure, World};
use sturdy_session::json::Map;

/// One pattern; "always" allows everything of the kind.
pub(super) async fn permission(
    world: &World,
    permission: &str,
    pattern: &str,
    metadata: Map,
) -> Result<(), ToolFailure> {
    let ask = PermissionAsk::new(permission, vec![pattern.to_owned()], vec!["*".to_owned()], metadata);
    world.ask(ask).await
}
