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

pub(crate) struct DataUrl<'a> {
    is_base64: bool,
    payload: &'a str,
}

impl<'a> DataUrl<'a> {
    pub(crate) fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once(':')?;
        let (head, payload) = rest.split_once(',')?;
        let is_base64 =
            head.rsplit(';').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64"));
        scheme.eq_ignore_ascii_case("data").then_some(Self { is_base64, payload })
    }

    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        if !self.is_base64 {
            return Some(percent_decode_str(self.payload).collect());
        }
        LENIENT.decode(self.letters().collect::<Vec<u8>>()).ok()
    }

    /// All of it, if it is written in base64.
    pub(crate) fn base64_bytes(&self) -> Option<Vec<u8>> {
        self.is_base64.then(|| self.bytes()).flatten()
    }

    /// How many letters it is written in.
    pub(crate) fn len(&self) -> usize {
        self.payload.len()
    }

    /// The letters of base64; some put line ends between them.
    fn letters(&self) -> impl Iterator<Item = u8> {
        percent_decode_str(self.payload).filter(|byte| !byte.is_ascii_whitespace())
    }
}

pub(crate) fn url(mime: &str, bytes: &[u8]) -> String {
    format!("data:{mime};base64,{}", BASE64_STANDARD.encode(bytes))
}
