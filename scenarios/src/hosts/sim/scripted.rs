//! The extensions that a case scripts, on the simulated Pi: the twin of `real-pi/scripted.ts`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fake_pi::{Command, CommandHandler, Ctx, Event, Extension, Handler, Pi, Thrown};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::recording::file;
use crate::case::OtherExtension;
use crate::case::host::{self, Deeds, OldHandle, Question, QuestionKind};

/// An extension that a case scripts.
pub struct Scripted {
    folder: PathBuf,
    script: OtherExtension,
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
    pub fn new(folder: PathBuf, script: OtherExtension) -> Self {
        Self {
            folder,
            script,
            last: Mutex::default(),
        }
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
    held: Arc<Held>,
    before: Handles,
}

impl Instance {
    fn register(&self) -> Result<(), Thrown> {
        let pi = &self.held.pi;
        for (name, config) in &self.script.registers {
            pi.register_mcp_server(&json!(name), config)?;
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
            let act: Handler = Arc::new(move |event, ctx| {
                let (script, instance) = (script.clone(), instance.clone());
                Box::pin(async move { instance.handle(script, &event, &ctx).await })
            });
            pi.on(&handler.event, act)?;
        }
        Ok(())
    }

    async fn handle(
        &self,
        script: host::Handler,
        event: &Event,
        ctx: &Ctx,
    ) -> Result<Value, Thrown> {
        let held = &self.held;
        *held.ctx.lock().unwrap_or_else(PoisonError::into_inner) = Some(ctx.clone());
        let meant = |(name, value): (&String, &Value)| event.get(name).as_ref() == Some(value);
        if !script.when.iter().all(meant) {
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
        match script.throws {
            Some(message) => Err(Thrown::error(message)),
            None => Ok(script.returns.unwrap_or_default()),
        }
    }

    async fn perform(&self, deeds: &Deeds, ctx: &Ctx) -> Result<(), Thrown> {
        let pi = &self.held.pi;
        for (name, config) in &deeds.registers {
            pi.register_mcp_server(&json!(name), config)?;
        }
        for message in &deeds.sends {
            let sent = json!({ "customType": message.custom_type, "content": message.content, "display": false });
            pi.send_message(&sent, None, message.trigger_turn.then_some(true))?;
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
