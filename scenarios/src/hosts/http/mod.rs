//! The servers of a case that are reached over HTTP: one application for both hosts. The real Pi finds it on a loopback
//! port, the simulated one hands requests to it in process.

mod session;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::response::IntoResponse;
use fake_gortex::DaemonScript;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::session::Session;
use crate::case::Case;
use crate::case::http::{HttpRule, HttpServer};
use crate::trace::Lane;
use crate::trace::recorder::Recorder;

/// The path under which a server is found.
pub const PATH: &str = "/mcp";
const SESSION: &str = "mcp-session-id";
const EVENTS: &str = "text/event-stream";

/// The scripted servers of one play. Dropping it ends all that is under way in them.
#[derive(Clone)]
pub struct HttpServers {
    servers: BTreeMap<String, Arc<Server>>,
    _life: Arc<tokio_util::sync::DropGuard>,
}

struct Server {
    name: String,
    manner: HttpServer,
    script: DaemonScript,
    /// Where its processes would run.
    cwd: PathBuf,
    recorder: Recorder,
    life: CancellationToken,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    sessions: BTreeMap<String, Arc<Session>>,
    /// How many there were, for their names.
    begun: usize,
    /// How often each rule has matched.
    matched: BTreeMap<usize, u64>,
}

impl HttpServers {
    /// The servers of a case whose processes would run in `cwd`.
    pub fn new(case: &Case, cwd: &Path, recorder: &Recorder) -> Self {
        let life = CancellationToken::new();
        let server = |(name, manner): (&String, &HttpServer)| {
            let server = Server {
                name: name.clone(),
                manner: manner.clone(),
                script: case.servers.get(name).cloned().unwrap_or_default(),
                cwd: cwd.to_owned(),
                recorder: recorder.clone(),
                life: life.clone(),
                inner: Mutex::default(),
            };
            (name.clone(), Arc::new(server))
        };
        Self {
            servers: case.http.iter().map(server).collect(),
            _life: Arc::new(life.drop_guard()),
        }
    }

    /// The application of one server.
    pub fn router(&self, name: &str) -> Option<Router> {
        let server = self.servers.get(name)?.clone();
        Some(Router::new().fallback(serve).with_state(server))
    }
}

/// What a rule, or the lack of one, makes of a request before anything is done.
enum Verdict {
    /// This answer.
    Scripted(HttpRule, StatusCode),
    /// What the server would do.
    Usual(HttpRule),
}

async fn serve(
    State(server): State<Arc<Server>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let verdict = server.judge(&method, &message, &headers);
    let (status, rule) = match &verdict {
        Verdict::Scripted(rule, status) => (status.as_u16(), rule),
        Verdict::Usual(rule) => (0, rule),
    };
    server.record(&method, &message, &headers, status);
    tokio::time::sleep(Duration::from_millis(rule.delay_ms)).await;
    match verdict {
        Verdict::Scripted(rule, status) => {
            let mut answer = (status, rule.body).into_response();
            for (name, value) in &rule.headers {
                if let (Ok(name), Ok(value)) = (
                    name.parse::<axum::http::HeaderName>(),
                    value.parse::<axum::http::HeaderValue>(),
                ) {
                    answer.headers_mut().insert(name, value);
                }
            }
            answer
        }
        Verdict::Usual(rule) => server.answer(&method, &headers, message, &rule).await,
    }
}

impl Server {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides at once, so that what is decided is recorded in the order in which requests came.
    fn judge(&self, method: &Method, message: &Value, headers: &HeaderMap) -> Verdict {
        let mut inner = self.inner();
        let mut chosen = None;
        for (index, rule) in self.manner.rules.iter().enumerate() {
            let is =
                |want: &Option<String>, have: &str| want.as_deref().is_none_or(|want| want == have);
            let said = message["method"].as_str().unwrap_or_default();
            if !is(&rule.method, method.as_str()) || !is(&rule.message, said) {
                continue;
            }
            let matched = inner.matched.entry(index).or_default();
            *matched += 1;
            if chosen.is_none() && rule.nth.is_none_or(|nth| nth == *matched) {
                chosen = Some(rule.clone());
            }
        }
        let rule = chosen.unwrap_or_default();
        let session = headers.get(SESSION).and_then(|name| name.to_str().ok());
        if rule.forgets
            && let Some(session) = session
        {
            inner.sessions.remove(session);
        }
        let is_first = message["method"] == "initialize";
        let unknown = self.manner.sessions
            && !is_first
            && session.is_none_or(|session| !inner.sessions.contains_key(session));
        let scripted = rule
            .status
            .and_then(|status| StatusCode::from_u16(status).ok());
        match scripted {
            Some(status) => Verdict::Scripted(rule, status),
            None if unknown => Verdict::Scripted(rule, StatusCode::NOT_FOUND),
            None if *method == Method::GET
                && !self.manner.own_stream
                && !headers.contains_key("last-event-id") =>
            {
                Verdict::Scripted(rule, StatusCode::METHOD_NOT_ALLOWED)
            }
            None => Verdict::Usual(rule),
        }
    }

