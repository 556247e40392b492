//! The adapter as an extension of the simulated Pi: conversion only, no decision.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use adapter::{
    Caps, CommandFact, Environment, Host, Instance, Level, Log, Ports, SessionFacts, ToolCallFacts,
    ToolFact, ToolResultFacts, TurnFacts, UserBashFacts, WriteTable,
};
use fake_pi::{Ctx, Event, Extension, Handler, Pi, Thrown};
use futures::future::BoxFuture;
use serde_json::{Value, json};

/// What the adapter's instances in one process have in common, and what each is built with.
#[derive(Clone)]
pub struct Ours {
    /// Where Pi would have loaded it from.
    pub path: String,
    /// The process's variables and home.
    pub environment: Environment,
    /// The simulated hook.
    pub hook: Arc<dyn adapter::HookPort>,
    /// The files being written.
    pub writes: Arc<WriteTable>,
    /// Where diagnostics go.
    pub log: Arc<dyn Log>,
}

impl Extension for Ours {
    fn path(&self) -> String {
        self.path.clone()
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        let host = Arc::new(PiHost {
            pi: pi.clone(),
            ctx: Mutex::new(None),
            starts: AtomicBool::new(false),
        });
        let ports = Ports {
            host: host.clone(),
            hook: self.hook.clone(),
            writes: self.writes.clone(),
            log: self.log.clone(),
            work: Arc::new(adapter::InlineWork),
        };
        let instance = Instance::new(self.environment.clone(), ports, Caps::default());
        Box::pin(std::future::ready(listen(&pi, &instance, &host)))
    }
}

fn listen(pi: &Pi, instance: &Arc<Instance>, host: &Arc<PiHost>) -> Result<(), Thrown> {
    let (ours, theirs) = (instance.clone(), host.clone());
    on(pi, "session_start", move |event, ctx| {
        theirs.keep(&ctx);
        theirs.starts.store(true, Ordering::Relaxed);
        let started = start(&ours, &theirs.pi, event, &ctx);
        theirs.starts.store(false, Ordering::Relaxed);
        started
    })?;
    let (ours, theirs) = (instance.clone(), host.clone());
    on_async(pi, "before_agent_start", move |_, ctx| {
        theirs.keep(&ctx);
        let (ours, turn) = (ours.clone(), turn(&ctx));
        async move {
            let message = ours.before_agent_start(turn?).await;
            Ok(message.map_or(Value::Null, |message| json!({ "message": message })))
        }
    })?;
    let ours = instance.clone();
    on_async(pi, "tool_call", move |event, ctx| {
        let (ours, call) = (ours.clone(), call(event, &ctx));
        async move {
            let block = ours.tool_call(call?).await;
            Ok(block.map_or(
                Value::Null,
                |block| json!({ "block": true, "reason": block.reason }),
            ))
        }
    })?;
    let ours = instance.clone();
    on_async(pi, "tool_result", move |event, ctx| {
        let (ours, result) = (ours.clone(), result(event, &ctx));
        async move {
            let patch = ours.tool_result(result?).await;
            Ok(patch.map_or(Value::Null, |patch| json!(patch)))
        }
    })?;
    let ours = instance.clone();
    on(pi, "user_bash", move |_, ctx| {
        ours.user_bash(&UserBashFacts {
            cwd: ctx.cwd()?,
            results: Some(results(&ctx)?),
        });
        Ok(())
    })?;
    let ours = instance.clone();
    on(pi, "turn_end", move |_, _| {
        ours.turn_end();
        Ok(())
    })?;
    let ours = instance.clone();
    on(pi, "agent_settled", move |_, _| {
        ours.agent_settled();
        Ok(())
    })?;
    let ours = instance.clone();
    on(pi, "session_shutdown", move |_, _| {
        ours.session_shutdown();
        Ok(())
    })
}

fn on(
    pi: &Pi,
    event: &str,
    act: impl Fn(&Event, Ctx) -> Result<(), Thrown> + Send + Sync + 'static,
) -> Result<(), Thrown> {
    on_async(pi, event, move |event, ctx| {
        let done = act(event, ctx);
        async move { done.map(|()| Value::Null) }
    })
}

fn on_async<F>(
    pi: &Pi,
    event: &str,
    act: impl Fn(&Event, Ctx) -> F + Send + Sync + 'static,
) -> Result<(), Thrown>
where
    F: Future<Output = Result<Value, Thrown>> + Send + 'static,
{
    let handler: Handler = Arc::new(move |event, ctx| {
        let answer = act(&event, ctx);
        // What a replaced session's handles throw must not escape a handler (R10): Pi would block a call for it.
        Box::pin(async move { Ok(answer.await.unwrap_or_default()) })
    });
    pi.on(event, handler).map(|_| ())
}

