//! One tool call: the hook before it runs, guidance and diffs on its result (H1, H6, H7, E1-E6).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{GraphTools, Instance, State};
use crate::edits::{Budget, Entry, Watch, Writes, merge_details, writes_by_name};
use crate::hook::{Decision, Envelope, translate};
use crate::ports::offload;
use crate::{Block, ResultPatch, ToolCallFacts, ToolResultFacts};

impl Instance {
    /// Asks the hook about a call, then begins to watch what it writes, as late as can be before it runs.
    pub(super) async fn preflight(&self, call: ToolCallFacts) -> Option<Block> {
        let decision = self.decide(&call).await;
        if decision.block {
            return Some(Block {
                reason: decision.reason,
            });
        }
        if !decision.additional_context.trim().is_empty() {
            // The model never reads the result of a call that codemode made, only that of the codemode call.
            let read = call.parent_id.as_ref().unwrap_or(&call.id).clone();
            let guidance = decision.additional_context;
            self.keep(|state| state.guidance.entry(read).or_default().push(guidance));
        }
        self.watch(call).await;
        None
    }

    async fn decide(&self, call: &ToolCallFacts) -> Decision {
        let settings = self.settings(&call.cwd);
        if !settings.enforce || !self.is_forwarded().await {
            return Decision::default();
        }
        let translated = translate(&call.name, &call.input);
        let envelope = Envelope::tool_call(&call.cwd, &call.session_id, &translated);
        self.ask(&settings, "tool_call", envelope, &call.cwd).await
    }

    /// Whether calls go to the hook: not while there is no graph tool to use instead of what it would block (H7).
    async fn is_forwarded(&self) -> bool {
        if !self.state().without_graph_tools {
            return true;
        }
        let found = self.graph_tools(Instant::now() + self.caps.hook_call).await;
        if found == Some(GraphTools::Callable) {
            self.state().without_graph_tools = false;
        }
        found == Some(GraphTools::Callable)
    }

    async fn watch(&self, call: ToolCallFacts) {
        let (writes, id) = (&self.ports.writes, call.id.clone());
        let watch = match writes_by_name(&call.name) {
            Some(Writes::Nothing) => None,
            Some(Writes::Unnamed) => {
                Some(Watch::unnamed(writes, self.owner, self.folder(&call.cwd)))
            }
            Some(Writes::Unknown) => Some(Watch::unknown(writes, self.owner)),
            Some(Writes::Files(_)) | None => self.watch_files(call).await,
        };
        let Some(watch) = watch else { return };
        let replaced = self.keep(|state| state.watches.insert(id, watch));
        // A claim is given back only once our own lock is free.
        drop(replaced);
    }

    /// Watches what a call writes by its arguments; `None` where that is nothing.
    async fn watch_files(&self, call: ToolCallFacts) -> Option<Watch> {
        let (table, owner) = (Arc::clone(&self.ports.writes), self.owner);
        let (name, folder) = (call.name, call.cwd);
        let (tool, cwd, input) = (name.clone(), folder.clone(), call.input);
        let home = self.environment.home.clone();
        let (budget, _stop) = self.budget();
        // The arguments may be large, so they are read where that holds nobody up.
        let begin = move || {
            let written = (tool.as_str(), &input);
            Watch::begin_call(&table, owner, written, &cwd, home.as_deref(), &budget())
        };
        let found = timeout(self.caps.diff_in_all, offload(&*self.ports.work, begin)).await;
        found.ok().flatten().unwrap_or_else(|| {
            // What it writes is not known in time, so for the others it may write anything.
            self.log(&format!(
                "no diff of {name}: its files could not be read in time"
            ));
            Some(Watch::unnamed(
                &self.ports.writes,
                self.owner,
                self.folder(&folder),
            ))
        })
    }

    /// Changes what is known of the calls in flight, unless the instance has ended: shutdown may run on another thread
    /// than a preflight, and what came after it would never be forgotten (E6).
    pub(super) fn keep<T>(&self, change: impl FnOnce(&mut State) -> T) -> Option<T> {
        let mut state = self.state();
        if self.ended.is_cancelled() {
            // The change holds a claim, which must not end under our lock.
            drop(state);
            return None;
        }
        Some(change(&mut state))
    }

    /// A session's folder where links lead, looked up when the session began, since a preflight must not block.
    pub(super) fn folder(&self, cwd: &Path) -> PathBuf {
        match &self.state().session {
            Some(session) if session.cwd == cwd => session.folder.clone(),
            _ => cwd.to_path_buf(),
        }
    }

    /// Patches a result with what was gathered for it.
    pub(super) async fn complete(&self, result: ToolResultFacts) -> Option<ResultPatch> {
        let (watch, guidance) = {
            let mut state = self.state();
            (
                state.watches.remove(&result.id),
                state.guidance.remove(&result.id),
            )
        };
        if self.ended.is_cancelled() {
            return None;
        }
        let mut patch = ResultPatch::default();
        match (guidance, &result.content) {
            (Some(guidance), Some(content)) => {
                let mut content = content.clone();
                content.push(json!({"type": "text", "text": guidance.join("\n\n")}));
                patch.content = Some(content);
                // Pi drops it from a result whose content is replaced without it.
                patch
                    .structured_content
                    .clone_from(&result.structured_content);
            }
            // Pi keeps a list that another extension hid with something that is none. To put ours there would lose it.
            (Some(_), None) => self.log("guidance dropped: the result's content is no list"),
            (None, _) => {}
        }
        if let Some(watch) = watch.filter(Watch::shows_diffs) {
            let compare = self.compare(watch, result.is_error);
            let entries = self
                .until_ended(result.abort.as_ref(), compare)
                .await
                .unwrap_or_default();
            patch.details = merge_details(result.details.as_ref(), &entries);
        }
        (patch != ResultPatch::default()).then_some(patch)
    }

    /// What begins the time of a call's diff work once it has a thread, and a guard. Work that nobody waits for any
    /// more, since the turn was aborted, the instance ended or the wait was over, stops when the guard is dropped.
    fn budget(&self) -> (impl FnOnce() -> Budget + Send + 'static, DropGuard) {
        let stop = CancellationToken::new();
        let guard = stop.clone().drop_guard();
        let time = self.caps.diff;
        (move || Budget::new(time, stop), guard)
    }

    async fn compare(&self, watch: Watch, failed: bool) -> Vec<Entry> {
        let (budget, _stop) = self.budget();
        let watch = Arc::new(watch);
        let watched = Arc::clone(&watch);
        let compare = move || {
            let mut log = Vec::new();
            (watched.finish(failed, budget(), &mut log), log)
        };
        match timeout(self.caps.diff_in_all, offload(&*self.ports.work, compare)).await {
            Ok(Some((entries, log))) => {
                log.iter().for_each(|line| self.log(line));
                entries
            }
            // The work was lost: say nothing rather than something wrong.
            Ok(None) => Vec::new(),
            Err(_) => watch.give_up(),
        }
    }
}

/// The glue spawns every handler's future, so each must be `Send`.
const _: fn(&Instance, ToolCallFacts, ToolResultFacts, crate::TurnFacts) =
    |instance, call, result, turn| {
        fn is_send(_: impl Send) {}
        is_send(instance.tool_call(call));
        is_send(instance.tool_result(result));
        is_send(instance.before_agent_start(turn));
    };
