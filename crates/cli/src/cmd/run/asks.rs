//! Permissions and questions of a turn: answered by a rule, or by the person at the terminal.

use crate::args::PermissionAnswer;
use crate::client::Client;
use crate::failure::Failure;
use crate::out;
use crate::table::printable;
use crate::terminal::Terminal;
use console::style;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// More than a model asks at once.
const OPEN_MAX: usize = 256;

enum Ask {
    Permission(Value),
    Question(Value),
}

impl Ask {
    fn id(&self) -> &str {
        let (Self::Permission(ask) | Self::Question(ask)) = self;
        ask["id"].as_str().unwrap_or_default()
    }
}

/// Who answers, and what waits for an answer. The first one is on the screen.
pub(super) struct Answerer {
    rule: PermissionAnswer,
    terminal: Option<Terminal>,
    open: VecDeque<Ask>,
    /// Of the question on the screen, when it has several.
    answers: Vec<Value>,
    /// Something was rejected, by the person at the terminal or because nobody could be asked.
    pub(super) has_rejected: bool,
}

impl Answerer {
    pub(super) fn new(rule: Option<PermissionAnswer>, terminal: Option<Terminal>) -> Self {
        // Nobody there to be asked is a no.
        let rule = match (rule, &terminal) {
            (None | Some(PermissionAnswer::Ask), Some(_)) => PermissionAnswer::Ask,
            (None | Some(PermissionAnswer::Ask), None) => PermissionAnswer::Reject,
            (Some(rule), _) => rule,
        };
        Self { rule, terminal, open: VecDeque::new(), answers: Vec::new(), has_rejected: false }
    }

    pub(super) async fn permission(&mut self, client: &Client, ask: Value) -> Result<(), Failure> {
        match self.rule {
            PermissionAnswer::Ask => self.queue(Ask::Permission(ask)),
            PermissionAnswer::Allow => reply(client, &ask, "once").await?,
            PermissionAnswer::Reject => {
                let what = printable(ask["permission"].as_str().unwrap_or_default()).into_owned();
                out::talk(&format!(
                    "Rejected: {what} {}. --permission allow would allow it.",
                    patterns(&ask)
                ));
                self.has_rejected = true;
                reply(client, &ask, "reject").await?;
            }
        }
        Ok(())
    }

    pub(super) async fn question(&mut self, client: &Client, ask: Value) -> Result<(), Failure> {
        if self.terminal.is_some() {
            self.queue(Ask::Question(ask));
            return Ok(());
        }
        out::talk("Dismissed a question of the model: there is no terminal to answer it at.");
        self.has_rejected = true;
        let id = ask["id"].as_str().unwrap_or_default();
        tolerate_answered(client.post(&format!("/question/{id}/reject"), &json!({})).await)
    }

    /// Somebody else answered it, or the turn was stopped.
    pub(super) fn forget(&mut self, id: &str) {
        let is_shown = self.open.front().is_some_and(|ask| ask.id() == id);
        self.open.retain(|ask| ask.id() != id);
        if is_shown {
            self.answers.clear();
            if let Some(terminal) = &mut self.terminal {
                terminal.show("\n(answered elsewhere)\n");
            }
            self.show();
        }
    }

    fn queue(&mut self, ask: Ask) {
        if self.open.len() == OPEN_MAX || self.open.iter().any(|open| open.id() == ask.id()) {
            return;
        }
        self.open.push_back(ask);
        if self.open.len() == 1 {
            self.show();
        }
    }

    /// The person's next line; never ends while there is nothing to answer.
    pub(super) async fn line(&mut self) -> Option<String> {
        match &mut self.terminal {
            Some(terminal) if !self.open.is_empty() => terminal.line().await,
            _ => std::future::pending().await,
        }
    }

