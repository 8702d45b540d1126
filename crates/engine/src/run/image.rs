//! Whether a provider will take an image, from its first bytes.
//!
//! An image that a provider refuses is refused again with every later request of the conversation, so it must
//! not become part of one. Only the header is read, never the pixels: a small file that unfolds to a
//! huge image costs nothing here, and is not sent.
//!
//! Not here: making images smaller. What is within the limits is sent as it is.

use crate::directory::config::ImageLimits;
use crate::requests::data_url::DataUrl;

/// The longest side that every provider takes.
const SIDE_MAX: u32 = 8000;
/// What is read of an image to find its size. A camera writes a preview and more before it.
const HEADER_BYTES_MAX: usize = 256 * 1024;

/// Why an image is not sent, as the model is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsent {
    #[error("It is not a PNG, JPEG, GIF or WebP in a base64 data URL.")]
    NotAnImage,
    #[error("It has {0} bytes as base64, and {1} may be sent.")]
    TooManyBytes(usize, u64),
    #[error("It is {0} by {1} pixels, and {2} by {3} may be sent.")]
    TooManyPixels(u32, u32, u32, u32),
}

/// Looks at an image in a `data:` URL.
pub(crate) fn look(url: &str, limits: &ImageLimits) -> Result<(), Unsent> {
    let image = DataUrl::parse(url).ok_or(Unsent::NotAnImage)?;
    if image.len() as u64 > limits.max_base64_bytes {
        return Err(Unsent::TooManyBytes(image.len(), limits.max_base64_bytes));
    }
    let header = image.first_bytes(HEADER_BYTES_MAX).ok_or(Unsent::NotAnImage)?;
    let (width, height) = size(&header).ok_or(Unsent::NotAnImage)?;
    let width_max = limits.max_width.unwrap_or(SIDE_MAX);
    let height_max = limits.max_height.unwrap_or(SIDE_MAX);
    let width_max = width_max.min(SIDE_MAX);
    let height_max = height_max.min(SIDE_MAX);
    if width == 0 || height == 0 {
        return Err(Unsent::NotAnImage);
    }
    if width > width_max || height > height_max {
        return Err(Unsent::TooManyPixels(width, height, width_max, height_max));
    }
    Ok(())
}

/// Whether this is the MIME type of an image.
pub(crate) fn is_image(mime: &str) -> bool {
    mime.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("image/"))
}

/// Width and height by the first bytes; none when they are not those of an image.
fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let side = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        return Some((side(16)?, side(20)?)).filter(|_| bytes.get(12..16) == Some(b"IHDR"));
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?));
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return jpeg(bytes);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return webp(bytes);
    }
    None
}

/// A number of `count` bytes, the smallest first.
fn little(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let digits = bytes.get(at..at + count)?;
    Some(digits.iter().rev().fold(0, |number, digit| number << 8 | u32::from(*digit)))
}

/// Walks the segments of a JPEG to the one that begins a frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let mut at = 2;
    loop {
        // A marker may be filled up with any number of these.
        while bytes.get(at..at + 2)? == [0xff, 0xff] {
            at += 1;
        }
        let [0xff, marker] = *bytes.get(at..at + 2)? else { return None };
        match marker {
            // Tables between them; those three are no frames.
            0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&marker) => {
                return Some((big(at + 7)?, big(at + 5)?));
            }
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => at += 2 + usize::try_from(big(at + 2)?.max(2)).ok()?,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => {
            let is_frame = bytes.get(23..26) == Some(&[0x9d, 0x01, 0x2a]);
            let side = |at| little(bytes, at, 2).map(|side| side & 0x3fff);
            Some((side(26)?, side(28)?)).filter(|_| is_frame)
        }
        b"VP8L" => {
            let packed = little(bytes, 21, 4)?;
            let is_frame = bytes.get(20) == Some(&0x2f);
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1)).filter(|_| is_frame)
        }
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Unsent, look, size};
    use crate::directory::config::ImageLimits;
    use crate::requests::data_url::DataUrl;
    use base64::prelude::{BASE64_STANDARD, Engine as _};

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    fn url(bytes: &[u8]) -> String {
        format!("data:image/png;base64,{}", BASE64_STANDARD.encode(bytes))
    }

    #[test]
    fn the_size_of_every_kind_is_read_off_its_header() {
        assert_eq!(size(&png(640, 480)), Some((640, 480)));
        assert_eq!(size(b"GIF89a\x80\x02\xe0\x01"), Some((640, 480)));
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xdb\x00\x03x\xff\xc2\x00\x0b\x08\x01\xe0\x02\x80\x03";
        assert_eq!(size(jpeg), Some((640, 480)));
        assert_eq!(size(b"RIFF....WEBPVP8 ....\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01"), Some((640, 480)));
        assert_eq!(size(b"RIFF....WEBPVP8L....\x2f\x7f\xc2\x77\x00"), Some((640, 480)));
        assert_eq!(size(b"RIFF....WEBPVP8X....\0\0\0\0\x7f\x02\x00\xdf\x01\x00"), Some((640, 480)));
    }

    #[test]
    fn what_is_cut_off_or_no_image_has_no_size() {
        for bytes in [
            &b""[..],
            b"\x89PNG\r\n\x1a\n",
            b"\xff\xd8\xff",
            b"\xff\xd8\xff\xe0\x00\x00",
            b"GIF89a\x01",
            b"RIFF....WEBPVP8X",
        ] {
            assert_eq!(size(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn an_image_that_unfolds_to_more_than_providers_take_is_not_sent() {
        let limits = ImageLimits::default();

        assert_eq!(look(&url(&png(8000, 8000)), &limits), Ok(()));
        assert_eq!(
            look(&url(&png(60_000, 60_000)), &limits),
            Err(Unsent::TooManyPixels(60_000, 60_000, 8000, 8000))
        );
        let narrow = ImageLimits { max_width: Some(100), ..ImageLimits::default() };
        assert_eq!(look(&url(&png(101, 1)), &narrow), Err(Unsent::TooManyPixels(101, 1, 100, 8000)));
    }

    #[test]
    fn an_image_with_too_many_bytes_is_not_sent() {
        let mut bytes = png(10, 10);
        bytes.resize(5 * 1024 * 1024, 0);

        let looked = look(&url(&bytes), &ImageLimits::default());

        assert!(matches!(looked, Err(Unsent::TooManyBytes(..))), "{looked:?}");
    }

    #[test]
    fn what_is_no_data_url_of_base64_is_no_image() {
        let limits = ImageLimits::default();
        for url in ["https://example.com/a.png", "data:image/png,abc", "data:image/png;base64,!!!", ""] {
            assert_eq!(look(url, &limits), Err(Unsent::NotAnImage), "{url}");
        }
        let broken_up = DataUrl::parse("data:image/png;base64,iVBO\nRw0K").unwrap();
        assert_eq!(broken_up.first_bytes(64), Some(b"\x89PNG\r\n".to_vec()));
    }
}
