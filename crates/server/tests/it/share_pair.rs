//! Two servers and an unreliable way between them: one shares a session to the other, either may die, come back, or be
//! restored from a backup.

use crate::relay::{Fault, Relay};
use crate::world::{Answer, World, prompt};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;
use sturdy_server::{ServerOptions, ShareOptions};
use sturdy_session::id::SessionId;
use sturdy_store::CrashPlan;
use tokio::time::timeout;

/// Longer than anything takes on a busy machine; nothing waits for it.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// The owner's reference of a shared session.
pub(crate) async fn owner_of(world: &World, session: &str) -> String {
    let link = world.call("POST", &format!("/sturdy/session/{session}/share")).await.json();
    link["reference"].as_str().unwrap().to_owned()
}

pub(crate) fn receiving() -> ServerOptions {
    let share = ShareOptions::at("https://share.example");
    ServerOptions { share: Some(share), ..ServerOptions::default() }
}

/// A server that shares to a service behind a relay.
pub(crate) async fn sender_to(relay: &Relay) -> World {
    let world = World::new().await;
    configure(&world, &json!({ "enterprise": { "url": relay.url } }));
    world
}

pub(crate) fn configure(world: &World, config: &Value) {
    fs::write(world.project().join("opencode.json"), config.to_string()).unwrap();
    world.engine.dispose_all();
}

pub(crate) async fn share(world: &World, session: &str) -> String {
    let shared = world.call("POST", &format!("/session/{session}/share")).await;
    assert_eq!(shared.status, 200, "{}", shared.text);
    let url = shared.json()["share"]["url"].as_str().unwrap().to_owned();
    url.rsplit('/').next().unwrap().to_owned()
}

/// Reads a route; nothing when the server dies before it answers.
async fn look(world: &World, path: &str) -> Option<Answer> {
    answered(world.request("GET", path)).await
}

async fn answered(request: reqwest::RequestBuilder) -> Option<Answer> {
    match request.send().await {
        Ok(response) => Some(Answer::of(response).await),
        Err(_) => None,
    }
}

/// What a session is, in the form a share shows it: the record, messages, parts. Nothing when its server dies meanwhile.
pub(crate) async fn session_of(world: &World, session: &str) -> Option<Vec<Value>> {
    let record = look(world, &format!("/session/{session}")).await?;
    let messages = look(world, &format!("/session/{session}/message")).await?;
    if record.status != 200 || messages.status != 200 {
        return None;
    }
    let messages = messages.json();
    let mut infos = Vec::new();
    let mut parts = Vec::new();
    for message in messages.as_array().unwrap() {
        infos.push(message["info"].clone());
        parts.extend(message["parts"].as_array().unwrap().iter().cloned());
    }
    let by_id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    infos.sort_by_key(by_id);
    parts.sort_by_key(by_id);
    Some([vec![record.json()], infos, parts].concat())
}

/// The same of a share; nothing when it is not there.
pub(crate) async fn share_of(world: &World, share: &str) -> Option<Vec<Value>> {
    let answer = look(world, &format!("/api/share/{share}/data")).await?;
    if answer.status != 200 {
        return None;
    }
    let items = answer.json();
    let of = |kind: &str| -> Vec<Value> {
        let items = items.as_array().unwrap().iter().filter(|item| item["type"] == kind);
        let mut found: Vec<Value> = items.map(|item| item["data"].clone()).collect();
        found.sort_by_key(|value| value["id"].as_str().unwrap_or_default().to_owned());
        found
    };
    Some([of("session"), of("message"), of("part")].concat())
}

/// Whether a share shows what is worked out of its rows: what the session changed, and its models, if anybody spoke.
pub(crate) async fn shows_what_follows(world: &World, share: &str) -> bool {
    let Some(answer) = look(world, &format!("/api/share/{share}/data")).await else { return false };
    if answer.status != 200 {
        return false;
    }
    let items = answer.json();
    let has = |kind: &str| items.as_array().unwrap().iter().any(|item| item["type"] == kind);
    has("session_diff") && (has("model") || !has("message"))
}

pub(crate) fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

pub(crate) struct Pair {
    /// None only while it is opened again.
    sender: Option<World>,
    receiver: Option<World>,
    pub(crate) relay: Relay,
    /// The session that is shared.
    pub(crate) session: String,
    deaths: u32,
}

impl Pair {
    pub(crate) async fn new() -> Self {
        let receiver = World::with(receiving()).await;
        let relay = Relay::to(&receiver.url).await;
        let sender = sender_to(&relay).await;
        let session = sender.session().await;
        Self { sender: Some(sender), receiver: Some(receiver), relay, session, deaths: 0 }
    }

    pub(crate) fn world(&self, side: Side) -> &World {
        let world = match side {
            Side::Sender => &self.sender,
            Side::Receiver => &self.receiver,
        };
        world.as_ref().unwrap()
    }

    /// Goes on with another session, which is not shared yet.
    pub(crate) async fn another_session(&mut self) {
        self.session = self.world(Side::Sender).session().await;
    }

