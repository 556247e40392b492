//! What a trace tells about one tool call, brought together for the checks.

use serde_json::Value;

use crate::trace::{Event, Lane, Trace};

/// One call that reached the handlers.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    trace: &'a Trace,
    /// Pi's id of the call.
    pub id: &'a str,
    /// The event by which the first recorder saw it.
    pub preflight: &'a Event,
}

/// What the hook said about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It was not asked.
    NotAsked,
    /// It was asked, and gave nothing that counts (H5).
    Invalid,
    /// It gave something that the journal cannot keep as it was, so what it was worth cannot be said.
    Unknown,
    /// It gave this decision.
    Valid(Value),
}

impl Decision {
    /// The reason, when the decision is to block.
    pub fn block(&self) -> Option<&str> {
        match self {
            Self::Valid(decision) if decision["block"] == true => {
                Some(decision["reason"].as_str().unwrap_or_default())
            }
            _ => None,
        }
    }

    /// The guidance, where there is any.
    pub fn guidance(&self) -> Option<&str> {
        match self {
            Self::Valid(decision) => decision["additional_context"]
                .as_str()
                .filter(|text| !text.trim().is_empty()),
            _ => None,
        }
    }
}

impl<'a> Call<'a> {
    /// All calls that reached the handlers, in the order of preflight.
    pub fn all(trace: &'a Trace) -> Vec<Self> {
        let first = trace
            .named(Lane::Extension, "tool_call")
            .filter(|event| event.payload["by"] == "first");
        first
            .filter_map(|preflight| {
                Some(Self {
                    trace,
                    id: id_of(preflight)?,
                    preflight,
                })
            })
            .collect()
    }

    /// The call that made it, when a script did.
    pub fn parent(&self) -> Option<&'a str> {
        self.preflight.payload["parentToolCallId"].as_str()
    }

    /// Whether the script that made it had ended when it did: then it was cancelled.
    pub fn outlived_its_script(&self) -> bool {
        let ends = self.trace.named(Lane::Host, "tool_execution_end");
        let mut ends = ends.filter_map(id_of);
        self.parent()
            .is_some_and(|script| ends.find(|id| *id == script || *id == self.id) == Some(script))
    }

    /// When the hook's answer about it came, as a place in the trace.
    pub fn answered(&self) -> Option<usize> {
        let cause = format!("call {}", self.id);
        self.trace.events.iter().position(|event| {
            event.lane == Lane::Hook
                && event.event == "answer"
                && event.cause.as_deref() == Some(&cause)
        })
    }

    /// The tool's name.
    pub fn tool(&self) -> &'a str {
        self.preflight.payload["toolName"]
            .as_str()
            .unwrap_or_default()
    }

    /// The result as a recorder saw it, `first` before the adapter or `last` behind it; none when the call did not run.
    pub fn result(&self, by: &str) -> Option<&'a Event> {
        let results = self.trace.named(Lane::Extension, "tool_result");
        results
            .filter(|event| event.payload["by"] == by)
            .find(|event| id_of(event) == Some(self.id))
    }

    /// The end that Pi told its client.
    pub fn end(&self) -> Option<&'a Event> {
        self.trace
            .named(Lane::Host, "tool_execution_end")
            .find(|event| id_of(event) == Some(self.id))
    }

    /// The message that stands in the history, and that the model reads.
    pub fn message(&self) -> Option<&'a Value> {
        let ended = self
            .trace
            .named(Lane::Host, "message_end")
            .map(|event| &event.payload["message"]);
        ended
            .into_iter()
            .find(|message| message["toolCallId"] == self.id)
    }

    /// What the hook said about it.
    pub fn decision(&self) -> Decision {
        let cause = format!("call {}", self.id);
        let about = |event: &&Event| event.cause.as_deref() == Some(cause.as_str());
        if !self
            .trace
            .named(Lane::Hook, "ask")
            .any(|event| about(&event))
        {
            return Decision::NotAsked;
        }
        match self.trace.named(Lane::Hook, "answer").find(about) {
            None => Decision::Invalid,
            Some(answer) => decision(&answer.payload),
        }
    }

    /// Whether two calls were between preflight and result at one time, as the extension lane has them.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self.span(), other.span()) {
            (Some((start, end)), Some((other_start, other_end))) => {
                start < other_end && other_start < end
            }
            _ => false,
        }
    }

    fn span(&self) -> Option<(usize, usize)> {
        let result = self.result("last")?;
        let place = |event: &Event| {
            self.trace
                .events
                .iter()
                .position(|other| std::ptr::eq(other, event))
        };
        Some((place(self.preflight)?, place(result)?))
    }
}

/// What counts of an answer (H5): exit code 0, and exactly one JSON object whose known members have their types.
fn decision(answer: &Value) -> Decision {
    let stdout = answer["stdout"].as_str().unwrap_or_default();
    // How the journal says that it cut a text, and that there were bytes that are none.
    if (stdout.ends_with(" bytes)") && stdout.contains("… (")) || stdout.contains('\u{fffd}') {
        return Decision::Unknown;
    }
    if answer["exit"] != 0 {
        return Decision::Invalid;
    }
    let text = stdout.strip_prefix('\u{feff}').unwrap_or(stdout).trim();
    let decision: Value = match text {
        "" => Value::Object(serde_json::Map::new()),
        text => serde_json::from_str(text).unwrap_or_default(),
    };
    let known = [
        ("block", "bool"),
        ("reason", "text"),
        ("additional_context", "text"),
        ("orientation", "text"),
    ];
    let typed = known.iter().all(|(name, kind)| match decision.get(name) {
        None => true,
        Some(value) => {
            if *kind == "bool" {
                value.is_boolean()
            } else {
                value.is_string()
            }
        }
    });
    if decision.is_object() && typed {
        Decision::Valid(decision)
    } else {
        Decision::Invalid
    }
}

/// Where the person left while something may have been under way: nothing of that is heard any more (pi-host.md 4.9).
pub fn left_at(trace: &Trace) -> Option<usize> {
    trace.events.iter().position(|event| {
        let kind = &event.payload["type"];
        event.lane == Lane::Person && event.event == "send" && (kind == "quit" || kind == "signal")
    })
}

/// The id of the call that an event is about.
pub fn id_of(event: &Event) -> Option<&str> {
    event.payload["toolCallId"].as_str()
}

/// The text of a result's content blocks, joined as a model reads them.
pub fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array();
    let texts: Vec<&str> = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}
