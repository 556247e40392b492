//! Registrations: Pi's messages, one by one (pi-host.md 3.1, trace 03-register-validation).

use std::time::Duration;

use serde_json::{Value, json};

use super::super::config::{McpExposure, ServerConfig, validate};

fn reason(name: &Value, config: &Value) -> String {
    let error = validate(name, config, "/x/ext.ts").unwrap_err();
    let prefix = r#"Invalid MCP server registered by extension "/x/ext.ts": "#;
    error.strip_prefix(prefix).unwrap().to_owned()
}

fn accepted(config: &Value) -> ServerConfig {
    validate(&json!("n1"), config, "/x").unwrap()
}

#[test]
fn each_failure_has_its_text() {
    let exposures = r#""codemode", "deferred", "direct", "hidden""#;
    let needs =
        r#"server "n1" needs either "command" (stdio) or "url" (streamable HTTP)"#.to_owned();
    let object = r#"server "n1" must be an object"#.to_owned();
    let timeout = r#"server "n1": timeout must be a positive number of seconds"#.to_owned();
    let cases = [
        (Value::Null, object.clone()),
        (json!([]), object.clone()),
        (json!("x"), object),
        (json!({}), needs.clone()),
        (json!({"args": ["x"]}), needs.clone()),
        (json!({"command": 5}), needs.clone()),
        (json!({"type": "stdio", "url": "http://x"}), needs.clone()),
        (json!({"type": "http", "command": "x"}), needs),
        (
            json!({"command": "x", "exposure": "all"}),
            format!(r#"server "n1": exposure must be one of {exposures}"#),
        ),
        (
            json!({"command": "x", "toolExposure": {"t": "all"}}),
            format!(r#"server "n1": toolExposure "t" must be one of {exposures}"#),
        ),
        (
            json!({"command": "x", "toolExposure": []}),
            r#"server "n1": toolExposure must map tool names to exposures"#.into(),
        ),
        (json!({"command": "x", "timeout": 0}), timeout.clone()),
        (json!({"command": "x", "timeout": -1}), timeout.clone()),
        (json!({"command": "x", "timeout": "60"}), timeout.clone()),
        (json!({"command": "x", "timeout": null}), timeout),
        (
            json!({"command": "x", "args": [1]}),
            r#"server "n1": args must be an array of strings"#.into(),
        ),
        (
            json!({"command": "x", "env": {"A": 1}}),
            r#"server "n1": env must map names to strings"#.into(),
        ),
        (
            json!({"command": "x", "cwd": 1}),
            r#"server "n1": cwd must be a string"#.into(),
        ),
        (
            json!({"type": "sse", "url": "http://x"}),
            r#"server "n1": legacy SSE transport is not supported; use the streamable HTTP URL"#
                .into(),
        ),
        (
            json!({"url": "ftp://x"}),
            r#"server "n1": url must be an http or https URL"#.into(),
        ),
        (
            json!({"url": "http://x", "headers": 1}),
            r#"server "n1": headers must map names to strings"#.into(),
        ),
        (
            json!({"url": "http://x", "auth": {}}),
            r#"server "n1": auth is not modelled by the simulated host"#.into(),
        ),
        (
            json!({"enabled": "yes"}),
            r#"server "n1": enabled must be a boolean"#.into(),
        ),
        (
            json!({"description": 1}),
            r#"server "n1": description must be a string"#.into(),
        ),
    ];
    for (config, expected) in cases {
        assert_eq!(reason(&json!("n1"), &config), expected, "{config}");
    }
}

#[test]
fn names_are_letters_digits_and_two_signs() {
    for name in ["a b", "", "a.b", "ä"] {
        let expected =
            format!(r#"invalid server name "{name}" (use letters, digits, "_" and "-")"#);
        assert_eq!(reason(&json!(name), &json!({"command": "x"})), expected);
    }
    for name in ["__proto__", "mcp", "A-9"] {
        assert!(
            validate(&json!(name), &json!({"command": ""}), "/x").is_ok(),
            "{name}"
        );
    }
    assert_eq!(
        reason(&Value::Null, &Value::Null),
        r#"server "undefined" must be an object"#
    );
}

#[test]
fn a_good_registration_is_typed_and_kept() {
    let config = accepted(&json!({
        "command": "gortex", "args": ["mcp"], "env": {"B": "1", "A": "2"}, "exposure": "codemode-deferred",
        "toolExposure": {"x": "codemode-deferred", "s*": "direct", "search": "hidden"}, "more": {"kept": true},
    }));
    assert_eq!(config.command.as_deref(), Some("gortex"));
    assert_eq!(config.args, ["mcp"]);
    assert_eq!(
        config.env,
        [("B".into(), "1".into()), ("A".into(), "2".into())]
    );
    assert_eq!(config.exposure, McpExposure::Codemode);
    assert!(config.enabled);
    assert_eq!(config.json["exposure"], "codemode");
    assert_eq!(config.json["toolExposure"]["x"], "codemode");
    assert_eq!(config.json["more"], json!({"kept": true}));
    assert_eq!(
        config.exposure_of("search"),
        McpExposure::Hidden,
        "an exact name wins over a pattern"
    );
    assert_eq!(config.exposure_of("smart"), McpExposure::Direct);
    assert_eq!(config.exposure_of("other"), McpExposure::Codemode);
    assert_eq!(config.request_timeout(), Duration::from_secs(60));
}

#[test]
fn a_url_wins_over_a_command() {
    let config = accepted(&json!({"command": "x", "url": "https://h/mcp", "timeout": 0.5}));
    assert_eq!(
        (config.command, config.url.as_deref()),
        (None, Some("https://h/mcp"))
    );
}

#[test]
fn timeouts_are_seconds() {
    assert_eq!(
        accepted(&json!({"command": "x", "timeout": 1.5})).request_timeout(),
        Duration::from_millis(1500)
    );
    assert_eq!(
        accepted(&json!({"command": "x", "timeout": 1e300})).request_timeout(),
        Duration::MAX
    );
}
