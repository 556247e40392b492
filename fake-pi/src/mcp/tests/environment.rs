//! What a registration starts once its references are resolved (pi-host.md 4.6, 4.9).

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::super::config::validate;
use super::super::environment::{Surroundings, prepare};
use super::super::launch::{Launch, ServerLauncher, ServerProcess};

/// A launcher that answers shell commands from a fixed text and starts nothing.
struct Answers(Option<&'static str>);

impl ServerLauncher for Answers {
    fn launch(&self, _launch: Launch) -> BoxFuture<'static, Result<ServerProcess, String>> {
        Box::pin(async { Err("spawn x ENOENT".to_owned()) })
    }

    fn run_shell(&self, _command: &str) -> BoxFuture<'static, Option<String>> {
        let answer = self.0.map(str::to_owned);
        Box::pin(async move { answer })
    }
}

async fn prepared(config: Value, shell: Option<&'static str>) -> Result<Option<Launch>, String> {
    let config = validate(&json!("s"), &config, "/x").unwrap();
    let surroundings = Surroundings {
        cwd: PathBuf::from("/work/p"),
        home: PathBuf::from("/home/u"),
        variables: BTreeMap::from([("SET".into(), "v".into()), ("EMPTY".into(), String::new())]),
    };
    prepare(&config, &surroundings, &Answers(shell)).await
}

#[tokio::test]
async fn references_are_put_in() {
    let env =
        json!({"A": "${SET}-$SET$$SET$!x${1}$1${", "B": "", "C": "!ignored", "D": "a!b$SET.x"});
    let config =
        json!({"command": "~/bin/x", "args": ["~", "~x", "$SET"], "cwd": "../q/./r", "env": env});
    let launch = prepared(config, Some("out")).await.unwrap().unwrap();
    assert_eq!(launch.command, "/home/u/bin/x");
    assert_eq!(
        launch.args,
        ["/home/u", "~x", "$SET"],
        "only values of env are templates"
    );
    assert_eq!(launch.cwd, PathBuf::from("/work/q/r"));
    let values = ["A", "B", "C", "D"].map(|name| launch.env[name].as_str());
    assert_eq!(values, ["v-v$SET!x${1}$1${", "", "out", "a!bv.x"]);
}

#[tokio::test]
async fn a_server_inherits_what_its_registration_does_not_set() {
    let config = json!({"command": "x", "env": {"EMPTY": "now $SET", "OWN": "o"}});
    let launch = prepared(config, None).await.unwrap().unwrap();
    let expected = [("EMPTY", "now v"), ("OWN", "o"), ("SET", "v")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(launch.env, BTreeMap::from(expected));
    let config = json!({"command": "x", "env": {"SET": ""}});
    let launch = prepared(config, None).await.unwrap().unwrap();
    assert_eq!(launch.env["SET"], "", "an empty value wins too");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let failure = |value: &'static str| async move {
        prepared(json!({"command": "x", "env": {"M": value}}), None)
            .await
            .unwrap_err()
    };
    let what = r#"Failed to resolve MCP server "s" env "M" from"#;
    assert_eq!(
        failure("${NOPE_NOT_SET}").await,
        format!("{what} environment variable: NOPE_NOT_SET")
    );
    assert_eq!(
        failure("$EMPTY").await,
        format!("{what} environment variable: EMPTY")
    );
    assert_eq!(
        failure("$A$SET$B$A").await,
        format!("{what} environment variables: A, B")
    );
    assert_eq!(
        failure("!exit 3").await,
        format!("{what} shell command: exit 3")
    );
}

#[tokio::test]
async fn a_server_with_a_url_starts_nothing() {
    assert_eq!(prepared(json!({"url": "http://h"}), None).await, Ok(None));
}
