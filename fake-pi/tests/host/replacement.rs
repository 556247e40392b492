//! Replacing the session and being ready, as pi-host.md 5 and 6 observed them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::fixtures::{server, with_server};
use crate::support::{Log, Stage, call, extension, note, noted, play, recorder, slow};
use fake_pi::{Ctx, ModelReply, Pi, STALE, Thrown};
use serde_json::{Value, json};

const LIFE: &[&str] = &[
    "session_start",
    "resources_discover",
    "session_before_switch",
    "session_before_fork",
    "session_shutdown",
];

/// Trace 06-session-replacement: the order, a fresh instance, and the old one that throws on everything.
#[test]
fn a_new_session_gets_a_new_instance_and_the_old_one_is_stale() {
    play(async {
        let log = Log::default();
        let kept: Arc<Mutex<Vec<Pi>>> = Arc::default();
        let (seen, keeping) = (log.clone(), kept.clone());
        let keeper = extension("k", move |pi| {
            note(
                &seen,
                format!(
                    "factory {}",
                    pi.get_mcp_servers()?.as_array().unwrap().len()
                ),
            );
            keeping.lock().unwrap().push(pi.clone());
            Ok(())
        });
        let mut stage = Stage::new(
            vec![keeper, recorder(&log, "A", LIFE), with_server()],
            vec![],
        );
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        let before = stage.ask(json!({"type": "get_state"})).await["data"]["sessionId"].clone();
        let response = stage.ask(json!({"type": "new_session"})).await;
        assert_eq!(response["data"], json!({"cancelled": false}));
        assert_ne!(
            before,
            stage.ask(json!({"type": "get_state"})).await["data"]["sessionId"]
        );
        assert_eq!(
            noted(&log),
            [
                "factory 0",
                "A session_start startup",
                "A resources_discover startup",
                "A session_before_switch new",
                "A session_shutdown new",
                "factory 0",
                "A session_start new",
                "A resources_discover startup"
            ]
        );
        let old = kept.lock().unwrap()[0].clone();
        let stale = Some(Thrown::error(STALE));
        assert_eq!(old.get_all_tools().err(), stale);
        assert_eq!(old.get_commands().err(), stale);
        assert_eq!(old.get_mcp_servers().err(), stale);
        assert_eq!(
            old.register_mcp_server(&json!("x"), &json!({"command": "c"}))
                .err(),
            stale
        );
        assert_eq!(old.send_message(&json!({}), None, None).err(), stale);
        assert_eq!(old.on("input", slow(0, Value::Null)).err(), stale);
        assert!(kept.lock().unwrap()[1].get_all_tools().is_ok());
        let journal = stage.servers.journal();
        let lives: Vec<_> = journal
            .iter()
            .filter(|line| line.ends_with("start") || line.ends_with("eof"))
            .collect();
        assert_eq!(
            lives,
            ["srv start", "srv eof", "srv start"],
            "the old server ends before the new one starts"
        );
        stage.end().await;
    });
}

/// Trace 17-new-session-during-tool-call: the run settles first, its handlers are waited for.
#[test]
fn a_running_turn_is_aborted_and_settled_first() {
    play(async {
        let log = Log::default();
        let waiter = extension("w", |pi| {
            pi.on("tool_call", slow(500, Value::Null)).map(drop)
        });
        let events = &[
            "tool_execution_end",
            "agent_settled",
            "session_shutdown",
            "session_start",
        ];
        let replies = vec![ModelReply::calls(vec![call("c1", "mcp__s__b", json!({}))])];
        let mut stage = Stage::new(
            vec![with_server(), waiter, recorder(&log, "A", events)],
            replies,
        );
        stage.servers.add("srv", server());
        stage.send(json!({"type": "prompt", "message": "hi"}));
        stage
            .until(|record| record["type"] == "tool_execution_start")
            .await;
        stage.ask(json!({"type": "new_session"})).await;
        assert_eq!(
            noted(&log),
            [
                "A session_start startup",
                "A tool_execution_end c1",
                "A agent_settled true",
                "A session_shutdown new",
                "A session_start new"
            ]
        );
        stage.end().await;
    });
}

