//! The commands of RPC mode.

use std::sync::Arc;

use serde_json::{Value, json};

use super::replace::{self, Replacement};
use super::response;
use crate::host::Shared;
use crate::instance::Delivery;
use crate::session::{Prompt, Session};

/// Starts handling a command; its response comes when it is done.
///
/// The session is the client's at this moment: a prompt right behind `new_session` still goes to the old one, a prompt
/// while the new session starts goes to the new one (pi-host.md 5).
pub(crate) fn dispatch(host: &Arc<Shared>, command: Value) {
    let Some(session) = host.client_session() else {
        return;
    };
    if command["type"] == "extension_ui_response" {
        return host.answer(command);
    }
    let host = host.clone();
    host.command_begins();
    host.clone().spawn("command", async move {
        let id = command.get("id").cloned();
        let kind = command["type"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "prompt" => prompt(&host, session, &command, id).await,
            _ => {
                let outcome = handle(&host, &session, &kind, &command).await;
                host.output(response(id.as_ref(), &kind, outcome));
            }
        }
        host.command_ends();
    });
}

async fn prompt(host: &Arc<Shared>, session: Arc<Session>, command: &Value, id: Option<Value>) {
    let prompt = Prompt {
        text: text(command, "message"),
        images: images(command),
        behavior: command["streamingBehavior"].as_str().map(str::to_owned),
        source: host.options.mode.source(),
        commands: true,
    };
    let (output, told_id) = (host.clone(), id.clone());
    let told = Box::new(move |disposition: crate::session::Disposition| {
        let data = json!({"disposition": disposition.as_str()});
        output.output(response(told_id.as_ref(), "prompt", Ok(Some(data))));
    });
    if let Err(error) = session.prompt(prompt, told).await {
        host.output(response(id.as_ref(), "prompt", Err(error)));
    }
}

fn text(command: &Value, member: &str) -> String {
    command[member].as_str().unwrap_or_default().to_owned()
}

fn images(command: &Value) -> Option<Value> {
    command
        .get("images")
        .filter(|images| !images.is_null())
        .cloned()
}

/// Handles every command but `prompt`. Gives the response's data.
async fn handle(
    host: &Arc<Shared>,
    session: &Arc<Session>,
    kind: &str,
    command: &Value,
) -> Result<Option<Value>, String> {
    match kind {
        "steer" => queue(session, command, Delivery::Steer).await,
        "follow_up" => queue(session, command, Delivery::FollowUp).await,
        "abort" => {
            session.abort().await;
            Ok(None)
        }
        "compact" => {
            let focus = command["customInstructions"].as_str();
            session.compact(focus).await.map(Some)
        }
        "clear_queue" => Ok(Some(session.clear_queue())),
        "new_session" => {
            let cancelled = replace::replace(host, Replacement::New).await?;
            Ok(Some(json!({"cancelled": cancelled})))
        }
        "switch_session" => {
            let file = text(command, "sessionPath");
            let cancelled = replace::replace(host, Replacement::Resume { file }).await?;
            Ok(Some(json!({"cancelled": cancelled})))
        }
        "fork" => {
            let (entry, selected) = replace::fork_point(session, &text(command, "entryId"))?;
            let cancelled = replace::replace(host, entry).await?;
            let mut data = json!({});
            if !cancelled {
                data["text"] = selected.into();
            }
            data["cancelled"] = cancelled.into();
            Ok(Some(data))
        }
        "clone" => {
            let leaf = session
                .leaf()
                .ok_or("Cannot clone session: no current entry selected")?;
            let at = Replacement::Fork {
                entry: leaf.clone(),
                leaf: Some(leaf),
                position: "at",
            };
            let cancelled = replace::replace(host, at).await?;
            Ok(Some(json!({"cancelled": cancelled})))
        }
        "set_model" => {
            let (provider, id) = (text(command, "provider"), text(command, "modelId"));
            session.set_model(&provider, &id).await.map(Some)
        }
        "bash" => {
            let line = text(command, "command");
            session.user_bash(command.get("id"), &line).await.map(Some)
        }
        "get_state" => Ok(Some(state(host, session))),
        "get_messages" => Ok(Some(json!({"messages": session.messages()}))),
        "get_entries" => entries(session, command).map(Some),
        "get_commands" => Ok(Some(json!({"commands": session.instance().command_list()}))),
        "get_last_assistant_text" => Ok(Some(json!({"text": last_text(session)}))),
        unknown => Err(format!("Unknown command: {unknown}")),
    }
}

async fn queue(
    session: &Session,
    command: &Value,
    delivery: Delivery,
) -> Result<Option<Value>, String> {
    let disposition = session
        .queue_input(&text(command, "message"), images(command), delivery)
        .await?;
    Ok(Some(json!({"disposition": disposition.as_str()})))
}

fn state(host: &Shared, session: &Session) -> Value {
    let settings = &host.options.settings;
    let mode = |all: bool| if all { "all" } else { "one-at-a-time" };
    let mut state = json!({
        "model": host.model_state(&session.model_id()), "thinkingLevel": "off", "isStreaming": session.is_running(),
        "isCompacting": session.is_compacting(), "steeringMode": mode(settings.steer_all),
        "followUpMode": mode(settings.follow_up_all)
    });
    if let Some(file) = session.file() {
        state["sessionFile"] = file.into();
    }
    state["sessionId"] = session.id().into();
    state["autoCompactionEnabled"] = settings.compaction.enabled.into();
    state["messageCount"] = session.messages().len().into();
    state["pendingMessageCount"] = session.pending_messages().into();
    state
}

fn entries(session: &Session, command: &Value) -> Result<Value, String> {
    let mut entries = session.entries();
    if let Some(since) = command.get("since").filter(|since| !since.is_null()) {
        let known = entries.iter().position(|entry| entry["id"] == *since);
        let since = since.as_str().unwrap_or_default();
        let index = known.ok_or_else(|| format!("Entry not found: {since}"))?;
        entries.drain(..=index);
    }
    Ok(json!({"entries": entries, "leafId": session.leaf()}))
}

/// The text of the last assistant message that has any.
fn last_text(session: &Session) -> Option<String> {
    let messages = session.messages();
    let assistants = messages
        .iter()
        .rev()
        .filter(|message| message["role"] == "assistant");
    assistants
        .map(|message| {
            let parts = message["content"].as_array().into_iter().flatten();
            parts
                .filter_map(|part| part["text"].as_str())
                .collect::<String>()
                .trim()
                .to_owned()
        })
        .find(|text| !text.is_empty())
}
