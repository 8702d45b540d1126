//! From what a server sent to what a model reads.

use encoding_rs::Encoding;
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, HrStyle, Options, TranslationMode};
use serde::Deserialize;

/// What is not part of the text of a page.
const SKIPPED: [&str; 9] =
    ["script", "style", "noscript", "iframe", "object", "embed", "meta", "link", "template"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    Text,
    #[default]
    Markdown,
    Html,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    pub(super) fn accept(self) -> &'static str {
        match self {
            Self::Text => "text/plain;q=1.0, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
            Self::Markdown => {
                "text/markdown;q=1.0, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, */*;q=0.1"
            }
            Self::Html => {
                "text/html;q=1.0, application/xhtml+xml;q=0.9, text/plain;q=0.8, text/markdown;q=0.7, */*;q=0.1"
            }
        }
    }
}

pub(super) fn convert(body: &[u8], content_type: &str, mime: &str, format: Format) -> String {
    let text = decode(body, content_type);
    let is_html = mime == "text/html" || mime == "application/xhtml+xml";
    match format {
        Format::Html => text,
        Format::Markdown | Format::Text if !is_html => text,
        Format::Markdown => from_html(&text, false),
        Format::Text => from_html(&text, true),
    }
}

fn decode(body: &[u8], content_type: &str) -> String {
    let label = content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    let encoding =
        label.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(encoding_rs::UTF_8);
    encoding.decode(body).0.into_owned()
}

/// Pages that people write are some dozens deep. The converter calls itself for each level and
/// looks back over all of them, so that a hostile page could end the program or hold it for hours.
const DEPTH_MAX: usize = 400;

/// Room for that depth with a margin, whatever the thread that calls us has.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Elements that nothing is inside of, or that end by themselves when the next begins.
const SHALLOW: &str = "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead \
tbody tfoot option optgroup colgroup rp rt path circle rect line polygon polyline ellipse use stop";

/// At least how deep the elements of a page are nested, without parsing it.
fn depth(html: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for tag in html.split('<').skip(1) {
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
            continue;
        }
        let name: String = tag.chars().take(16).take_while(char::is_ascii_alphanumeric).collect();
        let closes_itself = tag.split('>').next().is_some_and(|inner| inner.ends_with('/'));
        if name.is_empty()
            || closes_itself
            || SHALLOW.split_whitespace().any(|one| one.eq_ignore_ascii_case(&name))
        {
            continue;
        }
        depth += 1;
        deepest = deepest.max(depth);
    }
    deepest
}

fn from_html(html: &str, plain: bool) -> String {
    if depth(html) > DEPTH_MAX {
        return html.to_owned();
    }
    // A panic in there is one page that cannot be converted.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let made = thread.spawn_scoped(scope, || to_markdown(html, plain));
        made.ok().and_then(|made| made.join().ok()).unwrap_or_else(|| html.to_owned())
    })
}

fn to_markdown(html: &str, plain: bool) -> String {
    let mut builder = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec());
    if plain {
        // The words alone: what these add is markup.
        let words = |handlers: &dyn htmd::element_handler::Handlers, element: htmd::Element<'_>| {
            Some(handlers.walk_children(element.node))
        };
        builder = builder.add_handler(vec!["a", "strong", "b", "em", "i", "code", "del", "s"], words);
        builder = builder.skip_tags(vec!["img", "svg"]);
    }
    let options = Options {
        translation_mode: TranslationMode::Pure,
        bullet_list_marker: BulletListMarker::Dash,
        hr_style: HrStyle::Dashes,
        ..Options::default()
    };
    let converter = builder.options(options).build();
    // The parser takes any text; an error would be ours, and the source is still of use.
    converter.convert(html).unwrap_or_else(|_| html.to_owned())
}
