//! A git that does not answer, with time that is paused.

use super::{PATIENCE, in_time};
use crate::error::ApiError;
use std::future::pending;
use sturdy_worktree::vcs::VcsError;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_git_that_does_not_answer_is_not_waited_for() {
    let begun = Instant::now();

    let answer = in_time(pending::<Result<(), VcsError>>()).await;

    assert!(matches!(answer, Err(ApiError::TimedOut(_))), "{answer:?}");
    assert_eq!(begun.elapsed(), PATIENCE);
}
