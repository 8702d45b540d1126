//! `data:` URLs, and what is in them.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;

/// Clients write base64 with and without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) struct DataUrl<'a> {
    is_base64: bool,
    payload: &'a str,
}

impl<'a> DataUrl<'a> {
    pub(super) fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once(':')?;
        let (head, payload) = rest.split_once(',')?;
        let is_base64 =
            head.rsplit(';').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64"));
        scheme.eq_ignore_ascii_case("data").then_some(Self { is_base64, payload })
    }

    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let bytes: Vec<u8> = percent_decode_str(self.payload).collect();
        if !self.is_base64 {
            return Some(bytes);
        }
        let packed: Vec<u8> = bytes.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
        LENIENT.decode(packed).ok()
    }
}

pub(super) fn url(mime: &str, bytes: &[u8]) -> String {
    format!("data:{mime};base64,{}", BASE64_STANDARD.encode(bytes))
}
