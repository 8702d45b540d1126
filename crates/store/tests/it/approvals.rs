//! What people allow for good.

use crate::bench::{Draft, ses};
use sturdy_session::row::{ApprovalRow, RowChange};

fn approval(id: &str, project: &str, directory: &str, pattern: &str) -> RowChange {
    RowChange::Approval(ApprovalRow {
        id: id.to_owned(),
        project_id: project.to_owned(),
        directory: directory.to_owned(),
        permission: "bash".to_owned(),
        pattern: pattern.to_owned(),
    })
}

fn ids(rows: Vec<ApprovalRow>) -> Vec<String> {
    rows.into_iter().map(|row| row.id).collect()
}

stores! {
    async fn an_approval_counts_for_its_directory_whatever_project_it_is(store: Store) {
        let draft = Draft::new("a", 0)
            .session("A")
            .row(approval("psv_1", "repo", "/repo", "ls *"))
            .row(approval("psv_2", "global", "/one", "ls *"))
            .row(approval("psv_3", "global", "/two", "ls *"));
        store.commit(draft.commit).await.unwrap();

        assert_eq!(ids(store.approvals_at("/repo").await.unwrap()), ["psv_1"]);
        assert_eq!(ids(store.approvals_at("/copy").await.unwrap()), [""; 0]);
        assert_eq!(ids(store.approvals_at("/one").await.unwrap()), ["psv_2"]);
        assert_eq!(ids(store.approvals(Some("global")).await.unwrap()), ["psv_2", "psv_3"]);
        assert_eq!(ids(store.approvals(None).await.unwrap()), ["psv_1", "psv_2", "psv_3"]);
    }

    async fn an_approval_is_kept_once_outlives_its_session_and_can_be_taken_back(store: Store) {
        let draft = Draft::new("a", 0)
            .session("A")
            .row(approval("psv_1", "repo", "", "ls *"))
            .row(approval("psv_2", "repo", "", "ls *"));
        store.commit(draft.commit).await.unwrap();
        let info = r#"{"info":{"id":"ses_a","slug":"s","projectID":"repo","directory":"/work","title":"s",
            "version":"1","time":{"created":1,"updated":1}}}"#;
        let removal = Draft::new("a", 1).fact("session.removed.1", info).row(RowChange::RemoveSession(ses("a")));
        store.commit(removal.commit).await.unwrap();

        assert_eq!(ids(store.approvals(None).await.unwrap()), ["psv_1"]);
        assert!(store.remove_approval("psv_1").await.unwrap());
        assert!(!store.remove_approval("psv_1").await.unwrap());
        assert_eq!(store.approvals(None).await.unwrap(), []);
    }
}
