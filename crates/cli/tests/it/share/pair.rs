//! Two programs, a sender and a share service, each on a disk that can kill it; and what both have to agree on afterwards.

use super::relay::Relay;
use super::until;
use crate::disk::Disk;
use crate::program::Server;
use rustix::net::{AddressFamily, SocketType, sockopt};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// One of the two programs.
pub(super) struct Side {
    pub(super) disk: Disk,
    verb: &'static [&'static str],
    arguments: Vec<&'static str>,
    log: PathBuf,
    /// None only while it is started again.
    server: Option<Server>,
    pub(super) deaths: usize,
}

impl Side {
    fn new(disk: Disk, verb: &'static [&'static str], arguments: Vec<&'static str>) -> Self {
        let log = disk.place.home().join("log");
        let mut side = Self { disk, verb, arguments, log, server: None, deaths: 0 };
        side.start();
        side
    }

    fn start(&mut self) {
        self.server = Some(self.disk.place.serve_into(self.verb, &self.log, &self.arguments));
    }

    pub(super) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// Ends it by SIGKILL from outside.
    pub(super) fn kill_command(&self) -> impl FnOnce() + Send + 'static {
        let pid = self.server().pid().to_string();
        move || {
            // It may be dead already.
            let _ = std::process::Command::new("kill").args(["-KILL", &pid]).status();
        }
    }

    /// Whether it is dead; then it is told to live, and is alive again.
    fn revive(&mut self) -> bool {
        if !self.server.as_mut().unwrap().has_ended() {
            return false;
        }
        for deadly in ["kill", "kill-at"] {
            self.disk.forget(deadly);
        }
        self.deaths += 1;
        self.start();
        true
    }

    /// Ends it, and looks whether its store keeps every promise.
    fn end(mut self) {
        let server = self.server.take().unwrap();
        server.signal("TERM");
        assert_eq!(server.ended_quietly(), Some(0));
        let data = self.disk.place.data().display().to_string();
        let verified = self.disk.place.run(&["verify", "--data-dir", &data]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    }
}

/// Both of them, and a session of the sender that is shared to the service.
pub(super) struct Pair {
    pub(super) sender: Side,
    pub(super) service: Side,
    pub(super) relay: Relay,
    pub(super) session: String,
    /// Those of the service that were let pass. Its clock only goes forward, also through restarts.
    minutes: u32,
    _kept: OwnedFd,
}

/// A port that nobody is given as long as this is held, and on which a service may listen again and again. The service
/// of another test would tell a sender that it does not know its share.
fn keep_port() -> (OwnedFd, u16) {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    sockopt::set_socket_reuseaddr(&socket, true).unwrap();
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let bound = SocketAddrV4::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
    (socket, bound.port())
}

/// How a session looks, in the order of a share: the record, messages, parts.
type Shown = Vec<Value>;

impl Pair {
    pub(super) fn new() -> Self {
        let relay = Relay::new();
        let (kept, port) = keep_port();
        let limits = "batches-per-second=0,creates-per-hour=0,log-days=1,empty-hours=1";
        let service = vec!["--share-limit", limits, "--port", port.to_string().leak()];
        let service = Side::new(Disk::new(), &["share", "serve"], service);
        relay.lead_to(&service.server().url);
        let disk = Disk::new().impatient().with("STURDY_TRUST_ALL", "1");
        let config = json!({ "enterprise": { "url": relay.url } }).to_string();
        std::fs::write(disk.place.project().join("opencode.json"), config).unwrap();
        let pace = ["--share-limit", "gather-ms=10,retry-first-ms=10,retry-last-seconds=1"];
        let sender = Side::new(disk, &["serve"], pace.to_vec());
        let mut pair = Self { sender, service, relay, session: String::new(), minutes: 0, _kept: kept };
        pair.another_session();
        pair
    }

    /// Goes on with another session, which is not shared yet and has something to say.
    pub(super) fn another_session(&mut self) {
        let made = self.insist("POST", "/session", &json!({}));
        made["id"].as_str().unwrap().clone_into(&mut self.session);
        self.say("before it is shared");
    }

    /// Sets the clock of the service forward, by a little more than what it waits for.
    pub(super) fn let_a_minute_pass(&mut self) {
        self.minutes += 1;
        self.service.disk.tell_with("later", &(self.minutes * 61).to_string());
    }

    pub(super) fn revive(&mut self) {
        self.sender.revive();
        if self.service.revive() {
            self.relay.lead_to(&self.service.server().url);
        }
    }

