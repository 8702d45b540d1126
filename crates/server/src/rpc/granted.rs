//! A session for whoever shows a grant to it. What the grant does not allow is refused, and every call looks at the stored
//! record again: an object that is held on an open socket loses its power with the revocation.

use super::sessions::bad_argument;
use super::{failure, session, subscription, value};
use crate::access::caller::Caller;
use crate::access::grants::{Granted, Need};
use crate::app::App;
use crate::error::ApiError;
use crate::grants::make::{GrantLimits, narrowed, revoked};
use crate::grants::used;
use crate::wire::body::Prompt;
use serde::Deserialize;
use std::sync::{Arc, LazyLock};
use sturdy_capnweb::{Call, Interface, Object, Outcome, Stub, Thrown, Value, from_value, to_value};
use sturdy_engine::behalf::{Behalf, on_behalf};
use sturdy_session::turn::Answer;
use sturdy_session::types::ask::PermissionReply;
use sturdy_store::AskQuery;
use sturdy_store::grants::{GrantCall, GrantKeeper, GrantRow};
use sturdy_store::share::Refusal;

struct GrantedSession {
    app: App,
    granted: Granted,
    address: String,
}

/// An answer to something that waits: one of the three.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerGiven {
    /// `once` or `reject`, to a permission.
    reply: Option<PermissionReply>,
    /// To a question.
    answers: Option<Vec<Vec<String>>>,
    /// Told to the model with a rejection.
    message: Option<String>,
}

static GRANTED: LazyLock<Arc<Interface<GrantedSession>>> = LazyLock::new(|| {
    Interface::named("GrantedSession")
        .method("grant", |this: Arc<GrantedSession>, _| async move { this.grant().await })
        .method("info", |this, _| async move {
            this.needs(Need::READ).await?;
            session::plain(&this.app, &this.granted.session).info().await
        })
        .method("messages", |this, mut call: Call| async move {
            this.needs(Need::READ).await?;
            session::plain(&this.app, &this.granted.session).messages(call.arg()).await
        })
        .method("subscribe", |this, call| async move {
            let wanted = subscription::Wanted::read(&this.app, &this.granted.session, call)?;
            this.needs(Need::READ).await?;
            Ok(wanted.while_granted(&this.app, &this.granted.id).begin(&this.app).into())
        })
        .method("prompt", |this, mut call| async move {
            let prompt: Prompt = call.parse()?;
            this.prompt(prompt).await
        })
        .method("stop", |this, _| async move { this.stop().await })
        .method("asks", |this, _| async move { this.asks().await })
        .method("answer", |this, mut call| async move {
            let ask: String = call.take()?;
            let given: AnswerGiven = call.parse()?;
            this.answer(&ask, given).await
        })
        .method("narrow", |this, mut call| async move {
            let wanted: GrantLimits = call.parse()?;
            let made = narrowed(&this.app, this.call(), this.keeper(), &this.granted.id, wanted).await;
            given(made).await
        })
        .method("revoke", |this, mut call| async move {
            let id = call.arg();
            let id = if id.is_nothing() { this.granted.id.clone() } else { String::try_from(id)? };
            let revoked = revoked(&this.app, this.call(), this.keeper(), &id).await;
            given(revoked.map(|revoked| serde_json::json!({ "revoked": revoked }))).await
        })
        .build()
});

pub(super) fn stub(app: &App, granted: Granted, address: String) -> Stub {
    GRANTED.stub(GrantedSession { app: app.clone(), granted, address })
}

/// What a call answers, or why not.
pub(super) async fn given<T: serde::Serialize>(answer: Result<T, impl Into<ApiError>>) -> Outcome {
    match answer {
        Ok(answer) => Ok(to_value(&answer)?),
        Err(cause) => Err(failure::thrown(cause).await),
    }
}

impl GrantedSession {
    fn call(&self) -> GrantCall {
        GrantCall {
            now: self.app.engine().clock().now(),
            actor: Caller::Grant(self.granted.clone()).to_string(),
            transport: "rpc",
            address: self.address.clone(),
        }
    }

    fn keeper(&self) -> GrantKeeper {
        GrantKeeper::Holder(self.granted.id.clone())
    }

