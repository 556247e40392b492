//! The other extensions on the simulated Pi: the recorder and the scripted ones, the twins of `real-pi/record.ts` and
//! `real-pi/scripted.ts`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fake_pi::{Command, CommandHandler, Ctx, Event, Extension, Handler, Pi, Thrown};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::case::OtherExtension;
use crate::case::host::Deeds;
use crate::hosts::folder::CaseFolder;
use crate::trace::recorder::Recorder;
use crate::trace::{Lane, normal};

/// Which events and members a recorder keeps: the file that `record.ts` reads too.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    first: BTreeMap<String, Vec<String>>,
    last: BTreeMap<String, Vec<String>>,
    writers: Vec<String>,
}

/// Where a recorder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Before every other extension.
    First,
    /// Behind every other.
    Last,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
        }
    }
}

/// A recording extension.
pub struct Recording {
    /// Where it stands.
    pub by: By,
    /// The folder that its file would lie in.
    pub folder: PathBuf,
    /// Where its events go.
    pub recorder: Recorder,
}

impl Extension for Recording {
    fn path(&self) -> String {
        file(&self.folder, &format!("record-{}", self.by.name()))
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        Box::pin(std::future::ready(record(&pi, self.by, &self.recorder)))
    }
}

fn record(pi: &Pi, by: By, recorder: &Recorder) -> Result<(), Thrown> {
    let recorded: Recorded = serde_json::from_str(include_str!("../../../real-pi/recorded.json"))
        .map_err(|error| Thrown::error(format!("recorded.json: {error}")))?;
    let writers = Arc::new(recorded.writers);
    let kept = match by {
        By::First => recorded.first,
        By::Last => recorded.last,
    };
    for (name, members) in kept {
        let (writers, recorder) = (writers.clone(), recorder.clone());
        let kind = name.clone();
        let handler: Handler = Arc::new(move |event, ctx| {
            let payload: Map<String, Value> = std::iter::once(("by".to_owned(), json!(by.name())))
                .chain(
                    members
                        .iter()
                        .filter_map(|member| Some((member.clone(), event.get(member)?))),
                )
                .collect();
            let payload = normal::extension_event(&Value::Object(payload));
            recorder.record(Lane::Extension, &kind, payload);
            snapshot(by, &kind, &event, &ctx, &writers, &recorder);
            Box::pin(std::future::ready(Ok(Value::Null)))
        });
        pi.on(&name, handler)?;
    }
    if by == By::Last {
        servers(pi, recorder)?;
        told(pi, recorder)?;
        reload(pi)?;
    }
    Ok(())
}

/// Records at an instance's first turn which servers are registered, and with what.
fn servers(pi: &Pi, recorder: &Recorder) -> Result<(), Thrown> {
    let (handle, recorder, seen) = (pi.clone(), recorder.clone(), AtomicBool::new(false));
    let handler: Handler = Arc::new(move |_, _| {
        if !seen.swap(true, Ordering::Relaxed) {
            let servers = handle.get_mcp_servers().unwrap_or_default();
            recorder.record(Lane::Extension, "servers", json!({ "servers": servers }));
        }
        Box::pin(std::future::ready(Ok(Value::Null)))
    });
    pi.on("before_agent_start", handler).map(drop)
}

/// Records what our instance told in a turn: the history of a session does not say which instance told it.
fn told(pi: &Pi, recorder: &Recorder) -> Result<(), Thrown> {
    let recorder = recorder.clone();
    let handler: Handler = Arc::new(move |event, _| {
        let message = event.get("message").unwrap_or_default();
        if message["customType"] == "gortex" {
            let content = json!({ "content": message["content"] });
            recorder.record(Lane::Extension, "told", content);
        }
        Box::pin(std::future::ready(Ok(Value::Null)))
    });
    pi.on("message_end", handler).map(drop)
}

