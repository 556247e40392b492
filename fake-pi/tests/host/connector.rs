//! Servers as Pi connects them, as pi-host.md 4 observed it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::fixtures::{server, with_server};
use crate::support::server::Behaviour;
use crate::support::{Stage, call, extension, play, sync};
use fake_pi::{ModelReply, Pi};
use serde_json::{Value, json};

fn direct(command: &str) -> Value {
    json!({"command": command, "exposure": "direct"})
}

/// Section 4.5, trace 04-startup-wait-10s.
#[test]
fn the_first_prompt_waits_ten_seconds_for_declared_tools_and_the_second_not_at_all() {
    play(async {
        let mut stage = Stage::new(vec![with_server()], vec![]);
        stage.servers.add(
            "srv",
            Behaviour {
                start: Duration::from_secs(15),
                ..server()
            },
        );
        let started = tokio::time::Instant::now();
        stage.prompt("one").await;
        assert_eq!(started.elapsed().as_secs(), 10);
        let notice = stage.of_type("extension_ui_request").pop().unwrap();
        assert_eq!(
            (&notice["message"], &notice["notifyType"]),
            (
                &json!(
                    "MCP servers are still connecting; their tools become available once connected."
                ),
                &json!("info")
            )
        );
        stage.prompt("two").await;
        assert_eq!(started.elapsed().as_secs(), 10);
        tokio::time::sleep(Duration::from_secs(6)).await;
        stage.prompt("three").await;
        let own = ["read", "bash", "edit", "write"];
        let tools = stage.model.tools();
        assert_eq!(
            tools[1]
                .iter()
                .filter(|name| !own.contains(&name.as_str()))
                .count(),
            0
        );
        assert_eq!(
            tools[2]
                .iter()
                .filter(|name| name.starts_with("mcp__s__"))
                .count(),
            3
        );
        stage.end().await;
    });
}

/// Section 4.6: one notice when all attempts settled; a failure ends the wait.
#[test]
fn servers_that_fail_are_told_of_once() {
    play(async {
        let registrant = extension("r.ts", |pi| {
            for (name, command) in [("gone", "nowhere"), ("dead", "dies"), ("fine", "srv")] {
                pi.register_mcp_server(&json!(name), &direct(command))?;
            }
            Ok(())
        });
        let mut stage = Stage::new(vec![registrant], vec![]);
        stage.servers.add("srv", server());
        stage.servers.add(
            "dies",
            Behaviour {
                dies: Some("fatal: no daemon\n"),
                ..server()
            },
        );
        stage.prompt("hi").await;
        let notices: Vec<_> = stage
            .of_type("extension_ui_request")
            .iter()
            .map(|one| one["message"].clone())
            .collect();
        assert_eq!(
            notices,
            [
                "MCP servers need attention:\n  gone: failed: spawn nowhere ENOENT\n  dead: failed: MCP connection closed\nRun \
              /mcp to fix."
            ]
        );
        stage
            .ask(json!({"type": "prompt", "message": "/mcp"}))
            .await;
        assert_eq!(
            stage.of_type("extension_ui_request").pop().unwrap()["message"],
            "gone: failed (direct)\n    spawn nowhere ENOENT\ndead: failed (direct)\n    MCP connection closed\n    fatal: no \
             daemon\nfine: connected, 3 tools (direct)"
        );
        stage
            .ask(json!({"type": "prompt", "message": "/mcp reconnect nosuch"}))
            .await;
        assert_eq!(
            stage.of_type("extension_ui_request").pop().unwrap()["message"],
            "No MCP server named \"nosuch\"."
        );
        stage.end().await;
    });
}

/// Section 1.1, trace 05-register-in-before-agent-start: ours runs before the connector's, so that very prompt waits.
#[test]
fn a_server_registered_in_before_agent_start_is_waited_for() {
    play(async {
        let registrant = extension("r.ts", |pi| {
            let own = pi.clone();
            pi.on(
                "before_agent_start",
                sync(move |_, _| {
                    own.register_mcp_server(&json!("s"), &direct("srv"))?;
                    Ok(Value::Null)
                }),
            )
            .map(drop)
        });
        let mut stage = Stage::new(vec![registrant], vec![]);
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        assert_eq!(
            stage.model.tools()[0]
                .iter()
                .filter(|name| name.starts_with("mcp__s__"))
                .count(),
            3
        );
        stage.end().await;
    });
}

/// Section 3.3, trace 16-reregister-inside-tool-call, and the unregistered server of 03-register-change-unregister.
#[test]
fn a_changed_or_withdrawn_server_fails_the_calls_to_it() {
    play(async {
        let pis: Arc<Mutex<Vec<Pi>>> = Arc::default();
        let keep = pis.clone();
        let registrant = extension("r.ts", move |pi| {
            keep.lock().unwrap().push(pi.clone());
            pi.register_mcp_server(&json!("s"), &direct("srv"))?;
            let own = pi.clone();
            pi.on(
                "tool_call",
                sync(move |event, _| {
                    if event.get("toolCallId") == Some("c1".into()) {
                        let changed = json!({"command": "srv", "exposure": "direct", "timeout": 9});
                        own.register_mcp_server(&json!("s"), &changed)?;
                    }
                    Ok(Value::Null)
                }),
            )
            .map(drop)
        });
        let one = |id: &str| ModelReply::calls(vec![call(id, "mcp__s__b", json!({}))]);
        let mut stage = Stage::new(
            vec![registrant],
            vec![
                one("c1"),
                ModelReply::text("ok"),
                one("c2"),
                ModelReply::text("ok"),
                one("c3"),
            ],
        );
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        stage.prompt("again").await;
        pis.lock().unwrap()[0].unregister_mcp_server("s").unwrap();
        stage.prompt("last").await;
        assert_eq!(
            stage.tool_texts(),
            [
                "MCP server \"s\" is still starting.",
                "b ok {}",
                "Tool mcp__s__b not found"
            ]
        );
        let starts = stage
            .servers
            .journal()
            .iter()
            .filter(|line| *line == "srv start")
            .count();
        assert_eq!(starts, 2);
        stage.end().await;
    });
}

