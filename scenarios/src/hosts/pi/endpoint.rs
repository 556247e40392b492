//! The loopback endpoint at which the real Pi finds the scripted model: OpenAI chat completions, streamed.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use fake_pi::{ModelReply, Piece};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::hosts::model::ScriptedModel;

/// A running endpoint; it ends when this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    port: u16,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Opens an endpoint for `model` on a free loopback port.
    ///
    /// # Errors
    /// When the system gives no port.
    pub async fn open(model: ScriptedModel) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let app = Router::new()
            .route("/v1/chat/completions", post(complete))
            .with_state(model);
        let task = tokio::spawn(async move {
            // It serves until it is dropped; a connection's own error is that connection's.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { port, task })
    }

    /// The text of Pi's `models.json` that names this endpoint as provider `bench` with the models `scripted` and `other`.
    pub fn models_json(&self) -> String {
        json!({ "providers": { "bench": {
            "baseUrl": format!("http://127.0.0.1:{}/v1", self.port),
            "apiKey": "none",
            "api": "openai-completions",
            "models": [{ "id": "scripted" }, { "id": "other" }],
        } } })
        .to_string()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn complete(State(model): State<ScriptedModel>, body: Bytes) -> Response {
    let body: Value = match serde_json::from_slice(&body) {
        Ok(body) => body,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let reply = model.answer(body).await;
    if let Some(failure) = &reply.failure {
        let status =
            StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = json!({ "error": failure.error }).to_string();
        return (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    }
    let events = stream::iter(chunks(&reply)).then(|chunk| async move {
        // Chunks without a pause between them arrive in one write: even a wait of no time would part them.
        if !chunk.pause.is_zero() {
            tokio::time::sleep(chunk.pause).await;
        }
        Ok::<_, Infallible>(Event::default().data(chunk.data))
    });
    Sse::new(events).into_response()
}

/// The `data` of one server-sent event, and how long the stream pauses before it.
struct Chunk {
    pause: Duration,
    data: String,
}

/// A reply as server-sent events, one a piece.
fn chunks(reply: &ModelReply) -> Vec<Chunk> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": "scripted",
            "object": "chat.completion.chunk",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    let mut begun = 0;
    let mut pause = Duration::ZERO;
    // What comes at once comes with the role, as providers send it: older versions show it in `message_start`.
    let first = reply.first_text();
    let with_role = usize::from(!first.is_empty());
    let begin = chunk(json!({ "role": "assistant", "content": first }), None);
    let mut chunks = vec![(Duration::ZERO, begin)];
    for piece in reply.pieces().into_iter().skip(with_role) {
        let delta = match piece {
            Piece::Pause(lasts) => {
                pause += lasts;
                continue;
            }
            Piece::Text(text) => json!({ "content": text }),
            Piece::Call(index) => {
                begun = index;
                let call = &reply.tool_calls[index];
                let function = json!({ "name": call.name, "arguments": "" });
                json!({ "tool_calls": [{ "index": index, "id": call.id, "type": "function", "function": function }] })
            }
            Piece::Arguments(text) => {
                json!({ "tool_calls": [{ "index": begun, "function": { "arguments": text } }] })
            }
        };
        chunks.push((std::mem::take(&mut pause), chunk(delta, None)));
    }
    let mut last = chunk(json!({}), Some(reply.stop.raw()));
    last["usage"] = json!({
        "prompt_tokens": reply.tokens.saturating_sub(1),
        "completion_tokens": reply.tokens.min(1),
        "total_tokens": reply.tokens,
    });
    chunks.push((pause, last));
    let chunks = chunks.into_iter().map(|(pause, chunk)| Chunk {
        pause,
        data: chunk.to_string(),
    });
    let done = Chunk {
        pause: Duration::ZERO,
        data: "[DONE]".to_owned(),
    };
    chunks.chain([done]).collect()
}
