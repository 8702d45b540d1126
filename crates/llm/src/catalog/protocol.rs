//! Which protocol a package stands for, and where its provider is.
//!
//! Configurations name npm packages; nothing is downloaded, the name says how to speak. A package whose
//! protocol is not spoken here is refused by its name: speaking to it wrongly would only look like a broken
//! provider.

/// What a provider is spoken to with that names no package.
pub(super) const COMPATIBLE: &str = "@ai-sdk/openai-compatible";

/// The language a provider is spoken to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Chat,
    Responses,
    Anthropic,
    Gemini,
}

/// Package, protocol, and the address of a provider that names none. Compatible servers have no common one.
const PACKAGES: [(&str, Protocol, Option<&str>); 17] = [
    ("@ai-sdk/openai", Protocol::Responses, Some("https://api.openai.com/v1")),
    ("@ai-sdk/anthropic", Protocol::Anthropic, Some("https://api.anthropic.com/v1")),
    ("@ai-sdk/google", Protocol::Gemini, Some("https://generativelanguage.googleapis.com/v1beta")),
    (COMPATIBLE, Protocol::Chat, None),
    ("@openrouter/ai-sdk-provider", Protocol::Chat, Some("https://openrouter.ai/api/v1")),
    ("@ai-sdk/groq", Protocol::Chat, Some("https://api.groq.com/openai/v1")),
    ("@ai-sdk/mistral", Protocol::Chat, Some("https://api.mistral.ai/v1")),
    ("@ai-sdk/xai", Protocol::Chat, Some("https://api.x.ai/v1")),
    ("@ai-sdk/deepseek", Protocol::Chat, Some("https://api.deepseek.com/v1")),
    ("@ai-sdk/deepinfra", Protocol::Chat, Some("https://api.deepinfra.com/v1/openai")),
    ("@ai-sdk/cerebras", Protocol::Chat, Some("https://api.cerebras.ai/v1")),
    ("@ai-sdk/togetherai", Protocol::Chat, Some("https://api.together.xyz/v1")),
    ("@ai-sdk/fireworks", Protocol::Chat, Some("https://api.fireworks.ai/inference/v1")),
    ("@ai-sdk/perplexity", Protocol::Chat, Some("https://api.perplexity.ai")),
    ("@ai-sdk/alibaba", Protocol::Chat, None),
    ("@ai-sdk/vercel", Protocol::Chat, Some("https://api.v0.dev/v1")),
    ("venice-ai-sdk-provider", Protocol::Chat, Some("https://api.venice.ai/api/v1")),
];

impl Protocol {
    /// None: it is not spoken here.
    pub(crate) fn of(npm: &str) -> Option<Self> {
        PACKAGES.iter().find(|(name, ..)| *name == npm).map(|(_, protocol, _)| *protocol)
    }

    pub(crate) fn needs_key(self) -> bool {
        match self {
            Self::Chat => false,
            Self::Responses | Self::Anthropic | Self::Gemini => true,
        }
    }
}

/// Where a provider is that names no address.
pub(crate) fn home(npm: &str) -> Option<&'static str> {
    PACKAGES.iter().find(|(name, ..)| *name == npm).and_then(|(_, _, home)| *home)
}

/// Behind which address the routes of a provider are. The package of `DeepInfra` puts a segment of its own behind the one
/// that a configuration names.
pub(crate) fn below(npm: &str, address: &str) -> String {
    const SEGMENT: &str = "/openai";
    let address = address.trim_end_matches('/');
    if npm == "@ai-sdk/deepinfra" && !address.ends_with(SEGMENT) {
        return format!("{address}{SEGMENT}");
    }
    address.to_owned()
}