/// A handler can keep the session.
#[test]
fn a_before_handler_cancels_the_replacement() {
    play(async {
        let log = Log::default();
        let keeper = extension("k", |pi| {
            pi.on("session_before_switch", slow(0, json!({"cancel": true})))
                .map(drop)
        });
        let mut stage = Stage::new(vec![keeper, recorder(&log, "A", LIFE)], vec![]);
        let response = stage.ask(json!({"type": "new_session"})).await;
        assert_eq!(response["data"], json!({"cancelled": true}));
        assert_eq!(
            noted(&log),
            ["A session_start startup", "A resources_discover startup"]
        );
        stage.end().await;
    });
}

/// Section 5, traces 05-rpc-prompt-before-session-start and 05-rpc-new-during-start: lines wait for the first start and
/// overtake every later one.
#[test]
fn a_prompt_waits_for_the_first_start_and_overtakes_the_next() {
    play(async {
        let log = Log::default();
        let seen = log.clone();
        let starter = extension("s", move |pi| {
            let seen = seen.clone();
            let handler = Arc::new(move |_, _| {
                let seen = seen.clone();
                Box::pin(async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    note(&seen, "session_start:done");
                    Ok(Value::Null)
                }) as futures::future::BoxFuture<'static, _>
            });
            pi.on("session_start", handler).map(drop)
        });
        let mut stage = Stage::new(
            vec![
                with_server(),
                starter,
                recorder(&log, "A", &["before_agent_start", "agent_settled"]),
            ],
            vec![],
        );
        stage.servers.add("srv", server());
        stage.prompt("first").await;
        let started = [
            "session_start:done",
            "A before_agent_start",
            "A agent_settled false",
        ];
        assert_eq!(noted(&log), started);
        let replaced = stage.send(json!({"type": "new_session"}));
        tokio::time::sleep(Duration::from_millis(500)).await;
        stage.prompt("second").await;
        stage
            .until(|record| record["id"] == replaced.as_str())
            .await;
        stage.prompt("third").await;
        assert_eq!(
            noted(&log)[3..],
            [
                "A before_agent_start",
                "A agent_settled false",
                "session_start:done",
                "A before_agent_start",
                "A agent_settled false"
            ]
        );
        let has_server = |tools: &Vec<String>| tools.iter().any(|name| name == "mcp__s__b");
        let tools = stage.model.tools();
        assert_eq!(
            tools.iter().map(has_server).collect::<Vec<_>>(),
            [true, false, true]
        );
        assert_eq!(
            stage.model.roles()[2],
            ["system", "user", "assistant", "user"]
        );
        stage.end().await;
    });
}

/// Section 5, trace 05-rpc-new-immediate: right behind `new_session`, a prompt is still the old session's.
#[test]
fn a_prompt_right_behind_new_session_runs_in_the_old_one() {
    play(async {
        let slow_end = extension("e", |pi| {
            pi.on("session_shutdown", slow(1000, Value::Null)).map(drop)
        });
        let mut stage = Stage::new(vec![slow_end], vec![]);
        stage.prompt("first").await;
        let replaced = stage.send(json!({"type": "new_session"}));
        stage.prompt("second").await;
        assert_eq!(
            stage.model.roles()[1],
            ["system", "user", "assistant", "user"]
        );
        stage
            .until(|record| record["id"] == replaced.as_str())
            .await;
        stage.prompt("third").await;
        assert_eq!(stage.model.roles()[2], ["system", "user"]);
        stage.end().await;
    });
}

