//! Makes an image small enough for a provider.
//!
//! It is drawn at ever smaller sizes, and at each as a PNG and then as a JPEG of falling quality, until one fits.
//! Drawing takes memory for every pixel, so there is a bound on pixels, and one image is drawn at a time.

use super::{ImageLimit, ImageRejection};
use crate::run::data_url;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits, Rgb, RgbImage};
use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

/// A photograph of any camera; four bytes each while it is drawn.
pub(super) const PIXELS_MAX: u64 = 50_000_000;
/// What reading one may take beside its pixels.
const ALLOC_MAX: u64 = 512 * 1024 * 1024;

/// Each size is this share of the one before, and at most so many are tried.
const STEP: f64 = 0.75;
const SIZES_MAX: usize = 32;
/// Of a JPEG, in the order they are tried.
const QUALITIES: [u8; 5] = [80, 85, 70, 55, 40];

static DRAWING: Mutex<()> = Mutex::new(());

/// An image as it is sent in place of a larger one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resized {
    pub(crate) mime: &'static str,
    pub(crate) url: String,
}

/// The largest form of it that is within the limit.
pub(super) fn resize(bytes: &[u8], limit: ImageLimit) -> Result<Resized, ImageRejection> {
    let _alone = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
    let drawn = draw(bytes).map_err(|cause| ImageRejection::Damaged(cause.to_string()))?;
    let mut width = drawn.width().min(limit.width);
    let mut height = drawn.height().min(limit.height);
    for _ in 0..SIZES_MAX {
        let smaller = drawn.resize(width, height, FilterType::Triangle);
        if let Some(resized) = write(&smaller, limit) {
            return Ok(resized);
        }
        width = shrunk(width);
        height = shrunk(height);
    }
    Err(ImageRejection::NotMadeSmaller)
}

/// Upright, as whoever took it held the camera.
fn draw(bytes: &[u8]) -> Result<DynamicImage, ImageError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(ALLOC_MAX);
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a size is a size")]
fn shrunk(side: u32) -> u32 {
    ((f64::from(side) * STEP) as u32).max(1)
}

fn write(image: &DynamicImage, limit: ImageLimit) -> Option<Resized> {
    let fits = |bytes: &[u8]| (bytes.len() as u64).div_ceil(3) * 4 <= limit.base64_bytes;
    let mut png = Vec::new();
    if image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).is_ok() && fits(&png) {
        return Some(Resized { mime: "image/png", url: data_url::url("image/png", &png) });
    }
    let opaque = on_white(image);
    for quality in QUALITIES {
        let mut jpeg = Vec::new();
        let written = JpegEncoder::new_with_quality(&mut jpeg, quality).encode_image(&opaque);
        if written.is_ok() && fits(&jpeg) {
            return Some(Resized { mime: "image/jpeg", url: data_url::url("image/jpeg", &jpeg) });
        }
    }
    None
}

/// A JPEG has nothing to see through.
fn on_white(image: &DynamicImage) -> RgbImage {
    let seen_through = image.to_rgba8();
    let mut opaque = RgbImage::new(image.width(), image.height());
    for (from, to) in seen_through.pixels().zip(opaque.pixels_mut()) {
        let [red, green, blue, alpha] = from.0;
        let over = |colour: u8| {
            let mixed = u32::from(colour) * u32::from(alpha) + 255 * (255 - u32::from(alpha));
            u8::try_from(mixed / 255).unwrap_or(u8::MAX)
        };
        *to = Rgb([over(red), over(green), over(blue)]);
    }
    opaque
}

#[cfg(test)]
mod tests {
    use super::super::{ImageLimit, ImageRejection};
    use super::resize;
    use crate::run::data_url::DataUrl;
    use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};
    use std::io::Cursor;

    /// Noise, so that it cannot be packed; half of it can be seen through.
    fn noise(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut seed = 1_u32;
        let image = RgbaImage::from_fn(width, height, |x, _| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [red, green, blue, _] = seed.to_be_bytes();
            Rgba([red, green, blue, if x % 2 == 0 { 255 } else { 0 }])
        });
        let image = DynamicImage::ImageRgba8(image);
        let image = if format == ImageFormat::Jpeg { image.to_rgb8().into() } else { image };
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    fn size_of(url: &str) -> (u32, u32) {
        let bytes = DataUrl::parse(url).unwrap().base64_bytes().unwrap();
        let image = image::load_from_memory(&bytes).unwrap();
        (image.width(), image.height())
    }

    #[test]
    fn an_image_with_too_many_pixels_is_made_as_large_as_may_be() {
        let limit = ImageLimit { width: 200, height: 200, base64_bytes: 1_000_000 };
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
            let resized = resize(&noise(400, 100, format), limit).unwrap();

            assert_eq!(resized.mime, "image/png", "{format:?}");
            assert_eq!(size_of(&resized.url), (200, 50), "{format:?}");
        }
    }

    #[test]
    fn an_image_with_too_many_bytes_becomes_a_jpeg_and_then_a_smaller_one() {
        let limit = |base64_bytes| ImageLimit { width: 200, height: 200, base64_bytes };
        let image = noise(200, 200, ImageFormat::Png);

        let large = resize(&image, limit(60_000)).unwrap();
        let small = resize(&image, limit(4_000)).unwrap();

        assert_eq!((large.mime, size_of(&large.url)), ("image/jpeg", (200, 200)));
        assert_eq!(small.mime, "image/jpeg");
        assert!(size_of(&small.url).0 < 200 && small.url.len() < 4_100, "{}", small.url.len());
        assert_eq!(resize(&image, limit(10)), Err(ImageRejection::NotMadeSmaller));
    }

    #[test]
    fn a_damaged_image_is_refused_with_the_reason() {
        let limit = ImageLimit { width: 10, height: 10, base64_bytes: 1_000 };
        let mut damaged = noise(100, 100, ImageFormat::Png);
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0);

        assert!(matches!(resize(&damaged, limit), Err(ImageRejection::Damaged(_))));
    }
}
