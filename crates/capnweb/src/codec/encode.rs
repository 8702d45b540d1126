//! Values to expressions.
//!
//! Writes straight into the text of a message. Where a reference goes is said by whoever
//! encodes: into the tables of a session, into the captures of a map that is being
//! recorded, or nowhere.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};

use crate::{
    Blob, Body, ErrorValue, Headers, Kind, Object, PathPart, Promise, Readable, Request, Response, Stub,
    Thrown, Value, Writable,
    codec::evaluate::plain_members,
    codec::json::{write_number, write_string},
    value::reference::hook::Ref,
    value::reserved::{is_dropped, is_error_slot},
};

/// Where references of a value go: each is entered somewhere, and written as what it is called there.
pub(crate) trait References {
    fn stub(&mut self, out: &mut String, reference: &Ref) -> Written;

    fn promise(&mut self, out: &mut String, reference: &Ref) -> Written;

    fn readable(&mut self, out: &mut String, stream: &Readable) -> Written;

    fn writable(&mut self, out: &mut String, stream: &Writable) -> Written;
}

pub(crate) struct Encoder<'p> {
    pub(crate) out: String,
    /// `None` for plain data: a reference is an error.
    pub(crate) references: Option<&'p mut dyn References>,
    pub(crate) depth_max: usize,
    /// Send members an npm peer would drop.
    pub(crate) allow_dropped: bool,
}

pub(crate) type Written = Result<(), Thrown>;

