//! The system prompt as the transcript holds it: named sections, patched by later system messages.
//!
//! The text of Pi's own prompt is not modelled. Its sections are there, with a placeholder each, so that the shape of
//! the transcript is right; sections that handlers or the MCP support add are real.

use std::path::Path;

use serde_json::{Map, Value, json};

/// What stands for the text of Pi's own prompt in a request.
pub const SYSTEM_PROMPT: &str = "<system prompt>";

/// The sections of Pi's own prompt (pi-host.md 1.2). `preamble` stands for the text of all of them.
const OWN: [&str; 5] = ["preamble", "tools", "rules", "docs", "cwd"];

/// What `before_agent_start` handlers get as `systemPromptOptions`.
pub(crate) fn options(cwd: &Path, active: &[String]) -> Value {
    json!({"selectedTools": active, "hiddenTools": [], "toolSnippets": {}, "toolGuidelines": {}, "promptGuidelines": [],
        "appendSystemPrompt": "", "sections": {}, "cwd": cwd.to_string_lossy(), "contextFiles": [], "skills": []})
}

/// The sections that these options give.
pub(crate) fn sections(options: &Value) -> Value {
    let mut sections = Map::new();
    for name in OWN {
        let text = if name == "preamble" {
            SYSTEM_PROMPT.to_owned()
        } else {
            format!("<{name}>\n</{name}>")
        };
        sections.insert(name.to_owned(), text.into());
    }
    for (name, text) in options["sections"].as_object().into_iter().flatten() {
        if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
            sections.insert(name.clone(), format!("<{name}>\n{text}\n</{name}>").into());
        }
    }
    Value::Object(sections)
}

/// The text of sections as a request carries it: the placeholder, then every section that is not Pi's own.
pub(crate) fn text(sections: &Value) -> String {
    let shown = |(name, text): (&String, &Value)| {
        let hidden = name != "preamble" && OWN.contains(&name.as_str());
        if hidden {
            None
        } else {
            text.as_str().map(str::to_owned)
        }
    };
    let parts: Vec<String> = sections
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(shown)
        .collect();
    parts.join("\n\n")
}

/// What changed between two sets of sections: new texts, and null for a section that is gone.
pub(crate) fn diff(known: &Value, now: &Value) -> Option<Value> {
    let mut patch = Map::new();
    for (name, text) in now.as_object().into_iter().flatten() {
        if known.get(name) != Some(text) {
            patch.insert(name.clone(), text.clone());
        }
    }
    for name in known.as_object().into_iter().flat_map(Map::keys) {
        if now.get(name).is_none() {
            patch.insert(name.clone(), Value::Null);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// All system messages of a transcript as one: texts joined, sections patched, tools added and removed in order.
pub(crate) fn current(messages: &[Value]) -> Option<Value> {
    let systems: Vec<&Value> = messages
        .iter()
        .filter(|message| message["role"] == "system")
        .collect();
    let first = systems.first()?;
    let mut content: Vec<&str> = Vec::new();
    let mut sections: Map<String, Value> = Map::new();
    for message in &systems {
        if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
            content.push(text);
        }
        for (name, text) in message["sections"].as_object().into_iter().flatten() {
            if text.is_null() {
                sections.shift_remove(name);
            } else {
                sections.insert(name.clone(), text.clone());
            }
        }
    }
    let tools = crate::registry::tools::declared(messages);
    let mut head = json!({"role": "system", "content": content.join("\n\n")});
    if !sections.is_empty() {
        head["sections"] = Value::Object(sections);
    }
    if !tools.is_empty() {
        head["toolsAdded"] = Value::Array(tools);
    }
    head["timestamp"] = first["timestamp"].clone();
    Some(head)
}
