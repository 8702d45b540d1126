//! Per-provider message rules (spec: engine §5.4).
use crate::catalog::ModelInfo;
use sturdy_session::talk::Request;

pub(crate) fn apply(_model: &ModelInfo, _request: &mut Request) {}
