//! Registering MCP servers, as pi-host.md 3 observed it.

use std::sync::Arc;
use std::time::Duration;

use crate::support::fixtures::{server, with_server};
use crate::support::{Log, Stage, extension, note, noted, play, sync};
use fake_pi::{Command, Connector, Ctx, Pi, Thrown};
use futures::future::BoxFuture;
use serde_json::{Value, json};

fn direct(command: &str) -> Value {
    json!({"command": command, "exposure": "direct"})
}

/// The error of a registration, if it has one.
fn refused(outcome: Result<(), Thrown>) -> String {
    outcome
        .err()
        .map(|thrown| thrown.message)
        .unwrap_or_default()
}

/// Sections 3.1 and 3.2: validation comes first, then who owns the name, then which names clash.
#[test]
fn names_belong_to_the_extension_that_registered_them_first() {
    play(async {
        let log = Log::default();
        let owner = extension("one.ts", |pi| {
            pi.register_mcp_server(&json!("own"), &direct("x"))
        });
        let seen = log.clone();
        let other = extension("two.ts", move |pi| {
            for (name, config) in [
                (json!("own"), json!({})),
                (json!("own"), direct("y")),
                (json!("a-b"), direct("y")),
                (json!("a_b"), direct("y")),
            ] {
                note(&seen, refused(pi.register_mcp_server(&name, &config)));
            }
            // Inside one factory all of these wait, so they do not see each other.
            note(
                &seen,
                pi.get_mcp_servers()?.as_array().unwrap().len().to_string(),
            );
            let (late, own) = (seen.clone(), pi.clone());
            pi.on(
                "session_start",
                sync(move |_, _| {
                    note(
                        &late,
                        refused(own.register_mcp_server(&json!("a-B"), &direct("z"))),
                    );
                    note(
                        &late,
                        refused(own.register_mcp_server(&json!("o-k"), &direct("z"))),
                    );
                    note(
                        &late,
                        refused(own.register_mcp_server(&json!("o_k"), &direct("z"))),
                    );
                    own.unregister_mcp_server("own")?;
                    note(
                        &late,
                        own.get_mcp_servers()?.as_array().unwrap().len().to_string(),
                    );
                    Ok(Value::Null)
                }),
            )
            .map(drop)
        });
        let stage = Stage::with(vec![owner, other], vec![], |options| {
            options.connector = Connector::Absent;
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            noted(&log),
            [
                "Invalid MCP server registered by extension \"two.ts\": server \"own\" needs either \"command\" (stdio) or \
                 \"url\" (streamable HTTP)",
                "MCP server \"own\" is already registered by extension \"one.ts\"",
                "",
                "",
                "1",
                "",
                "",
                "MCP server \"o_k\" conflicts with registered server \"o-k\"",
                "5"
            ]
        );
        stage.end().await;
    });
}

/// Section 3.3, trace 03-register-change-unregister: the change is announced before the registration returns.
#[test]
fn a_registration_is_announced_at_once_with_the_full_list() {
    play(async {
        let log = Log::default();
        let (heard, did) = (log.clone(), log.clone());
        let listener = extension("l", move |pi| {
            let heard = heard.clone();
            pi.on(
                "mcp_servers_change",
                sync(move |event, _| {
                    note(
                        &heard,
                        format!(
                            "change {}",
                            crate::support::words(&event.get("servers").unwrap(), "name").join(",")
                        ),
                    );
                    Ok(Value::Null)
                }),
            )
            .map(drop)
        });
        let registrant = extension("r", move |pi| {
            pi.register_mcp_server(&json!("early"), &direct("srv"))?;
            let (did, own) = (did.clone(), pi.clone());
            pi.on(
                "session_start",
                sync(move |_, _| {
                    own.register_mcp_server(&json!("late"), &direct("srv"))?;
                    note(&did, "registered");
                    own.unregister_mcp_server("early")?;
                    own.unregister_mcp_server("unknown")?;
                    Ok(Value::Null)
                }),
            )
            .map(drop)
        });
        let stage = Stage::new(vec![listener, registrant], vec![]);
        stage.servers.add("srv", server());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            noted(&log),
            ["change early,late", "registered", "change late"]
        );
        let starts = stage
            .servers
            .journal()
            .iter()
            .filter(|line| *line == "srv start")
            .count();
        assert_eq!(
            starts, 1,
            "what is registered in session_start starts once, what is gone never"
        );
        stage.end().await;
    });
}

