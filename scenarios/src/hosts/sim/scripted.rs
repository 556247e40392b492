//! The scripted extensions on the simulated Pi, the twins of `real-pi/scripted.ts`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fake_pi::tool::{Execution, Exposure, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};
use fake_pi::{Command, CommandHandler, Ctx, Delivery, Event, Extension, Handler, Pi, Thrown};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::others::file;
use crate::case::OtherExtension;
use crate::case::host::{Deeds, DeliverAs, Image, OtherTool};
use crate::trace::Lane;
use crate::trace::recorder::Recorder;

/// An extension that a case scripts.
pub struct Scripted {
    /// The folder that its file would lie in.
    pub folder: PathBuf,
    /// What it does.
    pub script: OtherExtension,
    /// What it can look into besides Pi.
    pub sight: Sight,
}

/// What a scripted extension sees of the process, and where it records that.
#[derive(Clone)]
pub struct Sight {
    /// How many hook children wait.
    pub hooks: Arc<AtomicUsize>,
    /// Where its events go.
    pub recorder: Recorder,
}

impl Sight {
    /// Records how many hook children there are, once that many wait or a second has passed.
    async fn count(&self, wanted: usize) {
        let until = Instant::now() + Duration::from_secs(1);
        let count = || self.hooks.load(Ordering::Relaxed);
        while count() != wanted && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let payload = json!({ "count": count() });
        self.recorder.record(Lane::Extension, "hooks", payload);
    }
}

impl Extension for Scripted {
    fn path(&self) -> String {
        file(&self.folder, &self.script.name)
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        Box::pin(std::future::ready(act(&pi, &self.script, &self.sight)))
    }
}

fn act(pi: &Pi, script: &OtherExtension, sight: &Sight) -> Result<(), Thrown> {
    for (name, config) in &script.registers {
        pi.register_mcp_server(&json!(name), config)?;
    }
    for tool in &script.tools {
        pi.register_tool(Arc::new(ScriptedTool {
            tool: tool.clone(),
            source: pi.path().to_owned(),
        }))?;
    }
    for command in &script.commands {
        let (does, handle) = (command.does.clone(), pi.clone());
        let handler: CommandHandler =
            Arc::new(move |_, ctx| Box::pin(std::future::ready(perform(&handle, &ctx, &does))));
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
        let (script, handle, sight) = (handler.clone(), pi.clone(), sight.clone());
        let done = Arc::new(AtomicUsize::new(0));
        let act: Handler = Arc::new(move |event, ctx| {
            let (script, handle, done) = (script.clone(), handle.clone(), done.clone());
            let sight = sight.clone();
            Box::pin(async move {
                let meant =
                    |(name, value): (&String, &Value)| event.get(name).as_ref() == Some(value);
                if !script.when.iter().all(meant) {
                    return Ok(Value::Null);
                }
                if script
                    .times
                    .is_some_and(|times| done.fetch_add(1, Ordering::Relaxed) >= times)
                {
                    return Ok(Value::Null);
                }
                if script.delay_ms > 0 {
                    tokio::time::sleep(Duration::from_millis(script.delay_ms)).await;
                }
                for (path, value) in &script.sets {
                    set(&event, path, value);
                }
                perform(&handle, &ctx, &script.does)?;
                if let Some(wanted) = script.counts_hooks {
                    sight.count(wanted).await;
                }
                match script.throws {
                    Some(message) => Err(Thrown::error(message)),
                    None => Ok(filled(&script.returns.unwrap_or_default(), &event)),
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

/// What a handler returns, with the event's own values where the case names them.
fn filled(value: &Value, event: &Event) -> Value {
    match value {
        Value::String(text) => {
            let path = text
                .strip_prefix("<event ")
                .and_then(|path| path.strip_suffix('>'));
            let Some(path) = path else {
                return value.clone();
            };
            let (member, inner) = path.split_once('.').unwrap_or((path, ""));
            let held = event.get(member).unwrap_or_default();
            let pointer = format!("/{}", inner.replace('.', "/"));
            let at = if inner.is_empty() {
                Some(&held)
            } else {
                held.pointer(&pointer)
            };
            at.cloned().unwrap_or_default()
        }
        Value::Array(items) => items.iter().map(|item| filled(item, event)).collect(),
        Value::Object(members) => {
            let members: Map<String, Value> = members
                .iter()
                .map(|(name, item)| (name.clone(), filled(item, event)))
                .collect();
            Value::Object(members)
        }
        other => other.clone(),
    }
}

fn perform(pi: &Pi, ctx: &Ctx, deeds: &Deeds) -> Result<(), Thrown> {
    for (name, config) in &deeds.registers {
        pi.register_mcp_server(&json!(name), config)?;
    }
    for entry in &deeds.appends {
        pi.append_entry(&entry.custom_type, entry.data.clone())?;
    }
    for message in &deeds.sends {
        let sent = json!({ "customType": message.custom_type, "content": message.content, "display": message.display });
        pi.send_message(
            &sent,
            message.deliver_as.map(delivery),
            message.trigger_turn,
        )?;
    }
    for said in &deeds.says {
        pi.send_user_message(&said.text, said.deliver_as.map(delivery))?;
    }
    if deeds.aborts {
        ctx.abort()?;
    }
    Ok(())
}

fn delivery(deliver_as: DeliverAs) -> Delivery {
    match deliver_as {
        DeliverAs::Steer => Delivery::Steer,
        DeliverAs::FollowUp => Delivery::FollowUp,
        DeliverAs::NextTurn => Delivery::NextTurn,
    }
}

struct ScriptedTool {
    tool: OtherTool,
    source: String,
}

impl Tool for ScriptedTool {
    fn definition(&self) -> ToolDefinition {
        let any = || json!({ "type": "object", "properties": {} });
        ToolDefinition {
            name: self.tool.name.clone(),
            description: "A tool of the case.".to_owned(),
            parameters: self.tool.parameters.clone().map_or_else(any, Value::Object),
            exposure: Exposure::Direct,
            execution: if self.tool.sequential {
                Execution::Sequential
            } else {
                Execution::Parallel
            },
            source: self.source.clone(),
        }
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let tool = self.tool.clone();
        Box::pin(async move {
            let text = |text: &String| json!({ "type": "text", "text": text });
            for update in &tool.updates {
                // Nobody has to listen.
                let _ = run.updates.send(json!({ "content": [text(update)] }));
            }
            let sleep = tokio::time::sleep(Duration::from_millis(tool.delay_ms));
            match &tool.on_abort {
                Some(message) => tokio::select! {
                    biased;
                    () = run.abort.cancelled() => return Err(ToolError(message.clone())),
                    () = sleep => {}
                },
                None => sleep.await,
            }
            if let Some(message) = tool.throws {
                return Err(ToolError(message));
            }
            Ok(ToolOutput {
                content: std::iter::once(text(&tool.text))
                    .chain(tool.images.iter().map(Image::part))
                    .collect(),
                details: tool.details,
                structured_content: None,
                is_error: tool.is_error,
                terminate: tool.terminate,
            })
        })
    }
}
