//! The events whose results steer a run: `input`, `before_agent_start`, `tool_call`, `tool_result`, `message_end`.

use serde_json::{Map, Value, json};

use super::Instance;
use super::emit::truthy;
use crate::extension::{Event, Shared, Thrown};

/// What `before_agent_start` handlers made of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RunStart {
    /// The custom messages they returned, in handler order.
    pub(crate) messages: Vec<Value>,
    /// `systemPromptOptions` as they left them.
    pub(crate) options: Value,
    /// The text that replaces the whole system prompt in this run.
    pub(crate) forced: Option<String>,
}

/// What `tool_result` handlers made of a result; absent when no handler returned anything (pi-host.md 8).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Patch {
    pub(crate) content: Option<Value>,
    pub(crate) details: Option<Value>,
    pub(crate) structured: Option<Value>,
    pub(crate) is_error: Option<Value>,
}

/// The result of a tool while handlers look at it.
#[derive(Debug, Clone)]
pub(crate) struct SharedResult {
    pub(crate) content: Shared,
    pub(crate) details: Option<Shared>,
    pub(crate) structured: Option<Value>,
    pub(crate) is_error: bool,
}

/// How `input` handlers judged a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judged {
    /// Go on with this text and these images.
    Continue { text: String, images: Option<Value> },
    /// A handler took care of it; no run starts.
    Handled,
}

/// The members that tell which call an event is about, and which one made it.
fn about(kind: &str, call: &Value) -> Value {
    let mut event = json!({"type": kind, "toolName": call["name"], "toolCallId": call["id"]});
    if let Some(parent) = call.get("parentToolCallId") {
        event["parentToolCallId"] = parent.clone();
    }
    event
}

impl Instance {
    /// Runs a prompt through the `input` handlers; transformations chain, `handled` ends it.
    pub(crate) async fn emit_input(
        &self,
        text: &str,
        images: Option<Value>,
        source: &str,
        behavior: Option<&str>,
    ) -> Judged {
        let mut text = text.to_owned();
        let mut images = images;
        for (slot, handler) in self.snapshot("input") {
            let mut event = json!({"type": "input", "text": text});
            if let Some(images) = &images {
                event["images"] = images.clone();
            }
            event["source"] = source.into();
            if let Some(behavior) = behavior {
                event["streamingBehavior"] = behavior.into();
            }
            let result = self
                .call_reporting(&slot, &handler, &Event::new(event))
                .await
                .unwrap_or_default();
            match result["action"].as_str() {
                Some("handled") => return Judged::Handled,
                Some("transform") => {
                    text = result["text"].as_str().unwrap_or_default().to_owned();
                    images = result
                        .get("images")
                        .filter(|images| !images.is_null())
                        .cloned()
                        .or(images);
                }
                _ => {}
            }
        }
        Judged::Continue { text, images }
    }

    /// Runs `before_agent_start`. `trigger` holds the members that tell what starts the run; `render` gives the system
    /// text for given options, unless a handler forced one.
    pub(crate) async fn emit_before_agent_start(
        &self,
        trigger: &Map<String, Value>,
        options: Value,
        render: impl Fn(&Value) -> String,
    ) -> RunStart {
        let options = Shared::new(options);
        let mut start = RunStart::default();
        for (slot, handler) in self.snapshot("before_agent_start") {
            let event = Event::new(Value::Object(trigger.clone()));
            event.set("type", "before_agent_start".into());
            let text = start
                .forced
                .clone()
                .unwrap_or_else(|| render(&options.get()));
            event.set("systemPrompt", text.into());
            event.share("systemPromptOptions", &options);
            let Some(result) = self.call_reporting(&slot, &handler, &event).await else {
                continue;
            };
            if let Some(message) = result.get("message").filter(|message| truthy(message)) {
                start.messages.push(message.clone());
            }
            if let Some(Value::String(text)) = result.get("systemPrompt") {
                start.forced = Some(text.clone());
            }
        }
        start.options = options.get();
        start
    }

    /// Runs `tool_call` over the call's validated arguments; the first block ends it.
    ///
    /// # Errors
    /// What a handler threw: it blocks the call, and nothing is reported (pi-host.md 2).
    pub(crate) async fn emit_tool_call(
        &self,
        call: &Value,
        input: &Shared,
    ) -> Result<Option<Value>, Thrown> {
        let event = Event::new(about("tool_call", call));
        event.share("input", input);
        let mut last = None;
        for (_, handler) in self.snapshot("tool_call") {
            let result = self.call(&handler, &event).await?;
            if truthy(&result) {
                let blocks = truthy(&result["block"]);
                last = Some(result);
                if blocks {
                    break;
                }
            }
        }
        Ok(last)
    }

    /// Runs `tool_result` over an executed call's result.
    pub(crate) async fn emit_tool_result(
        &self,
        call: &Value,
        input: &Shared,
        result: &SharedResult,
    ) -> Option<Patch> {
        let event = Event::new(about("tool_result", call));
        event.share("input", input);
        event.share("content", &result.content);
        if let Some(details) = &result.details {
            event.share("details", details);
        }
        if let Some(structured) = &result.structured {
            event.set("structuredContent", structured.clone());
        }
        event.set("isError", result.is_error.into());
        let mut modified = false;
        for (slot, handler) in self.snapshot("tool_result") {
            let Some(Value::Object(patch)) = self.call_reporting(&slot, &handler, &event).await
            else {
                continue;
            };
            if let Some(content) = patch.get("content") {
                event.set("content", content.clone());
                if !patch.contains_key("structuredContent") {
                    event.remove("structuredContent");
                }
                modified = true;
            }
            for member in ["details", "structuredContent", "isError"] {
                if let Some(value) = patch.get(member) {
                    event.set(member, value.clone());
                    modified = true;
                }
            }
        }
        modified.then(|| Patch {
            content: event.get("content"),
            details: event.get("details"),
            structured: event.get("structuredContent"),
            is_error: event.get("isError"),
        })
    }

    /// Runs `message_end`; a handler may change the message in place, or replace it by one of the same role. What it does
    /// to a message that another handler has returned counts as well, since that is the one in use by then.
    pub(crate) async fn emit_message_end(&self, message: Value) -> Value {
        let mut current = message;
        for (slot, handler) in self.snapshot("message_end") {
            let shared = Shared::new(current.clone());
            let event = Event::new(json!({"type": "message_end"}));
            event.share("message", &shared);
            let result = self
                .call_reporting(&slot, &handler, &event)
                .await
                .unwrap_or_default();
            current = shared.get();
            let Some(replacement) = result.get("message").filter(|message| truthy(message)) else {
                continue;
            };
            if replacement["role"] == current["role"] {
                current = replacement.clone();
                if current["content"].is_null() && current["role"] != "system" {
                    current["content"] = Value::Array(Vec::new());
                }
            } else {
                self.report(
                    &slot.path,
                    "message_end",
                    "message_end handlers must return a message with the same role",
                );
            }
        }
        current
    }
}