    /// Ends a side and starts it again on what it left, or on what `change` makes of that.
    pub(crate) async fn restart(&mut self, side: Side, crash: CrashPlan, change: impl FnOnce(&Path)) {
        match side {
            Side::Sender => {
                let root = self.sender.take().unwrap().close().await;
                change(root.path());
                self.sender = Some(World::open_to_die(root, ServerOptions::default(), crash).await);
            }
            Side::Receiver => {
                let root = self.receiver.take().unwrap().close().await;
                change(root.path());
                let world = World::open_to_die(root, receiving(), crash).await;
                self.relay.lead_to(&world.url);
                self.receiver = Some(world);
            }
        }
    }

    /// Starts whoever has died again. Says whether somebody had.
    pub(crate) async fn revive(&mut self) -> bool {
        let mut any = false;
        for side in [Side::Sender, Side::Receiver] {
            if self.world(side).engine.store().was_crashed() {
                self.restart(side, CrashPlan::Never, |_| {}).await;
                self.deaths += 1;
                any = true;
            }
        }
        any
    }

    pub(crate) fn deaths(&self) -> u32 {
        self.deaths
    }

    /// Asks the sender; nothing when it dies before it answers.
    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Answer> {
        let world = self.world(Side::Sender);
        let request = world.request(method, path);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let died = async {
            while !world.engine.store().was_crashed() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            answer = answered(request) => answer,
            () = died => None,
        }
    }

    /// Asks until the answer is good, through deaths of either side.
    pub(crate) async fn insist(&mut self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let insisting = async {
            loop {
                match self.ask(method, path, body).await {
                    Some(answer) if answer.status == 200 => return answer.json(),
                    _ => self.revive().await,
                };
            }
        };
        timeout(WAIT_MAX, insisting).await.unwrap_or_else(|_| panic!("{method} {path} is not answered"))
    }

    /// Says something in the session. A death may make it twice.
    pub(crate) async fn say(&mut self, text: &str) {
        let path = format!("/session/{}/message", self.session);
        let mut body = prompt(text);
        body["noReply"] = json!(true);
        self.insist("POST", &path, Some(&body)).await;
    }

    /// Shares the session and answers with the id of the share.
    pub(crate) async fn share(&mut self) -> String {
        let path = format!("/session/{}/share", self.session);
        let record = self.insist("POST", &path, None).await;
        record["share"]["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
    }

    /// Waits until the share shows the session as it is.
    pub(crate) async fn agree(&mut self, share: &str) {
        let agreeing = async {
            loop {
                self.revive().await;
                let session = session_of(self.world(Side::Sender), &self.session).await;
                let receiver = self.world(Side::Receiver);
                let is_the_same = session.is_some() && share_of(receiver, share).await == session;
                let is_whole = is_the_same && shows_what_follows(receiver, share).await;
                if is_whole && self.counts_agree(share).await {
                    return;
                }
            }
        };
        if timeout(WAIT_MAX, agreeing).await.is_err() {
            let shown = share_of(self.world(Side::Receiver), share).await;
            let links = self.world(Side::Sender).get("/sturdy/share").await.text;
            let session = session_of(self.world(Side::Sender), &self.session).await;
            panic!("the share shows {shown:#?}\nbut the session is {session:#?}\nlinks: {links}");
        }
    }

    /// Invariant I8: nothing is on its way, and both sides count alike.
    async fn counts_agree(&self, share: &str) -> bool {
        let session = SessionId::parse(&self.session).unwrap();
        let Ok(Some(link)) = self.world(Side::Sender).engine.share_link(&session).await else { return false };
        let path = format!("/api/share/{share}/redeem");
        let body = json!({ "writer_id": link.writer });
        let request = self.world(Side::Receiver).request("POST", &path).bearer_auth(link.secret.reveal());
        let Some(seen) = answered(request.json(&body)).await.filter(|seen| seen.status == 200) else {
            return false;
        };
        let seen = seen.json();
        let theirs = [&seen["writer"]["applied_seq"], &seen["writer"]["applied_count"], &seen["cursor"]];
        let ours = [link.acked_seq, link.acked_count, link.cursor].map(Value::from);
        link.acked_seq == link.sealed_seq
            && theirs == ours.each_ref()
            && seen["writer"]["chain"] == link.acked_chain.to_string()
    }

    /// Both stores keep every promise that can be looked up in them (invariants I7, I9, I10).
    async fn are_sound(&self) {
        for side in [Side::Sender, Side::Receiver] {
            let report = self.world(side).engine.store().verify(|_| {}).await.unwrap();
            assert_eq!(report.findings, [], "{side:?}");
        }
    }

    /// Takes the session back and waits until its share is gone and nothing of it is left to be sent.
    pub(crate) async fn unshare(&mut self, share: &str) {
        let path = format!("/session/{}/share", self.session);
        let record = self.insist("DELETE", &path, None).await;
        assert_eq!(record["share"], Value::Null);
        let going = async {
            loop {
                self.revive().await;
                let links = self.ask("GET", "/sturdy/share", None).await;
                let is_gone = share_of(self.world(Side::Receiver), share).await.is_none();
                let is_told = links.is_some_and(|links| links.status == 200 && links.json() == json!([]));
                if is_gone && is_told {
                    return;
                }
            }
        };
        timeout(WAIT_MAX, going).await.expect("the share goes");
    }

    pub(crate) async fn close(self) {
        self.relay.fail(Fault::None);
        self.are_sound().await;
        self.sender.unwrap().close().await;
        self.receiver.unwrap().close().await;
    }
}
