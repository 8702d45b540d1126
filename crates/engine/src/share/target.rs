//! Where a session is shared: this store, or a service somewhere else.
//!
//! Both answer the same questions with the same answers. What goes to another service is plain HTTP: numbered batches
//! if it says that it understands them, lists of values as OpenCode's own service takes them otherwise.

use super::Inner;
use super::ids::{new_capability_id, new_share_id};
use crate::records::{self, readable};
use serde_json::{Value, json};
use std::time::Duration;
use sturdy_llm::http::{Exchange, ExchangeAnswer, ExchangeMethod};
use sturdy_store::outbox::{Contract, Link, LinkSecret, Made, Seen};
use sturdy_store::share::{Ack, Batch, Kind, NewShare, Refusal, ShareAuth, ShareCall, ShareError, SturdyRef};

/// An answer names every operation of a batch and is otherwise short.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// Says that a service takes numbered batches.
const ANNOUNCED: &str = "x-sturdy-share";

/// How many watch a share, beside the answer to a batch.
const VIEWERS: &str = "x-sturdy-share-viewers";

/// Why something could not be sent to the share service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SendError {
    /// The same may succeed later.
    #[error("{why}")]
    Later { why: String, wait: Option<Duration> },
    /// It was understood and refused.
    #[error("{message}")]
    Refused { code: String, message: String, epoch: Option<u64> },
}

impl SendError {
    fn later(why: impl Into<String>) -> Self {
        Self::Later { why: why.into(), wait: None }
    }
}

impl From<ShareError> for SendError {
    fn from(error: ShareError) -> Self {
        match error {
            // There may be room later.
            ShareError::Refused(refusal @ Refusal::Full) => Self::later(refusal.to_string()),
            ShareError::Refused(refusal) => {
                let epoch = match &refusal {
                    Refusal::StaleEpoch { epoch } => Some(*epoch),
                    _ => None,
                };
                Self::Refused { code: refusal.code().to_owned(), message: refusal.to_string(), epoch }
            }
            ShareError::Store(cause) => Self::later(cause.to_string()),
        }
    }
}

/// The service that a link names.
pub(super) struct Target<'a> {
    inner: &'a Inner,
    link: &'a Link,
}

impl<'a> Target<'a> {
    pub(super) fn of(inner: &'a Inner, link: &'a Link) -> Self {
        Self { inner, link }
    }

    pub(super) fn is_own(&self) -> bool {
        self.link.target.is_empty()
    }

    /// Makes the share. Asked again, it is the same one.
    pub(super) async fn create(&self) -> Result<Made, SendError> {
        if self.is_own() {
            return self.create_here().await;
        }
        let secret = self.link.secret.reveal();
        let body = json!({
            "sessionID": self.link.session,
            "request_id": self.link.request,
            "secret": secret,
            "visibility": self.link.visibility.as_str(),
        });
        let answer = self.ask(ExchangeMethod::Post, "/api/share", None, &body).await?;
        let is_ours = answer.headers.get(ANNOUNCED).is_some_and(|value| value.contains("ops/1"));
        let made: Value = parse(&answer)?;
        let text = |name: &str| made[name].as_str().map(str::to_owned);
        let (Some(share), Some(url), Some(reference)) = (text("id"), text("url"), text("secret")) else {
            return Err(refused("malformed", "the service answered without id, url and secret"));
        };
        if !is_web_address(&url) {
            return Err(refused("malformed", "the service answered with a link that is no web address"));
        }
        // One that made a secret of its own does not know ours, and nothing of numbers.
        let contract = if is_ours && reference.contains(secret) { Contract::Ops } else { Contract::Sync };
        Ok(Made {
            share,
            url,
            secret: LinkSecret::new(reference),
            contract,
            epoch: made["epoch"].as_u64().unwrap_or(1),
            cursor: made["cursor"].as_u64().unwrap_or(0),
        })
    }

    async fn create_here(&self) -> Result<Made, SendError> {
        let Some(base) = self.inner.sharing.own_url.get() else {
            return Err(SendError::later("this server does not receive shares now"));
        };
        let share = new_share_id();
        let secret = self.link.secret.reveal();
        let new = NewShare {
            owner: SturdyRef::new(&share, new_capability_id(), secret),
            share,
            session: self.link.session.to_string(),
            request: Some(self.link.request.clone()),
            visibility: self.link.visibility,
            label: "owner".to_owned(),
        };
        let made = self.inner.store.create_share(self.call(), new).await?;
        let reference = SturdyRef::new(&made.share, &made.capability, secret);
        Ok(Made {
            url: format!("{base}/share/{}", made.share),
            share: made.share,
            secret: LinkSecret::new(reference.reveal()),
            contract: Contract::Ops,
            epoch: made.epoch,
            cursor: made.cursor,
        })
    }

