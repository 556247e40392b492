//! From what a party said to what a trace keeps.
//!
//! Both hosts pass through these functions, so a member is either kept for both or for none. What is left out is left
//! out because it cannot be the same in two runs of one host, or because it is text of Pi's own that `fake-pi` does not
//! write; each place says which.

use serde_json::{Map, Value, json};

use super::{Lane, uuid, varying};

/// Stands for a duration: that there is one matters (only a call that ran has it, pi-host.md 1.4), how long does not.
pub(super) const DURATION: &str = "<ms>";

/// Turns an RPC record of Pi into the event that the trace keeps.
///
/// `None`: the record says nothing that is compared. That is `message_update`, the stream of one answer in pieces: how
/// a provider cuts an answer is not modelled, its whole is in `message_end`.
pub fn rpc_record(record: &Value) -> Option<(Lane, String, Value)> {
    let kind = record.get("type")?.as_str()?;
    match kind {
        "message_update" => None,
        "response" => Some((Lane::Person, "response".into(), response(record))),
        "extension_ui_request" => {
            let method = record.get("method").and_then(Value::as_str).unwrap_or("ui");
            Some((
                Lane::Person,
                method.into(),
                without(record, &["type", "id", "method"]),
            ))
        }
        "message_start" | "message_end" => Some((
            Lane::Host,
            kind.into(),
            json!({ "message": message(&record["message"]) }),
        )),
        // Their messages were compared when each of them ended.
        "turn_end" => {
            let results = record["toolResults"].as_array().into_iter().flatten();
            let ids: Vec<&Value> = results.map(|result| &result["toolCallId"]).collect();
            let mut payload = without(record, &["type", "message"]);
            payload["stopReason"] = record["message"]["stopReason"].clone();
            payload["toolResults"] = json!(ids);
            Some((Lane::Host, kind.into(), payload))
        }
        "agent_end" => {
            let messages = record["messages"].as_array().into_iter().flatten();
            let roles: Vec<&Value> = messages.map(|message| &message["role"]).collect();
            let mut payload = without(record, &["type", "messages"]);
            payload["roles"] = json!(roles);
            Some((Lane::Host, kind.into(), payload))
        }
        "entry_appended" => {
            let entry = entry(&record["entry"], |_| None);
            Some((Lane::Host, kind.into(), json!({ "entry": entry })))
        }
        "compaction_end" => {
            let mut payload = without(record, &["type"]);
            let guessed = payload["willRetry"] == true;
            if let Some(result) = payload.get_mut("result") {
                // An attempt was given up before this one, so its tokens are guessed.
                if guessed {
                    result["tokensBefore"] = json!(TOKENS);
                }
                // The place of the entry shows in the history; the size of what is left counts Pi's own prompt.
                *result = without(
                    result,
                    &["firstKeptEntryId", "estimatedTokensAfter", "usage"],
                );
            }
            Some((Lane::Host, kind.into(), payload))
        }
        _ => Some((
            Lane::Host,
            kind.into(),
            varying::call_event(&timeless(&without(record, &["type"]))),
        )),
    }
}

/// What a recording extension saw of an event. A session's file is named after its moment, of which no two plays have the
/// same; its id stays, so that it can be told which session is meant. One from before the play has a name.
pub fn extension_event(payload: &Value) -> Value {
    let mut kept = payload.clone();
    // What a model can do and costs is Pi's own list.
    for name in ["model", "previousModel"] {
        if let Some(model) = kept.get_mut(name) {
            *model = model["id"].clone();
        }
    }
    for name in ["previousSessionFile", "targetSessionFile"] {
        let Some(file) = kept.get_mut(name) else {
            continue;
        };
        let path = file.as_str().unwrap_or_default();
        let id = path.strip_suffix(".jsonl").and_then(|path| {
            let from = path.len().checked_sub(uuid::LENGTH)?;
            path.get(from..)
        });
        if let Some(id) = id.filter(|id| uuid::begins(id)) {
            *file = json!(format!("<session {id}>"));
        }
    }
    varying::call_event(&kept)
}

/// A command's response: whether it was taken, and how. The data of a query is the reader's, not the trace's.
fn response(record: &Value) -> Value {
    let mut payload = without(record, &["type", "data"]);
    if let Some(data) = record.get("data").filter(|_| {
        matches!(
            record["command"].as_str(),
            Some(
                "prompt"
                    | "steer"
                    | "follow_up"
                    | "clear_queue"
                    | "new_session"
                    | "switch_session"
                    | "fork"
                    | "clone"
                    | "bash"
            )
        )
    }) {
        payload["data"] = data.clone();
    }
    payload
}

