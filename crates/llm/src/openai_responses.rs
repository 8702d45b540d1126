//! (being written)
use crate::ModelError;
use crate::catalog::ModelInfo;
use crate::link::Link;
use futures_util::stream::{self, BoxStream, StreamExt};
use sturdy_session::talk::{Request, Said};
use sturdy_session::types::failure::Failure;

pub(crate) fn stream(_: &Link, _: &ModelInfo, _: &Request) -> BoxStream<'static, Result<Said, ModelError>> {
    stream::iter([Err(ModelError::new(Failure::unknown("this protocol is not spoken yet")))]).boxed()
}
