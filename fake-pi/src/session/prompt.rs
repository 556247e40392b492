//! What a prompt goes through before its run starts: commands, `input` handlers, the queues.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{Deferred, Session};
use crate::instance::{Ctx, Delivery, Judged};
use crate::version::Difference;

/// The error for a prompt that does not say where to queue (pi-host.md 1.5).
const BUSY: &str = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

/// The error for a prompt while the session is compacted or a branch is summed up.
const COMPACTING: &str = "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry.";

/// What became of a prompt, as the response tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
    Started,
    Queued,
    Handled,
}

impl Disposition {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Queued => "queued",
            Self::Handled => "handled",
        }
    }
}

/// A prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) images: Option<Value>,
    /// `steer` or `followUp`.
    pub(crate) behavior: Option<String>,
    /// `rpc`, `interactive` or `extension`.
    pub(crate) source: &'static str,
    /// Whether a leading slash may name a command.
    pub(crate) commands: bool,
}

/// Told once what becomes of a prompt, before its run's first event.
pub(crate) type Told = Box<dyn FnOnce(Disposition) + Send>;

impl Session {
    /// Handles a prompt to the end of its run.
    ///
    /// # Errors
    /// The text of the response when the prompt was rejected; `told` was not called then.
    pub(crate) async fn prompt(self: Arc<Self>, prompt: Prompt, told: Told) -> Result<(), String> {
        {
            let mut state = self.state();
            if state.emitting_settled {
                state.deferred.push(Deferred::Prompt(prompt, told));
                return Ok(());
            }
        }
        if prompt.commands && self.run_command(&prompt.text).await {
            told(Disposition::Handled);
            return Ok(());
        }
        {
            let mut state = self.state();
            if state.compaction.is_some() || state.branch_summary.is_some() {
                return Err(COMPACTING.to_owned());
            }
            state.preflights += 1;
        }
        let behavior = if self.is_running() {
            prompt.behavior.as_deref()
        } else {
            None
        };
        let judged = self
            .instance()
            .emit_input(&prompt.text, prompt.images.clone(), prompt.source, behavior)
            .await;
        self.state().preflights -= 1;
        let Judged::Continue { text, images } = judged else {
            told(Disposition::Handled);
            return Ok(());
        };
        if self.is_running() {
            match prompt.behavior.as_deref() {
                None => return Err(BUSY.to_owned()),
                Some("followUp") => self.queue_prompt(&text, images.as_ref(), Delivery::FollowUp),
                Some(_) => self.queue_prompt(&text, images.as_ref(), Delivery::Steer),
            }
            told(Disposition::Queued);
            return Ok(());
        }
        let mut trigger = Map::new();
        if !self.host.does(Difference::OmitsMessageType) {
            trigger.insert("messageType".to_owned(), "user".into());
        }
        trigger.insert("prompt".to_owned(), text.into());
        if let Some(images) = images {
            trigger.insert("images".to_owned(), images);
        }
        self.start_run(trigger, move || told(Disposition::Started))
            .await;
        Ok(())
    }

    /// [`Session::prompt`] as a value, so that a run can handle a prompt at its own end.
    pub(super) fn prompt_later(
        self: Arc<Self>,
        prompt: Prompt,
        told: Told,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // Who asked was told by `told`; one that is rejected now hears nothing, as on the real Pi.
            let _ = self.prompt(prompt, told).await;
        })
    }

    /// Queues a prompt through its own RPC command (`steer`, `follow_up`): the `input` handlers run, commands are
    /// refused.
    ///
    /// # Errors
    /// Pi's text for a text that names a command.
    pub(crate) async fn queue_input(
        &self,
        text: &str,
        images: Option<Value>,
        delivery: Delivery,
    ) -> Result<Disposition, String> {
        if let Some((name, _)) = self.command_of(text) {
            return Err(format!(
                "Extension command \"/{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
            ));
        }
        let word = if delivery == Delivery::FollowUp {
            "followUp"
        } else {
            "steer"
        };
        let behavior = self.is_running().then_some(word);
        match self
            .instance()
            .emit_input(text, images, self.host.options.mode.source(), behavior)
            .await
        {
            Judged::Handled => Ok(Disposition::Handled),
            Judged::Continue { text, images } => {
                self.queue_prompt(&text, images.as_ref(), delivery);
                Ok(Disposition::Queued)
            }
        }
    }

    fn queue_prompt(&self, text: &str, images: Option<&Value>, delivery: Delivery) {
        let message = self.user_message(text, images);
        let update = {
            let queue = &mut self.state().queue;
            if delivery == Delivery::FollowUp {
                queue.note_follow_up(text);
                queue.push_follow_up(message);
            } else {
                queue.note_steering(text);
                queue.push_steering(message);
            }
            queue.update()
        };
        self.record(update);
    }

    /// A user message of this moment.
    pub(super) fn user_message(&self, text: &str, images: Option<&Value>) -> Value {
        let mut content = vec![json!({"type": "text", "text": text})];
        content.extend(
            images
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .cloned(),
        );
        json!({"role": "user", "content": content, "timestamp": self.host.clock.now_ms()})
    }

    /// The number of the person's prompts that wait.
    pub(crate) fn pending_messages(&self) -> usize {
        self.state().queue.waiting()
    }

    /// Empties the queues and gives their texts.
    pub(crate) fn clear_queue(&self) -> Value {
        let (texts, update) = {
            let queue = &mut self.state().queue;
            (queue.clear(), queue.update())
        };
        self.record(update);
        texts
    }

    /// The command that a text calls, with its arguments.
    fn command_of(&self, text: &str) -> Option<(String, String)> {
        let rest = text.strip_prefix('/')?;
        let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
        let known = self
            .instance()
            .commands()
            .iter()
            .any(|(known, ..)| known == name);
        known.then(|| (name.to_owned(), arguments.to_owned()))
    }

    /// Runs the command that a text calls; says whether there is one. What it throws is reported, not returned.
    async fn run_command(&self, text: &str) -> bool {
        let Some((name, arguments)) = self.command_of(text) else {
            return false;
        };
        let instance = self.instance();
        let commands = instance.commands();
        let Some((_, command, _)) = commands.into_iter().find(|(known, ..)| *known == name) else {
            return false;
        };
        if let Err(thrown) = (command.handler)(arguments, Ctx::new(&instance)).await {
            instance.report(&format!("command:{name}"), "command", &thrown.message);
        }
        true
    }
}