    /// How far this link's writer has come.
    pub(super) async fn redeem(&self) -> Result<Seen, SendError> {
        if self.is_own() {
            let writer = Some(self.link.writer.clone());
            let share = self.link.share.clone();
            let found = self.inner.store.redeem_share(self.call(), share, self.auth(), writer).await?;
            let writer = found.writer.ok_or_else(|| refused("malformed", "the writer is missing"))?;
            return Ok(Seen {
                epoch: found.epoch,
                cursor: found.cursor,
                applied_seq: writer.applied_seq,
                applied_count: writer.applied_count,
                chain: writer.chain,
            });
        }
        let path = format!("/api/share/{}/redeem", self.link.share);
        let body = json!({ "writer_id": self.link.writer });
        let answer = self.ask(ExchangeMethod::Post, &path, Some(self.link.secret.reveal()), &body).await?;
        let found: Value = parse(&answer)?;
        let writer = &found["writer"];
        let counts = [&found["epoch"], &found["cursor"], &writer["applied_seq"], &writer["applied_count"]];
        let [Some(epoch), Some(cursor), Some(applied_seq), Some(applied_count)] = counts.map(Value::as_u64)
        else {
            return Err(refused("malformed", "the service answered a redeem in a form that is not known"));
        };
        let chain = writer["chain"].as_str().unwrap_or_default().to_owned();
        Ok(Seen { epoch, cursor, applied_seq, applied_count, chain })
    }

    /// Sends a sealed batch over plain HTTP, or to this store. Answers also how many watch the share there.
    pub(super) async fn append(&self, batch: Batch) -> Result<(Ack, u64), SendError> {
        if self.is_own() {
            let share = self.link.share.clone();
            let ack = self.inner.store.append_share(self.call(), share, self.auth(), batch).await?;
            self.inner.sharing.wakes.wake(&self.link.share);
            return Ok((ack, 0));
        }
        let path = format!("/api/share/{}/ops", self.link.share);
        let body = serde_json::to_value(&batch).expect("BUG: a batch is always JSON");
        let answer = self.ask(ExchangeMethod::Post, &path, Some(self.link.secret.reveal()), &body).await?;
        let viewers = answer.headers.get(VIEWERS).and_then(|value| value.trim().parse().ok());
        Ok((parse(&answer)?, viewers.unwrap_or(0)))
    }

    /// The same for a service that takes lists of values. It cannot be told of removals. `models` are all there are:
    /// that service keeps one list of them. Answers why something was left out, if something was.
    pub(super) async fn sync(&self, batch: &Batch, models: Vec<Value>) -> Result<Option<String>, SendError> {
        let mut values: Vec<Value> = batch
            .ops
            .iter()
            .filter(|op| op.kind != Kind::Model.as_str())
            .filter_map(|op| {
                let data: Value =
                    readable(records::fields("a sealed operation", op.payload_json.as_deref()?))?;
                Some(json!({ "type": op.kind, "data": data }))
            })
            .collect();
        if !models.is_empty() {
            values.push(json!({ "type": Kind::Model.as_str(), "data": models }));
        }
        let mut left_out = None;
        // What is too large or not understood as a whole is sent in halves, so that one value does not keep the others
        // back; a value that is refused alone is left out, as OpenCode's own client does with all of them.
        let mut waiting = vec![values];
        while let Some(mut values) = waiting.pop() {
            if values.is_empty() {
                continue;
            }
            match self.sync_values(&values).await {
                Ok(()) => {}
                Err(SendError::Refused { code, message, .. })
                    if code == "too_large" || code == "malformed" =>
                {
                    if values.len() == 1 {
                        left_out = Some(message);
                    } else {
                        let rest = values.split_off(values.len() / 2);
                        waiting.push(rest);
                        waiting.push(values);
                    }
                }
                Err(unsent) => return Err(unsent),
            }
        }
        Ok(left_out)
    }

    async fn sync_values(&self, values: &[Value]) -> Result<(), SendError> {
        let path = format!("/api/share/{}/sync", self.link.share);
        let body = json!({ "secret": self.link.secret.reveal(), "data": values });
        self.ask(ExchangeMethod::Post, &path, None, &body).await.map(drop)
    }

