//! On whose behalf something is asked: the session, as calls see it.

use std::{any::Any, fmt, sync::Arc};

use super::cell::Task;
use crate::Limits;

/// A session that asks. It drives what it has started, and says who stands behind it.
pub(crate) trait Caller: Send + Sync {
    fn limits(&self) -> &Limits;

    fn context(&self) -> CallContext;

    /// Takes over a call that is running.
    fn spawn(&self, task: Task);

    /// Takes over the pumping of a stream, which goes on while no more calls are taken.
    fn spawn_pump(&self, task: Task);
}

/// The session that asked. `None` outside of any.
pub(crate) type Origin = Option<Arc<dyn Caller>>;

/// What the session was given for its calls: who asks, with which rights.
#[derive(Clone, Default)]
pub struct CallContext(Option<Arc<dyn Any + Send + Sync>>);

impl CallContext {
    pub fn new<T: Send + Sync + 'static>(value: T) -> CallContext {
        CallContext(Some(Arc::new(value)))
    }

    /// The value, if it is of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.as_deref()?.downcast_ref()
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "CallContext(..)" } else { "CallContext" })
    }
}
