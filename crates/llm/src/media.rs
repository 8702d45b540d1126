//! Files inside a request: taking a `data:` URL apart and naming what it holds.

use sturdy_session::talk::Media;

/// The kinds of input a model may or may not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modality {
    Image,
    Audio,
    Video,
    Pdf,
    Other,
}

impl Modality {
    pub(crate) fn of(mime: &str) -> Self {
        match mime {
            "application/pdf" => Self::Pdf,
            _ if mime.starts_with("image/") => Self::Image,
            _ if mime.starts_with("audio/") => Self::Audio,
            _ if mime.starts_with("video/") => Self::Video,
            _ => Self::Other,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Pdf => "pdf",
            Self::Other => "file",
        }
    }
}

/// The base64 text of a `data:` URL; `None` for an address the provider fetches itself.
pub(crate) fn base64_of(media: &Media) -> Option<&str> {
    let rest = media.url.strip_prefix("data:")?;
    let (head, data) = rest.split_once(',')?;
    head.ends_with(";base64").then_some(data)
}

/// A file as a `data:` URL with the mime type it is declared to have.
pub(crate) fn data_url(media: &Media) -> String {
    match base64_of(media) {
        Some(data) => format!("data:{};base64,{data}", media.mime),
        None => media.url.clone(),
    }
}

/// A name for a file that came without one.
pub(crate) fn filename(media: &Media) -> &str {
    media.filename.as_deref().unwrap_or(match Modality::of(&media.mime) {
        Modality::Pdf => "document.pdf",
        Modality::Image => "image",
        Modality::Audio => "audio",
        Modality::Video => "video",
        Modality::Other => "file",
    })
}
