//! Every tool there is: what it is called with, what it asks for, what it leaves behind.
//!
//! `matrix.rs` answers what they ask in every way, `running.rs` stops them and kills the server under them. A
//! tool that is registered and not named here makes a test fail.

use serde_json::{Value, json};
use std::sync::Arc;
use sturdy_engine::extension::{Extension, Extensions};
use sturdy_engine::{Engine, Environment};
use sturdy_session::fact::Fact;
use sturdy_session::id::SessionId;
use sturdy_session::turn::Answer as Reply;
use sturdy_session::types::ask::PermissionReply;
use sturdy_store::CrashPlan;
use sturdy_testkit::mcp::local;
use sturdy_testkit::world::{Disk, options, scripted};
use sturdy_testkit::{Answer, Provider, Seen, World, answer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What a call wants of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// This permission.
    Permission(&'static str),
    /// An answer to its question.
    Words,
    Nothing,
}

/// What has to be there for a call to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    McpServer,
    Languages,
    /// One that says who it is, in `pid`, and does not end.
    Formatter,
}

/// A tool and a call of it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) tool: &'static str,
    pub(crate) input: Value,
    pub(crate) wants: Wants,
    pub(crate) needs: Needs,
    /// The file it makes.
    pub(crate) makes: Option<&'static str>,
    /// Words of its result.
    pub(crate) tells: &'static str,
}

impl Case {
    fn new(tool: &'static str, input: Value, wants: Wants) -> Self {
        Self { tool, input, wants, needs: Needs::Nothing, makes: None, tells: "" }
    }

    /// One that asks for the permission of its own name.
    fn asking(tool: &'static str, input: Value) -> Self {
        Self::new(tool, input, Wants::Permission(tool))
    }

    fn needing(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    fn making(self, file: &'static str) -> Self {
        Self { makes: Some(file), ..self }
    }

    fn telling(self, words: &'static str) -> Self {
        Self { tells: words, ..self }
    }

    /// The key of the `permission` setting that speaks of it.
    pub(crate) fn key(&self) -> &'static str {
        match self.wants {
            Wants::Permission(name) => name,
            Wants::Words | Wants::Nothing => self.tool,
        }
    }

    pub(crate) fn asks(&self) -> bool {
        self.wants != Wants::Nothing
    }

    /// The model's answer that makes the call.
    pub(crate) fn call(&self) -> Answer {
        answer().call(0, "call_1", self.tool, &self.input.to_string()).finish("tool_calls")
    }

    pub(crate) fn was_made(&self, world: &World) -> bool {
        self.makes.is_some_and(|file| world.disk.project().join(file).exists())
    }

    /// What a person says who wants it done.
    pub(crate) fn yes(&self, reply: PermissionReply) -> Reply {
        match self.wants {
            Wants::Words => Reply::Question { answers: vec![vec!["Blue".to_owned()]] },
            Wants::Permission(_) | Wants::Nothing => Reply::Permission { reply, message: None },
        }
    }

    /// What a person says who does not, and what the model is told of it.
    pub(crate) fn no(&self) -> (Reply, &'static str) {
        match self.wants {
            Wants::Words => (Reply::Dismissed, "user dismissed"),
            Wants::Permission(_) | Wants::Nothing => {
                let reply = PermissionReply::Reject;
                (Reply::Permission { reply, message: None }, "rejected permission")
            }
        }
    }

    /// Waits until a person is asked; gives the id of the request and the permission it is about.
    pub(crate) async fn asked(&self, seen: &mut Seen) -> (String, String) {
        let request = |fact: &Fact| match fact {
            Fact::PermissionAsked { request, .. } => {
                Some((request.id.as_str().to_owned(), request.permission.clone()))
            }
            Fact::QuestionAsked { request } => Some((request.id.as_str().to_owned(), String::new())),
            _ => None,
        };
        let record = seen.until(|record| record.facts.iter().any(|fact| request(fact).is_some())).await;
        record.facts.iter().rev().find_map(request).unwrap()
    }
}

