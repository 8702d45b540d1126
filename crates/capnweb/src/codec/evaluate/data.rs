//! Tags that stand for data.
//!
//! `Ok(None)` means "not this form", which the caller reports with the whole expression.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{Evaluator, Scope};
use crate::{
    Body, Bytes, ErrorValue, Headers, Kind, Object, Request, Response, Thrown, Url, Value,
    codec::json::Json,
    value::is_token,
    value::reserved::{is_dropped, is_error_slot},
};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

type Found = Result<Option<Value>, Thrown>;

pub(super) fn date(items: &[Json<'_>]) -> Option<Value> {
    match items.get(1)? {
        Json::Number(milliseconds) => Some(Value::date(*milliseconds)),
        Json::Null => Some(Value::Date(f64::NAN)),
        _ => None,
    }
}

pub(super) fn bytes(items: &[Json<'_>]) -> Found {
    let Some(text) = items.get(1).and_then(Json::as_str) else { return Ok(None) };
    let kind = match items.get(2) {
        None => Kind::Uint8Array,
        Some(Json::String(name)) => Kind::named(name)
            .ok_or_else(|| ErrorValue::type_error(format!("Unknown bytes type marker: {name}")))?,
        Some(other) => {
            let kind = type_of(other);
            return Err(ErrorValue::type_error(format!("Unknown bytes type marker type: {kind}")).into());
        }
    };
    // Some senders use the alphabet for URLs; we read both and write only the standard one.
    let engine = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    let data = engine.decode(text).map_err(|_| ErrorValue::type_error("bytes are not valid base64"))?;
    let length = data.len();
    match Bytes::typed(kind, data) {
        Some(bytes) => Ok(Some(Value::Bytes(bytes))),
        None => Err(ErrorValue::type_error(format!(
            "Invalid byte length {length} for {}; expected a multiple of {}",
            kind.name(),
            kind.element_size()
        ))
        .into()),
    }
}

fn type_of(json: &Json<'_>) -> &'static str {
    match json {
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Null | Json::Array(_) | Json::Object(_) => "object",
    }
}

pub(super) fn url(items: &[Json<'_>]) -> Found {
    let Some(text) = items.get(1).and_then(Json::as_str) else { return Ok(None) };
    parse_url(text).map(|url| Some(Value::Url(Box::new(url))))
}

fn parse_url(text: &str) -> Result<Url, Thrown> {
    Url::parse(text).map_err(|_| ErrorValue::type_error("Invalid URL").into())
}

/// `None` when it is not a list at all.
pub(super) fn header_list(json: Option<&Json<'_>>) -> Result<Option<Headers>, Thrown> {
    let Some(pairs) = json.and_then(Json::as_array) else { return Ok(None) };
    let mut texts = Vec::with_capacity(pairs.len());
    for pair in pairs {
        match pair.as_array() {
            Some([Json::String(name), Json::String(value)]) => texts.push((*name, *value)),
            _ => return Err(bad_header()),
        }
    }
    Headers::from_pairs(texts.into_iter()).map(Some).ok_or_else(bad_header)
}

fn bad_header() -> Thrown {
    ErrorValue::type_error("a header is a pair of a name and a value").into()
}

/// JSON as it stands, arrays included.
fn literal(json: &Json<'_>) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => Value::Number(*number),
        Json::String(text) => Value::String((*text).to_owned()),
        Json::Array(items) => Value::Array(items.iter().map(literal).collect()),
        Json::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(name, _)| !is_dropped(name))
                .map(|(name, value)| ((*name).to_owned(), literal(value)))
                .collect(),
        ),
    }
}

impl Evaluator<'_> {
    pub(super) fn error(&self, items: &[Json<'_>], depth: usize) -> Found {
        let (Some(name), Some(message)) =
            (items.get(1).and_then(Json::as_str), items.get(2).and_then(Json::as_str))
        else {
            return Ok(None);
        };
        let mut error = ErrorValue::named(ErrorValue::standard_name(name), message);
        error.stack = items.get(3).and_then(Json::as_str).map(str::to_owned);
        match items.get(4) {
            None => {}
            Some(Json::Object(members)) => {
                for (name, member) in *members {
                    let value = self.value(member, depth + 1)?;
                    if !is_error_slot(name) {
                        error.props.insert(*name, value);
                    }
                }
            }
            Some(_) => return Ok(None),
        }
        Ok(Some(Value::Error(Box::new(error))))
    }

    pub(super) fn request(&self, items: &[Json<'_>], depth: usize) -> Found {
        let (Some(Json::String(url)), Some(Json::Object(members))) = (items.get(1), items.get(2)) else {
            return Ok(None);
        };
        let mut request = Request::new("GET", parse_url(url)?);
        for (name, member) in *members {
            match *name {
                "method" => request.method = method(member)?,
                "headers" => {
                    let refused = "Request headers must be serialized as an array of pairs.";
                    request.headers =
                        header_list(Some(member))?.ok_or_else(|| ErrorValue::type_error(refused))?;
                }
                "body" => request.body = self.body(member, depth, "Request")?,
                other if is_dropped(other) => {}
                other => request.init.insert(other, literal(member)),
            }
        }
        Ok(Some(Value::Request(Box::new(request))))
    }

    pub(super) fn response(&self, items: &[Json<'_>], depth: usize) -> Found {
        let (Some(body), Some(Json::Object(members))) = (items.get(1), items.get(2)) else { return Ok(None) };
        let mut response = Response::new(200);
        response.body = self.body(body, depth, "Response")?;
        for (name, member) in *members {
            match *name {
                "status" => response.status = status(member)?,
                "statusText" => response.status_text = member.as_str().unwrap_or_default().to_owned(),
                "headers" => {
                    let refused = "Response headers must be serialized as an array of pairs.";
                    response.headers =
                        header_list(Some(member))?.ok_or_else(|| ErrorValue::type_error(refused))?;
                }
                other if is_dropped(other) => {}
                other => response.init.insert(other, literal(member)),
            }
        }
        Ok(Some(Value::Response(Box::new(response))))
    }

    fn body(&self, json: &Json<'_>, depth: usize, what: &str) -> Result<Body, Thrown> {
        match self.value(json, depth + 1)? {
            Value::Null | Value::Undefined => Ok(Body::Empty),
            Value::String(text) => Ok(Body::Text(text)),
            Value::Bytes(bytes) => Ok(Body::Bytes(bytes.into_vec())),
            Value::Readable(stream) => Ok(Body::Stream(stream)),
            _ => Err(ErrorValue::type_error(format!("{what} body must be of type ReadableStream.")).into()),
        }
    }

    /// A blob is a promise: it is there when its last byte is.
    pub(super) fn blob(&self, items: &[Json<'_>]) -> Found {
        let (Some(Json::String(mime)), Some(Json::Array(stream))) = (items.get(1), items.get(2)) else {
            return Ok(None);
        };
        let (Some("readable"), Some(id)) =
            (stream.first().and_then(Json::as_str), stream.get(1).and_then(Json::as_integer))
        else {
            return Ok(None);
        };
        match self.scope {
            Scope::Session(session) => session.take_blob(id, (*mime).to_owned()).map(Some),
            Scope::Map(_) | Scope::Alone => Err(ErrorValue::new("a blob cannot be received here").into()),
        }
    }
}

fn method(json: &Json<'_>) -> Result<String, Thrown> {
    match json.as_str() {
        Some(name) if is_token(name) => {
            let upper = name.to_ascii_uppercase();
            let known = matches!(upper.as_str(), "DELETE" | "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT");
            Ok(if known { upper } else { name.to_owned() })
        }
        _ => Err(ErrorValue::type_error("a request method is a token").into()),
    }
}

fn status(json: &Json<'_>) -> Result<u16, Thrown> {
    match json.as_integer() {
        Some(status @ 200..=599) => Ok(status as u16),
        _ => Err(ErrorValue::range_error("a response status is from 200 to 599").into()),
    }
}

/// The members of an `init`, without what travels in its own slot.
pub(crate) fn plain_members(init: &Object) -> impl Iterator<Item = (&str, &Value)> {
    init.iter().filter(|(name, _)| !is_dropped(name))
}