impl Encoder<'_> {
    pub(crate) fn value(&mut self, value: &Value, depth: usize) -> Written {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.number(*number),
            Value::String(text) => write_string(&mut self.out, text),
            Value::Undefined => self.out.push_str("[\"undefined\"]"),
            Value::BigInt(number) => self.tagged("bigint", number.as_str()),
            Value::Date(milliseconds) => self.date(*milliseconds),
            Value::Bytes(bytes) => self.bytes(bytes.as_slice(), bytes.kind()),
            Value::Url(url) => self.tagged("url", url.as_str()),
            Value::Headers(headers) => {
                self.out.push_str("[\"headers\",");
                self.pairs(headers);
                self.out.push(']');
            }
            Value::Array(items) => return self.array(items, depth),
            Value::Object(object) => return self.object(object, depth),
            Value::Error(error) => return self.error(error, depth),
            Value::Request(request) => return self.request(request),
            Value::Response(response) => return self.response(response),
            Value::Blob(blob) => return self.blob(blob),
            Value::Readable(stream) => return self.readable(stream),
            Value::Writable(stream) => return self.writable(stream),
            Value::Stub(stub) => return self.stub(stub),
            Value::Promise(promise) => return self.promise(promise),
        }
        Ok(())
    }

    /// Arguments of a call: a plain array of expressions.
    pub(crate) fn args(&mut self, args: &[Value], depth: usize) -> Written {
        self.out.push('[');
        for (at, value) in args.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.value(value, depth + 1)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn check(&self, depth: usize) -> Written {
        if depth < self.depth_max {
            return Ok(());
        }
        let text = format!("Serialization exceeded maximum allowed message depth of {}.", self.depth_max);
        Err(ErrorValue::named("Error", text).into())
    }

    fn number(&mut self, number: f64) {
        match number {
            number if number.is_finite() => write_number(&mut self.out, number),
            number if number.is_nan() => self.out.push_str("[\"nan\"]"),
            number if number > 0.0 => self.out.push_str("[\"inf\"]"),
            _ => self.out.push_str("[\"-inf\"]"),
        }
    }

    fn date(&mut self, milliseconds: f64) {
        self.out.push_str("[\"date\",");
        match Value::date(milliseconds) {
            Value::Date(valid) if valid.is_finite() => write_number(&mut self.out, valid),
            _ => self.out.push_str("null"),
        }
        self.out.push(']');
    }

    fn bytes(&mut self, data: &[u8], kind: Kind) {
        self.out.push_str("[\"bytes\",\"");
        STANDARD_NO_PAD.encode_string(data, &mut self.out);
        self.out.push('"');
        if kind != Kind::Uint8Array {
            self.out.push_str(",\"");
            self.out.push_str(kind.name());
            self.out.push('"');
        }
        self.out.push(']');
    }

    fn tagged(&mut self, tag: &str, text: &str) {
        self.out.push_str("[\"");
        self.out.push_str(tag);
        self.out.push_str("\",");
        write_string(&mut self.out, text);
        self.out.push(']');
    }

    fn array(&mut self, items: &[Value], depth: usize) -> Written {
        self.check(depth)?;
        self.out.push('[');
        self.args(items, depth)?;
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, object: &Object, depth: usize) -> Written {
        self.check(depth)?;
        self.out.push('{');
        for (at, (name, value)) in object.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            if is_dropped(name) && !self.allow_dropped {
                let text = format!("a member named '{name}' would be lost at a JavaScript peer");
                return Err(ErrorValue::type_error(text).code("member_would_be_lost").into());
            }
            write_string(&mut self.out, name);
            self.out.push(':');
            self.value(value, depth + 1)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn error(&mut self, error: &ErrorValue, depth: usize) -> Written {
        self.check(depth)?;
        self.out.push_str("[\"error\",");
        write_string(&mut self.out, &error.name);
        self.out.push(',');
        write_string(&mut self.out, &error.message);
        let props = self.props(&error.props, depth);
        match (&error.stack, props.is_empty()) {
            (None, true) => {}
            (Some(stack), _) => {
                self.out.push(',');
                write_string(&mut self.out, stack);
            }
            (None, false) => self.out.push_str(",null"),
        }
        if !props.is_empty() {
            self.out.push_str(",{");
            self.out.push_str(&props);
            self.out.push('}');
        }
        self.out.push(']');
        Ok(())
    }

    /// Properties that cannot be sent are left out one by one: the error itself always arrives.
    fn props(&self, props: &Object, depth: usize) -> String {
        let mut text = String::new();
        for (name, value) in props.iter().filter(|(name, _)| !is_error_slot(name)) {
            let mut alone = Encoder {
                out: String::new(),
                references: None,
                depth_max: self.depth_max,
                allow_dropped: self.allow_dropped,
            };
            if alone.value(value, depth + 1).is_ok() {
                if !text.is_empty() {
                    text.push(',');
                }
                write_string(&mut text, name);
                text.push(':');
                text.push_str(&alone.out);
            }
        }
        text
    }

    fn pairs(&mut self, headers: &Headers) {
        self.out.push('[');
        for (at, (name, value)) in headers.iter().enumerate() {
            self.out.push_str(if at > 0 { ",[" } else { "[" });
            write_string(&mut self.out, name);
            self.out.push(',');
            write_string(&mut self.out, value);
            self.out.push(']');
        }
        self.out.push(']');
    }

    fn request(&mut self, request: &Request) -> Written {
        self.tagged("request", request.url.as_str());
        self.out.pop();
        self.out.push_str(",{");
        let start = self.out.len();
        if request.method != "GET" {
            self.member(start, "method");
            write_string(&mut self.out, &request.method);
        }
        self.headers_member(start, &request.headers);
        if request.body != Body::Empty {
            self.member(start, "body");
            self.body(&request.body)?;
        }
        self.init(start, &request.init)?;
        // A JavaScript request with a streamed body is refused without it.
        if matches!(request.body, Body::Stream(_)) && request.init.get("duplex").is_none() {
            self.member(start, "duplex");
            self.out.push_str("\"half\"");
        }
        self.out.push_str("}]");
        Ok(())
    }

    fn response(&mut self, response: &Response) -> Written {
        self.out.push_str("[\"response\",");
        self.body(&response.body)?;
        self.out.push_str(",{");
        let start = self.out.len();
        if response.status != 200 {
            self.member(start, "status");
            write_number(&mut self.out, f64::from(response.status));
        }
        if !response.status_text.is_empty() {
            self.member(start, "statusText");
            write_string(&mut self.out, &response.status_text);
        }
        self.headers_member(start, &response.headers);
        self.init(start, &response.init)?;
        self.out.push_str("}]");
        Ok(())
    }

    fn member(&mut self, start: usize, name: &str) {
        if self.out.len() > start {
            self.out.push(',');
        }
        write_string(&mut self.out, name);
        self.out.push(':');
    }

    fn headers_member(&mut self, start: usize, headers: &Headers) {
        if !headers.is_empty() {
            self.member(start, "headers");
            self.pairs(headers);
        }
    }

    fn init(&mut self, start: usize, init: &Object) -> Written {
        for (name, value) in plain_members(init) {
            self.member(start, name);
            self.literal(value)?;
        }
        Ok(())
    }

    /// Plain JSON, arrays not escaped.
    fn literal(&mut self, value: &Value) -> Written {
        match value {
            Value::Array(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.literal(item)?;
                }
                self.out.push(']');
            }
            Value::Object(object) => {
                self.out.push('{');
                let start = self.out.len();
                for (name, value) in object.iter() {
                    self.member(start, name);
                    self.literal(value)?;
                }
                self.out.push('}');
            }
            Value::Null | Value::Bool(_) | Value::String(_) => return self.value(value, 0),
            Value::Number(number) if number.is_finite() => write_number(&mut self.out, *number),
            other => {
                let text = format!("{} cannot be an option of a request or response", other.kind());
                return Err(ErrorValue::type_error(text).into());
            }
        }
        Ok(())
    }

    fn body(&mut self, body: &Body) -> Written {
        match body {
            Body::Empty => self.out.push_str("null"),
            Body::Text(text) => write_string(&mut self.out, text),
            Body::Bytes(data) => self.bytes(data, Kind::Uint8Array),
            Body::Stream(stream) => return self.readable(stream),
        }
        Ok(())
    }

    fn blob(&mut self, blob: &Blob) -> Written {
        self.tagged("blob", blob.mime());
        self.out.pop();
        self.out.push(',');
        self.readable(&Readable::from_blob(blob))?;
        self.out.push(']');
        Ok(())
    }

    fn readable(&mut self, stream: &Readable) -> Written {
        match &mut self.references {
            Some(references) => references.readable(&mut self.out, stream),
            None => Err(not_here()),
        }
    }

    fn writable(&mut self, stream: &Writable) -> Written {
        match &mut self.references {
            Some(references) => references.writable(&mut self.out, stream),
            None => Err(not_here()),
        }
    }

    fn stub(&mut self, stub: &Stub) -> Written {
        match &mut self.references {
            Some(references) => references.stub(&mut self.out, &stub.0),
            None => Err(not_here()),
        }
    }

    fn promise(&mut self, promise: &Promise) -> Written {
        match &mut self.references {
            Some(references) => references.promise(&mut self.out, &promise.0),
            None => Err(not_here()),
        }
    }
}

fn not_here() -> Thrown {
    ErrorValue::new("Can't serialize RPC stubs in this context.").into()
}

/// The way to a member, as it stands in a message.
pub(crate) fn write_path(out: &mut String, path: &[PathPart]) {
    out.push('[');
    for (at, part) in path.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match part {
            PathPart::Name(name) => write_string(out, name),
            PathPart::Index(place) => write_number(out, *place),
        }
    }
    out.push(']');
}