    async fn row(&self) -> Result<GrantRow, Thrown> {
        let now = self.app.engine().clock().now();
        match self.app.engine().store().standing_grant(now, self.granted.id.clone()).await {
            Ok(row) => Ok(row),
            Err(refused) => Err(failure::thrown(refused).await),
        }
    }

    /// Whether the grant stands and allows this.
    async fn needs(&self, need: Need) -> Result<(), Thrown> {
        let row = self.row().await?;
        if need.right.is_none_or(|right| row.rights.contains(right)) {
            return Ok(());
        }
        Err(failure::thrown(ApiError::Grant(Refusal::ForbiddenScope("this"))).await)
    }

    /// What is stored is judged in the transaction that stores it.
    fn behalf(&self, need: Need) -> Behalf {
        let grant = used(&self.granted, need, "rpc", self.address.clone());
        Behalf { actor: grant.actor.as_str().into(), grant: Some(grant) }
    }

    async fn grant(&self) -> Outcome {
        Ok(to_value(&self.row().await?)?)
    }

    async fn prompt(&self, prompt: Prompt) -> Outcome {
        self.needs(Need::PROMPT).await?;
        let engine = self.app.engine();
        let session = &self.granted.session;
        let asked =
            on_behalf(self.behalf(Need::PROMPT), Box::pin(engine.prompt(session, prompt.into()))).await;
        match asked {
            Ok(message) => Ok(Value::object([("messageID", message.to_string())])),
            Err(cause) => Err(failure::thrown(ApiError::of(session)(cause)).await),
        }
    }

    async fn stop(&self) -> Outcome {
        self.needs(Need::STOP).await?;
        let stopped = self.app.engine().abort(&self.granted.session);
        match on_behalf(self.behalf(Need::STOP), stopped).await {
            Ok(()) => Ok(Value::Bool(true)),
            Err(cause) => Err(failure::thrown(cause).await),
        }
    }

    async fn asks(&self) -> Outcome {
        self.needs(Need::ASKS).await?;
        let wanted = AskQuery { session: Some(self.granted.session.clone()), ..AskQuery::default() };
        let asks = match self.app.engine().store().asks(wanted).await {
            Ok(asks) => asks,
            Err(cause) => return Err(failure::thrown(cause).await),
        };
        let mut items = Vec::with_capacity(asks.len());
        for ask in asks {
            let mut item = Object::new();
            item.insert("kind", ask.kind.as_str());
            item.insert("request", value::record(&ask.data).await?);
            items.push(Value::Object(item));
        }
        Ok(Value::Array(items))
    }

    async fn answer(&self, ask: &str, given: AnswerGiven) -> Outcome {
        self.needs(Need::ANSWER).await?;
        let answer = match given {
            AnswerGiven { reply: Some(reply), message, .. } => Answer::Permission { reply, message },
            AnswerGiven { answers: Some(answers), .. } => Answer::Question { answers },
            AnswerGiven { .. } => Answer::Dismissed,
        };
        let wanted = AskQuery { session: Some(self.granted.session.clone()), ..AskQuery::default() };
        let open = match self.app.engine().store().asks(wanted).await {
            Ok(open) => open,
            Err(cause) => return Err(failure::thrown(cause).await),
        };
        // An ask of another session is not known to this one.
        if !open.iter().any(|known| known.id == ask) {
            return Err(bad_argument("Nothing with this id waits for an answer in this session.").await);
        }
        let answered = self.app.engine().answer_ask(ask, answer);
        match on_behalf(self.behalf(Need::ANSWER), answered).await {
            Ok(()) => Ok(Value::Bool(true)),
            Err(cause) => Err(failure::thrown(cause).await),
        }
    }
}

/// What `redeem` of the root answers: the session that a reference is for.
pub(super) async fn redeem(app: &App, reference: Value, address: String) -> Outcome {
    let reference: String = from_value(reference)?;
    let unknown = ApiError::Grant(Refusal::Unauthorized);
    let Some(reference) = sturdy_store::share::SturdyRef::parse(&reference) else {
        return Err(failure::thrown(unknown).await);
    };
    let now = app.engine().clock().now();
    let row = match app.engine().store().redeem_grant(now, reference).await {
        Ok(row) => row,
        Err(refused) => return Err(failure::thrown(refused).await),
    };
    match Granted::of(&row) {
        Some(granted) => Ok(stub(app, granted, address).into()),
        None => Err(failure::thrown(unknown).await),
    }
}
