//! The protocol's side of one launch: the handshake, the list of tools, and what a call does in which order.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
    Implementation, InitializeRequestParams, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};

use super::Process;
use super::wire::{frame, note};
use crate::hook::repeated;
use crate::matching::{self, Rule};
use crate::script::CallRule;
use crate::{surface, work};

/// How much of a cut frame is written, in bytes.
const CUT: usize = 20;

impl Rule for CallRule {
    const SECTION: &'static str = "daemon.calls";
    fn nth(&self) -> Option<u64> {
        self.nth
    }
}

/// Answers the requests of one launch.
pub(super) struct Server(Arc<Process>);

impl Server {
    pub(super) fn new(process: Arc<Process>) -> Self {
        Self(process)
    }

    /// Runs a part of the process: it stops where it is when the process ends or the client cancels the request.
    async fn alive<T>(
        &self,
        context: &RequestContext<RoleServer>,
        part: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        tokio::select! {
            biased;
            () = self.0.life.cancelled() => Err(ErrorData::internal_error("the daemon has ended", None)),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
            done = part => done,
        }
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let process = &self.0;
        let given = request.arguments.unwrap_or_default();
        let arguments = work::flatten(&given);
        let rule = matching::choose(
            &process.script.calls,
            &process.state,
            process.name.as_deref(),
            |rule| {
                rule.tool.as_ref().is_none_or(|tool| *tool == request.name)
                    && (matching::holds(&given, &rule.when)
                        || matching::holds(&arguments, &rule.when))
            },
        )
        .map_err(|error| ErrorData::internal_error(format!("cannot count rules: {error}"), None))?
        .cloned();
        let listed = self
            .0
            .tools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .any(|name| *name == request.name);
        // A tool that is not listed can still be scripted: a call may be under way when it is withdrawn.
        let Some(rule) = rule.or_else(|| listed.then(CallRule::default)) else {
            return Err(ErrorData::invalid_params(
                format!("unknown tool: {}", request.name),
                None,
            ));
        };

        wait(rule.delay_ms).await;
        let outcome = self.work(&rule, &request.name, &arguments);
        self.tell_progress(&rule, context).await;
        wait(rule.answer_after_ms).await;
        if !rule.promote.is_empty() || !rule.withdraw.is_empty() || rule.list_changed > 0 {
            process.change_tools(&rule.promote, &rule.withdraw, rule.list_changed);
        }
        process.wire.say(&rule.messages).await;
        if let Some(raw) = &rule.raw_before {
            let note = json!({ "raw": crate::journal::bounded(raw, 4096) });
            process.wire.send(raw.clone().into_bytes(), note).await;
        }
        let answer = answer(&rule, outcome);
        self.play_wire(&rule, context, &answer).await?;
        answer
    }

    /// Tells how far the call is, as often as the script says, if the caller gave a token for it.
    async fn tell_progress(&self, rule: &CallRule, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else {
            return;
        };
        for progress in &rule.progress {
            wait(progress.after_ms).await;
            let mut params = json!({ "progressToken": token, "progress": progress.progress });
            if let Some(total) = progress.total {
                params["total"] = json!(total);
            }
            if let Some(message) = &progress.message {
                params["message"] = json!(message);
            }
            let message = json!({ "method": "notifications/progress", "params": params });
            self.0
                .wire
                .say(&message.as_object().cloned().into_iter().collect::<Vec<_>>())
                .await;
        }
    }

    /// What the call does to the disk, and what the tool says about it.
    fn work(
        &self,
        rule: &CallRule,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let fails = rule.error.is_some() || rule.is_error;
        let outcome = if rule.work.unwrap_or(!fails) {
            work::perform(&self.0.root, tool, arguments)
        } else {
            Ok(format!("{tool}: nothing done"))
        };
        for change in &rule.files {
            work::put(&self.0.root, change)?;
        }
        outcome
    }

    /// Plays what a rule does to the wire instead of, or besides, a plain answer.
    async fn play_wire(
        &self,
        rule: &CallRule,
        context: &RequestContext<RoleServer>,
        answer: &Result<CallToolResult, ErrorData>,
    ) -> Result<(), ErrorData> {
        let wire = &self.0.wire;
        let id = &context.id;
        if let Some(raw) = &rule.raw {
            wire.take(id);
            let note = json!({ "id": id, "raw": crate::journal::bounded(raw, 4096) });
            wire.send(raw.clone().into_bytes(), note).await;
        } else if rule.partial_frame || (rule.result.is_some() && rule.exit.is_none()) {
            let message = match (&rule.result, answer) {
                (Some(result), _) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                (None, Ok(result)) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                (None, Err(error)) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
            };
            wire.take(id);
            let mut bytes = frame(&message);
            let mut told = note(&message);
            if rule.partial_frame {
                bytes.truncate(CUT);
                told = json!({ "id": id, "partial": bytes.len() });
            }
            wire.send(bytes, told).await;
        } else if rule.silent {
            wire.take(id);
        }
        if let Some(code) = rule.exit {
            self.0.exit(code).await;
        }
        Ok(())
    }
}

/// The answer that a rule makes of what the tool says.
fn answer(rule: &CallRule, outcome: Result<String, String>) -> Result<CallToolResult, ErrorData> {
    if let Some(error) = &rule.error {
        return Err(ErrorData::new(
            ErrorCode(error.code),
            error.message.clone(),
            error.data.clone(),
        ));
    }
    let (text, failed) = match outcome {
        Ok(text) => (text, false),
        Err(text) => (text, true),
    };
    let text = rule.text.clone().unwrap_or(text);
    let content = vec![ContentBlock::text(repeated(&text, rule.repeat))];
    let mut result = if rule.is_error || failed {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content.clone_from(&rule.structured);
    Ok(result)
}

async fn wait(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let script = &self.0.script;
        let scripted = script.capabilities.clone().map(Value::Object);
        let capabilities = scripted
            .and_then(|scripted| serde_json::from_value(scripted).ok())
            .unwrap_or_else(|| {
                ServerCapabilities::builder()
                    .enable_tools()
                    .enable_tool_list_changed()
                    .build()
            });
        let name = self.0.name.as_deref().unwrap_or("gortex");
        let mut config = ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(name, script.version.clone()));
        config.instructions.clone_from(&script.instructions);
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.alive(&context, async {
            wait(self.0.script.initialize_after_ms).await;
            self.0.initialized.notify_one();
            self.negotiate_initialize(&request)
        })
        .await
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.alive(&context, async {
            wait(self.0.script.list_after_ms).await;
            let tools = self.0.tools.lock().unwrap_or_else(PoisonError::into_inner);
            let entries = &self.0.script.entries;
            let listed = tools
                .iter()
                .map(|name| surface::tool(name, entries.get(name)))
                .collect::<Result<_, _>>();
            let listed = listed.map_err(|error| {
                ErrorData::internal_error(format!("cannot list a scripted tool: {error}"), None)
            })?;
            Ok(ListToolsResult::with_all_items(listed))
        })
        .await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.alive(&context, self.call(request, &context))
            .await
            .map(CallToolResponse::from)
    }
}
