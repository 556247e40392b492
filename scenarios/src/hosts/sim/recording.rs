//! The recorder on the simulated Pi, the twin of `real-pi/record.ts`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fake_pi::{
    Command, CommandHandler, Ctx, Event, Extension, Handler, NavigateOptions, Pi, Thrown,
};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::hosts::folder::CaseFolder;
use crate::trace::recorder::Recorder;
use crate::trace::{Lane, normal};

/// Which events and members a recorder keeps: the file that `record.ts` reads too.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    first: BTreeMap<String, Vec<String>>,
    last: BTreeMap<String, Vec<String>>,
    context: Vec<String>,
    unprinted: Vec<String>,
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
    /// Whether the host prints no events, so that the last recorder keeps those in its place.
    pub silent: bool,
}

impl Extension for Recording {
    fn path(&self) -> String {
        file(&self.folder, &format!("record-{}", self.by.name()))
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        Box::pin(std::future::ready(self.record(&pi)))
    }
}

impl Recording {
    fn record(&self, pi: &Pi) -> Result<(), Thrown> {
        let (by, recorder) = (self.by, &self.recorder);
        let recorded: Recorded =
            serde_json::from_str(include_str!("../../../real-pi/recorded.json"))
                .map_err(|error| Thrown::error(format!("recorded.json: {error}")))?;
        let writers = Arc::new(recorded.writers);
        let kept = match by {
            By::First => recorded.first,
            By::Last => recorded.last,
        };
        for (name, members) in kept {
            let (writers, recorder) = (writers.clone(), recorder.clone());
            let shown = context_of(by, &name, &recorded.context);
            let kind = name.clone();
            let handler: Handler = Arc::new(move |event, ctx| {
                let payload: Map<String, Value> =
                    std::iter::once(("by".to_owned(), json!(by.name())))
                        .chain(
                            members
                                .iter()
                                .filter_map(|member| Some((member.clone(), event.get(member)?))),
                        )
                        .chain(context(&ctx, &shown))
                        .collect();
                let payload = normal::extension_event(&Value::Object(payload));
                recorder.record(Lane::Extension, &kind, payload);
                snapshot(by, &kind, &event, &ctx, &writers, &recorder);
                Box::pin(std::future::ready(Ok(Value::Null)))
            });
            pi.on(&name, handler)?;
        }
        if by == By::Last {
            servers(pi, recorder, recorded.context)?;
            told(pi, recorder)?;
            reload(pi)?;
            navigate(pi, recorder)?;
            if self.silent {
                unprinted(pi, recorder, recorded.unprinted)?;
            }
        }
        Ok(())
    }
}

/// What a recorder tells of the context at this event.
fn context_of(by: By, event: &str, members: &[String]) -> Vec<String> {
    if by == By::Last && event == "session_start" {
        members.to_vec()
    } else {
        Vec::new()
    }
}

/// Members of a handler's context.
fn context(ctx: &Ctx, members: &[String]) -> Vec<(String, Value)> {
    let value = |name: &String| match name.as_str() {
        "mode" => ctx.mode().ok().map(Value::from),
        "hasUI" => ctx.has_ui().ok().map(Value::from),
        "cwd" => ctx.cwd().ok().map(|cwd| cwd.display().to_string().into()),
        _ => None,
    };
    members
        .iter()
        .filter_map(|name| Some((name.clone(), value(name)?)))
        .collect()
}

/// Keeps the events that a host in this mode does not print.
fn unprinted(pi: &Pi, recorder: &Recorder, names: Vec<String>) -> Result<(), Thrown> {
    for name in names {
        let recorder = recorder.clone();
        let handler: Handler = Arc::new(move |event, _| {
            if let Some((lane, name, payload)) = normal::rpc_record(&event.value()) {
                recorder.record(lane, &name, payload);
            }
            Box::pin(std::future::ready(Ok(Value::Null)))
        });
        pi.on(&name, handler)?;
    }
    Ok(())
}

/// Records at an instance's first turn which servers are registered, and with what.
fn servers(pi: &Pi, recorder: &Recorder, members: Vec<String>) -> Result<(), Thrown> {
    let (handle, recorder, seen) = (pi.clone(), recorder.clone(), AtomicBool::new(false));
    let handler: Handler = Arc::new(move |_, ctx| {
        if !seen.swap(true, Ordering::Relaxed) {
            let servers = handle.get_mcp_servers().unwrap_or_default();
            let first = std::iter::once(("servers".to_owned(), servers));
            let payload: Map<String, Value> = first.chain(context(&ctx, &members)).collect();
            recorder.record(Lane::Extension, "servers", Value::Object(payload));
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

/// Offers the command by which a person's step goes to another entry of the session's tree.
fn navigate(pi: &Pi, recorder: &Recorder) -> Result<(), Thrown> {
    let recorder = recorder.clone();
    let handler: CommandHandler = Arc::new(move |arguments, ctx| {
        let recorder = recorder.clone();
        Box::pin(async move {
            let told: Value = serde_json::from_str(&arguments)
                .map_err(|error| Thrown::error(error.to_string()))?;
            let options = NavigateOptions {
                summarize: told["summarize"] == true,
                instructions: None,
                label: told["label"].as_str().map(str::to_owned),
            };
            let entry = told["entry"].as_str().unwrap_or_default();
            let cancelled = ctx.navigate_tree(entry, options).await?;
            recorder.record(
                Lane::Extension,
                "navigated",
                json!({ "cancelled": cancelled }),
            );
            Ok(())
        })
    });
    let description = None;
    pi.register_command(
        "bench-navigate",
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

/// The path that Pi would name an extension by.
pub fn file(folder: &Path, name: &str) -> String {
    folder.join(format!("{name}.ts")).display().to_string()
}
