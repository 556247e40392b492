//! A run from its trigger to `agent_settled` (pi-host.md 1.2, 1.5).

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Deferred, Session};
use crate::agent::{self, system};
use crate::extension::lock;
use crate::fault::Fault;
use crate::instance::RunStart;
use crate::version::Difference;

/// The system prompt of one run, beyond what every run has.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunPrompt {
    /// The text that replaces all of it.
    pub(crate) forced: Option<String>,
}

/// What a run starts with.
enum Start {
    /// New messages.
    Messages(Vec<Value>),
    /// Queued messages, after which no other one is polled before the first request.
    Queued(Vec<Value>),
    /// The history as it is.
    History,
}

impl Session {
    /// Runs the agent on a trigger until it settled. `started` is told after all `before_agent_start` handlers, before
    /// the first event of the run.
    pub(super) async fn start_run(
        self: &Arc<Self>,
        trigger: Map<String, Value>,
        started: impl FnOnce() + Send,
    ) {
        let idle = self.host.does(Difference::IsIdleWhilePreparing);
        if !idle {
            self.begin_run();
        }
        let messages = self.prepare_run(&trigger).await;
        self.flush_bash_messages();
        self.flush_custom_messages();
        started();
        if idle && !self.begin_run() {
            // Another run began meanwhile; this one ends before it began.
            return self.announce_settled(false).await;
        }
        lock(&self.tools).stop_awaiting();
        self.run_agent(Start::Messages(messages)).await;
        while !self.aborting() {
            let again = self.after_run().await || (!self.aborting() && self.before_settle().await);
            if !again || self.aborting() {
                break;
            }
            let Some(start) = self.continuation() else {
                break;
            };
            self.run_agent(start).await;
        }
        if self.aborting() {
            self.cancel_retry();
        }
        self.state().run_prompt = None;
        self.flush_bash_messages();
        self.flush_custom_messages();
        self.settle().await;
    }

    /// Marks the session as busy; says whether it was not.
    fn begin_run(&self) -> bool {
        let mut state = self.state();
        let began = !std::mem::replace(&mut state.running, true);
        if began {
            state.abort_requested = false;
        }
        began
    }

    fn aborting(&self) -> bool {
        self.state().abort_requested
    }

    /// Runs `before_agent_start` and builds the run's first messages: a system message if the prompt changed, the
    /// trigger's own, those that waited for it, those of the handlers.
    async fn prepare_run(&self, trigger: &Map<String, Value>) -> Vec<Value> {
        self.compact_before_run().await;
        let active = self.active_tools();
        let options = system::options(&self.cwd(), &active);
        let render = |options: &Value| system::text(&system::sections(options));
        let untold =
            trigger.contains_key("message") && self.host.does(Difference::StartsOnMessagesUntold);
        let start = if untold {
            RunStart {
                options: options.clone(),
                ..RunStart::default()
            }
        } else {
            self.instance()
                .emit_before_agent_start(trigger, options.clone(), render)
                .await
        };
        let mut messages = Vec::new();
        match (trigger.get("prompt"), trigger.get("message")) {
            (Some(prompt), _) => {
                messages.push(
                    self.user_message(prompt.as_str().unwrap_or_default(), trigger.get("images")),
                );
            }
            (None, Some(message)) => messages.push(message.clone()),
            (None, None) => {}
        }
        messages.append(&mut self.state().next_turn);
        messages.extend(
            start
                .messages
                .iter()
                .map(|message| self.custom_message(message)),
        );
        // A handler that edited the list of tools wins over the tools that are active by now.
        if start.options["selectedTools"] != options["selectedTools"] {
            let names: Vec<String> = names_of(&start.options["selectedTools"]);
            lock(&self.tools).activate(&names);
        }
        let known = system::current(&self.messages()).unwrap_or_default();
        let changed = system::diff(&known["sections"], &system::sections(&start.options));
        if let Some(changed) = changed.filter(|_| !untold) {
            let message = json!({"role": "system", "content": "", "sections": changed, "timestamp": self.host.clock.now_ms()});
            messages.insert(0, message);
        }
        self.state().run_prompt = Some(RunPrompt {
            forced: start.forced,
        });
        messages
    }

    /// The text that a handler forced on this run's requests.
    pub(crate) fn forced_prompt(&self) -> Option<String> {
        self.state()
            .run_prompt
            .as_ref()
            .and_then(|prompt| prompt.forced.clone())
    }

    /// One run of the agent loop, with a signal of its own.
    async fn run_agent(self: &Arc<Self>, start: Start) {
        let signal = CancellationToken::new();
        self.state().signal = Some(signal.clone());
        match start {
            Start::Messages(messages) => agent::run(self, Some(messages), false, &signal).await,
            Start::Queued(messages) => agent::run(self, Some(messages), true, &signal).await,
            Start::History => agent::run(self, None, false, &signal).await,
        }
        self.state().signal = None;
    }

    /// What a further run starts with.
    fn continuation(&self) -> Option<Start> {
        let messages = self.messages();
        let last = messages.last()?;
        if last["role"] != "assistant" {
            return Some(Start::History);
        }
        let mut state = self.state();
        let steering = state.queue.take_steering();
        if !steering.is_empty() {
            return Some(Start::Queued(steering));
        }
        let follow_ups = state.queue.take_follow_up();
        (!follow_ups.is_empty()).then_some(Start::Messages(follow_ups))
    }

    /// Looks at how a run ended: whether to repeat it, or to go on with what was queued meanwhile.
    async fn after_run(&self) -> bool {
        let last = self.state().last_assistant.take();
        if self.aborting() {
            self.cancel_retry();
            return false;
        }
        if let Some((message, entry)) = last {
            if self.prepare_retry(&message, &entry).await {
                return !self.aborting();
            }
            if self.aborting() {
                self.cancel_retry();
                return false;
            }
            if message["stopReason"] == "error" {
                self.give_up_retry(message["errorMessage"].as_str().unwrap_or_default());
            }
            // Nobody looks at an answer that was aborted.
            if message["stopReason"] != "aborted" && self.compact_after(&message, &entry).await {
                return !self.aborting();
            }
        }
        !self.aborting() && !self.state().queue.is_empty()
    }

    /// `agent_settled`, and what waited for it.
    async fn settle(self: &Arc<Self>) {
        let aborted = {
            let mut state = self.state();
            state.running = false;
            state.emitting_settled = true;
            state.abort_requested && !self.host.makes(Fault::HidesAborts)
        };
        self.announce_settled(aborted).await;
        let deferred = {
            let mut state = self.state();
            state.emitting_settled = false;
            std::mem::take(&mut state.deferred)
        };
        for action in deferred {
            match action {
                Deferred::Prompt(prompt, told) => self.clone().prompt_later(prompt, told).await,
                Deferred::Custom(message) => self.clone().run_on_custom(message).await,
            }
        }
        self.wake_if_idle();
    }
}

impl Session {
    async fn announce_settled(&self, aborted: bool) {
        let mut event = json!({"type": "agent_settled"});
        if !self.host.does(Difference::OmitsAborted) {
            event["aborted"] = aborted.into();
        }
        self.instance().emit(event.clone()).await;
        self.record(event);
    }
}

fn names_of(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}