/// A message as Pi keeps it, without what the clock, the provider's bookkeeping and Pi's own prompt text put there.
pub fn message(message: &Value) -> Value {
    let mut kept = without(
        message,
        &[
            "timestamp",
            "api",
            "provider",
            "model",
            "usage",
            "responseId",
            "rawStopReason",
            "thinkingLevel",
        ],
    );
    if let Some(sections) = kept.get("sections").and_then(Value::as_object) {
        let names: Vec<&String> = sections.keys().collect();
        kept["sections"] = json!(names);
    }
    if let Some(added) = kept.get("toolsAdded").and_then(Value::as_array) {
        kept["toolsAdded"] = added.iter().map(declaration).collect();
    }
    if kept["role"] == "assistant" && kept.get("durationMs").is_some() {
        // An answer's time is the provider's.
        kept.as_object_mut()
            .map(|members| members.remove("durationMs"));
    }
    varying::message(&timeless(&kept))
}

/// A session's history: its entries, and at which of them it stands. Ids differ from run to run, so entries are named by
/// their place, from 1; times are left out.
pub fn history(entries: &[Value], leaf: &Value) -> Value {
    let place = |id: &Value| {
        let at = entries.iter().position(|entry| entry["id"] == *id);
        at.map(|at| at + 1)
    };
    let normal = |raw: &Value| {
        let mut kept = entry(raw, place);
        kept["after"] = json!(raw.get("parentId").and_then(place));
        if is_guessed(entries, raw) {
            kept["tokensBefore"] = json!(TOKENS);
        }
        kept
    };
    json!({ "entries": entries.iter().map(normal).collect::<Vec<_>>(), "leaf": place(leaf) })
}

/// Stands for the tokens of a context as Pi guesses them: the guess counts the text of its own prompt.
const TOKENS: &str = "<tokens>";

/// Whether the tokens of a compaction are Pi's guess: something was taken out of the context after the last answer, so
/// that the provider's own word for it counts no more.
fn is_guessed(entries: &[Value], compaction: &Value) -> bool {
    let parent = |entry: &Value| {
        entries
            .iter()
            .find(|known| known["id"] == entry["parentId"])
    };
    compaction["type"] == "compaction"
        && std::iter::successors(parent(compaction), |entry| parent(entry))
            .find_map(|entry| match entry["type"].as_str() {
                Some("context_edit" | "compaction") => Some(true),
                _ if entry["message"]["role"] == "assistant" => {
                    let stop = entry["message"]["stopReason"].as_str();
                    (stop != Some("aborted") && stop != Some("error")).then_some(false)
                }
                _ => None,
            })
            .unwrap_or(true)
}

/// An entry of a session, with the entries that it names by their place.
fn entry(entry: &Value, place: impl Fn(&Value) -> Option<usize>) -> Value {
    let mut kept = without(entry, &["id", "parentId", "timestamp", "usage"]);
    for named in ["targetId", "firstKeptEntryId", "fromId"] {
        if let Some(id) = kept.get_mut(named) {
            *id = json!(place(id));
        }
    }
    for inner in ["message", "systemMessage"] {
        if let Some(inner) = kept.get_mut(inner) {
            *inner = message(inner);
        }
    }
    if kept["type"] == "branch_summary"
        && kept["fromHook"] != true
        && let Some(summary) = kept.get_mut("summary")
    {
        // It begins with a sentence of Pi's own.
        let text = summary.as_str().unwrap_or_default();
        let own = text.find("\n\n").map_or(text, |end| &text[end..]);
        *summary = format!("{PREAMBLE}{own}").into();
    }
    kept
}

/// A chat-completions request: what the model reads, and which tools it may call.
///
/// The system text is Pi's own, differs by version (pi-host.md 14) and is not modelled; it is a placeholder.
pub fn model_request(body: &Value) -> Value {
    let messages: Vec<Value> = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| {
            if is_system(message) {
                json!({ "role": "system", "content": "<system>" })
            } else {
                with_whole_arguments(&unframed(&varying::read(message)))
            }
        })
        .collect();
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools: Vec<Value> = tools.map(|tool| declaration(&tool["function"])).collect();
    let mut kept = without(body, &["messages", "tools"]);
    // What stands in the prompt and in a message would be told twice; prompts are for Pi's own text (B2).
    kept["toldTwice"] = json!(repeated(body));
    kept["messages"] = json!(messages);
    kept["tools"] = json!(tools);
    kept
}

/// A message whose calls' arguments, which are JSON text within JSON, hold no half of a surrogate pair: in Rust there is
/// none, so on the simulated host U+FFFD stands there instead.
fn with_whole_arguments(message: &Value) -> Value {
    let mut kept = message.clone();
    let calls = kept.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(Value::String(text)) = call.pointer_mut("/function/arguments") {
            *text = fake_pi::without_lone_surrogates(text).into_owned();
        }
    }
    kept
}

/// Stands for what Pi says about a summary.
const PREAMBLE: &str = "<preamble>";