pub(crate) fn cases(pages: &Pages) -> Vec<Case> {
    let todo = json!([{ "content": "x", "status": "pending", "priority": "low" }]);
    let task = json!({ "description": "Look", "prompt": "look", "subagent_type": "explore" });
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch";
    let edits = Wants::Permission("edit");
    let reads = Wants::Permission("read");
    let made = json!({ "filePath": "new.txt", "content": "x\n" });
    let edit = json!({ "filePath": "new.txt", "oldString": "", "newString": "x\n" });
    let option = json!({ "label": "Blue", "description": "The colour of the sky" });
    let question =
        json!({ "questions": [{ "question": "Which?", "header": "Colour", "options": [option] }] });
    let hover = json!({ "operation": "hover", "filePath": "x.lang", "line": 1, "character": 1 });
    let note = json!({ "server": "my server", "uri": "mem://note" });
    vec![
        Case::asking("read", json!({ "filePath": "a.txt" })).telling("1: one"),
        Case::new("write", made, edits).making("new.txt").telling("was written"),
        Case::new("edit", edit, edits).making("new.txt").telling("The file was"),
        Case::new("apply_patch", json!({ "patchText": patch }), edits).making("new.txt").telling("new.txt"),
        Case::asking("glob", json!({ "pattern": "*.txt" })).telling("a.txt"),
        Case::asking("grep", json!({ "pattern": "one" })).telling("a.txt"),
        Case::asking("bash", json!({ "command": "echo x > made; cat made" })).making("made").telling("x\n"),
        Case::asking("todowrite", json!({ "todos": todo })).telling("pending"),
        Case::asking("task", task).telling("I looked."),
        Case::asking("skill", json!({ "name": "knitting" })).telling("Knit one."),
        Case::asking("webfetch", json!({ "url": format!("{}/page", pages.url) })).telling("A page."),
        Case::asking("lsp", hover).needing(Needs::Languages).telling("a thing"),
        Case::asking("my_server_echo", json!({ "text": "hello" })).needing(Needs::McpServer).telling("hello"),
        Case::new("list_mcp_resources", json!({}), reads).needing(Needs::McpServer).telling("mem://dot"),
        Case::new("list_mcp_resource_templates", json!({}), reads)
            .needing(Needs::McpServer)
            .telling("mem://note/{number}"),
        Case::new("read_mcp_resource", note, reads).needing(Needs::McpServer).telling("remember the milk"),
        Case::new("question", question, Wants::Words).telling("Blue"),
        Case::new("invalid", json!({ "tool": "fly", "error": "there is none" }), Wants::Nothing)
            .telling("could not be understood"),
    ]
}

const LANGUAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../worktree/tests/it/lsp.sh");

/// How a world for a case is opened.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) needs: Vec<Needs>,
    pub(crate) permission: Value,
    pub(crate) crash: CrashPlan,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
}

impl Setup {
    /// The permission of the case has this setting.
    pub(crate) fn of(case: &Case, setting: Value) -> Self {
        let permission = json!({ case.key(): setting });
        Self { needs: vec![case.needs], permission, crash: CrashPlan::Never, extensions: Vec::new() }
    }

    pub(crate) async fn open(&self) -> (World, SessionId) {
        let world = self.open_on(Disk::new(), Provider::start().await).await;
        let session = world.session().await.id;
        (world, session)
    }

    /// Kills the process of a world and starts one with this setup in its place: what was not stored is gone.
    pub(crate) async fn reopen(&self, world: World) -> World {
        let World { engine, disk, provider } = world;
        engine.store().clone().die().await;
        engine.close().await;
        drop(engine);
        provider.forget_answers();
        self.open_on(disk, provider).await
    }

    async fn open_on(&self, disk: Disk, provider: Provider) -> World {
        let mut config = scripted(&provider.url());
        config["permission"] = self.permission.clone();
        if self.needs.contains(&Needs::McpServer) {
            config["mcp"] = json!({ "my server": local("well", &disk.notes()) });
        }
        if self.needs.contains(&Needs::Languages) {
            config["lsp"] =
                json!({ "script": { "command": ["/bin/sh", LANGUAGES], "extensions": [".lang"] } });
        }
        if self.needs.contains(&Needs::Formatter) {
            let command = ["sh", "-c", "echo $$ > starting; mv starting pid; sleep 600"];
            config["formatter"] = json!({ "slow": { "command": command, "extensions": [".txt"] } });
        }
        furnish(&disk);
        disk.configure(&config);
        let mut options = options(&disk, self.crash);
        let home = ("HOME".to_owned(), disk.home().to_string_lossy().into_owned());
        let on = |name: &str| (name.to_owned(), "1".to_owned());
        let switches = [home, on("STURDY_REACH_PRIVATE"), on("OPENCODE_EXPERIMENTAL_LSP_TOOL")];
        options.environment = Environment::new(switches.into()).trusting_all();
        options.extensions = Extensions::new(self.extensions.clone());
        let engine = Engine::open(options).await.unwrap();
        World { engine, disk, provider }
    }
}

/// What calls look at.
fn furnish(disk: &Disk) {
    let project = disk.project();
    std::fs::write(project.join("a.txt"), "one\n").unwrap();
    std::fs::write(project.join("x.lang"), "a thing\n").unwrap();
    let skill = project.join(".opencode/skills/knitting");
    std::fs::create_dir_all(&skill).unwrap();
    let words = "---\nname: knitting\ndescription: Knits\n---\nKnit one.\n";
    std::fs::write(skill.join("SKILL.md"), words).unwrap();
}

/// A web server: `/page` answers, `/hangs` begins to.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) url: String,
    /// How many hang now.
    pub(crate) hanging: watch::Receiver<usize>,
}

impl Pages {
    #[allow(clippy::disallowed_methods, reason = "a server of the test's own")]
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (counter, hanging) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let counter = counter.clone();
                tokio::spawn(async move {
                    let mut head = vec![0; 4096];
                    let count = socket.read(&mut head).await.unwrap_or(0);
                    let hangs = String::from_utf8_lossy(&head[..count]).starts_with("GET /hangs");
                    let length = if hangs { 1000 } else { 7 };
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: {length}\r\n\r\nA page."
                    );
                    let _ = socket.write_all(answer.as_bytes()).await;
                    if hangs {
                        counter.send_modify(|count| *count += 1);
                        // Until the other side goes away.
                        let _ = socket.read(&mut head).await;
                        counter.send_modify(|count| *count -= 1);
                    }
                });
            }
        });
        Self { url, hanging }
    }
}