    /// Records what a request carries; of its headers those that the protocol or the case is about, since the rest is
    /// Node's own.
    fn record(&self, method: &Method, message: &Value, headers: &HeaderMap, status: u16) {
        let kept = |name: &str| {
            name.starts_with("mcp-")
                || name.starts_with("x-")
                || name == "last-event-id"
                || [ACCEPT, CONTENT_TYPE, AUTHORIZATION]
                    .iter()
                    .any(|known| known == name)
        };
        let headers: BTreeMap<&str, String> = headers
            .iter()
            .filter(|(name, _)| kept(name.as_str()))
            .map(|(name, value)| {
                (
                    name.as_str(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect();
        let event = if *method == Method::GET {
            "stream"
        } else {
            "http"
        };
        let mut payload =
            json!({ "server": self.name, "method": method.as_str(), "headers": headers });
        if !message.is_null() {
            payload["message"] = message["method"].clone();
        }
        if status != 0 {
            payload["status"] = json!(status);
        }
        self.recorder.record(Lane::Mcp, event, payload);
    }

    async fn answer(
        self: &Arc<Self>,
        method: &Method,
        headers: &HeaderMap,
        message: Value,
        rule: &HttpRule,
    ) -> Response<Body> {
        let name = headers.get(SESSION).and_then(|name| name.to_str().ok());
        let known = {
            let inner = self.inner();
            match name {
                Some(name) => inner.sessions.get(name).cloned(),
                None => inner.sessions.values().next_back().cloned(),
            }
        };
        match (method, known) {
            (&Method::DELETE, Some(session)) => {
                self.inner().sessions.remove(&session.name);
                session.end().await;
                StatusCode::OK.into_response()
            }
            (&Method::GET, Some(session)) => {
                let after = headers.get("last-event-id").and_then(|id| id.to_str().ok());
                let messages = match after.and_then(|id| session.resume(id)) {
                    Some(answer) => answer.boxed(),
                    None => session.own_stream().boxed(),
                };
                events(messages)
            }
            (&Method::POST, known) => {
                let session = match known {
                    Some(session) if message["method"] != "initialize" => session,
                    _ => self.begin(),
                };
                let mut response = self.converse(&session, message, rule).await;
                if self.manner.sessions
                    && let Ok(name) = session.name.parse()
                {
                    response.headers_mut().insert(SESSION, name);
                }
                response
            }
            _ => StatusCode::BAD_REQUEST.into_response(),
        }
    }

    fn begin(self: &Arc<Self>) -> Arc<Session> {
        let mut inner = self.inner();
        inner.begun += 1;
        let name = format!("session-{}", inner.begun);
        let recorder = self.recorder.clone();
        let journal = Arc::new(move |entry| super::record_journal(&recorder, entry));
        let daemon = fake_gortex::Daemon::new(self.script.clone(), self.cwd.clone(), journal);
        let daemon = daemon.named(&self.name);
        let session = Session::begin(name.clone(), &daemon, self.life.clone());
        inner.sessions.insert(name, session.clone());
        session
    }

    async fn converse(
        &self,
        session: &Arc<Session>,
        message: Value,
        rule: &HttpRule,
    ) -> Response<Body> {
        let is_request = message.get("id").is_some() && message.get("method").is_some();
        if !is_request {
            session.tell(&message).await;
            return StatusCode::ACCEPTED.into_response();
        }
        let answer = session.ask(&message, self.manner.streams).await;
        if let Some(id) = &rule.breaks_after_id {
            session.keep(id, answer);
            let broken = format!("id: {id}\ndata:\n\n");
            return ([(CONTENT_TYPE, EVENTS)], broken).into_response();
        }
        if self.manner.streams {
            return events(answer.boxed());
        }
        let last = answer.fold(None, |_, message| std::future::ready(Some(message)));
        match last.await {
            Some(answer) => (
                [(CONTENT_TYPE, "application/json")],
                Value::to_string(&answer),
            )
                .into_response(),
            None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// Messages as a stream of events.
fn events(messages: BoxStream<'static, Value>) -> Response<Body> {
    let events =
        messages.map(|message| Ok::<_, Infallible>(format!("event: message\ndata: {message}\n\n")));
    // A first line without meaning, so that the answer's head leaves before the first event is there.
    let start = stream::iter([Ok(": open\n".to_owned())]);
    (
        [(CONTENT_TYPE, EVENTS)],
        Body::from_stream(start.chain(events)),
    )
        .into_response()
}
