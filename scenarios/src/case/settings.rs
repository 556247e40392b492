//! The user's settings of Pi in a case, as far as the bench models them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Pi's `settings.json` of the agent folder. What a case leaves out has Pi's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// When a session is compacted, and how much of it is kept.
    pub compaction: Compaction,
    /// How failed requests are repeated.
    pub retry: Retry,
    /// How many of the waiting steering messages one turn takes.
    pub steering_mode: Option<Queueing>,
    /// How many of the waiting follow-ups one turn takes.
    pub follow_up_mode: Option<Queueing>,
}

/// Compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Compaction {
    /// Whether Pi compacts by itself.
    pub enabled: Option<bool>,
    /// How many tokens of the model's window must stay free, lest Pi compacts.
    pub reserve_tokens: Option<u64>,
    /// About how many tokens of the latest messages are kept as they are.
    pub keep_recent_tokens: Option<u64>,
}

/// Repetitions of failed requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// Whether Pi repeats at all.
    pub enabled: Option<bool>,
    /// How often.
    pub max_retries: Option<u32>,
    /// The wait before the first repetition, in milliseconds; each further one doubles it.
    pub base_delay_ms: Option<u64>,
}

/// How many waiting messages one turn takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queueing {
    /// One.
    OneAtATime,
    /// All that wait.
    All,
}

impl Settings {
    /// The text of Pi's file, with the tools that a session declares besides its usual ones; `None` when the case sets
    /// nothing.
    pub fn file(&self, tools: &[String]) -> Option<String> {
        let tools: Vec<String> = tools.iter().map(|name| format!("+{name}")).collect();
        let mode = |mode: Option<Queueing>| match mode {
            None => Value::Null,
            Some(Queueing::OneAtATime) => "one-at-a-time".into(),
            Some(Queueing::All) => "all".into(),
        };
        let set = present(&json!({
            "compaction": present(&json!({
                "enabled": self.compaction.enabled,
                "reserveTokens": self.compaction.reserve_tokens,
                "keepRecentTokens": self.compaction.keep_recent_tokens,
            })),
            "retry": present(&json!({
                "enabled": self.retry.enabled,
                "maxRetries": self.retry.max_retries,
                "baseDelayMs": self.retry.base_delay_ms,
            })),
            "defaultTools": (!tools.is_empty()).then_some(tools),
            "steeringMode": mode(self.steering_mode),
            "followUpMode": mode(self.follow_up_mode),
        }));
        set.as_object()
            .is_some_and(|members| !members.is_empty())
            .then(|| set.to_string())
    }
}

/// The members that a case set.
fn present(members: &Value) -> Value {
    let is_set =
        |value: &Value| !value.is_null() && value.as_object().is_none_or(|inner| !inner.is_empty());
    let set: Map<String, Value> = members
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| is_set(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Value::Object(set)
}
