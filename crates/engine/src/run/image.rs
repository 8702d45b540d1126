//! Whether a provider will take an image, from how its bytes are laid out.
//!
//! An image that a provider refuses is refused again with every later request of the conversation, so it must
//! not become part of one. The header is read, and whether the file goes on to its end. What is within the limits is
//! sent as it is; what is larger is made smaller (`resize.rs`), unless a setting says otherwise. A small file that
//! unfolds to a huge image is not unfolded, and is not sent.

mod resize;

use crate::directory::config::ImageLimits;
use crate::run::data_url::DataUrl;

pub(crate) use resize::Resized;

/// The longest side of an image that is sent as it is, unless a setting says otherwise.
const SIDE_DEFAULT: u32 = 2000;
/// The longest side that every provider takes, whatever a setting says.
const SIDE_MAX: u32 = 8000;

/// Why an image is not sent, as the model is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ImageRejection {
    #[error("It is not a PNG, JPEG, GIF or WebP in a base64 data URL.")]
    NotAnImage,
    #[error("It is damaged: it ends too early.")]
    CutOff,
    #[error("It is damaged: {0}.")]
    Damaged(String),
    #[error("It has {0} bytes as base64, and {1} may be sent.")]
    TooManyBytes(usize, u64),
    #[error("It is {0} by {1} pixels, and {2} by {3} may be sent.")]
    TooManyPixels(u32, u32, u32, u32),
    #[error("It is {0} by {1} pixels, which is too large to be made smaller.")]
    TooLargeToResize(u32, u32),
    #[error("It could not be made small enough.")]
    NotMadeSmaller,
}

/// How large an image may be that is sent.
#[derive(Clone, Copy, Debug)]
struct ImageLimit {
    width: u32,
    height: u32,
    base64_bytes: u64,
}

/// Looks at an image in a `data:` URL. What is to be sent in its place, if it is too large; that takes a while.
pub(crate) fn look(url: &str, limits: &ImageLimits) -> Result<Option<Resized>, ImageRejection> {
    let image = DataUrl::parse(url).ok_or(ImageRejection::NotAnImage)?;
    let bytes = image.base64_bytes().ok_or(ImageRejection::NotAnImage)?;
    let (width, height) = size(&bytes).ok_or(ImageRejection::NotAnImage)?;
    if width == 0 || height == 0 {
        return Err(ImageRejection::NotAnImage);
    }
    let side = |wanted: Option<u32>| wanted.unwrap_or(SIDE_DEFAULT).clamp(1, SIDE_MAX);
    let limit = ImageLimit {
        width: side(limits.max_width),
        height: side(limits.max_height),
        base64_bytes: limits.max_base64_bytes,
    };
    let why = if image.len() as u64 > limit.base64_bytes {
        ImageRejection::TooManyBytes(image.len(), limit.base64_bytes)
    } else if width > limit.width || height > limit.height {
        ImageRejection::TooManyPixels(width, height, limit.width, limit.height)
    } else {
        return if is_whole(&bytes) { Ok(None) } else { Err(ImageRejection::CutOff) };
    };
    if !limits.auto_resize {
        return Err(why);
    }
    if u64::from(width) * u64::from(height) > resize::PIXELS_MAX {
        return Err(ImageRejection::TooLargeToResize(width, height));
    }
    resize::resize(&bytes, limit).map(Some)
}

/// Whether the file is there to its end, as far as its kind says where that is.
fn is_whole(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\x89PNG") {
        return is_whole_png(bytes);
    }
    if bytes.starts_with(b"\xff\xd8") {
        // Behind the frame's header: a preview in front of it has an end of its own.
        let pixels = jpeg_frame(bytes).and_then(|frame| bytes.get(frame..));
        return pixels.is_some_and(|pixels| pixels.windows(2).any(|pair| pair == [0xff, 0xd9]));
    }
    if bytes.starts_with(b"RIFF") {
        return little(bytes, 4, 4).is_some_and(|length| length as usize <= bytes.len() - 8);
    }
    // Many that write a GIF leave out its last byte.
    true
}

