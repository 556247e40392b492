//! A patch of a tool result, said as its difference from what JavaScript holds.
//!
//! What the adapter leaves as it was is not sent back: JavaScript puts its own values there. A result that crossed as
//! text and came back would have lost what text cannot hold (lone surrogates, big integers), and a picture would
//! travel twice for one line of guidance (H6, O11).

use adapter::ResultPatch;
use serde::Serialize;
use serde_json::{Map, Value};

/// The parts of a result that a patch may restate.
#[derive(Clone, Debug, Default)]
pub struct Original {
    /// Content blocks; `None` where the host holds no list.
    pub content: Option<Vec<Value>>,
    /// Details.
    pub details: Option<Value>,
    /// Structured content.
    pub structured_content: Option<Value>,
}

/// What JavaScript makes a patch of.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The new content: so many of the old blocks, then these.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content>,
    /// The new details.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Part>,
    /// The new structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Part>,
    /// The new error flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Content {
    keep: usize,
    then: Vec<Value>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Part {
    /// The old members, and these laid over them.
    Merge(Map<String, Value>),
    /// This alone.
    Set(Value),
}

impl Difference {
    /// Compares a patch with what was there.
    #[must_use]
    pub fn new(original: &Original, patch: ResultPatch) -> Self {
        let old = original.content.as_deref().unwrap_or_default();
        let content = patch.content.map(|new| Content::new(old, new));
        Self {
            content,
            details: patch
                .details
                .map(|new| Part::new(original.details.as_ref(), new)),
            structured_content: patch
                .structured_content
                .map(|new| Part::new(original.structured_content.as_ref(), new)),
            is_error: patch.is_error,
        }
    }
}

impl Content {
    fn new(old: &[Value], mut new: Vec<Value>) -> Self {
        let keep = old
            .iter()
            .zip(&new)
            .take_while(|(old, new)| old == new)
            .count();
        let then = new.split_off(keep);
        Self { keep, then }
    }
}

impl Part {
    fn new(old: Option<&Value>, new: Value) -> Self {
        match (old, new) {
            (Some(Value::Object(old)), Value::Object(mut new))
                if old.keys().all(|key| new.contains_key(key)) =>
            {
                new.retain(|key, value| old.get(key) != Some(value));
                Self::Merge(new)
            }
            (_, new) => Self::Set(new),
        }
    }
}
