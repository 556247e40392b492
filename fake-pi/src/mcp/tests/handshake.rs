//! The handshake, its failures, and what the server may ask meanwhile (pi-host.md 4.1, 4.6).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::super::client::Connection;
use super::super::failure::Failure;
use super::peer::{Peer, connected, initialized, listed, options};

const MINUTE: Duration = Duration::from_secs(60);

/// Opens a connection to a server that answers `initialize` with this, and returns how that went.
async fn opened_after(answer: Value) -> Result<Connection, String> {
    let (mut peer, stream) = Peer::new();
    let opening = tokio::spawn(Connection::open(Box::new(stream), options(MINUTE)));
    peer.line().await;
    peer.answer(1, answer).await;
    let opened = opening.await.unwrap();
    if opened.is_err() {
        assert_eq!(
            peer.line().await,
            "",
            "after a bad answer nothing is said and the input is closed"
        );
    }
    opened.map_err(|failure| failure.text)
}

/// Why a connection did not open.
async fn why_not(opening: JoinHandle<Result<Connection, Failure>>) -> Option<String> {
    let opened = opening.await.unwrap();
    opened.err().map(|failure| failure.text)
}

#[tokio::test(start_paused = true)]
async fn the_frames_are_those_of_the_real_pi() {
    let (mut peer, stream) = Peer::new();
    let opening = tokio::spawn(Connection::open(Box::new(stream), options(MINUTE)));
    let initialize = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{"roots":{}},"clientInfo":{"name":"pi","version":"1.6.0"}}}"#
    );
    assert_eq!(peer.line().await, initialize);
    peer.answer(1, initialized(json!({"tools": {}}))).await;
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    );
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#
    );
    let mut page = listed(&["a", "b"]);
    page["nextCursor"] = "p2".into();
    peer.answer(2, page).await;
    let next = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"p2"}}"#;
    assert_eq!(peer.line().await, next);
    peer.answer(3, listed(&["c"])).await;
    let connection = opening.await.unwrap().unwrap();
    let names: Vec<String> = connection
        .tools()
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    connection.close().await;
    assert_eq!(peer.line().await, "", "closing ends the server's input");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tools_is_asked_for_none() {
    let mut answer = initialized(json!({"resources": {}}));
    answer["instructions"] = " use me \n".into();
    let connection = opened_after(answer).await.unwrap();
    assert!(connection.tools().is_empty());
    assert!(connection.has_resources());
    assert_eq!(connection.instructions(), Some("use me"));
}

#[tokio::test(start_paused = true)]
async fn older_versions_pass_and_others_fail() {
    let mut answer = initialized(json!({}));
    for version in ["2025-06-18", "2025-03-26", "2024-11-05"] {
        answer["protocolVersion"] = version.into();
        assert!(opened_after(answer.clone()).await.is_ok(), "{version}");
    }
    answer["protocolVersion"] = "1999-01-01".into();
    let error = opened_after(answer).await.err();
    assert_eq!(
        error.as_deref(),
        Some("MCP server selected unsupported protocol version 1999-01-01")
    );
}

#[tokio::test(start_paused = true)]
async fn a_bad_answer_fails() {
    for spoiled in [
        "protocolVersion",
        "capabilities",
        "serverInfo",
        "instructions",
    ] {
        let mut answer = initialized(json!({}));
        answer[spoiled] = json!(5);
        let error = opened_after(answer).await.err();
        assert_eq!(
            error.as_deref(),
            Some("Invalid MCP initialize result"),
            "{spoiled}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_or_the_end_is_told_as_it_came() {
    let (mut peer, stream) = Peer::new();
    let opening = tokio::spawn(Connection::open(Box::new(stream), options(MINUTE)));
    peer.line().await;
    peer.raw(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"not today"}}"#)
        .await;
    assert_eq!(why_not(opening).await.as_deref(), Some("not today"));

    let (mut peer, stream) = Peer::new();
    let opening = tokio::spawn(Connection::open(Box::new(stream), options(MINUTE)));
    peer.line().await;
    drop(peer);
    assert_eq!(
        why_not(opening).await.as_deref(),
        Some("MCP connection closed")
    );
}

#[tokio::test(start_paused = true)]
async fn an_echo_is_answered_and_fails_on_our_own_answer() {
    let (mut peer, stream) = Peer::new();
    let opening = tokio::spawn(Connection::open(Box::new(stream), options(MINUTE)));
    for _ in 0..2 {
        let line = peer.line().await;
        peer.raw(&line).await;
    }
    assert_eq!(
        why_not(opening).await.as_deref(),
        Some("Method not found: initialize")
    );
}

#[tokio::test(start_paused = true)]
async fn a_mute_server_fails_in_time_and_is_sent_no_cancellation() {
    let (mut peer, stream) = Peer::new();
    let started = Instant::now();
    let opening = tokio::spawn(Connection::open(
        Box::new(stream),
        options(Duration::from_millis(2500)),
    ));
    peer.line().await;
    assert_eq!(
        why_not(opening).await.as_deref(),
        Some("MCP request timed out after 2500ms")
    );
    assert_eq!(started.elapsed(), Duration::from_millis(2500));
    assert_eq!(peer.line().await, "");
}

#[tokio::test(start_paused = true)]
async fn noise_is_ignored_and_questions_are_answered() {
    let (mut peer, stream) = Peer::new();
    let opening = tokio::spawn(Connection::open(Box::new(stream), options(MINUTE)));
    peer.line().await;
    peer.raw("Starting up...").await;
    peer.raw(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#).await;
    peer.raw(r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#)
        .await;
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","id":"q","result":{}}"#
    );
    peer.answer(1, initialized(json!({}))).await;
    peer.line().await;
    peer.raw(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#)
        .await;
    let roots = r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///work/a%20b","name":"a b"}]}}"#;
    assert_eq!(peer.line().await, roots);
    peer.raw(r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}"#)
        .await;
    let refusal = concat!(
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"#,
        r#""message":"Method not found: sampling/createMessage"}}"#
    );
    assert_eq!(peer.line().await, refusal);
    assert!(opening.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_tool_without_schema_fails_the_server() {
    let (mut peer, stream) = Peer::new();
    let opening = tokio::spawn(Connection::open(Box::new(stream), options(MINUTE)));
    peer.line().await;
    peer.answer(1, initialized(json!({"tools": {}}))).await;
    peer.line().await;
    peer.line().await;
    peer.answer(2, json!({"tools": [{"name": "a"}]})).await;
    assert_eq!(
        why_not(opening).await.as_deref(),
        Some("Invalid entry in MCP tools/list result")
    );
    assert_eq!(
        peer.line().await,
        "",
        "a dropped connection closes the server's input"
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connection_closes_the_input() {
    let (mut peer, connection) = connected(&["a"]).await;
    drop(connection);
    assert_eq!(peer.line().await, "");
}