/// Walks the chunks to the one that ends it, past some pixels.
fn is_whole_png(bytes: &[u8]) -> bool {
    let mut at = 8;
    let mut has_pixels = false;
    while let Some(head) = bytes.get(at..at + 8) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        // Length, kind and checksum are around the content.
        let next = at + 12 + length;
        if next > bytes.len() {
            return false;
        }
        match &head[4..] {
            b"IEND" => return has_pixels,
            b"IDAT" => has_pixels = true,
            _ => {}
        }
        at = next;
    }
    false
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
        let frame = jpeg_frame(bytes)?;
        let side = |at: usize| Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
        return Some((side(frame + 7)?, side(frame + 5)?));
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

/// Walks the segments of a JPEG to the one that begins a frame: where that is.
fn jpeg_frame(bytes: &[u8]) -> Option<usize> {
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
                return Some(at);
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
    use super::{ImageRejection, look, size};
    use crate::directory::config::ImageLimits;
    use crate::run::data_url::DataUrl;
    use base64::prelude::{BASE64_STANDARD, Engine as _};

    /// All chunks that it takes, with two bytes for pixels.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x00\0\0\0....\0\0\0\x02IDAT......." as &[u8]);
        bytes.truncate(bytes.len() + 1);
        bytes.truncate(33);
        bytes.extend(b"\0\0\0\x02IDAT..----" as &[u8]);
        bytes.extend(b"\0\0\0\0IEND----" as &[u8]);
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
    fn an_image_that_unfolds_to_more_than_fits_into_memory_is_not_drawn() {
        let limits = ImageLimits::default();

        assert_eq!(look(&url(&png(2000, 2000)), &limits), Ok(None));
        assert_eq!(
            look(&url(&png(60_000, 60_000)), &limits),
            Err(ImageRejection::TooLargeToResize(60_000, 60_000))
        );
    }

    #[test]
    fn an_image_that_is_too_large_is_left_out_where_none_is_made_smaller() {
        let limits = ImageLimits { max_width: Some(100), auto_resize: false, ..ImageLimits::default() };
        let mut bytes = png(10, 10);
        bytes.resize(5 * 1024 * 1024, 0);

        assert_eq!(look(&url(&png(101, 1)), &limits), Err(ImageRejection::TooManyPixels(101, 1, 100, 2000)));
        let looked = look(&url(&bytes), &limits);
        assert!(matches!(looked, Err(ImageRejection::TooManyBytes(..))), "{looked:?}");
    }

    #[test]
    fn what_is_no_data_url_of_base64_is_no_image() {
        let limits = ImageLimits::default();
        for url in ["https://example.com/a.png", "data:image/png,abc", "data:image/png;base64,!!!", ""] {
            assert_eq!(look(url, &limits), Err(ImageRejection::NotAnImage), "{url}");
        }
        let broken_up = DataUrl::parse("data:image/png;base64,iVBO\nRw0K").unwrap();
        assert_eq!(broken_up.base64_bytes(), Some(b"\x89PNG\r\n".to_vec()));
    }

    #[test]
    fn an_image_that_ends_too_early_is_not_sent() {
        let limits = ImageLimits::default();
        let jpeg =
            b"\xff\xd8\xff\xe0\x00\x04\xff\xd9\xff\xc2\x00\x0b\x08\x01\xe0\x02\x80\x03\xff\xda....\xff\xd9";
        let webp = b"RIFF\x16\0\0\0WEBPVP8X....\0\0\0\0\x7f\x02\x00\xdf\x01\x00";
        for whole in [png(640, 480), jpeg.to_vec(), webp.to_vec()] {
            assert_eq!(look(&url(&whole), &limits), Ok(None), "{whole:?}");

            let cut = &whole[..whole.len() - 2];

            let wanted =
                if whole.starts_with(b"RIFF") { ImageRejection::NotAnImage } else { ImageRejection::CutOff };
            assert_eq!(look(&url(cut), &limits), Err(wanted), "{cut:?}");
        }
    }
}