    /// Takes a line as the answer to what is on the screen; None: the terminal is gone.
    pub(super) async fn answer(&mut self, client: &Client, line: Option<String>) -> Result<(), Failure> {
        let Some(line) = line else {
            self.terminal = None;
            self.rule = PermissionAnswer::Reject;
            while let Some(ask) = self.open.pop_front() {
                match ask {
                    Ask::Permission(ask) => self.permission(client, ask).await?,
                    Ask::Question(ask) => self.question(client, ask).await?,
                }
            }
            return Ok(());
        };
        let is_done = match self.open.front() {
            None => return Ok(()),
            Some(Ask::Permission(ask)) => match line.as_str() {
                "y" | "Y" | "o" => reply(client, ask, "once").await.map(|()| true)?,
                "a" | "A" => reply(client, ask, "always").await.map(|()| true)?,
                "n" | "N" => {
                    self.has_rejected = true;
                    reply(client, ask, "reject").await.map(|()| true)?
                }
                _ => false,
            },
            Some(Ask::Question(ask)) => {
                let ask = ask.clone();
                self.take_answer(client, &ask, &line).await?
            }
        };
        if is_done {
            self.open.pop_front();
            self.answers.clear();
        }
        self.show();
        Ok(())
    }

    /// True when all parts of the question have their answers.
    async fn take_answer(&mut self, client: &Client, ask: &Value, line: &str) -> Result<bool, Failure> {
        let id = ask["id"].as_str().unwrap_or_default();
        let questions = ask["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
        if line.is_empty() {
            self.has_rejected = true;
            tolerate_answered(client.post(&format!("/question/{id}/reject"), &json!({})).await)?;
            return Ok(true);
        }
        if let Some(question) = questions.get(self.answers.len()) {
            self.answers.push(chosen(question, line));
        }
        if self.answers.len() < questions.len() {
            return Ok(false);
        }
        let body = json!({ "answers": self.answers });
        tolerate_answered(client.post(&format!("/question/{id}/reply"), &body).await)?;
        Ok(true)
    }

    /// Puts the first open ask on the screen.
    fn show(&mut self) {
        let text = match self.open.front() {
            None => return,
            Some(Ask::Permission(ask)) => {
                let what = printable(ask["permission"].as_str().unwrap_or_default()).into_owned();
                format!(
                    "\n{} {what} {}\n[y] once  [a] always  [n] no: ",
                    style("Permission asked:").yellow().bold().for_stderr(),
                    patterns(ask),
                )
            }
            Some(Ask::Question(ask)) => question_text(&ask["questions"][self.answers.len()]),
        };
        if let Some(terminal) = &mut self.terminal {
            terminal.show(&text);
        }
    }
}

/// The labels of the chosen numbers; anything that is not a number is taken as the person's own answer.
fn chosen(question: &Value, line: &str) -> Value {
    let options = question["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let label = |word: &str| {
        let number: usize = word.trim().parse().ok()?;
        options.get(number.checked_sub(1)?)?["label"].as_str()
    };
    let labels: Option<Vec<&str>> = line.split(',').map(label).collect();
    json!(labels.unwrap_or_else(|| vec![line]))
}

fn question_text(question: &Value) -> String {
    let mut text = format!("\n{}\n", printable(question["question"].as_str().unwrap_or_default()));
    for (index, option) in question["options"].as_array().into_iter().flatten().enumerate() {
        let label = printable(option["label"].as_str().unwrap_or_default()).into_owned();
        let about = printable(option["description"].as_str().unwrap_or_default()).into_owned();
        text.push_str(&format!("  {}  {label}  {about}\n", index + 1));
    }
    text.push_str("Number, several with commas, or your own words; nothing dismisses: ");
    text
}

fn patterns(ask: &Value) -> String {
    let patterns = ask["patterns"].as_array().into_iter().flatten().filter_map(Value::as_str);
    printable(&patterns.collect::<Vec<_>>().join(", ")).into_owned()
}

async fn reply(client: &Client, ask: &Value, reply: &str) -> Result<(), Failure> {
    let id = ask["id"].as_str().unwrap_or_default();
    tolerate_answered(client.post(&format!("/permission/{id}/reply"), &json!({ "reply": reply })).await)
}

/// Another client may have been faster; then there is nothing left to do.
fn tolerate_answered(answer: Result<Value, Failure>) -> Result<(), Failure> {
    match answer {
        Err(failure) if failure.code != crate::failure::UNMET => Err(failure),
        Ok(_) | Err(_) => Ok(()),
    }
}
