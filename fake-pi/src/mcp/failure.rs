//! Why a request, or a whole connection, came to nothing.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

/// What the model or the person reads, and what kind of failure it was: over HTTP that decides what Pi does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Pi's text.
    pub text: String,
    /// The kind.
    pub cause: Cause,
}

/// The kinds of failure that Pi tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// An answer of the server, a timeout, an abort, the end of the connection.
    Other,
    /// The server does not know the method.
    UnknownMethod,
    /// No answer came over HTTP.
    Network,
    /// An answer over HTTP with this status, or one that is no good in spite of it.
    Status(u16),
    /// The server wants credentials.
    Unauthorized,
    /// The server does not know the session any more.
    SessionExpired,
}

impl Failure {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            cause: Cause::Other,
        }
    }

    /// Whether connecting is tried again: the server could not be reached, is overloaded or restarts.
    pub(crate) fn is_transient(&self) -> bool {
        match self.cause {
            Cause::Network => true,
            Cause::Status(status) => {
                matches!(status, 408 | 429) || (status >= 500 && status != 501)
            }
            Cause::Other | Cause::UnknownMethod | Cause::Unauthorized | Cause::SessionExpired => {
                false
            }
        }
    }

    /// The cause as the `data` of an error on its way through `rmcp`; what a server says there is dropped before.
    pub(super) fn as_data(&self) -> Option<Value> {
        match self.cause {
            Cause::Other | Cause::UnknownMethod => None,
            Cause::Network => Some(json!("network")),
            Cause::Unauthorized => Some(json!("unauthorized")),
            Cause::SessionExpired => Some(json!("session")),
            Cause::Status(status) => Some(json!(status)),
        }
    }

    /// The failure that an error of `rmcp` stands for.
    pub(super) fn of(error: rmcp::ErrorData) -> Self {
        let cause = match &error.data {
            Some(Value::Number(status)) => {
                let status = status
                    .as_u64()
                    .and_then(|status| u16::try_from(status).ok());
                status.map_or(Cause::Other, Cause::Status)
            }
            Some(Value::String(kind)) => match kind.as_str() {
                "network" => Cause::Network,
                "unauthorized" => Cause::Unauthorized,
                "session" => Cause::SessionExpired,
                _ => Cause::Other,
            },
            None if error.code == ErrorCode::METHOD_NOT_FOUND => Cause::UnknownMethod,
            _ => Cause::Other,
        };
        Self {
            text: error.message.into_owned(),
            cause,
        }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorData;

    use super::*;

    #[test]
    fn a_cause_survives_its_way_and_a_plain_error_has_none() {
        let causes = [
            Cause::Other,
            Cause::Network,
            Cause::Status(503),
            Cause::Unauthorized,
            Cause::SessionExpired,
        ];
        for cause in causes {
            let failure = Failure {
                text: "t".into(),
                cause,
            };
            let error = ErrorData::new(ErrorCode(0), "t", failure.as_data());
            assert_eq!(Failure::of(error), failure);
        }
        let unknown = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "t", None);
        assert_eq!(Failure::of(unknown).cause, Cause::UnknownMethod);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let tried = |cause| {
            Failure {
                text: String::new(),
                cause,
            }
            .is_transient()
        };
        for status in [408, 429, 500, 502, 503] {
            assert!(tried(Cause::Status(status)), "{status}");
        }
        for status in [400, 403, 404, 501] {
            assert!(!tried(Cause::Status(status)), "{status}");
        }
        assert!(tried(Cause::Network));
        assert!(
            !tried(Cause::Other) && !tried(Cause::Unauthorized) && !tried(Cause::SessionExpired)
        );
    }
}
