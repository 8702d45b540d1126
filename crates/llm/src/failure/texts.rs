//! The texts of a failure that a provider may have written.

use sturdy_session::types::failure::{ApiFailure, Failure};

/// The same failure with other texts.
pub(crate) fn map_texts(failure: Failure, change: impl Fn(String) -> String) -> Failure {
    match failure {
        Failure::ProviderAuth { provider_id, message } => {
            Failure::ProviderAuth { provider_id, message: change(message) }
        }
        Failure::Unknown { message, reference } => Failure::Unknown { message: change(message), reference },
        Failure::ContextOverflow { message, response_body } => {
            Failure::ContextOverflow { message: change(message), response_body: response_body.map(change) }
        }
        Failure::ContentFilter { message } => Failure::ContentFilter { message: change(message) },
        Failure::Api(api) => Failure::Api(ApiFailure {
            message: change(api.message),
            response_body: api.response_body.map(&change),
            response_headers: api
                .response_headers
                .map(|headers| headers.into_iter().map(|(name, value)| (name, change(value))).collect()),
            metadata: api
                .metadata
                .map(|metadata| metadata.into_iter().map(|(name, value)| (name, change(value))).collect()),
            ..api
        }),
        Failure::OutputLength(_) | Failure::Aborted { .. } | Failure::StructuredOutput { .. } => failure,
    }
}

/// Without characters that a terminal would obey. Line breaks and tabs stay.
pub(crate) fn without_controls(failure: Failure) -> Failure {
    let is_bad = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    map_texts(failure, |text| if text.contains(is_bad) { text.replace(is_bad, "") } else { text })
}
