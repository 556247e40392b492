//! `tool_search`: the tool by which a model finds tools that are not declared, and has them declared (pi-host.md 4.3).

mod rank;
mod words;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use self::rank::{Document, rank};
use crate::tool::{
    Execution, Exposure, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun, ToolSession,
};

/// The tool's name.
pub(crate) const NAME: &str = "tool_search";

/// How many tools are loaded when the call does not say.
const LIMIT: usize = 8;

/// The tool.
pub(crate) struct ToolSearch;

impl Tool for ToolSearch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: NAME.to_owned(),
            description: "<tool_search>".to_owned(),
            parameters: json!({"type": "object", "required": ["query"],
                "properties": {"query": {"type": "string"}, "limit": {"type": "number"}}}),
            exposure: Exposure::ModelOnly,
            execution: Execution::Parallel,
            source: "builtin:tool-search".to_owned(),
        }
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(search(&run)))
    }
}

fn search(run: &ToolRun) -> Result<ToolOutput, ToolError> {
    let query = run.input["query"].as_str().unwrap_or_default();
    if query.trim().is_empty() {
        return Err(ToolError("query must not be empty".into()));
    }
    let limit = match run.input.get("limit") {
        None | Some(Value::Null) => Some(LIMIT),
        Some(limit) => whole(limit).filter(|limit| *limit > 0),
    };
    let limit = limit.ok_or_else(|| ToolError("limit must be a positive integer".into()))?;
    let found = load(&run.session, query, limit);
    let names: Vec<&str> = found.iter().map(|tool| tool.name.as_str()).collect();
    let text = if found.is_empty() {
        "No matching tools found.".to_owned()
    } else {
        let line = |tool: &Found| {
            let first = tool.description.trim().lines().next().unwrap_or_default();
            format!("\n- {}: {first}", tool.name)
        };
        let lines: String = found.iter().map(line).collect();
        let plural = if found.len() == 1 { "" } else { "s" };
        format!(
            "Loaded {} tool{plural}. They are available from your next call:{lines}",
            found.len()
        )
    };
    Ok(ToolOutput {
        content: vec![json!({"type": "text", "text": text})],
        details: Some(json!({"loaded": names})),
        ..ToolOutput::default()
    })
}

fn whole(number: &Value) -> Option<usize> {
    let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is meant"
    )]
    let whole = number as usize;
    Some(whole)
}

/// A tool that was found.
struct Found {
    name: String,
    description: String,
}

/// Declares the best matches among the tools that are loaded on demand and not declared yet.
fn load(session: &ToolSession, query: &str, limit: usize) -> Vec<Found> {
    let Some(session) = session.session() else {
        return Vec::new();
    };
    let (all, mut active) = (session.all_tools(), session.active_tools());
    let wanted = |tool: &&Value| {
        tool["exposure"] == "deferred" && !active.iter().any(|name| tool["name"] == name.as_str())
    };
    let candidates: Vec<&Value> = all
        .as_array()
        .into_iter()
        .flatten()
        .filter(wanted)
        .collect();
    let documents: Vec<Document> = candidates.iter().map(|tool| Document::of(tool)).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found: Vec<Found> = rank(query, &documents, limit)
        .into_iter()
        .map(|index| Found {
            name: text(&candidates[index]["name"]),
            description: text(&candidates[index]["description"]),
        })
        .collect();
    if !found.is_empty() {
        active.extend(found.iter().map(|tool| tool.name.clone()));
        session.set_active_tools(&active);
    }
    found
}