/// Section 6: resume brings the history back, fork the part before a prompt; reload keeps the session.
#[test]
fn resume_fork_and_reload() {
    play(async {
        let log = Log::default();
        let reloader = extension("r", |pi| {
            let handler = Arc::new(|_, ctx: Ctx| {
                Box::pin(async move {
                    ctx.reload().await?;
                    assert_eq!(ctx.cwd().err(), Some(Thrown::error(STALE)));
                    Ok(())
                }) as futures::future::BoxFuture<'static, Result<(), Thrown>>
            });
            pi.register_command(
                "again",
                fake_pi::Command {
                    description: None,
                    handler,
                },
            )
        });
        let mut stage = Stage::with(
            vec![reloader, recorder(&log, "A", LIFE)],
            vec![],
            |options| {
                options.keep_sessions = true;
            },
        );
        stage.prompt("one").await;
        stage.prompt("two").await;
        let state = stage.ask(json!({"type": "get_state"})).await["data"].clone();
        stage
            .ask(json!({"type": "prompt", "message": "/again"}))
            .await;
        assert_eq!(
            stage.ask(json!({"type": "get_state"})).await["data"]["sessionId"],
            state["sessionId"]
        );
        let entries = stage.ask(json!({"type": "get_entries"})).await["data"]["entries"].clone();
        let prompts: Vec<&Value> = entries
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["message"]["role"] == "user")
            .collect();
        let fork = stage
            .ask(json!({"type": "fork", "entryId": prompts[1]["id"]}))
            .await;
        assert_eq!(fork["data"], json!({"text": "two", "cancelled": false}));
        stage.prompt("three").await;
        let resumed = json!({"type": "switch_session", "sessionPath": state["sessionFile"]});
        assert_eq!(
            stage.ask(resumed).await["data"],
            json!({"cancelled": false})
        );
        stage.prompt("four").await;
        let texts = |index: usize| -> Vec<Value> {
            let request = stage.model.requests()[index].clone();
            let messages = request["messages"].as_array().unwrap().clone();
            let users = messages.iter().filter(|message| message["role"] == "user");
            users
                .map(|message| message["content"][0]["text"].clone())
                .collect()
        };
        assert_eq!(texts(2), ["one", "three"]);
        assert_eq!(texts(3), ["one", "two", "four"]);
        assert_eq!(
            noted(&log),
            [
                "A session_start startup",
                "A resources_discover startup",
                "A session_shutdown reload",
                "A session_start reload",
                "A resources_discover reload",
                "A session_before_fork",
                "A session_shutdown fork",
                "A session_start fork",
                "A resources_discover startup",
                "A session_before_switch resume",
                "A session_shutdown resume",
                "A session_start resume",
                "A resources_discover startup"
            ]
        );
        stage.end().await;
    });
}

/// Section 1.1: a throwing factory ends Pi with exit code 1.
#[test]
fn a_throwing_factory_ends_the_host() {
    play(async {
        let bad = extension("bad.ts", |_| Err(Thrown::error("factory-boom")));
        let stage = Stage::new(vec![bad], vec![]);
        let exit = stage.end().await;
        assert_eq!(exit.code, 1);
        assert_eq!(
            exit.stderr[0],
            "Error: Failed to load extension \"bad.ts\": Failed to load extension: factory-boom"
        );
    });
}

/// Section 4.9: closing stdin aborts the run; a handler that never settles hangs the end.
#[test]
fn the_end_of_stdin_aborts_the_run_and_waits_for_handlers() {
    play(async {
        let log = Log::default();
        let events = &["tool_execution_end", "agent_settled", "session_shutdown"];
        let replies = vec![ModelReply::calls(vec![call("c1", "mcp__s__a", json!({}))])];
        let mut stage = Stage::new(vec![with_server(), recorder(&log, "A", events)], replies);
        stage.servers.add("srv", server());
        stage.send(json!({"type": "prompt", "message": "hi"}));
        stage
            .until(|record| record["type"] == "tool_execution_start")
            .await;
        stage.end().await;
        assert_eq!(
            noted(&log),
            [
                "A tool_execution_end c1",
                "A agent_settled true",
                "A session_shutdown quit"
            ]
        );

        let stuck = extension("s", |pi| {
            pi.on(
                "session_shutdown",
                Arc::new(|_, _| Box::pin(std::future::pending())),
            )
            .map(drop)
        });
        let mut stage = Stage::new(vec![with_server(), stuck], vec![]);
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        let exit = stage.host.close().await;
        assert_eq!(
            (exit.hung, exit.leftover_servers),
            (true, vec!["s".to_owned()])
        );
    });
}
