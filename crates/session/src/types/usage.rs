//! Tokens and what they cost.

use crate::json::Num;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Tokens as messages, step-finish parts and sessions count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tokens {
    /// As the provider reported it; never set on a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Num>,
    #[serde(default)]
    #[schema(required = true)]
    pub input: Num,
    #[serde(default)]
    #[schema(required = true)]
    pub output: Num,
    #[serde(default)]
    #[schema(required = true)]
    pub reasoning: Num,
    #[serde(default)]
    #[schema(required = true)]
    pub cache: CacheTokens,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheTokens {
    #[serde(default)]
    #[schema(required = true)]
    pub read: Num,
    #[serde(default)]
    #[schema(required = true)]
    pub write: Num,
}

/// Usage as a provider reports it: input includes cached, output includes reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// Prices per million tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    pub input: Num,
    pub output: Num,
    #[serde(default)]
    pub cache: CacheTokens,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
    #[serde(rename = "experimentalOver200K", default, skip_serializing_if = "Option::is_none")]
    pub over_200k: Option<Box<Prices>>,
}

/// Other prices once the input is larger than `tier.size`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriceTier {
    pub input: Num,
    pub output: Num,
    #[serde(default)]
    pub cache: CacheTokens,
    pub tier: TierSize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierSize {
    #[serde(rename = "type")]
    pub kind: String,
    pub size: Num,
}

const LONG_CONTEXT: u64 = 200_000;

impl Usage {
    /// Splits what the provider reported into what is shown.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        let read = self.cache_read.unwrap_or(0);
        let write = self.cache_write.unwrap_or(0);
        let reasoning = self.reasoning.unwrap_or(0);
        let input = self.input.unwrap_or(0).saturating_sub(read.saturating_add(write));
        let output = self.output.unwrap_or(0).saturating_sub(reasoning);
        Tokens {
            total: self.total.map(Num::from),
            input: input.into(),
            output: output.into(),
            reasoning: reasoning.into(),
            cache: CacheTokens { read: read.into(), write: write.into() },
        }
    }

    /// What one step costs. Reasoning is billed at the output price.
    #[must_use]
    pub fn cost(&self, prices: &Prices) -> Num {
        let (input_price, output_price, cache_price) = self.price_level(prices);
        let tokens = self.tokens();
        let products = [
            (tokens.input, input_price),
            (tokens.output, output_price),
            (tokens.cache.read, cache_price.read),
            (tokens.cache.write, cache_price.write),
            (tokens.reasoning, output_price),
        ];
        Num(decimal_sum_per_million(&products))
    }

    fn price_level(&self, prices: &Prices) -> (Num, Num, CacheTokens) {
        let context = self.input.unwrap_or(0);
        let tier = prices
            .tiers
            .iter()
            .filter(|tier| tier.tier.kind == "context" && Num::from(context) > tier.tier.size)
            .max_by(|a, b| a.tier.size.0.total_cmp(&b.tier.size.0));
        match (tier, &prices.over_200k) {
            (Some(tier), _) => (tier.input, tier.output, tier.cache),
            (None, Some(long)) if context > LONG_CONTEXT => (long.input, long.output, long.cache),
            (None, _) => (prices.input, prices.output, prices.cache),
        }
    }
}

impl Tokens {
    /// What a step used of the window.
    #[must_use]
    pub fn used(&self) -> u64 {
        match self.total.map_or(0, Num::count) {
            0 => {
                let parts = [self.input, self.output, self.cache.read, self.cache.write];
                parts.into_iter().map(Num::count).fold(0, u64::saturating_add)
            }
            total => total,
        }
    }

    /// Adds to the totals of a session, which carry no `total`.
    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cache.read += other.cache.read;
        self.cache.write += other.cache.write;
    }

    pub fn subtract(&mut self, other: &Self) {
        self.input -= other.input;
        self.output -= other.output;
        self.reasoning -= other.reasoning;
        self.cache.read -= other.cache.read;
        self.cache.write -= other.cache.write;
    }
}

/// `Σ count·price / 1e6` in exact decimal arithmetic, rounded once at the end, so that
/// three tenths cost 0.3 and not 0.30000000000000004.
fn decimal_sum_per_million(products: &[(Num, Num)]) -> f64 {
    const SCALE_MAX: usize = 15;
    let mut sum: i128 = 0;
    for (count, price) in products {
        if !price.0.is_finite() || price.0 <= 0.0 {
            continue;
        }
        // The shortest decimal that reads back as this price is what the configuration said;
        // `{}` never uses an exponent.
        let text = format!("{}", price.0);
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let fraction: String = fraction.chars().take(SCALE_MAX).collect();
        let padded = format!("{whole}{fraction:0<SCALE_MAX$}");
        let Ok(price) = padded.parse::<i128>() else { continue };
        sum = sum.saturating_add(price.saturating_mul(i128::from(count.count())));
    }
    let scale = SCALE_MAX + 6;
    let text = format!("{sum:0>width$}", width = scale + 1);
    let (whole, fraction) = text.split_at(text.len() - scale);
    format!("{whole}.{fraction}").parse().unwrap_or(0.0)
}