    /// Deletes the share. One that is gone already is as good.
    pub(super) async fn delete(&self) -> Result<(), SendError> {
        if self.is_own() {
            let deleted =
                self.inner.store.delete_share(self.call(), self.link.share.clone(), self.auth()).await;
            self.inner.sharing.wakes.wake(&self.link.share);
            return Ok(deleted?);
        }
        let path = format!("/api/share/{}", self.link.share);
        let body = json!({ "secret": self.link.secret.reveal() });
        self.ask(ExchangeMethod::Delete, &path, None, &body).await.map(drop)
    }

    fn auth(&self) -> ShareAuth {
        ShareAuth::parse(self.link.secret.reveal())
    }

    fn call(&self) -> ShareCall {
        ShareCall {
            now: self.inner.clock.now(),
            actor: match self.link.actor.as_str() {
                "" => "engine".to_owned(),
                actor => actor.to_owned(),
            },
            transport: "own",
            address: String::new(),
            budget: None,
            limits: self.inner.sharing.limits(),
        }
    }

    async fn ask(
        &self,
        method: ExchangeMethod,
        path: &str,
        bearer: Option<&str>,
        body: &Value,
    ) -> Result<ExchangeAnswer, SendError> {
        let answer = self.exchange(method, path, bearer, body.to_string().into_bytes()).await?;
        if (200..300).contains(&answer.status) { Ok(answer) } else { Err(self.unmet(&answer)) }
    }

    /// Posts something, and gives the answer back whatever it is.
    pub(super) async fn post(&self, path: &str, body: Vec<u8>) -> Result<ExchangeAnswer, SendError> {
        self.exchange(ExchangeMethod::Post, path, None, body).await
    }

    /// Asks something of the share with the owner's right, and gives the answer back whatever it is.
    pub(super) async fn ask_as_owner(
        &self,
        method: ExchangeMethod,
        rest: &str,
        body: Vec<u8>,
    ) -> Result<ExchangeAnswer, SendError> {
        let path = format!("/api/share/{}{rest}", self.link.share);
        self.exchange(method, &path, Some(self.link.secret.reveal()), body).await
    }

    /// What an answer without success means.
    pub(super) fn unmet(&self, answer: &ExchangeAnswer) -> SendError {
        unmet(answer, self.link.contract)
    }

    async fn exchange(
        &self,
        method: ExchangeMethod,
        path: &str,
        bearer: Option<&str>,
        body: Vec<u8>,
    ) -> Result<ExchangeAnswer, SendError> {
        let url = format!("{}{path}", self.link.target);
        let key = self.inner.environment.filled("STURDY_SHARE_SERVICE_KEY");
        let key = key.map(|key| ("x-opencode-share-key", key));
        let exchange = Exchange {
            method,
            url: &url,
            bearer,
            headers: key.as_slice(),
            body,
            limit: self.inner.pace.request,
            answer_bytes_max: ANSWER_BYTES_MAX,
        };
        self.inner.http.exchange(exchange).await.map_err(SendError::later)
    }
}

fn refused(code: &str, message: &str) -> SendError {
    SendError::Refused { code: code.to_owned(), message: message.to_owned(), epoch: None }
}

fn parse<T: serde::de::DeserializeOwned>(answer: &ExchangeAnswer) -> Result<T, SendError> {
    // A proxy in between may answer for a service that is away.
    serde_json::from_slice(&answer.body)
        .map_err(|_| SendError::later("the service's answer is not understood"))
}

/// What an answer without success means. A service of ours says so with a code. Without one the answer may be a proxy's,
/// which knows nothing of the share: then the same is tried later, however final the status looks.
fn unmet(answer: &ExchangeAnswer, contract: Contract) -> SendError {
    let status = answer.status;
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let error = &body["error"];
    let message = error["message"].as_str().map(str::to_owned);
    let message = message.unwrap_or_else(|| format!("the service answered with status {status}"));
    let code = error["code"].as_str().or(match contract {
        Contract::Ops => None,
        Contract::Sync => old_code(status, &body),
    });
    match code {
        Some(code) if status != 429 && status < 500 && status != 408 => {
            SendError::Refused { code: code.to_owned(), message, epoch: error["epoch"].as_u64() }
        }
        _ => {
            let wait = answer.headers.get("retry-after").and_then(|value| value.trim().parse().ok());
            SendError::Later { why: message, wait: wait.map(Duration::from_secs) }
        }
    }
}

/// The old contract has no codes. That a share is gone is believed when the answer is JSON, as that service's are.
fn old_code(status: u16, body: &Value) -> Option<&'static str> {
    match status {
        404 | 410 if !body.is_null() => Some("gone"),
        400 | 422 => Some("malformed"),
        413 => Some("too_large"),
        _ => None,
    }
}

/// The link is shown to people and opened by them.
fn is_web_address(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| ["http", "https"].contains(&url.scheme()))
}