/// Section 3.4, traces 03-no-mcp and 03-no-mcp-own-listener.
#[test]
fn without_a_connector_each_server_is_reported_once() {
    play(async {
        for own_listener in [false, true] {
            let registrant = extension("r.ts", move |pi| {
                pi.register_mcp_server(&json!("s1"), &direct("srv"))?;
                if own_listener {
                    pi.on("mcp_servers_change", sync(|_, _| Ok(Value::Null)))?;
                }
                let own = pi.clone();
                pi.on(
                    "input",
                    sync(move |_, _| {
                        own.register_mcp_server(&json!("s2"), &direct("srv"))?;
                        own.register_mcp_server(&json!("s2"), &direct("srv"))?;
                        Ok(Value::Null)
                    }),
                )
                .map(drop)
            });
            let mut stage = Stage::with(vec![registrant], vec![], |options| {
                options.connector = Connector::Absent;
            });
            stage.prompt("hi").await;
            let errors = stage.of_type("extension_error");
            if own_listener {
                assert_eq!(errors, Vec::<Value>::new());
            } else {
                assert_eq!(errors.len(), 2);
                assert_eq!(
                    errors[0],
                    json!({"type": "extension_error", "extensionPath": "r.ts", "event": "register_mcp_server",
                        "error": "MCP server \"s1\" is registered, but no loaded extension connects MCP servers; another \
                                  extension may have replaced the built-in MCP support"})
                );
            }
            let commands =
                stage.ask(json!({"type": "get_commands"})).await["data"]["commands"].clone();
            assert_eq!(crate::support::words(&commands, "name"), ["llama"]);
            stage.end().await;
        }
    });
}

/// Section 3.4, trace 03-mcp-command-replaced, and e03b: in the factory `/mcp` replaces, later it only doubles.
#[test]
fn whoever_registers_the_mcp_command_in_its_factory_replaces_the_connector() {
    play(async {
        let command = || Command {
            description: None,
            handler: Arc::new(|_, _: Ctx| Box::pin(async { Ok(()) }) as BoxFuture<'static, _>),
        };
        let taker = extension("t.ts", move |pi: &Pi| {
            pi.register_command("mcp", command())?;
            pi.register_mcp_server(&json!("s"), &direct("srv"))
        });
        let mut stage = Stage::new(vec![taker], vec![]);
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        assert_eq!(stage.of_type("extension_error").len(), 1);
        assert_eq!(stage.servers.journal(), Vec::<String>::new());
        let exit = stage.end().await;
        assert!(
            exit.stderr[0]
                .contains("registers command `/mcp`, so built-in extension `mcp` was not loaded")
        );

        let late = extension("l.ts", move |pi: &Pi| {
            let own = pi.clone();
            pi.on(
                "session_start",
                sync(move |_, _| own.register_command("mcp", command()).map(|()| Value::Null)),
            )
            .map(drop)
        });
        let mut stage = Stage::new(vec![late], vec![]);
        let commands = stage.ask(json!({"type": "get_commands"})).await["data"]["commands"].clone();
        assert_eq!(
            crate::support::words(&commands, "name"),
            ["mcp:1", "llama", "mcp:2"]
        );
        stage.end().await;
    });
}

/// Section 3.5: `mcp.json` wins over a registration of the same namespace.
#[test]
fn configured_servers_win_over_registered_ones() {
    play(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        std::fs::write(
            &file,
            json!({"mcpServers": {"s": direct("other"), "bad name": {}}}).to_string(),
        )
        .unwrap();
        let agent_dir = folder.path().to_path_buf();
        let mut stage = Stage::with(vec![with_server()], vec![], |options| {
            options.agent_dir = agent_dir;
        });
        stage.servers.add("srv", server());
        stage.servers.add("other", server());
        stage.prompt("hi").await;
        assert_eq!(stage.servers.journal()[0], "other start");
        assert!(!stage.servers.journal().contains(&"srv start".into()));
        stage
            .ask(json!({"type": "prompt", "message": "/mcp"}))
            .await;
        let shown = stage.of_type("extension_ui_request").pop().unwrap()["message"]
            .as_str()
            .unwrap()
            .to_owned();
        let path = file.to_string_lossy();
        assert_eq!(
            shown,
            format!(
                "s: connected, 3 tools (direct)\nconfig error: {path}: invalid server name \"bad name\" (use letters, \
                     digits, \"_\" and \"-\")\noverridden: \"s\" registered by e0.ts is overridden by \"s\" in {path}"
            )
        );
        stage.end().await;
    });
}