fn start(instance: &Instance, pi: &Pi, event: &Event, ctx: &Ctx) -> Result<(), Thrown> {
    let commands = pi.get_commands()?;
    let session = SessionFacts {
        cwd: ctx.cwd()?,
        session_id: ctx.session_id()?,
        reason: text(event.get("reason")),
        has_ui: ctx.has_ui()?,
        commands: commands
            .as_array()
            .into_iter()
            .flatten()
            .map(|command| CommandFact {
                name: text(command.get("name").cloned()),
                source_path: text(command["sourceInfo"].get("path").cloned()),
            })
            .collect(),
    };
    instance.session_start(&session, &mut |registration| {
        pi.register_mcp_server(&json!(registration.name), &json!(registration))
            .map_err(|thrown| thrown.message)
    });
    Ok(())
}

fn turn(ctx: &Ctx) -> Result<TurnFacts, Thrown> {
    Ok(TurnFacts {
        session_id: ctx.session_id()?,
        cwd: ctx.cwd()?,
        results: Some(results(ctx)?),
        abort: ctx.signal()?,
    })
}

/// How many results of the person's own commands the session holds.
fn results(ctx: &Ctx) -> Result<usize, Thrown> {
    let entries = ctx.entries()?;
    let result = |entry: &&Value| entry["message"]["role"] == "bashExecution";
    Ok(entries.iter().filter(result).count())
}

fn call(event: &Event, ctx: &Ctx) -> Result<ToolCallFacts, Thrown> {
    Ok(ToolCallFacts {
        id: text(event.get("toolCallId")),
        name: text(event.get("toolName")),
        input: event.get("input").unwrap_or_default(),
        parent_id: event
            .get("parentToolCallId")
            .and_then(|id| id.as_str().map(str::to_owned)),
        cwd: ctx.cwd()?,
        session_id: ctx.session_id()?,
        abort: ctx.signal()?,
    })
}

fn result(event: &Event, ctx: &Ctx) -> Result<ToolResultFacts, Thrown> {
    Ok(ToolResultFacts {
        id: text(event.get("toolCallId")),
        content: event
            .get("content")
            .and_then(|content| content.as_array().cloned()),
        details: event.get("details"),
        structured_content: event.get("structuredContent"),
        is_error: event.get("isError") == Some(Value::Bool(true)),
        abort: ctx.signal()?,
    })
}

fn text(value: Option<Value>) -> String {
    value
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// What the adapter may ask of the simulated Pi, by the handles of the instance it belongs to.
struct PiHost {
    pi: Pi,
    ctx: Mutex<Option<Ctx>>,
    /// Whether the synchronous session hook runs.
    starts: AtomicBool,
}

impl PiHost {
    fn keep(&self, ctx: &Ctx) {
        *self.ctx.lock().unwrap_or_else(PoisonError::into_inner) = Some(ctx.clone());
    }

    fn ctx(&self) -> Option<Ctx> {
        self.ctx
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Host for PiHost {
    fn tools(&self) -> BoxFuture<'static, Option<Vec<ToolFact>>> {
        let tools = self.pi.get_all_tools().ok().map(|tools| {
            let tools = tools.as_array().cloned().unwrap_or_default();
            let fact = |tool: &Value| ToolFact {
                name: text(tool.get("name").cloned()),
                exposure: tool
                    .get("exposure")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            };
            tools.iter().map(fact).collect()
        });
        Box::pin(std::future::ready(tools))
    }

    fn custom_messages(&self, custom_type: &'static str) -> BoxFuture<'static, Option<Vec<Value>>> {
        let branch = self.ctx().and_then(|ctx| ctx.branch().ok()).map(|branch| {
            let ours = |entry: &&Value| {
                entry["type"] == "custom_message" && entry["customType"] == custom_type
            };
            branch
                .iter()
                .filter(ours)
                .map(|entry| entry["content"].clone())
                .collect()
        });
        Box::pin(std::future::ready(branch))
    }

    /// On the real host a notice crosses to JavaScript's thread: one from the synchronous session hook arrives when that
    /// thread is free again, behind the response to a command that replaced the session.
    fn notify(&self, message: &str, level: Level) {
        // A context of a session that was replaced has nobody to tell (R10).
        let Some(ctx) = self.ctx() else { return };
        let (message, level) = (message.to_owned(), level.as_str());
        if self.starts.load(Ordering::Relaxed) {
            tokio::spawn(async move { ctx.notify(&message, Some(level)) });
        } else {
            let _ = ctx.notify(&message, Some(level));
        }
    }
}