/// Sections 4.2 and 4.3: other exposures are listed in the prompt and declare the tool that reaches them.
#[test]
fn undeclared_servers_are_listed_in_the_prompt() {
    play(async {
        let registrant = extension("r.ts", |pi| {
            pi.register_mcp_server(
                &json!("quiet"),
                &json!({"command": "srv", "description": "Knows things."}),
            )
        });
        let mut stage = Stage::new(vec![registrant], vec![]);
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        assert_eq!(
            stage.model.tools()[0],
            ["read", "bash", "edit", "write", "codemode"]
        );
        assert_eq!(
            stage.model.requests()[0]["messages"][0]["content"],
            "<system prompt>\n\n<mcp_servers>\nMCP servers whose tools are not declared to you. Call the tools of `codemode` \
             servers from codemode scripts.\n- mcp__quiet (codemode): Knows things.\n</mcp_servers>"
        );
        stage.end().await;
    });
}

/// Section 4.7, trace 04-list-changed: a call in flight finds its tool gone, a new tool is there from the next request on.
#[test]
fn a_changed_list_takes_tools_away_and_brings_new_ones() {
    play(async {
        let calls = |ids: [&str; 2]| {
            let tools = ids.map(|id| id.split('-').next().unwrap().to_owned());
            let made = ids
                .iter()
                .zip(tools)
                .map(|(id, tool)| call(id, &format!("mcp__s__{tool}"), json!({})));
            ModelReply::calls(made.collect())
        };
        let slow = extension("slow", |pi| {
            let handler = Arc::new(|event: fake_pi::Event, _| {
                let waits = event.get("toolCallId") == Some("gone-1".into());
                Box::pin(async move {
                    tokio::time::sleep(Duration::from_millis(u64::from(waits) * 100)).await;
                    Ok(Value::Null)
                }) as futures::future::BoxFuture<'static, _>
            });
            pi.on("tool_call", handler).map(drop)
        });
        let replies = vec![
            ModelReply::calls(vec![call("chg-0", "mcp__s__chg", json!({}))]),
            calls(["gone-1", "new-1"]),
            calls(["gone-2", "new-2"]),
        ];
        // The change comes while the second request is out, so the model does not know of it.
        let replies = replies
            .into_iter()
            .map(|reply| reply.lasting(Duration::from_millis(50)));
        let mut stage = Stage::new(vec![with_server(), slow], replies.collect());
        let changes = Some(("chg", vec!["chg", "new"]));
        let behaviour = Behaviour {
            tools: vec!["chg", "gone"],
            changes,
            listing: Duration::from_millis(25),
            ..Behaviour::default()
        };
        stage.servers.add("srv", behaviour);
        stage.prompt("hi").await;
        assert_eq!(
            stage.tool_texts()[1..],
            [
                "MCP tool \"s/gone\" is no longer available.",
                "Tool mcp__s__new not found",
                "Tool mcp__s__gone not found",
                "new ok {}"
            ]
        );
        let named = |index: usize| stage.model.tools()[index][4..].to_vec();
        assert_eq!(
            (named(1), named(2)),
            (
                vec!["mcp__s__chg".into(), "mcp__s__gone".into()],
                vec!["mcp__s__chg".into(), "mcp__s__new".to_owned()]
            )
        );
        let requests = stage.model.requests();
        let systems = requests[2]["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] == "system");
        assert_eq!(
            systems.count(),
            1,
            "later changes fold into the leading message"
        );
        stage.end().await;
    });
}

/// Section 4.7, trace 04-server-crash-reconnect: a lost server fails the call, keeps its tools, and comes back.
#[test]
fn a_lost_server_is_started_again_by_the_next_call() {
    play(async {
        let one = |id: &str, tool: &str| ModelReply::calls(vec![call(id, tool, json!({}))]);
        let replies = vec![
            one("c1", "mcp__s__die"),
            ModelReply::text("ok"),
            one("c2", "mcp__s__b"),
        ];
        let mut stage = Stage::new(vec![with_server()], replies);
        stage.servers.add(
            "srv",
            Behaviour {
                tools: vec!["b", "die"],
                crashes: Some("die"),
                ..Behaviour::default()
            },
        );
        stage.prompt("hi").await;
        stage
            .ask(json!({"type": "prompt", "message": "/mcp"}))
            .await;
        assert_eq!(
            stage.of_type("extension_ui_request").pop().unwrap()["message"],
            "s: disconnected, reconnects on next call (direct)\n    Connection closed"
        );
        stage.prompt("again").await;
        assert_eq!(stage.tool_texts(), ["MCP connection closed", "b ok {}"]);
        assert_eq!(
            stage.of_type("extension_ui_request").len(),
            1,
            "nobody is notified of a lost server"
        );
        let starts = stage
            .servers
            .journal()
            .iter()
            .filter(|line| *line == "srv start")
            .count();
        assert_eq!(starts, 2);
        stage.end().await;
    });
}