/// Stands for what Pi tells the model that is to write a summary.
const INSTRUCTIONS: &str = "<instructions>";

/// A message without Pi's own sentences about summaries: those that lead in one that the model reads, and the
/// instructions for writing one. What the person added to the instructions stays.
fn unframed(message: &Value) -> Value {
    let mut message = message.clone();
    let parts = message["content"].as_array_mut().into_iter().flatten();
    for text in parts.filter_map(|part| part.get_mut("text")) {
        let whole = text.as_str().unwrap_or_default();
        if let Some(own) = asks_for_summary(whole).or_else(|| holds_summary(whole)) {
            *text = own.into();
        }
    }
    message
}

/// A request for a summary: the conversation, perhaps an earlier summary, and instructions.
fn asks_for_summary(text: &str) -> Option<String> {
    let ends = [
        ("<conversation>\n", "\n</previous-summary>\n\n"),
        ("<conversation>\n", "\n</conversation>\n\n"),
        ("# Conversation\n", "\n\n# Instructions\n"),
    ];
    let (begin, end) = ends
        .into_iter()
        .find(|(begin, end)| text.starts_with(begin) && text.contains(end))?;
    let at = begin.len() + text[begin.len()..].rfind(end)? + end.len();
    let focus = text[at..]
        .rfind("\n\nAdditional focus: ")
        .map_or("", |focus| &text[at + focus..]);
    Some(format!("{}{INSTRUCTIONS}{focus}", &text[..at]))
}

/// A summary in the place of what it sums up.
fn holds_summary(text: &str) -> Option<String> {
    const BEGIN: &str = "\n\n<summary>\n";
    let at = text.find(BEGIN).filter(|_| text.ends_with("</summary>"))?;
    let summary = &text[at + BEGIN.len()..];
    // A branch's summary begins with one more sentence of Pi's own.
    let own = match summary.split_once("\n\n") {
        Some((_, rest)) if text[..at].contains("branch") => format!("{PREAMBLE}\n\n{rest}"),
        _ => summary.to_owned(),
    };
    Some(format!("{PREAMBLE}{BEGIN}{own}"))
}

/// Whether the system text holds a whole message of the user's side.
fn repeated(body: &Value) -> bool {
    let messages = body["messages"].as_array().into_iter().flatten();
    let (system, rest): (Vec<&Value>, Vec<&Value>) =
        messages.partition(|message| is_system(message));
    let system: Vec<&str> = system
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    let texts = rest
        .into_iter()
        .filter(|message| message["role"] == "user")
        .flat_map(|message| {
            message["content"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|part| part["text"].as_str())
        });
    let mut long = texts.filter(|text| text.len() > SHORT);
    long.any(|text| system.iter().any(|system| system.contains(text)))
}

/// A message up to this length may stand in a prompt by chance, in bytes.
const SHORT: usize = 40;

fn is_system(message: &Value) -> bool {
    message["role"] == "system" || message["role"] == "developer"
}

/// Stands for the grammar of a tool's argument, a text of Pi's own.
const GRAMMAR: &str = "<grammar>";

/// A tool as it is declared to the model.
///
/// Of Pi's own tools the name and the schema are kept, without the descriptions, which are texts of Pi; of a graph tool
/// all is kept, since Pi only passes on what the daemon said.
fn declaration(tool: &Value) -> Value {
    if tool["name"]
        .as_str()
        .is_some_and(|name| name.starts_with("mcp__"))
    {
        tool.clone()
    } else {
        let mut kept = without_descriptions(tool);
        let grammars = kept.pointer_mut("/constrainedSampling/variants");
        for (_, grammar) in grammars
            .and_then(Value::as_object_mut)
            .into_iter()
            .flatten()
        {
            *grammar = json!(GRAMMAR);
        }
        kept
    }
}

/// `value` without the named members.
pub fn without(value: &Value, names: &[&str]) -> Value {
    let Some(members) = value.as_object() else {
        return value.clone();
    };
    let kept: Map<String, Value> = members
        .iter()
        .filter(|(name, _)| !names.contains(&name.as_str()))
        .map(|(name, item)| (name.clone(), item.clone()))
        .collect();
    Value::Object(kept)
}

/// `value` with its own duration replaced and its own time left out; what lies deeper is a tool's or a model's.
fn timeless(value: &Value) -> Value {
    let mut kept = without(value, &["timestamp"]);
    if let Some(duration) = kept.get_mut("durationMs") {
        *duration = json!(DURATION);
    }
    kept
}

/// A JSON Schema without its descriptions.
fn without_descriptions(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_descriptions).collect(),
        Value::Object(members) => members
            .iter()
            // A property may be called "description" too: only a text is one.
            .filter(|(name, item)| *name != "description" || !item.is_string())
            .map(|(name, item)| (name.clone(), without_descriptions(item)))
            .collect(),
        other => other.clone(),
    }
}
