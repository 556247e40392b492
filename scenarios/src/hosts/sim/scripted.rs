//! The extensions that a case scripts, on the simulated Pi: the twin of `real-pi/scripted.ts`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fake_pi::tool::{Execution, Exposure, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};
use fake_pi::{Command, CommandHandler, Ctx, Delivery, Event, Extension, Handler, Pi, Thrown};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::gortex::Ready;
use super::recording::file;
use crate::case::OtherExtension;
use crate::case::host::{
    self, Deeds, DeliverAs, Image, OldHandle, OtherTool, Question, QuestionKind,
};
use crate::trace::Lane;
use crate::trace::recorder::Recorder;

/// An extension that a case scripts.
pub struct Scripted {
    folder: PathBuf,
    script: OtherExtension,
    /// What it can look into besides Pi.
    sight: Sight,
    /// The handles of its last instance.
    last: Mutex<Handles>,
}

/// What an instance holds.
type Handles = Option<Arc<Held>>;

struct Held {
    pi: Pi,
    /// The context of its last handler.
    ctx: Mutex<Option<Ctx>>,
}

impl Scripted {
    /// The extension of this script, whose file would lie in `folder`.
    pub fn new(folder: PathBuf, script: OtherExtension, sight: Sight) -> Self {
        Self {
            folder,
            script,
            sight,
            last: Mutex::default(),
        }
    }
}

/// What a scripted extension sees of the process, and where it records that.
#[derive(Clone)]
pub struct Sight {
    /// How many hook children wait.
    pub hooks: Ready,
    /// Where its events go.
    pub recorder: Recorder,
}

impl Sight {
    /// Records how many hook children there are, once that many wait or a second has passed.
    async fn count(&self, wanted: usize) {
        let until = Instant::now() + Duration::from_secs(1);
        let count = || self.hooks.count();
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
        let held = Arc::new(Held {
            pi,
            ctx: Mutex::default(),
        });
        let before = self
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(held.clone());
        let instance = Instance {
            script: Arc::new(self.script.clone()),
            sight: self.sight.clone(),
            held,
            before,
        };
        Box::pin(async move {
            if instance.script.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(instance.script.delay_ms)).await;
            }
            instance.register()?;
            instance
                .script
                .fails
                .clone()
                .map_or(Ok(()), |message| Err(Thrown::error(message)))
        })
    }
}

/// One run of the factory.
#[derive(Clone)]
struct Instance {
    script: Arc<OtherExtension>,
    sight: Sight,
    held: Arc<Held>,
    before: Handles,
}

impl Instance {
    fn register(&self) -> Result<(), Thrown> {
        let pi = &self.held.pi;
        for (name, config) in &self.script.registers {
            pi.register_mcp_server(&json!(name), config)?;
        }
        for tool in &self.script.tools {
            pi.register_tool(Arc::new(ScriptedTool {
                tool: tool.clone(),
                source: pi.path().to_owned(),
            }))?;
        }
        for command in &self.script.commands {
            let (does, instance) = (command.does.clone(), self.clone());
            let handler: CommandHandler = Arc::new(move |_, ctx| {
                let (does, instance) = (does.clone(), instance.clone());
                Box::pin(async move { instance.perform(&does, &ctx).await })
            });
            let description = None;
            pi.register_command(
                &command.name,
                Command {
                    description,
                    handler,
                },
            )?;
        }
        for handler in &self.script.on {
            let (script, instance) = (handler.clone(), self.clone());
            let done = Arc::new(AtomicUsize::new(0));
            let act: Handler = Arc::new(move |event, ctx| {
                let (script, instance) = (script.clone(), instance.clone());
                let done = done.clone();
                Box::pin(async move { instance.handle(script, &done, &event, &ctx).await })
            });
            pi.on(&handler.event, act)?;
        }
        Ok(())
    }

    async fn handle(
        &self,
        script: host::Handler,
        done: &AtomicUsize,
        event: &Event,
        ctx: &Ctx,
    ) -> Result<Value, Thrown> {
        let held = &self.held;
        *held.ctx.lock().unwrap_or_else(PoisonError::into_inner) = Some(ctx.clone());
        let meant = |(name, value): (&String, &Value)| event.get(name).as_ref() == Some(value);
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
        if script.hangs {
            std::future::pending::<()>().await;
        }
        for (path, value) in &script.sets {
            set(event, path, value);
        }
        self.perform(&script.does, ctx).await?;
        if let Some(wanted) = script.counts_hooks {
            self.sight.count(wanted).await;
        }
        match script.throws {
            Some(message) => Err(Thrown::error(message)),
            None => Ok(filled(&script.returns.unwrap_or_default(), event)),
        }
    }

    async fn perform(&self, deeds: &Deeds, ctx: &Ctx) -> Result<(), Thrown> {
        let pi = &self.held.pi;
        for (name, config) in &deeds.registers {
            pi.register_mcp_server(&json!(name), config)?;
        }
        for entry in &deeds.appends {
            pi.append_entry(&entry.custom_type, entry.data.clone())?;
        }
        for message in &deeds.sends {
            let sent = json!({ "customType": message.custom_type, "content": message.content, "display": message.display });
            let deliver_as = message.deliver_as.map(delivery);
            pi.send_message(&sent, deliver_as, message.trigger_turn)?;
        }
        for said in &deeds.says {
            pi.send_user_message(&said.text, said.deliver_as.map(delivery))?;
        }
        if deeds.aborts {
            ctx.abort()?;
        }
        for question in &deeds.asks {
            let answer = ask(ctx, question).await?;
            let answer = match &answer {
                Value::Null => "nothing".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            ctx.notify(&format!("{} {answer}", question.title), None)?;
        }
        if deeds.shuts_down {
            ctx.shutdown()?;
        }
        match (deeds.uses_old, &self.before) {
            (Some(OldHandle::Pi), Some(old)) => old.pi.get_all_tools().map(drop),
            (Some(OldHandle::Ctx), Some(old)) => {
                let old = old.ctx.lock().unwrap_or_else(PoisonError::into_inner);
                old.as_ref().map_or(Ok(()), |ctx| ctx.cwd().map(drop))
            }
            _ => Ok(()),
        }
    }
}

async fn ask(ctx: &Ctx, question: &Question) -> Result<Value, Thrown> {
    let title = &question.title;
    let limit = question.timeout_ms.map(Duration::from_millis);
    match question.kind {
        QuestionKind::Confirm => {
            let text = question.text.as_deref().unwrap_or_default();
            ctx.confirm(title, text, limit).await.map(Value::from)
        }
        QuestionKind::Select => ctx
            .select(title, &question.options, limit)
            .await
            .map(Value::from),
        QuestionKind::Input => ctx
            .input(title, question.text.as_deref(), limit)
            .await
            .map(Value::from),
    }
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
