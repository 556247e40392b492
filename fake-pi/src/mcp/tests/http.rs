//! A server over HTTP: what is sent when, what comes of each kind of response, and how a session ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::super::client::Connection;
use super::super::failure::{Cause, Failure};
use super::super::http::{HttpPort, HttpRequest, HttpResponse, HttpSession};
use super::peer::{initialized, listed, options};

const MINUTE: Duration = Duration::from_secs(60);

/// A response to one request; none is a connection that breaks.
type Reply = Option<(u16, &'static [(&'static str, &'static str)], String)>;

/// A server that gives the same replies to whoever asks, in order by the request's method of HTTP.
struct Network {
    posts: Mutex<VecDeque<Reply>>,
    gets: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<(u128, String)>>,
    started: Instant,
}

impl Network {
    fn new(posts: Vec<Reply>, gets: Vec<Reply>) -> Arc<Self> {
        Arc::new(Self {
            posts: Mutex::new(posts.into()),
            gets: Mutex::new(gets.into()),
            seen: Mutex::default(),
            started: Instant::now(),
        })
    }

    /// What was asked so far: milliseconds and the request in short.
    fn seen(&self) -> Vec<(u128, String)> {
        self.seen.lock().unwrap().clone()
    }

    fn session(self: &Arc<Self>) -> HttpSession {
        let headers = [("X-Own".to_owned(), " own ".to_owned())];
        HttpSession::new(self.clone(), "http://server.test/mcp", &headers).unwrap()
    }
}

impl HttpPort for Network {
    fn fetch(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, String>> {
        let header = |name: &str| {
            let value = request.headers().get(name)?;
            Some(format!(" {name}={}", value.to_str().unwrap()))
        };
        let said: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let named = ["mcp-session-id", "mcp-protocol-version", "last-event-id"];
        let carried: String = named.into_iter().filter_map(header).collect();
        let what = said["method"].as_str().unwrap_or("-");
        let short = format!("{} {what}{carried}", request.method());
        assert_eq!(request.headers()["x-own"], "own");
        let now = self.started.elapsed().as_millis();
        self.seen.lock().unwrap().push((now, short));
        let reply = match request.method().as_str() {
            "POST" => self.posts.lock().unwrap().pop_front().flatten(),
            "GET" => {
                let next = self.gets.lock().unwrap().pop_front();
                next.unwrap_or(Some((405, &[] as &[_], String::new())))
            }
            _ => Some((200, &[] as &[_], String::new())),
        };
        let response = reply
            .ok_or_else(|| "broken".to_owned())
            .map(|(status, headers, body)| {
                let mut response = http::Response::builder().status(status);
                for (name, value) in headers {
                    response = response.header(*name, *value);
                }
                let pieces = futures::stream::iter([Ok(body.into_bytes())]);
                response.body(pieces.boxed()).unwrap()
            });
        Box::pin(std::future::ready(response))
    }
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json; charset=utf-8")];
const NAMED: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("mcp-session-id", "s1"),
];

fn answer(headers: &'static [(&'static str, &'static str)], id: i64, result: Value) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    Some((200, headers, body))
}

/// The replies to a handshake that gives the session a name, and to the first list.
fn welcome() -> Vec<Reply> {
    vec![
        answer(NAMED, 1, initialized(json!({"tools": {}}))),
        Some((202, &[], String::new())),
        answer(JSON, 2, listed(&["a"])),
    ]
}

/// A call on a connection that was welcomed, after these further replies.
async fn called(posts: Vec<Reply>, gets: Vec<Reply>) -> (Result<Value, Failure>, Arc<Network>) {
    let network = Network::new(welcome().into_iter().chain(posts).collect(), gets);
    let session = network.session();
    let connection = Connection::open_http(&session, options(MINUTE))
        .await
        .unwrap();
    let (updates, _news) = unbounded_channel();
    let call = connection.call("a", json!({}), CancellationToken::new(), updates);
    let called = call.await.map(|output| output.content[0]["text"].clone());
    connection.close().await;
    (called, network)
}

#[tokio::test(start_paused = true)]
async fn each_request_carries_what_was_agreed_and_the_end_is_told() {
    let done = answer(
        JSON,
        3,
        json!({"content": [{"type": "text", "text": "done"}]}),
    );
    let (called, network) = called(vec![done], vec![]).await;
    assert_eq!(called, Ok(json!("done")));
    let agreed = "mcp-session-id=s1 mcp-protocol-version=2025-11-25";
    let seen: Vec<String> = network.seen().into_iter().map(|(_, short)| short).collect();
    assert_eq!(
        seen,
        [
            "POST initialize".to_owned(),
            format!("POST notifications/initialized {agreed}"),
            format!("GET - {agreed}"),
            format!("POST tools/list {agreed}"),
            format!("POST tools/call {agreed}"),
            format!("DELETE - {agreed}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_fails_the_call_in_words_of_its_own() {
    let long = "x".repeat(600);
    let cases: Vec<(Reply, String, Cause)> = vec![
        (None, "fetch failed".into(), Cause::Network),
        (
            Some((500, &[], format!(" {long} "))),
            format!(
                "MCP HTTP request failed with status 500: {}...",
                "x".repeat(497)
            ),
            Cause::Status(500),
        ),
        (
            Some((400, &[], String::new())),
            "MCP HTTP request failed with status 400".into(),
            Cause::Status(400),
        ),
        (
            Some((404, &[], "gone".into())),
            "MCP session expired".into(),
            Cause::SessionExpired,
        ),
        (
            Some((401, &[], String::new())),
            "MCP server requires authentication".into(),
            Cause::Unauthorized,
        ),
        (
            Some((202, &[], String::new())),
            "MCP server accepted request tools/call without a response".into(),
            Cause::Status(202),
        ),
        (
            Some((200, &[], "text".into())),
            "Unsupported MCP response content type: missing".into(),
            Cause::Status(200),
        ),
        (
            Some((200, JSON, "{}".into())),
            "Invalid JSON-RPC message".into(),
            Cause::Other,
        ),
    ];
    for (reply, text, cause) in cases {
        let (called, _) = called(vec![reply], vec![]).await;
        assert_eq!(called, Err(Failure { text, cause }));
    }
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_stream_is_opened_again_five_times_in_a_row() {
    let failing = || Some((503, &[] as &[_], String::new()));
    let network = Network::new(welcome(), (0..9).map(|_| failing()).collect());
    let session = network.session();
    let connection = Connection::open_http(&session, options(MINUTE))
        .await
        .unwrap();
    sleep(Duration::from_secs(120)).await;
    let opened: Vec<u128> = network
        .seen()
        .into_iter()
        .filter(|(_, short)| short.starts_with("GET"))
        .map(|(now, _)| now)
        .collect();
    assert_eq!(opened, [0, 1000, 3000, 7000, 15_000, 31_000]);
    assert!(!connection.is_closed(), "the rest goes on without it");
    connection.close().await;
    assert!(connection.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_is_refused_fails_the_handshake_and_a_name_is_given_back() {
    let mut posts = welcome();
    posts[1] = Some((403, &[], "no".into()));
    let network = Network::new(posts, vec![]);
    let session = network.session();
    let opened = Connection::open_http(&session, options(MINUTE)).await;
    let failure = opened.err().map(|failure| failure.text);
    assert_eq!(
        failure.as_deref(),
        Some("MCP HTTP request failed with status 403: no")
    );
    session.close().await;
    session.close().await;
    let ends = network.seen();
    let ends = ends.iter().filter(|(_, short)| short.starts_with("DELETE"));
    assert_eq!(ends.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_does_not_wait_for_the_receipt_of_its_cancellation() {
    /// Answers a handshake, and nothing after it.
    struct Stuck(Arc<Network>);

    impl HttpPort for Stuck {
        fn fetch(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, String>> {
            let is_over = request.method() == "POST" && self.0.posts.lock().unwrap().is_empty();
            let fetched = self.0.fetch(request);
            if is_over {
                return Box::pin(std::future::pending());
            }
            fetched
        }
    }

    let network = Network::new(welcome(), vec![]);
    let stuck = Arc::new(Stuck(network.clone()));
    let headers = [("x-own".to_owned(), "own".to_owned())];
    let session = HttpSession::new(stuck, "http://server.test/mcp", &headers).unwrap();
    let second = Duration::from_secs(1);
    let connection = Connection::open_http(&session, options(second))
        .await
        .unwrap();
    let (updates, _news) = unbounded_channel();
    let before = Instant::now();
    let call = connection.call("a", json!({}), CancellationToken::new(), updates);
    let failure = call.await.err().map(|failure| failure.text);
    assert_eq!(
        failure.as_deref(),
        Some("MCP request timed out after 1000ms")
    );
    assert_eq!(before.elapsed(), second);
    let last = network.seen().pop().map(|(_, short)| short);
    assert!(last.is_some_and(|last| last.starts_with("POST notifications/cancelled")));
    connection.close().await;
}

#[test]
fn a_header_that_is_none_is_refused_in_nodes_words() {
    let port: Arc<dyn HttpPort> = Arc::new(super::super::http::NoHttp);
    for (name, value, what) in [
        ("a b", "x", "\"a b\" is an invalid header name"),
        ("x", "a\nb", "\"a\nb\" is an invalid header value"),
    ] {
        let headers = [(name.to_owned(), value.to_owned())];
        let failure = HttpSession::new(port.clone(), "http://s/", &headers)
            .err()
            .unwrap();
        assert_eq!(failure.text, format!("Headers.append: {what}."));
        assert!(failure.is_transient());
    }
}
