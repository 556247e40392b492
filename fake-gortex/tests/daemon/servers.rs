//! Servers other than Gortex: what a script can make them say.

use std::sync::Arc;

use super::support::{Client, script};
use fake_gortex::{Daemon, Launch, MemoryJournal};
use serde_json::{Value, json};

/// The tools that the next answer lists, by their whole entries.
async fn entries(client: &mut Client) -> Vec<Value> {
    client.request("tools/list", None).await;
    let answer = client.line().await.expect("answer");
    answer["result"]["tools"].as_array().expect("tools").clone()
}

#[tokio::test(start_paused = true)]
async fn entries_capabilities_and_instructions_are_the_scripts() {
    let folder = tempfile::tempdir().expect("folder");
    let toml = r#"
        instructions = "Adds."
        capabilities = { tools = {}, resources = {} }
        tools = ["add", "other"]
        [entries.add]
        description = "Adds one"
        inputSchema = { type = "object", required = ["n"] }
        annotations = { readOnlyHint = true }
    "#;
    let mut client = Client::launch(toml, folder.path());
    let greeted = client.greet().await;
    assert_eq!(greeted["result"]["instructions"], "Adds.");
    assert_eq!(
        greeted["result"]["capabilities"],
        json!({ "tools": {}, "resources": {} })
    );
    let tools = entries(&mut client).await;
    assert_eq!(tools[0]["description"], "Adds one");
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["n"]));
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[1]["description"], "The Gortex tool other");
}

#[tokio::test(start_paused = true)]
async fn progress_goes_to_who_gave_a_token() {
    let folder = tempfile::tempdir().expect("folder");
    let toml = r#"
        tools = ["a"]
        calls = [{ progress = [{ after_ms = 10, progress = 1 }, { after_ms = 20, progress = 2, total = 4, message = "half" }], text = "done" }]
    "#;
    let mut client = Client::greeted(toml, folder.path()).await;
    let id = client.call("a", json!({})).await;
    let first = client.line().await.expect("first");
    assert_eq!(
        first["params"],
        json!({ "progressToken": id, "progress": 1.0 })
    );
    let second = client.line().await.expect("second");
    assert_eq!(second["params"]["message"], "half");
    assert_eq!(client.line().await.expect("answer")["id"], id);
    let params = json!({ "name": "a", "arguments": {} });
    let id = client.request("tools/call", Some(params)).await;
    assert_eq!(
        client.line().await.expect("answer")["id"],
        id,
        "nobody asked"
    );
}

#[tokio::test(start_paused = true)]
async fn a_named_server_tells_its_name_and_the_variables_it_was_asked_for() {
    let folder = tempfile::tempdir().expect("folder");
    let journal = Arc::new(MemoryJournal::default());
    let daemon = Daemon::new(
        script(r#"env = ["TOKEN", "NONE"]"#),
        folder.path().to_owned(),
        journal.clone(),
    )
    .named("notes");
    let env = [("TOKEN".to_owned(), "t".to_owned())].into();
    let launch = Launch { args: vec![], env };
    let mut client = Client::of(&daemon, launch, journal.clone());
    client.greet().await;
    let entries = journal.entries();
    assert!(
        entries
            .iter()
            .all(|entry| entry.server.as_deref() == Some("notes"))
    );
    assert_eq!(
        entries[0].payload["env"],
        json!({ "TOKEN": "t", "NONE": null })
    );
}