    /// Ends the service in order and starts it again, with more in its environment.
    pub(super) fn restart_service(&mut self, variables: &[(&'static str, &str)]) {
        let server = self.service.server.take().unwrap();
        server.signal("TERM");
        assert_eq!(server.ended_quietly(), Some(0));
        for (variable, value) in variables {
            self.service.disk.place.set(variable, value);
        }
        self.service.start();
        self.relay.lead_to(&self.service.server().url);
    }

    /// Asks the sender until it answers well, through deaths of either.
    pub(super) fn insist(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        until(&format!("{method} {path} is answered"), || {
            let answer = self.sender.server().try_json(method, path, "", &body);
            if answer.as_ref().is_none_or(|(status, _)| *status != 200) {
                self.revive();
            }
            answer.filter(|(status, _)| *status == 200).map(|(_, answer)| answer)
        })
    }

    /// Asks the service for something of the share as its owner, until it answers other than with a failure of its own.
    pub(super) fn insist_as(&mut self, right: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let shown = format!("authorization: Bearer {right}\r\n");
        until(&format!("{method} {path} is answered"), || {
            let answer = self.service.server().try_json(method, path, &shown, &body);
            if answer.is_none() {
                self.revive();
            }
            answer.filter(|(status, _)| *status < 500)
        })
    }

    /// Says something that nobody answers. A death may make it twice.
    pub(super) fn say(&mut self, text: &str) {
        let path = format!("/session/{}/message", self.session);
        self.insist("POST", &path, &json!({ "noReply": true, "parts": [{ "type": "text", "text": text }] }));
    }

    /// Shares the session, and answers with the id of the share.
    pub(super) fn share(&mut self) -> String {
        let path = format!("/session/{}/share", self.session);
        let record = self.insist("POST", &path, &json!({}));
        record["share"]["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
    }

    /// The owner's reference.
    pub(super) fn owner(&mut self) -> String {
        let path = format!("/sturdy/session/{}/share", self.session);
        self.insist("POST", &path, &json!({}))["reference"].as_str().unwrap().to_owned()
    }

    /// The link of the session, as the sender shows it.
    pub(super) fn link(&mut self) -> Value {
        let links = self.insist("GET", "/sturdy/share", &Value::Null);
        let is_ours = |link: &&Value| link["sessionID"] == self.session.as_str();
        links.as_array().unwrap().iter().find(is_ours).cloned().unwrap_or(Value::Null)
    }

    fn session_shown(&self) -> Option<Shown> {
        let record = self.got(&self.sender, &format!("/session/{}", self.session))?;
        let messages = self.got(&self.sender, &format!("/session/{}/message", self.session))?;
        let messages = messages.as_array()?;
        let infos = messages.iter().map(|message| message["info"].clone()).collect();
        let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap().clone());
        Some([vec![record], by_id(infos), by_id(parts.collect())].concat())
    }

    pub(super) fn share_shown(&self, share: &str) -> Option<Shown> {
        let items = self.got(&self.service, &format!("/api/share/{share}/data"))?;
        let of = |kind: &str| {
            let items = items.as_array().unwrap().iter().filter(|item| item["type"] == kind);
            by_id(items.map(|item| item["data"].clone()).collect())
        };
        Some([of("session"), of("message"), of("part")].concat())
    }

    fn got(&self, side: &Side, path: &str) -> Option<Value> {
        let answer = side.server().try_json("GET", path, "", "");
        answer.filter(|(status, _)| *status == 200).map(|(_, body)| body)
    }

    /// Waits until the share shows the session as it is and nothing is under way; then both count alike, and what was
    /// applied was applied once.
    pub(super) fn agree(&mut self, share: &str) {
        let owner = self.owner();
        until("both agree", || {
            self.revive();
            let session = self.session_shown()?;
            (self.share_shown(share)? == session).then_some(())?;
            let link = self.link();
            let at = format!("/api/share/{share}");
            let (status, seen) = self.insist_as(&owner, "POST", &format!("{at}/redeem"), &json!({}));
            assert_eq!(status, 200, "{seen}");
            // One writer, of which nothing was rejected and nothing sent anew: as many were applied as it numbered.
            (link["sent"] == seen["cursor"] && link["error"].is_null()).then_some(())
        });
    }

    /// Takes the session back, and waits until nothing is left of its share on either side.
    pub(super) fn unshare(&mut self, share: &str) {
        let path = format!("/session/{}/share", self.session);
        let record = self.insist("DELETE", &path, &Value::Null);
        assert_eq!(record["share"], Value::Null);
        until("the share is gone", || {
            self.revive();
            let path = format!("/api/share/{share}/data");
            let (status, _) = self.service.server().try_json("GET", &path, "", "")?;
            (status == 410 && self.link().is_null()).then_some(())
        });
        let record = self.insist("GET", &format!("/session/{}", self.session), &Value::Null);
        assert_eq!(record["share"], Value::Null, "the URL came back");
    }

    pub(super) fn deaths(&self) -> usize {
        self.sender.deaths + self.service.deaths
    }

    pub(super) fn end(self) {
        self.sender.end();
        self.service.end();
    }
}

fn by_id(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by_key(|value| value["id"].as_str().unwrap_or_default().to_owned());
    values
}
