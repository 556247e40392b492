//! The scripted model, one for both hosts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fake_pi::{Arguments, ModelReply, Pause, Stop, ToolCall};
use serde_json::{Value, json};

use super::script;
use crate::case::model::StopsBy;
use crate::case::{Answer, Call};
use crate::trace::recorder::Recorder;
use crate::trace::{Lane, normal};

/// Answers requests with a case's answers, in order, and records both.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    answers: Arc<Vec<Answer>>,
    taken: Arc<Mutex<usize>>,
    recorder: Recorder,
}

impl ScriptedModel {
    /// A model that gives these answers.
    pub fn new(answers: Vec<Answer>, recorder: Recorder) -> Self {
        Self {
            answers: Arc::new(answers),
            taken: Arc::default(),
            recorder,
        }
    }

    /// Answers one request, an OpenAI chat-completions body, after the answer's delay.
    ///
    /// A request for which the case has no answer is told so with a status that Pi does not retry.
    pub async fn answer(&self, body: Value) -> ModelReply {
        let number = {
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            *taken += 1;
            *taken
        };
        self.recorder
            .record(Lane::Model, "request", normal::model_request(&body));
        let Some(answer) = self.answers.get(number - 1) else {
            self.recorder
                .record(Lane::Model, "no_answer", json!({ "request": number }));
            return ModelReply::failure(
                400,
                json!({ "message": format!("the case has no answer for request {number}") }),
            );
        };
        tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
        self.recorder.record(Lane::Model, "answer", told(answer));
        reply(answer)
    }
}

/// An answer as the trace keeps it.
fn told(answer: &Answer) -> Value {
    if let Some(error) = &answer.error {
        return json!({ "status": error.status, "error": error.message });
    }
    let mut told = json!({ "say": answer.say, "calls": answer.calls.iter().map(recorded).collect::<Vec<_>>() });
    if let Some(stop) = answer.stop {
        told["stop"] = json!(stop);
    }
    told
}

fn reply(answer: &Answer) -> ModelReply {
    if let Some(error) = &answer.error {
        return ModelReply::failure(error.status, json!({ "message": error.message }));
    }
    let pause = |pause: &crate::case::model::Pause| Pause {
        after: pause.after,
        lasts: Duration::from_millis(pause.for_ms),
    };
    ModelReply {
        text: answer.say.clone(),
        tool_calls: answer.calls.iter().map(scripted).collect(),
        stop: match answer.stop {
            Some(StopsBy::Length) => Stop::Length,
            None if answer.calls.is_empty() => Stop::Stop,
            None => Stop::ToolCalls,
        },
        failure: None,
        pauses: answer.pauses.iter().map(pause).collect(),
        tokens: answer.tokens,
    }
}

fn recorded(call: &Call) -> Value {
    match &call.raw {
        Some(raw) => json!({ "id": call.id, "tool": call.tool, "raw": raw }),
        None => json!({ "id": call.id, "tool": call.tool, "args": script::arguments(call) }),
    }
}

fn scripted(call: &Call) -> ToolCall {
    ToolCall {
        id: call.id.clone(),
        name: call.tool.clone(),
        arguments: match &call.raw {
            Some(raw) => Arguments::Raw(raw.clone()),
            None => Arguments::Json(script::arguments(call)),
        },
    }
}
