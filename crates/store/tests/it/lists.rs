//! Lists: sessions by every filter, asks, todos, projects, busy sessions.

use crate::bench::{Draft, ses, session_row};
use sturdy_session::row::{AskKind, AskRow, RowChange, SessionRow};
use sturdy_store::{AskQuery, CreatedEdge, Options, SessionOrder, SessionQuery, Store};

async fn put(store: &Store, name: &str, change: impl FnOnce(&mut SessionRow)) {
    let mut row = session_row(ses(name).as_str(), name);
    change(&mut row);
    store.commit(Draft::new(name, 0).idled().row(RowChange::Session(row)).commit).await.unwrap();
}

async fn found(store: &Store, query: SessionQuery) -> String {
    let records = store.sessions(query).await.unwrap();
    let name = |record: &String| {
        let record: serde_json::Value = serde_json::from_str(record).unwrap();
        record["id"].as_str().unwrap().trim_start_matches("ses_").to_owned()
    };
    records.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn all() -> SessionQuery {
    SessionQuery::default()
}

stores! {
    async fn the_newest_change_comes_first(store: Store) {
        put(&store, "a", |row| row.updated = 5).await;
        put(&store, "b", |row| row.updated = 9).await;
        put(&store, "c", |row| row.updated = 5).await;

        assert_eq!(found(&store, all()).await, "b c a");
        assert_eq!(found(&store, SessionQuery { limit: Some(2), ..all() }).await, "b c");
        assert_eq!(found(&store, SessionQuery { limit: Some(0), ..all() }).await, "");
        assert_eq!(found(&store, SessionQuery { start: Some(6), ..all() }).await, "b");
        assert_eq!(found(&store, SessionQuery { before: Some(9), ..all() }).await, "c a");
        assert_eq!(found(&store, SessionQuery { before: Some(u64::MAX), ..all() }).await, "b c a");
    }

    async fn pages_by_creation_go_both_ways_from_any_edge(store: Store) {
        for (name, created) in [("a", 5), ("b", 9), ("c", 5), ("d", 1)] {
            put(&store, name, |row| row.created = created).await;
        }

        let edge = |created, name| Some(CreatedEdge { created, id: ses(name) });
        let newest = |after| SessionQuery { order: SessionOrder::NewestCreated { after }, ..all() };
        let oldest = |after| SessionQuery { order: SessionOrder::OldestCreated { after }, ..all() };
        assert_eq!(found(&store, newest(None)).await, "b c a d");
        assert_eq!(found(&store, oldest(None)).await, "d a c b");
        assert_eq!(found(&store, newest(edge(5, "c"))).await, "a d");
        assert_eq!(found(&store, oldest(edge(5, "a"))).await, "c b");
        assert_eq!(found(&store, SessionQuery { limit: Some(1), ..newest(edge(9, "b")) }).await, "c");
        // The session of an edge may be gone.
        assert_eq!(found(&store, oldest(edge(5, "b"))).await, "c b");
        assert_eq!(found(&store, newest(edge(0, "a"))).await, "");
    }

    async fn every_filter_filters(store: Store) {
        put(&store, "a", |row| row.project_id = "p".to_owned()).await;
        put(&store, "b", |row| row.directory = "/other".to_owned()).await;
        put(&store, "c", |row| row.parent_id = Some(ses("a"))).await;
        put(&store, "d", |row| row.is_archived = true).await;

        assert_eq!(found(&store, SessionQuery { project: Some("p".to_owned()), ..all() }).await, "a");
        assert_eq!(found(&store, SessionQuery { directory: Some("/other".to_owned()), ..all() }).await, "b");
        assert_eq!(found(&store, SessionQuery { parent: Some(ses("a")), ..all() }).await, "c");
        assert_eq!(found(&store, SessionQuery { roots: Some(true), ..all() }).await, "d b a");
        assert_eq!(found(&store, SessionQuery { roots: Some(false), ..all() }).await, "c");
        assert_eq!(found(&store, SessionQuery { archived: Some(false), ..all() }).await, "c b a");
        assert_eq!(found(&store, SessionQuery { archived: Some(true), ..all() }).await, "d");
        let both = SessionQuery { archived: Some(false), roots: Some(true), limit: Some(1), ..all() };
        assert_eq!(found(&store, both).await, "b");
    }

    async fn a_path_is_itself_and_what_is_below(store: Store) {
        for (name, path) in [("a", "src"), ("b", "src/x"), ("c", "srcs"), ("d", ""), ("e", "s%c/y")] {
            put(&store, name, |row| row.path = Some(path.to_owned())).await;
        }
        put(&store, "f", |row| row.path = None).await;

        let path = |path: &str| SessionQuery { path: Some(path.to_owned()), ..all() };
        assert_eq!(found(&store, path("src")).await, "b a");
        assert_eq!(found(&store, path("s%c")).await, "e");
        assert_eq!(found(&store, path("")).await, "f e d c b a");
        let in_directory = SessionQuery { directory: Some("/work".to_owned()), ..path("src") };
        assert_eq!(found(&store, in_directory).await, "f b a");
        let elsewhere = SessionQuery { directory: Some("/else".to_owned()), project: Some("global".to_owned()), ..path("src") };
        assert_eq!(found(&store, elsewhere).await, "b a");
    }

    async fn a_search_is_literal_and_ignores_ascii_case(store: Store) {
        for (name, title) in
            [("a", "100% Done_now"), ("b", "100 done now"), ("c", r"back\slash"), ("d", "ÄPFEL"), ("e", "nul\0nul")]
        {
            put(&store, name, |row| row.title = title.to_owned()).await;
        }

        let search = |text: &str| SessionQuery { search: Some(text.to_owned()), ..all() };
        assert_eq!(found(&store, search("0%")).await, "a");
        assert_eq!(found(&store, search("done_NOW")).await, "a");
        assert_eq!(found(&store, search("DONE")).await, "b a");
        assert_eq!(found(&store, search(r"K\S")).await, "c");
        assert_eq!(found(&store, search("Äpfel")).await, "d");
        assert_eq!(found(&store, search("äpfel")).await, "");
        assert_eq!(found(&store, search("l\0n")).await, "e");
        assert_eq!(found(&store, search("")).await, "e d c b a");
        assert_eq!(found(&store, search("' OR 1=1 --")).await, "");
    }

    async fn a_search_finds_titles_as_they_are_now(store: Store) {
        let search = |text: &str| SessionQuery { search: Some(text.to_owned()), ..all() };
        put(&store, "a", |row| row.title = "first".to_owned()).await;
        assert_eq!(found(&store, search("first")).await, "a");
        assert_eq!(found(&store, search("nothing")).await, "");

        let mut renamed = session_row(ses("a").as_str(), "a");
        renamed.data = "\"a\"".to_owned();
        renamed.title = "second".to_owned();
        store.commit(Draft::new("a", 1).idled().row(RowChange::Session(renamed)).commit).await.unwrap();
        put(&store, "b", |row| row.title = "second to none".to_owned()).await;

        assert_eq!(found(&store, search("FIRST")).await, "");
        assert_eq!(found(&store, search("second")).await, "b a");
        assert_eq!(found(&store, SessionQuery { limit: Some(1), ..search("second") }).await, "b");
        assert_eq!(found(&store, search("tsec")).await, "", "not across two titles");
    }

    async fn a_search_with_more_hits_than_candidates_finds_them_all(store: Store) {
        for number in 0..260 {
            put(&store, &format!("s{number}"), |row| row.title = format!("common {number}")).await;
        }

        let search = |text: &str| SessionQuery { search: Some(text.to_owned()), ..all() };
        assert_eq!(store.sessions(search("common")).await.unwrap().len(), 260);
        assert_eq!(found(&store, search("common 259")).await, "s259");
    }

    async fn heads_name_the_last_entry_of_each_session_of_a_project(store: Store) {
        put(&store, "a", |_| {}).await;
        put(&store, "b", |_| {}).await;
        put(&store, "c", |row| row.project_id = "other".to_owned()).await;
        store.commit(Draft::new("a", 1).idled().commit).await.unwrap();

        let project = session_row(ses("a").as_str(), "a").project_id;
        let heads = store.session_heads(&project).await.unwrap();

        let names: Vec<_> = heads.iter().map(|head| (head.id.clone(), head.position)).collect();
        assert_eq!(names, [(ses("b"), 2), (ses("a"), 4)]);
    }

    async fn a_busy_session_is_one_whose_machine_has_something_open(store: Store) {
        put(&store, "a", |row| row.machine = "{}".to_owned()).await;
        put(&store, "b", |_| {}).await;
        assert_eq!(store.busy_sessions().await.unwrap(), [ses("a")]);

        let idle = RowChange::Machine { session: ses("a"), machine: String::new() };
        store.commit(Draft::new("a", 1).idled().row(idle).commit).await.unwrap();
        let busy = RowChange::Machine { session: ses("b"), machine: "[1]".to_owned() };
        store.commit(Draft::new("b", 1).idled().row(busy).commit).await.unwrap();

        assert_eq!(store.busy_sessions().await.unwrap(), [ses("b")]);
        let loaded = store.load(&ses("b")).await.unwrap().unwrap();
        assert_eq!((loaded.machine.as_str(), loaded.seq, loaded.last_at), ("[1]", 2, 1_000));
        assert_eq!(store.load(&ses("never")).await.unwrap(), None);
    }

    async fn asks_are_listed_until_they_are_removed(store: Store) {
        put(&store, "a", |_| {}).await;
        put(&store, "b", |row| row.directory = "/other".to_owned()).await;
        let ask = |id: &str, session: &str, kind| {
            RowChange::Ask(AskRow { id: id.to_owned(), session_id: ses(session), kind, data: "{}".to_owned() })
        };
        store.commit(Draft::new("a", 1).idled().row(ask("per_2", "a", AskKind::Permission)).commit).await.unwrap();
        store.commit(Draft::new("a", 2).idled().row(ask("que_1", "a", AskKind::Question)).commit).await.unwrap();
        store.commit(Draft::new("b", 1).idled().row(ask("per_1", "b", AskKind::Permission)).commit).await.unwrap();

        let ids = async |query| -> Vec<String> {
            store.asks(query).await.unwrap().into_iter().map(|ask| ask.id).collect()
        };
        assert_eq!(ids(AskQuery::default()).await, ["per_2", "que_1", "per_1"]);
        assert_eq!(ids(AskQuery { kind: Some(AskKind::Question), ..AskQuery::default() }).await, ["que_1"]);
        assert_eq!(ids(AskQuery { session: Some(ses("b")), ..AskQuery::default() }).await, ["per_1"]);
        assert_eq!(ids(AskQuery { directory: Some("/work".to_owned()), ..AskQuery::default() }).await, ["per_2", "que_1"]);
        assert_eq!(store.load(&ses("a")).await.unwrap().unwrap().asks.len(), 2);

        let answered = RowChange::RemoveAsk { id: "per_2".to_owned() };
        store.commit(Draft::new("a", 3).idled().row(answered).commit).await.unwrap();
        assert_eq!(ids(AskQuery::default()).await, ["que_1", "per_1"]);
    }

    async fn todos_and_projects_are_replaced_whole(store: Store) {
        put(&store, "a", |_| {}).await;
        assert_eq!(store.todos(&ses("a")).await.unwrap(), None);
        for (seq, data) in [(1, "[1]"), (2, "[]")] {
            let todos = RowChange::Todos { session: ses("a"), data: data.to_owned() };
            store.commit(Draft::new("a", seq).idled().row(todos).commit).await.unwrap();
        }
        let first = r#"{"id":"p","name":"first"}"#;
        let second = r#"{"id":"p","name":"second"}"#;
        let global = r#"{"id":"global"}"#;
        store.put_project("p", first.to_owned(), 1).await.unwrap();
        store.put_project("global", global.to_owned(), 1).await.unwrap();
        store.put_project("p", second.to_owned(), 2).await.unwrap();

        assert_eq!(store.todos(&ses("a")).await.unwrap().as_deref(), Some("[]"));
        assert_eq!(store.project("p").await.unwrap().as_deref(), Some(second));
        assert_eq!(store.project("none").await.unwrap(), None);
        assert_eq!(store.projects().await.unwrap(), [global, second]);
    }
}

// Was: one ask of an unknown kind, or of a session whose id cannot be read, failed the list of all others.
#[tokio::test]
async fn an_ask_that_cannot_be_read_is_noted_and_keeps_no_other_from_being_listed() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(Options::new(directory.path())).await.unwrap();
    for name in ["a", "b", "c", "d"] {
        put(&store, name, |_| {}).await;
        let id = format!("per_{name}");
        let kind = AskKind::Permission;
        let ask = RowChange::Ask(AskRow { id, session_id: ses(name), kind, data: "{}".to_owned() });
        store.commit(Draft::new(name, 1).idled().row(ask).commit).await.unwrap();
    }
    let raw = rusqlite::Connection::open(directory.path().join("sturdy.db")).unwrap();
    raw.execute("UPDATE ask SET kind = 'nonsense' WHERE id = 'per_b'", ()).unwrap();
    raw.execute("UPDATE ask SET session_id = 'nobody' WHERE id = 'per_c'", ()).unwrap();
    raw.execute("UPDATE ask SET data = '{' WHERE id = 'per_d'", ()).unwrap();

    let listed = store.asks(AskQuery::default()).await.unwrap();

    let listed: Vec<_> = listed.into_iter().map(|ask| ask.id).collect();
    assert_eq!(listed, ["per_a"]);
    let damaged: Vec<_> = store.damaged_rows().into_iter().map(|row| (row.session, row.place)).collect();
    assert_eq!(damaged, [(ses("b"), "ask per_b".to_owned()), (ses("d"), "ask per_d".to_owned())]);
    assert!(store.load(&ses("b")).await.is_err(), "whoever works on that session is told that it is damaged");
    store.close().await;
}
