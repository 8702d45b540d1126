//! One request to a service that is not a model provider: sends JSON, reads an answer of bounded size.

use super::{Http, add_header, chain, shown_headers};
use ::http::{HeaderMap, Method, header};
use futures_util::StreamExt as _;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// What is asked.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub method: ExchangeMethod,
    pub url: &'a str,
    /// Shown in `Authorization`.
    pub bearer: Option<&'a str>,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: Vec<u8>,
    /// For the whole of it.
    pub limit: Duration,
    pub answer_bytes_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeMethod {
    Get,
    Post,
    Put,
    Delete,
}

/// What came back, whatever its status.
#[derive(Clone, Debug)]
pub struct ExchangeAnswer {
    pub status: u16,
    /// Lower-case names, without cookies.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Http {
    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// Why there is no answer, in words without the bearer and the body.
    pub async fn exchange(&self, exchange: Exchange<'_>) -> Result<ExchangeAnswer, String> {
        let limit = exchange.limit;
        match timeout(limit, self.exchange_in_time(exchange)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", limit.as_secs())),
        }
    }

    async fn exchange_in_time(&self, exchange: Exchange<'_>) -> Result<ExchangeAnswer, String> {
        let url = Url::parse(exchange.url).map_err(|error| format!("no usable address: {error}"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in exchange.headers {
            add_header(&mut headers, name, value).map_err(|_| format!("the header {name} cannot be sent"))?;
        }
        let method = match exchange.method {
            ExchangeMethod::Get => Method::GET,
            ExchangeMethod::Post => Method::POST,
            ExchangeMethod::Put => Method::PUT,
            ExchangeMethod::Delete => Method::DELETE,
        };
        let client = self.client().map_err(|_| "the HTTP client cannot start".to_owned())?;
        let mut request = client
            .request(method, url)
            .headers(headers)
            .header(header::CONTENT_TYPE, "application/json")
            .body(exchange.body);
        if let Some(bearer) = exchange.bearer {
            request = request.bearer_auth(bearer);
        }
        let told = |error: reqwest::Error| chain(&error.without_url());
        let response = request.send().await.map_err(told)?;
        let status = response.status().as_u16();
        let headers = shown_headers(response.headers());
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(told)?;
            if body.len() + chunk.len() > exchange.answer_bytes_max {
                return Err("the answer is too long".to_owned());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(ExchangeAnswer { status, headers, body })
    }
}