/// Offers the command by which a person's step reloads.
fn reload(pi: &Pi) -> Result<(), Thrown> {
    let handler: CommandHandler = Arc::new(|_, ctx| Box::pin(async move { ctx.reload().await }));
    let description = None;
    pi.register_command(
        "bench-reload",
        Command {
            description,
            handler,
        },
    )
}

/// Records the project's texts around a call that writes.
fn snapshot(by: By, kind: &str, event: &Event, ctx: &Ctx, writers: &[String], recorder: &Recorder) {
    let tool = event.get("toolName").unwrap_or_default();
    let tool = tool.as_str().unwrap_or_default();
    let bare = tool.strip_prefix("mcp__gortex__").unwrap_or(tool);
    if !writers.iter().any(|writer| writer == bare) {
        return;
    }
    let moment = match (by, kind) {
        (By::First, "tool_call") => "before",
        (By::Last, "tool_result") => "after",
        _ => return,
    };
    let files = ctx
        .cwd()
        .map(|cwd| CaseFolder::texts(&cwd))
        .unwrap_or_default();
    recorder.record(
        Lane::Disk,
        moment,
        json!({ "toolCallId": event.get("toolCallId"), "files": files }),
    );
}

/// An extension that a case scripts.
pub struct Scripted {
    /// The folder that its file would lie in.
    pub folder: PathBuf,
    /// What it does.
    pub script: OtherExtension,
}

impl Extension for Scripted {
    fn path(&self) -> String {
        file(&self.folder, &self.script.name)
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        Box::pin(std::future::ready(act(&pi, &self.script)))
    }
}

/// The path that Pi would name an extension by.
fn file(folder: &Path, name: &str) -> String {
    folder.join(format!("{name}.ts")).display().to_string()
}

fn act(pi: &Pi, script: &OtherExtension) -> Result<(), Thrown> {
    for (name, config) in &script.registers {
        pi.register_mcp_server(&json!(name), config)?;
    }
    for command in &script.commands {
        let (does, handle) = (command.does.clone(), pi.clone());
        let handler: CommandHandler =
            Arc::new(move |_, _| Box::pin(std::future::ready(perform(&handle, &does))));
        let description = None;
        pi.register_command(
            &command.name,
            Command {
                description,
                handler,
            },
        )?;
    }
    for handler in &script.on {
        let (script, handle) = (handler.clone(), pi.clone());
        let act: Handler = Arc::new(move |event, _| {
            let (script, handle) = (script.clone(), handle.clone());
            Box::pin(async move {
                let meant =
                    |(name, value): (&String, &Value)| event.get(name).as_ref() == Some(value);
                if !script.when.iter().all(meant) {
                    return Ok(Value::Null);
                }
                if script.delay_ms > 0 {
                    tokio::time::sleep(Duration::from_millis(script.delay_ms)).await;
                }
                for (path, value) in &script.sets {
                    set(&event, path, value);
                }
                perform(&handle, &script.does)?;
                match script.throws {
                    Some(message) => Err(Thrown::error(message)),
                    None => Ok(script.returns.unwrap_or_default()),
                }
            })
        });
        pi.on(&handler.event, act)?;
    }
    Ok(())
}

/// Puts a value in place into one of the event's objects: the first part of the path names it.
fn set(event: &Event, path: &str, value: &Value) {
    let Some((member, inner)) = path.split_once('.') else {
        return event.set(path, value.clone());
    };
    event.edit(member, |object| {
        let pointer = format!("/{}", inner.replace('.', "/"));
        let (parent, name) = pointer.rsplit_once('/').unwrap_or(("", inner));
        if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            parent.insert(name.to_owned(), value.clone());
        }
    });
}

fn perform(pi: &Pi, deeds: &Deeds) -> Result<(), Thrown> {
    for (name, config) in &deeds.registers {
        pi.register_mcp_server(&json!(name), config)?;
    }
    for message in &deeds.sends {
        let sent = json!({ "customType": message.custom_type, "content": message.content, "display": false });
        pi.send_message(&sent, None, message.trigger_turn.then_some(true))?;
    }
    Ok(())
}
